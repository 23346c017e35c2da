"""A profile that is wrong must stop a user before an hour is lost, with the word to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kzlib import params, stages
from kzlib.params import ParamsError, load_profile
from kzlib.runner import notebooks


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", params.profile_names())
def test_every_shipped_profile_is_valid(name: str) -> None:
    loaded = load_profile(name)
    for stage in stages.stages(loaded.run.rounds):
        assert loaded.section_values(stage.sections)["profile"] == loaded.profile


@pytest.mark.parametrize("name", [n for n in params.profile_names() if n.startswith("ablations/")])
def test_an_ablation_changes_exactly_one_idea(name: str) -> None:
    ours, base = load_profile(name).model_dump(), load_profile("gpu").model_dump()
    changed = [(s, k) for s in params.SECTIONS for k in ours[s] if ours[s][k] != base[s][k]]
    assert len(changed) == 1, changed


def test_a_paper_value_that_the_paper_states_is_not_lost_in_tuning() -> None:
    paper = load_profile("paper")
    assert (paper.run.rounds, paper.proposer.steps, paper.coder.steps) == (4, 20, 20)
    assert (paper.sampling.api_sets, paper.sampling.proposer_prompts) == (4000, 400)
    assert (paper.coder.alpha, paper.coder.beta) == (0.5, 0.1)


@pytest.mark.parametrize("text", ["1e-5", "1E-5", "1.0e-5", "1e-05", ".00001", "+1e-5"])
def test_exponents_without_a_dot_are_numbers(tmp_path: Path, text: str) -> None:
    profile = write(tmp_path, f"extends: smoke\nsft:\n  sft_learning_rate: {text}\n")
    assert load_profile(profile).sft.sft_learning_rate == 1e-5


@given(st.floats(min_value=1e-300, max_value=1e300, allow_nan=False))
def test_any_float_survives_yaml(number: float) -> None:
    assert params.read_yaml(f"x: {number!r}") == {"x": number}
    assert params.read_yaml(f"x: {number:e}")["x"] == pytest.approx(number, rel=1e-5)


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_any_integer_survives_yaml_with_leading_zeros(number: int) -> None:
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    assert params.read_yaml(f"x: {sign}00{digits}") == {"x": number}


@pytest.mark.parametrize("word", ["yes", "on", "No", "12:30:00", "2024-01-01", "none", "1_000"])
def test_words_that_yaml_1_1_turns_into_other_things_stay_text(word: str) -> None:
    assert params.read_yaml(f"x: {word}") == {"x": word}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sft: {sft_step: 3}", "sft.sft_step is not a setting (did you mean sft_steps?)"),
        ("modle: {layers: 3}", "modle is not a setting (did you mean model?)"),
        ("rho: -2.0", "rho is not a setting; it belongs under proposer:"),
        ("coder: {rho: -2.0}", "coder.rho is not a setting (did you mean proposer.rho?)"),
        ('sft: {sft_learning_rate: "1e-5"}', "sft.sft_learning_rate is '1e-5'"),
        ("sft: {sft_steps: 3.5}", "sft.sft_steps is 3.5"),
        ("sft: {sft_steps: true}", "sft.sft_steps is True"),
        ("run: {device: gpu}", "run.device is 'gpu', and it must be 'auto', 'cpu' or 'cuda'"),
        ("sft: {sft_steps: }", "sft.sft_steps is None"),
        ("sft: 3", "sft is 3"),
        ("coder: {group_size: 1}", "group_size: 4 or group_size: 8 work"),
        ("coder: {prompts_per_step: 2, group_size: 4, micro_batch: 3}", "micro_batch: 2 or micro_batch: 4 work"),
        ("model: {hidden: 130, heads: 4}", "hidden: 128 or hidden: 136 work"),
        ("corpus: {corpus_asked: 1.5}", "corpus.corpus_asked is 1.5"),
        ("model: {context: 100}", "context (100) must hold a module and its answer"),
        ("evaluation: {eval_samples: 2, ks: [1, 10]}", "raise eval_samples to 10"),
        ("sampling: {api_sets: 5, proposer_prompts: 6}", "make api_sets at least as large"),
        ("run: {seed: 1}\nrun: {seed: 2}", "run is given twice"),
        ("run: [1", "not valid YAML"),
        ("just text", "a profile is a map of sections"),
        ("run:\n  seed: 1\n   rounds: 2", "line 4: not valid YAML"),
    ],
)
def test_a_wrong_profile_is_refused_with_the_word_to_change(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ParamsError) as caught:
        load_profile(write(tmp_path, f"extends: smoke\n{text}\n") if text != "just text" else write(tmp_path, text))
    assert expected in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ParamsError) as caught:
        load_profile(write(tmp_path, "extends: smoke\nsft: {sft_step: 3}\nmodle: {}\n"))
    assert len(str(caught.value).splitlines()) == 2


def test_a_missing_profile_names_the_nearest() -> None:
    with pytest.raises(ParamsError, match="did you mean laptop"):
        load_profile("labtop")
    with pytest.raises(ParamsError, match=r"no profile file nowhere\.yaml"):
        load_profile("nowhere.yaml")


def test_a_missing_parent_and_a_circle_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParamsError, match="did you mean smoke"):
        load_profile(write(tmp_path, "extends: smok"))
    monkeypatch.setattr(params, "PROFILES", tmp_path)
    write(tmp_path, "extends: b", "a.yaml")
    write(tmp_path, "extends: a", "b.yaml")
    with pytest.raises(ParamsError, match=r"extends itself through a -> b -> a"):
        load_profile("a")


def test_a_profile_may_extend_a_shipped_one_of_the_same_name(tmp_path: Path) -> None:
    mine = write(tmp_path, f"extends: {params.PROFILES / 'smoke.yaml'}\nrun: {{seed: 4}}\n", "smoke.yaml")
    assert (load_profile(mine).profile, load_profile(mine).run.seed) == ("smoke", 4)


def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"run is missing: set it, or name a parent"):
        load_profile(write(tmp_path, "figures: {figure_dpi: 100, smooth_steps: 1}"))


def test_an_empty_profile_with_a_parent_is_the_parent(tmp_path: Path) -> None:
    loaded = load_profile(write(tmp_path, "extends: smoke"))
    assert loaded.profile == "mine"
    assert loaded.model_copy(update={"profile": "smoke"}) == load_profile("smoke")


def test_overrides_are_checked_like_a_file() -> None:
    assert load_profile("smoke", {"run.seed": 5}).run.seed == 5
    with pytest.raises(ParamsError, match="did you mean seed"):
        load_profile("smoke", {"run.sed": 5})
    with pytest.raises(ParamsError, match=r"section\.name"):
        load_profile("smoke", {"seed": 5})


@given(st.integers(1, 12), st.integers(2, 16), st.integers(1, 64), st.integers(1, 8))
def test_the_settings_that_a_refusal_names_do_work(prompts: int, group: int, micro: int, processes: int) -> None:
    problem = params.group_problem(prompts, group, micro, processes)
    assert (problem is None) == (prompts * group % (micro * processes) == 0)
    if problem and "micro_batch: " in problem:
        for word in problem.rpartition("micro_batch ")[2].split("micro_batch: ")[1:]:
            assert params.group_problem(prompts, group, int(word.split()[0]), processes) is None
    elif problem:
        for word in problem.split("prompts_per_step: ")[1:]:
            assert params.group_problem(int(word.split()[0]), group, 1, processes) is None


def test_no_setting_is_in_two_sections_of_one_notebook() -> None:
    for stage in stages.stages(2):
        known = params.fields_of(stage.sections)
        assert not set(known) & set(notebooks.ALWAYS)


def test_deep_merge_replaces_lists_whole_and_keeps_siblings() -> None:
    assert params.merge({"a": {"x": [1, 2], "y": 1}}, {"a": {"x": [3]}}) == {"a": {"x": [3], "y": 1}}
