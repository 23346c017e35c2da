"""`kz summary --profile P`: the headline numbers of a run with counts and intervals. Source: issue 8 item 6."""

from __future__ import annotations

import argparse
import json

HELP = "the headline numbers of a run, with counts and intervals"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz summary`."""
    parser.add_argument("--profile", default="laptop", help="smoke, laptop, gpu, paper or an ablation")
    parser.add_argument("--run", default="latest", metavar="NAME", help="a run's folder name, or latest")
    parser.add_argument("--output-root", default="outputs", metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 when the run was found."""
    from pathlib import PurePath

    from kzlib.compare import find
    from kzlib.summary import as_text, summary

    profile = PurePath(args.profile).stem
    found = find(profile if args.run == "latest" else f"{profile}/{args.run}", args.output_root)
    result = summary(found)
    print(json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) if args.json else as_text(result))
    return 0
