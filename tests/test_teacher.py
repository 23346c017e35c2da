"""The teacher's kernels compute what Torch computes, whoever wrote the module; the same seed gives the same samples."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kzlib.apis.resolve import resolve
from kzlib.records import Task
from kzlib.teacher import Unsupported, generate, solve
from kzlib.teacher.compiler import compile_graph
from kzlib.teacher.draft import Draft
from kzlib.teacher.grammar import draft_for, families, module_source
from kzlib.teacher.graph import trace
from kzlib.teacher.operators import idioms
from kzlib.teacher.sample import STYLES
from kzlib.teacher.schedule import PLAIN

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"


def module(forward: str, inputs: str, init: str = "", names: str = "x") -> str:
    """A foreign task: forward as statements, `inputs` the list get_inputs returns."""
    body = "\n".join(f"        {line}" for line in (init.splitlines() or ["pass"]))
    lines = "\n".join(f"        {line}" for line in forward.splitlines())
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}\n\n"
        f"    def forward(self, {names}):\n{lines}\n\n\ndef get_inputs():\n    return [{inputs}]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def differences(pairs: list[tuple[str, str]]) -> list[str]:
    """What the interpreter's results differ in, one text a pair, "" where right."""
    script = Path(__file__).with_name("teacher_check.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(pairs), done.stderr[-2000:]
    return answers


def failures(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(said, kernel) for said, (_, kernel) in zip(differences(pairs), pairs, strict=True) if said]


# ------------------------------------------------------------------ samples


@pytest.mark.timeout(600)
def test_every_family_matches_torch_in_plain_style() -> None:
    samples = [s for family in families() for s in generate(3, seed=7, families=[family], workers=1)]
    assert {s.family for s in samples} >= set(families()) - {"elementwise", "activation"}
    bad = failures([(s.task.source, s.candidate.source) for s in samples])
    assert not bad, bad[0]


@pytest.mark.timeout(600)
def test_varied_style_matches_torch_under_many_schedules() -> None:
    samples = list(generate(30, seed=8, styles="varied", workers=1))
    assert len({json.dumps(s.schedule) for s in samples}) > 15
    bad = failures([(s.task.source, s.candidate.source) for s in samples])
    assert not bad, bad[0]


def test_the_same_seed_gives_the_same_samples_whatever_the_workers() -> None:
    one = list(generate(12, seed=5, workers=1))
    assert one == list(generate(12, seed=5, workers=2))
    assert one != list(generate(12, seed=6, workers=1))


@pytest.mark.timeout(600)
def test_broad_style_matches_torch_and_holds_what_people_write_by_hand() -> None:
    samples = list(generate(60, seed=12, styles="broad", workers=1))
    assert sum("def __init__(self, *settings)" in s.candidate.source for s in samples) > 5
    bad = failures([(s.task.source, s.candidate.source) for s in samples])
    assert not bad, bad[0]


@pytest.mark.timeout(600)
def test_every_idiom_is_a_module_that_matches_torch() -> None:
    written = []
    for number, found in enumerate(idioms.IDIOMS):
        shape = {"1": [37], "2": [9, 16], "3": [2, 7, 16], "4": [2, 4, 7, 9], "5": [1, 3, 4, 5, 6]}[found.ranks[0]]
        draft = Draft(random.Random(number), list(shape))
        draft.inputs.append(("x", draft.maker(shape, "randn")))
        assert idioms.write(draft, found), found
        task = Task(module_source(draft), tuple(draft.apis))
        assert set(resolve(task.source).apis) == set(found.apis), task.source
        written.append((task.source, solve(task, "triton", dict(PLAIN)).source))
    bad = failures(written)
    assert not bad, bad[0]


@pytest.mark.parametrize("style", STYLES)
def test_tasks_use_exactly_the_apis_they_name_and_differ(style: str) -> None:
    samples = list(generate(40, seed=9, styles=style, workers=1))
    assert len({s.task.id for s in samples}) == 40
    for s in samples:
        assert resolve(s.task.source).apis == s.task.apis, s.task.source


def test_plain_samples_are_short() -> None:
    samples = list(generate(60, seed=10, workers=1))
    lines = sorted(len(s.candidate.source.splitlines()) for s in samples)
    assert lines[len(lines) // 2] <= 40
    assert max(len(s.task.source.splitlines()) for s in samples) <= 40


def test_an_unknown_family_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="softmax"):
        next(generate(1, seed=0, families=["soft"], workers=1))


def test_candidates_hold_their_own_kernel_and_no_compute_from_torch() -> None:
    for s in generate(30, seed=11, workers=1):
        tree = ast.parse(s.candidate.source)
        model = next(n for n in tree.body if isinstance(n, ast.ClassDef))
        forward = next(n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
        called = {
            ast.unparse(n.func)
            for n in ast.walk(forward)
            if isinstance(n, ast.Call) and not isinstance(n.func, ast.Subscript)
        }
        allowed = {"torch.empty", "torch.empty_like", "triton.cdiv", "triton.next_power_of_2"}
        assert all(name in allowed or name.rsplit(".", 1)[-1] in ("numel", "view", "contiguous") for name in called), (
            called
        )


# ------------------------------------------------------------------ modules that somebody else wrote

FOREIGN = {
    "control flow and helper methods": module(
        "for _ in range(2):\n    x = self.fc(x)\nif x.shape[0] > 1:\n    x = torch.relu(x)\nreturn x",
        "torch.randn(5, 13)",
        "self.fc = nn.Linear(13, 13)",
    ),
    "sequential and dropout in eval": module(
        "return self.net(x)",
        "torch.randn(3, 10)",
        "self.net = nn.Sequential(nn.Linear(10, 17), nn.GELU(), nn.Dropout(0.5), nn.Linear(17, 4)).eval()",
    ),
    "a row sum of a broadcast operand": module(
        "return (x + self.b).mean(dim=(2, 3)), torch.amax(x * self.b + 1.0, dim=(2, 3))",
        "torch.randn(2, 3, 5, 7)",
        "self.b = nn.Parameter(torch.randn(3, 1, 1) - 3.0)",
    ),
    "columns that are one wide": module(
        "return torch.mean(torch.column_stack([torch.amax(x, 1, keepdim=True), y]), dim=-1)",
        "torch.randn(4, 9), torch.randn(4, 1)",
        names="x, y",
    ),
    "in place": module("x = x * 2.0\nx += 1.0\nx.relu_()\nx.mul_(0.5)\nreturn x", "torch.randn(6, 11)"),
    "one value used by two operators": module(
        "y = self.conv(x)\nreturn torch.sigmoid(y) * y + y.mean(dim=(2, 3), keepdim=True)",
        "torch.randn(2, 3, 7, 9)",
        "self.conv = nn.Conv2d(3, 5, 3, padding=1)",
    ),
    "several outputs": module("v, i = torch.max(x, dim=1)\nreturn v * 2.0, i", "torch.randn(4, 9)"),
    "views in between": module(
        "b, t, c = x.shape\nq = self.q(x).view(b, t, 2, c // 2).transpose(1, 2)\n"
        "s = torch.softmax(q @ q.transpose(-2, -1), dim=-1)\n"
        "return (s @ q).transpose(1, 2).reshape(b, t, c)",
        "torch.randn(2, 7, 8)",
        "self.q = nn.Linear(8, 8)",
    ),
    "batch norm in training": module(
        "return torch.tanh(self.bn(x))", "torch.randn(4, 3, 5, 7)", "self.bn = nn.BatchNorm2d(3)"
    ),
    "a held float and a parameter": module(
        "return torch.clamp(x * self.scale + self.shift, -self.limit, self.limit)",
        "torch.randn(3, 5, 7)",
        "self.scale = 0.37\nself.limit = 1.5\nself.shift = nn.Parameter(torch.randn(5, 1))",
    ),
    "grouped transposed convolution": module(
        "return self.up(x)",
        "torch.randn(2, 4, 5, 6)",
        "self.up = nn.ConvTranspose2d(4, 18, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2)",
    ),
    "depthwise": module(
        "return F.silu(self.conv(x))", "torch.randn(2, 6, 9, 8)", "self.conv = nn.Conv2d(6, 6, 5, padding=2, groups=6)"
    ),
    "loss over everything": module(
        "return F.kl_div(F.log_softmax(x, dim=1), F.softmax(y, dim=1), reduction='batchmean')",
        "torch.randn(5, 9), torch.randn(5, 9)",
        names="x, y",
    ),
    "transposed input": module("return x * y", "torch.randn(7, 5).T, torch.randn(5, 7)", names="x, y"),
    "cat, chunk and flip": module(
        "a, b = torch.chunk(torch.cat([x, y], dim=1), 2, dim=1)\nreturn torch.flip(a, dims=(1,)) - b",
        "torch.randn(3, 6), torch.randn(3, 4)",
        names="x, y",
    ),
    "causal mask": module(
        "m = torch.tril(torch.ones(x.shape[1], x.shape[1], device=x.device))\n"
        "return torch.softmax(x.masked_fill(m == 0, float('-inf')), dim=-1)",
        "torch.randn(2, 6, 6)",
    ),
    "one element rows": module("return torch.softmax(x, dim=1) + torch.cumsum(x, dim=1)", "torch.randn(5, 1)"),
    "groups of one element": module("return self.gn(x * 0.001)", "torch.randn(5, 8)", "self.gn = nn.GroupNorm(8, 8)"),
    "looked up, then padded": module(
        "return torch.sigmoid(F.pad(torch.gather(x, 1, y), (1, 1)))",
        "torch.randn(3, 9), torch.randint(0, 9, (3, 4))",
        names="x, y",
    ),
    "looked up, then stacked": module(
        "return torch.vstack([torch.gather(x, 1, y), z])",
        "torch.randn(3, 9), torch.randint(0, 9, (3, 4)), torch.randn(5, 4)",
        names="x, y, z",
    ),
    "rows of padding": module("return torch.softmax(F.pad(x, (2, 1, 2, 2)), dim=3)", "torch.randn(2, 3, 5, 7)"),
    "spread of looked up rows": module(
        "return torch.std(self.embedding(x), dim=1)",
        "torch.randint(0, 30, (7, 20))",
        "self.embedding = nn.Embedding(30, 8)",
    ),
    "a number": module("return (x - y).pow(2).mean()", "torch.randn(3, 4), torch.randn(3, 4)", names="x, y"),
}


@pytest.mark.timeout(600)
def test_foreign_modules_match_torch() -> None:
    pairs = [(source, solve(Task(source), "triton").source) for source in FOREIGN.values()]
    named = dict(zip(FOREIGN, differences(pairs), strict=True))
    assert not {k: v for k, v in named.items() if v}


def test_foreign_modules_have_cuda_kernels_in_both_forms() -> None:
    for name, source in FOREIGN.items():
        for form in ("load_inline", "nvrtc"):
            text, _, _ = compile_graph(source, trace(source), "cuda", {**PLAIN, "form": form})
            assert "__global__" in text, name
            compile(text, name, "exec")


@pytest.mark.timeout(600)
def test_schedules_differ_in_text_and_agree_in_value() -> None:
    source = module(
        "return torch.softmax(torch.relu(self.fc(x)), dim=1)", "torch.randn(5, 13)", "self.fc = nn.Linear(13, 11)"
    )
    schedules = [
        {},
        {"fuse": False},
        {"passes": "loop", "block": 4},
        {"tile": (16, 32, 16)},
        {"style": "varied", "num_warps": 8},
    ]
    texts = [compile_graph(source, trace(source), "triton", {**PLAIN, **s})[0] for s in schedules]
    assert len(set(texts)) == len(texts)
    assert differences([(source, t) for t in texts]) == [""] * len(texts)


def test_pointwise_operators_after_an_anchor_share_its_kernel() -> None:
    source = module(
        "y = self.fc(x)\nreturn torch.sigmoid(y) * y * 2.0", "torch.randn(5, 13)", "self.fc = nn.Linear(13, 4)"
    )
    assert compile_graph(source, trace(source), "triton")[0].count("@triton.jit") == 1
    assert compile_graph(source, trace(source), "triton", {**PLAIN, "fuse": False})[0].count("@triton.jit") == 4


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("return torch.linalg.inv(x)", "linalg_inv"),
        ("return F.dropout(x)", "dropout"),
        ("return x", "nothing"),
        ("return x.no_such()", "no_such"),
        ("import os; os._exit(0)", "ended"),
    ],
)
def test_what_the_teacher_cannot_do_is_said_in_words(forward: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        solve(Task(module(forward, "torch.randn(4, 4)")), "triton")


def test_a_foreign_task_does_not_run_in_this_process(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = (
        module("return x * 2.0", "torch.randn(4)")
        + f"\nimport sys\nsys.modules['kz_ran_here'] = sys\nopen({str(mark)!r}, 'w')\n"
    )
    with pytest.raises(Unsupported):
        solve(Task(source), "triton")
    assert "kz_ran_here" not in sys.modules


def test_an_instance_norm_after_a_number_is_refused_not_an_error():
    from kzlib.teacher.operators.norms import norm

    assert not norm(Draft(random.Random(0), []), "torch.nn.functional.instance_norm")


LARGE = {
    "sums in parts": (
        module("return F.mse_loss(x, y)", "torch.randn(9, 50), torch.randn(9, 50)", names="x, y"), "spread"
    ),
    "two sums in parts, one after the other": (
        module("return F.layer_norm(x, (6, 50), self.w, None)", "torch.randn(2, 6, 50)",
               "self.w = nn.Parameter(torch.randn(6, 50))"),
        "spread",
    ),
    "running statistics from parts": (
        module("return torch.relu(self.bn(x))", "torch.randn(3, 5, 7, 9)", "self.bn = nn.BatchNorm2d(5)"), "spread"
    ),
    "groups in parts": (
        module("return self.gn(x)", "torch.randn(2, 6, 7, 9)", "self.gn = nn.GroupNorm(2, 6)"), "spread"
    ),
    "softmax of a very long row": (module("return torch.softmax(x, 1)", "torch.randn(3, 500)"), "spread"),
    "a lane a row: softmax": (module("return torch.softmax(x, 1) * 2", "torch.randn(3, 7, 5, 9)"), "lanes"),
    "a lane a row: logsumexp": (module("return torch.logsumexp(x, 1)", "torch.randn(3, 7, 5, 9)"), "lanes"),
    "a lane a row: sum and place": (
        module("v, i = torch.max(x, dim=1)\nreturn v, i, x.var(1)", "torch.randn(3, 19, 33)"), "lanes"
    ),
    "a lane a row: running sum": (module("return torch.cumsum(x * 2, 1) + 1", "torch.randn(3, 19, 33)"), "lanes"),
    "a lane a row: running log of a sum": (module("return torch.logcumsumexp(x, 0)", "torch.randn(19, 33)"), "lanes"),
    "a lane a row: statistics of a column": (
        module("return self.bn(x)", "torch.randn(19, 33)", "self.bn = nn.BatchNorm1d(33)"), "lanes"
    ),
    "a deep product": (
        module("return torch.relu(x @ y)", "torch.randn(5, 150), torch.randn(150, 7)", names="x, y"), "deep"
    ),
    "a phase at a time": (
        module("return torch.relu(self.up(x) + y)", "torch.randn(2, 4, 5, 6), torch.randn(2, 6, 11, 13)",
               "self.up = nn.ConvTranspose2d(4, 6, 3, stride=2)", "x, y"), "phases"
    ),
    "a phase at a time: groups, padding, unequal strides": (
        module("return self.up(x)", "torch.randn(2, 4, 5, 6, 4)",
               "self.up = nn.ConvTranspose3d(4, 6, (3, 5, 4), stride=(2, 3, 1), padding=(1, 2, 1), "
               "output_padding=(1, 0, 0), groups=2)"), "phases"
    ),
    "a deep linear layer": (
        module("return F.gelu(self.fc(x))", "torch.randn(4, 3, 144)", "self.fc = nn.Linear(144, 6)"), "deep"
    ),
}  # fmt: skip


@pytest.mark.timeout(600)
def test_forms_for_large_shapes_match_torch() -> None:
    pairs = []
    for task, form in LARGE.values():
        few, _, _ = compile_graph(task, trace(task), "triton", {**PLAIN, form: 8 if form == "lanes" else 48})
        assert few != compile_graph(task, trace(task), "triton", PLAIN)[0]
        pairs.append((task, few))
    bad = failures(pairs)
    assert not bad, bad[0]


def test_a_module_of_seven_inputs_is_drafted_anew_and_ends_no_stream() -> None:
    apis = ["torch.addcmul", "torch.addcdiv", "torch.where"]
    drafts = [draft_for(list(apis), random.Random(seed), by_hand=1.0) for seed in range(40)]
    assert max(len(draft.inputs) for draft in drafts if draft) == 6
