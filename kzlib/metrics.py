"""Scores of attempts: pass@k, fast_p@k, means in log space, intervals, paired differences. Pure functions, no files.

Every score is a mean over tasks and says over how many, how many tasks were left out and why. Nothing is filled in:
a task with fewer than k judged answers has no pass@k. Outcomes that say nothing about the candidate (`infra`,
`invalid_task`, `unsupported`) leave the denominator and are counted. Source: issue 8, reports P34-P36.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from kzlib.intervals import bootstrap, interval
from kzlib.records import NOT_JUDGED, Answer, Outcome, Verdict

TOO_FEW = "too_few_answers"
LAUNCH_BOUND = "launch_bound"
NOT_TIMED = "not_timed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer with its verdict: a row of `metrics/attempts.csv`. `speedup` is None where nothing was timed."""

    task_id: str
    sample: int
    outcome: Outcome
    backend: str = "triton"
    protocol: str = "strict"
    where: str = "cpu-interpreter"
    speedup: float | None = None
    timing_kind: str | None = None  # "measured" | "modelled"
    launch_bound: bool = False
    tokens: int = 0
    model: str = ""
    task_set: str = ""
    level: int = 0
    precision: str = ""
    spread: float = 0.0  # of the candidate's times: interquartile range over median

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS

    @property
    def judged(self) -> bool:
        return self.outcome not in NOT_JUDGED


def attempt(answer: Answer, verdict: Verdict, *, model: str = "", task_set: str = "", level: int = 0) -> Attempt:
    """Join an answer to its verdict."""
    timing = verdict.timing
    return Attempt(
        task_id=answer.task_id,
        sample=answer.sample,
        outcome=verdict.outcome,
        backend=verdict.backend,
        protocol=verdict.protocol,
        where=verdict.where,
        speedup=timing.speedup if timing else None,
        timing_kind=timing.kind if timing else None,
        launch_bound=timing.launch_bound if timing else False,
        tokens=answer.tokens,
        model=model,
        task_set=task_set,
        level=level,
        precision=str(verdict.evidence.get("precision", "")),
        spread=timing.spread if timing else 0.0,
    )


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance that k answers drawn without return from n, of which c are correct, hold a correct one; None if n < k.

    The unbiased estimator 1 - C(n-c, k) / C(n, k), in whole numbers, so exact to the last bit (report P34).

    >>> [pass_at_k(2, 0, 5), pass_at_k(5, 0, 5), pass_at_k(5, 5, 5), pass_at_k(5, 1, 5), pass_at_k(200, 1, 1)]
    [None, 0.0, 1.0, 1.0, 0.005]
    """
    if k < 1:
        raise ValueError(f"pass@{k} has no meaning: k is 1 or more")
    if not 0 <= c <= n:
        raise ValueError(f"{c} correct of {n} answers cannot be: give 0 <= c <= n")
    if n < k:
        return None
    draws = math.comb(n, k)
    return (draws - math.comb(n - c, k)) / draws


def fast_p_at_k(speedups: Sequence[float | None], p: float, k: int) -> float | None:
    """pass@k where an answer counts if it is correct and more than p times faster. One item an answer, None = wrong.

    >>> fast_p_at_k([1.5, 0.9, None], p=1.0, k=1)
    0.3333333333333333
    >>> fast_p_at_k([1.5], p=1.0, k=5) is None
    True
    """
    return pass_at_k(len(speedups), sum(s is not None and s > p for s in speedups), k)


@dataclass(frozen=True, slots=True)
class TaskScores:
    """A score a task, and for each task without one the reason."""

    values: dict[str, float]
    left_out: dict[str, str]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `tasks` tasks with a 95 % interval; `left_out` counts the tasks it does not speak of, by reason."""

    value: float | None
    low: float | None
    high: float | None
    tasks: int
    left_out: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.value is None:
            why = ", ".join(f"{n} {reason}" for reason, n in sorted(self.left_out.items()))
            return f"not available ({why or 'no tasks'})"
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if self.low is not None else ""
        return f"{self.value:.3f}{interval} over {self.tasks} tasks"


