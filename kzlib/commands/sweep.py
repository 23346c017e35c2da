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
    from kzlib.runner.borrow import borrow
    from kzlib.workspace import Run

    before: list[Run] = []

    def say(line: str) -> None:
        print(line, flush=True)

    def execute(one: Run, params: Params) -> None:
        context = runner.Context.of(one, params)
        borrow(context, before, say)
        before.append(one)
        runner.run_profile(context.again(), runner.Selection(), say)

    members = sweep.run_all(args.profiles, args.seeds, args.output_root, execute, say)
    name = args.name or "-".join(dict.fromkeys(member.profile for member in members))
    result = sweep.publish(members, name, args.output_root)
    failed = [member for member in members if member.failure]
    print(
        f"{len(members) - len(failed)} of {len(members)} runs ended well; results are in {os.path.relpath(result.root)}"
    )
    return 1 if failed else 0
