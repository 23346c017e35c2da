"""A policy: tokenizer and causal LM, built from scratch or loaded; and text generation through one function.

A from-scratch model is a Llama- or Qwen2-type network of transformers; any Hub id or local folder loads the same way.
Source: DESIGN section 4; issue 7 item 5.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)
from transformers.utils import logging as hf_logging

from kzlib.decoding import sample_rows, sampler_of

PAD, END = "<|pad|>", "<|end|>"
ROLE_TOKENS = ("<|coder|>", "<|proposer|>", "<|triton|>", "<|cuda|>", "<|kernel|>", "<|module|>", "<|error|>")

Engine = Literal["transformers", "vllm", "openai"]
Kind = Literal["llama", "qwen2"]

# Merges stay inside a clause: up to a comma or a bracket, never over a line's end, so that a call can be composed with
# any other; digits stay single, so that numbers are copied digit by digit. Measured on 1,261 teacher samples with 2,048
# tokens: 128 tokens for module and kernel, against 229 with pieces of one name and 97 with whole lines.
PIECES = r"\n *|[0-9]|[^\n0-9,(]+[,(]*|[,(]+"
LINES = re.compile(r"[^\n]*\n+|[^\n]+$")  # a line with the blank lines after it
IDIOM_TEXTS = 4000  # texts in which idioms are looked for


@dataclass(frozen=True, slots=True)
class Generation:
    """One sampled text: what was written, how many tokens, and why it ended ("stop" at the end token, or "length")."""

    text: str
    tokens: int
    finish_reason: str


def idioms(texts: Sequence[str], share: float, limit: int) -> list[str]:
    """Whole lines, and runs of lines, that at least `share` of the texts hold: boilerplate worth one token each.

    Byte-pair merging with lines for letters; a run ends at a blank line, so that a text begins with the same token as
    others, whatever follows. What carries a choice (an operator, a chain) is rarer, and stays text, so
    that a model can still compose it. At most `limit`, the ones that save most text first.

    >>> idioms(["import x\\nimport y\\nfoo\\n", "import x\\nimport y\\nbar\\n"], share=0.9, limit=8)
    ['import x\\nimport y\\n']
    """
    units = [LINES.findall(text) for text in texts]
    enough = max(2, math.ceil(share * len(units)))
    where: dict[tuple[str, str], set[int]] = defaultdict(set)  # pair -> texts that hold it
    for i, text in enumerate(units):
        for pair in _pairs(text):
            where[pair].add(i)
    frequent = {pair for pair, held in where.items() if len(held) >= enough}
    while frequent:
        best = max(frequent, key=lambda pair: (len(where[pair]), pair))
        for i in list(where[best]):
            before, units[i] = set(_pairs(units[i])), _join(units[i], best)
            after = set(_pairs(units[i]))
            for pair in before ^ after:
                held = where[pair]
                held.discard(i) if pair in before else held.add(i)
                (frequent.add if len(held) >= enough else frequent.discard)(pair)
    found = Counter(unit for text in units for unit in set(text) if len(unit.strip()) >= 8)
    kept = [unit for unit, count in found.items() if count >= enough]
    return sorted(kept, key=lambda unit: (-found[unit] * len(unit), unit))[:limit]


def _pairs(units: list[str]) -> list[tuple[str, str]]:
    return [pair for pair in pairwise(units) if not pair[0].endswith("\n\n")]


def _join(units: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    i = 0
    while i < len(units):
        if i + 1 < len(units) and (units[i], units[i + 1]) == pair:
            out.append(units[i] + units[i + 1])
            i += 2
        else:
            out.append(units[i])
            i += 1
    return out


def build_tokenizer(
    texts: Iterable[str], vocab_size: int, idiom_share: float = 0.004, calls: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer trained on `texts`, up to half of it for idioms; any text round-trips.

    Each of `calls` is one token wherever it stands, so that a call can be copied; no idiom holds one.

    >>> tokenizer = build_tokenizer(["x = tl.load(p)\\n" * 3], vocab_size=300)
    >>> tokenizer.decode(tokenizer("y = 1\\n")["input_ids"])
    'y = 1\\n'
    """
    texts = list(texts)
    found = idioms(texts[:IDIOM_TEXTS], idiom_share, limit=vocab_size // 2)
    whole = [*calls, *(unit for unit in found if not any(call in unit for call in calls))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(whole),
        special_tokens=[AddedToken(t, special=True) for t in (PAD, END, *ROLE_TOKENS)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(unit, special=False, normalized=False) for unit in whole])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def build_model(
    tokenizer: PreTrainedTokenizerFast,
    kind: Kind = "llama",
    layers: int = 4,
    hidden: int = 192,
    heads: int = 4,
    kv_heads: int | None = None,
    intermediate: int | None = None,
    max_positions: int = 2048,
    seed: int = 0,
) -> Any:
    """A causal LM with tied embeddings and random weights drawn from `seed`, in fp32.

    >>> tokenizer = build_tokenizer(["x"], vocab_size=270)
    >>> model = build_model(tokenizer, layers=1, hidden=16, heads=2)
    >>> model.config.vocab_size == len(tokenizer)
    True
    """
    config_type = {"llama": LlamaConfig, "qwen2": Qwen2Config}[kind]
    config = config_type(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=intermediate or 64 * round(hidden * 8 / 3 / 64 + 0.5),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads or heads,
        max_position_embeddings=max_positions,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model


def count_parameters(model: Any) -> int:
    """Weights in the model, tied ones once."""
    return sum(p.numel() for p in model.parameters())


def kept(model: Any, device: str) -> Any:
    """The model as a stage hands it on: on the CPU, in fp16 if it was trained on a GPU (bf16 would round RL away).

    The model itself is moved. A step of 1e-5 is lost in bf16's eight bits on most weights, not in fp16's eleven.
    """
    return model.to("cpu", None if device == "cpu" else torch.float16)


def save(model: Any, tokenizer: PreTrainedTokenizerFast, path: str | os.PathLike[str]) -> Path:
    """Model and tokenizer in one folder, in the Hub's format; the folder appears whole or not at all."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    if path.exists():
        shutil.rmtree(path)
    part.rename(path)
    return path


def load(path_or_id: str | os.PathLike[str], device: str = "cpu", dtype: str | None = None) -> tuple[Any, Any]:
    """(model, tokenizer) from a folder or a Hub id; bf16 on a GPU, fp32 on a CPU unless `dtype` says otherwise."""
    name = str(path_or_id)
    wanted = getattr(torch, dtype or ("bfloat16" if device.startswith("cuda") else "float32"))
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=wanted, attn_implementation="sdpa")
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise FileNotFoundError(
            f"no model at {name!r} ({reason}): give a folder that holds one, or a Hub id this machine can reach"
        ) from error
    tokenizer.padding_side = "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model.to(device), tokenizer  # type: ignore[arg-type]


def fingerprint(model: Any) -> str:
    """Sixteen hex digits over every weight's value: equal iff they are. Proves what an engine serves (P26)."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().float().contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def generate(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    n: int = 1,
    max_new_tokens: int = 512,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int = 0,
    engine: Engine = "transformers",
    batch_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Generation]]:
    """`n` texts for each prompt, in the prompts' order; `temperature=0` is greedy.

    `model` is a loaded model for "transformers", a folder or Hub id for "vllm", an `Endpoint` for "openai". The same
    seed gives the same texts on the same engine, device and batch size. `progress(done, total)` counts texts.
    """
    if n < 1:
        raise ValueError(f"n is {n}: ask for one text or more")
    if engine != "transformers":
        from kzlib import engines

        return engines.generate(engine, model, prompts, n, max_new_tokens, temperature, top_p, seed, progress)
    batch_size = batch_size or (256 if model.device.type == "cuda" else 64)
    flat = [prompt for prompt in prompts for _ in range(n)]
    lengths = [len(ids) for ids in tokenizer(flat, add_special_tokens=False)["input_ids"]] if flat else []
    order = sorted(range(len(flat)), key=lambda i: lengths[i])  # batches of like length: little padding
    out: list[Generation | None] = [None] * len(flat)
    model = sampler_of(model)
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        for start in range(0, len(flat), batch_size):
            chosen = order[start : start + batch_size]
            texts = _generate_batch(model, tokenizer, [flat[i] for i in chosen], max_new_tokens, temperature, top_p)
            for i, text in zip(chosen, texts, strict=True):
                out[i] = text
            if progress:
                progress(min(start + batch_size, len(flat)), len(flat))
    done = [g for g in out if g is not None]
    return [done[i * n : (i + 1) * n] for i in range(len(prompts))]


