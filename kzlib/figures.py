"""Every figure as four things under one stem: PDF, PNG, the plotted data as CSV, and alt text in the manifest.

The CSV's first line names the drawing and its options, so `redraw(csv)` makes the same picture again without the run.
Source: issue 8 item 4.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.style
import pandas as pd
import PIL.Image
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kzlib.drawings import apis, outcomes, sampling, speed, time, training
from kzlib.drawings.words import words
from kzlib.records import content_id

if TYPE_CHECKING:
    from kzlib.workspace import Run

MARK = "# kzlib figure: "
PER_INCH = 100  # pixels of a notebook
KEPT = ("backend", "backend_fallback", "interactive", "toolbar")  # the notebook's own, never ours to change


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of figure: how to draw a tidy frame, and how to say in words what the picture shows."""

    draw: Callable[..., Figure]
    alt: Callable[[pd.DataFrame], str]
    columns: tuple[str, ...]


KINDS: dict[str, Kind] = {
    "training": Kind(training.training, training.training_alt, training.COLUMNS),
    "alpha": Kind(speed.alpha, speed.alpha_alt, speed.ALPHA_COLUMNS),
    "fast_p": Kind(speed.fast_p, speed.fast_p_alt, speed.FAST_P_COLUMNS),
    "outcomes": Kind(outcomes.outcomes, outcomes.outcomes_alt, outcomes.OUTCOME_COLUMNS),
    "pipeline": Kind(time.pipeline, time.pipeline_alt, time.PIPELINE_COLUMNS),
    "verdicts": Kind(time.verdicts, time.verdicts_alt, time.VERDICT_COLUMNS),
    "heatmap": Kind(apis.heatmap, apis.heatmap_alt, apis.HEATMAP_COLUMNS),
    "api_graph": Kind(apis.api_graph, apis.api_graph_alt, apis.GRAPH_COLUMNS),
    "curves": Kind(sampling.curves, sampling.curves_alt, sampling.CURVE_COLUMNS),
    "shares": Kind(sampling.shares, sampling.shares_alt, sampling.SHARE_COLUMNS),
    "gates": Kind(sampling.gates, sampling.gates_alt, sampling.GATE_COLUMNS),
}


def draw(kind: str, frame: pd.DataFrame, **options: Any) -> Figure:
    """The picture of a tidy frame in the project's style.

    >>> frame = pd.DataFrame({"stage": ["02_sft_cold_start"], "part": ["run"], "seconds": [75.0]})
    >>> draw("pipeline", frame).get_axes()[0].get_xlabel()
    'wall time (minutes)'
    """
    missing = [name for name in KINDS[kind].columns if name not in frame.columns]
    if missing:
        raise ValueError(f"a {kind} figure needs the column {missing[0]}; this table has {', '.join(frame.columns)}")
    if frame.empty:
        raise ValueError(f"nothing to draw: the table of the {kind} figure has no rows")
    with style():
        figure = KINDS[kind].draw(frame.reset_index(drop=True), **options)
        FigureCanvasAgg(figure)
        return figure


def style() -> Any:
    """The context that every figure is drawn and saved in; nothing global changes."""
    sheet = matplotlib.rc_params_from_file(str(files("kzlib").joinpath("kzlib.mplstyle")), use_default_template=True)
    return matplotlib.rc_context({name: sheet[name] for name in sheet if name not in KEPT})


def save(
    run: Run, stem: str, kind: str, frame: pd.DataFrame, caption: str, dpi: int = 200, **options: Any
) -> dict[str, Any]:
    """Write `figures/<stem>.{pdf,png,csv}` and one manifest entry with caption and alt text, and return the entry."""
    alt = KINDS[kind].alt(frame)
    paths = run.figure_paths(stem)
    for form in ("pdf", "png"):  # drawn anew for each: a second rendering of one figure moves its layout a little
        paths[form].write_bytes(render(draw(kind, frame, **options), form, dpi))
    paths["csv"].write_text(to_csv(kind, frame, options), encoding="utf-8")
    return run.record(
        f"figure.{stem}",
        f"figures/{stem}.png",
        kind="figure",
        alt=alt,
        caption=caption,
        csv=f"figures/{stem}.csv",
        pdf=f"figures/{stem}.pdf",
    )


