"""The Proposer's pairs. If these break, it learns sets it is examined on, or modules that are not what was asked."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib import corpus, policy, proposals, sft
from kzlib.apis import catalogue, in_classes, sample_sets
from kzlib.prompts import calls_of, proposer_prompt, spelled_call
from kzlib.teacher.grammar import draft_for, module_source, writable
from kzlib.teacher.graph import execute
from kzlib.validity import check_validity
from kzlib.verifier import Verifier

CLASSES = ["elementwise", "activation", "reduction", "softmax", "matmul"]
ALLOWED = in_classes(CLASSES)
ASKED = sample_sets(60, 0, allowed=ALLOWED)
WRITABLE = [api.name for api in catalogue() if writable(api.name)]
SETS = proposals.learning_sets(120, 1, "cooccurrence", (2, 3), ALLOWED, ASKED)
WRITTEN = [written for _, part in proposals.modules(SETS, 1, workers=1) for written in part]


def test_no_set_that_is_asked_for_is_learned_in_any_order() -> None:
    apart = [tuple(reversed(s)) for s in ASKED]
    learned = proposals.learning_sets(3000, 0, "cooccurrence", (2, 3), ALLOWED, apart)
    assert not {frozenset(s) for s in learned} & {frozenset(s) for s in ASKED}
    assert len(learned) == len(set(learned)) == 3000
    assert {len(s) for s in learned} == {2, 3}


@pytest.mark.parametrize("sampler", ["uniform", "frontier"])
def test_the_sets_come_from_the_sampler_of_the_run(sampler: str) -> None:
    """An ablation of the sampler must reach what the Proposer learns."""
    other = proposals.learning_sets(120, 1, sampler, (2, 3), ALLOWED, ASKED)  # type: ignore[arg-type]
    assert set(other) != set(SETS)
    assert all(writable(name) for s in other for name in s)


def test_where_few_sets_exist_all_but_those_apart_are_learned() -> None:
    names = ("torch.exp", "torch.sum", "torch.abs", "torch.unravel_index")  # the last one the grammar cannot write
    found = proposals.learning_sets(100, 0, "cooccurrence", (2, 3), names, [("torch.abs", "torch.exp")])
    assert sorted(found) == [
        ("torch.abs", "torch.exp", "torch.sum"),
        ("torch.abs", "torch.sum"),
        ("torch.exp", "torch.sum"),
    ]


def test_most_sets_get_a_module_and_the_gates_let_it_through() -> None:
    """The cheap checks of the writer stand for the gates: nearly all modules must pass the real ones."""
    assert len(WRITTEN) > 0.7 * len(SETS)
    sample = [written.task for written in WRITTEN[:40]]
    with Verifier(device="cpu", workers=1) as verifier:
        found = list(check_validity(sample, [task.apis for task in sample], verifier))
    bad = [(v.gate, v.message) for v in found if not v.valid and v.gate != "near_copy"]
    assert len(bad) <= 2, bad


def test_the_same_modules_whatever_the_number_of_workers() -> None:
    assert [written for _, part in proposals.modules(SETS, 1, workers=2) for written in part] == WRITTEN


def test_a_prompt_names_each_call_as_one_token_that_the_module_holds() -> None:
    examples = sft.proposer_examples(WRITTEN)
    tokenizer = policy.build_tokenizer(sft.texts(examples), 1024, calls=calls_of(WRITTEN))
    for written, example in zip(WRITTEN, examples, strict=True):
        prompt, answer = (
            tokenizer(t, add_special_tokens=False)["input_ids"] for t in (example.prompt, example.completion)
        )
        for call in map(spelled_call, written.apis):
            (token,) = tokenizer(call, add_special_tokens=False)["input_ids"]
            assert token in prompt and token in answer, (call, example)
        assert tokenizer.decode(answer) == example.completion


def test_a_prompt_is_in_the_order_of_the_calls() -> None:
    for written in WRITTEN:
        forward = written.source.split("def forward")[1]
        places = [forward.find(call) for call in map(spelled_call, written.apis) if call in forward]
        assert places == sorted(places), written
    assert sum(w.apis != tuple(sorted(w.apis)) for w in WRITTEN) > 20  # all orders, not the alphabet's


def test_prompts_of_every_catalogue_name_differ() -> None:
    prompts = [proposer_prompt((api.name,)) for api in catalogue()]
    assert len(set(prompts)) == len(prompts)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(WRITABLE), min_size=1, max_size=3))
def test_the_plain_spelling_computes_what_the_draft_does(seed: int, apis: list[str]) -> None:
    """Shapes and constants put in place, methods as functions: same outputs from the same weights."""
    import torch

    draft = draft_for(tuple(dict.fromkeys(apis)), random.Random(seed))
    if draft is None:
        return
    plain = proposals.plain_source(draft)
    draft.rng = random.Random(0)
    outputs = []
    for source in (plain, module_source(draft)):
        space = execute(source)
        torch.manual_seed(0)
        model = space["Model"](*space["get_init_inputs"]())
        torch.manual_seed(1)
        outputs.append(model(*space["get_inputs"]()))
    assert torch.equal(torch.nan_to_num(outputs[0]), torch.nan_to_num(outputs[1])), plain


def test_their_kernels_are_the_same_for_any_number_of_workers_fit_an_answer_and_pass() -> None:
    """The Coder's pairs are these modules with the teacher's kernels."""
    made = list(corpus.for_modules(WRITTEN, "triton", "plain", 640, workers=2))
    assert made == [k for w in WRITTEN if (k := corpus.kernel_for(w, "triton")) and len(k.candidate.source) < 1600]
    assert len(made) > 0.5 * len(WRITTEN)
    with Verifier(device="cpu", workers=1) as verifier:
        verdicts = list(verifier.verify([k.task for k in made[:16]], [k.candidate for k in made[:16]]))
    assert [v.message for v in verdicts if not v.passed] == []
    short = list(corpus.for_modules(WRITTEN, "triton", "plain", 300, workers=1))
    assert short == [k for k in made if len(k.candidate.source) < 750]
    assert {k.family for k in made} <= set(CLASSES)
