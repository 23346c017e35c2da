"""One stage being run: inputs checked, notebook executed, result judged, copy published, stamp written last."""

from __future__ import annotations

import contextlib
import datetime
import json
import shutil
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.environment import ROOT, environment
from kzlib.runner import accept, notebooks, stamps
from kzlib.runner.stamps import Context
from kzlib.runner.supervise import Ended, Job, supervise
from kzlib.stages import Stage
from kzlib.workspace import Run, size, write_atomic

TIME_IS_UP = 75  # exit code when the time given to a command is used up: the same command goes on
DISK_FULL = ("No space left on device", "File too large", "Disk quota exceeded")


class StageFailedError(RuntimeError):
    """A stage did not end well. The text says which, why, and what to type next."""

    exit_code = 1


@dataclass
class Execution:
    """One stage being run: from its lock-held start to the stamp, or to the failure record."""

    stage: Stage
    context: Context
    say: Callable[[str], None]
    stop: Callable[[], int]

    def run(self) -> float:
        """Execute, judge, publish; returns the seconds it took."""
        self._check_inputs()
        parts = stamps.key_parts(self.stage, self.context)
        key = stamps.key_of(parts)
        self._clear_resume(key)
        started = _now()
        self._write("running.json", {"since": started, "key": key})
        ended, run_id = self._execute(parts, key)
        if ended.report is not None and not ended.report["started"] and not ended.report["ok"] and not ended.stopped:
            self.say(
                f"{self.stage.name}: the kernel did not start ({_line(ended.report['message'])}); trying once more"
            )
            ended, run_id = self._execute(parts, key)
        cause = self._cause(ended, run_id)
        if cause:
            self._fail(cause, ended, key)
        self._publish(parts, key, run_id, started)
        return ended.seconds

    @property
    def _run(self) -> Run:
        return self.context.run

    @property
    def _scratch(self) -> Path:
        return self._run.path(f"notebooks/.{self.stage.name}.running.ipynb")

    def _execute(self, parts: dict[str, Any], key: str) -> tuple[Ended, str]:
        run, run_id = self._run, uuid.uuid4().hex
        values = {**parts["parameters"]}
        declared = notebooks.check_names(notebooks.load(self._source), self.stage)
        if "run_name" in declared:
            values["run_name"] = run.name
        job = Job(
            name=self.stage.name,
            notebook=self._source,
            scratch=self._scratch,
            log=run.path(f"logs/{self.stage.name}.log"),
            parameters=values,
            environment={
                "KZ_STAGE": self.stage.name,
                "KZ_STAGE_KEY": key,
                "KZ_RUN_DIR": str(run.root),
                "KZ_OUTPUT_ROOT": str(run.root.parent.parent),
            },
            run_id=run_id,
            deadline=self.context.params.run.deadline_minutes * 60,
        )
        job.log.write_text(f"{_now()} {self.stage.name} {run_id}\n", encoding="utf-8")
        return supervise(job, self.say, self.stop), run_id

    @property
    def _source(self) -> Path:
        return self.context.notebooks / f"{self.stage.notebook}.ipynb"

    def _check_inputs(self) -> None:
        for path in stamps.input_paths(self.stage, self._run.root):
            problem = accept.artefact_problem(self._run.root / path)
            if problem:
                maker = next((s.name for s in self.context.every if path in s.outputs), None)
                remedy = f"run {maker} first ({self._command(f'--from {maker}')})" if maker else "delete it"
                raise StageFailedError(f"{self.stage.name} cannot start: its input {path} {problem}; {remedy}")

    def _clear_resume(self, key: str) -> None:
        """Checkpoints of another key must not be continued from: they would mix two settings."""
        for old in (self._run.root / "stages" / self.stage.name / "resume").glob("*"):
            if old.name != key[:12]:
                shutil.rmtree(old)

    def _cause(self, ended: Ended, run_id: str) -> str:
        """Why this execution is not a success; "" if it is."""
        if ended.stopped == "deadline":
            minutes = self.context.params.run.deadline_minutes
            return f"it was stopped at its deadline of {minutes:g} minutes (deadline_minutes in the profile)"
        if ended.stopped == "time" or (ended.report and ended.report["ename"] == "TimeIsUpError"):
            return "it was stopped because the time given to this command is used up"
        if ended.stopped:
            return f"it was stopped by {'Ctrl-C' if ended.stopped == 'interrupt' else 'a request to terminate'}"
        if ended.report is None:
            return f"its process ended with code {ended.returncode} before it could report{self._last_line()}"
        if not ended.report["ok"]:
            return _reported(ended.report)
        executed = stamps.read_json(self._scratch)
        if executed is None:
            return "its executed copy cannot be read"
        found = accept.problems(executed, self.stage, self._run.root, run_id)
        return next(iter(found), "")

    def _last_line(self) -> str:
        lines = self._run.path(f"logs/{self.stage.name}.log").read_text(errors="replace").strip().splitlines()
        return f" ({lines[-1][:200]})" if len(lines) > 1 else ""

    def _fail(self, cause: str, ended: Ended, key: str) -> None:
        kept = ""
        with contextlib.suppress(FileNotFoundError):
            target = self._scratch.with_name(f"{self.stage.name}.failed.ipynb")
            self._scratch.replace(target)
            kept = f"the notebook as far as it came: notebooks/{target.name}; all output: logs/{self.stage.name}.log"
        full = any(words in cause for words in DISK_FULL)
        sentence = f"the disk is full ({cause}): free some space" if full else cause
        try:
            self._write(
                "failed.json", {"cause": sentence, "time": _now(), "key": key, "seconds": round(ended.seconds, 1)}
            )
            (self._run.root / "stages" / self.stage.name / "running.json").unlink(missing_ok=True)
        except OSError as unwritten:
            kept += f" (the failure could not be recorded: {unwritten.strerror})"
        message = f"{self.stage.name} failed: {sentence}. What was finished is kept; to go on type: {self._command()}"
        error = StageFailedError(message + (f"\n{kept}" if kept else ""))
        error.exit_code = {"interrupt": 130, "terminate": 143}.get(ended.stopped, 1)
        if "time given" in cause:
            error.exit_code = TIME_IS_UP
        raise error

    def _publish(self, parts: dict[str, Any], key: str, run_id: str, started: str) -> None:
        run, name = self._run, self.stage.name
        copy = json.loads(self._scratch.read_text(encoding="utf-8"))
        text = json.dumps(sanitised(copy, name), indent=1, ensure_ascii=False) + "\n"
        run.write_text(f"notebooks/{name}.ipynb", without_paths(text, run.root.parent.parent))
        self._scratch.unlink()
        recorded = [e["path"] for e in run.manifest()["entries"].values() if e.get("stage") == name]
        outputs = sorted({*self.stage.outputs, *recorded, f"notebooks/{name}.ipynb"})
        after = self.context.again()
        stamp = {
            "stage": name, "key": key, "parts": parts, "run_id": run_id, "started": started, "ended": _now(),
            "outputs": {path: after.digests.of(path) for path in outputs},
            "bytes": {path: size(run.root / path) for path in outputs},
            "environment": environment(),
            "parents": self._parents(parts["inputs"]),
        }  # fmt: skip
        after.digests.save()
        self._write("stamp.json", stamp)
        for leftover in ("failed.json", "running.json"):
            (run.root / "stages" / name / leftover).unlink(missing_ok=True)
        (run.root / "notebooks" / f"{name}.failed.ipynb").unlink(missing_ok=True)
        shutil.rmtree(run.root / "stages" / name / "resume", ignore_errors=True)

    def _parents(self, inputs: dict[str, Any]) -> dict[str, str]:
        """{stage: key} of the stages that made the inputs."""
        found = {}
        for stage in self.context.every:
            if any(path in inputs for path in stage.outputs):
                stamp = stamps.read_json(self._run.root / "stages" / stage.name / "stamp.json")
                if stamp:
                    found[stage.name] = stamp["key"]
        return found

    def _write(self, name: str, value: dict[str, Any]) -> None:
        path = self._run.path(f"stages/{self.stage.name}/{name}")
        write_atomic(path, json.dumps(value, indent=1).encode())

    def _command(self, more: str = "") -> str:
        return " ".join(filter(None, ["kz run --profile", self._run.profile, "--run", self._run.name, more]))


