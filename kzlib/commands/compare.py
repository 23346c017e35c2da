"""`kz compare RUN RUN...`: runs side by side, or what keeps them apart. Source: issue 8 items 5 and 7."""

from __future__ import annotations

import argparse
import json

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
        print(pd.DataFrame(rows).to_string(index=False, na_rep="", float_format="%.3f"))
        print("\ndifference: this run minus the first, paired over `paired` tasks, with its 95 % interval")
    return 0
