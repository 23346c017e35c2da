"""Fully connected layer with odd sizes."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS = 19 * SCALE, 70 * SCALE, 45 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, INPUTS)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
