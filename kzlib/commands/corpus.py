"""`kz corpus`: verify the teacher's own pairs of a profile's cold start beforehand, on any machine, for `corpus_from`.

Source: issue 10, item 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "verify the pairs of a profile's cold start beforehand (a GPU's minutes are dearer than a CPU's)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz corpus`."""
    parser.add_argument("--profile", default="laptop", help="whose corpus: its seed, families, style and size")
    parser.add_argument("--out", type=Path, required=True, help="folder; a second call goes on where the first stopped")
    parser.add_argument("--backend", choices=("triton", "cuda"), help="only this one (cuda needs a GPU)")
    parser.add_argument("--n", type=int, help="pairs a backend (default: the profile's corpus_size, shared out)")
    parser.add_argument("--workers", type=int, help="pairs judged at once (default: as many as cores)")


def run(args: argparse.Namespace) -> int:
    """0 when the folder holds what was asked for."""
    from kzlib import corpus
    from kzlib.params import load_profile
    from kzlib.progress import Progress
    from kzlib.rewards import Judging
    from kzlib.seeds import child_seed
    from kzlib.tasks import load_tasks
    from kzlib.verifier import Verifier

    params = load_profile(args.profile)
    seed, made, tokens = params.run.seed, params.corpus, params.model.answer_tokens
    for backend in [args.backend] if args.backend else params.run.backends:
        wanted = args.n or corpus.shares(made.corpus_size, len(params.run.backends), made.corpus_asked)[0]
        key = corpus.key_of(backend, seed, made.corpus_families, made.corpus_style, tokens, params.verifier.protocol)
        path = args.out / f"{backend}.{key}.jsonl"
        samples = corpus.stream(backend, wanted, seed, made.corpus_families, made.corpus_style, tokens)
        device = "cpu" if backend == "triton" else "auto"
        with Verifier(device, args.workers) as verifier, Progress(f"verified {backend} pairs", wanted) as bar:
            judging = Judging(verifier, child_seed(seed, "corpus"))

            def advance(kept: int, judged: int, bar: Progress = bar, wanted: int = wanted) -> None:
                bar.update(min(kept, wanted) - bar.done, judged=judged)

            rows = corpus.build(
                samples, judging, path, wanted, load_tasks("heldout"), 256, params.verifier.protocol, advance
            )
        samples.close()
        corpus.export(rows, args.out / f"{backend}.parquet", key)
        print(f"{sum(row['kept'] for row in rows)} of {len(rows)} {backend} pairs passed: {backend}.parquet")
    return 0
