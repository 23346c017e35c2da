"""Figures: a CSV that draws another picture, or a plot that vanishes on a dark page or in grey, fails a reader."""

from __future__ import annotations

import html
import io
import json
import os
import re
from pathlib import Path

import IPython.display
import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from nbconvert import HTMLExporter
from PIL import Image

from kzlib import figures, frames, notebook_html, publish
from kzlib.drawings import outcomes, palette, training
from kzlib.drawings.words import words
from kzlib.records import Outcome
from kzlib.workspace import ROOT, open_run


def columns(kind: str, rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(figures.KINDS[kind].columns))


def training_rows(seeds=(0, 1)) -> list[tuple]:
    rng = np.random.default_rng(0)
    curves = [("proposer", q, None, False) for q in ("validity", "coder_accuracy", "frontier_reward")]
    curves += [("coder", "pass@1", b, frozen) for b in ("triton", "cuda") for frozen in (False, True)]
    return [
        ("a", seed, frozen, role, quantity, backend, step, 0.4 + rng.normal(0, 0.1))
        for seed in seeds
        for step in range(1, 13)
        for role, quantity, backend, frozen in curves
    ]


SETS = [("torch.relu", "torch.cat"), ("torch.relu", "torch.nn.Linear")]
FRAMES = {
    "training": columns("training", training_rows()),
    "alpha": columns(
        "alpha",
        [
            ("SFT", 1, 9, 0.8, 0.7, 0.9, "modelled", False),
            ("0.5", 2, 9, 1.1 + 1 / 3, 1.0, 1.7, "modelled", True),
            ("1.1", 1, 0, None, None, None, "modelled", False),
        ],
    ),
    "fast_p": columns(
        "fast_p",
        [
            ("triton", model, k, p, 0.9 / (1 + p) / k, 0.1, 0.9, 60, "measured")
            for model in ("coder.r0", "coder.r1") for k in (1, 2) for p in (0.0, 1.0, 2.0)
        ],
    ),
    "outcomes": columns("outcomes", [("sft", o.value, 1 + i) for i, o in enumerate(Outcome)] + [("rl", "pass", 9)]),
    "pipeline": columns("pipeline", [("a", "verify", 30.0), ("a", "train", 90.5), ("b", "verify", 1 / 3)]),
    "verdicts": columns(
        "verdicts",
        [("05 triton strict", part, s, 40, 1.9) for part, s in (("run", 1 / 3), ("fork", 0.1), ("waiting", 0.2))]
        + [("02 triton strict", "run", 0.5, 9, None)],
    ),
    "heatmap": columns("heatmap", [("x", "y", 12), ("x", "z", 0), ("y", "z", 3)]),
    "api_graph": frames.api_graph_frame(SETS),
    "curves": columns("curves", [(s, x, x / 3) for s in ("uniform", "frontier") for x in range(1, 5)]),
    "shares": columns("shares", [("torch.relu", "activation", 0.2, 0.1), ("torch.cat", "layout", 1 / 3, 0.0)]),
    "gates": columns("gates", [("interface", 9, 9), ("api_set", 9, 5), ("runs", 5, 4)]),
}  # fmt: skip


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


@pytest.fixture(scope="module")
def drawn() -> dict[str, bytes]:
    return {kind: figures.render(figures.draw(kind, frame), "png", 100) for kind, frame in FRAMES.items()}


def test_every_kind_is_tested():
    assert set(FRAMES) == set(figures.KINDS)


@pytest.mark.parametrize("kind", FRAMES)
def test_the_saved_csv_redraws_the_saved_picture(kind, tmp_path, monkeypatch):
    monkeypatch.delenv("KZ_OUTPUT_ROOT", raising=False)
    run = open_run(tmp_path, "smoke", "synthetic", stage="06_figures")
    figures.save(run, "f", kind, FRAMES[kind], caption="n = 1", dpi=100)
    again = figures.render(figures.redraw(run.root / "figures/f.csv"), "png", 100)
    assert again == (run.root / "figures/f.png").read_bytes()


def test_options_travel_in_the_csv(tmp_path):
    (tmp_path / "f.csv").write_text(figures.to_csv("training", FRAMES["training"], {"smooth": 4}))
    smooth = figures.render(figures.draw("training", FRAMES["training"], smooth=4), "png", 100)
    again = figures.render(figures.redraw(tmp_path / "f.csv"), "png", 100)
    assert np.array_equal(pixels(again), pixels(smooth))
    plain = figures.render(figures.draw("training", FRAMES["training"]), "png", 100)
    assert not np.array_equal(pixels(plain), pixels(smooth))


