"""Host-side text of sizes: `x.shape[0] * 4`, `(x.shape[2] - 3) // 2 + 1`."""

from __future__ import annotations

from kzlib.teacher.expr import Expr
from kzlib.teacher.scalars import INFIX


def associative(op: str, right: Expr) -> bool:
    """May `a op right` be written without brackets round `right`? Integer sums and products alone, leading factor
    too."""
    if op not in ("add", "mul") or right.op != op:
        return False
    lead = right
    while lead.op == op:
        lead = lead.args[0]
    return lead.op not in ("idiv", "mod", "div")


def size_text(e: Expr, need: int = 0) -> str:
    """
    >>> from kzlib.teacher.expr import dim
    >>> size_text((dim("x.shape[2]", 9) - 3) // 2 + 1)
    '(x.shape[2] - 3) // 2 + 1'
    """
    if e.op == "const":
        return str(e.attr)
    if e.op == "dim":
        return str(e.attr.text)
    if e.op == "neg":
        return f"-{size_text(e.args[0], 9)}"
    if e.op in ("max", "min"):
        return f"{e.op}({size_text(e.args[0])}, {size_text(e.args[1])})"
    sign, _, level = INFIX[e.op]
    right = e.args[1]
    loose = associative(e.op, right)
    text = f"{size_text(e.args[0], level)} {sign} {size_text(right, level if loose else level + 1)}"
    return f"({text})" if level < need else text
