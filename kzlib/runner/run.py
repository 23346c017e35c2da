"""`kz run`, `kz plan` and `kz status`: the stages of a run, one after the other, each only when it has to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kzlib.environment import ROOT
from kzlib.params import Params, nearest
from kzlib.progress import duration
from kzlib.runner import notebooks, processes, stamps
from kzlib.runner.execution import TIME_IS_UP, Execution, StageFailedError
from kzlib.runner.lock import run_lock
from kzlib.runner.stamps import Context, State
from kzlib.stages import FIGURES, Stage, stages
from kzlib.workspace import Run, latest_run, new_run_name, open_run

STOP_AT = "KZ_STOP_AT"  # when a notebook is to have stopped, seconds since 1970 (`kzlib.training.StopInTime`)
RUNNER_READS = ("deadline_minutes", "rounds")  # settings that a notebook need not declare


@dataclass(frozen=True)
class Selection:
    """Which stages a command is about; names may be shortened ("03" is every round's Proposer)."""

    start: str | None = None
    only: tuple[str, ...] = ()
    stop: str | None = None
    force: bool = False

    def of(self, every: Sequence[Stage]) -> list[Stage]:
        """The stages selected, in order.

        >>> [s.name for s in Selection(start="04", stop="05").of(stages(1))]
        ['04_coder_rl.r1', '05_evaluation']
        """
        if self.only:
            wanted = {stage.name for name in self.only for stage in matching(name, every)}
            return [stage for stage in every if stage.name in wanted]
        first = every.index(matching(self.start, every)[0]) if self.start else 0
        last = every.index(matching(self.stop, every)[-1]) if self.stop else len(every) - 1
        if first > last:
            raise notebooks.NotebookError(f"--from {self.start} comes after --to {self.stop}: exchange them")
        return list(every[first : last + 1])


def matching(name: str, every: Sequence[Stage]) -> list[Stage]:
    """Stages whose name is, or begins with, `name`."""
    exact = [stage for stage in every if name in (stage.name, stage.notebook)]
    found = exact or [stage for stage in every if stage.name.startswith(name)]
    if not found:
        names = [stage.name for stage in every]
        raise notebooks.NotebookError(f"there is no stage {name}{nearest(name, names)}; there are {', '.join(names)}")
    return found


def find_run(output_root: str, params: Params, run_name: str) -> Run:
    """The run that a command is about; "latest" is the newest, "new" always makes one."""
    base = Path(os.environ.get("KZ_OUTPUT_ROOT") or ROOT / output_root) / params.profile
    if run_name == "new" or (run_name == "latest" and latest_run(base) is None):
        run_name = new_run_name(params.digest())
    return open_run(output_root, params.profile, run_name)


def look_at(output_root: str, params: Params, run_name: str) -> Run:
    """As `find_run`, but nothing is made: a run that is not there yet has every stage "never run"."""
    base = Path(os.environ.get("KZ_OUTPUT_ROOT") or ROOT / output_root) / params.profile
    name = latest_run(base) or "new" if run_name == "latest" else run_name
    if run_name not in ("latest", "new") and not (base / name).is_dir():
        names = [path.name for path in sorted(base.glob("[!.]*"))] if base.is_dir() else []
        there = f"there are {', '.join(names)}" if names else "there is none yet"
        raise ValueError(f"there is no run {name} of {params.profile}{nearest(name, names)}; {there}")
    return Run(base / name, params.profile, name)


def status(context: Context) -> list[tuple[Stage, State]]:
    """Every stage of a run with where it stands."""
    states = []
    for stage in context.every:
        try:
            states.append((stage, stamps.state_of(stage, context)))
        except notebooks.NotebookError as error:
            states.append((stage, State("failed", (str(error),))))
    if context.root.is_dir():
        with contextlib.suppress(OSError):  # a run that can only be read can still be looked at
            context.digests.save()
    return states


def plan(context: Context, selection: Selection) -> Iterator[tuple[Stage, str]]:
    """What `kz run` would do, stage by stage, without doing it: "run, ...", "skip" or "run if X changes"."""
    remade: set[str] = set()
    for stage in selection.of(context.every):
        state = stamps.state_of(stage, context)
        touched = [i for i in stamps.input_paths(stage, context.root) if i in remade] + [
            p for p in stage.inputs if "*" in p and any(Path(m).match(p) for m in remade)
        ]
        if selection.force or state.word != "fresh":
            remade.update(stage.outputs)
            yield stage, "run (forced)" if selection.force else f"run ({state})"
        elif touched:
            remade.update(stage.outputs)
            yield stage, f"run if {touched[0]} changes"
        else:
            yield stage, "skip (fresh)"


def run_profile(context: Context, selection: Selection, say: Callable[[str], None] = print, minutes: float = 0) -> int:
    """Run what is selected and not fresh, in order; returns how many notebooks were executed.

    After `minutes` (0: no limit) the notebook at work is stopped as at Ctrl-C; the same command then goes on.

    Raises StageFailedError at the first stage that does not end well, RunIsBusyError when another runner has the run,
    and NotebookError before anything starts when a notebook and the profile do not fit together.
    """
    selected = selection.of(context.every)
    with run_lock(context.root), _signals(minutes) as stop:
        _end_leftovers(context.run, say)
        check_all(selected, context)
        _same_seed(selected, context)
        context.run.write_json("params.json", context.params.model_dump())
        executed = 0
        for number, stage in enumerate(selected, 1):
            now = context.again()
            state = stamps.state_of(stage, now)
            now.digests.save()
            if state.word == "fresh" and not selection.force:
                continue
            say(f"[{number}/{len(selected)}] {stage.name}: {'forced' if selection.force else state}")
            seconds = Execution(stage, now, say, stop).run()
            say(f"[{number}/{len(selected)}] {stage.name}: done in {duration(seconds)}")
            executed += 1
            if stop():
                error = StageFailedError(f"stopped after {stage.name}, which is done: type the same command to go on")
                error.exit_code = TIME_IS_UP if stop() == signal.SIGALRM else 1
                raise error
        if executed and FIGURES in context.every and stamps.state_of(FIGURES, context.again()).word == "fresh":
            from kzlib import report

            report.write_page(replace(context.run, stage=FIGURES.name))
    return executed


def _same_seed(selected: Sequence[Stage], context: Context) -> None:
    """Some stages of one seed beside others of another would look like one experiment."""
    path, ours = context.root / "params.json", context.params.run.seed
    made_with = json.loads(path.read_text(encoding="utf-8"))["run"]["seed"] if path.exists() else ours
    kept = [
        s for s in context.every if s not in selected and (context.root / "stages" / s.name / "stamp.json").exists()
    ]
    if made_with != ours and kept:
        profile = context.params.profile
        raise notebooks.NotebookError(
            f"{profile}/{context.run.name} was made with seed {made_with}, and {profile} says {ours}: run all "
            f"its stages again, or go on with a sweep's run by `kz sweep {profile} --seeds {made_with}`"
        )


def check_all(selected: Sequence[Stage], context: Context) -> None:
    """Refuse, before any kernel starts, a notebook that declares unknown names or a setting that nobody reads."""
    declared = []
    for stage in selected:
        notebook = notebooks.load(context.notebooks / f"{stage.notebook}.ipynb")
        declared.append((stage, list(notebooks.check_names(notebook, stage))))
    if {stage.notebook for stage in selected} == {stage.notebook for stage in stages(1)}:  # else others may read it
        notebooks.check_unused(declared, RUNNER_READS)


def _end_leftovers(run: Run, say: Callable[[str], None]) -> None:
    """A runner that was killed may have left its kernel: it must not write while another one does."""
    ended = processes.end(processes.marked("KZ_RUN_DIR", str(run.root)))
    if ended:
        say(f"ended {ended} processes that an earlier, killed runner left behind")


@contextlib.contextmanager
def _signals(minutes: float = 0) -> Iterator[Callable[[], int]]:
    """Ctrl-C, SIGTERM and the end of the time given become a number that the loop looks at, so that a notebook is
    always stopped in order."""
    seen = [0]

    def note(sign: int, _: object) -> None:
        seen[0] = sign

    before = {sign: signal.signal(sign, note) for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    known = os.environ.get(STOP_AT)
    try:
        if minutes:
            signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
            os.environ[STOP_AT] = str(time.time() + 60 * minutes)  # notebooks read it, to stop at a checkpoint
        yield lambda: seen[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if known is None:
            os.environ.pop(STOP_AT, None)
        for sign, handler in before.items():
            signal.signal(sign, handler)
