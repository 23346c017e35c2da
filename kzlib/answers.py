"""A model's answer -> the code in it: think tags, fences of every kind, bare code, cut text (reports P25, P38-P41).

The one rule behind all: code is what parses as Python and defines the entry class. Fences and tags only propose
where it may begin and end, so a fence in a docstring or a tag in a string cannot cut a kernel in two.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from kzlib.records import Outcome

# Most answers have under ten fences; the cap bounds the work on a text made of nothing else.
MAX_FENCES = 120
MAX_STARTS = 40
_ALLOW_INCOMPLETE_INPUT = 0x4000  # CPython's PyCF_ALLOW_INCOMPLETE_INPUT, which `ast` does not export
CUT_REASONS = frozenset({"length", "max_tokens", "max_new_tokens", "model_length"})

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_TAG = re.compile(
    rf"(?P<close></(?:{_NAMES})\s*>|<\|end_of_thought\|>|◁/think▷|\[/THINK\]|<\|channel\|>\s*final\s*<\|message\|>)"
    rf"|(?P<open><(?:{_NAMES})\s*>|<\|begin_of_thought\|>|◁think▷|\[THINK\]|<\|channel\|>\s*analysis\s*<\|message\|>)",
    re.IGNORECASE,
)
_END_TOKENS = re.compile(r"(?:\s*(?:<\|[\w./-]{1,40}\|>|</s>|<eos>|<end>|<end_of_turn>|<｜[^｜\n]{1,40}｜>))+\s*\Z")
_FENCE = re.compile(r"(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?\Z")
_IMPORT = re.compile(r"(?:[\w+#.{}-]*\s+)?((?:import|from)\s+\S.*)\Z")
_START = re.compile(r"(?:import |from \S+ import |class \w|def \w|@\w|#|\"\"\"|''')")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found: `code`, or None with `outcome` NO_CODE or TRUNCATED.

    `rule` says how it was found: "whole", "fence", "unclosed_fence", "bare" ("none" without code);
    `block` is the fence's place in the text, counted from 0; `notes` are sentences for the reader.
    """

    code: str | None
    outcome: Outcome | None
    rule: str
    notes: tuple[str, ...] = ()
    block: int | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    code: str
    start: int  # character offsets of the content in the text
    end: int
    index: int


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int
    run: str
    info: str
    lead: str  # what stands before the fence on its line
    index: int

    @property
    def own_line(self) -> bool:
        return _QUOTE.match(self.lead) is not None

    def closes(self, opening: _Fence) -> bool:
        return self.run[0] == opening.run[0] and len(self.run) >= len(opening.run) and self.own_line and not self.info


