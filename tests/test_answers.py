# ruff: noqa: E501
"""A kernel that was written must be found, a draft or a cut one must not be run (reports P25, P38-P41)."""

from __future__ import annotations

import ast
import textwrap
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kzlib.answers import extract
from kzlib.records import Outcome

CODE = """import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x + 1
"""
DRAFT = CODE.replace("x + 1", "x - 99")
FENCED = '''import torch


def helper(x):
    """Doubles.

    ```bash
    pip install nothing
    ```
    """
    return x * 2


class ModelNew(torch.nn.Module):
    NOTE = """
```python
class ModelNew: pass
```
"""

    def forward(self, x):
        return helper(x)  # ``` even here
'''
TAGS = '''import torch

OPEN = """
<think>
"""
CLOSE = "</think>"


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
'''
STRINGS = '''import torch
SOURCE = r"""
#include <torch/extension.h>
__global__ void k(float* y) { y[0] = 1.f; }  // "quotes" and 'more'
"""
PATTERN = r"\\d+"


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {"a": [1, 2]}

    def forward(self, x):
        try:
            return x.cuda()
        except RuntimeError:
            pass
        return x
'''
CODES = [
    CODE,
    FENCED,
    TAGS,
    STRINGS,
    "if True:\n    class ModelNew:\n        pass\n",
    "class _M: pass\n\n\nModelNew = _M\n",
]


def fence(code: str, tag: str = "python", mark: str = "```", end: str | None = None) -> str:
    return f"{mark}{tag}\n{code}{mark if end is None else end}"


def found(text: str, reason: str = "stop") -> str | None:
    result = extract(text, reason)
    assert (result.code is None) == (result.outcome is not None)
    return result.code


# P38 ------------------------------------------------------------------------------------------------------------------


def test_an_unclosed_fence_still_gives_the_code():
    result = extract(fence(CODE, end=""))
    assert (result.code, result.rule, result.block) == (CODE, "unclosed_fence", 0)


@pytest.mark.parametrize("end", ["``", "`", "``\n", "~~"])
def test_a_partial_closing_fence_is_not_code(end):
    assert found(fence(CODE, end=end)) == CODE


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize(
    "cut", ["    def forward(self, x", "    def forward(self, x):\n        return (x +", '    note = """half']
)
def test_code_cut_in_the_middle_of_a_line_is_truncated_and_not_run(cut, reason):
    text = "```python\nimport torch\n\n\nclass ModelNew(torch.nn.Module):\n" + cut
    assert extract(text, reason).outcome is Outcome.TRUNCATED
    assert extract(text.removeprefix("```python\n"), reason).outcome is Outcome.TRUNCATED


def test_code_that_happens_to_parse_where_the_limit_cut_it_is_truncated():
    assert extract(fence(CODE, end=""), "length").outcome is Outcome.TRUNCATED
    assert extract(CODE, "length").outcome is Outcome.TRUNCATED


def test_a_whole_block_counts_though_the_prose_after_it_was_cut():
    assert found(fence(CODE) + "\nThis kernel is fa", "length") == CODE


# P39 ------------------------------------------------------------------------------------------------------------------


def test_the_block_with_the_entry_class_is_taken_among_several():
    text = "\n\n".join(
        [
            fence("pip install torch\n", "bash"),
            fence("__global__ void k(float* y) {}\n", "cpp"),
            fence(CODE),
            fence("model = ModelNew()\nprint(model)\n"),
        ]
    )
    result = extract(text)
    assert (result.code, result.rule, result.block, result.notes) == (CODE, "fence", 4, ())


def test_of_two_entry_blocks_the_last_is_taken_with_a_notice():
    result = extract("First try:\n" + fence(DRAFT) + "\nBetter:\n" + fence(CODE))
    assert result.code == CODE
    assert "2 blocks define ModelNew" in result.notes[0]


def test_a_whole_block_before_a_broken_one_is_taken_with_a_notice():
    result = extract(fence(CODE) + "\nOr:\n" + fence("class ModelNew(\n", end=""))
    assert result.code == CODE
    assert "later ModelNew" in result.notes[0]


