"""Where tasks come from, what makes one valid, and which are copies: what slips through here is trained on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.contamination import compare, sizes
from kzlib.identity import identity
from kzlib.records import Task, append_jsonl
from kzlib.shrink import plans, shrink_with, trial_server
from kzlib.sizes import numbers_of
from kzlib.tasks import load_tasks, natural_key, task_of
from kzlib.validity import GATES, acceptance, check_validity
from kzlib.verifier import Verifier

BAD = Path(__file__).parent / "bad_modules"
HELDOUT = load_tasks("heldout")


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(device="cpu", workers=2) as found:
        found.judge.references.seconds = 5.0  # the endless loops of the bad modules end after this
        yield found


# --- sources --------------------------------------------------------------------------------------------------------

MODULE = (
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return torch.relu(x)\n"
    "def get_inputs(): return [torch.randn(3)]\ndef get_init_inputs(): return []\n"
)


def test_folder_and_jsonl_give_the_same_tasks(tmp_path):
    for name in ("10_b.py", "2_a.py", "__init__.py"):
        (tmp_path / name).write_text("" if name.startswith("__") else MODULE)
    tasks = load_tasks(str(tmp_path))
    assert [t.origin.rpartition("/")[2] for t in tasks] == ["2_a.py", "10_b.py"]
    assert tasks[0].apis == ("torch.nn.functional.relu",)
    append_jsonl(tmp_path / "t.jsonl", tasks)
    assert load_tasks(str(tmp_path / "t.jsonl")) == tasks


def test_checkouts_are_read_by_path(tmp_path):
    (tmp_path / "KernelBench" / "level1").mkdir(parents=True)
    (tmp_path / "KernelBench" / "level1" / "1_x.py").write_text(MODULE)
    (tmp_path / "reference" / "act").mkdir(parents=True)
    (tmp_path / "reference" / "act" / "relu.py").write_text(MODULE)
    assert load_tasks(f"kernelbench:{tmp_path}:level1")[0].level == 1
    assert load_tasks(f"multikernelbench:{tmp_path}:act")[0].origin == "multikernelbench/act/relu.py"


def test_hub_rows_become_tasks(monkeypatch):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([{"code": MODULE, "name": "19_ReLU", "level": 1}])
    monkeypatch.setattr(datasets, "load_dataset", lambda name, split=None: {"level_1": rows})
    task = load_tasks("hub:owner/set")[0]
    assert (task.origin, task.level) == ("hub/owner/set/level_1/19_ReLU", 1)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("no/such/place", "a folder of .py files"),
        ("kernelbench:somewhere", "level1"),
        ("kernelbench:nowhere:level1", "checkout"),
        ("multikernelbench:nowhere", "checkout"),
        ("heldout:3", "heldout:2"),
        ("hub:", "OWNER/NAME"),
    ],
)
def test_a_source_that_is_not_there_says_what_to_type(spec, says):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(says)):
        load_tasks(spec)


@given(st.lists(st.text(alphabet="ab0123456789_", max_size=8), max_size=8))
def test_natural_order_is_an_order(names):
    assert [natural_key(n) for n in sorted(names, key=natural_key)] == sorted(map(natural_key, names))


# --- the held-out set -----------------------------------------------------------------------------------------------


def test_heldout_is_two_levels_of_thirty():
    assert [sum(t.level == n for t in HELDOUT) for n in (1, 2)] == [30, 30]
    assert all(len(t.apis) == 1 for t in HELDOUT if t.level == 1)
    assert len({identity(t.source) for t in HELDOUT}) == 60


def test_heldout_modules_are_valid(verifier):
    found = list(check_validity(HELDOUT, [t.apis for t in HELDOUT], verifier))
    assert [(t.origin, v.gate, v.message) for t, v in zip(HELDOUT, found, strict=True) if not v.valid] == []


def test_heldout_scales_for_timing():
    small, large = load_tasks("heldout:1")[0], load_tasks("heldout:1:scale=8")[0]
    assert sizes(large.source) == tuple(8 * n for n in sizes(small.source)) and large.id != small.id
    assert all("SCALE = 8" in t.source for t in load_tasks("heldout:scale=8"))


# --- validity -------------------------------------------------------------------------------------------------------


def bad_modules() -> list[tuple[str, Task, tuple[str, ...], tuple[str, ...]]]:
    """(file, task, APIs asked for, gates that may reject it)."""
    rows = []
    for path in sorted(BAD.glob("*.txt")):
        text = path.read_text()
        head = dict(re.findall(r"^# (gate|asked): (.*)$", text, re.MULTILINE))
        task = task_of(text, path.name)
        asked = tuple(head["asked"].split(", ")) if "asked" in head else task.apis
        rows.append((path.name, task, asked, tuple(head["gate"].split(", "))))
    return rows


def test_every_bad_module_falls_at_its_gate(verifier):
    rows = bad_modules()
    assert len(rows) >= 60
    known = {identity(t.source) for t in HELDOUT}
    found = list(check_validity([r[1] for r in rows], [r[2] for r in rows], verifier, known=known))
    wrong = [(r[0], v.gate, v.message) for r, v in zip(rows, found, strict=True) if v.valid or v.gate not in r[3]]
    assert wrong == []
    assert all(v.message.strip() for v in found)
    table = acceptance(found)
    assert table[0].entered == len(rows) and table[-1].passed == 0
    assert [row.gate for row in table] == [g for g in GATES if g in {row.gate for row in table}]


def test_each_gate_but_the_unreachable_has_a_bad_module():
    gates = {gate for _, _, _, gates in bad_modules() for gate in gates}
    assert set(GATES) - gates == set()


def test_the_second_of_two_near_copies_falls(verifier):
    again = Task(MODULE.replace("(x)", "(  x )").replace("randn(3)", "randn(1023)"))
    found = list(check_validity([Task(MODULE), again], None, verifier))
    assert [v.gate for v in found] == ["", "near_copy"]


def test_as_many_sets_as_tasks():
    with pytest.raises(ValueError, match="one set for each task"):
        list(check_validity([Task(MODULE)], [], None))  # type: ignore[arg-type]


# --- identities -----------------------------------------------------------------------------------------------------

BASE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 8)
        self.second = nn.Linear(width, 8)
    def forward(self, x, y):
        left = torch.relu(self.first(x)) * 2.5
        right = torch.sigmoid(self.second(y))
        total = left + right
        return torch.sum(total, dim=1)
def get_inputs():
    return [torch.randn(4, 16), torch.randn(4, 16)]
def get_init_inputs():
    return [16]
"""
ALIKE = {
    "names": lambda s: s.replace("left", "a").replace("self.first", "self.q").replace("total", "out"),
    "comments": lambda s: s.replace("total = ", "# a\n        total = ").replace("class Model", '"""m"""\nclass Model'),
    "constants": lambda s: s.replace("2.5", "7").replace("dim=1", "dim=0").replace("16", "1023"),
    "order": lambda s: re.sub(r"(        left = .*\n)(        right = .*\n)", r"\2\1", s),
    "commuted": lambda s: s.replace("left + right", "right + left"),
    "methods": lambda s: s.replace("torch.relu(self.first(x))", "self.first(x).relu()").replace(
        "torch.sum(total, dim=1)", "total.sum(1)"),
    "modules": lambda s: s.replace("torch.relu(self.first(x))", "nn.ReLU()(self.first(x))"),
    "helper": lambda s: s.replace("torch.sum(total, dim=1)", "last(total)").replace(
        "class Model", "def last(v):\n    return torch.sum(v, dim=1)\nclass Model"),
    "dead code": lambda s: s.replace("        total", "        unused = torch.exp(x)\n        total", 1),
    "in place": lambda s: s.replace("total = left + right", "total = left; total += right"),
    "imports": lambda s: s.replace("import torch.nn as nn", "from torch import nn"),
}  # fmt: skip
DIFFERENT = {
    "operator": lambda s: s.replace("torch.relu", "torch.tanh"),
    "operand": lambda s: s.replace("self.second(y)", "self.second(x)"),
    "one less": lambda s: s.replace("torch.relu(self.first(x))", "self.first(x)"),
    "sub": lambda s: s.replace("left + right", "left - right"),
    "shared weights": lambda s: s.replace("self.second(y)", "self.first(y)"),
}


