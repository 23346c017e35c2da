"""The teacher's parts: expression printing means what the tree means, graphs survive JSON, corpora resume, pairs
differ."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.records import Candidate, Outcome, Task, Verdict, read_jsonl
from kzlib.teacher import expr as e
from kzlib.teacher import generate
from kzlib.teacher.emit import Emitter
from kzlib.teacher.expr import Buffer, Expr, const, dim, load, var
from kzlib.teacher.graph import graph_from_json, graph_to_json, trace
from kzlib.teacher.host import size_text
from kzlib.teacher.pairs import broken, read_pairs, speed_pairs, write_pairs
from kzlib.teacher.writer import Corpus, fill, read


@pytest.mark.parametrize("workers", [1, 2])
def test_writing_samples_leaves_the_callers_threads_alone(workers: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert len(list(generate(2, seed=1, families=["activation"], workers=workers))) == 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


class PythonText(Emitter):
    """An emitter whose text Python itself can run: infix operators as Triton writes them."""

    def literal(self, x: Expr) -> str:
        return repr(x.attr)

    def assign(self, name: str, text: str, dtype: str) -> None:
        self.line(f"{name} = {text}")


INDEX = ("add", "sub", "mul", "idiv", "mod")


def index_trees() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.integers(0, 7).map(const),
        st.sampled_from([var("i", const(60)), var("j", const(12))]),
        st.just(dim("n", 9, "n")),
    )

    def grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        combine = {"add": e.add, "mul": e.mul, "idiv": e.idiv, "mod": e.mod, "sub": e.sub}
        positive = st.integers(1, 6).map(const)
        return st.one_of(
            st.tuples(st.sampled_from(["add", "mul"]), children, children).map(lambda t: combine[t[0]](t[1], t[2])),
            st.tuples(st.sampled_from(["idiv", "mod", "sub"]), children, positive).map(
                lambda t: combine[t[0]](t[1], t[2])
            ),
        )

    return st.recursive(leaves, grow, max_leaves=12)


def meaning(x: Expr, table: dict[str, int]) -> int:
    """The slow twin: walk the tree."""
    if x.op == "const":
        return x.attr
    if x.op == "var":
        return table[x.attr[0]]
    if x.op == "dim":
        return x.attr.value
    a, b = (meaning(y, table) for y in x.args)
    return {"add": a + b, "sub": a - b, "mul": a * b, "idiv": a // b if b else 0, "mod": a % b if b else 0}[x.op]


@given(index_trees(), st.integers(0, 59), st.integers(0, 11))
@settings(max_examples=300, deadline=None)
def test_index_text_means_what_its_tree_means(tree: Expr, i: int, j: int) -> None:
    table = {"i": i, "j": j}
    text = PythonText().text(tree)
    assert eval(text, {**table, "n": 9}) == meaning(tree, table)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
@settings(max_examples=150, deadline=None)
def test_flat_offsets_visit_the_element_that_the_index_names(sizes: list[int], data: st.DataObject) -> None:
    """However runs of axes are merged, position p of the flat loop reads element p of the permuted tensor."""
    order = data.draw(st.permutations(range(len(sizes))))
    axes = [var(f"a{k}", dim(f"s{k}", sizes[k], f"S{k}")) for k in range(len(sizes))]
    buffer = Buffer("x", tuple(axes[k].attr[1] for k in order), "f32", "x")
    read_ = load(buffer, tuple(axes[k] if sizes[k] != 1 else const(0) for k in order))
    kept = [a for a in axes if e.value_of(a.attr[1]) != 1]
    emitter = PythonText(indent="")
    flat = var("#i", const(1 << 60))
    emitter.bind(flat, "p", {"p"})
    emitter.bind_flat(flat, kept, [read_], {"p"})
    text = emitter.text(emitter.offset(read_))
    program = "\n".join([*emitter.lines, f"result = {text}"])
    for p in range(math.prod(sizes)):
        rest, at = p, {}
        for k in reversed(range(len(sizes))):
            at[k], rest = rest % sizes[k], rest // sizes[k]
        expected = 0
        for k in order:
            expected = expected * sizes[k] + at[k]
        space: dict[str, Any] = {"p": p, **{f"S{k}": s for k, s in enumerate(sizes)}}
        exec(program, space)
        assert space["result"] == expected


def test_a_divided_product_simplifies_only_where_the_remainder_fits() -> None:
    size, j, k = dim("n", 4, "n"), var("j", const(4)), var("k", const(9))
    g = var("g", const(3))
    assert (g * size + j) // size == g
    assert (g * size + j) % size == j
    assert ((g * size + k) // size).op == "idiv"


@given(index_trees())
@settings(max_examples=100, deadline=None)
def test_host_sizes_evaluate_to_the_traced_value(tree: Expr) -> None:
    fixed = e.substitute(tree, {"i": const(5), "j": const(3)})
    assert eval(size_text(fixed), {"n": 9}) == e.value_of(fixed)


def test_a_graph_comes_back_from_json_as_it_was() -> None:
    for s in generate(8, seed=3, workers=1):
        graph = trace(s.task.source)
        assert graph_from_json(json.loads(json.dumps(graph_to_json(graph)))) == graph


# ------------------------------------------------------------------ corpora


def corpus(folder: Path, **changes: Any) -> Corpus:
    return Corpus(
        **{"folder": folder, "seed": 4, "backend": "triton", "families": ("softmax",), "styles": "plain", **changes}
    )


def test_a_corpus_resumes_to_the_same_files(tmp_path: Path) -> None:
    straight = [s.task.id for s in fill(corpus(tmp_path / "a"), 50, 1)]
    list(fill(corpus(tmp_path / "b"), 20, 1))
    (tmp_path / "b" / "tasks.jsonl").write_text("")  # as after a kill between two writes
    list(fill(corpus(tmp_path / "b"), 50, 1))
    assert [s.task.id for s in read(tmp_path / "b")] == straight
    for name in ("tasks.jsonl", "candidates.jsonl"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()
    assert [t.id for t in read_jsonl(tmp_path / "b" / "tasks.jsonl", Task)] == straight
    assert len(list((tmp_path / "b" / "kernels").iterdir())) == 50
    assert not list(fill(corpus(tmp_path / "b"), 50, 1))


def test_a_corpus_refuses_to_mix_streams(tmp_path: Path) -> None:
    list(fill(corpus(tmp_path), 3, 1))
    with pytest.raises(ValueError, match="another stream"):
        list(fill(corpus(tmp_path, seed=5), 9, 1))


def verdict(candidate: Candidate, outcome: Outcome) -> Verdict:
    return Verdict(
        candidate.task_id,
        candidate.id,
        candidate.backend,
        outcome,
        "done",
        "cpu-interpreter",
        "strict",
        message="because",
    )


def test_only_what_passes_is_kept_and_failures_keep_their_verdict(tmp_path: Path) -> None:
    rejected = []

    def check(samples: Any) -> Iterator[Any]:
        for k, s in enumerate(samples):
            if k % 4 == 0:
                rejected.append(s.task.id)
            yield s, verdict(s.candidate, Outcome.PASS if k % 4 else Outcome.WRONG)

    kept = list(fill(corpus(tmp_path), 20, 1, check))
    failed = [json.loads(line) for line in (tmp_path / "failed.jsonl").read_text().splitlines()]
    assert [r["task_id"] for r in failed] == rejected
    assert failed[0]["message"] == "because"
    assert len(kept) == 20
    assert not {s.task.id for s in kept} & set(rejected)


# ------------------------------------------------------------------ pairs


def test_broken_candidates_differ_from_the_right_one_in_one_place() -> None:
    samples = list(generate(6, seed=2, families=["reduction"], workers=1))
    made = list(broken(samples, seed=0))
    assert len(made) == 6
    assert all(candidate.source != sample.candidate.source for sample, candidate, _ in made)


def test_speed_pairs_keep_the_sample_as_the_fast_side(tmp_path: Path) -> None:
    samples = list(generate(10, seed=2, families=["matmul"], workers=1))
    pairs = list(speed_pairs(samples))
    assert {p.principles[0] for p in pairs} >= {"tiling"}
    right = {s.candidate.source for s in samples}
    assert all(p.after in right and p.before not in right for p in pairs)
    path = tmp_path / "pairs.jsonl"
    assert write_pairs(path, pairs) == len(pairs)
    assert read_pairs(path) == pairs


# ------------------------------------------------------------------ distil, against a local endpoint


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str]]]:
    """A fake chat endpoint: modules for module prompts, three unlike kernels for kernel prompts, busy once."""
    prompts: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][0]["content"]
            prompts.append(prompt)
            if len(prompts) == 1:
                self.send_response(503)
                self.end_headers()
                return
            if "exactly these operators" in prompt:
                code = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
                code += "        return torch.exp(x)\n\n\ndef get_inputs():\n    return [torch.randn(7)]\n"
            else:
                tail = {0: "# tiling\n", 1: "for i in range(3):\n    pass\n", 2: "# tiling\n"}[body["seed"] % 3]
                code = (
                    f"class ModelNew:\n    number = {body['seed']}\n    def forward(self, x):\n        return x\n{tail}"
                )
            answer = {"choices": [{"message": {"content": f"```python\n{code}```"}, "finish_reason": "stop"}]}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", prompts
    server.shutdown()


class FakeVerifier:
    """Rejects the answer with number 1."""

    def verify(self, tasks: list[Task], candidates: list[Candidate]) -> Iterator[Verdict]:
        for c in candidates:
            yield verdict(c, Outcome.WRONG if "number = 1\n" in c.source else Outcome.PASS)


def test_distil_keeps_right_answers_that_differ(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kzlib.teacher import distil as module

    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    url, prompts = endpoint
    out = list(
        module.distil(
            module.Endpoint(url, "fake"), [("torch.exp",), ("torch.sin",)], "triton", FakeVerifier(), answers=6, keep=2
        )
    )
    assert [s.task.apis for s in out] == [("torch.exp",)] * 2  # the answer for torch.sin used another API
    assert sorted("for i" in s.candidate.source for s in out) == [False, True]  # one of each cluster
    assert not any("number = 1\n" in s.candidate.source for s in out)
    kernel_prompts = [p for p in prompts if "compiler principles" in p]
    assert {
        name for name in module.PRINCIPLES if any(f"Try this one first: {name}" in p for p in kernel_prompts)
    } == set(module.PRINCIPLES)
    assert all("def get_inputs" in p and "{task}" not in p for p in kernel_prompts)


def test_a_dead_endpoint_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from kzlib.teacher import distil as module

    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    with pytest.raises(ValueError, match="is the server running"):
        module.Endpoint("http://127.0.0.1:9", "m").complete("hello", 0)


def test_a_page_shows_every_schedule_in_both_backends() -> None:
    from kzlib.teacher.page import exhibits, table

    task = Task(
        "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.fc = nn.Linear(9, 5)\n\n    def forward(self, x):\n"
        "        return torch.softmax(torch.relu(self.fc(x)), dim=1)\n\n\ndef get_inputs():\n"
        "    return [torch.randn(3, 9)]\n\n\ndef get_init_inputs():\n    return []\n"
    )
    shown = exhibits(task)
    assert len(shown) == 6
    assert len({x.candidate.id for x in shown}) >= 5  # CUDA walks rows in blocks under every schedule
    rows = table(shown, [verdict(shown[0].candidate, Outcome.PASS)])
    assert rows[0]["outcome"] == "pass"
    assert {r["outcome"] for r in rows[1:]} == {"not judged here"}
    assert all(r["kernels"] >= 1 for r in rows)
