"""The 442 candidate Torch APIs, and how every spelling folds to one of their names.

Source: issue 5; the paper samples API sets from 442 Torch APIs. Its own list is not public: ours has the same size.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Kind = Literal["api", "helper", "unknown", "none"]
TIERS = {
    "O": "observed in real classes",
    "B": "public suite",
    "T": "twin of a seen name",
    "S": "sibling of a seen name",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """In how many distinct classes (or projects, or KernelBench tasks) an API occurs."""

    packages: int
    paritybench: int
    projects: int
    kernelbench: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Api:
    """One candidate API: canonical name, operator class, concept (module and function twins share it), tier, counts."""

    name: str
    operator_class: str
    concept: str
    tier: str
    counts: Counts


@cache
def shipped() -> dict[str, Any]:
    """The statistics file as plain JSON types."""
    return json.loads(files("kzlib.apis").joinpath("api_stats.json").read_text(encoding="utf-8"))


@cache
def _names() -> dict[str, Any]:
    return json.loads(files("kzlib.apis").joinpath("names.json").read_text(encoding="utf-8"))


@cache
def catalogue() -> tuple[Api, ...]:
    """The 442 APIs, most used first.

    >>> len(catalogue()), catalogue()[0].name, catalogue()[0].operator_class
    (442, 'torch.nn.Linear', 'matmul')
    """
    return tuple(
        Api(name, operator_class, concept, tier, Counts(packages, parity, projects, (l1, l2, l3)))
        for name, operator_class, concept, tier, packages, parity, projects, l1, l2, l3 in shipped()["apis"]
    )


@cache
def api_index() -> dict[str, int]:
    """Canonical name -> its place in the catalogue."""
    return {api.name: i for i, api in enumerate(catalogue())}


def find(name: str) -> Api:
    """The catalogue entry of a canonical name; a name outside it is an error that tells the nearest one."""
    place = api_index().get(name)
    if place is None:
        import difflib

        near = difflib.get_close_matches(name, list(api_index()), n=1, cutoff=0.0)[0]
        raise ValueError(
            f"{name!r} is not one of the {len(catalogue())} candidate APIs: type {near!r} or another listed name"
        )
    return catalogue()[place]


def in_classes(operator_classes: Collection[str], most_used: int = 0) -> tuple[str, ...]:
    """Names of these operator classes (none: of all), most used first; with `most_used`, only so many of them.

    An unknown class is an error that lists the known ones.

    >>> len(in_classes(["softmax"])), in_classes(["softmax"])[0]
    (8, 'torch.nn.functional.softmax')
    >>> in_classes([], most_used=3)
    ('torch.nn.Linear', 'torch.Tensor.view', 'torch.cat')
    """
    known = {api.operator_class for api in catalogue()}
    unknown = sorted(set(operator_classes) - known)
    if unknown:
        raise ValueError(f"no operator class {unknown[0]!r}: type one of {', '.join(sorted(known))}")
    chosen = operator_classes or known
    return tuple(api.name for api in catalogue() if api.operator_class in chosen)[: most_used or None]


@cache
def eligible() -> frozenset[str]:
    """Names the miner calls a class "used" for: the catalogue and the 63 eligible names never seen in a class."""
    return frozenset(api_index()) | {f"torch.{name}" for name in shipped()["eligible_not_in_catalogue"]}


@cache
def helpers() -> frozenset[str]:
    """Names a task may use without being asked for them: creation, copies, casts, sizes, containers, types."""
    return frozenset(_names()["helpers"])


@cache
def tensor_methods() -> frozenset[str]:
    """Method names of `torch.Tensor`, in-place forms folded to the plain form."""
    return frozenset(_names()["tensor_methods"])


def canonical(dotted: str) -> tuple[Kind, str]:
    """What a full dotted spelling means: "api", "helper", "unknown", or "none" outside torch; and the name.

    Private module paths, aliases, in-place forms and Tensor methods fold to one name; modules and functions stay apart.

    >>> canonical("torch.nn.modules.activation.ReLU")
    ('api', 'torch.nn.ReLU')
    >>> canonical("torch.Tensor.add_"), canonical("torch.relu"), canonical("torch.svd")
    (('api', 'torch.add'), ('api', 'torch.nn.functional.relu'), ('unknown', 'torch.svd'))
    """
    if dotted != "torch" and not dotted.startswith("torch."):
        return "none", ""
    return _canonical(dotted)


@cache
def _canonical(dotted: str) -> tuple[Kind, str]:
    path = _public_path(dotted)
    if path.startswith("torch.nn.init."):
        return "helper", path
    stem = path.removesuffix("_") if not path.endswith("__") else path
    spellings = _spellings(path) if stem == path else [*_spellings(path), *_spellings(stem)]
    for known, kind in ((api_index().keys(), "api"), (helpers(), "helper")):
        for name in spellings:
            if name in known:
                return kind, name  # type: ignore[return-value]
    for name in spellings:
        if name in eligible():
            return "unknown", name
    return "unknown", stem


def _public_path(dotted: str) -> str:
    parts = dotted.split(".")
    if parts[:3] == ["torch", "nn", "modules"]:
        parts = ["torch", "nn", *parts[-1:]] if len(parts) > 3 else ["torch", "nn"]
    elif parts[:2] == ["torch", "functional"]:
        parts = ["torch", *parts[2:]]
    return ".".join(parts)


def _spellings(path: str) -> list[str]:
    """Names a public path may stand for, the most specific fold first."""
    aliases = _names()["aliases"]
    head, _, tail = path.rpartition(".")
    found = [aliases[path]] if path in aliases else []
    if head in ("torch", "torch.Tensor", "torch.nn.functional"):
        if head == "torch.Tensor" and f"torch.{tail}" in aliases:
            found.append(aliases[f"torch.{tail}"])
        found += [f"torch.nn.functional.{tail}", f"torch.{tail}", f"torch.Tensor.{tail}"]
    else:
        found.append(path)
    return found
