"""Indexing: embeddings, gathers, scatters, sorting, buckets."""

from __future__ import annotations

from collections.abc import Callable

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import short


def index(d: Draft, api: str) -> bool:
    name = short(api)
    if name.lower() == "embedding":
        return embedding(d, name)
    return d.rank >= 2 and name in LOOKUPS and LOOKUPS[name](d, name)


def embedding(d: Draft, name: str) -> bool:
    if d.lines or d.rank not in (1, 2):
        return False
    rows, width = d.pick(11, 20, 30), d.pick(6, 8, 12)
    d.start = f"int:{d.argument('vocabulary', rows)}"
    w = d.argument("width", width)
    if name == "Embedding":
        d.step(f"self.{d.module('embedding', f'nn.Embedding(vocabulary, {w})')}({d.value})")
    else:
        t = d.module("table", f"nn.Parameter(torch.randn(vocabulary, {w}))")
        d.step(f"F.embedding({d.value}, self.{t})")
    d.shape = [*d.shape, width]
    return True


def along_last(d: Draft, name: str) -> bool:
    """`gather` and `take_along_dim`: every row picks its own elements."""
    picks = d.pick(3, 5) if name == "gather" else 4
    names = (*("batch", "length", "height", "width", "depth")[: d.rank - 1], "picks")
    y = d.input([*d.shape[:-1], picks], f"int:{d.shape[-1]}", names=names)
    text = f"torch.gather({d.value}, {d.rank - 1}, {y})"
    d.step(text if name == "gather" else f"torch.take_along_dim({d.value}, {y}, dim=-1)")
    d.shape[-1] = picks
    return True


def index_select(d: Draft, name: str) -> bool:
    picks = d.pick(4, 6)
    y = d.input([picks], f"int:{d.shape[1]}", names=("picks",))
    d.step(f"torch.index_select({d.value}, 1, {y})")
    d.shape[1] = picks
    return True


def take(d: Draft, name: str) -> bool:
    y = d.input([6], f"int:{d.shape[0]}", names=("picks",))
    d.step(f"torch.take({d.value}, {y})")
    d.shape = [6]
    return True


def index_add(d: Draft, name: str) -> bool:
    y = d.input([5], f"int:{d.shape[0]}", names=("picks",))
    z = d.input([5, *d.shape[1:]], names=("picks", *(f"n{k}" for k in range(1, d.rank))))
    d.step(f"torch.index_add({d.value}, 0, {y}, {z})")
    return True


def scatter_add(d: Draft, name: str) -> bool:
    if d.rank != 2:
        return False
    y = d.input([d.shape[0], 4], f"int:{d.shape[1]}", names=("batch", "picks"))
    z = d.input([d.shape[0], 4], names=("batch", "picks"))
    d.step(f"torch.scatter_add({d.value}, 1, {y}, {z})")
    return True


def order(d: Draft, name: str) -> bool:
    """`sort`, `argsort`, `topk` of short rows."""
    if d.shape[-1] > 24 or (name == "argsort" and d.lines):
        return False
    if name == "topk":
        k = d.pick(2, 3)
        d.step(f"torch.topk({d.value}, {k}, dim=-1).values")
        d.shape[-1] = k
    elif name == "sort":
        d.step(f"torch.sort({d.value}, dim=-1{d.pick('', ', descending=True')}).values")
    else:
        d.step(f"torch.argsort({d.value}, dim=-1)")
        d.done = True
    return True


def buckets(d: Draft, name: str) -> bool:
    if not d.exact:  # a value beside a bound changes its bucket by rounding alone
        return False
    bounds = "torch.linspace(-2.0, 2.0, 9, device=x.device)"
    x = d.value
    d.step(f"torch.bucketize({x}, {bounds})" if name == "bucketize" else f"torch.searchsorted({bounds}, {x})")
    d.done = True
    return True


def one_hot(d: Draft, name: str) -> bool:
    if d.lines or d.rank != 2:
        return False
    d.start = "int:7"
    d.step(f"F.one_hot({d.value}, 7)")
    d.shape = [*d.shape, 7]
    d.done = True
    return True


LOOKUPS: dict[str, Callable[[Draft, str], bool]] = {
    "gather": along_last,
    "take_along_dim": along_last,
    "index_select": index_select,
    "take": take,
    "index_add": index_add,
    "scatter_add": scatter_add,
    "sort": order,
    "argsort": order,
    "topk": order,
    "bucketize": buckets,
    "searchsorted": buckets,
    "one_hot": one_hot,
}