@pytest.mark.parametrize("name", ALIKE)
def test_near_copies_share_an_identity(name):
    changed = ALIKE[name](BASE)
    assert changed != BASE and identity(changed) == identity(BASE)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(ALIKE)), min_size=1, max_size=4, unique=True))
def test_near_copies_of_near_copies_too(names):
    text = BASE
    for name in names:
        text = ALIKE[name](text)
    assert identity(text) == identity(BASE)


@pytest.mark.parametrize("name", sorted(set(DIFFERENT)))
def test_other_computations_have_other_identities(name):
    changed = DIFFERENT[name](BASE)
    assert changed != BASE
    assert identity(changed) != identity(BASE)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_any_text_has_an_identity(text):
    assert identity(text) == identity(text) and len(identity(text)) == 16


# --- contamination: P37's five, in its order ------------------------------------------------------------------------


def findings(*sources: str, benchmark: str = BASE) -> list[str]:
    return [row.finding for row in compare([Task(s) for s in sources], [Task(benchmark, origin="bench")]).rows]


def test_copies_renamed_and_reordered_are_caught():
    assert findings(BASE, ALIKE["names"](BASE), ALIKE["order"](BASE), ALIKE["constants"](BASE)) == ["copy"] * 4


def test_same_operator_other_shape_is_reported_not_dropped():
    report = compare([Task(MODULE.replace("randn(3)", "randn(64, 7)"))], [Task(MODULE, origin="bench")])
    assert report.counts() == {"copy": 0, "same_operators": 1, "clear": 0} and len(report.kept) == 1


