"""What the writers of operators share: sizes, spelling, names of dimensions."""

from __future__ import annotations

from collections.abc import Callable

from kzlib.teacher.draft import Draft

Write = Callable[[Draft, str], bool]  # adds the operator to the draft; False where it does not fit
CHANNELS = (3, 4, 5, 6, 8)
WIDTHS = (7, 12, 16, 20, 33)


def short(api: str) -> str:
    return api.rsplit(".", 1)[1]


def last(d: Draft) -> str:
    names = {2: "features", 3: "features", 4: "width", 5: "width"}
    return (
        "out_features"
        if "out_features" in d.constants and d.constants["out_features"] == d.shape[-1]
        else names.get(d.rank, "size")
    )


def channels(d: Draft) -> str:
    return "out_channels" if d.constants.get("out_channels") == d.shape[1] else "channels"


def reduced(d: Draft, dim: int | tuple[int, ...], keep: bool) -> None:
    axes = {(a % d.rank) for a in ((dim,) if isinstance(dim, int) else dim)}
    d.shape = [1 if k in axes else s for k, s in enumerate(d.shape) if keep or k not in axes]
