"""What the two roles are asked: a compact form for from-scratch models, a worded form for instruct models.

The worded form lives in `prompt_data/*.md`. Source: DESIGN section 9 (prompts are data files); issue 7.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal, Protocol

from kzlib.normal_form import normal_form
from kzlib.records import Backend

Style = Literal["compact", "instruct"]

PROPERTIES = frozenset({".T", ".mT", ".H", ".mH"})  # read, not called
LANGUAGE = {"triton": "Triton", "cuda": "CUDA C++"}


@cache
def template(name: str) -> str:
    """The text of `prompt_data/<name>.md`, without its last newline."""
    return (files("kzlib") / "prompt_data" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def coder_prompt(task_source: str, backend: Backend, style: Style = "compact") -> str:
    """Ask the Coder for a kernel; the compact form shows the module's normal form instead of its author's spelling.

    >>> coder_prompt("class Model: pass  # an empty one", "triton")
    '<|coder|><|triton|>class Model:\\n    pass<|kernel|>'
    """
    if style == "compact":
        return f"<|coder|><|{backend}|>{normal_form(task_source)}<|kernel|>"
    return template("coder").format(
        language=LANGUAGE[backend], backend_rule=template(backend), module=task_source.strip()
    )


POOLED = 4000  # prompts from which on, given four cores, several processes write them: one takes some 2 ms


def coder_prompts(asked: Sequence[tuple[str, Backend]], style: Style = "compact") -> list[str]:
    """`coder_prompt` for many modules; the same whatever the number of processes."""
    workers = min(16, len(os.sched_getaffinity(0)))
    if len(asked) < POOLED or style != "compact" or workers < 4:
        return [coder_prompt(source, backend, style) for source, backend in asked]
    from kzlib.teacher.sample import single_threaded

    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), single_threaded) as pool:
        return list(pool.map(partial(_prompt, style), asked, chunksize=256))


def _prompt(style: Style, asked: tuple[str, Backend]) -> str:
    return coder_prompt(*asked, style)


def spelled_call(api: str) -> str:
    """How a module's text calls an API, up to the bracket: what a small model can copy from its prompt.

    >>> [spelled_call(f"torch.{name}") for name in ("nn.functional.softmax", "nn.Linear", "Tensor.view", "Tensor.T")]
    ['F.softmax(', 'nn.Linear(', '.view(', '.T']
    """
    for prefix, short in (("torch.nn.functional.", "F."), ("torch.nn.", "nn."), ("torch.Tensor.", ".")):
        if api.startswith(prefix):
            name = short + api.removeprefix(prefix)
            return name if name in PROPERTIES else name + "("
    return api + "("


class NamesApis(Protocol):
    """A task, or anything else that says which APIs it uses."""

    @property
    def apis(self) -> tuple[str, ...]: ...


def calls_of(tasks: Iterable[NamesApis]) -> list[str]:
    """The different calls that the tasks' prompts name, for `kzlib.policy.build_tokenizer`.

    >>> from kzlib.records import Task
    >>> calls_of([Task("", apis=("torch.exp", "torch.Tensor.T")), Task("", apis=("torch.abs", "torch.exp"))])
    ['torch.abs(', 'torch.exp(']
    """
    calls = {spelled_call(name) for task in tasks for name in task.apis}
    return sorted(call for call in calls if call.endswith("("))


def proposer_prompt(apis: Sequence[str], style: Style = "compact") -> str:
    """Ask the Proposer for a module that uses exactly these APIs; the compact form names them as the module will.

    >>> proposer_prompt(("torch.exp", "torch.nn.Linear"))
    '<|proposer|>torch.exp() nn.Linear()<|module|>'
    """
    if style == "compact":
        asked = (call + ")" if call.endswith("(") else call for call in map(spelled_call, apis))
        return f"<|proposer|>{' '.join(asked)}<|module|>"
    return template("proposer").format(apis=", ".join(f"`{name}`" for name in apis))


def repair_prompt(prompt: str, code: str, error: str, style: Style = "compact") -> str:
    """The same question with a failed answer and the verifier's message (MusaCoder's retry and later turns).

    >>> repair_prompt("<|coder|><|triton|>m<|kernel|>", "bad", "boom")
    '<|coder|><|triton|>m<|kernel|>bad<|error|>boom<|kernel|>'
    """
    if style == "compact":
        return f"{prompt}{code.strip()}<|error|>{error.strip()}<|kernel|>"
    return template("repair").format(prompt=prompt, code=code.strip(), error=error.strip())


def as_model_input(prompt: str, tokenizer: Any, style: Style = "compact") -> str:
    """The text a model really reads: a worded prompt goes through the tokenizer's chat template, if it has one."""
    if style == "compact" or not getattr(tokenizer, "chat_template", None):
        return prompt
    return tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
    )
