"""`kz apis mine` counts Torch APIs in real code; `kz apis sample` draws API sets as JSON lines. Source: issue 5."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HELP = "mine Torch APIs from source trees, or draw API sets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz apis`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    mine = actions.add_parser("mine", help="count APIs and pairs in the nn.Module classes below PATH")
    mine.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder, a file, or an installed package")
    mine.add_argument("--top", type=int, default=20, help="APIs and pairs shown (default 20)")
    mine.add_argument("--json", action="store_true", help="print all counts as one JSON object")
    sample = actions.add_parser("sample", help="draw different API sets, one JSON list a line")
    sample.add_argument("--n", type=int, required=True, help="sets to draw")
    sample.add_argument("--seed", type=int, required=True, help="the same seed gives the same sets")
    sample.add_argument("--sampler", default="cooccurrence", choices=("cooccurrence", "uniform", "frontier"))
    sample.add_argument("--size", default="2-3", help="APIs in a set: 2, 2-3 (default), ... up to 6; equal shares")
    sample.add_argument(
        "--weakness", type=Path, metavar="FILE", help="for --sampler frontier: what Weakness.save wrote"
    )
    sample.add_argument("--operator-class", action="append", metavar="CLASS", help="draw only from this class (repeat)")


def run(args: argparse.Namespace) -> int:
    """0 on success; errors are one sentence."""
    return _mine(args) if args.action == "mine" else _sample(args)


def _mine(args: argparse.Namespace) -> int:
    from kzlib.apis import mine

    found = mine([_where(path) for path in args.paths])
    if args.json:
        pairs = [[a, b, count] for (a, b), count in found.pairs.most_common()]
        head = {"classes": found.classes, "unique": found.unique, "used": found.used, "skipped": found.skipped}
        sizes = {str(size): count for size, count in sorted(found.set_sizes.items())}
        print(json.dumps({**head, "apis": dict(found.counts.most_common()), "pairs": pairs, "set_sizes": sizes}))
        return 0
    print(f"{found.classes} module classes, {found.unique} different bodies, {found.used} use a candidate API")
    for name, count in found.counts.most_common(args.top):
        print(f"{count:7}  {name}")
    for (a, b), count in found.pairs.most_common(args.top):
        print(f"{count:7}  {a} + {b}")
    for line in found.skipped:
        print(f"not read: {line}", file=sys.stderr)
    return 0


def _where(path: Path) -> Path:
    """A path as given, or the folder of an installed package of that name."""
    if path.exists() or len(path.parts) != 1 or not path.name.isidentifier():
        return path
    from importlib.util import find_spec

    spec = find_spec(path.name)
    if spec is None or not spec.submodule_search_locations:
        return path
    return Path(next(iter(spec.submodule_search_locations)))


def _sample(args: argparse.Namespace) -> int:
    from kzlib.apis import in_classes, sample_sets
    from kzlib.frontier import Weakness

    low, _, high = args.size.partition("-")
    if not low.isdigit() or (high and not high.isdigit()):
        raise ValueError(f"--size {args.size} is no size: type 2, or 2-3")
    sizes = tuple(range(int(low), int(high or low) + 1))
    if args.sampler == "frontier" and args.weakness is None:
        raise ValueError("the frontier sampler needs what the Coder is weak at: add --weakness FILE")
    weakness = Weakness.load(args.weakness) if args.weakness else None
    allowed = in_classes(args.operator_class or ())
    for apis in sample_sets(args.n, args.seed, args.sampler, sizes, weakness, allowed):
        print(json.dumps(list(apis)))
    return 0
