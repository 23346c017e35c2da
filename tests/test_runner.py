"""No failure may ever be reported as success, and nothing that was finished may be lost or done twice.

`tests/notebooks/` is a zoo of tiny notebooks, one odd ending each; those of the table in issue 2 are all here.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kzlib.params import load_profile
from kzlib.runner import Context, Selection, StageFailedError, plan, processes, run_profile, sources, stamps, status
from kzlib.runner import supervise as supervision
from kzlib.runner.notebooks import NotebookError
from kzlib.stages import Stage
from kzlib.workspace import Run

ZOO = Path(__file__).parent / "notebooks"
ROOT = ZOO.parents[1]
SECTIONS = ("run",)

CHAIN = (
    Stage("first", "first", SECTIONS, (), ("a.json",)),
    Stage("second", "second", SECTIONS, ("a.json",), ("b.json",)),
    Stage("aside", "aside", SECTIONS, (), ("c.json",)),
    Stage("last", "last", SECTIONS, ("b.json", "c.json"), ("d.json",)),
)


def one(notebook: str, outputs: Sequence[str] = ("ok.json",)) -> tuple[Stage, ...]:
    return (Stage(notebook, notebook, SECTIONS, (), tuple(outputs)),)


def context(root: Path, every: tuple[Stage, ...], folder: Path = ZOO, minutes: float = 5, seed: int = 0) -> Context:
    params = load_profile("smoke", {"run.deadline_minutes": float(minutes), "run.seed": seed})
    (root / "smoke" / "r1").mkdir(parents=True, exist_ok=True)
    return Context(Run(root / "smoke" / "r1", "smoke", "r1"), params, every, folder)


def execute(given: Context, *only: str, force: bool = False) -> tuple[int, list[str]]:
    said: list[str] = []
    return run_profile(given.again(), Selection(only=only, force=force), said.append), said


def fails(given: Context) -> str:
    """Run, and check all that must hold after any failure: recorded, no stamp, no copy that looks like a success."""
    with pytest.raises(StageFailedError) as caught:
        execute(given)
    name = given.every[0].name
    folder = given.root / "stages" / name
    assert not (folder / "stamp.json").exists()
    assert not (given.root / "notebooks" / f"{name}.ipynb").exists()
    assert not (folder / "running.json").exists()
    [(_, state)] = status(given.again())
    assert state.word == "failed"
    assert json.loads((folder / "failed.json").read_text())["cause"] in str(caught.value)
    assert "kz run --profile smoke --run r1" in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the chain and of "ok", done once for the tests that begin with a finished run."""
    root = tmp_path_factory.mktemp("finished")
    assert execute(context(root, CHAIN + one("ok")))[0] == 5
    return root


@pytest.fixture
def chain(finished: Path, tmp_path: Path) -> Context:
    return begin_from(finished, tmp_path, CHAIN)


@pytest.fixture
def ok(finished: Path, tmp_path: Path) -> Context:
    return begin_from(finished, tmp_path, one("ok"))


def begin_from(finished: Path, tmp_path: Path, every: tuple[Stage, ...]) -> Context:
    """A copy of the finished run and of the notebooks, free to be changed."""
    shutil.copytree(finished / "smoke", tmp_path / "smoke")
    shutil.copytree(ZOO, tmp_path / "notebooks")
    return context(tmp_path, every, tmp_path / "notebooks")


# --- the failure table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notebook", "expected"),
    [
        (
            "cell_error",
            'second line")) raised ValueError: the data are wrong. What was finished is kept',
        ),
        ("tagged_error", """cell 4 (raise ValueError("meant to be shown")) raised ValueError: meant to be shown"""),
        ("dead_kernel", "the kernel died in cell 4 (import os); likely for lack of memory"),
        ("os_exit", "the kernel died in cell 4 (import os)"),
        ("sys_exit", "cell 4 ended with SystemExit: 0"),
        ("own_handler", "failed without showing its error"),
        ("no_finish", "its last cell did not call run.finish()"),
        ("no_output", "its output ok.json is missing"),
        ("corrupt_output", "its output ok.json is not JSON"),
    ],
)
def test_a_failure_is_a_failure_with_its_cause(tmp_path: Path, notebook: str, expected: str) -> None:
    message = fails(context(tmp_path, one(notebook)))
    assert expected in message
    assert (tmp_path / "smoke/r1/notebooks" / f"{notebook}.failed.ipynb").exists()


