"""How many public answers the lean headers can build: `python benchmarks/lean_coverage.py FILE.json [--csv OUT]`.

FILE holds one JSON object a line with the answer's code in `custom_code`. Many public answers cannot be built by
PyTorch either (they bind a function they never declare, or define the module twice, behind a `try`), so each request
is tried as written and again with only its binding mended. The second row is what the headers cover; what is left there
is code PyTorch refuses too (`x.type()` in AT_DISPATCH, host calls of device functions) or names the headers lack.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kzlib.verifier.build import Builder, BuildFailed, BuildTimeout
from kzlib.verifier.extension import BadRequest, Extension
from kzlib.verifier.intercept import find, own_lines
from kzlib.verifier.store import Store


def mended(extension: Extension) -> Extension:
    """The same code in one unit, the module defined once and, where none is written out, empty."""
    text = "\n".join((*extension.cpp, *extension.cuda))
    functions = None if "PYBIND11_MODULE" in text else ()
    return dataclasses.replace(extension, cpp=(*extension.cpp, *extension.cuda), cuda=(), functions=functions)


def attempt(builder: Builder, extension: Extension) -> tuple[str, float, list[str]]:
    try:
        built = builder.build(extension)
    except BuildFailed as error:
        return "rejected", 0.0, error.lines
    except (BuildTimeout, BadRequest) as error:
        return type(error).__name__, 0.0, [str(error)]
    return built.kind, built.seconds, []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print the first error of each rejected request")
    arguments = parser.parse_args()
    codes = [json.loads(line).get("custom_code") or "" for line in arguments.file.read_text().splitlines()]
    asking = [(number, code, find(code)) for number, code in enumerate(codes, 1) if "load_inline" in code]
    requests = [(number, found, e) for number, _, found in asking for e in found.extensions]
    print(
        f"{len(codes)} answers, {len(asking)} name load_inline, {sum(f.complete for *_, f in asking)} of them readable "
        f"from the syntax tree, {len(requests)} extensions"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(Store(folder))
        for label, change in (("as written", lambda e: e), ("binding mended", mended)):
            with ThreadPoolExecutor(arguments.workers) as pool:
                results = list(pool.map(lambda r, c=change: attempt(builder, c(r[2])), requests))
            kinds = [kind for kind, _, _ in results]
            seconds = [s for kind, s, _ in results if kind == "lean"]
            rows.append(
                {
                    "requests": label,
                    "extensions": len(kinds),
                    "lean": kinds.count("lean"),
                    "full": kinds.count("full"),
                    "rejected": len(kinds) - kinds.count("lean") - kinds.count("full"),
                    "share_lean": round(kinds.count("lean") / max(1, len(kinds)), 4),
                    "median_seconds": round(statistics.median(seconds), 2) if seconds else "",
                    "tools": builder.tools.version,
                }
            )
            print(rows[-1])
            if arguments.show:
                for (number, found, e), (kind, _, lines) in zip(requests, results, strict=True):
                    if kind not in ("lean",):
                        print(f"  answer {number}: {kind}: {own_lines(lines, found.lines[e.key])[:3]}")
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
