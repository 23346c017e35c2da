"""Tasks and cases are generated-code lookalikes: pytest must not import them."""

collect_ignore_glob = ["tasks/*", "cases/*"]
