"""Write the generated cases: `python -m tests.zoo.make`."""

from __future__ import annotations

from tests.zoo import ROOT
from tests.zoo.make import everything


def main() -> None:
    count = 0
    for made in everything():
        for name, text in made.files().items():
            (ROOT / name).write_text(text, encoding="utf-8")
        count += 1
    print(f"{count} cases written under {ROOT.name}/")


if __name__ == "__main__":
    main()
