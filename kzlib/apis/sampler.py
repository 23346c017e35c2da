"""Draw API sets: from real co-occurrence, uniformly (the ablation), or at the frontier of what the Coder can do.

Stated distribution of one set (issue 5; the paper's exact recipe is not public):
first API   with probability (1 - floor) * m_i ** tempering / sum + floor / n, m the package-balanced count plus one,
            layout names (view, cat, ...) damped, for they are in nearly every class and make poor targets;
next APIs   by the mean of the conditionals P(j | i) = (pairs_ij + smoothing * m_j') / (sum_j pairs_ij + smoothing) over
            the members i so far, m' the tempered marginal; members are not drawn twice.
`sample_sets` draws the floor's share from a shuffled deck of all names, so enough sets always cover the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from kzlib.apis.catalogue import find
from kzlib.apis.statistics import Array, Statistics, statistics

Sampler = Literal["cooccurrence", "uniform", "frontier"]
SAMPLERS: tuple[Sampler, ...] = ("cooccurrence", "uniform", "frontier")
Indices = npt.NDArray[np.int64]

TEMPERING = 0.4  # power of the marginal: 1 keeps real frequencies, 0 is uniform
SMOOTHING = 20.0  # classes' worth of marginal mixed into each conditional
FLOOR = 0.15  # share of sets whose first API is drawn uniformly
LAYOUT_DAMPING = 0.3
SHARPNESS = 16  # power of the frontier reward in the frontier sampler's weights
POOL = 8  # sets looked at for one taken at the frontier
MAX_REDRAWS = 50


class SolveRates(Protocol):
    """What the frontier sampler asks of a weakness estimate: one plausible solve rate for each set."""

    def plausible(self, sets: Sequence[tuple[str, ...]], rng: np.random.Generator) -> Array: ...


@dataclass(frozen=True, slots=True)
class SetDistribution:
    """The stated distribution over sets: `names` (n,), `first` (n,), `conditional` (n, n), rows sum to 1."""

    names: tuple[str, ...]
    tempered: Array
    conditional: Array
    floor: float

    @property
    def first(self) -> Array:
        """Probability of each API as the first of a set."""
        return (1 - self.floor) * self.tempered + self.floor / len(self.names)

    @classmethod
    def cooccurrence(cls, stats: Statistics, allowed: Collection[str] | None = None) -> SetDistribution:
        """Tempered marginal and smoothed conditionals, restricted to `allowed` names."""
        keep = _allowed_indices(stats, allowed)
        damping = np.where(np.array(stats.classes)[keep] == "layout", LAYOUT_DAMPING, 1.0)
        tempered = damping * (stats.balanced[keep] + 1.0) ** TEMPERING
        tempered /= tempered.sum()
        pairs = stats.pairs[np.ix_(keep, keep)]
        conditional = (pairs + SMOOTHING * tempered) / (pairs.sum(axis=1, keepdims=True) + SMOOTHING)
        return cls(tuple(stats.names[i] for i in keep), tempered, conditional, FLOOR)

    @classmethod
    def uniform(cls, stats: Statistics, allowed: Collection[str] | None = None) -> SetDistribution:
        """Every API alike, whatever its neighbours: the "no co-occurrence" ablation."""
        keep = _allowed_indices(stats, allowed)
        n = len(keep)
        return cls(tuple(stats.names[i] for i in keep), np.full(n, 1 / n), np.full((n, n), 1 / n), FLOOR)

    def draw(self, count: int, size: int, rng: np.random.Generator, firsts: Indices | None = None) -> Indices:
        """`count` independent sets as an array (count, size) of places in `names`, in the order drawn."""
        rows = np.arange(count)
        if firsts is None:
            firsts = _pick(np.broadcast_to(self.first, (count, len(self.names))), rng)
        members = [firsts]
        while len(members) < size:
            weights = np.mean([self.conditional[m] for m in members], axis=0)
            for m in members:
                weights[rows, m] = 0.0
            members.append(_pick(weights, rng))
        return np.stack(members, axis=1)


def _allowed_indices(stats: Statistics, allowed: Collection[str] | None) -> Indices:
    if allowed is None:
        return np.arange(len(stats.names))
    for name in allowed:
        find(name)
    wanted = frozenset(allowed)
    return np.array([i for i, name in enumerate(stats.names) if name in wanted], dtype=np.int64)


def _pick(weights: Array, rng: np.random.Generator) -> Indices:
    """One column for each row, with probability proportional to its weight."""
    cumulative = np.cumsum(weights, axis=1)
    target = rng.random(len(weights))[:, None] * cumulative[:, -1:]
    return np.minimum((cumulative <= target).sum(axis=1), weights.shape[1] - 1)


def sample_sets(
    n: int,
    seed: int,
    sampler: Sampler = "cooccurrence",
    sizes: Sequence[int] = (2, 3),
    weakness: SolveRates | None = None,
    allowed: Collection[str] | None = None,
    stats: Statistics | None = None,
) -> list[tuple[str, ...]]:
    """`n` different API sets, sizes in equal shares, in random order: a pure function of its arguments.

    `allowed` restricts the names (say, to what a teacher can lower). `weakness` is asked only by "frontier".
    Errors: an unknown sampler, sizes outside 1-6, or more sets than exist raise `ValueError`.

    >>> sets = sample_sets(4, seed=0)
    >>> sorted(map(len, sets)), sets == sample_sets(4, seed=0)
    ([2, 2, 3, 3], True)
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"no sampler {sampler!r}: type one of {', '.join(SAMPLERS)}")
    if sampler == "frontier" and weakness is None:
        raise ValueError('the frontier sampler needs a weakness estimate: give one, or type sampler="cooccurrence"')
    if not sizes or not all(1 <= size <= 6 for size in sizes):
        raise ValueError(f"sizes {tuple(sizes)} must be numbers from 1 to 6, such as (2, 3)")
    stats = statistics() if stats is None else stats
    make = SetDistribution.uniform if sampler == "uniform" else SetDistribution.cooccurrence
    distribution = make(stats, allowed)
    rng = np.random.default_rng([seed, SAMPLERS.index(sampler)])
    deck = _deck(len(distribution.names), rng)
    taken: list[tuple[str, ...]] = []
    for size, share in _shares(n, sizes, len(distribution.names)).items():
        taken += _distinct(distribution, share, size, deck, rng, weakness if sampler == "frontier" else None)
    return [taken[i] for i in rng.permutation(len(taken))]


