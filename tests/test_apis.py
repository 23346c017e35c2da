"""The catalogue, the resolver and the miner: a wrong name here trains the Proposer on what it was not asked for."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.apis import catalogue, find, in_classes, mine, resolve, statistics
from kzlib.apis.catalogue import canonical, helpers, shipped, tensor_methods
from kzlib.apis.resolve import random_calls

NAMES = [api.name for api in catalogue()]
HEADS = (
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n",
    "import torch as t\nfrom torch import nn\nfrom torch.nn import functional as F\n",
    "import torch\nfrom torch.nn.functional import *\nimport torch.nn\n",
)


def module(head: str, init: str, forward: str) -> str:
    return (
        f"{head}\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x, y):\n        {forward}\n        return x\n"
    )


def spelled(name: str, style: int) -> tuple[str, str, str]:
    """Ways to write one canonical name in a module: head, constructor line, forward line."""
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn.functional."):
        forms = [
            (HEADS[0], "pass", f"x = F.{last}(x, y)"),
            (HEADS[1].replace("import torch as t", "import torch"), "pass", f"x = F.{last}(x, y)"),
            (HEADS[2], "pass", f"x = {last}(x, y)"),
            ("import torch\n", "pass", f"x = torch.nn.functional.{last}(x, y)"),
            (f"import torch\nfrom torch.nn.functional import {last} as thing\n", "pass", "x = thing(x, y)"),
        ]
    elif name.startswith("torch.nn."):
        forms = [
            (HEADS[0], f"self.layer = nn.{last}(4)", "x = self.layer(x)"),
            (f"import torch\nfrom torch.nn import {last}\n", f"self.layer = {last}(4)", "x = self.layer(x)"),
            (HEADS[0], f"self.net = nn.Sequential(nn.{last}(4), nn.Identity())", "x = self.net(x)"),
            ("import torch\n", f"self.layer = torch.nn.{last}(4)", "x = self.layer(x)"),
            (HEADS[0], "pass", f"x = nn.{last}(4)(x)"),
        ]
    elif name in ("torch.Tensor.T", "torch.Tensor.mT"):
        forms = [(HEADS[0], "pass", f"x = x.{last}")]
    elif name.startswith("torch.Tensor."):
        forms = [(HEADS[0], "pass", f"x = x.{last}(4)"), (HEADS[0], "pass", f"x = (x + y).{last}(4)")]
    else:
        forms = [
            (HEADS[0], "pass", f"x = {name}(x, y)"),
            (f"import torch\nfrom {name.rpartition('.')[0]} import {last} as thing\n", "pass", "x = thing(x, y)"),
            (f"import torch\nimport {name.rpartition('.')[0]} as mod\n", "pass", f"x = mod.{last}(x, y)"),
        ]
        if name.count(".") == 1 and last in tensor_methods():
            forms.append((HEADS[0], "pass", f"x = x.{last}(y)"))
            if hasattr(torch.Tensor, f"{last}_"):
                forms.append((HEADS[0], "pass", f"x.{last}_(y)"))
    return forms[style % len(forms)]


def test_the_catalogue_is_442_names_of_this_torch():
    assert len(NAMES) == len(set(NAMES)) == 442
    for name in NAMES:
        value = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part)


@pytest.mark.parametrize("style", range(5))
def test_every_name_is_found_in_every_form(style):
    for name in NAMES:
        found = resolve(module(*spelled(name, style)))
        assert found.apis == (name,), (name, spelled(name, style), found)
        assert not found.unknown, (name, found)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 4)), min_size=1, max_size=6))
def test_sets_of_names_are_found_exactly(chosen):
    heads, inits, forwards = [HEADS[0]], [], []
    for number, (name, style) in enumerate(chosen):
        head, init, forward = spelled(name, style)
        # Each part gets its own aliases and attributes, as in a file that one person wrote.
        for word in ("thing", "mod", "self.layer", "self.net"):
            head, init, forward = (re.sub(rf"\b{word}\b", f"{word}{number}", text) for text in (head, init, forward))
        heads.append(head.replace("import torch.nn\n", ""))
        inits.append(init)
        forwards.append(forward)
    source = module("".join(heads), "\n        ".join(inits), "\n        ".join(forwards))
    assert set(resolve(source).apis) == {name for name, _ in chosen}


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_wild_text_parses_or_is_a_syntax_error(text):
    with contextlib.suppress(SyntaxError, ValueError):
        resolve(text)


def test_tensor_methods_are_those_of_torch():
    assert {m for m in tensor_methods() if not hasattr(torch.Tensor, m) and not hasattr(torch.Tensor, m + "_")} == set()


@pytest.mark.parametrize(
    ("spelling", "kind", "name"),
    [
        ("torch.concat", "api", "torch.cat"),
        ("torch.Tensor.swapaxes", "api", "torch.transpose"),
        ("torch.special.expit", "api", "torch.sigmoid"),
        ("torch.nn.functional.sigmoid", "api", "torch.sigmoid"),
        ("torch.softmax", "api", "torch.nn.functional.softmax"),
        ("torch.Tensor.masked_fill_", "api", "torch.masked_fill"),
        ("torch.nn.modules.linear.Linear", "api", "torch.nn.Linear"),
        ("torch.zeros", "helper", "torch.zeros"),
        ("torch.nn.init.kaiming_uniform_", "helper", "torch.nn.init.kaiming_uniform_"),
        ("torch.nn.Dropout", "unknown", "torch.nn.Dropout"),
        ("torch.linalg.svd", "unknown", "torch.linalg.svd"),
        ("numpy.sum", "none", ""),
    ],
)
def test_spellings_fold(spelling, kind, name):
    assert canonical(spelling) == (kind, name)


def test_what_is_not_a_use_is_not_counted():
    source = module(
        HEADS[0],
        "self.relu = 3",
        'x = y if isinstance(x, nn.Linear) else x; name = "a.b".split("."); z = self.sum(x); w = math.exp(2)',
    )
    found = resolve(source.replace("import torch\n", "import torch\nimport math\n", 1))
    assert found.apis == () and found.unknown == ()


def test_input_functions_are_not_the_module():
    source = (
        module(HEADS[0], "pass", "x = torch.relu(x)")
        + "\ndef get_inputs():\n    return [torch.softmax(torch.rand(3), 0)]\n"
    )
    assert resolve(source).apis == ("torch.nn.functional.relu",)


def test_random_numbers_in_constructors_are_fine_and_in_forward_are_not():
    assert random_calls(module(HEADS[0], "self.w = nn.Parameter(torch.randn(3))", "x = x + self.w")) == ()
    assert random_calls(module(HEADS[0], "pass", "x = x + torch.empty(3).uniform_()")) == ("torch.Tensor.uniform_",)


def test_unknown_names_say_the_nearest():
    with pytest.raises(ValueError, match=r"torch\.nn\.Linear"):
        find("torch.nn.Linaer")
    with pytest.raises(ValueError, match="softmax"):
        in_classes(["sofmax"])


def test_helpers_and_candidates_do_not_overlap():
    assert not helpers() & set(NAMES)


def test_statistics_are_the_shipped_counts():
    known = statistics()
    assert known.pair("torch.nn.Conv2d", "torch.nn.BatchNorm2d") == known.pair(
        "torch.nn.BatchNorm2d", "torch.nn.Conv2d"
    )
    assert (known.pairs == known.pairs.T).all() and (known.pairs.diagonal() == 0).all()
    assert known.singles[0] == find("torch.nn.Linear").counts.packages + find("torch.nn.Linear").counts.paritybench
    assert int((known.pairs > 0).sum()) == 2 * shipped()["totals"]["pairs"]
    limit = known.singles[:, None]
    assert (known.pairs <= limit).all(), "a pair is in no more classes than either member"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package whose counts a reader can check by hand."""
    (tmp_path / "pkg" / "inner").mkdir(parents=True)
    (tmp_path / "pkg" / "base.py").write_text(
        "import torch.nn as nn\nfrom torch.nn import functional as F\n"
        "class Base(nn.Module):\n    def forward(self, x):\n        return F.relu(x).view(-1) @ x\n"
        "class Same(nn.Module):\n    '''doc'''\n    def forward(self, x):\n"
        "        return F.relu(x).view(-1) @ x  # same\n"
        "class Plain:\n    def f(self, x):\n        return x.sum()\n"
    )
    (tmp_path / "pkg" / "inner" / "more.py").write_text(
        "import torch\nfrom ..base import Base\n"
        "class Child(Base):\n    act = torch.nn.GELU\n    def forward(self, x):\n"
        "        if isinstance(x, torch.nn.Linear): return x\n        return torch.cat([x, x]).relu_()\n"
    )
    (tmp_path / "pkg" / "broken.py").write_text("def (:\n")
    return tmp_path / "pkg"


def test_mining_counts_class_bodies(package):
    found = mine([package])
    assert (found.classes, found.unique, found.used) == (3, 2, 2)
    assert dict(found.counts) == {
        "torch.nn.functional.relu": 2, "torch.Tensor.view": 1, "torch.matmul": 1, "torch.nn.GELU": 1, "torch.cat": 1,
    }  # fmt: skip
    assert found.pairs[("torch.cat", "torch.nn.GELU")] == 1 and sum(found.pairs.values()) == 6
    assert found.set_sizes == {3: 2}
    assert len(found.skipped) == 1 and "broken.py" in found.skipped[0]


def test_mining_nothing_is_one_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="give a folder"):
        mine([tmp_path / "none"])


def test_mine_and_sample_commands(package, capsys):
    from kzlib.cli import main

    assert main(["apis", "mine", str(package), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["apis"]["torch.nn.functional.relu"] == 2
    assert main(["apis", "sample", "--n", "5", "--seed", "1", "--size", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 5 and all(len(row) == 3 for row in rows)
    assert main(["apis", "sample", "--n", "5", "--seed", "1", "--sampler", "frontier"]) != 0
    assert "--weakness FILE" in capsys.readouterr().err
