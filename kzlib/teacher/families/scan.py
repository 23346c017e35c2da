"""Running sums, products and extremes along an axis."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr
from kzlib.teacher.families.args import arguments
from kzlib.teacher.families.softmax import row_space
from kzlib.teacher.graph import Node, Unsupported
from kzlib.teacher.plan import Lazy, Plan


def scan(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Any:
        source, dim = arguments(node, "input", "dim")
        lazy = plan.map(source)
        if lazy.dtype in ("i32", "i64", "bool"):
            raise Unsupported("a scan over integers")
        axis = dim % len(lazy.shape)
        out = Lazy(
            lazy.shape,
            lazy.dtype,
            lambda c: Expr("scan", (lazy.value(c),), (kind, axis)),
            "scan",
            row_space(lazy, (axis,)),
            ops=lazy.ops,
        )
        if len(node.outs) == 1:
            return out
        return out, Indices(lazy, out)

    return lower


class Indices(Lazy):
    """Positions of running extremes: no kernel for them."""

    def __init__(self, source: Lazy, values: Lazy):
        super().__init__(source.shape, "i64", self._no, "map")

    @staticmethod
    def _no(_: Any) -> Expr:
        raise Unsupported("positions of running extremes")


TABLE: dict[str, Any] = {
    "cumsum": scan("add"),
    "cumprod": scan("mul"),
    "cummax": scan("max"),
    "cummin": scan("min"),
    "logcumsumexp": scan("logadd"),
}
__all__ = ["TABLE", "e"]
