"""What the teacher writes for rows too long for one block goes through Triton's compiler, not the interpreter alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kzlib.records import Task
from kzlib.teacher import solve
from kzlib.teacher.sample import sample
from kzlib.verifier import FRONT_END
from kzlib.verifier.pool import ForkServer
from kzlib.verifier.replies import checked

MODULE = """import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}
    def forward(self, x): return {forward}
def get_inputs(): return [torch.randn({shape})]
def get_init_inputs(): return []
"""
LONG_ROWS = {
    "instance norm": ("self.f = nn.InstanceNorm2d(8)", "self.f(x)", "112, 64, 512, 512"),
    "group norm and a mean": ("self.f = nn.GroupNorm(4, 8)", "self.f(x).mean(dim=[1, 2, 3])", "4, 8, 256, 256"),
    "layer norm of four million": ("self.f = nn.LayerNorm([64, 256, 256])", "self.f(x)", "2, 64, 256, 256"),
    "softmax": ("pass", "torch.softmax(x, dim=1)", "4, 400000"),
    "variance, then its rows by it": ("pass", "(x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)", "4, 300000"),
    "log-sum-exp of a product": ("self.f = nn.Linear(256, 9000)", "torch.logsumexp(self.f(x), dim=1)", "128, 256"),
}


@pytest.fixture(scope="module")
def compiler() -> Iterator[ForkServer]:
    server = ForkServer(FRONT_END)
    yield server
    server.close()


def told(compiler: ForkServer, task: Task, source: str) -> dict:
    with compiler.fork("kzlib.verifier.front_end:main") as child:
        child.send({"candidate": source, "task": task.source, "entries": ["ModelNew"]})
        return checked(child.receive(60.0), "front end")


@pytest.mark.parametrize("name", LONG_ROWS)
def test_rows_walked_in_several_passes_compile(name: str, compiler: ForkServer) -> None:
    layers, forward, shape = LONG_ROWS[name]
    task = Task(MODULE.format(layers=layers, forward=forward, shape=shape))
    answer = told(compiler, task, solve(task, "triton").source)
    assert answer["kernels"] > 0 and not answer["refused"] and not answer["lost"], answer


def test_a_pass_over_a_row_is_written_once() -> None:
    layers, forward, shape = LONG_ROWS["instance norm"]
    source = solve(Task(MODULE.format(layers=layers, forward=forward, shape=shape)), "triton").source
    assert source.count("tl.sum(") == 2, source  # the mean's, and the variance's


@pytest.mark.parametrize("style", ["plain", "broad", "varied"])
def test_random_samples_of_every_family_compile(style: str, compiler: ForkServer) -> None:
    drawn = [sample(2026, index, "triton", None, style) for index in range(40)]
    answers = [told(compiler, s.task, s.candidate.source) for s in drawn if s is not None]
    assert len(answers) >= 20 and all(a["kernels"] for a in answers), answers
    assert not any(a["refused"] for a in answers), [a["refused"] for a in answers if a["refused"]]