# P40 ------------------------------------------------------------------------------------------------------------------


def test_fences_in_docstrings_do_not_end_the_block_and_prose_is_left_out():
    text = fence(FENCED) + "\nRun it so:\n" + fence("python run.py\n", "bash")
    assert found(text) == FENCED


# P41, P25 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<think>\n", "\n</think>\n"),
        ("", "\n</think>\n"),
        ("<thinking>", "</thinking>"),
        ("<THINK>", "</THINK >"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_the_draft_in_the_thinking_part_is_not_the_answer(before, after):
    assert found(before + "Maybe\n" + fence(DRAFT) + after + fence(CODE)) == CODE
    assert found(before + "Maybe\n" + fence(DRAFT, end="") + after + fence(CODE, tag="")) == CODE
    assert found(before + "Maybe\n" + DRAFT + after + CODE) == CODE
    assert extract(before + fence(DRAFT) + after + "I give up.").outcome is Outcome.NO_CODE


def test_an_answer_that_ends_while_thinking_is_truncated_though_its_draft_would_run():
    assert extract("<think>\n" + fence(DRAFT)).outcome is Outcome.TRUNCATED
    assert extract("<think>\n" + DRAFT, "length").outcome is Outcome.TRUNCATED
    assert found(fence(CODE) + "\n<think>\nWas that right? " + fence(DRAFT)) == CODE


def test_prose_may_mention_a_think_tag():
    assert found("I skip the <think> part.\n" + fence(CODE)) == CODE


# Other shapes ---------------------------------------------------------------------------------------------------------

TAG_SPELLINGS = ["", "python", "Python", "PYTHON", "py", "python3", "Python 3", "triton", "cuda", "c++", "{.python}", "{python}",
                 "python title=\"m.py\"", " python", "pytorch", "text", "python\t", "ipython"]  # fmt: skip


@pytest.mark.parametrize("tag", TAG_SPELLINGS)
@pytest.mark.parametrize("mark", ["```", "````", "~~~"])
def test_every_tag_spelling_and_fence(tag, mark):
    assert found("Here:\n" + fence(CODE, tag, mark) + "\nEnd.") == CODE


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        CODE + "<|endoftext|>",
        CODE + "</s>\n",
        CODE + "<|im_end|><|endoftext|>",
        "Here is the code:\n\n" + CODE + "\nThis adds one to x.",
        "<answer>\n" + CODE + "</answer>",
        CODE.replace("\n", "\r\n"),
        "\ufeff" + CODE,
        "Code: ```python\n" + CODE + "```",
        fence(CODE.rstrip("\n")),
        "1. Kernel:\n\n" + textwrap.indent(fence(CODE), "   "),
        "- " + textwrap.indent(fence(CODE), "  ").lstrip(),
        textwrap.indent(fence(CODE), "> ", lambda _: True),
        textwrap.indent(fence(CODE), "\t"),
        "````markdown\n" + fence(CODE) + "\n````",
        "```python\n" + CODE + "~~~\n",
        fence(CODE.removeprefix("import torch\n"), "python import torch"),
        CODE + "```\nThe opening fence was in the prompt.",
    ],
)
def test_shapes_seen_in_the_wild(text):
    assert found(text) == CODE


def test_an_end_token_shows_that_the_answer_is_whole_whatever_the_reason_says():
    assert found(CODE + "<|endoftext|>", "length") == CODE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "Sorry.",
        fence("ls\n", "bash"),
        fence("class Model:\n    pass\n"),
        fence("class ModelNew(:\n    pass\n"),
    ],
)
def test_no_code_is_said_so(text):
    result = extract(text)
    assert result.outcome is Outcome.NO_CODE
    assert result.notes


def test_a_block_in_a_string_of_an_unclosed_block_is_not_the_answer():
    assert found(fence(FENCED, end="")) == FENCED


