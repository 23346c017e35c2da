"""Other ways to sample from a policy: vLLM's offline engine, and any server with an OpenAI-type completions endpoint.

`kzlib.policy.generate(engine=...)` calls these. Source: issue 7 item 5; reports P26 (old weights), P27 (seeds).
"""

from __future__ import annotations

import gc
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kzlib.policy import Generation
from kzlib.seeds import child_seed

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks OpenAI's completions protocol. The key is read from the environment, never stored."""

    url: str  # up to and including /v1
    model: str
    key_variable: str = "OPENAI_API_KEY"
    chat: bool = False  # send the prompt as a user message to /chat/completions
    workers: int = 16
    tries: int = 4
    timeout: float = 600.0  # seconds


def generate(
    engine: str, model: Any, prompts: Sequence[str], n: int, max_new_tokens: int, temperature: float, top_p: float,
    seed: int, progress: Progress | None = None,
) -> list[list[Generation]]:  # fmt: skip
    """`n` texts for each prompt: `model` is a folder or Hub id for "vllm", an `Endpoint` for "openai"."""
    if engine == "vllm":
        with Vllm(model, seed) as served:
            return served.generate(prompts, n, max_new_tokens, temperature, top_p, seed, progress)
    if engine == "openai":
        return _ask_all(model, prompts, n, max_new_tokens, temperature, top_p, seed, progress)
    raise ValueError(f"there is no engine {engine!r}: use transformers, vllm or openai")


class Vllm:
    """vLLM's offline engine over a saved policy; leaving the block gives its memory back.

    On a CPU build set `VLLM_CPU_KVCACHE_SPACE` (GiB). A new checkpoint needs a new engine: weights are read once.
    """

    def __init__(self, path: str | os.PathLike[str], seed: int = 0, **options: Any) -> None:
        from vllm import LLM

        self.engine: Any = LLM(model=str(path), seed=seed % 2**31, enforce_eager=True, **options)

    def __enter__(self) -> Vllm:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine = None
        gc.collect()

    def generate(
        self, prompts: Sequence[str], n: int, max_new_tokens: int, temperature: float, top_p: float, seed: int,
        progress: Progress | None = None,
    ) -> list[list[Generation]]:  # fmt: skip
        """Every prompt samples from a seed of its own, so equal prompts differ and a rerun repeats."""
        from vllm import SamplingParams

        settings = [
            SamplingParams(
                n=n, max_tokens=max_new_tokens, temperature=temperature, top_p=top_p, seed=child_seed(seed, i)
            )
            for i in range(len(prompts))
        ]
        outputs = self.engine.generate(list(prompts), settings, use_tqdm=False)
        if progress:
            progress(len(prompts) * n, len(prompts) * n)
        return [[Generation(o.text, len(o.token_ids), o.finish_reason) for o in row.outputs] for row in outputs]


def _ask_all(
    endpoint: Endpoint, prompts: Sequence[str], n: int, max_new_tokens: int, temperature: float, top_p: float,
    seed: int, progress: Progress | None,
) -> list[list[Generation]]:  # fmt: skip
    bodies = [
        {"model": endpoint.model, "max_tokens": max_new_tokens, "temperature": temperature, "top_p": top_p,
         "n": 1, "seed": child_seed(seed, i, k)} | _asked(endpoint, prompt)
        for i, prompt in enumerate(prompts) for k in range(n)
    ]  # fmt: skip
    flat: list[Generation] = []
    with ThreadPoolExecutor(endpoint.workers) as pool:
        for answer in pool.map(lambda body: _ask(endpoint, body), bodies):
            flat.append(answer)
            if progress:
                progress(len(flat), len(bodies))
    return [flat[i * n : (i + 1) * n] for i in range(len(prompts))]


def _asked(endpoint: Endpoint, prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]} if endpoint.chat else {"prompt": prompt}


def _ask(endpoint: Endpoint, body: dict[str, Any]) -> Generation:
    path = "/chat/completions" if endpoint.chat else "/completions"
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(endpoint.key_variable):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(endpoint.url.rstrip("/") + path, json.dumps(body).encode(), headers)  # noqa: S310
    for attempt in range(endpoint.tries):
        try:
            with urllib.request.urlopen(request, timeout=endpoint.timeout) as response:  # noqa: S310
                answer = json.load(response)
            break
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            refused = isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429
            if refused or attempt == endpoint.tries - 1:
                raise RuntimeError(
                    f"{endpoint.url} did not answer ({error}): check the address, the model's name and the key in "
                    f"{endpoint.key_variable}"
                ) from None
            time.sleep(2**attempt / 4)
    choice = answer["choices"][0]
    text = choice["message"]["content"] if endpoint.chat else choice["text"]
    return Generation(text or "", int(answer.get("usage", {}).get("completion_tokens", 0)), choice["finish_reason"])