def render(figure: Figure, form: str, dpi: int = 200) -> bytes:
    """The figure as the bytes of a PNG or PDF without a date, so equal data gives equal files."""
    buffer = io.BytesIO()
    metadata = {"CreationDate": None, "Producer": None} if form == "pdf" else {"Software": None}
    with style():
        figure.savefig(buffer, format=form, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def to_csv(kind: str, frame: pd.DataFrame, options: dict[str, Any]) -> str:
    """The plotted data; read it back with `pandas.read_csv(path, comment="#")`, or draw it with `redraw`."""
    head = json.dumps({"kind": kind, "options": options, "drawn_with": drawn_with()}, sort_keys=True)
    return f"{MARK}{head}\n{frame.to_csv(index=False, lineterminator=chr(10))}"


@cache
def drawn_with() -> dict[str, str]:
    """What a picture depends on beside its data: equal values here mean equal pixels."""
    code = [files("kzlib").joinpath("kzlib.mplstyle"), *sorted(Path(__file__).with_name("drawings").glob("*.py"))]
    return {"matplotlib": matplotlib.__version__, "drawings": content_id(*[path.read_text("utf-8") for path in code])}


def redraw(csv: str | Path) -> Figure:
    """The picture of a figure's CSV file: the same as the PNG beside it, where `drawn_with` is the same."""
    head, _, table = Path(csv).read_text(encoding="utf-8").partition("\n")
    if not head.startswith(MARK):
        raise ValueError(f"{Path(csv).name} is not a figure's CSV: its first line must begin with {MARK.strip()!r}")
    what = json.loads(head[len(MARK) :])
    # The python engine reads floats exactly as they were written; "" alone is a missing value, never the text "None".
    frame = pd.read_csv(io.StringIO(table), engine="python", keep_default_na=False, na_values=[""])
    return draw(what["kind"], frame, **what["options"])


def show(run: Run, entry: dict[str, Any]) -> None:
    """Show a saved figure in a notebook: the PNG with its alt text, and the caption as text below."""
    from IPython.display import Markdown, display

    show_picture((run.root / entry["path"]).read_bytes(), entry["alt"])
    display(Markdown(f"*{entry['facts']['caption']}*"))


def show_plot(figure: Figure, title: str) -> None:
    """Show a figure drawn in a notebook, and close it; its alt text is the title and what the axes hold."""
    from matplotlib import pyplot

    data = render(figure, "png")
    pyplot.close(figure)  # else the notebook's own backend shows it again, without words
    show_picture(data, f"{title}. {words(figure)}")


def show_picture(png: bytes, alt: str) -> None:
    """Show a PNG with its alt text: the one way by which a picture enters a notebook.

    Each reader of notebooks takes what it understands: JupyterLab and nbconvert's default template write an alt
    attribute only where the output is HTML; nbconvert's classic template reads the metadata; a terminal gets the words.
    """
    from IPython.display import display

    width = shown_width(png)
    bundle = {"text/html": img(png, alt, width), "image/png": base64.b64encode(png).decode(), "text/plain": alt}
    display(bundle, metadata={"image/png": {"alt": alt, "width": width}}, raw=True)


def shown_width(png: bytes) -> int:
    """How wide a notebook shows a PNG, in pixels: `PER_INCH` for each inch, however finely it is drawn."""
    with PIL.Image.open(io.BytesIO(png)) as picture:
        return round(picture.width / picture.info["dpi"][0] * PER_INCH)


def img(png: bytes, alt: str, width: int | None = None) -> str:
    """A PNG as an HTML element that needs no file and never is wider than the page.

    >>> img(b"", 'a "b"', 9)
    '<img alt="a &quot;b&quot;" src="data:image/png;base64," width="9" style="max-width:100%">'
    """
    if not alt.strip():
        raise ValueError("a picture needs words for who cannot see it: give alt")
    wide = f' width="{width}"' if width else ""
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(alt, quote=True)}" src="data:image/png;base64,{data}"{wide} style="max-width:100%">'