def test_a_common_idiom_is_not_accused():
    idiom = MODULE.replace("torch.relu(x)", "torch.relu(x @ w + b)").replace("(self, x)", "(self, x, w, b)")
    kernel = MODULE.replace("torch.relu(x)", "torch.relu(self.fc(x) * 2)").replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n        self.fc = torch.nn.Linear(3, 3)\n    def forward",
    )
    assert findings(idiom, benchmark=kernel) == ["clear"]


def test_heldout_modules_are_dropped_from_training_and_ours_are_no_copies_of_each_other():
    report = compare(HELDOUT, HELDOUT)
    assert report.counts()["copy"] == 60 and report.kept == ()
    levels = [[t for t in HELDOUT if t.level == level] for level in (1, 2)]
    assert compare(levels[0], levels[1]).counts()["copy"] == 0


# --- shrinking ------------------------------------------------------------------------------------------------------

BIG = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.fc = nn.Linear(features, features)
        self.norm = nn.GroupNorm(groups, features)
    def forward(self, x, target):
        return self.norm(self.fc(x)) - target
batch_size = 16384
features = 2048 * 4
groups = 16
def get_inputs():
    return [torch.rand(batch_size, features), torch.rand(batch_size, features)]
def get_init_inputs():
    return [features, groups]
"""


@pytest.fixture(scope="module")
def server():
    found = trial_server()
    yield found
    found.close()


def test_a_big_task_shrinks_and_its_equal_sizes_stay_equal(server):
    found = shrink_with(task_of(BIG, "big", 2), server)
    assert found.runs and found.sound and found.odd and found.cap == 32
    values = {n.name: n.value for n in numbers_of(found.task.source) if n.name}
    assert values["batch_size"] == 7 and values["features"] == 32 and values["groups"] == 16
    assert found.task.apis == ("torch.nn.GroupNorm", "torch.nn.Linear") and found.task.id != task_of(BIG, "").id


def test_sizes_that_must_stay_large_make_the_cap_rise(server):
    stubborn = BIG.replace("return self.norm", "assert x.shape[1] >= 128\n        return self.norm")
    assert shrink_with(Task(stubborn), server).cap == 128


def test_unsound_and_endless_tasks_are_told_apart(server):
    small = MODULE.replace("randn(3)", "randn(4096)")
    constant = shrink_with(Task(small.replace("relu(x)", "relu(x) * 0")), server)
    assert constant.runs and not constant.sound and "constant" in constant.message
    loop = small.replace("return torch.relu(x)", "\n        while True: pass")
    endless = shrink_with(Task(loop), server, seconds=1)
    assert not endless.runs and "time" in endless.message


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=5), st.data())
def test_one_value_has_one_image_in_every_plan(values, data):
    names = [f"d{i}" for i in range(len(values))]
    used = data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=4))
    source = "\n".join(f"{n} = {v}" for n, v in zip(names, values, strict=True)) + (
        f"\ndef get_inputs():\n    return [torch.rand({', '.join(used)})]\n"
        f"def get_init_inputs():\n    return [{used[-1]}]\n"
    )
    before = {n.name: n for n in numbers_of(source) if n.name}
    for plan in plans(source):
        after = {n.name: n.value for n in numbers_of(plan.source) if n.name}
        assert all(1 <= after[n] <= before[n].value and after[n] <= max(plan.cap, 3) for n in names)
        image: dict[int, int] = {}
        for name in names:
            if not (plan.tiny and before[name].leading):
                assert image.setdefault(before[name].value, after[name]) == after[name]


def test_numbers_are_rewritten_without_touching_the_rest():
    source = 'é = "ü"; N, M = 4096, 3\nX = 1.5\nflag = True\ndef get_inputs(): return [torch.rand(N, M)]\n'
    texts = [p.source for p in plans(source)]
    assert all('é = "ü"' in t and "X = 1.5" in t and "flag = True" in t and ", 3\n" in t for t in texts)
    assert json.dumps(texts)  # plain text
