"""Published numbers: a slip here would put words into other people's mouths."""

from __future__ import annotations

import pytest

from kzlib.literature import CERTAINTY, NOT_RUN, UNKNOWN, find, published, sources, table1


def test_every_number_has_a_source_a_certainty_and_a_plausible_value():
    rows = published()
    assert len(rows) > 100
    for row in rows:
        assert row.source in sources()
        assert row.certainty in CERTAINTY
        assert row.unit in {"%", "x", "tokens"}
        if row.unit == "%":
            assert 0 <= row.value <= 100
        assert row.level in {None, 1, 2, 3}


def test_no_number_is_given_twice():
    keys = [(r.source, r.system, r.backend, r.level, r.metric, r.k) for r in published()]
    assert len(set(keys)) == len(keys) - 1  # Dr. Kernel's one-shot and best-of-turns values share a key


@pytest.mark.parametrize(("level", "values"), [(1, [76.4, 95.35, 97]), (2, [66.5, 90.25, 93])])
def test_seed_rows_of_table_1(level, values):
    rows = find(system="Claude-4.5-Sonnet", backend="cuda", level=level, metric="pass")
    assert [row.value for row in rows] == values


def test_pass_at_k_never_falls_with_k():
    groups: dict = {}
    for row in published():
        if row.metric == "pass":
            groups.setdefault((row.source, row.system, row.backend, row.level), []).append((row.k, row.value))
    for pairs in groups.values():
        assert [v for _, v in sorted(pairs)] == sorted(v for _, v in pairs)


def ours(**facts):
    row = {"model": "coder.r1", "task_set": "heldout", "level": 1, "backend": "cuda", "protocol": "strict"}
    return {
        **row,
        "where": "cuda:H200",
        "metric": "pass",
        "k": 1,
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "tasks": 30,
    } | facts


def test_table_1_puts_ours_beside_the_paper_and_invents_nothing():
    table = table1([ours(), ours(level=2, value=None)]).set_index("model")
    assert table.loc["Claude-4.5-Sonnet", "L1 pass@5"] == "95.35 (table)"
    assert table.loc["Gemini-2.5-Flash", "L2 tokens"] == "21.2k (table)"
    assert table.loc["KernelZero-7B", "L1 pass@5"] == UNKNOWN
    assert table.loc["coder.r1", "L1 pass@1"] == "50.0 [40.0, 60.0] n=30"
    assert table.loc["coder.r1", "L2 pass@1"] == "not available"
    assert table.loc["coder.r1", "L1 pass@10"] == NOT_RUN
    assert table.loc["coder.r1", "tasks"] == "heldout"


def test_a_backend_that_was_not_run_has_a_row_of_ours_that_says_so_and_no_number():
    row = table1([ours(backend="triton")], "cuda").set_index("model").loc["coder.r1"]
    assert set(row.filter(like="L")) == {NOT_RUN}
    assert "not run in cuda" in row["whose"]
