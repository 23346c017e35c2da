"""Tokenizer, model and generation. If these break, text is lost on its way through, or a seed does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rl_doubles import tiny

from kzlib import decoding, policy, prompts
from kzlib.policy import build_tokenizer, fingerprint, generate, idioms

CORPUS = [f"import torch\nimport triton\n\n\ndef f{i}(x):\n    return x * {i}\n" for i in range(30)]
TOKENIZER = build_tokenizer(CORPUS, vocab_size=320)


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_round_trips(text: str) -> None:
    ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]
    assert TOKENIZER.decode(ids) == text


@given(st.lists(st.sampled_from(["import torch\n", "import triton\n", " ", "x", "\n", "import", "7"]), max_size=12))
@settings(max_examples=150, deadline=None)
def test_code_that_holds_idioms_round_trips(parts: list[str]) -> None:
    text = "".join(parts)
    assert TOKENIZER.decode(TOKENIZER(text, add_special_tokens=False)["input_ids"], skip_special_tokens=True) == text


def test_numbers_are_single_digits_and_boilerplate_is_one_token() -> None:
    assert TOKENIZER.tokenize("128") == ["1", "2", "8"]
    assert len(TOKENIZER.tokenize("import torch\nimport triton\n\n\n")) == 1
    assert idioms(CORPUS, share=0.5, limit=9) == ["import torch\nimport triton\n\n\n"]


def test_vocabulary_is_never_larger_than_asked() -> None:
    assert len(build_tokenizer(CORPUS, vocab_size=300)) <= 300


def test_same_seed_same_texts_another_seed_others() -> None:
    model, tokenizer = tiny()
    a = generate(model, tokenizer, ["ab", "c"], n=3, max_new_tokens=12, seed=1)
    assert a == generate(model, tokenizer, ["ab", "c"], n=3, max_new_tokens=12, seed=1)
    assert a != generate(model, tokenizer, ["ab", "c"], n=3, max_new_tokens=12, seed=2)
    assert len({g.text for group in a for g in group}) > 1  # samples of one prompt differ too


def test_generation_leaves_the_random_state_and_the_mode_alone() -> None:
    model, tokenizer = tiny()
    model.train()
    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    generate(model, tokenizer, ["a"], max_new_tokens=4)
    assert torch.equal(torch.rand(1), wanted)
    assert model.training


def test_answers_come_back_in_the_prompts_order_and_greedy_ignores_padding() -> None:
    model, tokenizer = tiny()
    texts = ["abcdefgh", "a", "abc", "ModelNew"]
    together = generate(model, tokenizer, texts, max_new_tokens=8, temperature=0, batch_size=2)
    alone = [generate(model, tokenizer, [t], max_new_tokens=8, temperature=0)[0] for t in texts]
    assert together == alone


def test_rows_that_leave_the_batch_change_nothing_for_the_others() -> None:
    """Greedy, against transformers' own generate, with an end token that comes early in some rows."""
    model, tokenizer = tiny()
    prompts = ["abc", "ModelNew: ab", "h", "class", "e", "fgh abc"]
    rows = tokenizer(prompts)["input_ids"]
    free = decoding.sample_rows(model, tokenizer, rows, 12, 0.0, 1.0)
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(free[0][3])
    ours = decoding.sample_rows(model, tokenizer, rows, 12, 0.0, 1.0)
    assert len({len(row) for row in ours}) > 1
    batch = tokenizer(prompts, padding=True, return_tensors="pt")
    theirs = model.generate(
        batch["input_ids"], attention_mask=batch["attention_mask"],
        max_new_tokens=12, do_sample=False, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
    )[:, batch["input_ids"].shape[1] :].tolist()  # fmt: skip
    assert [policy._cut(row, tokenizer) for row in ours] == [policy._cut(row, tokenizer) for row in theirs]


def test_the_gpus_loop_writes_what_the_cpus_loop_writes() -> None:
    """Greedy, rows of unlike length, an end token that comes early in some rows; without the recording here."""
    model, tokenizer = tiny()
    rows = tokenizer(["abc", "ModelNew: ab", "h", "class", "e", "fgh abc"])["input_ids"]
    model.eval()
    free = decoding.sample_rows(model, tokenizer, rows, 40, 0.0, 1.0)
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(free[0][3])
    ours = decoding.sample_rows(model, tokenizer, rows, 40, 0.0, 1.0)
    with torch.no_grad():
        theirs = decoding._replayed(model, tokenizer, rows, 40, 0.0, 1.0)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[: len(mine)] == mine
        assert set(other[len(mine) :]) <= {tokenizer.pad_token_id}
    assert len({len(row) for row in ours}) > 1


