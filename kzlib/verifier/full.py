"""A full extension build in a process of its own: `python -m kzlib.verifier.full FOLDER LIBRARY`.

PyTorch's own code makes the files and calls ninja; the result is not imported, since that would run the candidate's
static constructors here. Source: issue 4, item 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MODULE = "kz_extension"


def main() -> int:
    folder, library = Path(sys.argv[1]), sys.argv[2]
    request = json.loads((folder / "request.json").read_text())
    from torch.utils import cpp_extension

    made: list[Any] = []
    cpp_extension._import_module_from_library = lambda *args: made.append(args)
    functions = request["functions"]
    build = folder / "full"
    build.mkdir()
    cpp_extension.load_inline(
        MODULE, list(request["cpp"]), list(request["cuda"]) or None,
        functions=None if functions is None else dict(functions), extra_cflags=request["cflags"],
        extra_cuda_cflags=request["cuda_flags"], extra_ldflags=request["ldflags"], build_directory=str(build),
        no_implicit_headers=not request["implicit_headers"], with_pytorch_error_handling=request["error_handling"],
        with_cuda=True, verbose=False,
    )  # fmt: skip
    (build / f"{MODULE}.so").rename(folder / library)
    for file in build.iterdir():
        file.unlink()
    build.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