def test_a_plain_csv_reader_reads_the_table(tmp_path):
    (tmp_path / "f.csv").write_text(figures.to_csv("pipeline", FRAMES["pipeline"], {}))
    assert list(pd.read_csv(tmp_path / "f.csv", comment="#").columns) == list(figures.KINDS["pipeline"].columns)


def test_another_csv_is_refused(tmp_path):
    (tmp_path / "f.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a figure's CSV"):
        figures.redraw(tmp_path / "f.csv")


@pytest.mark.parametrize("kind", FRAMES)
def test_opaque_on_white_and_not_empty(kind, drawn):
    image = pixels(drawn[kind])
    assert image.shape[2] == 3 or (image[..., 3] == 255).all()
    assert (image[0, 0, :3] == 255).all()
    assert (image[..., :3].min(axis=2) < 120).mean() > 0.0005


@pytest.mark.parametrize("kind", FRAMES)
def test_equal_data_gives_equal_files_and_pdf_fonts_are_truetype(kind):
    first, second = (figures.render(figures.draw(kind, FRAMES[kind]), "pdf") for _ in range(2))
    assert first == second
    assert b"CreationDate" not in first
    assert b"/Type3" not in first.replace(b" ", b"")


def luminance(hue: str) -> float:
    parts = np.array(matplotlib.colors.to_rgb(hue))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("hue", [*palette.HUES, palette.INK])
def test_lines_keep_three_to_one_on_white(hue):
    assert 1.05 / (luminance(hue) + 0.05) >= (4.5 if hue == palette.INK else 3)


def test_every_outcome_has_its_own_look_in_grey():
    assert set(outcomes.OUTCOMES) == {o.value for o in Outcome}
    looks = {(round(luminance(hue), 1), hatch) for hue, hatch in outcomes.OUTCOMES.values()}
    assert len(looks) == len(Outcome)


def test_every_curve_of_one_panel_differs_by_more_than_hue():
    left = [look for name, look in training.QUANTITIES.items() if "@" not in name]
    assert len({marker for _, marker, _ in left}) == len(left)


def test_a_missing_column_or_an_empty_table_is_named():
    with pytest.raises(ValueError, match="needs the column seconds"):
        figures.draw("pipeline", FRAMES["pipeline"].drop(columns="seconds"))
    with pytest.raises(ValueError, match="has no rows"):
        figures.draw("pipeline", FRAMES["pipeline"].iloc[:0])


def test_a_panel_that_was_not_run_says_so():
    figure = figures.draw("fast_p", FRAMES["fast_p"])
    assert [text.get_text() for text in figure.get_axes()[1].texts] == ["not run"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("training", "2 seed(s)"),
        ("alpha", "1.1 no correct kernel"),
        ("fast_p", "measured"),
        ("outcomes", "sft: 1 pass"),
        ("pipeline", "a 2.0 min"),
        ("verdicts", "05 triton strict: 0.63 s over 40 verdicts, most in run"),
        ("heatmap", "x with y 12"),
        ("api_graph", "3 APIs joined by 2 sampled pairs"),
        ("curves", "Curves over"),
        ("shares", "Scatter of"),
        ("gates", "rejected: api_set 4, runs 1"),
    ],
)
def test_alt_text_says_the_numbers(kind, words):
    assert words in figures.KINDS[kind].alt(FRAMES[kind])


def test_the_kind_of_timing_is_always_in_the_picture():
    for kind in ("alpha", "fast_p"):
        texts = [t.get_text() for t in figures.draw(kind, FRAMES[kind]).findobj(matplotlib.text.Text)]
        assert any("modelled" in text or "measured" in text for text in texts)


def test_nothing_global_changes():
    before = dict(matplotlib.rcParams)
    figures.draw("pipeline", FRAMES["pipeline"])
    assert dict(matplotlib.rcParams) == before


def test_saving_writes_three_files_and_one_manifest_entry(tmp_path, monkeypatch):
    monkeypatch.delenv("KZ_OUTPUT_ROOT", raising=False)
    run = open_run(tmp_path, "smoke", "synthetic", stage="06_figures")
    entry = figures.save(run, "time", "pipeline", FRAMES["pipeline"], caption="n = 1 run", dpi=100)
    assert {p.name for p in (run.root / "figures").iterdir()} == {"time.pdf", "time.png", "time.csv"}
    stored = run.manifest()["entries"]["figure.time"]
    assert stored == entry
    assert stored["alt"].startswith("Bars of wall time")
    assert stored["facts"]["caption"] == "n = 1 run"


