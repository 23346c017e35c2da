"""What is published cannot be called back: no path, host or user in it, no dead link, and never too large."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import synthetic_run
from test_report import Page

from kzlib import publish, report, sanitise, summary
from kzlib.cli import main
from kzlib.records import Answer, append_jsonl, read_jsonl
from kzlib.workspace import ROOT, digest

HOST = "box17-gpu"
SECRET = "/home/alice/runs/kzlib/metrics.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("outputs")
        patch.setenv("KZ_OUTPUT_ROOT", str(folder))
        run = synthetic_run.make_run(folder, "whole")
        report.build(run)
        answers = list(read_jsonl(run.root / "records/answers.05_evaluation.jsonl", Answer))
        append_jsonl(run.path("records/answers.04_coder_rl.r1.jsonl"), answers[:10])
        notebook = run.root / "notebooks/05_evaluation.ipynb"
        document = json.loads(notebook.read_text())
        document["metadata"]["papermill"] = {"input_path": SECRET}
        document["cells"][0]["source"] += ["\n", f"read from {SECRET} on {HOST}"]
        notebook.write_text(json.dumps(document))
        run.write_text("checkpoints/coder.r1/weights.bin", "w" * 1000)
        run.write_text("checkpoints/coder.r1/tokenizer.json", "{}")
        run.record("coder.r1", "checkpoints/coder.r1", kind="checkpoint")
        run.write_text("notebooks/.05_evaluation.running.ipynb", "{}")
        run.write_text("logs/05_evaluation.log", SECRET)
        yield folder


@pytest.fixture(scope="module")
def copy(root):
    from kzlib.compare import find

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KZ_OUTPUT_ROOT", str(root))
        patch.setattr(sanitise, "hosts", lambda: [HOST])
        return publish.publish(find("smoke/whole"), "first", root)


@pytest.fixture(autouse=True)
def outputs(root, monkeypatch):
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(root))


def texts(folder):
    return {p: p.read_text() for p in folder.rglob("*") if p.is_file() and p.suffix in (*publish.TEXT, ".ipynb")}


def test_no_path_host_or_user_is_left(copy, root):
    for path, text in texts(copy.root).items():
        assert "alice" not in text, path
        assert HOST not in text, path
        assert str(root) not in text, path
        assert str(ROOT) not in text, path
    notebook = json.loads((copy.root / "notebooks/05_evaluation.ipynb").read_text())
    assert "papermill" not in notebook["metadata"]
    assert "read from kzlib/metrics.py on [host]" in "".join(notebook["cells"][0]["source"])


def test_what_is_not_for_others_stays_behind(copy):
    names = {path.relative_to(copy.root).as_posix() for path in copy.root.rglob("*")}
    assert not {name for name in names if name.startswith(("checkpoints", "logs", "corpus")) or "/." in name}
    assert "answers.jsonl" not in names  # the records of the stages are the same
    assert {"index.html", "manifest.json", "metrics/attempts.csv", "notebooks/05_evaluation.html"} <= names


def test_every_link_of_the_page_leads_to_a_file(copy):
    for link in Page(copy.root / "index.html").links:
        if not link.startswith(("#", "data:")):
            assert (copy.root / link).exists(), link


def test_the_manifest_is_true_of_the_copy(copy):
    manifest = json.loads((copy.root / "manifest.json").read_text())
    for name, entry in manifest["entries"].items():
        assert entry["digest"] == digest(copy.root / entry["path"]), name
    assert set(manifest["left_out"]) >= {"coder.r1"}


def test_numbers_are_those_of_the_run(copy, root):
    from kzlib.compare import find

    whole, published = summary.summary(find("smoke/whole")), summary.summary(copy)
    for part in ("coder", "training", "outcomes", "stages", "costs"):
        assert whole[part] == published[part]
    assert report.examples(copy) == report.examples(find("smoke/whole"))


def test_a_run_that_is_too_large_loses_records_and_keeps_counts_examples_and_figures(root, copy):
    from kzlib.compare import find

    run = find("smoke/whole")
    largest = max((run.root / "records").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    limit = sum(p.stat().st_size for p in copy.root.rglob("*") if p.is_file()) - largest.stat().st_size // 2
    small = publish.publish(run, "small", root, limit=limit)
    manifest = json.loads((small.root / "manifest.json").read_text())
    assert manifest["dropped_for_size"][0] == f"records/{largest.name}"
    assert summary.summary(small)["costs"] == summary.summary(run)["costs"]
    assert report.examples(small)
    assert (small.root / "figures/outcomes.png").exists()
    with pytest.raises(ValueError, match="MiB"):
        publish.publish(run, "none", root, limit=1000)
    assert not (root / "published/none").exists()
    assert not list((root / "published").glob(".publishing-*"))


def test_numbers_alone_are_small_and_give_the_same_summary(root):
    from kzlib.compare import find

    run = find("smoke/whole")
    slim = publish.publish(run, "slim", root, numbers_only=True)
    assert not [path for path in slim.root.rglob("*") if path.suffix in (".ipynb", ".png", ".pdf")]
    assert not list((slim.root / "records").glob("*.jsonl"))
    mine, whole = summary.summary(slim), summary.summary(run)
    assert {k: v for k, v in mine.items() if k not in ("profile", "run")} == {
        k: v for k, v in whole.items() if k not in ("profile", "run")
    }
    assert "leaves its figures out" in (slim.root / "index.html").read_text()


def test_a_run_that_has_not_ended_is_refused(root):
    import shutil

    from kzlib.compare import find

    half = root / "smoke" / "half"
    shutil.copytree(root / "smoke/whole", half)
    shutil.rmtree(half / "stages/06_figures")
    with pytest.raises(ValueError, match="06_figures is not done"):
        publish.publish(find("smoke/half"), "half", root)


def test_a_text_that_still_names_the_machine_is_refused(copy, tmp_path):
    (copy.root / "tables/extra.csv").write_text("where\n/home/alice/secret\n")
    with pytest.raises(ValueError, match=r"tables/extra.csv still names /home/alice"):
        publish.check(copy)
    (copy.root / "tables/extra.csv").unlink()


def test_command_ships_a_small_checkpoint_when_asked_and_replaces_an_earlier_copy(root, capsys):
    assert main(["publish", "smoke/whole", "--name", "shipped"]) == 0
    assert not (root / "published/shipped/checkpoints").exists()
    assert main(["publish", "smoke/whole", "--name", "shipped", "--checkpoint", "coder.r1"]) == 0
    assert "published/shipped" in capsys.readouterr().out
    assert (root / "published/shipped/checkpoints/coder.r1/weights.bin").exists()
    assert (root / "published/shipped/checkpoints/coder.r1/tokenizer.json").exists()


def test_git_would_take_a_published_run_and_no_other():
    def ignored(path: str) -> bool:
        return subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0

    assert not ignored("outputs/published/first/index.html")
    assert ignored("outputs/laptop/x/index.html")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kernelbench:/data/bob/KernelBench:level1", "kernelbench:.../KernelBench:level1"),
        ('"/usr/lib/python3.11/site-packages/torch/nn.py", line 3', '"python3.11/site-packages/torch/nn.py", line 3'),
        ("x = a /home/b", "x = a ~"),
        ("a/tmp/b and 3/4 and https://example.org/data/x", "a/tmp/b and 3/4 and https://example.org/data/x"),
        ("file:///work/me/notebooks/01.ipynb", "notebooks/01.ipynb"),
        ("/dev/null and /proc/cpuinfo", "/dev/null and /proc/cpuinfo"),
        (r"line\n/tmp/x1/kernel.py\n", r"line\n.../kernel.py\n"),
    ],
)  # fmt: skip
def test_paths_are_cut_to_what_says_something_without_the_machine(text, wanted):
    assert sanitise.clean(text) == wanted


def test_published_runs_of_this_repository_are_clean():
    for folder in sorted((ROOT / "outputs" / "published").glob("*/")):
        from kzlib.workspace import Run

        publish.check(Run(folder, "published", folder.name))
        for path, text in texts(folder).items():
            assert not re.search(r"(?<![\w.])/(home|Users)/\w", text), path


def test_a_published_picture_is_smaller_and_looks_the_same():
    from io import BytesIO

    import numpy as np
    from PIL import Image

    ramp = np.linspace(0, 255, 300 * 200 * 3).reshape(200, 300, 3).astype(np.uint8)
    data = BytesIO()
    Image.fromarray(ramp).save(data, "PNG", compress_level=0)
    small = publish.small_png(data.getvalue())
    shown = np.asarray(Image.open(BytesIO(small)).convert("RGB")).astype(int)
    assert len(small) < len(data.getvalue()) / 2
    assert np.abs(shown - ramp).max() <= 8
    assert publish.small_png(small) == small


def test_a_published_notebook_holds_a_picture_once_and_keeps_its_alt_text():
    picture, alt = "iVBORw0KGgo=", {"image/png": {"alt": "Two bars"}}
    both = {"image/png": picture, "text/html": f'<img alt="Two bars" src="data:image/png;base64,{picture}">'}
    outputs = [
        {"output_type": "display_data", "data": both, "metadata": alt},
        {"output_type": "display_data", "data": {"image/png": picture, "text/html": "<b>a table</b>"}, "metadata": {}},
    ]
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": outputs}
    said = json.loads(sanitise.notebook(json.dumps({"metadata": {}, "cells": [cell]})))["cells"][0]["outputs"]
    assert said[0]["data"] == {"image/png": picture}
    assert said[0]["metadata"] == alt
    assert said[1]["data"]["text/html"] == "<b>a table</b>"