def _shares(n: int, sizes: Sequence[int], names: int) -> dict[int, int]:
    """Sets of each size, in equal shares; what one size cannot give (few names make few pairs) the others do."""
    exist = {size: math.comb(names, size) for size in sorted(set(sizes))}
    if n > sum(exist.values()):
        raise ValueError(f"{n} sets asked for and {names} APIs make only {sum(exist.values())}: ask for fewer")
    shares = dict.fromkeys(exist, 0)
    left = n
    while left:
        open_sizes = [size for size in exist if shares[size] < exist[size]]
        for place, size in enumerate(open_sizes):
            more = left // len(open_sizes) + (place < left % len(open_sizes))
            shares[size] += min(more, exist[size] - shares[size])
        left = n - sum(shares.values())
    return shares


def _deck(n: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.permutation(n)


def _distinct(
    distribution: SetDistribution,
    count: int,
    size: int,
    deck: Iterator[int],
    rng: np.random.Generator,
    weakness: SolveRates | None,
) -> list[tuple[str, ...]]:
    """`count` different sets of one size; the floor's share starts from the deck."""
    firsts = np.array([next(deck) for _ in range(math.ceil(distribution.floor * count))], dtype=np.int64)
    sets = dict.fromkeys(_from_deck(distribution, firsts, size, rng, weakness))
    missing = count - len(sets)
    pool = _pool(distribution, set(sets), missing * (POOL if weakness else 1), size, rng, weakness is not None)
    if len(pool) < missing:
        pool += _rest(len(distribution.names), size, {*sets, *pool}, missing - len(pool), rng)
    if weakness is not None and missing > 0:
        best = np.argsort(-_keys(distribution, pool, rng, weakness), kind="stable")
        pool = [pool[i] for i in best]
    return [tuple(sorted(distribution.names[i] for i in s)) for s in [*sets, *pool[:missing]]]


def _from_deck(
    distribution: SetDistribution, firsts: Indices, size: int, rng: np.random.Generator, weakness: SolveRates | None
) -> list[tuple[int, ...]]:
    """One set for each first API; at the frontier the best of several with that API."""
    if not len(firsts):
        return []
    spread = POOL if weakness else 1
    sets = _sorted_rows(distribution.draw(len(firsts) * spread, size, rng, np.repeat(firsts, spread)))
    if weakness is None:
        return sets
    best = _keys(distribution, sets, rng, weakness).reshape(len(firsts), spread).argmax(axis=1)
    return [sets[row * spread + int(column)] for row, column in enumerate(best)]


def _pool(
    distribution: SetDistribution,
    taken: set[tuple[int, ...]],
    wanted: int,
    size: int,
    rng: np.random.Generator,
    wide: bool,
) -> list[tuple[int, ...]]:
    """Up to `wanted` new different sets, redrawn a bounded number of times.

    `wide`: half of them start anywhere, for popular APIs are the first to be mastered and leave the frontier.
    """
    n = len(distribution.names)
    first = (distribution.tempered + 1 / n) / 2 if wide else distribution.tempered
    found: dict[tuple[int, ...], None] = {}
    for _ in range(MAX_REDRAWS):
        short = wanted - len(found)
        if short <= 0 or len(found) + len(taken) >= math.comb(n, size):
            break
        starts = _pick(np.broadcast_to(first, (short, n)), rng)
        drawn = _sorted_rows(distribution.draw(short, size, rng, starts))
        found.update(dict.fromkeys(s for s in drawn if s not in taken))
    return list(found)


def _rest(
    n: int, size: int, taken: set[tuple[int, ...]], count: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Sets that redrawing did not reach, in random order: only where nearly all that exist are asked for."""
    rest = [s for s in combinations(range(n), size) if s not in taken]
    return [rest[i] for i in rng.permutation(len(rest))[:count]]


def _keys(
    distribution: SetDistribution, sets: list[tuple[int, ...]], rng: np.random.Generator, weakness: SolveRates
) -> Array:
    """Gumbel keys: the largest k of them are k draws without replacement, weighted by the frontier reward's power."""
    rates = weakness.plausible([tuple(sorted(distribution.names[i] for i in s)) for s in sets], rng)
    reward = np.clip(1 - 2 * np.abs(rates - 0.5), 1e-6, 1.0)
    return SHARPNESS * np.log(reward) + rng.gumbel(size=len(sets))


def _sorted_rows(drawn: Indices) -> list[tuple[int, ...]]:
    return list(map(tuple, np.sort(drawn, axis=1).tolist()))