def sanitised(executed: dict[str, Any], name: str) -> dict[str, Any]:
    """An executed notebook without the machine's paths in its metadata."""
    record = executed["metadata"].get("papermill", {})
    record["input_path"], record["output_path"] = f"{name.split('.')[0]}.ipynb", f"{name}.ipynb"
    record.pop("environment_variables", None)
    return executed


def without_paths(text: str, outputs: Path) -> str:
    """A text in which this machine's folders have neutral names.

    >>> without_paths("/data/x/smoke/r1/a.json", Path("/data/x"))
    'outputs/smoke/r1/a.json'
    """
    neutral = {str(outputs): "outputs", str(ROOT): ".", sys.prefix: "env", sys.base_prefix: "python"}
    if len(Path.home().parts) > 2:  # "/root" and "/" are everywhere
        neutral[str(Path.home())] = "~"
    for folder in sorted(neutral, key=len, reverse=True):
        text = text.replace(f"{folder}/", f"{neutral[folder]}/")
    return text


def _reported(report: dict[str, Any]) -> str:
    where = f"cell {report['cell']} ({_line(report['source'])[:60]})" if report["started"] else "before its first cell"
    message = _line(report["message"])
    if report["error"] == "DeadKernelError":
        return f"the kernel died in {where}; likely for lack of memory: close other programs or use a smaller profile"
    if report["error"] == "PapermillExecutionError":
        hidden = report["ename"] == "CellExecutionError"  # an exception hook swallowed the real one
        what = "failed without showing its error" if hidden else f"raised {report['ename']}"
        return f"{where} {what}{': ' + message if message else ''}"
    return f"{report['error']} in {where}{': ' + message if message else ''}"


def _line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else ""


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