def test_bars_without_any_correct_kernel_still_make_a_picture():
    nothing = columns(
        "alpha", [("SFT", 1, 0, None, None, None, "none", False), ("0.5", 1, 0, None, None, None, "none", True)]
    )
    figure = figures.draw("alpha", nothing)
    figures.render(figure, "png", 60)
    low, high = figure.get_axes()[0].get_ylim()
    assert low == 0
    assert high > 1


def runs_at_hand() -> list[Path]:
    """Finished figures: of the runs that are published with this repository, or of the folder that KZ_FIGURES names."""
    named = os.environ.get("KZ_FIGURES")
    folders = [Path(named)] if named else sorted((ROOT / "outputs" / "published").glob("*/figures"))
    return [csv for folder in folders for csv in sorted(folder.glob("*.csv"))]


def test_every_figure_of_a_finished_run_is_redrawn_from_its_csv_pixel_by_pixel():
    for csv in runs_at_hand():
        with Image.open(csv.with_suffix(".png")) as file:
            stored, dpi = np.asarray(file.convert("RGB"), dtype=int), round(file.info["dpi"][0])
        again = figures.render(figures.redraw(csv), "png", dpi)
        head = json.loads(csv.read_text().partition("\n")[0].removeprefix(figures.MARK))
        if head.get("drawn_with") == figures.drawn_with():
            forms = (Image.open(io.BytesIO(data)).convert("RGB") for data in (again, publish.small_png(again)))
            assert any(np.array_equal(stored, np.asarray(form)) for form in forms), csv.name
        else:  # drawn by an older version of ours or of matplotlib: another look, still a picture of the same table
            assert pixels(again).ndim == 3, csv.name


def shown(monkeypatch, show) -> nbformat.NotebookNode:
    """The one output that a call makes in a notebook."""
    made = []

    def display(data, metadata=None, raw=False):
        assert raw
        made.append(nbformat.v4.new_output("display_data", data, metadata=metadata))

    monkeypatch.setattr(IPython.display, "display", display)
    show()
    [output] = made
    return output


@pytest.mark.parametrize("template", ["lab", "classic", "ours"])
def test_a_plot_of_a_notebook_keeps_its_words_in_every_kind_of_page(template, tmp_path, monkeypatch):
    figure, axis = plt.subplots()
    axis.plot([1, 2], [0.5, 0.25], label='"<loss>"')
    axis.set(xlabel="step", ylabel="nats")
    output = shown(monkeypatch, lambda: figures.show_plot(figure, "Cold start"))
    assert not plt.get_fignums(), "an open figure is shown twice"
    cell = nbformat.v4.new_code_cell("draw()", outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    if template == "ours":
        nbformat.write(notebook, tmp_path / "n.ipynb")
        page = notebook_html.page_of(tmp_path / "n.ipynb")
    else:
        page, _ = HTMLExporter(template_name=template).from_notebook_node(notebook)
    [(_, said)] = re.findall(r"""<img[^>]*?alt=(["'])(.*?)\1""", page)
    assert html.unescape(said) == 'Cold start. nats against step: "<loss>" from 0.5 at 1 to 0.25 at 2.'
    assert page.count("<img") == 1
    assert "No description has been provided" not in page


def test_the_words_of_a_plot_are_its_data():
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(pd.Index([1, 2, 3]), pd.Series([0.1, 0.9, float("nan")]))
    left.plot([1, 2, 3], [0.5, 0.2, 0.6], label="b")
    left.axhline(0.3)
    right.barh([0, 1], [1.5, -2], height=0.6)
    right.set_yticks([0, 1], ["guard", "total"])
    right.set_xlabel("seconds")
    assert words(figure) == (
        ": a line from 0.1 at 1 to 0.9 at 2; b from 0.5 at 1 to 0.6 at 3, lowest 0.2 at 2. "
        "seconds: bars 1.5 at guard, -2 at total."
    )
    plt.close(figure)


def test_a_picture_without_words_is_refused():
    with pytest.raises(ValueError, match="give alt"):
        figures.img(b"png", " ")
