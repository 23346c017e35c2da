"""Result numbers in README.md come from runs: collected into docs/readme_numbers.json, written between two marks.

    python scripts/readme_numbers.py collect laptop/20261130-101500-0f06b1 gpu/seed0     # from finished runs
    python scripts/readme_numbers.py write                                              # the block in README.md
    python scripts/readme_numbers.py check                                              # what the test runs

The JSON names, for every run, the files of its manifest that the numbers are computed from, with their digests. The
check computes every number again from those files, so a typed number fails it. Only a run that is in the repository
(`outputs/published/`) can be checked by everybody. A percentage, a factor or a share (0.31) anywhere else in README or
a notebook's prose must be a published number of `kzlib/literature.yaml`, one of the JSON, or be computed by that
notebook's own code. Source: issue 8.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kzlib import compare, literature, summary
from kzlib.progress import duration
from kzlib.workspace import ROOT, Run, digest

NUMBERS = ROOT / "docs" / "readme_numbers.json"
README = ROOT / "README.md"
BEGIN = "<!-- numbers: written by scripts/readme_numbers.py, do not edit -->"
END = "<!-- end of numbers -->"
CLAIM = re.compile(
    r"(?<![\w.])(\d+(?:[.,]\d+)*)\s?(?:%|×|x\b|times\b)|(?<![\w.@-])(0\.\d+)(?!\w|\.\d)"
)  # 12 %, 1.4x, 0.31
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


def collect(specs: Iterable[str]) -> dict[str, Any]:
    """The headline numbers of runs, each with the manifest entries they come from."""
    return {"schema": 3, "runs": [of_run(compare.find(spec)) for spec in specs]}


def of_run(run: Run) -> dict[str, Any]:
    """What `kz summary` says of a run, and the digests of the files it is computed from."""
    entries = run.manifest()["entries"]
    if "evaluation.attempts" not in entries:
        raise ValueError(
            f"{run.profile}/{run.name} has no evaluation in its manifest: run notebook 05_evaluation first"
        )
    known = summary.summary(run)
    sources = {
        name: {"path": entry["path"], "digest": entry["digest"]}
        for name, entry in entries.items()
        if name == "evaluation.attempts" or entry["path"].startswith(("metrics/proposer_", "metrics/coder_rl"))
    }
    kept = ("seed", "device", "training", "proposer_gain", "coder", "gain", "costs")
    result = {"run": f"{run.profile}/{run.name}", "sources": sources, **{name: known[name] for name in kept}}
    return json.loads(json.dumps(result))  # as it is read back


def block(numbers: dict[str, Any]) -> str:
    """The README's measured part, between its marks: the first run on each kind of device in full, all side by side."""
    lines = [BEGIN, ""]
    if not numbers["runs"]:
        lines += ["No run has been published with this version yet.", ""]
    first_on = {tuple(run["device"]): run for run in reversed(numbers["runs"])}
    for run in numbers["runs"]:
        if run is first_on[tuple(run["device"])]:
            lines += [*_of_run(run), ""]
    if len(numbers["runs"]) > 1:
        lines += [*_side_by_side(numbers["runs"]), ""]
    return "\n".join([*lines, END])


def _of_run(run: dict[str, Any]) -> Iterator[str]:
    device, spent = ", ".join(run["device"]), run["costs"]
    yield f"**Run [{run['run']}](outputs/{run['run']}/index.html)**, seed {run['seed']}, judged on {device}. It took"
    written = f"{spent['answers']} answers of {spent['tokens']} tokens"
    yield f"{duration(spent['seconds'])}, {written} in all, and {spent['verdicts']} verdicts."
    yield ""
    columns, rows = summary.headline(run["coder"], levels=True)
    yield "| " + " | ".join(["model", "tasks", "backend", "protocol", "n", *columns, "times"]) + " |"
    yield "|" + " --- |" * (6 + len(columns))
    for row in rows:
        tasks = row["task_set"] + (f", level {row['level']}" if row["level"] else "")
        timing = "" if row["timing"] == "none" else row["timing"]
        cells = [summary.cell(row["cells"].get(name)) for name in columns]
        n = f"{row['tasks']}" + (f" ({row['left_out']})" if row["left_out"] else "")
        yield "| " + " | ".join([row["model"], tasks, row["backend"], row["protocol"], n, *cells, timing]) + " |"
    if run["training"]:
        yield ""
        yield "| training, all rounds | first steps | last steps | steps, each |"
        yield "|" + " --- |" * 4
    for known in run["training"]:
        cells = [known["curve"], summary.cell(known["start"]), summary.cell(known["end"])]
        yield "| " + " | ".join([*cells, f"{known['start']['steps']} of {known['steps']}"]) + " |"