def by_task(attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """Attempts of each task, in order of first sight."""
    groups: dict[str, list[Attempt]] = defaultdict(list)
    for item in attempts:
        groups[item.task_id].append(item)
    return dict(groups)


def launch_bound(attempts: Iterable[Attempt]) -> frozenset[str]:
    """Tasks so small that launching dominates (report P36), by what their right answers showed.

    The size of a task that nobody solved is not known: it stays with the large tasks, unless all solved ones of its
    task set are small.

    >>> tiny = Attempt("tiny", 0, Outcome.PASS, speedup=3.0, timing_kind="modelled", launch_bound=True)
    >>> sorted(launch_bound([tiny, Attempt("unsolved", 0, Outcome.WRONG)]))
    ['tiny', 'unsolved']
    """
    sets: dict[str, list[Attempt]] = defaultdict(list)
    for item in attempts:
        sets[item.task_set].append(item)
    return frozenset(task for items in sets.values() for task in _small_of(items))


def _small_of(items: Sequence[Attempt]) -> set[str]:
    timed = [item for item in items if item.passed and item.speedup is not None]
    small = {item.task_id for item in timed if item.launch_bound}
    large = {item.task_id for item in timed} - small
    return small if large or not small else {item.task_id for item in items}


def score_tasks(
    attempts: Iterable[Attempt],
    k: int,
    p: float | None = None,
    small: Collection[str] | None = None,
    clear: bool = False,
) -> TaskScores:
    """pass@k of each task, or fast_p@k when p is given.

    `small`: tasks that have no fast_p@k because they are launch-bound (None: `launch_bound` of these attempts). `clear`
    counts an answer as faster only if it is so by more than the spread of its own times: the reference judged against
    itself is then never faster by luck (report P20).
    """
    attempts = list(attempts)
    if p is not None:
        timing_kind(attempts)
        small = launch_bound(attempts) if small is None else small
    values: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for task_id, group in by_task(attempts).items():
        judged = [item for item in group if item.judged]
        if p is None:
            value = pass_at_k(len(judged), sum(item.passed for item in judged), k)
        else:
            value = fast_p_at_k([_speedup(item, clear) for item in judged], p, k)
        if value is None:
            left_out[task_id] = _why_too_few(group)
        elif p is not None and task_id in (small or ()):
            left_out[task_id] = LAUNCH_BOUND
        elif p is not None and any(item.passed and item.speedup is None for item in judged):
            left_out[task_id] = NOT_TIMED
        else:
            values[task_id] = value
    return TaskScores(values, left_out)


def _speedup(item: Attempt, clear: bool) -> float | None:
    if not item.passed or item.speedup is None:
        return None
    return item.speedup / (1 + item.spread) if clear else item.speedup


def _why_too_few(group: Sequence[Attempt]) -> str:
    reasons = Counter(item.outcome.value for item in group if not item.judged)
    return reasons.most_common(1)[0][0] if reasons else TOO_FEW


def timing_kind(attempts: Iterable[Attempt]) -> str | None:
    """ "measured" or "modelled" (None if nothing was timed). A mix is an error: the two are never averaged."""
    kinds = sorted({item.timing_kind for item in attempts if item.timing_kind})
    if len(kinds) > 1:
        raise ValueError(
            "these attempts mix measured and modelled times: score each kind apart (filter on timing_kind)"
        )
    return kinds[0] if kinds else None


def average(scores: TaskScores, seed: int = 0, draws: int = 2000) -> Estimate:
    """Mean over the tasks that have a score, with a bootstrap interval over tasks."""
    values = list(scores.values.values())
    left_out = dict(Counter(scores.left_out.values()))
    if not values:
        return Estimate(None, None, None, 0, left_out)
    low, high = interval(values, seed, draws)
    return Estimate(math.fsum(values) / len(values), low, high, len(values), left_out)


def pass_at(attempts: Iterable[Attempt], k: int, seed: int = 0, draws: int = 2000) -> Estimate:
    """pass@k over tasks.

    >>> two = [Attempt("a", 0, Outcome.PASS), Attempt("b", 0, Outcome.WRONG), Attempt("c", 0, Outcome.INFRA)]
    >>> pass_at(two, k=1).value, pass_at(two, k=1).left_out
    (0.5, {'infra': 1})
    """
    return average(score_tasks(attempts, k), seed, draws)


def fast_p_at(
    attempts: Iterable[Attempt],
    p: float,
    k: int,
    seed: int = 0,
    draws: int = 2000,
    small: Collection[str] | None = None,
) -> Estimate:
    """fast_p@k over tasks: at least one of k answers correct and more than p times faster than the baseline."""
    return average(score_tasks(attempts, k, p, small), seed, draws)


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speedups in log space, one value a task, over the `n` tasks that have one. Failures are counted, not averaged."""

    n: int
    failed: int
    kind: str | None
    geometric_mean: float | None
    median: float | None
    arithmetic_mean: float | None  # carried by one huge value: shown only beside the other two (report P35)
    low: float | None  # bootstrap interval of the geometric mean
    high: float | None
    outliers: tuple[float, ...]  # further than 3.5 robust deviations from the median, in log space


def speeds(values: Sequence[float | None], kind: str | None = None, seed: int = 0) -> Speeds:
    """Sum up one speedup a task (None = no correct kernel), in log space so that no product overflows.

    >>> s = speeds([0.9] * 9 + [100.0])
    >>> round(s.arithmetic_mean, 2), round(s.geometric_mean, 2), s.outliers
    (10.81, 1.44, (100.0,))
    """
    known = [value for value in values if value is not None]
    if any(not (value > 0 and math.isfinite(value)) for value in known):
        raise ValueError("a speedup is a finite number above 0: give None for a task without a correct kernel")
    failed = len(values) - len(known)
    if not known:
        return Speeds(0, failed, kind, None, None, None, None, None, ())
    logs = [math.log(value) for value in known]
    low, high = bootstrap(logs, seed)
    return Speeds(
        n=len(known),
        failed=failed,
        kind=kind,
        geometric_mean=math.exp(math.fsum(logs) / len(logs)),
        median=median(known),
        arithmetic_mean=math.fsum(known) / len(known),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
        outliers=tuple(sorted(_outliers(known, logs))),
    )


def _outliers(values: Sequence[float], logs: Sequence[float]) -> list[float]:
    middle = median(logs)
    # 1.4826 * median deviation estimates a normal's standard deviation; 5 % is the least spread we call noise.
    spread = max(1.4826 * median(abs(x - middle) for x in logs), 0.05)
    return [value for value, x in zip(values, logs, strict=True) if abs(x - middle) > 3.5 * spread]


def best_speedups(attempts: Iterable[Attempt], small: Collection[str] | None = None) -> dict[str, float | None]:
    """Speedup of each task's fastest correct kernel, None where none is correct; untimed and small tasks are absent."""
    attempts = list(attempts)
    small = launch_bound(attempts) if small is None else small
    best: dict[str, float | None] = {}
    for task_id, group in by_task(attempts).items():
        judged = [item for item in group if item.judged]
        known = [item.speedup for item in judged if item.passed and item.speedup is not None]
        if not judged or task_id in small or len(known) < sum(item.passed for item in judged):
            continue
        best[task_id] = max(known) if known else None
    return best


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens generated: in all, an answer, and a correct answer (None when none is correct)."""

    tokens: int
    answers: int
    mean: float | None
    per_correct: float | None


def token_cost(attempts: Iterable[Attempt]) -> Cost:
    """What the answers cost in tokens; answers that could not be judged cost tokens too.

    >>> token_cost([Attempt("a", 0, Outcome.PASS, tokens=10), Attempt("a", 1, Outcome.WRONG, tokens=30)])
    Cost(tokens=40, answers=2, mean=20.0, per_correct=40.0)
    """
    items = list(attempts)
    total = sum(item.tokens for item in items)
    correct = sum(item.passed for item in items)
    return Cost(total, len(items), total / len(items) if items else None, total / correct if correct else None)


def outcome_counts(attempts: Iterable[Attempt]) -> dict[str, int]:
    """How many attempts ended in each outcome, in the order of `Outcome`; zeros are left out."""
    counts = Counter(item.outcome for item in attempts)
    return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}
