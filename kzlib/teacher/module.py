"""Put kernels into a candidate: imports, kernels, `class ModelNew` whose `__init__` mirrors the task's."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Callable
from typing import Any

from kzlib.spelling import STATELESS
from kzlib.teacher.expr import Expr, const
from kzlib.teacher.graph import Ref, Unsupported
from kzlib.teacher.host import size_text
from kzlib.teacher.kernel import Kernel, Printed
from kzlib.teacher.plan import Plan, Step

TORCH_TYPES = {"f32": "torch.float32", "f16": "torch.float16", "bf16": "torch.bfloat16", "i64": "torch.int64",
               "i32": "torch.int32", "bool": "torch.bool"}  # fmt: skip
TRITON_IMPORTS = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"


def assemble(source: str, plan: Plan, printed: list[Printed], header: str, preamble: str = "") -> str:
    """The candidate's text. `printed` is in the order of `plan.steps`; `header` holds imports."""
    parsed = Parsed(source)
    helpers = dict.fromkeys(h for p in printed for h in p.helpers)
    parts = [header + parsed.extra_imports(header)]
    if parsed.needed:
        parts.append("\n".join(parsed.needed) + "\n")
    parts += list(helpers)
    if preamble:
        parts.append(preamble)
    else:
        parts += [p.text for p in printed]
    parts.append(parsed.class_text(forward_body(plan, printed)))
    return "\n\n".join(p.rstrip("\n") + "\n" for p in parts)


def forward_body(plan: Plan, printed: list[Printed]) -> list[str]:
    lines = []
    graph = plan.graph
    for number, text in {**graph.inputs, **graph.params}.items():
        if not graph.infos[number].contiguous:
            if not text.isidentifier():
                raise Unsupported("a weight that is not contiguous")
            lines.append(f"{text} = {text}.contiguous()")
    device = next(iter(graph.inputs.values()))
    for step, kernel in zip(plan.steps, printed, strict=True):
        lines += [*allocation(plan, step, device), *kernel.setup, kernel.launch]
    lines += [*plan.host_lines, f"return {returned(plan, graph.output)}"]
    return named_out(lines, plan)


def named_out(lines: list[str], plan: Plan) -> list[str]:
    """Call the last kernel's output `out`."""
    last = plan.steps[-1].kernel.out.text
    return lines if "out" in plan.used_names else [re.sub(rf"\b{last}\b", "out", line) for line in lines]


def allocation(plan: Plan, step: Step, device: str) -> list[str]:
    out = step.kernel.out
    if step.like:
        return [f"{out.text} = torch.empty_like({step.like})"]
    shape = plan.alloc_shapes[out.text]
    sizes = ", ".join(size_text(s) for s in shape)
    sizes = f"({sizes},)" if len(shape) == 1 else f"({sizes})"
    dtype = "" if out.dtype == "f32" else f", dtype={TORCH_TYPES[out.dtype]}"
    return [f"{out.text} = torch.empty({sizes}, device={device}.device{dtype})"]


def returned(plan: Plan, output: Any) -> str:
    if isinstance(output, Ref):
        lazy = plan.values[output.id]
        assert lazy.buffer is not None
        made = next((s for s in plan.steps if s.kernel.out.text == lazy.buffer.text), None)
        base = plan.alloc_shapes[lazy.buffer.text] if made else None
        own = plan.graph.infos[output.id].shape
        if base is not None and tuple(_value(s) for s in base) == own:
            return lazy.buffer.text
        if base is None:
            root = next(v for v in plan.values.values() if v.buffer is not None and v.buffer.text == lazy.buffer.text)
            if root.sizes == own:
                return lazy.buffer.text
        return f"{lazy.buffer.text}.view({', '.join(size_text(s) for s in lazy.shape)})"
    if isinstance(output, tuple):
        return ", ".join(returned(plan, o) for o in output) + ("," if len(output) == 1 else "")
    raise Unsupported("an output that is not a tensor or a tuple of tensors")


def _value(s: Expr) -> int:
    from kzlib.teacher.expr import value_of

    return value_of(s)


