"""Ablations and seeds one after another, and one table and figure 4 over all of them. What is fresh is skipped.

Run `seed<n>` of a profile is that profile with its seed replaced. The results of a sweep are themselves a run,
`outputs/sweeps/<name>/`. Source: issue 8 item 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from kzlib import compare, figures, frames, scores, summary
from kzlib.metrics import Attempt
from kzlib.params import Params, load_profile
from kzlib.workspace import Run, open_run

Execute = Callable[[Run, Params], object]


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a sweep and how it ended ("" is well)."""

    profile: str
    seed: int
    run: Run
    params: Params
    failure: str = ""


def run_all(
    profiles: Sequence[str],
    seeds: Sequence[int],
    output_root: str,
    execute: Execute,
    say: Callable[[str], None] = print,
) -> list[Member]:
    """Execute every profile with every seed; one that fails is noted and the others still run."""
    from kzlib.runner import StageFailedError

    members = []
    for profile in profiles:
        for seed in seeds:
            params = load_profile(profile, {"run.seed": seed})
            run = open_run(output_root, params.profile, f"seed{seed}")
            say(f"{params.profile}, seed {seed}")
            failure = ""
            try:
                execute(run, params)
            except StageFailedError as error:
                failure = str(error).splitlines()[0]
                say(failure)
            members.append(Member(params.profile, seed, run, params, failure))
    return members


def table(members: Iterable[Member]) -> list[dict[str, Any]]:
    """One row for each run and headline score; a run that failed or was not evaluated has one row that says so."""
    rows: list[dict[str, Any]] = []
    for member in members:
        head = {"profile": member.profile, "seed": member.seed, "alpha": member.params.coder.alpha}
        own = [row for row in summary.summary(member.run)["coder"] if not row["level"]] if not member.failure else []
        blank: dict[str, Any] = {
            "model": "",
            "backend": "",
            "protocol": "",
            "where": "",
            "timing": "",
            "metric": "",
            "k": None,
        }
        blank |= {"value": None, "low": None, "high": None, "tasks": 0, "note": member.failure or "not evaluated"}
        rows += [{**head, **{key: row.get(key, "") for key in blank}, "note": row["left_out"]} for row in own] or [
            head | blank
        ]
    return rows


def over_seeds(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a profile and score over its seeds: the mean, and as `low` and `high` the least and the greatest seed.

    >>> run = {"profile": "a", "alpha": 0.5, "model": "m", "metric": "pass", "k": 1, "tasks": 9}
    >>> both = over_seeds([{**run, "seed": 0, "value": 0.2}, {**run, "seed": 1, "value": 0.4}])
    >>> [(row["seed"], round(row["value"], 3), row["low"], row["high"]) for row in both]
    [('all', 0.3, 0.2, 0.4)]
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(
            row.get(name) for name in ("profile", "model", "backend", "protocol", "where", "timing", "metric", "k")
        )
        if row["value"] is not None:
            groups.setdefault(key, []).append(row)
    return [
        {
            **same[0],
            "seed": "all",
            "value": fmean(row["value"] for row in same),
            "low": min(row["value"] for row in same),
            "high": max(row["value"] for row in same),
            "note": f"mean, least and greatest of {len(same)} seeds",
        }
        for same in groups.values()
        if len(same) > 1
    ]


def variants(members: Sequence[Member], protocol: str = "strict") -> list[tuple[str, bool, list[list[Attempt]]]]:
    """Figure 4's bars: the cold start of the first profile, then every profile's last Coder. One backend, the first.

    Runs judged under other conditions than the first are left out: their bars would not compare.
    """
    known = [(m, summary.evaluated(m.run)) for m in members if not m.failure]
    known = [(m, attempts) for m, attempts in known if attempts]
    if not known:
        return []
    first, attempts = known[0]
    wanted = compare.conditions(attempts)
    known = [(m, a) for m, a in known if not compare.differences({"a": wanted, "b": compare.conditions(a)})]
    backend = first.params.run.backends[0]

    def of(attempts: Sequence[Attempt], training: str) -> list[Attempt]:
        model = summary.model_of(attempts, training)
        return [a for a in attempts if (a.model, a.backend, a.protocol) == (model, backend, protocol)]

    bars = [("SFT", False, [of(a, summary.COLD_START) for m, a in known if m.profile == first.profile])]
    for profile in dict.fromkeys(m.profile for m, _ in known):
        own = [(m, a) for m, a in known if m.profile == profile]
        alpha = own[0][0].params.coder.alpha
        same = profile == first.profile or profile.startswith("alpha_")
        label = f"RL, alpha {alpha:g}" if same else f"RL, {profile.replace('_', ' ')}"
        bars.append((label, profile == first.profile, [of(a, summary.TRAINED) for _, a in own]))
    return bars


def publish(members: Sequence[Member], name: str, output_root: str) -> Run:
    """Write the combined table, figure 4, and figure 3 with the frozen Proposer where it was run."""
    result = open_run(output_root, "sweeps", name, stage="sweep")
    seeds = len({m.seed for m in members})
    rows = table(members)
    rows += over_seeds(rows)
    scores.write_table(result, "sweep", rows, f"All runs of the sweep {name}, {seeds} seed(s).")
    bars = variants(members)
    if bars:
        frame = frames.alpha_frame(bars)
        n = max(m.params.evaluation.eval_samples for m in members)
        caption = f"Speedup of the fastest correct kernel of {n} answers, geometric mean over tasks, {seeds} seed(s)"
        figures.save(
            result, "figure4_alpha", "alpha", frame, f"{caption}; {', '.join(sorted(set(frame['timing'])))} times."
        )
    base = members[0].profile
    curves = frames.training_frame(
        m.run for m in members if not m.failure and (m.profile == base or m.params.proposer.freeze_after_round)
    )
    if not curves.empty:
        figures.save(result, "figure3_training", "training", curves, f"Training dynamics over {seeds} seed(s).")
    return result
