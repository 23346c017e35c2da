"""One name for modules that compute alike: near copies, whatever their names, constants and shapes."""

from __future__ import annotations

import ast

from kzlib.dataflow import graph_of
from kzlib.records import content_id


def identity(source: str) -> str:
    """Sixteen hex digits, the same for near copies (P32): comments, names, numbers and line order do not count.

    What is not a task module is identified by its text without comments, or by the text itself.

    >>> head = "import torch\\nclass Model(torch.nn.Module):\\n    def forward(self, x):\\n        return "
    >>> identity(head + "torch.sum(x, 1) * 1024") == identity(head + "1023 * x.sum(dim=2)  # other")
    True
    >>> identity(head + "torch.sum(x, 1)") == identity(head + "torch.amax(x, 1)")
    False
    """
    try:
        return content_id("identity", graph_of(source).digest())
    except (ValueError, SyntaxError, RecursionError):
        pass
    try:
        return content_id("syntax", ast.dump(ast.parse(source)))
    except (ValueError, SyntaxError, RecursionError):
        return content_id("text", source)
