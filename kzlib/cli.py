"""`kz`: run, status, plan, doctor, and every module of `kzlib/commands` as a command of its own name."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kzlib.params import Params, ParamsError, load_profile
from kzlib.progress import duration

COMMANDS = Path(__file__).resolve().parent / "commands"

FAILED, REFUSED = 1, 2  # exit codes: a stage failed; the command could not be carried out as given


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run the command, and turn every expected error into one sentence and an exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((a for a in arguments if not a.startswith("-")), None)
    parser = build_parser(chosen)
    options = parser.parse_args(arguments)
    if not hasattr(options, "handler"):
        parser.print_help()
        return 0
    try:
        return options.handler(options)
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        print(f"kz: {sentence(error)}", file=sys.stderr)
        return code


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """All commands with their help lines; only the chosen one's module is imported."""
    parser = argparse.ArgumentParser(
        prog="kz", description="KernelZero: run the notebooks, judge kernels, read results."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    run = _command(commands, "run", "run the notebooks of a profile in order; what is fresh is skipped", _run)
    _which(run)
    _selection(run)
    run.add_argument(
        "--minutes", type=float, default=0, metavar="M", help="stop after so long; the same command goes on"
    )
    plan = _command(commands, "plan", "say what `kz run` would do, without doing it", _plan)
    _which(plan)
    _selection(plan)
    status = _command(
        commands, "status", "one line a stage: fresh, stale because of what, failed why, never run", _status
    )
    _which(status)
    _command(commands, "doctor", "what this machine has, what is missing, and what to type", _doctor)
    for path in sorted(COMMANDS.glob("*.py")):
        if path.stem.startswith("_"):
            continue
        sub = _command(commands, path.stem, _help_line(path), lambda _: 0)
        if path.stem == chosen:
            module = importlib.import_module(f"kzlib.commands.{path.stem}")
            module.add_arguments(sub)
            sub.set_defaults(handler=module.run)
    return parser


def exit_code(error: Exception) -> int | None:
    """The exit code of an expected error; None for a fault of our own, which keeps its traceback."""
    from kzlib.runner.execution import StageFailedError
    from kzlib.runner.lock import RunIsBusyError
    from kzlib.runner.notebooks import NotebookError

    if isinstance(error, StageFailedError):
        return error.exit_code
    if isinstance(error, (ParamsError, NotebookError, RunIsBusyError)):
        return REFUSED
    if isinstance(error, (OSError, ValueError, RuntimeError)):  # their sentences are ours, or the system's own
        return FAILED
    return None


def sentence(error: Exception) -> str:
    """An error as the user reads it.

    >>> sentence(OSError(28, "No space left on device", "/x/outputs/a.json"))
    'No space left on device (a.json): free space or make the folder writable, then type the same command'
    """
    if isinstance(error, OSError) and error.strerror:
        name = f" ({Path(str(error.filename)).name})" if error.filename else ""
        return f"{error.strerror}{name}: free space or make the folder writable, then type the same command"
    return str(error)


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    line: str,
    handler: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    sub = commands.add_parser(name, help=line, description=line[:1].upper() + line[1:] + ".")
    sub.set_defaults(handler=handler)
    return sub


def _help_line(path: Path) -> str:
    """The module's HELP, read without importing it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "HELP":
            return str(ast.literal_eval(node.value))
    return ""


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="laptop", help="smoke, laptop, gpu, paper, an ablation, or a YAML file")
    parser.add_argument("--run", default="latest", metavar="NAME", help="a run's folder name, latest, or new")
    parser.add_argument("--output-root", default="outputs", metavar="FOLDER", help="where runs are kept")


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="start", metavar="STAGE", help="begin here (03 means every round's 03)")
    parser.add_argument("--to", dest="stop", metavar="STAGE", help="end here")
    parser.add_argument("--only", nargs="+", default=(), metavar="STAGE", help="these stages alone")
    parser.add_argument("--force", action="store_true", help="also run what is fresh")


def _load(options: argparse.Namespace) -> Params:
    return load_profile(options.profile)


def _run(options: argparse.Namespace) -> int:
    from kzlib import runner

    begin = time.monotonic()
    params = _load(options)
    run = runner.find_run(options.output_root, params, options.run)
    print(f"profile {params.profile}, run {run.name}", flush=True)
    selection = runner.Selection(options.start, tuple(options.only), options.stop, options.force)
    executed = runner.run_profile(
        runner.Context.of(run, params), selection, say=lambda line: print(line, flush=True), minutes=options.minutes
    )
    took = duration(time.monotonic() - begin)
    where = os.path.relpath(run.root) if run.root.is_relative_to(Path.cwd()) else run.root
    if executed:
        print(f"{executed} notebook{'s' * (executed != 1)} executed in {took}; results are in {where}")
    else:
        print(f"nothing to do: every stage is fresh ({took}); results are in {where}")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from kzlib import runner

    params = _load(options)
    run = runner.look_at(options.output_root, params, options.run)
    selection = runner.Selection(options.start, tuple(options.only), options.stop, options.force)
    for stage, what in runner.plan(runner.Context.of(run, params), selection):
        print(f"{stage.name:24} {what}")
    return 0


def _status(options: argparse.Namespace) -> int:
    from kzlib import runner

    params = _load(options)
    run = runner.look_at(options.output_root, params, options.run)
    print(f"profile {params.profile}, run {run.name}")
    for stage, state in runner.status(runner.Context.of(run, params)):
        print(f"{stage.name:24} {state}")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from kzlib.doctor import examine, table, try_triton

    findings = examine()
    if all(finding.ok or not finding.needed for finding in findings):  # else it would only fail for the same reason
        findings.append(try_triton())
    print(table(findings))
    return 0 if all(finding.ok or not finding.needed for finding in findings) else FAILED


if __name__ == "__main__":
    sys.exit(main())
