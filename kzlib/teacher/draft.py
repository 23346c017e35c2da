"""A Torch module being written: shape so far, lines so far, inputs and constants so far."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

RANGES = {
    "unit": {"unit", "pos", "nonneg", "any"},
    "pos": {"pos", "nonneg", "any"},
    "nonneg": {"nonneg", "any"},
    "any": {"any"},
}
SIZE_NAMES = {
    1: ("length",),
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}


class TooManyInputsError(ValueError):
    """A module of seven inputs: nobody writes one."""


@dataclass
class Draft:
    """The task under construction. `value` is the forward variable; ops add lines and change `shape`."""

    rng: random.Random
    shape: list[int]
    init: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    inputs: list[tuple[str, str]] = field(default_factory=list)  # forward argument, how get_inputs makes it
    constants: dict[str, float] = field(default_factory=dict)  # module-level sizes and settings
    arguments: list[str] = field(default_factory=list)  # constants handed to __init__
    apis: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    value: str = "x"
    range: str = "any"
    exact: bool = True
    grown: bool = False
    done: bool = False  # a loss or a number: nothing may follow
    start: str = "randn"

    # ---------------------------------------------------------------- pieces

    def pick(self, *options):
        return self.rng.choice(options)

    def constant(self) -> float:
        """A number to be copied: mostly the usual ones, now and then any with a few digits."""
        if self.rng.random() < 0.6:
            return self.pick(0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.5, 2.0, 2.5, 3.0)
        return max(0.01, round(self.rng.uniform(0.0, 4.0), self.pick(1, 2, 3)))

    def limit(self) -> float:
        """Where values are cut off: 0.3 to 12, with any digits."""
        return self.pick(
            round(self.rng.uniform(0.3, 3.0), self.pick(1, 2)), float(self.pick(1, 2, 3, 4, 5, 6, 8, 10, 12))
        )

    def small(self) -> float:
        """A slope or the like: 0.01 to 0.4."""
        return self.pick(0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)

    def size(self, name: str, value: int) -> str:
        """A module-level size by name; a clash of names with another value gets a number."""
        base, k = name, 2
        while self.constants.get(name, value) != value:
            name, k = f"{base}{k}", k + 1
        self.constants[name] = value
        return name

    def argument(self, name: str, value: int) -> str:
        """A size handed to __init__ (and its text there)."""
        name = self.size(name, value)
        if name not in self.arguments:
            self.arguments.append(name)
        return name

    def module(self, base: str, constructor: str) -> str:
        attr, k = base, 2
        while any(line.startswith(f"self.{attr} = ") for line in self.init):
            attr, k = f"{base}{k}", k + 1
        self.init.append(f"self.{attr} = {constructor}")
        return attr

    def input(self, shape: list[int] | tuple[int, ...], kind: str = "randn", names: tuple[str, ...] = ()) -> str:
        """Another forward argument."""
        letter = next((c for c in ("x", "y", "z", "w", "u", "v") if c not in dict(self.inputs)), None)
        if letter is None:
            raise TooManyInputsError
        self.inputs.append((letter, self.maker(shape, kind, names)))
        return letter

    def maker(self, shape: list[int] | tuple[int, ...], kind: str, names: tuple[str, ...] = ()) -> str:
        names = names or SIZE_NAMES.get(len(shape), tuple(f"size{i}" for i in range(len(shape))))
        sizes = ", ".join(self.size(n, s) for n, s in zip(names, shape, strict=True))
        sizes = sizes or "()"
        if kind == "randn":
            return f"torch.randn({sizes})"
        if kind == "unit":
            return f"torch.rand({sizes})"
        if kind == "pos":
            return f"torch.rand({sizes}) + 0.1"
        if kind.startswith("int:"):
            tail = "," if len(shape) == 1 else ""
            return f"torch.randint(0, {kind[4:]}, ({sizes}{tail}))"
        if kind == "sign":
            return f"torch.sign(torch.randn({sizes}))"
        if kind == "bool":
            return f"torch.rand({sizes}) > 0.5"
        raise ValueError(kind)

    def step(self, text: str) -> None:
        self.lines.append(f"{self.value} = {text}")

    def note(self, api: str, family: str) -> None:
        if api not in self.apis:
            self.apis.append(api)
        if family not in self.families:
            self.families.append(family)

    @property
    def rank(self) -> int:
        return len(self.shape)
