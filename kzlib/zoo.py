"""The zoo: kernels whose verdict is known, one file a case, each with the outcome it must get and its source.

The files are in the checkout's `tests/zoo`, not in the installed package. `tasks/<name>.py` are Torch modules in
KernelBench form. `cases/<honest|dishonest>/<backend>/<name>.py` are candidates whose first comment lines say what they
are:

    # task: softmax_rows
    # expect: wrong|cheat          one outcome or several; on a GPU `expect_gpu` comes first where it is given
    # id: B15                      entries of the cheat catalogue (A1-D22), or false-rejection classes (R1-R37, plain)
    # source: where the kind was reported
    # needs: cpu | gpu             "cpu" cases run everywhere, "gpu" cases show nothing without a CUDA device
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kzlib.environment import ROOT as PROJECT
from kzlib.records import Candidate, Outcome, Task

ROOT = PROJECT / "tests" / "zoo"
_HEADER = re.compile(r"# (\w+): (.*)")
FIELDS = frozenset({"task", "expect", "expect_gpu", "id", "source", "needs", "about"})


@dataclass(frozen=True)
class Case:
    """One candidate and what is known of it. `group` is the first letter of its first id: A-D, or R for honest ones."""

    name: str  # "dishonest/triton/memo_by_pointer"
    honest: bool
    backend: str
    task: str
    expect: frozenset[Outcome]
    expect_gpu: frozenset[Outcome]
    ids: tuple[str, ...]
    source: str
    needs: str
    candidate: Candidate

    @property
    def group(self) -> str:
        return "R" if self.honest else self.ids[0][0]

    def expected(self, gpu: bool) -> frozenset[Outcome]:
        return self.expect_gpu if gpu else self.expect


@cache
def tasks() -> dict[str, Task]:
    """All tasks by file name."""
    if not ROOT.is_dir():
        raise FileNotFoundError(
            "the zoo's files are in the project's checkout, and this is an installed package: "
            "clone the project and open the notebook there"
        )
    found = sorted((ROOT / "tasks").glob("*.py"))
    return {path.stem: Task(path.read_text(encoding="utf-8"), origin="zoo") for path in found}


def cases(*, gpu: bool = False) -> list[Case]:
    """All cases that this machine can show; with `gpu`, those too that need a CUDA device."""
    tasks()  # says so where there is no zoo
    return [case for case in _all() if gpu or case.needs == "cpu"]


def case(name: str) -> Case:
    """One case by its file's name, such as "memo_by_pointer", or by its full name where two backends have one.

    >>> case("memo_by_pointer").task
    'softmax_block'
    """
    tasks()
    found = [path for path in sorted((ROOT / "cases").glob("*/*/*.py")) if _name(path).endswith(f"/{name}")]
    found = found or [path for path in [ROOT / "cases" / f"{name}.py"] if path.exists()]
    if len(found) != 1:
        what = f"{len(found)} cases" if found else "no case"
        raise ValueError(f"the zoo has {what} called {name!r}: see the files of tests/zoo/cases")
    return _read(found[0])


def _all() -> Iterator[Case]:
    for path in sorted((ROOT / "cases").glob("*/*/*.py")):
        yield _read(path)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT / "cases").with_suffix(""))


def _read(path: Path) -> Case:
    source = path.read_text(encoding="utf-8")
    header: dict[str, str] = {}
    for line in source.splitlines():
        match = _HEADER.fullmatch(line)
        if match is None:
            break
        header[match[1]] = match[2].strip()
    where = path.relative_to(ROOT)
    if unknown := set(header) - FIELDS:
        raise ValueError(f"{where}: no header field {sorted(unknown)[0]!r}; there are {', '.join(sorted(FIELDS))}")
    for key in ("task", "expect", "id", "needs"):
        if key not in header:
            raise ValueError(f"{where}: the header lacks a line '# {key}: ...'")
    if header["task"] not in tasks():
        raise ValueError(f"{where}: there is no task {header['task']!r} in tests/zoo/tasks")
    kind, backend = where.parts[1], where.parts[2]
    expect = _outcomes(header["expect"])
    return Case(
        name=f"{kind}/{backend}/{path.stem}",
        honest=kind == "honest",
        backend=backend,
        task=header["task"],
        expect=expect,
        expect_gpu=_outcomes(header["expect_gpu"]) if "expect_gpu" in header else expect,
        ids=tuple(re.split(r"[,\s]+", header["id"])),
        source=header.get("source", ""),
        needs=header["needs"],
        candidate=Candidate(tasks()[header["task"]].id, backend, source),  # type: ignore[arg-type]
    )


def _outcomes(text: str) -> frozenset[Outcome]:
    return frozenset(Outcome(word) for word in text.split("|"))
