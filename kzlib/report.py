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
    manifest = run.manifest()
    entries = manifest["entries"]
    result = summary.summary(run)
    page = notebook_html.template("index.html").render(
        title=f"KernelZero, {run.profile}/{run.name}",
        profile=run.profile,
        run=run.name,
        training=_training(result),
        proposer_gain=[{**row, "text": summary.difference(row)} for row in result["proposer_gain"]],
        coder=_coder(result),
        gain=[{**row, "text": summary.difference(row)} for row in result["gain"]],
        costs={**result["costs"], "time": duration(result["costs"]["seconds"])},
        stages=_stages(run, pages, result["stages"]),
        environment=_environment(run),
        tables=[_table(run, entry) for entry in entries.values() if entry["kind"] == "table"],
        figures=_figures(entries),
        examples=examples(run),
        entries=entries,
        left_out=manifest.get("left_out", {}),
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


def _coder(result: dict[str, Any]) -> dict[str, Any]:
    """The Coder's headline scores: one row a model, task set, backend and protocol, all levels together."""
    columns, lines = summary.headline(result["coder"])
    rows = []
    for line in lines:
        timing = "" if line["timing"] == "none" else f", {line['timing']} times"
        rows.append(
            {
                "model": line["model"],
                "what": f"{line['task_set']}, {line['backend']}, {line['protocol']}",
                "n": f"{line['tasks']} tasks",
                "cells": [{"name": name, **_parts(line["cells"].get(name))} for name in columns],
                "note": f"{line['where']}{timing}{'; left out: ' if line['left_out'] else ''}{line['left_out']}",
            }
        )
    return {"columns": columns, "rows": rows}


def _training(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "what": row["curve"],
            "start": _parts(row["start"]),
            "end": _parts(row["end"]),
            "n": f"{row['start']['steps']} of {row['steps']} steps",
        }
        for row in result["training"]
    ]


def _parts(row: dict[str, Any] | None) -> dict[str, str]:
    """A score as value and interval, to be set apart on the page."""
    value, bracket, interval = summary.cell(row).partition(" [")
    return {"value": value, "interval": f"{bracket.strip()}{interval}"}


def _figures(entries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures of the manifest, the paper's first; the same picture under two names is shown once, under the first."""
    known = [entry for entry in entries.values() if entry["kind"] == "figure"]
    known.sort(key=lambda entry: (not entry["path"].startswith("figures/figure"), entry["stage"] < "06", entry["path"]))
    return list({entry["digest"]: entry for entry in reversed(known)}.values())[::-1]


def _stages(run: Run, pages: dict[str, str], spent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    times = {row["stage"]: row for row in spent}
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
    """For every outcome that notebook 05 saw, a module, the kernel or answer, and its verdict.

    A published run that had to leave its records out holds them in `examples.json`.
    """
    paths = {kind: run.root / "records" / f"{kind}.05_evaluation.jsonl" for kind in ("answers", "verdicts")}
    if not all(path.exists() for path in paths.values()):
        return _read(run.root / "examples.json") or []
    wanted: dict[Outcome, Verdict] = {}
    for verdict in read_jsonl(paths["verdicts"], Verdict):
        before = wanted.get(verdict.outcome)
        if before is None or (before.protocol == "keck" and verdict.protocol == "strict"):
            wanted[verdict.outcome] = verdict
    chosen = {wanted[outcome].candidate_id: wanted[outcome] for outcome in Outcome if outcome in wanted}
    tasks = {task.id: task for task in read_jsonl(run.root / "records" / "tasks.05_evaluation.jsonl", Task)}
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


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