def test_a_step_for_the_recording_looks_at_no_value() -> None:
    """A value that is looked at (`.item()`, `if tensor:`) cannot be recorded; fake tensors refuse it as well."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    model, tokenizer = tiny()
    model.eval()
    with torch.no_grad():
        batch = decoding._Batch(model, tokenizer, [[9, 8, 7], [9]], 6, 1.0, 0.9)
        with FakeTensorMode(allow_non_fake_inputs=True):
            batch.step()


@pytest.mark.gpu
def test_a_recorded_step_writes_what_the_cpu_writes_and_draws_anew() -> None:
    model, tokenizer = tiny()
    rows = tokenizer(["abc", "ModelNew: ab", "h", "class", "e", "fgh abc"])["input_ids"]
    wanted = decoding.sample_rows(model.eval(), tokenizer, rows, 40, 0.0, 1.0)
    assert decoding.sample_rows(model.to("cuda"), tokenizer, rows, 40, 0.0, 1.0) == wanted  # fp32 on both
    a, b = (generate(model, tokenizer, ["ab"] * 8, max_new_tokens=30, seed=seed) for seed in (1, 1))
    assert a == b
    assert len({g[0].text for g in a}) > 1
    trained = decoding.sampler_of(model)
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert (next(decoding.refreshed(trained, model).parameters()) == 0).all()


def test_top_p_keeps_the_smallest_set_that_holds_p() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    torch.manual_seed(0)
    assert set(decoding.draw(logits, 1.0, 0.7).tolist()) == {0, 1}
    assert set(decoding.draw(logits, 1.0, 0.4).tolist()) == {0}
    counts = torch.bincount(decoding.draw(logits, 1.0, 1.0), minlength=4) / 4000
    assert torch.allclose(counts, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.04)


def test_a_cut_answer_says_length_and_an_ended_one_stop() -> None:
    model, tokenizer = tiny()
    (a,), end = tokenizer("a")["input_ids"], tokenizer.eos_token_id
    assert policy._cut([a, end, a], tokenizer) == policy.Generation("a", 2, "stop")
    assert policy._cut([a, a], tokenizer) == policy.Generation("aa", 2, "length")
    assert all(g[0].tokens <= 3 for g in generate(model, tokenizer, ["a"] * 4, max_new_tokens=3))


def test_saved_and_loaded_is_the_same_policy(tmp_path: Path) -> None:
    model, tokenizer = tiny()
    policy.save(model, tokenizer, tmp_path / "m")
    policy.save(model, tokenizer, tmp_path / "m")  # again, over the first
    loaded, loaded_tokenizer = policy.load(tmp_path / "m")
    assert fingerprint(loaded) == fingerprint(model)
    assert loaded_tokenizer("import x")["input_ids"] == tokenizer("import x")["input_ids"]
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    with torch.no_grad():
        next(loaded.parameters()).view(-1)[0] += 1e-3
    assert fingerprint(loaded) != fingerprint(model)


def test_weights_trained_on_a_gpu_are_kept_in_half_and_still_proven_equal(tmp_path: Path) -> None:
    model, tokenizer = tiny()
    half = policy.kept(model, "cuda")
    assert next(half.parameters()).dtype == torch.float16
    path = policy.save(half, tokenizer, tmp_path / "m")
    assert fingerprint(policy.load(path)[0]) == fingerprint(half)
    assert next(policy.kept(tiny()[0], "cpu").parameters()).dtype == torch.float32


def test_a_missing_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="give a folder that holds one"):
        policy.load(tmp_path / "none")


def test_an_engine_with_old_weights_is_noticed() -> None:
    old, tokenizer = tiny(seed=0)
    new, _ = tiny(seed=1)

    def serve(prompts: list[str]) -> list[str]:
        return [g[0].text for g in generate(old, tokenizer, prompts, max_new_tokens=16, temperature=0)]

    policy.same_policy(old, tokenizer, serve, ["abc", "d"])
    with pytest.raises(RuntimeError, match="does not serve the trainer's weights"):
        policy.same_policy(new, tokenizer, serve, ["abc", "d"])


def test_seed_decides_the_weights() -> None:
    assert fingerprint(tiny(1)[0]) == fingerprint(tiny(1)[0]) != fingerprint(tiny(2)[0])


def test_worded_prompts_name_the_language_and_keep_the_module() -> None:
    module = "class Model(nn.Module):\n    x = {1: 2}"
    for backend, language in (("triton", "Triton"), ("cuda", "CUDA C++")):
        text = prompts.coder_prompt(module, backend, "instruct")  # type: ignore[arg-type]
        assert language in text
        assert module in text
    assert "`torch.relu`" in prompts.proposer_prompt(("torch.relu",), "instruct")
    assert "boom" in prompts.repair_prompt("ask", "code", "boom", "instruct")