@pytest.mark.parametrize(
    ("notebook", "expected"),
    [
        ("no_tag", 'no_tag has 0 cells tagged "parameters"'),
        ("computed_parameter", "steps in the parameters cell is not a literal"),
        ("unknown_parameter", "sed in the parameters cell is no setting of run (did you mean seed?)"),
        ("unread_parameter", "device is set in the parameters cell and never read"),
        ("absent", "notebooks/absent.ipynb is missing"),
    ],
)
def test_a_notebook_that_does_not_fit_is_refused_before_a_kernel_starts(
    tmp_path: Path, notebook: str, expected: str
) -> None:
    given = context(tmp_path, one(notebook))
    with pytest.raises(NotebookError) as caught:
        execute(given)
    assert expected in str(caught.value)
    assert not (given.root / "logs").exists()
    [(_, state)] = status(given.again())
    assert state.word in ("failed", "never run")


def test_a_deadline_stops_a_notebook(tmp_path: Path) -> None:
    begin = time.monotonic()
    message = fails(context(tmp_path, one("hangs"), minutes=0.1))
    assert "stopped at its deadline of 0.1 minutes (deadline_minutes in the profile)" in message
    assert time.monotonic() - begin < 60


def test_the_time_given_to_a_command_stops_it_and_the_next_command_goes_on(tmp_path: Path) -> None:
    given = context(tmp_path, one("hangs"))
    with pytest.raises(StageFailedError, match=r"the time given to this command is used up.*to go on type") as caught:
        run_profile(given.again(), Selection(), lambda line: None, minutes=0.1)
    assert caught.value.exit_code == 75
    assert "KZ_STOP_AT" not in os.environ
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert status(given.again())[0][1].word == "failed"


def test_a_notebook_that_ignores_every_signal_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "INTERRUPT_GRACE", 1.0)
    given = context(tmp_path, one("stubborn"), minutes=0.1)
    assert "deadline" in fails(given)
    assert processes.marked("KZ_RUN_DIR", str(given.root)) == []


def test_nothing_that_a_notebook_started_outlives_it(tmp_path: Path) -> None:
    given = context(tmp_path, one("leaves_children"))
    execute(given)
    child = int(json.loads((given.root / "child.json").read_text()))
    stat = Path(f"/proc/{child}/stat")
    assert not stat.exists() or b"sleep" not in Path(f"/proc/{child}/cmdline").read_bytes()


def test_a_kernel_that_does_not_start_is_tried_once_more_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "ipykernel_launcher.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    said: list[str] = []
    given = context(tmp_path, one("ok"))
    with pytest.raises(StageFailedError, match="before its first cell"):
        run_profile(given, Selection(), said.append)
    assert sum("trying once more" in line for line in said) == 1


# --- output, log, progress --------------------------------------------------------------------------------------------


def test_200_000_lines_are_bounded_in_the_notebook_and_whole_in_the_log(tmp_path: Path) -> None:
    given = context(tmp_path, one("many_lines"))
    execute(given)
    assert (given.root / "notebooks/many_lines.ipynb").stat().st_size < 300_000
    assert (
        "the rest of this output is in logs/many_lines.log" in (given.root / "notebooks/many_lines.ipynb").read_text()
    )
    log = (given.root / "logs/many_lines.log").read_text()
    assert log.count("\nline ") == 200_000


def test_progress_lines_reach_the_terminal_but_not_everything(tmp_path: Path) -> None:
    _, said = execute(context(tmp_path, one("slow")))
    lines = [line for line in said if line.startswith("slow: count")]
    assert 3 <= len(lines) <= 25
    assert " left" in lines[0]
    assert "24/24" in lines[-1]


