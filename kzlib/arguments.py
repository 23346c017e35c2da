# ruff: noqa: SIM905 - tables of words
"""One way of passing an operator's arguments: by name after the obvious ones, none that equal their defaults.

`nn.Conv2d(n, m, kernel_size=(3, 3), stride=1)` and `nn.Conv2d(n, m, 3)` read alike. Nothing is executed.
"""

from __future__ import annotations

import ast
from typing import Any

_NEEDED = object()
Parameters = tuple[int, tuple[tuple[str, Any], ...]]  # how many stay unnamed, and all of them with their defaults


def _parameters(unnamed: int, text: str) -> Parameters:
    pairs = [item.partition("=") for item in text.split()]
    return unnamed, tuple((name, ast.literal_eval(value) if value else _NEEDED) for name, _, value in pairs)


_CONV = _parameters(3, "in_channels out_channels kernel_size stride=1 padding=0 dilation=1 groups=1 bias=True")
_TRANSPOSED = _parameters(
    3, "in_channels out_channels kernel_size stride=1 padding=0 output_padding=0 groups=1 bias=True dilation=1"
)
_MAX_POOL = _parameters(2, "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False")
_AVG_POOL = _parameters(2, "input kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True")
_BATCH_NORM = _parameters(1, "num_features eps=1e-05 momentum=0.1 affine=True track_running_stats=True")
_INSTANCE_NORM = _parameters(1, "num_features eps=1e-05 momentum=0.1 affine=False track_running_stats=False")
_REDUCED = _parameters(1, "input dim=None keepdim=False")
_DIM = _parameters(1, "input dim")

PARAMETERS: dict[str, Parameters] = {
    **{f"nn.Conv{n}d": _CONV for n in (1, 2, 3)},
    **{f"nn.ConvTranspose{n}d": _TRANSPOSED for n in (1, 2, 3)},
    **{f"F.max_pool{n}d": _MAX_POOL for n in (1, 2, 3)},
    **{f"F.avg_pool{n}d": _AVG_POOL for n in (1, 2, 3)},
    **{f"nn.BatchNorm{n}d": _BATCH_NORM for n in (1, 2, 3)},
    **{f"nn.InstanceNorm{n}d": _INSTANCE_NORM for n in (1, 2, 3)},
    **{f"torch.{name}": _REDUCED for name in "sum mean amax amin prod argmax argmin logsumexp max min any all".split()},
    **{f"torch.{name}": _DIM for name in ("cumsum", "cumprod", "logcumsumexp")},
    **{f"F.{name}": _DIM for name in ("softmax", "log_softmax", "softmin")},
    "F.glu": _parameters(1, "input dim=-1"),
    "nn.Linear": _parameters(2, "in_features out_features bias=True"),
    "nn.LayerNorm": _parameters(1, "normalized_shape eps=1e-05 elementwise_affine=True bias=True"),
    "nn.GroupNorm": _parameters(2, "num_groups num_channels eps=1e-05 affine=True"),
    "F.leaky_relu": _parameters(1, "input negative_slope=0.01"),
    "F.elu": _parameters(1, "input alpha=1.0"),
    "F.celu": _parameters(1, "input alpha=1.0"),
    "F.hardtanh": _parameters(1, "input min_val=-1.0 max_val=1.0"),
    "F.softplus": _parameters(1, "input beta=1 threshold=20"),
    "F.gelu": _parameters(1, "input approximate='none'"),
    "F.hardshrink": _parameters(1, "input lambd=0.5"),
    "F.softshrink": _parameters(1, "input lambd=0.5"),
    "torch.clamp": _parameters(1, "input min=None max=None"),
}
_SPATIAL = frozenset({"kernel_size", "stride", "padding", "dilation", "output_padding"})


class Arguments(ast.NodeTransformer):
    """
    >>> print(ast.unparse(Arguments().visit(ast.parse("nn.Conv2d(n, m, kernel_size=(3, 3), stride=1, padding=2)"))))
    nn.Conv2d(n, m, 3, padding=2)
    >>> print(ast.unparse(Arguments().visit(ast.parse("torch.sum(x, 1)"))))
    torch.sum(x, dim=1)
    """

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        known = PARAMETERS.get(ast.unparse(node.func)) if isinstance(node.func, ast.Attribute) else None
        if (
            known is None
            or any(isinstance(a, ast.Starred) for a in node.args)
            or any(k.arg is None for k in node.keywords)
        ):
            return node
        unnamed, parameters = known
        names = [name for name, _ in parameters]
        if len(node.args) > len(names) or {k.arg for k in node.keywords} - {*names, "inplace"}:
            return node
        given = dict(zip(names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords}
        plain = {name: _plain(name, given[name]) for name in names if name in given}
        first = [plain.pop(name) for name in names[:unnamed] if name in plain]
        rest = [
            ast.keyword(name, plain[name])
            for name, default in parameters
            if name in plain and not _equals(plain[name], default)
        ]
        return ast.Call(node.func, first, rest)


def _plain(name: str, node: ast.expr) -> ast.expr:
    """`(3, 3)` as `3` where one number stands for all directions."""
    if name in _SPATIAL and isinstance(node, ast.Tuple) and len({ast.unparse(item) for item in node.elts}) == 1:
        return node.elts[0]
    return node


def _equals(node: ast.expr, default: Any) -> bool:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return False
    return default is not _NEEDED and type(value) in (type(default), int) and value == default
