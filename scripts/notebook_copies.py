"""Copies of the notebooks with another profile's values in their parameters cells, for running them without `kz run`:

`python scripts/notebook_copies.py FOLDER [--profile smoke]`, then open or execute what is in FOLDER, in its order.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from lint_notebooks import stage_of, with_values

from kzlib.environment import ROOT
from kzlib.params import load_profile
from kzlib.runner.notebooks import load, tags_of, text_of


def write_copies(folder: Path, profile: str = "smoke") -> list[Path]:
    """Write all notebooks below `folder` as they are in `notebooks/`, solutions included; the lessons are returned."""
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"), dirs_exist_ok=True)
    params = load_profile(profile)
    lessons = sorted(folder.glob("*.ipynb"))
    for path in lessons:
        notebook, stage = load(path), stage_of(path)
        values = {"profile": profile} | (params.section_values(stage.sections) if stage else {})
        for cell in notebook["cells"]:
            if "parameters" in tags_of(cell):
                cell["source"] = with_values(text_of(cell), values, every=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return lessons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", default="smoke")
    options = parser.parse_args()
    for path in write_copies(options.folder, options.profile):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
