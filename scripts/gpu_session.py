"""One short session of a long run: what `kz run` does, for so many minutes, with a folder that carries it to the next.

    python scripts/gpu_session.py run --profile gpu --run first --minutes 9 --state STATE --out OUT
    python scripts/gpu_session.py unpack --profile gpu --run first --state OUT

`run` goes on with the run of that name; if it is not on this machine, it is unpacked from STATE first. It begins at
the first stage that has never finished, stops in time, prints what is left and where the minutes went, and packs the
run into OUT in pieces: everything that is text, then weights, the newest first, as far as the limit goes. A stage that
was stopped goes on from its checkpoints on the same machine, and from its beginning on another one.
Source: issue 10, item 2.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kzlib.environment import environment
from kzlib.params import load_profile
from kzlib.progress import duration
from kzlib.runner import Context, find_run, status
from kzlib.training import read_steps

PIECE = 15 << 20  # bytes of one file that travels
PACKING = 40.0  # seconds kept for packing


def run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    params = load_profile(args.profile)
    folder = find_run(args.output_root, params, args.run)
    if not (folder.root / "stages").is_dir() and any(args.state.glob("run.part*")):
        unpack(args)
    context = Context.of(folder, params)
    start = first_unfinished(context)
    code = 0
    if start:
        command = ["-m", "kzlib.cli", "run", "--profile", args.profile, "--run", args.run, "--from", start]
        command += ["--minutes", f"{args.minutes - PACKING / 60:.2f}", "--output-root", args.output_root]
        command += ["--to", args.to] if args.to else []
        print(f"from {start}", flush=True)
        code = subprocess.run([sys.executable, *command], check=False).returncode
    left = [(stage.name, str(state)) for stage, state in status(context.again()) if not stamped(context, stage.name)]
    session = {
        "seconds": round(time.monotonic() - began, 1), "began_with": start, "exit_code": code,
        "gpus": [gpu["name"] for gpu in environment()["gpus"]],
    }  # fmt: skip
    with folder.path("sessions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(session) + "\n")
    print(table(costs(folder.root)))
    print(f"left: {', '.join(f'{name} ({state})' for name, state in left) or 'nothing'}")
    if args.out:
        packed = time.monotonic()
        print(pack(folder.root, args.out, args.limit_mb << 20))
        print(f"packed in {duration(time.monotonic() - packed)}")
    print(f"the whole session took {duration(time.monotonic() - began)}")
    return code


def stamped(context: Context, stage: str) -> bool:
    return (context.root / "stages" / stage / "stamp.json").exists()


def first_unfinished(context: Context) -> str | None:
    """The first stage without a stamp. Earlier ones count as done, whatever was edited since: minutes are dear."""
    return next((stage.name for stage in context.every if not stamped(context, stage.name)), None)


# --- what it cost -----------------------------------------------------------------------------------------------------


def costs(root: Path) -> list[dict[str, object]]:
    """One row a stage that has begun: seconds by part, tokens, kernels judged."""
    rows: list[dict[str, object]] = []
    for folder in sorted(path for path in (root / "stages").glob("*") if path.is_dir()):
        name = folder.name
        logs = [*folder.glob("resume/*/*/steps.jsonl"), *metrics_of(root, name)]
        steps = [row for log in logs for row in read_steps(log) if "loss" in row or "seconds/train" in row]
        verdicts = root / "records" / f"verdicts.{name}.jsonl"
        judged = verdicts if verdicts.exists() else root / "corpus" / "verdicts.jsonl" if name[:2] == "02" else verdicts
        stamp = folder / "stamp.json"
        row: dict[str, object] = {"stage": name, "finished": stamp.exists(), "steps": len(steps)}
        row |= {part: round(sum(s.get(f"seconds/{part}", 0.0) for s in steps), 1) for part in PARTS}
        row["tokens"] = sum(max((r["tokens"] for r in read_steps(log)), default=0) for log in logs)
        row["verdicts"] = sum(1 for _ in judged.open(encoding="utf-8")) if judged.exists() else 0
        rows.append(row)
    return rows


PARTS = ("generate", "solve", "verify", "train")


def metrics_of(root: Path, stage: str) -> list[Path]:
    kind, _, turn = stage.partition(".")
    names = {"02_sft_cold_start": ["sft_coder", "sft_proposer"], "03_proposer_rl": ["proposer_rl"]}
    names["04_coder_rl"] = ["coder_rl"]
    found = [root / "metrics" / f"{name}{'.' + turn if turn else ''}.jsonl" for name in names.get(kind, [])]
    return [path for path in found if path.exists()]


def table(rows: list[dict[str, object]]) -> str:
    """Rows as aligned text."""
    if not rows:
        return "nothing has begun"
    lines = [[*rows[0]], *[[f"{v:,}" if isinstance(v, (int, float)) else str(v) for v in r.values()] for r in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(root: Path, out: Path, limit: int) -> str:
    """Write the run to `out` as `run.part0`, `run.part1`, ...; says what was left out."""
    small = io.BytesIO()
    with tarfile.open(fileobj=small, mode="w:gz", compresslevel=3) as tar:
        for path in texts(root):
            tar.add(path, path.relative_to(root))
    if small.tell() > limit:
        raise ValueError(f"the run's texts take {small.tell() >> 20} MiB packed: raise --limit-mb above that")
    pieces, left_out = Pieces(out), []
    with tarfile.open(fileobj=pieces, mode="w|") as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo("texts.tgz")
        info.size = small.tell()
        small.seek(0)
        tar.addfile(info, small)
        room = limit - info.size
        for path in weights(root):
            size = sum(f.stat().st_size for f in path.iterdir())
            if size > room:
                left_out.append(path.name)
                continue
            room -= size + (1 << 16)
            tar.add(path, path.relative_to(root))
    pieces.close()
    note = f"; without {', '.join(left_out)}" if left_out else ""
    return f"{pieces.total / 2**20:.1f} MiB in {pieces.number} pieces in {out}{note}"


def texts(root: Path) -> Iterator[Path]:
    """Every file of the run but weights, training checkpoints, what finished stages went on from, and what no later
    stage reads (pages, the corpus with what was not kept)."""
    finished = {path.parent.name for path in root.glob("stages/*/stamp.json")}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        heavy = inside[0] == "checkpoints" or any(part.startswith("checkpoint-") for part in inside)
        heavy = heavy or (inside[0] == "stages" and "resume" in inside and inside[1] in finished)
        heavy = heavy or inside == ("corpus", "all.jsonl")
        if path.is_file() and not heavy and path.suffix not in (".html", ".part") and path.name != ".lock":
            yield path


def weights(root: Path) -> list[Path]:
    """Checkpoint folders, those that the next stages need first: newest Coder, newest Proposer, the cold start."""
    found = [p for p in (root / "checkpoints").glob("*") if p.is_dir() and p.name[0] != "."]

    def turn(path: Path) -> int:
        return int(path.name.rpartition(".r")[2]) if ".r" in path.name else 0

    newest = {role: max((turn(p) for p in found if role in p.name), default=0) for role in ("coder", "proposer")}

    def rank(path: Path) -> tuple[int, int, str]:
        role = "coder" if "coder" in path.name else "proposer"
        first = turn(path) == newest[role]
        order = (0 if role == "coder" else 1) if first else 2 if path.name == "sft_coder" else 3
        return order, -turn(path), path.name

    return sorted(found, key=rank)


class Pieces(io.RawIOBase):
    """A file to write to that is cut into pieces of `PIECE` bytes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("run.part*"):
            old.unlink()
        self.folder, self.number, self.total, self.file = folder, 0, 0, None

    def write(self, data: bytes) -> int:  # type: ignore[override]
        rest = memoryview(data)
        while rest:
            if self.total % PIECE == 0:
                if self.file:
                    self.file.close()
                self.file = (self.folder / f"run.part{self.number}").open("wb")
                self.number += 1
            room = PIECE - self.total % PIECE
            self.file.write(rest[:room])
            self.total += len(rest[:room])
            rest = rest[room:]
        return len(data)

    def close(self) -> None:
        if self.file:
            self.file.close()
        super().close()


