"""How often real classes use each candidate API, and each pair together: the shipped counts as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from kzlib.apis.catalogue import api_index, catalogue, shipped

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over the catalogue's order, n = 442.

    `singles` (n,) and `pairs` (n, n, symmetric, zero diagonal): distinct classes that use the API, or both.
    `balanced` (n,): each package's counts over the square root of its size, summed, so that no one package rules.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    singles: Array
    pairs: Array
    balanced: Array

    def pair(self, a: str, b: str) -> int:
        """Distinct classes that use both."""
        return int(self.pairs[api_index()[a], api_index()[b]])


@cache
def statistics() -> Statistics:
    """The shipped statistics: 59,227 classes of 35 packages and one collection of about 2,000 projects.

    >>> statistics().pair("torch.nn.Conv2d", "torch.nn.ReLU") > statistics().pair("torch.nn.Conv2d", "torch.fft.fft")
    True
    """
    apis, stored = catalogue(), shipped()
    n = len(apis)
    pairs = np.zeros((n, n))
    quads = np.asarray(stored["pairs"], dtype=np.int64).reshape(-1, 4)
    pairs[quads[:, 0], quads[:, 1]] = quads[:, 2] + quads[:, 3]
    pairs += pairs.T
    balanced = np.zeros(n)
    for package in stored["packages"].values():
        flat = np.asarray(package["counts"], dtype=np.int64).reshape(-1, 2)
        balanced[flat[:, 0]] += flat[:, 1] / np.sqrt(package["used"])
    singles = np.array([api.counts.packages + api.counts.paritybench for api in apis], dtype=np.float64)
    for array in (pairs, balanced, singles):
        array.flags.writeable = False
    return Statistics(
        tuple(api.name for api in apis), tuple(api.operator_class for api in apis), singles, pairs, balanced
    )
