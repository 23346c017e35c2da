"""Exercises of notebook 02: byte-pair merges, the completion-only mask, and what a schedule changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kzlib.exercises.feedback import ask, brief, close, numbers, require

EXERCISES = ("merge", "labels", "traffic")


def merge(answer: Callable[..., Any]) -> str:
    """Split a word into tokens by byte-pair merges.

    >>> from kzlib.exercises import check
    >>> print(check("02.merge", lambda word, merges: list(word)))
    not yet (02.merge): no merge was applied: "abab" with the merge (a, b) is ['ab', 'ab']
    """
    require(
        ask(answer, "abab", [("a", "b")]) != list("abab"),
        "no merge was applied: \"abab\" with the merge (a, b) is ['ab', 'ab']",
    )
    cases = [
        ("abab", [("a", "b")], "each place where the pair stands is merged"),
        ("aaa", [("a", "a")], "places are taken from the left and do not overlap"),
        ("abc", [("b", "c"), ("a", "b")], "merges are applied in their order: (b, c) comes first and uses up the b"),
        ("abcabc", [("a", "b"), ("ab", "c")], "a later merge works on the tokens that earlier ones made"),
        ("x", [("a", "b")], "a word without any pair stays as it is"),
    ]
    for word, merges, reason in cases:
        found, truth = ask(answer, word, merges), _merged(word, merges)
        require(
            isinstance(found, list) and found == truth,
            f'"{word}" with {merges} is {truth}, yours is {brief(found)}: {reason}',
        )
    return "merges are learned once, from counts, and applied in that order ever after"


def _merged(word: str, merges: Sequence[tuple[str, str]]) -> list[str]:
    tokens = list(word)
    for pair in merges:
        i = 0
        while i < len(tokens) - 1:
            if (tokens[i], tokens[i + 1]) == pair:
                tokens[i : i + 2] = ["".join(pair)]
            i += 1
    return tokens


def labels(answer: Callable[..., Any]) -> str:
    """The labels of one row: what is scored, and -100 where nothing is.

    >>> from kzlib.exercises import check
    >>> print(check("02.labels", lambda prompt, kernel, end: [-100] * len(prompt) + kernel))
    not yet (02.labels): the end token is not learned: a model trained so would never stop
    """
    prompt, kernel, end = [5, 6, 7], [8, 9], 2
    found, truth = ask(answer, prompt, kernel, end), [-100, -100, -100, 8, 9, 2]
    require(isinstance(found, list), "return a list of numbers")
    require(found != truth[:-1], "the end token is not learned: a model trained so would never stop")
    require(found != [*truth[:-1], -100], "the end token is masked: a model trained so would never stop")
    require(found[:3] != prompt, "the prompt is scored: its labels are -100, whatever its tokens are")
    require(
        found != [*truth[1:], -100], "do not shift: the model compares each label with the token before it by itself"
    )
    require(len(found) == 6, f"one label for each token of prompt, kernel and end: 6, yours has {len(found)}")
    require(found == truth, f"for prompt {prompt}, kernel {kernel}, end {end} it is {truth}, yours is {brief(found)}")
    require(ask(answer, [1], [3, 3, 3], 0) == [-100, 3, 3, 3, 0], "it holds for one row only: use the lengths given")
    return "loss falls on the kernel and on the decision to stop"


def traffic(answer: Callable[..., Any]) -> str:
    """Kernel launches, and bytes moved, of a chain of elementwise operators.

    >>> from kzlib.exercises import check
    >>> print(check("02.traffic", lambda operators, n, fused: (1 if fused else operators, 8 * n * operators)))
    not yet (02.traffic): fused, values between operators stay in registers: the input is read once, the output ...
    """
    found = numbers(ask(answer, 3, 1000, False), 2, "return two numbers: launches and bytes")
    require(found[0] == 3, f"unfused, each of the 3 operators is a launch of its own; yours counts {found[0]}")
    require(
        found[1] != 12000, "unfused, each operator also writes its result: 4 bytes read and 4 written for each number"
    )
    require(close(found[1], 24000), f"3 operators on 1000 float32 numbers move 3 * 8 * 1000 bytes, yours {found[1]}")
    found = numbers(ask(answer, 3, 1000, True), 2, "return two numbers: launches and bytes")
    require(found[0] == 1, "fused, there is one launch, however long the chain")
    require(
        close(found[1], 8000),
        "fused, values between operators stay in registers: the input is read once, the output written once, "
        f"8000 bytes; yours counts {found[1]}",
    )
    require(close(ask(answer, 7, 10, True), [1, 80]), "it holds for 3 operators and 1000 numbers only")
    return "a schedule changes launches and bytes, never the values: that is why speed may be asked for"
