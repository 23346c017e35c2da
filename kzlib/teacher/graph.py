"""A task's forward pass as a list of operator calls with shapes.

The module is run once on meta tensors (no memory, no arithmetic) while a function mode writes down every Torch call it
makes: Python control flow, helper methods and nn modules need no special case. Operators that are only shorthand for
simpler ones (`composites.py`) are opened up while recording. What comes back is plain data, so a task that somebody
else wrote is traced in a child process and sent home as JSON.
"""

from __future__ import annotations

import math
import types
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from kzlib.teacher.composites import COMPOSITES, OPENED


class Unsupported(Exception):  # noqa: N818
    """The teacher has no kernel for this: the message says for what."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor in the graph."""

    id: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A float the module holds, with the host expression that reads it."""

    text: str
    value: float


@dataclass(frozen=True, slots=True)
class Info:
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """One call; `outs` are the ids of the tensors it made."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs and weights by host text, calls in order, outputs as (possibly nested) Refs."""

    inputs: dict[int, str]
    params: dict[int, str]
    nodes: tuple[Node, ...]
    infos: dict[int, Info]
    output: Any
    signature: tuple[str, ...]
    training: bool = True
    mutated: tuple[int, ...] = field(default=())


class HeldFloat(float):
    """A float that remembers which attribute of the module it came from."""

    text: str

    def __new__(cls, value: float, text: str) -> HeldFloat:
        self = super().__new__(cls, value)
        self.text = text
        return self


def operator_name(func: Any) -> str:
    """`torch.Tensor.add`, `F.relu`, `_max_pool2d`, `add_` ... by one plain name."""
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        return f"get_{func.__self__.__name__}"
    if name.startswith("__"):
        return name
    return name.strip("_") if not name.endswith("__") else name


ALIASES = {
    "special_expit": "sigmoid",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "absolute": "abs",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "moveaxis": "movedim",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arctanh": "atanh",
    "arccosh": "acosh",
    "special_erf": "erf",
    "special_erfc": "erfc",
    "special_log1p": "log1p",
    "special_expm1": "expm1",
    "special_exp2": "exp2",
    "special_logsumexp": "logsumexp",
    "special_softmax": "softmax",
    "special_log_softmax": "log_softmax",
    "special_logit": "logit",
    "special_round": "round",
    "special_sinc": "sinc",
    "special_xlogy": "xlogy",
    "rdiv": "__rdiv__",
    "__rtruediv__": "__rdiv__",
    "__truediv__": "div",
    "__idiv__": "div",
    "ger": "outer",
    "fix": "trunc",
    "inner_product": "inner",
    "special_xlog1py": "xlog1py",
    "linalg_matmul": "matmul",
    "native_layer_norm": "layer_norm",
    "max_pool1d_with_indices": "max_pool1d",
    "max_pool2d_with_indices": "max_pool2d",
    "max_pool3d_with_indices": "max_pool3d",
    "upsample": "interpolate",
    "hsplit": "hsplit",
    "clamp_min": "clamp_min",
    "log_sigmoid": "logsigmoid",
    "special_lgamma": "lgamma",
    "special_gammaln": "lgamma",
    "special_digamma": "digamma",
    "special_psi": "digamma",
    "row_stack": "vstack",
    "special_entr": "entr",
    "special_multigammaln": "mvlgamma",
    "special_ndtr": "ndtr",
    "special_i0": "i0",
}