def test_the_executed_copy_names_no_path_of_this_machine(finished: Path) -> None:
    text = (finished / "smoke/r1/notebooks/ok.ipynb").read_text()
    assert str(finished) not in text
    assert str(ROOT) not in text
    assert "outputs/smoke/r1/ok.json" in text  # what write_json returned, shown by the cell


# --- resume, skip, staleness ------------------------------------------------------------------------------------------


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_chain_runs_once_and_an_edit_runs_what_depends_on_it(chain: Context) -> None:
    fresh = context(chain.root.parents[1] / "new", CHAIN)
    assert [what for _, what in plan(fresh, Selection())][1] == "run (never run, it waits for a.json)"
    assert json.loads((chain.root / "d.json").read_text()) == 5
    begin = time.monotonic()
    assert execute(chain) == (0, [])
    assert time.monotonic() - begin < 5
    assert {state.word for _, state in status(chain.again())} == {"fresh"}

    # prose and comments change no result
    edit(chain.notebooks / "second.ipynb", "# second", "# The second")
    edit(chain.notebooks / "second.ipynb", "print(seeds", "# say so\\nprint(seeds")
    assert execute(chain)[0] == 0

    # code that changes this stage's result runs it and what reads it, and not what does not
    edit(chain.notebooks / "second.ipynb", "number + 1", "number + 2")
    assert [what for _, what in plan(chain.again(), Selection())] == [
        "skip (fresh)", "run (stale because the notebook's code changed)", "skip (fresh)", "run if b.json changes",
    ]  # fmt: skip
    count, said = execute(chain)
    assert count == 2
    assert any("last: stale because its input b.json changed" in line for line in said)
    assert json.loads((chain.root / "d.json").read_text()) == 6

    # a result that comes out the same stops there
    edit(chain.notebooks / "first.ipynb", "number = 1", "number = 2 - 1")
    assert execute(chain)[0] == 1

    # a lost or damaged artefact is made again, and the copy of the notebook is one
    (chain.root / "c.json").write_text("{")
    (chain.root / "notebooks/first.ipynb").unlink()
    states = {stage.name: str(state) for stage, state in status(chain.again())}
    assert states["aside"] == "stale because its output c.json was changed since"
    assert states["first"] == "stale because its output notebooks/first.ipynb is missing"
    assert execute(chain)[0] == 2


def test_a_changed_setting_names_itself_and_force_runs_all(chain: Context) -> None:
    other = context(chain.root.parents[1], CHAIN, chain.notebooks, seed=3)
    assert str(status(other)[0][1]) == "stale because seed changed from 0 to 3"
    assert execute(chain, "first", force=True)[0] == 1
    # a stage with an unfinished predecessor says which one to run
    (chain.root / "a.json").unlink()
    with pytest.raises(StageFailedError, match=r"its input a\.json is missing; run first first \(.* --from first\)"):
        execute(chain, "second")
    (chain.root / "a.json").write_text("{")
    with pytest.raises(StageFailedError, match=r"its input a\.json is not JSON"):
        execute(chain, "second")


