"""One warm verifier for all verifier tests, and small sources to build cases from."""

import atexit
from functools import cache

from kzlib.records import Candidate, Task, Verdict
from kzlib.verifier import Verifier

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""
TRITON = HEAD + "import triton\nimport triton.language as tl\n"


@cache
def verifier() -> Verifier:
    made = Verifier(device="cpu", workers=2)
    atexit.register(made.close)
    return made


def task(body: str, inputs: str, init: str = "[]", constructor: str = "") -> Task:
    """A task from its forward expression, e.g. task("x * 2", "[torch.randn(8)]")."""
    names = "self, *a"
    unpack = "x, *rest = a"
    source = f"{HEAD}\nclass Model(nn.Module):\n    def __init__(self, *args):\n        super().__init__()\n"
    source += "".join(f"        {line}\n" for line in (constructor or "pass").splitlines())
    source += f"    def forward({names}):\n        {unpack}\n"
    source += "".join(f"        {line}\n" for line in body.splitlines())
    return Task(source + f"def get_inputs(): return {inputs}\ndef get_init_inputs(): return {init}\n")


def judge(task: Task, source: str, **options: object) -> Verdict:
    """One verdict of the shared verifier."""
    return next(verifier().verify([task], [Candidate(task.id, "triton", source)], **options))


DOUBLE_TASK = task("return x * 2 + 1", "[torch.randn(300)]")
DOUBLE = (
    TRITON
    + """
@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * 2 + 1, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
"""
)


def double_with(old: str, new: str) -> str:
    """The honest kernel with one thing changed."""
    assert old in DOUBLE
    return DOUBLE.replace(old, new)
