"""`kz teach`: random Torch modules with right kernels, as files, JSON lines and parquet. Source: issue 6, item 5."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kzlib.teacher.sample import STYLES

if TYPE_CHECKING:
    from kzlib.records import Verdict
    from kzlib.teacher import Sample

HELP = "write Torch modules and kernels for them, by rules"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz teach`."""
    parser.add_argument("--n", type=int, required=True, help="how many samples the folder shall hold")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same samples")
    parser.add_argument("--backend", default="triton", choices=("triton", "cuda"))
    parser.add_argument(
        "--family", action="append", help="only this family (may be repeated); an unknown name lists them"
    )
    parser.add_argument(
        "--styles", default="plain", choices=tuple(STYLES), help="short; longer, with idioms; or as people write"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder; a second call goes on where the first stopped")
    parser.add_argument("--workers", type=int, help="processes (default: the cores there are, at most 8)")
    parser.add_argument(
        "--verify", action="store_true", help="keep only what passes the strict verifier on this machine"
    )
    parser.add_argument(
        "--no-files", action="store_true", help="no file a module and a kernel, only tasks.jsonl and parquet"
    )


def run(args: argparse.Namespace) -> int:
    """0 when the folder holds what was asked for."""
    from kzlib.progress import Progress
    from kzlib.teacher.sample import checked_families
    from kzlib.teacher.writer import Corpus, fill

    corpus = Corpus(
        args.out, args.seed, args.backend, checked_families(args.family), args.styles, files=not args.no_files
    )
    check = judge(args.workers) if args.verify else None
    with Progress("samples", args.n) as bar:
        for k, _ in enumerate(fill(corpus, args.n, args.workers, check), 1):
            bar.update(1) if k else None
    for family, judged in sorted(corpus.judged.items()):
        print(f"{family:16} {corpus.passed[family]:5} of {judged:5} passed")
    print(f"{len(list((args.out / 'shards').glob('*.parquet')))} shards in {args.out}", file=sys.stderr)
    return 0


def judge(workers: int | None):
    """Judge a shard of samples with one warm verifier."""
    from kzlib.verifier import Verifier

    verifier = Verifier(workers=workers)

    def check(samples: Sequence[Sample]) -> Iterator[tuple[Sample, Verdict]]:
        by_id = {s.candidate.id: s for s in samples}
        for verdict in verifier.verify([s.task for s in samples], [s.candidate for s in samples]):
            yield by_id[verdict.candidate_id], verdict

    return check
