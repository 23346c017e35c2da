"""Token and position vectors added, then layer norm."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, LENGTH, WORDS, WIDTH = 3 * SCALE, 16 * SCALE, 90, 40


class Model(nn.Module):
    def __init__(self, words, length, width):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.randn(length, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        return self.norm(self.words(tokens) + self.positions)


def get_inputs():
    return [torch.randint(0, WORDS, (BATCH, LENGTH))]


def get_init_inputs():
    return [WORDS, LENGTH, WIDTH]
