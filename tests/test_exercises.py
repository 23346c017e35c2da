"""Exercises: a stub says that it is open, a solution is right, a mistake is told in words, and nothing ever raises."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tokenizers import Tokenizer, models

from kzlib import exercises, policy, sft
from kzlib.exercises import ca_grpo, cold_start, intervals, sampling
from kzlib.records import Task
from kzlib.runner import notebooks
from kzlib.validity import check_validity
from kzlib.verifier import Verifier

ROOT = Path(__file__).parents[1]
LESSONS = {path.stem[:2]: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
SOLUTIONS = {path.stem[:2]: path for path in sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))}
EVERY = [name for lesson in exercises.LESSONS for name in exercises.names(lesson)]


def exercise_cells(path: Path) -> list[str]:
    cells = notebooks.code_cells(notebooks.load(path))
    return [notebooks.text_of(cell) for cell in cells if "exercise" in notebooks.tags_of(cell)]


def printed(code: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "exercise", "exec"), {"__name__": "exercise"})
    return said.getvalue()


@pytest.mark.parametrize("lesson", exercises.LESSONS)
def test_a_stub_left_alone_says_so_and_nothing_else(lesson: str) -> None:
    """Each cell is run by itself, so a reader may open a notebook and go straight to the exercises."""
    said = [printed(cell) for cell in exercise_cells(LESSONS[lesson])]
    assert [line.count("\n") for line in said] == [1] * len(said)
    assert [line.split(",")[0] for line in said] == [f"not attempted yet: {name}" for name in exercises.names(lesson)]


@pytest.mark.parametrize("lesson", exercises.LESSONS)
def test_the_solution_notebook_runs_and_is_right(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(SOLUTIONS[lesson], as_version=4)
    NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    said = [o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream"]
    assert [line.split(":")[0] for line in said] == [f"right ({name})" for name in exercises.names(lesson)]


@pytest.mark.parametrize("lesson", exercises.LESSONS)
def test_a_solution_answers_the_stub_of_its_lesson(lesson: str) -> None:
    """Same task, same names, same last line: what is learned there can be typed in here."""
    for stub, solved in zip(exercise_cells(LESSONS[lesson]), exercise_cells(SOLUTIONS[lesson]), strict=True):
        assert stub.splitlines()[-1] == solved.splitlines()[-1]
        starts = [line for line in stub.splitlines() if line.startswith(("def my_", "my_"))]
        assert starts == [line for line in solved.splitlines() if line.startswith(("def my_", "my_"))]


def stops(*_: Any) -> Any:
    raise KeyError("x")


WILD = [
    None,
    3,
    "",
    "return",
    [],
    {},
    {"a": 1},
    (1, 2),
    object(),
    stops,
    lambda *_: None,
    lambda *_: "x",
    lambda *_: 0.0,
]
WILD += [
    lambda *_: [],
    lambda *_: [None] * 3,
    lambda: 1,
    lambda *_: float("nan"),
    lambda *_: {},
    lambda *_: (None, None),
]


@pytest.mark.parametrize("name", EVERY)
def test_any_answer_gets_a_sentence(name: str) -> None:
    """No answer makes the checker raise, and no nonsense passes."""
    for answer in WILD:
        feedback = exercises.check(name, answer)
        assert feedback.state == "wrong", (answer, feedback)
        assert len(feedback.sentence) > 15
        assert str(feedback).startswith(f"not yet ({name}): ")


@pytest.mark.parametrize("name", EVERY)
def test_the_library_is_not_changed_by_an_answer(name: str) -> None:
    """An answer that empties its arguments is still judged by the true ones."""

    def empties(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, list):
                argument.clear()
        return [0.0]

    assert exercises.check(name, empties).state == "wrong"
    assert exercises.check(name, empties) == exercises.check(name, empties)


def test_an_unknown_exercise_is_a_bug_of_the_notebook() -> None:
    with pytest.raises(ValueError, match="there is no exercise"):
        exercises.check("03.x", 1)
    with pytest.raises(ValueError, match="name one of 01"):
        exercises.check("99.x", 1)


def test_half_a_table_names_what_is_open() -> None:
    answer = dict.fromkeys(intervals.RUNS, False) | {"up on 1 of 20 tasks": ...}
    assert exercises.check("06.claims", answer).sentence == "up on 1 of 20 tasks still to predict"


def test_the_predicted_gates_are_those_of_the_verifier() -> None:
    tasks = [Task(sampling.MODULE.format(body=body)) for body in sampling.GATE_CASES]
    with Verifier(device="cpu", workers=1) as verifier:
        found = list(check_validity(tasks, [("torch.exp", "torch.sum")] * len(tasks), verifier, seed=0))
    assert [f.gate or "valid" for f in found] == [gate for gate, _ in sampling.GATE_CASES.values()]


def test_the_merges_are_those_of_the_tokenizer_library() -> None:
    merges = [("a", "b"), ("ab", "c"), ("c", "a"), ("abc", "abc")]
    vocab = {token: i for i, token in enumerate(["a", "b", "c", *("".join(pair) for pair in merges)])}
    library = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    for word in ("abcabc", "cab", "bcab", "aabbcc", "cacabca", "b"):
        assert cold_start._merged(word, merges) == library.encode(word).tokens


def test_the_labels_are_those_of_the_cold_start() -> None:
    example = sft.Example("a b", "c d")
    tokenizer = policy.build_tokenizer(["a b c d"], 300)
    row = sft.encode([example], tokenizer, 64)[0]
    prompt = [i for i, label in zip(row["input_ids"], row["labels"], strict=True) if label == -100]
    kernel = row["input_ids"][len(prompt) : -1]

    def as_trained(given: list[int], answer: list[int], end: int) -> list[int]:
        return [-100] * len(given) + answer + [end]

    assert row["labels"] == as_trained(prompt, kernel, tokenizer.eos_token_id)
    assert exercises.check("02.labels", as_trained).state == "right"


def test_the_groups_are_what_their_names_say() -> None:
    for name, (c, S, _) in ca_grpo.GROUPS.items():
        assert name.startswith(f"{sum(c)} of {len(c)} right")
        assert len(S) == len(c)


def test_an_exercise_does_not_make_a_stage_stale_or_stop_a_plan() -> None:
    """A reader solves exercises in the notebook itself, after hours of training: `kz status` must still say fresh."""
    notebook = json.loads(LESSONS["03"].read_text())
    changed = copy.deepcopy(notebook)
    cell = next(c for c in changed["cells"] if "exercise" in notebooks.tags_of(c))
    cell["source"] = "def my_reward(:"
    assert notebooks.digest(changed) == notebooks.digest(notebook)
    assert notebooks.names_read(changed) == notebooks.names_read(notebook)
    lesson = next(c for c in changed["cells"] if c["id"] == "save")
    lesson["source"] = "run.finish()"
    assert notebooks.digest(changed) != notebooks.digest(notebook)
