"""A stage that another run has done under the very same key is copied from it, not done twice.

An ablation of the Coder's reward shares its cold start, and the first round's Proposer, with the run it is held
against. Source: issue 8 item 6, issue 10 item 4.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kzlib.runner import stamps
from kzlib.runner.lock import run_lock
from kzlib.runner.stamps import Context
from kzlib.stages import Stage
from kzlib.workspace import Run


def borrow(context: Context, donors: list[Run], say: Callable[[str], None] = print) -> list[str]:
    """Copy, stage after stage, what a donor has under this run's key; stops at the first that none has.

    The key counts but for the profile's name, which says nothing of the result.
    """
    borrowed = []
    with run_lock(context.root):
        for stage in context.every:
            now = context.again()
            if stamps.state_of(stage, now).word == "fresh":
                continue
            if any(not (context.root / path).exists() for path in stamps.input_paths(stage, context.root)):
                break
            parts = stamps.key_parts(stage, now)
            donor = next((donor for donor in donors if _has(donor, stage, parts, now)), None)
            if donor is None:
                break
            _copy(stage, donor, now.run, parts)
            say(f"{stage.name}: the same as in {donor.profile}/{donor.name}, copied from there")
            borrowed.append(stage.name)
    return borrowed


def _has(donor: Run, stage: Stage, parts: dict[str, Any], context: Context) -> bool:
    """Whether the donor's stage is whole and was made from the same parts."""
    stamp = stamps.read_json(donor.root / "stages" / stage.name / "stamp.json")
    theirs = Context(donor, context.params, context.every, context.notebooks)
    return bool(
        stamp
        and _without_name(stamp["parts"]) == _without_name(parts)
        and not list(stamps.changed_outputs(stamp, theirs))
    )


def _without_name(parts: dict[str, Any]) -> dict[str, Any]:
    settings = {name: value for name, value in parts["parameters"].items() if name != "profile"}
    return json.loads(json.dumps(parts | {"parameters": settings}))


def _copy(stage: Stage, donor: Run, run: Run, parts: dict[str, Any]) -> None:
    entries = {n: e for n, e in donor.manifest()["entries"].items() if e["stage"] == stage.name}
    for relative in sorted({*_files(stage, donor), *(entry["path"] for entry in entries.values())}):
        source = donor.root / relative
        if source.exists():
            with run.replacing(relative) as scratch:
                (shutil.copytree if source.is_dir() else shutil.copy2)(source, scratch)
    run.adopt(entries)
    folder = f"stages/{stage.name}"
    run.path(f"{folder}/failed.json").unlink(missing_ok=True)
    with run.replacing(f"{folder}/finish.json") as scratch:
        shutil.copy2(donor.root / folder / "finish.json", scratch)
    stamp = stamps.read_json(donor.root / folder / "stamp.json") or {}
    own = {"key": stamps.key_of(parts), "parts": parts, "copied_from": f"{donor.profile}/{donor.name}"}
    run.write_json(f"{folder}/stamp.json", stamp | own)  # last: only then the stage counts as done


def _files(stage: Stage, donor: Run) -> Iterator[str]:
    """What a stage leaves besides its entries: outputs, the executed notebook, a figure's other forms, records."""
    yield from stage.outputs
    patterns = [f"notebooks/{stage.name}.ipynb", f"logs/{stage.name}.log", f"records/*.{stage.name}.jsonl"]
    if stage.round_number:
        after = "after_coder." if stage.notebook.startswith("04") else ""
        patterns.append(f"records/weakness.{after}r{stage.round_number}.json")
    made = [e for e in donor.manifest()["entries"].values() if e["stage"] == stage.name and e["kind"] == "figure"]
    patterns += [f"{Path(entry['path']).with_suffix('')}.*" for entry in made]
    for pattern in patterns:
        yield from (path.relative_to(donor.root).as_posix() for path in donor.root.glob(pattern))
