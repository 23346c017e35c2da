"""What the four views have in common: a state, its HTML, a static twin, controls bound to the state's fields."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from matplotlib.figure import Figure

from kzlib import figures

State = TypeVar("State")
LINE = "1px solid rgba(128,128,128,.45)"  # seen on a light and on a dark page
MARK = "background:rgba(213,94,0,.22)"
DPI = 90


class View(Generic[State]):
    """A view: subclasses say how a state looks (`picture`) and which controls change it (`controls`).

    The twin is the picture of the start state; the live part begins with the very same text.
    """

    title = ""

    def __init__(self, start: State) -> None:
        self.state = start
        self.twin = self.picture(start)
        self._live: Any = None
        self._panel: Any = None

    def picture(self, state: State) -> str:
        """The state as HTML that needs no script and no network."""
        raise NotImplementedError

    def controls(self) -> list[Any]:
        """Native ipywidgets, each with a description, bound to fields of the state."""
        raise NotImplementedError

    def set(self, **changes: Any) -> None:
        """Change fields of the state and show it."""
        self.state = dataclasses.replace(self.state, **changes)  # type: ignore[type-var]
        if self._live is not None:
            self._live.value = self.picture(self.state)

    def bind(self, control: Any, name: str) -> Any:
        """Let a control's value set a field; returns the control."""
        control.observe(lambda change: self.set(**{name: change["new"]}), names="value")
        return control

    def panel(self) -> Any:
        """The controls above the live picture, as one ipywidgets box; made once."""
        if self._panel is None:
            import ipywidgets

            self._live = ipywidgets.HTML(self.picture(self.state))
            self._panel = ipywidgets.VBox([*self.controls(), self._live])
        return self._panel

    def show(self) -> None:
        """Display the twin, and below it the same with controls where a front end may listen."""
        from IPython.display import HTML, display

        display(HTML(twin_html(self.title, self.twin)))
        if interactive():
            display(self.panel())


def interactive() -> bool:
    """False under the runner (`KZ_HEADLESS=1`) and where ipywidgets is missing: then the twin is all there is."""
    return os.environ.get("KZ_HEADLESS") != "1" and find_spec("ipywidgets") is not None


def twin_html(title: str, picture: str) -> str:
    """The static view as a block that can be folded."""
    head = f"{escape(title)}, as it starts; run this cell to get its controls"
    return f"<details open><summary>{head}</summary>{picture}</details>"


def select(description: str, options: Iterable[Any], value: Any, width: str = "60%") -> Any:
    """A drop-down list whose description is never cut off."""
    import ipywidgets

    return ipywidgets.Dropdown(
        options=list(options), value=value, description=description, style={"description_width": "9em"},
        layout={"width": width},
    )  # fmt: skip


def slider(description: str, value: float, low: float, high: float, step: float) -> Any:
    """A slider for whole numbers or for floats, as the value is; arrow keys move it by one step."""
    import ipywidgets

    kind: Callable[..., Any] = ipywidgets.IntSlider if isinstance(value, int) else ipywidgets.FloatSlider
    return kind(
        value=value, min=low, max=high, step=step, description=description, continuous_update=False,
        style={"description_width": "9em"}, layout={"width": "32em"},
    )  # fmt: skip


def image(figure: Figure, alt: str) -> str:
    """A figure in the project's style as an opaque picture with its alt text."""
    return figures.img(figures.render(figure, "png", DPI), alt)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], marked: Iterable[int] = ()) -> str:
    """A table of texts and numbers; numbers have at most four digits; `marked` rows stand out and say so with ▸.

    >>> table(["a"], [[1 / 3]]).count("0.333")
    1
    """
    strong = set(marked)
    cells = f'style="text-align:left;vertical-align:top;padding:.15em .8em .15em 0;border-bottom:{LINE}"'
    head = "".join(f'<th scope="col" {cells}>{escape(name)}</th>' for name in header)
    body = []
    for number, row in enumerate(rows):
        style = f' style="{MARK}"' if number in strong else ""
        texts = [short(value) for value in row]
        if number in strong:
            texts[0] = f"▸ {texts[0]}"
        body.append(f"<tr{style}>" + "".join(f"<td {cells}>{escape(text)}</td>" for text in texts) + "</tr>")
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;line-height:1.4">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def short(value: Any) -> str:
    """A value as a table shows it.

    >>> short(None), short(2.0), short(0.123456), short("x")
    ('–', '2', '0.123', 'x')
    """
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def paragraph(text: str) -> str:
    """One paragraph of plain text."""
    return f'<p style="line-height:1.4;margin:.4em 0">{escape(text)}</p>'


def source(text: str, marked: Iterable[int] = (), height: str = "22em") -> str:
    """Code with line numbers in a box that scrolls; `marked` lines stand out.

    >>> "1  x" in source("x")
    True
    """
    lines, strong = text.rstrip("\n").split("\n"), set(marked)
    wide = len(str(len(lines)))
    rows = []
    for number, line in enumerate(lines, 1):
        row = f"{'▸' if number in strong else ' '}{number:>{wide}}  {escape(line)}"
        rows.append(f'<span style="{MARK}">{row}</span>' if number in strong else row)
    style = (
        f"max-height:{height};overflow:auto;white-space:pre;line-height:1.35;margin:.4em 0;padding:.4em;border:{LINE}"
    )
    return f'<pre tabindex="0" style="{style}">{chr(10).join(rows)}</pre>'