def _side_by_side(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The first run and its siblings (other seeds): what reinforcement learning moved in each."""
    yield "What reinforcement learning moved in each published run: the last Coder minus its cold start, task by task;"
    yield "the last Proposer minus its cold start, over API sets that neither was trained on."
    yield ""
    yield "| run | seed | pass@1 | tasks better, worse | validity | frontier reward |"
    yield "|" + " --- |" * 6
    for run in runs:
        moved = {row["quantity"]: summary.difference(row) for row in run["proposer_gain"]}
        cells = [f"[{run['run']}](outputs/{run['run']}/index.html)", str(run["seed"])]
        for row in run["gain"]:
            if row["protocol"] == "strict":
                cells += [summary.difference(row), f"{row['better']}, {row['worse']} of {row['tasks']}"]
        yield "| " + " | ".join([*cells, *(moved.get(name, "") for name in ("validity", "frontier_reward"))]) + " |"


def written(text: str, numbers: dict[str, Any]) -> str:
    """README's text with the block of these numbers."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"README.md lacks the two marks: put {BEGIN} and {END} where the table belongs")
    return before + block(numbers) + after


def problems(numbers: dict[str, Any], readme: str | None, notebooks: Iterable[Path]) -> list[str]:
    """What does not trace to a manifest; [] if everything does."""
    found = [problem for run in numbers["runs"] if (problem := untrue(run))]
    allowed = published() | set(NUMBER.findall(block(numbers)))
    if readme is not None:
        if BEGIN in readme and readme != written(readme, numbers):
            found.append(
                "README.md's table is not that of docs/readme_numbers.json: type python scripts/readme_numbers.py write"
            )
        before, _, rest = readme.partition(BEGIN)
        outside = before + rest.partition(END)[2]
        found += [f"README.md claims {claim}, which traces to nothing" for claim in claims(outside, allowed)]
    for path in notebooks:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = {kind: [_text(c) for c in cells if c["cell_type"] == kind] for kind in ("markdown", "code")}
        own = allowed | set(NUMBER.findall("\n".join(texts["code"])))
        found += [
            f"{path.name} claims {claim}, which traces to nothing"
            for claim in claims("\n".join(texts["markdown"]), own)
        ]
    return found


def untrue(known: dict[str, Any]) -> str:
    """Why the numbers of a run are not those of its files; "" if they are."""
    try:
        kept = ROOT / "outputs" / known["run"]  # a published run is of this repository, wherever new ones go
        run = compare.find(str(kept) if kept.is_dir() else known["run"])
    except ValueError:
        return f"{known['run']} is not here, so its numbers trace to nothing: publish it (kz publish) and collect that"
    for source in known["sources"].values():
        path = run.root / source["path"]
        if not path.exists() or digest(path) != source["digest"]:
            return (
                f"{source['path']} of {known['run']} has changed since its numbers were collected: collect them again"
            )
    if of_run(run) != known:
        return f"docs/readme_numbers.json says other numbers than the files of {known['run']}: collect them again"
    return ""


def published() -> set[str]:
    """Numbers that the literature file holds, as people write them."""
    return {f"{row.value:g}" for row in literature.published()}


def claims(text: str, allowed: set[str]) -> list[str]:
    """Percentages and factors in prose that are not among the allowed numbers; code spans and fences are no claims.

    >>> claims("we reach 12.5 % and `95 %` of 3", {"7"})
    ['12.5 %']
    """
    prose = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$", " ", text, flags=re.DOTALL)
    return [
        match.group(0)
        for match in CLAIM.finditer(prose)
        if (match.group(1) or match.group(2)) not in allowed and match.group(1) != "95"
    ]


def _text(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def main() -> int:
    parser = argparse.ArgumentParser(description="Result numbers in README.md come from runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("collect").add_argument("runs", nargs="+", metavar="PROFILE/RUN")
    commands.add_parser("write")
    commands.add_parser("check")
    options = parser.parse_args()
    if options.command == "collect":
        NUMBERS.write_text(json.dumps(collect(options.runs), indent=1) + "\n", encoding="utf-8")
        print(f"{NUMBERS.relative_to(ROOT)} written; next: python scripts/readme_numbers.py write")
        return 0
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    if options.command == "write":
        README.write_text(written(README.read_text(encoding="utf-8"), numbers), encoding="utf-8")
        return 0
    readme = README.read_text(encoding="utf-8") if README.exists() else None
    found = problems(numbers, readme, sorted((ROOT / "notebooks").glob("*.ipynb")))
    print("\n".join(found) or "every number traces to a manifest or a published source")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
