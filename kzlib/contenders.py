"""Who is evaluated: a checkpoint of the run, any folder or Hub id of a model, or a server; each opened as a sampler.

Source: issue 8 item 2.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib.evaluation import Text, Write
from kzlib.prompts import Style, as_model_input, coder_prompt
from kzlib.records import Backend, Task, content_id

if TYPE_CHECKING:
    from kzlib.engines import Endpoint
    from kzlib.workspace import Run

SERVERS = ("openai", "chat")
FORMS = "a checkpoint of the run (coder.r1), a folder, a Hub id (owner/name), openai:URL#MODEL or chat:URL#MODEL"


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy by the name that tables show, where it is, and a digest of its weights (of a server: its address)."""

    name: str
    source: str | Endpoint
    digest: str

    @property
    def served(self) -> bool:
        return not isinstance(self.source, str)


def contender(spec: str, run: Run) -> Contender:
    """What a spec names; a checkpoint that the run has not made says which notebook makes it."""
    kind, _, rest = spec.partition(":")
    if kind in SERVERS:
        return _server(kind, rest)
    for folder in (run.root / "checkpoints" / spec, Path(spec)):
        if folder.is_dir():
            return Contender(folder.name, str(folder), checkpoint_digest(folder))
    if re.fullmatch(r"[\w.-]+/[\w.-]+", spec):
        return Contender(spec.partition("/")[2], spec, content_id(spec))
    if re.fullmatch(r"sft_coder|coder\.r\d+", spec):
        run.require(f"checkpoints/{spec}", "02_sft_cold_start" if spec == "sft_coder" else "04_coder_rl")
    raise ValueError(f"{spec!r} is no model to evaluate: give {FORMS}")


def _server(kind: str, rest: str) -> Contender:
    from kzlib.engines import Endpoint

    url, _, model = rest.rpartition("#")
    if not url.startswith(("http://", "https://")) or not model:
        raise ValueError(f"{kind}:{rest} names no server and model: type {kind}:http://HOST:PORT/v1#MODEL")
    endpoint = Endpoint(url, model, chat=kind == "chat")
    return Contender(model.rpartition("/")[2], endpoint, content_id(kind, url, model))


@dataclass(frozen=True, slots=True)
class Opened:
    """A contender that answers: `write` samples, `prompt(backend)` says what it is asked for a task."""

    write: Write
    prompt: Callable[[Backend], Callable[[Task], str]]
    settings: tuple[tuple[str, str], ...]  # all that changes the answers; part of an evaluation's key


@contextlib.contextmanager
def opened(
    who: Contender, device: str, engine: str, style: Style, max_new_tokens: int, temperature: float, top_p: float,
    seed: int = 0,
) -> Iterator[Opened]:  # fmt: skip
    """Load the weights or address the server; leaving the block frees them. A chat server is asked in words."""
    if who.served and getattr(who.source, "chat", False):
        style = "instruct"
    with _generator(who, device, engine, seed) as (ask, tokenizer):

        def write(prompts: list[str], n: int, seed: int) -> Sequence[Sequence[Text]]:
            return ask(prompts, n, max_new_tokens, temperature, top_p, seed)

        def prompt(backend: Backend) -> Callable[[Task], str]:
            return lambda task: as_model_input(coder_prompt(task.source, backend, style), tokenizer, style)

        name = "server" if who.served else engine
        sampling = f"{temperature} {top_p} {max_new_tokens} {name}"
        yield Opened(write, prompt, (("weights", who.digest), ("style", style), ("sampling", sampling)))


@contextlib.contextmanager
def _generator(who: Contender, device: str, engine: str, seed: int) -> Iterator[tuple[Callable[..., Any], Any]]:
    from kzlib import engines, policy

    if who.served:
        yield lambda prompts, n, *how: engines.generate("openai", who.source, prompts, n, *how), None
    elif engine == "vllm":
        from transformers import AutoTokenizer

        with engines.Vllm(str(who.source), seed) as vllm:  # one engine for all chunks: it takes a minute to start
            yield vllm.generate, AutoTokenizer.from_pretrained(str(who.source))
    else:
        model, tokenizer = policy.load(str(who.source), device)
        yield lambda prompts, n, *how: policy.generate(model, tokenizer, prompts, n, *how), tokenizer
        del model
        if device.startswith("cuda"):
            policy.release(device)


def checkpoint_digest(path: str | os.PathLike[str]) -> str:
    """Sixteen hex digits of a checkpoint folder: names and sizes, and of each file its first and last mebibyte.

    Training changes weights everywhere, so two checkpoints differ there; a 15 GB model costs milliseconds.
    """
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if not file.is_file():
            continue
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()}:{size}".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            stream.seek(max(0, size - (1 << 20)))
            digest.update(stream.read(1 << 20))
    return digest.hexdigest()[:16]
