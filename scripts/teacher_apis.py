"""Write docs/teacher_apis.md: which APIs of the catalogue the teacher has kernels for."""

from __future__ import annotations

from pathlib import Path

from kzlib.apis import catalogue
from kzlib.teacher.support import markdown


def main() -> None:
    target = Path(__file__).resolve().parents[1] / "docs" / "teacher_apis.md"
    text = markdown((a.name, a.operator_class) for a in catalogue())
    target.write_text(text)
    print(text.splitlines()[2])


if __name__ == "__main__":
    main()
