"""`kz sweep PROFILE... --seeds 0 1`: ablations and seeds one after another. Source: issue 8 item 6."""

from __future__ import annotations

import argparse

HELP = "run profiles with several seeds one after another; one table and figure 4 over all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz sweep`."""
    parser.add_argument("profiles", nargs="+", metavar="PROFILE", help="the main profile first, then its ablations")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="root seeds (default: 0)")
    parser.add_argument("--name", default="", help="name of the sweep (default: its profiles)")
    parser.add_argument("--output-root", default="outputs", metavar="FOLDER", help="where runs are kept")


def run(args: argparse.Namespace) -> int:
    """0 when every run ended well, 1 when one failed (the others are still run and shown)."""
    import os

    from kzlib import runner, sweep
    from kzlib.params import Params
    from kzlib.workspace import Run

    def execute(one: Run, params: Params) -> None:
        runner.run_profile(runner.Context.of(one, params), runner.Selection(), say=lambda line: print(line, flush=True))

    members = sweep.run_all(
        args.profiles, args.seeds, args.output_root, execute, say=lambda line: print(line, flush=True)
    )
    name = args.name or "-".join(dict.fromkeys(member.profile for member in members))
    result = sweep.publish(members, name, args.output_root)
    failed = [member for member in members if member.failure]
    print(
        f"{len(members) - len(failed)} of {len(members)} runs ended well; results are in {os.path.relpath(result.root)}"
    )
    return 1 if failed else 0
