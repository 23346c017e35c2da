"""The teacher's interface over an OpenAI-type endpoint: a larger model proposes, the verifier decides, diversity is
kept.

Same samples, same files as `generate`. Right answers to one task are clustered by the shape of their code and drawn
cluster by cluster, as MusaCoder does, so that one habit of the model does not fill the corpus.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.answers import extract
from kzlib.records import Backend, Candidate, Task
from kzlib.teacher.sample import Sample

PRINCIPLES = ("tiling", "fusion", "vectorised access", "reduction", "pipelining", "reordering")
RETRIES = 4
DATA = Path(__file__).with_name("prompt_data")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where completions come from: a vLLM server or a vendor. The key is read from an environment variable, never
    stored."""

    url: str  # up to and with /v1
    model: str
    key_variable: str = "OPENAI_API_KEY"
    temperature: float = 0.8
    max_tokens: int = 4096
    seconds: float = 300.0

    def complete(self, prompt: str, seed: int) -> tuple[str, str]:
        """Text and finish reason; busy answers (429, 5xx) are tried again with growing pauses."""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.key_variable):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers)  # noqa: S310
        for attempt in range(RETRIES):
            try:
                with urllib.request.urlopen(request, timeout=self.seconds) as reply:  # noqa: S310
                    choice = json.load(reply)["choices"][0]
                    return choice["message"]["content"] or "", choice.get("finish_reason") or "stop"
            except urllib.error.HTTPError as error:
                if error.code not in (408, 409, 429, 500, 502, 503, 504) or attempt == RETRIES - 1:
                    raise ValueError(
                        f"{self.url} answered {error.code}: check the address, the model and ${self.key_variable}"
                    ) from error
            except urllib.error.URLError as error:
                if attempt == RETRIES - 1:
                    raise ValueError(f"no answer from {self.url} ({error.reason}): is the server running?") from error
            time.sleep(2.0**attempt)
        raise AssertionError("unreachable")


def prompt(name: str, **values: str) -> str:
    """A prompt of prompt_data with its fields filled; braces in the values are left alone."""
    text = (DATA / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), text)


def distil(
    endpoint: Endpoint,
    api_sets: Sequence[tuple[str, ...]],
    backend: Backend,
    verifier: Any,
    *,
    answers: int = 4,
    keep: int = 2,
    seed: int = 0,
    workers: int = 8,
) -> Iterator[Sample]:
    """For every API set one module, `answers` kernels for it, and of the right ones at most `keep`, as unlike as
    can be."""
    tasks = [
        t
        for t in _parallel(workers, lambda k: _module(endpoint, api_sets[k], seed + k), range(len(api_sets)))
        if t is not None
    ]
    jobs = [(task, k) for task in tasks for k in range(answers)]
    made = _parallel(workers, lambda j: _kernel(endpoint, *jobs[j], backend, seed), range(len(jobs)))
    candidates = {c.id: c for c in made if c is not None}
    right: dict[str, list[Candidate]] = {}
    for verdict in verifier.verify(tasks, list(candidates.values())):
        if verdict.passed:
            right.setdefault(verdict.task_id, []).append(candidates[verdict.candidate_id])
    for task in tasks:
        for candidate in diverse(right.get(task.id, []), keep, random.Random(f"{seed}/{task.id}")):  # noqa: S311
            yield Sample(task, candidate, "distilled", {"model": endpoint.model}, principles_of(candidate.source))


def _parallel(workers: int, job: Any, items: Any) -> list[Any]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(job, items))


def _module(endpoint: Endpoint, apis: tuple[str, ...], seed: int) -> Task | None:
    """A task with exactly these APIs, or None: what the model wrote otherwise is no use here."""
    from kzlib.apis.resolve import resolve

    text, reason = endpoint.complete(prompt("module", apis=", ".join(apis)), seed)
    code = extract(text, reason, entry="Model").code
    if code is None:
        return None
    try:
        found = resolve(code).apis
    except SyntaxError:
        return None
    return Task(code, apis, origin=f"distil:{endpoint.model}") if set(found) == set(apis) else None


def _kernel(endpoint: Endpoint, task: Task, number: int, backend: Backend, seed: int) -> Candidate | None:
    principle = PRINCIPLES[number % len(PRINCIPLES)]
    names = {"triton": "Triton", "cuda": "CUDA (torch.utils.cpp_extension.load_inline)"}
    text, reason = endpoint.complete(
        prompt("kernel", backend=names[backend], principle=principle, task=task.source), seed * 1000 + number
    )
    code = extract(text, reason).code
    return None if code is None else Candidate(task.id, backend, code)


# ------------------------------------------------------------------ diversity


def shingles(source: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    """Runs of tokens with names and numbers made alike: what stays when the same code is spelled otherwise."""
    text = re.sub(
        r"#.*|\"\"\".*?\"\"\"", "", source, flags=re.DOTALL if '"""' in source and "load_inline" not in source else 0
    )
    tokens = re.findall(r"[A-Za-z_][\w.]*|\d+(?:\.\d+)?|\S", text)
    shaped = [
        t if "." in t or t in ("for", "if", "while", "def") or not re.match(r"[A-Za-z_\d]", t) else "N" for t in tokens
    ]
    return frozenset(tuple(shaped[k : k + size]) for k in range(max(1, len(shaped) - size + 1)))


def likeness(a: frozenset[Any], b: frozenset[Any]) -> float:
    """Jaccard index: 1 for equal, 0 for nothing in common.

    >>> likeness(frozenset({1, 2}), frozenset({2, 3}))
    0.3333333333333333
    """
    return len(a & b) / len(a | b) if a or b else 1.0


def clusters(candidates: Sequence[Candidate], threshold: float = 0.8) -> list[list[Candidate]]:
    """Greedy clusters: a candidate joins the first cluster whose first member it resembles enough."""
    found: list[tuple[frozenset[Any], list[Candidate]]] = []
    for candidate in candidates:
        own = shingles(candidate.source)
        for lead, members in found:
            if likeness(own, lead) >= threshold:
                members.append(candidate)
                break
        else:
            found.append((own, [candidate]))
    return [members for _, members in found]


def diverse(candidates: Sequence[Candidate], keep: int, rng: random.Random) -> list[Candidate]:
    """At most `keep`: one of every cluster in turn, clusters and members in random order."""
    groups = [list(g) for g in clusters(sorted(candidates, key=lambda c: c.id))]
    for g in groups:
        rng.shuffle(g)
    rng.shuffle(groups)
    out: list[Candidate] = []
    while len(out) < keep and any(groups):
        for g in groups:
            if g and len(out) < keep:
                out.append(g.pop())
    return out


def principles_of(source: str) -> tuple[str, ...]:
    """The principles that comments of the answer name."""
    comments = " ".join(re.findall(r"(?:#|//)\s*(.*)", source)).lower()
    stems = {
        "tiling": "til",
        "fusion": "fus",
        "vectorised access": "vectori",
        "reduction": "reduc",
        "pipelining": "pipelin",
        "reordering": "reorder",
    }
    return tuple(name for name, stem in stems.items() if stem in comments)
