"""What the Coder is weak at: a skill for each API and an interaction for each pair, estimated from verdicts.

Model: a module passes when every part of it does, P(pass | A) = prod_{i in A} s_i * prod_{i<j in A} t_ij. Skills have
Beta priors centred on their operator class, pair interactions Beta priors close to 1, so that a pair is blamed only
when its members' skills cannot explain the failures. Fitted by expectation maximisation over who caused each failure.
Source: issue 5 (the paper keeps its modules "aligned with what the Coder is weak at" and gives no estimator).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kzlib.apis.catalogue import find
from kzlib.apis.statistics import Array
from kzlib.records import Task, Verdict

SCHEMA = 1
START = 0.7  # skill of an API before anything is seen: pairs then pass about half the time
CLASS_WEIGHT = 4.0  # verdicts' worth of START in an operator class's mean
API_WEIGHT = 4.0  # verdicts' worth of the class's mean in an API's skill
PAIR_PRIOR = (9.8, 0.2)  # Beta prior of a pair's interaction: mean 0.98
DECAY = 0.7  # of the evidence that stays after a round: half is gone in two
FORGET_BELOW = 0.05  # verdicts
EM_STEPS = 60


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate with its 90 % credible interval; `seen` is the evidence behind it in verdicts, after decay."""

    mean: float
    low: float
    high: float
    seen: float


@dataclass(frozen=True, slots=True)
class _Fit:
    """Beta posteriors as mean and concentration, one for each part: APIs first, then the pairs that were seen."""

    place: dict[str | tuple[str, str], int]
    mean: Array
    concentration: Array
    seen: Array
    class_mean: dict[str, float]


