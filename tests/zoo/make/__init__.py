"""Honest zoo cases that differ in op, dtype, shape and style, written from tables.

`python -m tests.zoo.make` writes the files anew; a test compares them with what is committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n\n\n"


@dataclass(frozen=True)
class Made:
    """One generated case and the task that it answers."""

    task: str
    task_source: str
    case: str
    ids: str
    body: str
    needs: str = "cpu"
    backend: str = "triton"

    def files(self) -> dict[str, str]:
        """Path under tests/zoo -> text."""
        header = (
            f"# task: {self.task}\n# expect: pass\n# id: {self.ids}\n# source: tests/zoo/make\n# needs: {self.needs}\n"
        )
        return {
            f"tasks/{self.task}.py": self.task_source,
            f"cases/honest/{self.backend}/{self.case}.py": header + HEAD + self.body.strip("\n") + "\n",
        }


def task(forward: str, inputs: str, args: str = "x", init: str = "") -> str:
    """A task's source in KernelBench form; `forward` is an expression, `init` statements of `__init__`."""
    body = f"    def __init__(self):\n        super().__init__()\n{_indent(init)}\n" if init else ""
    steps = forward.strip().split("\n")
    lines = "".join(f"        {line}\n" for line in steps[:-1])
    last = steps[-1] if steps[-1].startswith("return ") else f"return {steps[-1]}"
    source = (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n"
        f"{body}    def forward(self, {args}):\n{lines}        {last}\n\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n"
    )
    return source.replace("'", '"')


def _indent(text: str) -> str:
    return "".join(f"        {line}\n" for line in text.strip().split("\n"))


def fill(template: str, **values: str) -> str:
    """Replace each @NAME@ of a template; an unused or unknown name is an error."""
    for name, value in values.items():
        if f"@{name}@" not in template:
            raise ValueError(f"the template has no @{name}@")
        template = template.replace(f"@{name}@", value)
    if "@@" in template.replace("@triton", ""):
        raise ValueError("a name of the template is not filled")
    return template


def everything() -> Iterator[Made]:
    """All generated cases."""
    from tests.zoo.make import elementwise, indexing, losses, matmul, norms, reductions, spatial

    for module in (elementwise, reductions, norms, matmul, spatial, losses, indexing):
        yield from module.cases()
