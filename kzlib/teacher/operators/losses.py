"""Losses: they end a module with one number."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import last, short


def loss(d: Draft, api: str) -> bool:
    name = short(api)
    key = name.lower().replace("_", "").removesuffix("loss")
    shape = d.shape
    x = d.value
    functional = ".functional." in api
    options = ""
    if key in ("mse", "l1", "smoothl1", "huber"):
        y = [d.input(shape)]
        options = (
            f", {'delta' if key == 'huber' else 'beta'}={d.constant()}"
            if key in ("smoothl1", "huber") and d.rng.random() < 0.4
            else ""
        )
    elif key in ("crossentropy", "nll", "multimargin"):
        if d.rank != 2 or key == "multimargin":
            return False
        y = [d.input([shape[0]], f"int:{d.size(last(d), shape[1])}", names=("batch",))]
    elif key in ("bcewithlogits", "binarycrossentropywithlogits", "multilabelsoftmargin"):
        y = [d.input(shape, "unit")]
    elif key in ("bce", "binarycrossentropy"):
        if d.range != "unit":
            if d.lines:
                return False
            d.start = "unit"
        y = [d.input(shape, "unit")]
    elif key in ("kldiv",):
        y = [d.input(shape, "unit")]
        options = ', reduction="batchmean"' if d.rng.random() < 0.5 else ""
    elif key == "softmargin":
        y = [d.input(shape, "sign")]
    elif key in ("marginranking",):
        y = [d.input(shape), d.input(shape, "sign")]
    elif key == "cosineembedding":
        if d.rank != 2:
            return False
        y = [d.input(shape), d.input([shape[0]], "sign", names=("batch",))]
    elif key in ("tripletmargin", "tripletmarginwithdistance"):
        if d.rank != 2:
            return False
        y = [d.input(shape), d.input(shape)]
        options = f", margin={d.constant()}" if d.rng.random() < 0.4 else ""
    elif key == "gaussiannll":
        y = [d.input(shape), d.input(shape, "pos")]
    else:
        return False
    args = ", ".join([x, *y])
    if functional:
        d.step(f"F.{name}({args}{options})")
    else:
        d.step(f"self.{d.module('loss', f'nn.{name}({options[2:]})')}({args})")
    d.shape, d.done = [], True
    return True
