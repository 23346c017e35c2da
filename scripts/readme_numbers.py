"""Result numbers in README.md come from runs: collected into docs/readme_numbers.json, written between two marks.

    python scripts/readme_numbers.py collect laptop/20261130-101500-0f06b1 gpu/seed0     # from finished runs
    python scripts/readme_numbers.py write                                              # the block in README.md
    python scripts/readme_numbers.py check                                              # what the test runs

The JSON names, for every number, the run, the file in its manifest and that file's digest; a run at hand is checked
against it. A percentage or a factor anywhere else in README or a notebook's prose must be a published number of
`kzlib/literature.yaml`, one of the JSON, or be computed by that notebook's own code. Source: issue 8.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kzlib import compare, literature, summary
from kzlib.workspace import ROOT, digest

NUMBERS = ROOT / "docs" / "readme_numbers.json"
README = ROOT / "README.md"
BEGIN = "<!-- numbers: written by scripts/readme_numbers.py, do not edit -->"
END = "<!-- end of numbers -->"
CLAIM = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)*)\s?(?:%|×|x\b|times\b)")  # 12 %, 1.4x, 3 times
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


def collect(specs: Iterable[str]) -> dict[str, Any]:
    """The headline numbers of runs, each with the manifest entry it comes from."""
    runs = []
    for spec in specs:
        run = compare.find(spec)
        entry = run.manifest()["entries"].get("evaluation.attempts")
        if entry is None:
            raise ValueError(f"{spec} has no evaluation in its manifest: run notebook 05_evaluation first")
        known = summary.summary(run)
        rows = [row for row in known["coder"] if row["level"] == 0]
        source = {"name": "evaluation.attempts", "path": entry["path"], "digest": entry["digest"]}
        runs.append(
            {
                "run": f"{run.profile}/{run.name}",
                "seed": known["seed"],
                "device": known["device"],
                "source": source,
                "coder": rows,
                "proposer": known["proposer"],
            }
        )
    return {"schema": 1, "runs": runs}


def block(numbers: dict[str, Any]) -> str:
    """The README's table, between its marks."""
    lines = [BEGIN, ""]
    if not numbers["runs"]:
        lines.append("No run has been published with this version yet.")
    else:
        lines += [
            "| run | device | model | tasks | protocol | metric | value [95 % interval] | n | times |",
            "|" + " --- |" * 9,
        ]
    for run in numbers["runs"]:
        for row in run["coder"]:
            timing = row["timing"] if row["metric"] != "pass" else ""
            cells = [
                run["run"],
                ", ".join(run["device"]),
                row["model"],
                row["task_set"],
                f"{row['protocol']}, {row['backend']}",
            ]
            cells += [f"{row['metric']}@{row['k']}", _value(row), f"{row['tasks']} tasks", timing]
            lines.append("| " + " | ".join(cells) + " |")
        for quantity, ends in run["proposer"].items():
            for place in ("start", "end"):
                if ends[place]:
                    cells = [run["run"], ", ".join(run["device"]), "Proposer", "proposed", "", f"{quantity}, {place}"]
                    lines.append(
                        "| " + " | ".join([*cells, _value(ends[place]), f"{ends[place]['steps']} steps", ""]) + " |"
                    )
    return "\n".join([*lines, "", END])


def _value(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "not available"
    interval = "" if row["low"] is None else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['value']:.3f}{interval}"


def written(text: str, numbers: dict[str, Any]) -> str:
    """README's text with the block of these numbers."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"README.md lacks the two marks: put {BEGIN} and {END} where the table belongs")
    return before + block(numbers) + after


def problems(numbers: dict[str, Any], readme: str | None, notebooks: Iterable[Path]) -> list[str]:
    """What does not trace to a manifest; [] if everything does."""
    found = []
    for run in numbers["runs"]:
        folder = ROOT / "outputs" / run["run"]
        path = folder / run["source"]["path"]
        if path.exists() and digest(path) != run["source"]["digest"]:
            found.append(f"{run['run']} has changed since its numbers were collected: collect them again")
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
        match.group(0) for match in CLAIM.finditer(prose) if match.group(1) not in allowed and match.group(1) != "95"
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
