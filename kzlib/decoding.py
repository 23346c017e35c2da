"""Continue rows of token ids with a causal LM of transformers: one loop for a CPU, one for a GPU.

`kzlib.policy.generate` and the RL trainers sample through `sample_rows`. Source: issue 7 item 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

LOOK_EVERY = 16  # steps between two looks at whether every row has ended: a look waits for the GPU

Rows = Sequence[Sequence[int]]


@torch.no_grad()
def sample_rows(
    model: Any, tokenizer: Any, rows: Rows, max_new_tokens: int, temperature: float, top_p: float
) -> list[list[int]]:
    """Continue rows of token ids, each up to and with its end token or `max_new_tokens`; `temperature=0` is greedy."""
    loop = _replayed if model.device.type == "cuda" else _shrinking
    written = loop(model, tokenizer, rows, max_new_tokens, temperature, top_p)
    end = tokenizer.eos_token_id
    return [row[: row.index(end) + 1] if end in row else row for row in written]


def _shrinking(
    model: Any, tokenizer: Any, rows: Rows, max_new_tokens: int, temperature: float, top_p: float
) -> list[list[int]]:
    """For a CPU: rows that have ended leave the batch (transformers keeps them to the longest one's end)."""
    end = tokenizer.eos_token_id
    ids, mask = left_padded(rows, tokenizer.pad_token_id, model.device)
    cache, alive = DynamicCache(config=model.config), torch.arange(len(rows))
    written: list[list[int]] = [[] for _ in rows]
    for _ in range(max_new_tokens):
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = model(ids, attention_mask=mask, position_ids=positions, past_key_values=cache, logits_to_keep=1)
        drawn = draw(out.logits[:, -1].float(), temperature, top_p)
        for row, token in zip(alive.tolist(), drawn.tolist(), strict=True):
            written[row].append(token)
        going = drawn != end
        if not going.any():
            break
        # Copying the cache costs as much as some steps, so rows leave together.
        if going.float().mean() < 0.8:
            cache.batch_select_indices(going.nonzero().flatten())
            alive, mask, drawn = alive[going], mask[going], drawn[going]
        ids, mask = drawn[:, None], torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
    return written


def _replayed(
    model: Any, tokenizer: Any, rows: Rows, max_new_tokens: int, temperature: float, top_p: float
) -> list[list[int]]:
    """For a GPU: one step of a small model is a few hundred launches, so a step is recorded once and replayed.

    Recording takes the time of about two steps; transformers' static cache compiles instead, once for every new shape.
    """
    batch = _Batch(model, tokenizer, rows, max_new_tokens, temperature, top_p)
    left = max_new_tokens - 1
    if left and model.device.type == "cuda":
        side = torch.cuda.Stream(model.device)
        side.wait_stream(torch.cuda.current_stream(model.device))
        with torch.cuda.stream(side):  # libraries set up their workspaces outside the recording
            batch.step()
        torch.cuda.current_stream(model.device).wait_stream(side)
        left -= 1
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # the verifier's threads may be at work
            batch.step()
        step = graph.replay
    else:
        step = batch.step
    for done in range(left):
        if done % LOOK_EVERY == 0 and bool(batch.ended.all()):
            break
        step()
    return batch.written.tolist()


class _Batch:
    """A batch in tensors that keep their places, so that `step` can be recorded: nothing in it looks at a value."""

    def __init__(
        self, model: Any, tokenizer: Any, rows: Rows, max_new_tokens: int, temperature: float, top_p: float
    ) -> None:
        self.model, self.temperature, self.top_p = model, temperature, top_p
        self.end, self.pad = tokenizer.eos_token_id, tokenizer.pad_token_id
        ids, mask = left_padded(rows, self.pad, model.device)
        self.width = ids.shape[1]
        room = -(-(self.width + max_new_tokens) // 16) * 16  # fast attention kernels want whole multiples
        self.cache = StaticCache(config=model.config, max_cache_len=room)
        self.written = torch.full((len(rows), max_new_tokens), self.pad, device=model.device)
        self.ended = torch.zeros(len(rows), dtype=torch.bool, device=model.device)
        self.count = torch.zeros(1, dtype=torch.long, device=model.device)  # tokens written
        self.token = torch.zeros(len(rows), 1, dtype=torch.long, device=model.device)
        self.position = mask.sum(1, keepdim=True)  # of the next token
        self.seen = torch.zeros(len(rows), 1, 1, room, dtype=torch.bool, device=model.device)
        self.seen[:, 0, 0, : self.width] = mask.bool()
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        out = model(ids, attention_mask=mask, position_ids=positions, past_key_values=self.cache, logits_to_keep=1)
        self._take(out.logits)

    def step(self) -> None:
        """One more token for every row; a row that has ended gets padding."""
        self.seen.index_fill_(3, self.count + (self.width - 1), True)
        out = self.model(
            self.token, attention_mask=self.seen, position_ids=self.position, past_key_values=self.cache,
            logits_to_keep=1,
        )  # fmt: skip
        self.position.add_(1)
        self._take(out.logits)

    def _take(self, logits: Tensor) -> None:
        drawn = draw(logits[:, -1].float(), self.temperature, self.top_p)
        drawn = drawn.masked_fill(self.ended, self.pad)
        self.written.index_copy_(1, self.count, drawn[:, None])
        self.token.copy_(drawn[:, None])
        self.ended.logical_or_(drawn == self.end)
        self.count.add_(1)


def left_padded(rows: Rows, pad: int, device: Any) -> tuple[Tensor, Tensor]:
    """(ids, mask), both (rows, longest row), padding on the left.

    >>> left_padded([[5], [6, 7]], pad=0, device="cpu")[0].tolist()
    [[0, 5], [6, 7]]
    """
    width = max(len(row) for row in rows)
    ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask


def draw(logits: Tensor, temperature: float, top_p: float) -> Tensor:
    """One token for each row of logits; the most likely one at `temperature=0`.

    >>> draw(torch.tensor([[0.0, 5.0], [2.0, 1.0]]), temperature=0.0, top_p=1.0).tolist()
    [1, 0]
    """
    if temperature <= 0:
        return logits.argmax(-1)
    probabilities = (logits / temperature).softmax(-1)
    if top_p < 1:
        ordered, places = probabilities.sort(-1, descending=True)
        kept = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, 0)
        probabilities = torch.zeros_like(probabilities).scatter(-1, places, kept)
    # p / Exp(1) is largest at i with probability p_i; torch.multinomial looks at values, which a recording cannot.
    return (probabilities / torch.empty_like(probabilities).exponential_()).argmax(-1)


def sampler_of(model: Any) -> Any:
    """The model to sample from: a bf16 copy where `model` trains in fp32 on a GPU, else the model itself."""
    if model.device.type != "cuda" or model.dtype != torch.float32:
        return model
    with torch.random.fork_rng(devices=[model.device]), torch.device(model.device):
        copy = AutoModelForCausalLM.from_config(model.config, dtype=torch.bfloat16, attn_implementation="sdpa")
    return refreshed(copy.eval(), model)


@torch.no_grad()
def refreshed(sampler: Any, model: Any) -> Any:
    """The sampler with the model's present weights."""
    if sampler is not model:
        for mine, trained in zip(sampler.parameters(), model.parameters(), strict=True):
            mine.copy_(trained)
    return sampler