class Weakness:
    """Evidence about the Coder, by API set; estimates are refitted when asked for after new evidence.

    >>> weakness = Weakness()
    >>> for _ in range(30):
    ...     weakness.update(("torch.exp", "torch.sum"), passed=True)
    ...     weakness.update(("torch.exp", "torch.cumsum"), passed=False)
    >>> weakness.skill("torch.exp").mean > 0.8 > 0.3 > weakness.skill("torch.cumsum").mean
    True
    """

    def __init__(self) -> None:
        self._evidence: dict[tuple[str, ...], tuple[float, float]] = {}
        self._fit: _Fit | None = None

    def update(self, apis: Iterable[str], passed: bool | float, count: float = 1.0) -> None:
        """Add verdicts on a module that uses `apis`: the outcome of one, or the share that passed of `count`."""
        key = tuple(sorted(set(apis)))
        for name in key:
            find(name)
        if not key or not 0 <= passed <= 1 or count <= 0:
            raise ValueError("give at least one API, a share of passes in [0, 1] and a positive count")
        passes, fails = self._evidence.get(key, (0.0, 0.0))
        self._evidence[key] = (passes + count * float(passed), fails + count * (1 - float(passed)))
        self._fit = None

    def observe(self, verdicts: Iterable[Verdict], tasks: Iterable[Task]) -> int:
        """Add every verdict that judged a candidate, and return how many did; a task with no API says nothing."""
        apis = {task.id: task.apis for task in tasks}
        used = [v for v in verdicts if v.judged and apis.get(v.task_id)]
        for verdict in used:
            self.update(apis[verdict.task_id], verdict.passed)
        return len(used)

    def decay(self, keep: float = DECAY) -> None:
        """Once a round: old evidence counts less, for the Coder has changed; what is nearly gone is forgotten."""
        faded = {apis: (passes * keep, fails * keep) for apis, (passes, fails) in self._evidence.items()}
        self._evidence = {apis: counts for apis, counts in faded.items() if sum(counts) >= FORGET_BELOW}
        self._fit = None

    @property
    def verdicts(self) -> float:
        """The evidence kept, in verdicts."""
        return sum(map(sum, self._evidence.values()))

    def skill(self, api: str) -> Estimate:
        """P(a part made of this API alone is right)."""
        find(api)
        return self._estimate(api)

    def interaction(self, a: str, b: str) -> Estimate:
        """What being together costs beyond the two skills: 1 is nothing, 0 is that the pair never passes."""
        return self._estimate(tuple(sorted((a, b))))  # type: ignore[arg-type]

    def rate(self, apis: Iterable[str]) -> float:
        """Expected solve rate of a module with these APIs."""
        return float(np.prod([self._estimate(part).mean for part in _parts(tuple(sorted(set(apis))))]))

    def plausible(self, sets: Sequence[tuple[str, ...]], rng: np.random.Generator) -> Array:
        """One solve rate for each set under one draw of all posteriors (Thompson sampling): doubt explores."""
        fit = self._fitted()
        drawn: dict[str | tuple[str, str], float] = {}
        rates = np.empty(len(sets))
        for row, apis in enumerate(sets):
            rate = 1.0
            for part in _parts(apis):
                if part not in drawn:
                    mean, concentration = self._posterior(fit, part)
                    drawn[part] = rng.beta(mean * concentration, (1 - mean) * concentration)
                rate *= drawn[part]
            rates[row] = rate
        return rates

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the evidence as JSON."""
        rows = [[list(apis), *counts] for apis, counts in sorted(self._evidence.items())]
        text = json.dumps({"schema": SCHEMA, "columns": ["apis", "passes", "fails"], "evidence": rows}, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Weakness:
        """The inverse of `save`."""
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            if stored.get("schema") != SCHEMA:
                raise ValueError(
                    f"{path} has schema {stored.get('schema')}, this version reads {SCHEMA}: make it again"
                )
            rows = [(tuple(apis), float(passes), float(fails)) for apis, passes, fails in stored["evidence"]]
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise ValueError(f"{path} is not a weakness file: give one that Weakness.save wrote") from None
        weakness = cls()
        for apis, passes, fails in rows:
            weakness.update(apis, passes / (passes + fails), passes + fails)
        return weakness

    def _estimate(self, part: str | tuple[str, str]) -> Estimate:
        fit = self._fitted()
        mean, concentration = self._posterior(fit, part)
        low, high = beta_interval(mean * concentration, (1 - mean) * concentration)
        seen = fit.seen[fit.place[part]] if part in fit.place else 0.0
        return Estimate(mean, low, high, float(seen))

    @staticmethod
    def _posterior(fit: _Fit, part: str | tuple[str, str]) -> tuple[float, float]:
        place = fit.place.get(part)
        if place is not None:
            return float(fit.mean[place]), float(fit.concentration[place])
        if isinstance(part, tuple):
            return PAIR_PRIOR[0] / sum(PAIR_PRIOR), sum(PAIR_PRIOR)
        return fit.class_mean.get(find(part).operator_class, START), API_WEIGHT

    def _fitted(self) -> _Fit:
        if self._fit is None:
            self._fit = _fit(self._evidence)
        return self._fit


def beta_interval(a: float, b: float, mass: float = 0.9) -> tuple[float, float]:
    """The central interval of Beta(a, b), from its density on a grid of logits; within 0.002 of the exact quantiles.

    >>> [round(x, 2) for x in beta_interval(1, 1)]
    [0.05, 0.95]
    """
    logit = np.linspace(-14, 14, 4001)
    log_x, log_1x = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    log_density = a * log_x + b * log_1x  # of the logit: the Jacobian x(1 - x) is inside
    weights = np.cumsum(np.exp(log_density - log_density.max()))
    low, high = np.searchsorted(weights / weights[-1], ((1 - mass) / 2, (1 + mass) / 2))
    return float(np.exp(log_x[low])), float(np.exp(log_x[high]))


def _parts(apis: tuple[str, ...]) -> list[str | tuple[str, str]]:
    return [*apis, *combinations(apis, 2)]


def _fit(evidence: dict[tuple[str, ...], tuple[float, float]]) -> _Fit:
    """Expectation maximisation: who failed in each failure, then Beta updates of skills, classes and interactions."""
    place: dict[str | tuple[str, str], int] = {}
    for kind in (str, tuple):  # APIs first
        for apis in evidence:
            for part in _parts(apis):
                if isinstance(part, kind):
                    place.setdefault(part, len(place))
    members = [[place[part] for part in _parts(apis)] for apis in evidence]
    row = np.repeat(np.arange(len(members)), [len(m) for m in members])
    part_of = np.array([i for m in members for i in m], dtype=np.int64)
    passes, fails = (np.array([c[k] for c in evidence.values()]) for k in (0, 1))
    singles = [name for name in place if isinstance(name, str)]
    labels = sorted({find(name).operator_class for name in singles})
    class_of = np.array([labels.index(find(name).operator_class) for name in singles], dtype=np.int64)
    return _iterate(place, row, part_of, passes, fails, labels, class_of)


def _iterate(
    place: dict[str | tuple[str, str], int],
    row: npt.NDArray[np.int64],
    part_of: npt.NDArray[np.int64],
    passes: Array,
    fails: Array,
    labels: list[str],
    class_of: npt.NDArray[np.int64],
) -> _Fit:
    n, singles, rows = len(place), len(class_of), len(passes)
    mean = np.full(n, START)
    mean[singles:] = PAIR_PRIOR[0] / sum(PAIR_PRIOR)
    centre = np.full(len(labels), START)
    passed: Array = np.bincount(part_of, weights=passes[row], minlength=n).astype(np.float64)
    tried: Array = passed + np.bincount(part_of, weights=fails[row], minlength=n)
    blamed: Array = np.zeros(n)
    for _ in range(EM_STEPS if rows else 0):
        rate = np.exp(np.bincount(row, weights=np.log(mean[part_of]), minlength=rows))
        blame = fails[row] * (1 - mean[part_of]) / np.maximum(1 - rate[row], 1e-12)
        blamed = np.bincount(part_of, weights=blame, minlength=n).astype(np.float64)
        right, total = (tried - blamed)[:singles], tried[:singles]
        centre = CLASS_WEIGHT * START + np.bincount(class_of, weights=right, minlength=len(labels))
        centre /= CLASS_WEIGHT + np.bincount(class_of, weights=total, minlength=len(labels))
        mean[:singles] = (API_WEIGHT * centre[class_of] + right) / (API_WEIGHT + total)
        mean[singles:] = (PAIR_PRIOR[0] + (tried - blamed)[singles:]) / (sum(PAIR_PRIOR) + tried[singles:])
    mean = np.clip(mean, 1e-4, 1 - 1e-4)
    concentration = np.full(n, sum(PAIR_PRIOR)) + passed + blamed
    concentration[:singles] = _concentration(mean, row, part_of, fails, tried, singles)
    return _Fit(place, mean, concentration, tried, dict(zip(labels, map(float, centre), strict=True)))


def _concentration(
    mean: Array, row: npt.NDArray[np.int64], part_of: npt.NDArray[np.int64], fails: Array, tried: Array, singles: int
) -> Array:
    """How sharp each skill's Beta posterior is, in verdicts: observed information after Louis (1982), on logits.

    Complete information is what we had if each failure named its culprit; the covariance of the culprits given only
    that the module failed is missing. A skill that always comes with the same partner is then rightly left in doubt.
    """
    skill = mean[:singles]
    information = np.diag((API_WEIGHT + tried[:singles]) * skill * (1 - skill))
    members = np.split(part_of, np.flatnonzero(np.diff(row)) + 1) if len(row) else []
    for number in np.flatnonzero(fails):
        parts = members[number]
        rate = mean[parts].prod()
        parts = parts[parts < singles]
        right = (mean[parts] - rate) / (1 - rate)
        both = (np.outer(mean[parts], mean[parts]) - rate) / (1 - rate)
        np.fill_diagonal(both, right)
        information[np.ix_(parts, parts)] -= fails[number] * (both - np.outer(right, right))
    variance = np.diag(np.linalg.inv(information)) if singles else np.zeros(0)
    return np.maximum(1 / (np.maximum(variance, 1e-9) * skill * (1 - skill)), 1.0)
