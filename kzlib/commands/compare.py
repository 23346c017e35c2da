"""`kz compare RUN RUN...`: runs side by side, or what keeps them apart. Source: issue 8 items 5 and 7."""

from __future__ import annotations

import argparse
import json
from typing import Any

HELP = "put runs side by side, task by task; refuses runs judged under different conditions"
REFUSED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz compare`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="profile, profile/run, or a run's folder")
    parser.add_argument("--output-root", default="outputs", metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(args: argparse.Namespace) -> int:
    """0 with the comparison, 2 with the table of what differs."""
    import pandas as pd

    from kzlib.compare import IncomparableError, compare, find

    runs = [find(spec, args.output_root) for spec in args.runs]
    try:
        rows = compare(runs)
    except IncomparableError as error:
        if args.json:
            print(json.dumps({"differences": error.table}, indent=1))
        else:
            print("These runs cannot be compared. What differs:\n")
            print(pd.DataFrame(error.table).to_string(index=False))
        return REFUSED
    if args.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print(pd.DataFrame([_line(row) for row in rows]).to_string(index=False))
        print("\ndifference: this run minus the first, paired over `paired` tasks, with its 95 % interval")
    return 0


def _line(row: dict[str, Any]) -> dict[str, str]:
    """A row for people: a score and a difference with their intervals in one cell each."""
    line = {name: str(row[name]) for name in ("training", "backend", "protocol", "metric", "run", "model")}
    line["value"] = _score(row["value"], row["low"], row["high"])
    line["n"] = str(row["tasks"])
    line["difference"] = _score(row["difference"], row["difference_low"], row["difference_high"], "+")
    return line | {"paired": str(row["paired"] or ""), "left out": row["left_out"]}


def _score(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    if value is None:
        return "" if sign else "not available"
    return f"{value:{sign}.3f}" + ("" if low is None else f" [{low:{sign}.3f}, {high:{sign}.3f}]")