def unpack(args: argparse.Namespace) -> int:
    """Pieces -> the run's folder; files that are there already are replaced."""
    root = find_run(args.output_root, load_profile(args.profile), args.run).root
    parts = sorted(args.state.glob("run.part*"), key=lambda p: int(p.name.removeprefix("run.part")))
    if not parts:
        raise FileNotFoundError(f"{args.state} holds no run.part files: give the folder that `run` packed into")
    whole = io.BytesIO(b"".join(part.read_bytes() for part in parts))
    with tarfile.open(fileobj=whole) as tar:
        tar.extractall(root, filter="data")
    with tarfile.open(root / "texts.tgz") as tar:
        tar.extractall(root, filter="data")
    (root / "texts.tgz").unlink()
    print(f"{len(parts)} pieces unpacked into {os.path.relpath(root)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "unpack"))
    parser.add_argument("--profile", default="gpu")
    parser.add_argument("--run", default="session", help="the run's folder name")
    parser.add_argument("--minutes", type=float, default=9.0, help="of the whole session, packing included")
    parser.add_argument("--to", help="end with this stage")
    parser.add_argument("--state", type=Path, default=Path("state"), help="folder that an earlier session packed into")
    parser.add_argument("--out", type=Path, help="folder to pack into")
    parser.add_argument("--limit-mb", type=int, default=60, help="of everything packed, MiB")
    parser.add_argument("--output-root", default="outputs")
    args = parser.parse_args()
    return {"run": run, "unpack": unpack}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