def _generate_batch(
    model: Any, tokenizer: Any, prompts: list[str], max_new_tokens: int, temperature: float, top_p: float
) -> list[Generation]:
    training = model.training
    model.eval()
    rows = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    written = sample_rows(model, tokenizer, rows, max_new_tokens, temperature, top_p)
    model.train(training)
    return [_cut(row, tokenizer) for row in written]


def _cut(ids: list[int], tokenizer: Any) -> Generation:
    """The text up to the end token; an answer without one was cut off by the token limit."""
    stop = tokenizer.eos_token_id
    if stop in ids:
        ids = ids[: ids.index(stop) + 1]
        return Generation(tokenizer.decode(ids, skip_special_tokens=True), len(ids), "stop")
    return Generation(tokenizer.decode(ids, skip_special_tokens=True), len(ids), "length")


def same_policy(model: Any, tokenizer: Any, served: Callable[[list[str]], list[str]], prompts: list[str]) -> None:
    """Raise unless an engine continues the prompts greedily as `model` does: after a weight sync both must (P26)."""
    ours = [g[0].text for g in generate(model, tokenizer, prompts, 1, max_new_tokens=16, temperature=0.0)]
    theirs = served(prompts)
    for prompt, a, b in zip(prompts, ours, theirs, strict=True):
        if a != b:
            raise RuntimeError(
                f"the engine does not serve the trainer's weights: after {prompt[-40:]!r} it wrote {b[:40]!r}, "
                f"the trained model {a[:40]!r}; start the engine again from the newest checkpoint"
            )


def release(device: str = "cuda") -> int:
    """Free what deleted models held and return the bytes still held on the device (0 on a CPU)."""
    gc.collect()
    if not (device.startswith("cuda") and torch.cuda.is_available()):
        return 0
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.cuda.memory_allocated()


def quiet() -> None:
    """Silence the libraries' own bars and advice: progress is ours to show."""
    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
