"""What local names mean in a file: import aliases resolved to full dotted paths."""

from __future__ import annotations

import ast

STAR_MODULES = ("torch", "torch.nn", "torch.nn.functional", "torch.nn.modules")
# What the names of a file that uses torch mean when an odd file forgets to import them.
USUAL = {"torch": "torch"}


class Imports:
    """Import table of one file; relative imports keep their leading dots.

    >>> table = Imports(ast.parse("import torch.nn.functional as F; from torch import nn"))
    >>> table.dotted(ast.parse("F.relu", mode="eval").body), table.dotted(ast.parse("nn.Linear", mode="eval").body)
    ('torch.nn.functional.relu', 'torch.nn.Linear')
    """

    def __init__(self, tree: ast.AST) -> None:
        self.names: dict[str, str] = dict(USUAL)
        self.stars: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self.names[alias.asname] = alias.name
                    else:
                        root = alias.name.split(".")[0]
                        self.names[root] = root
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(base)
                    else:
                        joint = "" if base.endswith(".") or not base else "."
                        self.names[alias.asname or alias.name] = f"{base}{joint}{alias.name}"

    def dotted(self, node: ast.AST) -> str | None:
        """The full dotted path of a Name or a chain of attributes on an imported name, else None."""
        tail: list[str] = []
        while isinstance(node, ast.Attribute):
            tail.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return ".".join([self.names[node.id], *reversed(tail)])
