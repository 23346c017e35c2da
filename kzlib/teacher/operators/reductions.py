"""Reductions along dimensions, whole-tensor distances, scans and differences."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import last, reduced, short


def reduction(d: Draft, api: str) -> bool:
    name = short(api)
    if d.rank < 2:
        return False
    keep = d.rng.random() < 0.4
    dim: int | tuple[int, ...] = d.pick(1, -1, d.rng.randrange(d.rank)) if d.rank > 2 else d.pick(1, 1, -1, 0)
    if d.rank == 4 and name in ("sum", "mean", "amax", "amin", "var", "std") and d.rng.random() < 0.4:
        dim = (2, 3)
    axes = (dim,) if isinstance(dim, int) else dim
    if all(d.shape[a] == 1 for a in axes):
        return False  # over one element it would only copy
    if name in ("var", "std", "var_mean", "std_mean") and any(d.shape[a] < 3 for a in axes):
        return False
    tail = f"dim={dim}{', keepdim=True' if keep else ''}"
    x = d.value
    if name in ("max", "min", "median", "mode"):
        if name == "mode":
            return False
        d.step(f"{api}({x}, {tail}).values")
    elif name == "kthvalue":
        d.step(f"torch.kthvalue({x}, 2, {tail}).values")
    elif name in ("argmax", "argmin"):
        if not d.exact:
            return False
        d.step(f"{api}({x}, {tail})")
        d.done = True
    elif name in ("any", "all"):
        if not d.exact:
            return False
        d.step(f"{api}({x} > {'1.0' if name == 'any' else '-1.0'}, {tail}).float()")
    elif name == "count_nonzero":
        if not d.exact:
            return False
        d.step(f"torch.count_nonzero(F.relu({x}), dim={dim}).float()")
        d.note("torch.nn.functional.relu", "activation")
        keep = False
    elif name in ("var_mean", "std_mean"):
        d.step(f"sum({api}({x}, {tail}))")
    elif name == "prod":
        if any(d.shape[a] > 12 for a in axes):
            return False  # long products leave the range of a float
        d.step(f"torch.prod({x}, {tail})")
    elif name == "norm":
        if api == "torch.linalg.norm":
            d.step(f"torch.linalg.norm({x}, {tail})")
        else:
            d.step(f"torch.norm({x}, p={d.pick(1, 2, 2)}, {tail})")
    elif name == "vector_norm":
        d.step(f"torch.linalg.vector_norm({x}, ord={d.pick(1, 2, 3)}, {tail})")
    elif name in ("var", "std") and d.rng.random() < 0.35:
        d.step(f"{api}({x}, {tail}, {d.pick('unbiased=False', 'correction=0')})")
    elif name in ("sum", "mean", "amax", "amin", "var", "std", "nanmean"):
        d.step(f"{api}({x}, {tail})")
    else:
        return False
    reduced(d, dim, keep)
    d.range = "nonneg" if "norm" in name else "any" if name not in ("mean", "amax", "amin") else d.range
    return bool(d.shape) or d.rank >= 0


def whole(d: Draft, api: str) -> bool:
    """Everything to one number, or pairs of rows to one."""
    name = short(api)
    x = d.value
    if name == "trace" and d.rank == 2:
        d.step(f"torch.trace({x})")
        d.shape = []
    elif name == "dist":
        d.step(f"torch.dist({x}, {d.input(d.shape)})")
        d.shape = []
    elif name in ("cosine_similarity", "CosineSimilarity") and d.rank == 2:
        y = d.input(d.shape)
        if name == "CosineSimilarity":
            d.step(f"self.{d.module('similarity', 'nn.CosineSimilarity(dim=1)')}({x}, {y})")
        else:
            d.step(f"F.cosine_similarity({x}, {y}, dim=1)")
        d.shape = [d.shape[0]]
    elif name in ("pairwise_distance", "PairwiseDistance") and d.rank == 2:
        y = d.input(d.shape)
        if name == "PairwiseDistance":
            d.step(f"self.{d.module('distance', 'nn.PairwiseDistance()')}({x}, {y})")
        else:
            d.step(f"F.pairwise_distance({x}, {y})")
        d.shape = [d.shape[0]]
    elif name == "cdist" and d.rank == 2:
        n = d.pick(6, 9, 17)
        d.step(f"torch.cdist({x}, {d.input([n, d.shape[1]], names=('rows', last(d)))})")
        d.shape = [d.shape[0], n]
    else:
        return False
    return True


def scan(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3):
        return False
    dim = d.pick(1, -1)
    text = f"{api}({d.value}, dim={dim})"
    if short(api) in ("cummax",):
        text += ".values"
    if short(api) == "cumprod" and (not d.exact or d.shape[dim] > 12):
        return False
    d.step(text)
    d.range = "any"
    return True


def diff(d: Draft, api: str) -> bool:
    if d.rank < 2 or d.shape[-1] < 3:
        return False
    d.step(f"torch.diff({d.value}, dim=-1)")
    d.shape[-1] -= 1
    return True