def extract(text: str, finish_reason: str = "stop", entry: str = "ModelNew") -> Extraction:
    """The code of an answer; never raises, and never returns code that does not parse or lacks `entry`.

    >>> extract("Sure:\\n```python\\nclass ModelNew: pass\\n```\\nDone.").code
    'class ModelNew: pass\\n'
    >>> extract("```python\\nclass ModelNew:\\n    def forward(self, x", "length").outcome.value
    'truncated'
    >>> extract("I cannot do that.").outcome.value
    'no_code'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    body = _END_TOKENS.sub("", text)
    cut = finish_reason in CUT_REASONS and body == text
    if not cut and _defines(body, entry):
        return Extraction(_tidy(body), None, "whole")
    visible, unclosed_thought = _visible(body)
    found = _closed(visible, entry)
    if not found and visible != body:
        # A tag inside a block that parses is a string or a comment of the code, not the end of a thought.
        found = [b for b in _closed(body, entry) if _TAG.search(body, b.start, b.end)]
    outer = next(_unclosed(visible, entry), None) if found else None
    if found and (outer is None or outer.start >= found[-1].start):  # else the fences are in a string of `outer`
        return _chosen(found, visible, entry)
    if unclosed_thought:
        return Extraction(None, Outcome.TRUNCATED, "none", ("the answer ends inside its thinking part",))
    return _open_ended(visible, cut, entry)


def _chosen(found: list[_Block], visible: str, entry: str) -> Extraction:
    notes = []
    if len(found) > 1:
        notes.append(f"{len(found)} blocks define {entry}: the last one is taken")
    if re.search(rf"^\s*class\s+{re.escape(entry)}\b", visible[found[-1].end :], re.MULTILINE):
        notes.append(f"a later {entry} does not parse or is not closed: the last whole one is taken")
    return Extraction(_tidy(found[-1].code), None, "fence", tuple(notes), found[-1].index)


def _open_ended(text: str, cut: bool, entry: str) -> Extraction:
    """Code that no fence closes: after an opening fence, or bare with prose around it."""
    best = next(_unclosed(text, entry), None)
    rule = "unclosed_fence"
    if best is None and not (fences := _fences(text)):
        best, rule = _bare(text, entry), "bare"
    elif best is None:
        best, rule = _bare(_FENCE.sub("", text), entry) if len(fences) == 1 else None, "bare"
    if best is not None and not cut:
        index = best.index if rule == "unclosed_fence" else None
        return Extraction(_tidy(best.code), None, rule, (), index)
    if cut:
        return Extraction(
            None, Outcome.TRUNCATED, "none", ("the answer reached its length limit before its code ended",)
        )
    if _ends_early(text, entry):
        return Extraction(None, Outcome.TRUNCATED, "none", ("the code stops in the middle of a statement",))
    return Extraction(None, Outcome.NO_CODE, "none", (_why_none(text, entry),))


def _why_none(text: str, entry: str) -> str:
    if re.search(rf"\bclass\s+{re.escape(entry)}\b", text):
        first = next((m.start() for m in re.finditer(r"^", text, re.MULTILINE) if _START.match(text, m.start())), 0)
        line, lines = _error_line(text[first:]), text[first:].split("\n")
        where = f": line {line} is {lines[min(line, len(lines)) - 1].strip()[:80]!r}" if line else ""
        return f"the code that names {entry} is not valid Python{where}"
    if re.search(r"^\s*class\s+\w+", text, re.MULTILINE):
        return f"there is code, but no class named {entry}"
    return "the answer has no code"


def _visible(text: str) -> tuple[str, bool]:
    """The text without its thinking parts, and whether the last of them never ends.

    A closing tag with no opening one hides all before it: chat templates write the opening tag into the prompt (P25).
    An opening tag counts only at the start of a line, so prose may speak of it.
    """
    pieces: list[str] = []
    position, opened = 0, False
    for tag in _TAG.finditer(text):
        if tag["close"]:
            if not opened:
                pieces.clear()
            position, opened = tag.end(), False
        elif not opened and not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip():
            pieces.append(text[position : tag.start()])
            position, opened = tag.end(), True
    if not opened:
        pieces.append(text[position:])
    return "\n".join(pieces), opened


def _fences(text: str) -> list[_Fence]:
    found: list[_Fence] = []
    for match in _FENCE.finditer(text):
        lead = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        fence = _Fence(match.start(), match.end(), match["run"], match["info"].strip(), lead, len(found))
        found.append(fence)
        if len(found) == MAX_FENCES:
            break
    return found


def _closed(text: str, entry: str) -> list[_Block]:
    """Blocks between two fences that parse and define the entry class, in order, none inside another."""
    fences = _fences(text)
    found: list[_Block] = []
    for number, opening in enumerate(fences):
        if found and opening.start < found[-1].end + 3:
            continue
        later = fences[number + 1 :]
        proper = [f for f in later if f.closes(opening)]
        # Second choice: a closing fence at the end of a code line, of another kind, shorter, or with words after it.
        for closing in proper + [f for f in later if f not in proper and (f.own_line or not f.info)]:
            code = _content(text, opening, closing.start, entry)
            if code is not None:
                found.append(_Block(code, opening.end, closing.start, opening.index))
                break
    return found


def _unclosed(text: str, entry: str) -> Iterator[_Block]:
    """Blocks from an opening fence to the end of the text, a partial closing fence (one or two backticks) left out."""
    end = len(re.sub(r"\s*(?<![`~])[`~]{1,2}\s*\Z", "", text))
    for opening in _fences(text):
        code = _content(text, opening, max(end, opening.end), entry)
        if code is not None:
            yield _Block(code, opening.end, end, opening.index)


def _content(text: str, opening: _Fence, end: int, entry: str) -> str | None:
    """The first reading of a fence's content that parses: as it stands, without the fence's indent, dedented."""
    raw = text[opening.end : end].removeprefix("\n")
    if entry not in raw or re.match(r"\s*~~~", raw):  # "~~~python" is a fence, though it is Python too
        return None
    readings = [raw]
    if opening.lead.strip().startswith(">"):
        raw = re.sub(r"^[ \t]*>[ \t]?", "", raw, flags=re.MULTILINE)
        readings = [raw]
    if indent := len(opening.lead.expandtabs(4)):
        readings.append("\n".join(_outdent(line, indent) for line in raw.split("\n")))
    readings.append(textwrap.dedent(raw))
    for code in readings:
        if _defines(code, entry):
            first = _IMPORT.match(opening.info)  # "```python import torch": code on the fence's own line
            return f"{first[1]}\n{code}" if first and _defines(f"{first[1]}\n{code}", entry) else code
    return None


def _outdent(line: str, width: int) -> str:
    stripped = line.lstrip(" \t")
    have = len(line[: len(line) - len(stripped)].expandtabs(4))
    return " " * max(0, have - width) + stripped if stripped else ""


def _bare(text: str, entry: str) -> _Block | None:
    """Code with no fences: from a line that can begin a module to the last line that still parses.

    A class that parses below imports that do not is the rest of a broken answer, not its code.
    """
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if _START.match(line)][:MAX_STARTS]
    for start in starts:
        stop = len(lines)
        while stop > start:
            code = "\n".join(lines[start:stop])
            error = _error_line(code)
            if error is None:
                if _defines(code, entry):
                    left_behind = any(_imports(line) for line in lines[:start])
                    return None if left_behind and not _imports(code) else _Block(code, 0, len(text), 0)
                break
            stop = start + min(error - 1, stop - start - 1)
            if entry not in "\n".join(lines[start:stop]):
                break
    return None


def _imports(code: str) -> bool:
    """True where the text is Python that imports something."""
    return _error_line(code) is None and re.search(r"^(?:import|from) ", code, re.MULTILINE) is not None


def _ends_early(text: str, entry: str) -> bool:
    """True where the code begins well and the text ends before it does."""
    fences = _fences(text)
    tail = text[fences[-1].end :] if fences else text
    if not fences:
        first = next((m.start() for m in re.finditer(r"^", text, re.MULTILINE) if _START.match(text, m.start())), None)
        if first is None:
            return False
        tail = text[first:]
    elif not re.search(r"^\s*(?:class|def|import|from)\b", tail, re.MULTILINE):
        return False
    tail = textwrap.dedent(tail.strip("\n"))
    error = _error_line(tail)
    return error is not None and (_incomplete(tail) or error >= tail.rstrip().count("\n") + 1)


def _incomplete(code: str) -> bool:
    try:
        compile(
            code, "<answer>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | 0x4000, dont_inherit=True
        )
    except SyntaxError as error:
        return "incomplete input" in str(error)
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _error_line(code: str) -> int | None:
    """Line of the first syntax error, 1 for text that cannot be code at all; None where it parses."""
    try:
        _tree(code)
    except SyntaxError as error:
        return max(1, error.lineno or 1)
    except (ValueError, RecursionError, MemoryError):
        return 1
    return None


def _defines(code: str, entry: str) -> bool:
    """Does `code` parse and bind `entry` at module level?"""
    if entry not in code:
        return False
    try:
        tree = _tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(_binds(node, entry) for node in tree.body)


def _tree(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a "\d" in generated text is no news
        return ast.parse(code)


def _binds(node: ast.stmt, entry: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name == entry
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == entry for target in node.targets)
    if isinstance(node, ast.If | ast.Try | ast.With):
        return any(isinstance(child, ast.stmt) and _binds(child, entry) for child in ast.iter_child_nodes(node))
    return False


def _tidy(code: str) -> str:
    return code.strip("\n") + "\n"
