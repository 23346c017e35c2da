"""Profile files -> validated parameters: an unknown name or a value of another type stops before anything starts.

A profile is a YAML file under `params/`; it may name one parent with `extends:` and then holds only what differs.
Sections hold flat scalars and lists, and a notebook's parameters cell uses the same names (DESIGN section 2, issue 2).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kzlib.sections import SECTIONS, Params, fields_of, group_problem

__all__ = [
    "SECTIONS",
    "Params",
    "ParamsError",
    "fields_of",
    "group_problem",
    "load_profile",
    "merge",
    "nearest",
    "profile_names",
    "read_yaml",
]

PROFILES = Path(__file__).resolve().parent.parent / "params"


class ParamsError(ValueError):
    """A profile that cannot be used; the text is one sentence a problem and says what to change."""


# --- reading YAML -----------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML 1.2 scalars: 1e-5 is a number, 010 is ten, `yes` and dates stay text, a key given twice is an error."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|false|False", "tTfF"),
    ("null", r"null|Null|~|", ["n", "N", "~", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf)|\.(nan|NaN)", "-+0123456789."),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]  # type: ignore[no-untyped-call]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"{key} is given twice", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(text: str) -> Any:
    """A YAML text under YAML 1.2 rules.

    >>> read_yaml("a: 1e-5")
    {'a': 1e-05}
    >>> read_yaml("a: [yes, 010, 2024-01-01]")
    {'a': ['yes', 10, '2024-01-01']}
    """
    return yaml.load(text, Loader=_Loader)  # noqa: S506  a SafeLoader subclass


def merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merged deeply; everything else is replaced whole.

    >>> merge({"a": {"x": 1, "y": [1, 2]}}, {"a": {"y": [3]}})
    {'a': {'x': 1, 'y': [3]}}
    """
    merged = dict(base)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


# --- profiles ---------------------------------------------------------------------------------------------------------


def profile_names() -> list[str]:
    """Every profile shipped, as `kz run --profile` takes it.

    >>> "laptop" in profile_names()
    True
    """
    return sorted(str(path.relative_to(PROFILES).with_suffix("")) for path in PROFILES.rglob("*.yaml"))


def nearest(name: str, valid: Iterable[str]) -> str:
    """' (did you mean X?)', or '' when nothing is near.

    >>> nearest("learning_rat", ["steps", "learning_rate"])
    ' (did you mean learning_rate?)'
    """
    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def load_profile(name_or_path: str, overrides: Mapping[str, object] | None = None) -> Params:
    """The profile by name ("laptop", "ablations/alpha_0") or path, with overrides such as {"sft.sft_steps": 3}.

    >>> load_profile("smoke", {"run.seed": 7}).run.seed
    7
    """
    path = _find(name_or_path)
    values = _with_parents(path, ())
    for dotted, value in (overrides or {}).items():
        section, _, key = dotted.partition(".")
        if not key:
            raise ParamsError(f"the override {dotted} must be written section.name, such as sft.sft_steps")
        values = merge(values, {section: {key: value}})
    try:
        return Params.model_validate({"profile": path.stem, **values})
    except ValidationError as error:
        raise ParamsError("\n".join(_sentences(error, path.name))) from None


def _with_parents(path: Path, children: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in children:
        circle = " -> ".join(child.stem for child in [*children, path])
        raise ParamsError(f"{path.name} extends itself through {circle}: remove one extends:")
    values = _read(path)
    parent = values.pop("extends", None)
    if parent is None:
        return values
    if not isinstance(parent, str):
        raise ParamsError(f"{path.name}: extends must be the name of one profile, such as extends: laptop")
    return merge(_with_parents(_find(parent), (*children, path.resolve())), values)


def _find(name_or_path: str) -> Path:
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        if path.is_file():
            return path
        raise ParamsError(
            f"there is no profile file {name_or_path}: give a path that exists or one of {', '.join(profile_names())}"
        )
    for folder in (PROFILES, PROFILES / "ablations"):
        if (folder / f"{name_or_path}.yaml").is_file():
            return folder / f"{name_or_path}.yaml"
    names = profile_names()
    raise ParamsError(f"there is no profile {name_or_path}{nearest(name_or_path, names)}; there are {', '.join(names)}")


def _read(path: Path) -> dict[str, Any]:
    try:
        values = read_yaml(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ParamsError(f"{path.name}{line}: not valid YAML ({getattr(error, 'problem', error)})") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ParamsError(f"{path.name}: a profile is a map of sections, such as run: and sft:")
    return values


def _sentences(error: ValidationError, file: str) -> list[str]:
    lines = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        kind, message = problem["type"], problem["msg"]
        if kind == "extra_forbidden":
            lines.append(f"{file}: {where} is not a setting{_suggest(problem['loc'])}")
        elif kind == "missing":
            lines.append(f"{file}: {where} is missing: set it, or name a parent with extends:")
        elif kind == "value_error":
            lines.append(f"{file}: {where + ': ' if where else ''}{problem['ctx']['error']}")
        else:
            lines.append(f"{file}: {where} is {problem['input']!r}, and {_lower(message)}")
    return lines


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).replace("input should be", "it must be")


def _suggest(loc: tuple[int | str, ...]) -> str:
    name = str(loc[-1])
    if len(loc) == 1:
        homes = [section for section, model in SECTIONS.items() if name in model.model_fields]
        if homes:
            return f"; it belongs under {homes[0]}:"
        return nearest(name, [*SECTIONS, "extends"])
    own = SECTIONS[str(loc[0])].model_fields
    if near := nearest(name, own):
        return near
    homes = [f"{section}.{name}" for section, model in SECTIONS.items() if name in model.model_fields]
    if homes:
        return f" (did you mean {homes[0]}?)"
    every = [f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields]
    return nearest(".".join(map(str, loc)), every) or f"; {loc[0]} has {', '.join(own)}"
