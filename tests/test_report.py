"""The report is what a reader is handed: it must open anywhere, hide nothing, run no script and fetch nothing."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic_run

from kzlib import notebook_html, report, summary
from kzlib.params import load_profile
from kzlib.records import Answer, Task, Verdict, read_jsonl
from kzlib.workspace import open_run

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KZ_OUTPUT_ROOT", raising=False)
        made = synthetic_run.make_run(tmp_path_factory.mktemp("outputs"))
        report.build(made)
    return made


class Page(HTMLParser):
    """Every link, picture and tag of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        facts = dict(attrs)
        self.tags.add(tag)
        self.ids |= {facts["id"]} if facts.get("id") else set()
        if tag == "img":
            self.pictures.append(facts)
        for name in ("href", "src"):
            if facts.get(name):
                self.links.append(str(facts[name]))


PAGES = ("index.html", "notebooks/05_evaluation.html", "notebooks/01_data_sampling.html")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file_of_the_run_and_nothing_is_fetched(run, name):
    page = Page(run.root / name)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        elif not link.startswith("data:"):
            assert "://" not in link
            assert ((run.root / name).parent / link).exists(), link
    assert "script" not in page.tags


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_has_a_real_alt_text(run, name):
    pictures = Page(run.root / name).pictures
    assert pictures
    for picture in pictures:
        assert picture["alt"]
        assert "No description" not in picture["alt"]


def test_generated_text_is_shown_and_never_obeyed(run):
    text = (run.root / "index.html").read_text()
    assert "<script" not in text
    assert "alert" in text
    assert "&lt;b&gt;not&lt;/b&gt;" in text
    assert "default-src 'none'" in text


def test_the_page_names_no_path_of_this_machine(run):
    text = (run.root / "index.html").read_text() + (run.root / "notebooks/05_evaluation.html").read_text()
    assert str(run.root.parent) not in text
    assert str(Path.home()) not in re.sub(r"data:image[^\"]*", "", text) or Path.home() == Path("/")


def test_building_twice_gives_the_same_page(run):
    before = (run.root / "index.html").read_bytes()
    report.build(run)
    assert (run.root / "index.html").read_bytes() == before


def test_records_of_all_stages_are_merged_and_nothing_is_lost(run):
    assert sum(1 for _ in read_jsonl(run.root / "answers.jsonl", Answer)) == 2 * 12 * 4
    assert sum(1 for _ in read_jsonl(run.root / "verdicts.jsonl", Verdict)) == 2 * 2 * 12 * 4
    ids = [task.id for task in read_jsonl(run.root / "tasks.jsonl", Task)]
    assert len(ids) == len(set(ids)) == 12


def test_there_is_an_example_of_every_outcome_seen(run):
    seen = {v.outcome.value for v in read_jsonl(run.root / "records/verdicts.05_evaluation.jsonl", Verdict)}
    shown = report.examples(run)
    assert {example["outcome"] for example in shown} == seen
    assert all(example["module"] and example["kernel"] for example in shown)


def test_headline_numbers_are_those_of_the_summary_and_of_the_attempts(run):
    result = summary.summary(run)
    row = next(
        r
        for r in result["coder"]
        if (r["model"], r["metric"], r["k"], r["protocol"], r["level"]) == ("coder.r1", "pass", 1, "strict", 0)
    )
    attempts = [a for a in summary.evaluated(run) if a.model == "coder.r1" and a.protocol == "strict"]
    by_hand = sum(a.passed for a in attempts) / len(attempts)  # every task has the same number of answers
    assert row["value"] == pytest.approx(by_hand)
    assert f"{row['value']:.3f}" in (run.root / "index.html").read_text()
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_what_rl_moved_is_the_mean_over_tasks_of_the_difference(run):
    strict = [a for a in summary.evaluated(run) if a.protocol == "strict"]
    rate = {
        model: {
            t: [a.passed for a in strict if (a.model, a.task_id) == (model, t)] for t in {a.task_id for a in strict}
        }
        for model in ("coder.r0", "coder.r1")
    }
    gaps = [sum(rate["coder.r1"][t]) / len(rate["coder.r1"][t]) - sum(r) / len(r) for t, r in rate["coder.r0"].items()]
    row = next(row for row in summary.summary(run)["gain"] if row["protocol"] == "strict")
    assert row["models"] == ["coder.r0", "coder.r1"]
    assert row["difference"] == pytest.approx(sum(gaps) / len(gaps))
    assert (row["better"], row["worse"]) == (sum(g > 0 for g in gaps), sum(g < 0 for g in gaps))
    assert summary.difference(row) in (run.root / "index.html").read_text()
    assert summary.difference(row) in summary.as_text(summary.summary(run))


def test_what_the_proposer_gained_is_over_the_sets_that_both_were_asked(run):
    scores = json.loads((run.root / "metrics/proposer_check.json").read_text())["scores"]
    before, after = scores["sft_proposer"]["validity"], scores["proposer.r1"]["validity"]
    row = next(row for row in summary.summary(run)["proposer_gain"] if row["quantity"] == "validity")
    assert row["difference"] == pytest.approx(sum(after[n] - before[n] for n in before) / len(before))
    assert summary.difference(row) in (run.root / "index.html").read_text()


def test_a_run_that_has_only_begun_makes_a_page_that_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("KZ_OUTPUT_ROOT", raising=False)
    begun = open_run(tmp_path, "smoke", "begun")
    begun.write_json("params.json", load_profile("smoke").model_dump())
    text = report.build(begun).read_text()
    for words in ("Nothing has been trained", "No figure has been drawn", "Nothing has been evaluated", "not run"):
        assert words in text


def test_a_formula_that_cannot_be_read_stays_as_text():
    assert notebook_html.math(r"\frac{") == r"<code>\frac{</code>" or "<math" in notebook_html.math(r"\frac{")
    assert "<math" in notebook_html.markdown("so $r_i = c_i$ holds")
    assert "$5 and $6" in notebook_html.markdown("costs `$5 and $6` each")


def test_progress_that_overwrote_its_line_is_shown_in_its_last_state():
    assert notebook_html.plain("0%\r50%\r100%\ndone \x1b[32mok\x1b[0m") == "100%\ndone ok"


def luminance(hue: str) -> float:
    parts = [int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_colours_keep_contrast(scheme):
    css = (notebook_html.DATA / "page.css").read_text()
    blocks = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in css.split("@media (prefers")[:2]]
    hues = blocks[scheme]
    for name in ("ink", "soft", "link", "good", "bad", "keyword", "string", "number", "comment", "name"):
        for ground in ("paper", "tint"):
            light, dark = sorted((luminance(hues[name]), luminance(hues[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as play:
        found = [path for path in (CHROMIUM, Path(play.chromium.executable_path)) if path.exists()]
        if not found:
            pytest.skip("no Chromium here: make browser-test installs one")
        chromium = play.chromium.launch(executable_path=str(found[0]), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("name", PAGES[:2])
@pytest.mark.parametrize("width", [1280, 360], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opens_in_a_browser_without_complaint(run, browser, name, width, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 844})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"missing {request.url}"))
    page.on(
        "request", lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(f"fetched {r.url}")
    )
    page.goto((run.root / name).as_uri())
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    assert page.eval_on_selector_all("img", "all => all.every(i => i.complete && i.naturalWidth > 100)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")
    assert complaints == []
    context.close()
