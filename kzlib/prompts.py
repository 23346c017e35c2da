"""What the two roles are asked: a compact form for from-scratch models, a worded form for instruct models.

The worded form lives in `prompt_data/*.md`. Source: DESIGN section 9 (prompts are data files); issue 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from kzlib.normal_form import normal_form
from kzlib.records import Backend

Style = Literal["compact", "instruct"]

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


def proposer_prompt(apis: Sequence[str], style: Style = "compact") -> str:
    """Ask the Proposer for a module that uses exactly these APIs, in the order given.

    >>> proposer_prompt(("torch.relu", "torch.nn.Linear"))
    '<|proposer|>torch.relu, torch.nn.Linear<|module|>'
    """
    if style == "compact":
        return f"<|proposer|>{', '.join(apis)}<|module|>"
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
