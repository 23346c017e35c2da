"""The same module in other clothes: spelling, names, layout and comments as people write them."""

from __future__ import annotations

import random
import re

from kzlib.teacher.draft import Draft
from kzlib.teacher.grammar import module_source

VALUES = ("x", "x", "x", "inputs", "input_tensor", "features", "hidden", "data", "tokens")
LAYERS = {
    "fc": ("fc", "linear", "proj", "dense", "layer"),
    "conv": ("conv", "conv1", "filter", "encoder"),
    "norm": ("norm", "layer_norm", "normalize", "bn"),
    "act": ("act", "activation", "nonlinearity"),
    "pool": ("pool", "pooling", "down"),
    "loss": ("loss", "criterion", "loss_fn"),
}
SIZES = {
    "batch": ("batch", "batch_size", "n", "BATCH"),
    "features": ("features", "in_features", "dim", "input_size", "WIDTH"),
    "channels": ("channels", "in_channels", "CHANNELS"),
    "out_features": ("out_features", "hidden_size", "output_size"),
    "length": ("length", "seq_len", "steps"),
    "height": ("height", "h"),
    "width": ("width", "w"),
}
DOCS = (
    "A small module: {what}.",
    "Model that applies {what}.",
    "Applies {what} to its input.",
)


def varied_source(d: Draft, rng: random.Random) -> str:
    """The draft's task text under one drawn surface; what it computes is that of `module_source`."""
    text = module_source(d)
    text = _renamed(text, d, rng)
    if rng.random() < 0.5:
        text = _constants_apart(text, rng)
    if rng.random() < 0.4:
        text = text.replace("super().__init__()", "super(Model, self).__init__()")
    if rng.random() < 0.5:
        text = _nested(text)
    if rng.random() < 0.5:
        text = text.replace("class Model(nn.Module):\n", f'class Model(nn.Module):\n    """{_doc(d, rng)}"""\n\n', 1)
    if "F." not in text:
        text = text.replace("import torch.nn.functional as F\n", "")
    elif rng.random() < 0.25:
        text = re.sub(r"\bF\.", "torch.nn.functional.", text).replace("import torch.nn.functional as F\n", "")
    if rng.random() < 0.2:
        text = text.replace("import torch.nn as nn\n", "from torch import nn\n")
    return text


def _doc(d: Draft, rng: random.Random) -> str:
    what = ", then ".join(a.rsplit(".", 1)[1].replace("_", " ") for a in d.apis)
    return rng.choice(DOCS).format(what=what)


def _words(text: str, table: dict[str, str]) -> str:
    """Whole-word replacement outside attribute access of torch itself."""
    for old, new in table.items():
        text = re.sub(rf"(?<![\w.\"]){old}(?![\w\"])", new, text)
    return text


def _renamed(text: str, d: Draft, rng: random.Random) -> str:
    taken = set(re.findall(r"\w+", text))
    table: dict[str, str] = {}
    for old in d.constants:
        new = rng.choice(SIZES.get(old, (old,)))
        if new not in taken:
            table[old] = new
            taken.add(new)
    value = rng.choice(VALUES)
    if value not in taken:
        table["x"] = value
    text = _words(text, table)
    for old, options in LAYERS.items():
        new = rng.choice(options)
        if new not in taken and f"self.{old} " in text:
            text = re.sub(rf"self\.{old}\b", f"self.{new}", text)
    return text


def _constants_apart(text: str, rng: random.Random) -> str:
    """One size a line, above the class or below it, as KernelBench's own files have them."""
    match = re.search(r"^((?:\w+, )*\w+) = ((?:\d+, )*\d+)\n", text, re.M)
    if match is None:
        return text
    pairs = zip(match[1].split(", "), match[2].split(", "), strict=True)
    lines = "".join(f"{n} = {v}\n" for n, v in pairs)
    text = text[: match.start()] + text[match.end() :]
    if rng.random() < 0.5:
        return text.replace("\n\nclass Model", f"{lines}\n\nclass Model", 1)
    return text.replace("def get_inputs", f"{lines}\n\ndef get_inputs", 1)


def _nested(text: str) -> str:
    """`x = f(x); return x` becomes `return f(x)`, once or twice."""
    for _ in range(2):
        text = re.sub(r"( +)(\w+) = (.+)\n +return \2\n", r"\1return \3\n", text, count=1)
    return text