def test_another_entry_name():
    assert extract(fence("class Model:\n    pass\n"), entry="Model").code == "class Model:\n    pass\n"


# Wild inputs ----------------------------------------------------------------------------------------------------------

# Prose has no fence, no tag and nothing that can begin a module.
PROSE = st.lists(
    st.sampled_from(["Here is it.", "We fuse both ops.", "It's 2x faster!", "", "* item", "So: x = y?"]), max_size=4
).map("\n".join)
THOUGHTS = st.sampled_from(["", "<think>plan</think>\n", "plan\n</think>\n", "<think>\n" + fence(DRAFT) + "\n</think>\n",
                            "<think>\n```python\nx = (\n</think>\n", fence(DRAFT) + "\n</think>\n"])  # fmt: skip
WRAPS = st.sampled_from(["```", "````", "~~~", "~~~~~"]).flatmap(
    lambda m: st.sampled_from(TAG_SPELLINGS).map(lambda t: (t, m))
)


@given(code=st.sampled_from(CODES), thought=THOUGHTS, before=PROSE, after=PROSE, wrap=WRAPS, indent=st.sampled_from(["", "  ", "    "]),
       others=st.lists(st.sampled_from([fence("ls -l\n", "bash"), fence("m = ModelNew()\n"), fence("int x;\n", "c")]), max_size=2))  # fmt: skip
def test_any_decoration_gives_back_the_same_code(code, thought, before, after, wrap, indent, others):
    block = textwrap.indent(fence(code, *wrap), indent)
    text = thought + "\n\n".join([before, *others[:1], block, *others[1:], after])
    if code == TAGS and thought:
        return  # a tag in the code *and* a thought: which closing tag is the real one cannot be known
    got = found(text)
    assert got is not None
    # Blank lines inside an indented block lose their trailing blanks, as Markdown says.
    assert ast.dump(ast.parse(got)) == ast.dump(ast.parse(code))
    if not indent:
        assert got.strip() == code.strip()


PIECES = ["```", "``", "~~~", "<think>", "</think>", "\n", "class ModelNew", "(", ":", "    pass", '"""', "'", "#", "import torch", "python", "\x00",
          "\ud800", "```python\n", CODE, "<|im_end|>", "\t", "> ", "\\", "\x0c", "é", "-" * 300, "(" * 120, "\r"]  # fmt: skip


@given(text=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=25).map("".join),
       reason=st.sampled_from(["stop", "length", "", "eos"]))  # fmt: skip
def test_never_raises_and_never_returns_what_does_not_parse(text, reason):
    code = found(text, reason)
    if code is not None:
        assert "ModelNew" in code
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)


# FENCED is left out: cut after the block in its string, it is the same text as a whole draft and a cut one.
@given(
    code=st.sampled_from([c for c in CODES if c != FENCED]),
    where=st.floats(0, 1),
    mark=st.sampled_from(["```python\n", ""]),
)
def test_a_text_cut_anywhere_by_the_limit_is_never_run(code, where, mark):
    assert extract(mark + code[: int(where * len(code))], "length").outcome is Outcome.TRUNCATED


def test_a_hostile_text_takes_no_more_than_moments():
    for text in [
        "```\n" * 3000,
        "```ModelNew\n" * 3000,
        "class ModelNew(\n" * 3000,
        "<think>" * 20000,
        "-" * 200000 + "ModelNew",
        "`" * 100000,
    ]:
        assert extract(text).code is None


def test_a_class_below_imports_that_do_not_parse_is_no_code() -> None:
    broken = (
        "import torch\nimport triton\n\n\ndef kernel(x):\n    row = 1\n        m = 2\n\n\nclass ModelNew:\n    pass\n"
    )
    found = extract(broken)
    assert found.code is None and found.outcome is Outcome.NO_CODE
    assert "line 7 is 'm = 2'" in found.notes[0]
    told = extract("First import torch.\n\nimport torch\n\n\nclass ModelNew:\n    pass\n")
    assert told.code is not None and told.code.startswith("import torch")