def test_library_edits_reach_only_the_notebooks_that_import_them(
    chain: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = (stamps.key_parts(stage, chain)["library"] for stage in CHAIN[:2])
    assert "kzlib/seeds.py" in second
    assert "kzlib/seeds.py" not in first
    assert "kzlib/workspace.py" in first
    assert "kzlib/environment.py" in first  # through workspace


def test_which_library_files_count(tmp_path: Path) -> None:
    """Imports, data that are named, programs started by name; not what merely stands beside them."""
    package = tmp_path / "lib"
    files = {
        "__init__.py": "",
        "used.py": "from lib.sub import tool\nDATA = 'table.json'\n",
        "unused.py": "",
        "table.json": "{}",
        "other.json": "{}",
        "sub/__init__.py": "",
        "sub/tool.py": "COMMAND = ['-m', 'lib.sub.child']\n",
        "sub/child.py": "",
        "sub/idle.py": "",
        "sub/own.txt": "",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(exist_ok=True, parents=True)
        (package / name).write_text(text)
    tree = ast.parse("import lib.used")
    reached = sources.library_digests(tree, package)
    idle = {"lib/unused.py", "lib/other.json", "lib/sub/idle.py"}
    assert set(reached) == {f"lib/{name}" for name in files} - idle

    def touch(name: str, text: str) -> dict[str, str]:
        (package / name).write_text(text)
        os.utime(package / name, ns=(time.time_ns(), time.time_ns()))
        now = sources.library_digests(tree, package)
        return {key: value for key, value in now.items() if reached[key] != value}

    assert touch("used.py", '"""Says more."""\nfrom lib.sub import tool  # why\nDATA = "table.json"\n') == {}
    assert list(touch("table.json", "[]")) == ["lib/table.json"]
    (package / "sub/child.py").write_text("x = (")
    with pytest.raises(ValueError, match=r"child\.py, line 1, is not valid Python"):
        touch("sub/child.py", "x = (")


def test_a_crash_continues_where_it_was_and_a_new_key_does_not(tmp_path: Path) -> None:
    given = context(tmp_path, one("resumes"))
    with pytest.raises(StageFailedError, match="the kernel died"):
        execute(given)
    assert execute(given)[0] == 1
    assert "continuing from step 2" in (given.root / "logs/resumes.log").read_text()
    assert not (given.root / "stages/resumes/resume").exists()
    assert not (given.root / "notebooks/resumes.failed.ipynb").exists()

    (given.root / "crashed").unlink()
    with pytest.raises(StageFailedError):
        execute(given, force=True)
    other = context(tmp_path, one("resumes"), seed=1)
    execute(other)
    assert "continuing from step 0" in (given.root / "logs/resumes.log").read_text()


def test_stages_of_two_seeds_do_not_meet_in_one_run(chain: Context) -> None:
    other = context(chain.root.parents[1], CHAIN, chain.notebooks, seed=3)
    with pytest.raises(NotebookError, match=r"made with seed 0, and smoke says 3.*kz sweep smoke --seeds 0"):
        execute(other, CHAIN[-1].name)
    assert json.loads((chain.root / "params.json").read_text())["run"]["seed"] == 0
    assert execute(other)[0] == len(CHAIN)


def test_a_failed_rerun_keeps_the_last_good_copy(ok: Context) -> None:
    given, folder = ok, ok.notebooks
    good = (given.root / "notebooks/ok.ipynb").read_bytes()
    edit(folder / "ok.ipynb", 'print(\\"fine\\")', "print(1 / 0)")
    with pytest.raises(StageFailedError, match="ZeroDivisionError"):
        execute(given)
    assert (given.root / "notebooks/ok.ipynb").read_bytes() == good
    assert (given.root / "notebooks/ok.failed.ipynb").exists()
    assert str(status(given.again())[0][1]).startswith("failed: cell 4 (print(1 / 0)) raised ZeroDivisionError")


def test_selection_by_name_part_and_range() -> None:
    every = tuple(
        replace(CHAIN[0], name=n, notebook=n.split(".")[0]) for n in ("01_a", "03_p.r1", "04_c.r1", "03_p.r2")
    )
    pick = lambda **kind: [stage.name for stage in Selection(**kind).of(every)]  # noqa: E731
    assert pick(only=("03",)) == ["03_p.r1", "03_p.r2"]
    assert pick(start="03") == ["03_p.r1", "04_c.r1", "03_p.r2"]
    assert pick(stop="03_p.r1") == ["01_a", "03_p.r1"]
    with pytest.raises(NotebookError, match="did you mean 01_a"):
        pick(only=("01_b",))
    with pytest.raises(NotebookError, match="exchange them"):
        pick(start="03_p.r2", stop="01_a")


# --- the runner as a process: signals, locks, disks -------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runner import context, one
from kzlib import cli, runner
try:
    runner.run_profile(context(Path({root!r}), one({notebook!r})), runner.Selection())
except Exception as error:
    print(f"kz: {{cli.sentence(error)}}", file=sys.stderr)
    code = cli.exit_code(error)
    if code is None:
        raise
    sys.exit(code)
"""


def start(root: Path, notebook: str, wrap: Sequence[str] = ()) -> subprocess.Popen[str]:
    program = PROGRAM.format(tests=str(ZOO.parent), root=str(root), notebook=notebook)
    command = [*wrap, sys.executable, "-c", program]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition: object, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def in_cell(root: Path, notebook: str, cell: int) -> bool:
    log = root / f"smoke/r1/logs/{notebook}.log"
    return log.exists() and f"--- cell {cell} " in log.read_text()


@pytest.mark.parametrize(("sign", "code", "word"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "terminate")])
def test_a_stopped_runner_stops_its_notebook_and_says_so(tmp_path: Path, sign: int, code: int, word: str) -> None:
    runner = start(tmp_path, "hangs")
    wait_for(lambda: in_cell(tmp_path, "hangs", 4))
    runner.send_signal(sign)
    _, errors = runner.communicate(timeout=60)
    assert runner.returncode == code
    assert word in errors
    assert len(errors.strip().splitlines()) == 2
    given = context(tmp_path, one("hangs"))
    assert status(given)[0][1].word == "failed"
    assert processes.marked("KZ_RUN_DIR", str(given.root)) == []


def test_a_killed_runner_takes_its_kernel_along_and_the_next_one_goes_on(tmp_path: Path) -> None:
    runner = start(tmp_path, "hangs")
    wait_for(lambda: in_cell(tmp_path, "hangs", 4))
    given = context(tmp_path, one("hangs"))
    assert str(status(given)[0][1]).startswith("running, since")

    second = start(tmp_path, "hangs")  # while the first one holds the run
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"is in use by process {runner.pid} since" in errors
    assert len(errors.strip().splitlines()) == 1

    runner.kill()
    runner.communicate()
    wait_for(lambda: not processes.marked("KZ_RUN_DIR", str(given.root)), 20)
    assert "its runner was killed after it began" in str(status(given.again())[0][1])
    assert execute(context(tmp_path, one("ok")))[0] == 1  # the lock is free


@pytest.mark.parametrize(("notebook", "blocks"), [("fills_disk", "2000"), ("ok", "2")])
def test_a_full_disk_is_one_sentence_and_no_success(tmp_path: Path, notebook: str, blocks: str) -> None:
    limit = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "limited"]
    runner = start(tmp_path, notebook, limit)
    _, errors = runner.communicate(timeout=120)
    assert runner.returncode == 1
    assert "the disk is full" in errors or "File too large" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / f"smoke/r1/stages/{notebook}/stamp.json").exists()
    if notebook == "ok":  # space was made
        assert execute(context(tmp_path, one("ok")))[0] == 1


def test_an_unreadable_stamp_means_run_again(ok: Context) -> None:
    given = ok
    (given.root / "stages/ok/stamp.json").write_text("{")
    assert str(status(given.again())[0][1]) == "stale because its stamp cannot be read"
    assert execute(given)[0] == 1


def test_a_stamp_holds_what_is_needed_to_trace_a_number(chain: Context) -> None:
    given = chain
    stamp = json.loads((given.root / "stages/last/stamp.json").read_text())
    second = json.loads((given.root / "stages/second/stamp.json").read_text())
    assert stamp["parents"]["second"] == second["key"]
    assert set(stamp["outputs"]) == {"d.json", "notebooks/last.ipynb"}
    assert stamp["environment"]["lock"]
    assert stamp["parts"]["parameters"] == {"profile": "smoke", "seed": 0}
    assert os.environ["KZ_OUTPUT_ROOT"] not in json.dumps(stamp)
