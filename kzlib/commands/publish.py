"""`kz publish RUN --name NAME`: a finished run, fit to be committed and handed on. Source: issue 10 item 3."""

from __future__ import annotations

import argparse

HELP = "copy a finished run to outputs/published/, small and without paths, host or user"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz publish`."""
    parser.add_argument("run", metavar="RUN", help="profile, profile/run, or a run's folder")
    parser.add_argument("--name", required=True, help="name of the published copy; an earlier one is replaced")
    parser.add_argument(
        "--checkpoint", default="", metavar="NAME", help="ship this one too, such as coder.r2 (<= 20 MiB)"
    )
    parser.add_argument("--numbers-only", action="store_true", help="without notebooks, figures and records")
    parser.add_argument("--limit", type=int, default=30, metavar="MIB", help="largest size (30): records go first")
    parser.add_argument("--output-root", default="outputs", metavar="FOLDER", help="where runs are kept")


def run(args: argparse.Namespace) -> int:
    """0 when the copy is there."""
    import json

    from kzlib.compare import find, output_folder
    from kzlib.publish import publish
    from kzlib.workspace import size

    base = output_folder(args.output_root)
    source = find(args.run, args.output_root)
    copy = publish(source, args.name, base, args.checkpoint, args.limit << 20, args.numbers_only)
    dropped = json.loads((copy.root / "manifest.json").read_text(encoding="utf-8"))["dropped_for_size"]
    print(f"{copy.profile}/{copy.name}: {size(copy.root) / 2**20:.1f} MiB")
    print(f"left out for size: {', '.join(dropped) or 'nothing'}")
    print(f"next: python scripts/readme_numbers.py collect {copy.profile}/{copy.name}, then write")
    return 0
