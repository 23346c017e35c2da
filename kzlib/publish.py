"""Copy a finished run to `outputs/published/<name>/`, fit to be committed: small, and without a word of the machine.

Left out: checkpoints (but one that is asked for and small), the corpus, logs, resume files, the merged records. Where
the rest is still too large, records go, the largest first; counts and examples are kept. Source: issue 10 item 3.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kzlib import report, sanitise, summary
from kzlib.params import Params
from kzlib.stages import FIGURES, stages
from kzlib.workspace import Run, digest, size

LIMIT = 30 << 20  # bytes of a published run
CHECKPOINT_LIMIT = 20 << 20  # bytes of a checkpoint that is shipped with it
NUMBERS = ("metrics", "tables", "stages")  # what every number of a run is computed from
FOLDERS = (*NUMBERS, "figures", "records", "notebooks")
FILES = ("manifest.json", "params.json", "setup.json", "api_sets.jsonl")
TEXT = (".json", ".jsonl", ".csv", ".md", ".txt", ".html")


def publish(
    run: Run, name: str, output_root: Path, checkpoint: str = "", limit: int = LIMIT, numbers_only: bool = False
) -> Run:
    """The published copy of a finished run; an earlier one of that name is replaced. ValueError says what is missing.

    `numbers_only` leaves out notebooks, figures and records: enough for a table over seeds. `checkpoint` names one of
    the run's (such as "coder.r2"), shipped with its tokenizer if it has 20 MiB or less.
    """
    missing = unfinished(run)
    if missing:
        raise ValueError(
            f"{run.profile}/{run.name} is not finished ({missing[0]} is not done): run it to its end first"
        )
    target = output_root / "published" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".publishing-") as scratch:
        copy = Run(Path(scratch) / name, run.profile, name)
        copy.root.mkdir()
        copy.root.chmod(0o755)
        names = sanitise.hosts()
        for path in chosen(run, NUMBERS if numbers_only else FOLDERS):
            _copy(path, copy.root / path.relative_to(run.root), names)
        if checkpoint:
            _checkpoint(run, copy, checkpoint)
        copy.write_json("examples.json", json.loads(sanitise.clean(json.dumps(report.examples(run)), names)))
        copy.write_json("records/counts.json", summary.record_counts(run))
        _finish(run, copy, limit)
        check(copy, limit)
        if target.exists():
            shutil.rmtree(target)
        copy.root.rename(target)
    return Run(target, "published", name)


def unfinished(run: Run) -> list[str]:
    """Stages of the run, up to its figures, that have no stamp."""
    rounds = Params.model_validate_json((run.root / "params.json").read_text(encoding="utf-8")).run.rounds
    every = [stage.name for stage in stages(rounds)]
    wanted = every[: every.index(FIGURES.name) + 1]
    return [name for name in wanted if not (run.root / "stages" / name / "stamp.json").exists()]


def chosen(run: Run, folders: Sequence[str] = FOLDERS) -> Iterator[Path]:
    """The files that are copied; pages of notebooks are made again from the copies."""
    yield from (run.root / name for name in FILES if (run.root / name).exists())
    for folder in folders:
        for path in sorted((run.root / folder).rglob("*")):
            parts = path.relative_to(run.root).parts
            hidden = any(part.startswith(".") for part in parts)
            page = folder == "notebooks" and path.suffix != ".ipynb"
            if path.is_file() and not hidden and not page and "resume" not in parts and ".failed" not in path.name:
                yield path


def _copy(source: Path, target: Path, names: list[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".ipynb":
        text = small_pictures(sanitise.notebook(source.read_text(encoding="utf-8"), names))
        target.write_text(text, encoding="utf-8")
    elif source.suffix == ".png":
        target.write_bytes(small_png(source.read_bytes()))
    elif source.suffix in TEXT:
        with source.open(encoding="utf-8", newline="") as lines, target.open("w", encoding="utf-8", newline="") as file:
            file.writelines(sanitise.clean(line, names) for line in lines)
    else:
        shutil.copyfile(source, target)


def small_png(data: bytes) -> bytes:
    """The picture in 256 colours where that is smaller: figures have few, and the copy has most of them twice."""
    from PIL import Image

    given = Image.open(io.BytesIO(data))
    picture = given.convert("RGBA")
    page = Image.new("RGBA", picture.size, "white")
    page.alpha_composite(picture)
    out = io.BytesIO()
    kept = {name: given.info[name] for name in ("dpi",) if name in given.info}
    page.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True, **kept)
    return min(out.getvalue(), data, key=len)


def small_pictures(notebook: str) -> str:
    """A notebook's text with its PNG outputs made small."""
    read = json.loads(notebook)
    for cell in read["cells"]:
        for shown in cell.get("outputs", ()):
            pictures = shown.get("data", {})
            if "image/png" in pictures:
                data = small_png(base64.b64decode("".join(pictures["image/png"])))
                pictures["image/png"] = base64.b64encode(data).decode()
    return json.dumps(read, indent=1, ensure_ascii=False) + "\n"


def _checkpoint(run: Run, copy: Run, checkpoint: str) -> None:
    source = run.require(f"checkpoints/{checkpoint}", made_by="02_sft_cold_start or 04_coder_rl")
    if size(source) > CHECKPOINT_LIMIT:
        raise ValueError(
            f"checkpoints/{checkpoint} has {size(source) >> 20} MiB, {CHECKPOINT_LIMIT >> 20} are the most"
        )
    for path in sorted(source.rglob("*")):
        if path.is_file():
            target = copy.root / path.relative_to(run.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _finish(run: Run, copy: Run, limit: int) -> None:
    """Manifest and page of what is there, without the largest records if the whole is over the limit."""
    dropped: list[str] = []
    while True:
        _mend_manifest(run, copy, dropped)
        report.write_page(copy)
        over = size(copy.root) - limit
        records = sorted((copy.root / "records").glob("*.jsonl"), key=lambda path: path.stat().st_size)
        if over <= 0 or not records:
            return
        while over > 0 and records:
            path = records.pop()
            over -= path.stat().st_size
            path.unlink()
            dropped.append(path.relative_to(copy.root).as_posix())


def _mend_manifest(run: Run, copy: Run, dropped: list[str]) -> None:
    """Entries of the files that are here, with the digests of what is here; the rest by name and original digest."""
    manifest = run.manifest()
    kept: dict[str, Any] = {}
    absent: dict[str, Any] = {}
    for name, entry in manifest["entries"].items():
        path = copy.root / entry["path"]
        if path.exists():
            kept[name] = entry | {"digest": digest(path), "bytes": size(path)}
        else:
            absent[name] = {k: entry[k] for k in ("path", "kind", "stage", "digest", "bytes")}
    copy.write_json("manifest.json", manifest | {"entries": kept, "left_out": absent, "dropped_for_size": dropped})


def check(copy: Run, limit: int = LIMIT) -> None:
    """ValueError if the copy is too large or a text in it still names this machine."""
    if size(copy.root) > limit:
        raise ValueError(f"{copy.name} has {size(copy.root) / 2**20:.1f} MiB, {limit / 2**20:.1f} are the most")
    names = sanitise.hosts()
    for path in sorted(copy.root.rglob("*")):
        if path.is_file() and path.suffix in (*TEXT, ".ipynb"):
            found = sanitise.leftovers(path.read_text(encoding="utf-8"), names)
            if found:
                raise ValueError(f"{path.relative_to(copy.root)} still names {found[0]}: it was not published")