class Recorder(TorchFunctionMode):
    """Writes down Torch calls; tensors are told apart by identity and kept alive so that identities stay unique."""

    def __init__(self, texts: dict[int, str]):
        super().__init__()
        self.texts = texts
        self.ids: dict[int, int] = {}
        self.alive: list[torch.Tensor] = []
        self.infos: dict[int, Info] = {}
        self.inputs: dict[int, str] = {}
        self.params: dict[int, str] = {}
        self.nodes: list[Node] = []
        self.mutated: list[int] = []

    def register(self, tensor: torch.Tensor) -> int:
        number = len(self.infos)
        self.ids[id(tensor)] = number
        self.alive.append(tensor)
        shape = tuple(int(s) for s in tensor.shape)
        self.infos[number] = Info(shape, str(tensor.dtype).removeprefix("torch."), tensor.is_contiguous())
        return number

    def encode(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.ids:
                if id(value) not in self.texts:
                    raise Unsupported("a tensor that is neither an input, a weight nor made in forward")
                self.params[self.register(value)] = self.texts[id(value)]
            return Ref(self.ids[id(value)])
        if isinstance(value, HeldFloat):
            return Scalar(value.text, float(value))
        if isinstance(value, (tuple, list)):
            return tuple(self.encode(v) for v in value)
        if isinstance(value, slice):
            return slice(*(None if v is None else int(v) for v in (value.start, value.stop, value.step)))
        if isinstance(value, (torch.dtype, torch.device)):
            return str(value)
        return value

    def __torch_function__(self, func: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        raw = getattr(func, "__name__", "")
        name = operator_name(func)
        name = ALIASES.get(name, name)
        if name in COMPOSITES:
            result = self.descend(COMPOSITES[name], args, kwargs)
            if result is not NotImplemented:
                if raw.endswith("_") and not raw.endswith("__"):
                    self.alive.append(args[0])
                    self.ids[id(args[0])] = self.ids[id(result)]
                    return args[0]
                return result
        if name in OPENED and isinstance(func, types.FunctionType):
            return self.descend(_opened(func), args, kwargs)
        encoded = None
        if any(isinstance(a, torch.Tensor) for a in _flat((args, tuple(kwargs.values())))):
            encoded = self.encode(tuple(args)), {k: self.encode(v) for k, v in kwargs.items()}
        result = func(*args, **kwargs)
        outs = [r for r in _flat(result) if isinstance(r, torch.Tensor)]
        if not outs:
            return result
        if encoded is None:
            encoded = self.encode(tuple(args)), {k: self.encode(v) for k, v in kwargs.items()}
        if len(outs) == 1 and id(outs[0]) in self.ids and not name_changes(raw):
            return result  # the same tensor came back: contiguous(), to() of the same type
        ids = tuple(self.register(t) for t in outs)
        self.nodes.append(Node(name, encoded[0], {k: v for k, v in encoded[1].items() if v is not None}, ids))
        return result

    def descend(self, function: Any, args: Any, kwargs: Any) -> Any:
        with self:
            return function(*args, **kwargs)


def name_changes(raw: str) -> bool:
    """In-place spellings end in one underscore, or are the augmented operators."""
    return (raw.endswith("_") and not raw.endswith("__")) or raw.startswith("__i")


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in _flat(v)]
    return [value]


def _opened(func: types.FunctionType) -> Any:
    """The function with its own dispatch check switched off, so that the calls inside it are recorded."""
    off = {n: (lambda *_: False) for n in func.__globals__ if n.startswith("has_torch_function")}
    copy = types.FunctionType(
        func.__code__, {**func.__globals__, **off}, func.__name__, func.__defaults__, func.__closure__
    )
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy


def attribute_text(path: str) -> str:
    """
    >>> attribute_text("net.0.weight")
    'self.net[0].weight'
    """
    out = "self"
    for part in path.split("."):
        out += f"[{part}]" if part.isdigit() else f".{part}"
    return out


def _held(model: nn.Module) -> dict[int, str]:
    """Names of the module's tensors; its own floats are replaced by ones that remember their name."""
    texts: dict[int, str] = {}
    for path, module in model.named_modules():
        prefix = path + "." if path else ""
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                texts[id(value)] = attribute_text(prefix + name)
            elif type(value) is float and math.isfinite(value) and not type(module).__module__.startswith("torch."):
                object.__setattr__(module, name, HeldFloat(value, attribute_text(prefix + name)))
    for path, tensor in [*model.named_parameters(), *model.named_buffers()]:
        texts[id(tensor)] = attribute_text(path)
    return texts


def trace_namespace(space: dict[str, Any], device: str = "meta", signature: tuple[str, ...] | None = None) -> Graph:
    """Trace the `Model` of an executed task module."""
    with torch.device(device), torch.no_grad():
        init = space["get_init_inputs"]() if "get_init_inputs" in space else []
        model = space["Model"](**init) if isinstance(init, dict) else space["Model"](*init)
        inputs = list(space["get_inputs"]())
        code = type(model).forward.__code__
        if code.co_flags & 0x0C:
            raise Unsupported("forward takes *args or **kwargs")
        names = code.co_varnames[1 : code.co_argcount]
        recorder = Recorder(_held(model))
        given: list[Any] = []
        for name, made in zip(names, inputs, strict=False):
            value = HeldFloat(made, name) if type(made) is float else made
            if isinstance(value, torch.Tensor):
                recorder.inputs[recorder.register(value)] = name
            elif not isinstance(value, (int, float, bool, str, type(None))):
                raise Unsupported(f"an input of type {type(value).__name__}")
            given.append(value)
        if not recorder.inputs:
            raise Unsupported("no tensor input")
        with recorder:
            result = model(*given)
        output = recorder.encode(result)
        stateful = _stateful(model)
    if stateful:
        recorder.mutated.append(1)
    return Graph(recorder.inputs, recorder.params, tuple(recorder.nodes), recorder.infos, output, tuple(names),
                 model.training, tuple(recorder.mutated))  # fmt: skip


def _stateful(model: nn.Module) -> bool:
    return any(isinstance(m, nn.modules.batchnorm._BatchNorm) and m.track_running_stats for m in model.modules())


def execute(source: str) -> dict[str, Any]:
    """Run a task's source in a fresh namespace. Only for sources of our own grammar; see `tracer`."""
    space: dict[str, Any] = {"__name__": "kz_task"}
    exec(compile(source, "<task>", "exec"), space)  # noqa: S102
    return space


def trace(source: str) -> Graph:
    """Trace a task written by our own grammar, in this process."""
    return trace_namespace(execute(source))


def graph_to_json(graph: Graph) -> dict[str, Any]:
    return {
        "inputs": list(graph.inputs.items()),
        "params": list(graph.params.items()),
        "nodes": [[n.op, _pack(n.args), {k: _pack(v) for k, v in n.kwargs.items()}, list(n.outs)] for n in graph.nodes],
        "infos": [[i, list(x.shape), x.dtype, x.contiguous] for i, x in graph.infos.items()],
        "output": _pack(graph.output),
        "signature": list(graph.signature),
        "training": graph.training,
        "mutated": list(graph.mutated),
    }


def graph_from_json(row: dict[str, Any]) -> Graph:
    nodes = tuple(
        Node(op, _unpack(a), {k: _unpack(v) for k, v in kw.items()}, tuple(outs)) for op, a, kw, outs in row["nodes"]
    )
    return Graph(
        {int(i): str(t) for i, t in row["inputs"]}, {int(i): str(t) for i, t in row["params"]}, nodes,
        {int(i): Info(tuple(s), d, bool(c)) for i, s, d, c in row["infos"]}, _unpack(row["output"]),
        tuple(row["signature"]), bool(row["training"]), tuple(row["mutated"]),
    )  # fmt: skip


def _pack(v: Any) -> Any:
    if isinstance(v, Ref):
        return {"ref": v.id}
    if isinstance(v, Scalar):
        return {"scalar": [v.text, v.value]}
    if isinstance(v, tuple):
        return {"tuple": [_pack(x) for x in v]}
    if isinstance(v, dict):
        return {"dict": [[k, _pack(x)] for k, x in v.items()]}
    if isinstance(v, slice):
        return {"slice": [v.start, v.stop, v.step]}
    if v is Ellipsis:
        return {"ellipsis": True}
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    raise Unsupported(f"an argument of type {type(v).__name__}")


def _unpack(v: Any) -> Any:
    if not isinstance(v, dict):
        return v
    ((kind, x),) = v.items()
    if kind == "ref":
        return Ref(int(x))
    if kind == "scalar":
        return Scalar(str(x[0]), float(x[1]))
    if kind == "tuple":
        return tuple(_unpack(e) for e in x)
    if kind == "dict":
        return {k: _unpack(e) for k, e in x}
    return slice(*x) if kind == "slice" else Ellipsis
