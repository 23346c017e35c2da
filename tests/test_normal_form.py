"""The Coder's prompt says what the module computes: alike for alike modules, and nothing lost on the way."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch

from kzlib import prompts
from kzlib.constructor import settled_source
from kzlib.normal_form import normal_form
from kzlib.signature import signature
from kzlib.tasks import load_tasks

HELDOUT = load_tasks("heldout")
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def namespace(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(source, space)  # modules of our own
    return space


def outputs(
    model_class: Any, given: dict[str, Any], weights: list[torch.Tensor] | None
) -> tuple[Any, list[torch.Tensor]]:
    torch.manual_seed(0)
    model = model_class(*given["get_init_inputs"]()) if "get_init_inputs" in given else model_class()
    if weights is not None:
        held = list(model.state_dict().values())
        assert [w.shape for w in held] == [w.shape for w in weights]
        for mine, theirs in zip(held, weights, strict=True):
            mine.copy_(theirs)
    copies = [w.clone() for w in model.state_dict().values()]
    torch.manual_seed(1)
    with torch.no_grad():
        return model(*given["get_inputs"]()), copies


def runnable(normal: str) -> str:
    """The normal form as a program: the base class's call is back, the line of inputs is gone."""
    text = normal.rpartition("\n")[0]
    tree = ast.parse(text)
    for cls in (n for n in tree.body if isinstance(n, ast.ClassDef)):
        for init in (i for i in cls.body if isinstance(i, ast.FunctionDef) and i.name == "__init__"):
            init.body.insert(0, ast.parse("super().__init__()").body[0])
    return HEAD + ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("task", HELDOUT, ids=lambda t: t.origin.rpartition("/")[2])
def test_normal_form_and_settled_text_compute_the_same(task: Any) -> None:
    original = namespace(task.source)
    want, weights = outputs(original["Model"], original, None)
    for text in (runnable(normal_form(task.source)), settled_source(task.source)):
        got, _ = outputs(namespace(text)["Model"], original, weights)
        torch.testing.assert_close(got, want)


def module(body: str, init: str = "", arguments: str = "", call: str = "", inputs: str = "torch.randn(4, 9)") -> str:
    constructor = f"    def __init__(self{arguments}):\n        super().__init__()\n{init}\n" if init else ""
    handed = f"def get_init_inputs():\n    return [{call}]\n" if call else ""
    made = f"def get_inputs():\n    return [{inputs}]\n{handed}"
    return f"{HEAD}class Model(nn.Module):\n{constructor}    def forward(self, t):\n{body}\n{made}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            module("        return F.silu(t)"),
            module("        return self.a(t)", "        self.a = nn.SiLU(inplace=True)"),
        ),
        (module("        return t.sum(dim=1)"), module("        return torch.sum(t, 1)")),
        (module("        return t.softmax(-1)"), module("        y = torch.softmax(t, dim=-1)\n        return y")),
        (module("        return t @ t.t()"), module("        return torch.matmul(t, torch.t(t))")),
        (
            module("        return t * self.s", "        self.s = scale", ", scale=0.5"),
            module("        return t * 0.5"),
        ),
        (
            module("        return self.c(t)", "        self.c = nn.Conv2d(4, 8, kernel_size=(3, 3), stride=1)"),
            module("        return self.q(t)", "        self.q = nn.Conv2d(4, 8, 3, padding=0, bias=True)"),
        ),
        (
            module("        return F.relu(t)", inputs="2 * torch.randn(5, 70) - 1"),
            module("        return torch.relu(t)"),
        ),
    ],
)
def test_alike_modules_read_alike(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("return [torch.randn(3, 5)]", "x[A, B]"),
        ("return [torch.randn(3, 3)]", "x[A, B]"),
        ("return [torch.randn(2, 5), torch.rand((5, 7))]", "x[A, B], y[B, C]"),
        ("return [torch.randn(4, 1, 6), torch.randn(6)]", "x[A, 1, B], y[B]"),
        ("return [torch.randint(0, 9, (4, 6)), 0.5]", "x int[A, B], y=0.5"),
        ("a = torch.rand(4, 6)\n    return [a, a.t() > 0.5]", "x[A, B], y bool[B, A]"),
        ("return [torch.randn(2, 3, dtype=torch.float16) for _ in range(2)]", "x half[A, B], y half[A, B]"),
        ("return [torch.randn(2, 3).half(), torch.randn(2, 3).to(torch.bool)]", "x half[A, B], y bool[A, B]"),
        ("return [torch.randn(n, 3)]", None),
        ("return [load('x')]", None),
        ("for i in range(3): pass", None),
    ],
)
def test_inputs_by_rank_and_equal_sizes(text: str, shown: str | None) -> None:
    tree = ast.parse(f"def get_inputs():\n    {text}")
    assert isinstance(tree.body[0], ast.FunctionDef)
    assert signature(tree.body[0]) == shown


def test_what_cannot_be_read_is_shown_as_written() -> None:
    source = module("        return t.sum(1)", inputs="make(3)")
    assert normal_form(source).endswith("inputs: make(3)")
    assert normal_form("not python (") == "not python ("


def test_settings_stay_with_their_values_and_sizes_with_names() -> None:
    source = module(
        "        return self.n(t)", "        self.n = nn.GroupNorm(groups, width)", ", groups, width", "4, 8"
    )
    assert "def __init__(self, n, m):\n        self.norm = nn.GroupNorm(4, m)" in normal_form(source)


def test_many_prompts_are_the_same_from_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [(task.source, "triton") for task in HELDOUT[:3]]
    alone = prompts.coder_prompts(asked)
    monkeypatch.setattr(prompts, "POOLED", 2)
    monkeypatch.setattr(prompts.os, "sched_getaffinity", lambda _: set(range(4)))
    assert prompts.coder_prompts(asked) == alone == [prompts.coder_prompt(*row) for row in asked]
