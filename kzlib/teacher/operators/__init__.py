"""How the grammar writes structured operators: one module a kind, functions `(draft, api) -> bool`."""
