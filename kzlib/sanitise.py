"""Take a machine's name, users and absolute paths out of texts before they are handed on. Source: issue 10 item 3."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kzlib.environment import ROOT

TOP = "home|root|Users|tmp|work|mnt|var|opt|data|srv|scratch|workspace|usr|private|lustre|nfs|gpfs|etc"
BEFORE = r"(?:(?<![\w./])|(?<=\\n)|(?<=\\t)|(?<=file://))"  # JSON writes a line's end as two characters
PATH = re.compile(rf"(?:file://)?{BEFORE}/(?:{TOP})(?:/[\w.+@%~-]+)*/?(?![\w.])")
OURS = re.compile(r"/((?:kzlib|notebooks|params|scripts|benchmarks|site-packages|python3\.\d+)/.*)")
HOME = re.compile(r"/(?:home|Users)/[^/]+/?|/root/?")
SHORTEST_HOST = 4  # a shorter name would be found inside ordinary words


def clean(text: str, hosts: Iterable[str] = ()) -> str:
    """The text with absolute paths cut to what says something without the machine, and host names taken out.

    >>> clean("File /home/me/suite/kzlib/metrics.py, data in /scratch/me/KernelBench:level1 on box17", ["box17"])
    'File kzlib/metrics.py, data in .../KernelBench:level1 on [host]'
    """
    text = PATH.sub(lambda match: _shorter(match.group()), text)
    for host in hosts:
        text = re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "[host]", text)
    return text


def _shorter(path: str) -> str:
    path = path.removeprefix("file://")
    if HOME.fullmatch(path):
        return "~"
    ours = OURS.search(path)
    if ours:
        return ours.group(1)
    name = path.rstrip("/").rpartition("/")[2]
    return f".../{name}" if path.count("/") > 1 else path


def hosts() -> list[str]:
    """Names of this machine that are long enough to be told from words."""
    name = socket.gethostname()
    found = {name, name.partition(".")[0]}
    return sorted((n for n in found if len(n) >= SHORTEST_HOST and n != "localhost"), key=len, reverse=True)


def leftovers(text: str, names: Iterable[str] = ()) -> list[str]:
    """What of this machine is still in a text: the project's folder, the home folder, a host name, a user's folder.

    >>> leftovers("all well"), leftovers("see /home/alice/x")
    ([], ['/home/alice'])
    """
    known = [str(ROOT), *([str(Path.home())] if len(Path.home().parts) > 2 else [])]
    found = [path for path in known if path in text]
    found += [m.group() for m in re.finditer(rf"{BEFORE}/(?:home|Users|root)/[\w.-]+", text)]
    found += [n for n in names if re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", text)]
    return sorted(set(found))


def notebook(text: str, names: Iterable[str] = ()) -> str:
    """An executed notebook without what papermill and Lab noted of the machine and the hour; outputs are kept, cleaned.

    Pictures are left as they are, each once: the same picture as HTML, which Lab shows for its alt text, goes.
    """
    document = json.loads(text)
    document["metadata"] = {k: v for k, v in document["metadata"].items() if k in ("kernelspec", "language_info")}
    for cell in document["cells"]:
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k in ("tags", "jupyter")}
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data and "".join(data["image/png"]).strip() in "".join(data.get("text/html", "")):
                del data["text/html"]
    return json.dumps(_strings(document, list(names)), indent=1, ensure_ascii=False) + "\n"


def _strings(value: Any, names: list[str]) -> Any:
    if isinstance(value, str):
        return clean(value, names)
    if isinstance(value, list):
        return [_strings(item, names) for item in value]
    if isinstance(value, dict):
        return {k: v if k.startswith("image/") else _strings(v, names) for k, v in value.items()}
    return value
