"""`outputs/<profile>/<run>/index.html`: one static page that can be handed over, built from the run's own files alone.

No network, no script. Tables and figures come from the manifest, times from the stages' stamps, examples from the
records; what a run has not made is said to be missing. Source: issue 8 item 5.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib import notebook_html, summary
from kzlib.answers import extract
from kzlib.merge import merge_records
from kzlib.progress import duration
from kzlib.records import Answer, Candidate, Outcome, Task, Verdict, read_jsonl
from kzlib.stages import stages

if TYPE_CHECKING:
    from kzlib.workspace import Run

MESSAGE = 1500  # characters of a verdict's message shown
NUMBERS = 4  # significant digits of a table's numbers; the CSV beside it has them all


def build(run: Run) -> Path:
    """Merge the records and write the page; returns its path. Safe to repeat: the same files give the same page."""
    merge_records(run)
    return write_page(run)


def write_page(run: Run) -> Path:
    """The page alone, from what is there; the runner calls it once more when the last notebook has been published."""
    pages = export_notebooks(run)
    entries = run.manifest()["entries"]
    page = notebook_html.template("index.html").render(
        title=f"KernelZero, {run.profile}/{run.name}",
        profile=run.profile,
        run=run.name,
        headline=_headline(run),
        stages=_stages(run, pages),
        environment=_environment(run),
        tables=[_table(run, entry) for entry in entries.values() if entry["kind"] == "table"],
        figures=[entry for entry in entries.values() if entry["kind"] == "figure"],
        examples=examples(run),
        entries=entries,
    )
    return run.write_text("index.html", page)


def export_notebooks(run: Run) -> dict[str, str]:
    """Write `notebooks/<stage>.html` beside every executed notebook; {stage: relative path}."""
    pages = {}
    for path in sorted((run.root / "notebooks").glob("[0-9]*.ipynb")):
        if path.name.endswith(".failed.ipynb"):
            continue
        relative = f"notebooks/{path.stem}.html"
        run.write_text(relative, notebook_html.page_of(path))
        pages[path.stem] = relative
    return pages


def _headline(run: Run) -> list[dict[str, Any]]:
    result = summary.summary(run)
    rows = []
    for quantity, ends in result["proposer"].items():
        for place in ("start", "end"):
            if ends[place]:
                known = ends[place]
                what = f"Proposer, {quantity.replace('_', ' ')}, {place} of training"
                rows.append({"what": what, "n": f"{known['steps']} steps", "note": "", **_interval(known)})
    for row in result["coder"]:
        if row["level"]:
            continue
        what = f"{row['model']}, {row['metric']}@{row['k']}, {row['task_set']}, {row['backend']}, {row['protocol']}"
        timing = "" if row["metric"] == "pass" else f"{row['timing']} times"
        note = "; ".join(filter(None, [timing, row["where"], row["left_out"] and f"left out: {row['left_out']}"]))
        rows.append({"what": what, "n": f"{row['tasks']} tasks", "note": note, **_interval(row)})
    return rows


def _interval(row: dict[str, Any]) -> dict[str, str]:
    if row["value"] is None:
        return {"value": "not available", "interval": ""}
    low, high = row["low"], row["high"]
    return {"value": f"{row['value']:.3f}", "interval": "" if low is None else f"{low:.3f} to {high:.3f}"}


def _stages(run: Run, pages: dict[str, str]) -> list[dict[str, Any]]:
    times = {row["stage"]: row for row in summary.summary(run)["stages"]}
    rows = []
    for stage in stages(_rounds(run)):
        folder = run.root / "stages" / stage.name
        done, failed = _read(folder / "finish.json"), _read(folder / "failed.json")
        if failed:
            state, why = "failed", failed["cause"]
        elif done:
            state, why = done["outcome"], done["reason"]
        else:
            state, why = "not run", ""
        time = times.get(stage.name)
        rows.append(
            {
                "name": stage.name,
                "state": state,
                "why": why,
                "time": duration(time["seconds"]) if time else "",
                "verdicts": time["verdicts"] if time else 0,
                "html": pages.get(stage.name, ""),
                "notebook": f"notebooks/{stage.name}.ipynb" if stage.name in pages else "",
            }
        )
    return rows


def _rounds(run: Run) -> int:
    return int(json.loads((run.root / "params.json").read_text(encoding="utf-8"))["run"]["rounds"])


def _environment(run: Run) -> dict[str, str]:
    """What the newest finished stage says it ran on."""
    known = [_read(path) for path in (run.root / "stages").glob("*/finish.json")]
    newest = max((record for record in known if record), key=lambda record: record["time"], default=None)
    if newest is None:
        return {}
    facts = newest["environment"]
    rows = {
        "Python": facts["python"],
        "System": facts["system"],
        "Processor": f"{facts['cpu']}, {facts['cores']} cores",
    }
    rows["GPU"] = (
        ", ".join(f"{gpu['name']} ({gpu['memory']}, driver {gpu['driver']})" for gpu in facts["gpus"]) or "none"
    )
    if "commit" in facts:
        rows["Source"] = facts["commit"][:12] + (" with local changes" if facts["dirty"] else "")
    rows["Lock"] = facts["lock"]
    rows["Packages"] = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    return rows


def _table(run: Run, entry: dict[str, Any]) -> dict[str, Any]:
    with (run.root / entry["path"]).open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    return {
        "caption": entry.get("facts", {}).get("caption", entry["path"]),
        "path": entry["path"],
        "head": head,
        "rows": [[_short(cell) for cell in row] for row in rows],
    }


def _short(cell: str) -> str:
    """A number to four significant digits; text as it is.

    >>> _short("0.6666666666"), _short("12"), _short("coder.r1")
    ('0.6667', '12', 'coder.r1')
    """
    if "." not in cell:
        return cell
    try:
        return f"{float(cell):.{NUMBERS}g}"
    except ValueError:
        return cell


def examples(run: Run) -> list[dict[str, str]]:
    """For every outcome that notebook 05 saw, a module, the kernel or answer, and its verdict."""
    paths = {kind: run.root / "records" / f"{kind}.05_evaluation.jsonl" for kind in ("answers", "verdicts")}
    if not all(path.exists() for path in paths.values()):
        return []
    wanted: dict[Outcome, Verdict] = {}
    for verdict in read_jsonl(paths["verdicts"], Verdict):
        before = wanted.get(verdict.outcome)
        if before is None or (before.protocol == "keck" and verdict.protocol == "strict"):
            wanted[verdict.outcome] = verdict
    chosen = {wanted[outcome].candidate_id: wanted[outcome] for outcome in Outcome if outcome in wanted}
    tasks = {task.id: task for task in read_jsonl(run.root / "tasks.jsonl", Task)}
    found: dict[str, str] = {}
    for answer in read_jsonl(paths["answers"], Answer):
        if len(found) == len(chosen):
            break
        source = extract(answer.text, answer.finish_reason).code or answer.text
        candidate = Candidate(answer.task_id, answer.backend, source)
        if candidate.id in chosen:
            found[candidate.id] = source
    return [
        _example(verdict, tasks.get(verdict.task_id), found.get(verdict.candidate_id, ""))
        for verdict in chosen.values()
    ]


def _example(verdict: Verdict, task: Task | None, source: str) -> dict[str, str]:
    timing = verdict.timing
    speed = f"{timing.speedup:.2f} times the reference ({timing.kind})" if timing else "not timed"
    return {
        "outcome": verdict.outcome.value,
        "title": f"{verdict.backend}, {verdict.protocol}, {verdict.where}, stage {verdict.stage}; {speed}",
        "module": notebook_html.code(task.source) if task else "",
        "kernel": notebook_html.code(source) if source else "",
        "message": verdict.message[:MESSAGE],
    }


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