class Parsed:
    """What the candidate takes over from the task's text: `__init__`, forward's signature, names `__init__` needs."""

    def __init__(self, source: str):
        self.source = source
        tree = ast.parse(source)
        classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        if "Model" not in classes:
            raise Unsupported("the task has no class Model at the top level")
        self.model = classes["Model"]
        methods = {n.name: n for n in self.model.body if isinstance(n, ast.FunctionDef)}
        self.init = methods.get("__init__")
        self.forward = methods.get("forward")
        if self.forward is None:
            raise Unsupported("the task's Model inherits its forward")
        self.base = ast.unparse(self.model.bases[0]) if self.model.bases else "nn.Module"
        self.attributes = [n for n in self.model.body if isinstance(n, (ast.Assign, ast.AnnAssign))]
        self.methods = methods
        self.imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        self.top = {name: n for n in tree.body for name in _defines(n)}
        self.needed = self._needed()

    def _needed(self) -> list[str]:
        """Top-level definitions and helper methods that `__init__` reaches, in source order."""
        wanted: dict[str, None] = {}
        stack: list[ast.AST] = [*([self.init] if self.init else []), *self.attributes]
        stack += [self.methods[name] for name in self.helper_methods()]
        while stack:
            for name in _names(stack.pop()):
                if name in self.top and name not in wanted and name != "Model":
                    wanted[name] = None
                    stack.append(self.top[name])
        nodes = sorted({id(self.top[n]): self.top[n] for n in wanted}.values(), key=lambda n: n.lineno)
        return [ast.get_source_segment(self.source, n) or ast.unparse(n) for n in nodes]

    def helper_methods(self) -> list[str]:
        """Methods that `__init__` calls on self."""
        found: list[str] = []
        stack: list[ast.AST] = [self.init] if self.init else []
        while stack:
            for node in ast.walk(stack.pop()):
                if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "self":
                    continue
                if node.attr in self.methods and node.attr not in (*found, "forward", "__init__"):
                    found.append(node.attr)
                    stack.append(self.methods[node.attr])
        return found

    def extra_imports(self, header: str) -> str:
        """Imports of the task that `__init__` still needs and the header does not have."""
        used = {n for t in [self.init, *self.attributes] if t is not None for n in _names(t)}
        used |= {n for text in self.needed for n in _names(ast.parse(text))}
        out = ""
        for node in self.imports:
            text = ast.unparse(node)
            names = {(a.asname or a.name).split(".")[0] for a in node.names}
            if names & used and text not in header.splitlines():
                out += text + "\n"
        return out

    def class_text(self, body: list[str]) -> str:
        lines = ["class ModelNew(nn.Module):"]
        lines += [f"    {ast.unparse(attribute)}" for attribute in self.attributes]
        for node in [self.init, *(self.methods[n] for n in self.helper_methods())]:
            if node is not None:
                lines += self.method_text(node, "\n".join(body))
                lines.append("")
        args = ast.unparse(self.forward.args) if self.forward is not None else "self, x"
        lines.append(f"    def forward({args}):")
        lines += [f"        {line}" for line in body]
        return "\n".join(lines) + "\n"

    def method_text(self, node: ast.FunctionDef, forward: str) -> list[str]:
        """The method without comments, docstring, or layers without weights that the new forward does not call."""
        node = copy.deepcopy(node)
        node.body = [line for line in node.body if not _idle(line, node, forward)] or [ast.Pass()]
        if (
            node.body
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
            and len(node.body) > 1
        ):
            node.body = node.body[1:]
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super":
                call.args = []
        return ["    " + line for line in ast.unparse(node).splitlines()]


def _idle(line: ast.stmt, method: ast.FunctionDef, forward: str) -> bool:
    """`self.name = nn.SiLU()`, named nowhere else."""
    if not (isinstance(line, ast.Assign) and isinstance(line.value, ast.Call) and len(line.targets) == 1):
        return False
    target = ast.unparse(line.targets[0])
    called = ast.unparse(line.value.func).rpartition(".")[2]
    named = sum(ast.unparse(n) == target for n in ast.walk(method) if isinstance(n, ast.Attribute))
    return called in STATELESS and target.startswith("self.") and named == 1 and f"{target}(" not in forward


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _names(node: ast.AST) -> set[str]:
    """Global names that a definition reads."""
    own = {a.arg for f in ast.walk(node) if isinstance(f, ast.FunctionDef) for a in (*f.args.args, *f.args.kwonlyargs)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - set(dir(builtins)) - own


Printer = Callable[[Kernel], Printed]
__all__ = ["TRITON_IMPORTS", "assemble", "const"]
