"""Evaluating another policy than asked for would publish numbers under a wrong name."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from kzlib import policy
from kzlib.contenders import contender, opened
from kzlib.evaluation import Subject, evaluate
from kzlib.records import Outcome, Task, Verdict
from kzlib.workspace import MissingInputError, open_run

ANSWER = "```python\nclass ModelNew:\n    pass\n```"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.delenv("KZ_OUTPUT_ROOT", raising=False)
    return open_run(tmp_path, "smoke", "contenders", stage="05_evaluation")


def saved(folder):
    tokenizer = policy.build_tokenizer(["class Model: pass", "x = 1"] * 9, 300)
    policy.save(policy.build_model(tokenizer, layers=1, hidden=32, heads=2), tokenizer, folder)


def test_a_checkpoint_of_the_run_comes_before_a_folder_of_that_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coder.r1").mkdir()
    own = run.path("checkpoints/coder.r1/weights.bin")
    own.write_text("w")
    found = contender("coder.r1", run)
    assert found.source == str(own.parent)
    assert contender(str(tmp_path / "coder.r1"), run).source == str(tmp_path / "coder.r1")
    own.write_text("x")
    assert contender("coder.r1", run).digest != found.digest


def test_what_is_not_there_says_what_to_do(run):
    with pytest.raises(MissingInputError, match="run notebook 04_coder_rl first"):
        contender("coder.r7", run)
    with pytest.raises(ValueError, match="is no model to evaluate: give a checkpoint"):
        contender("nonsense", run)
    with pytest.raises(ValueError, match="names no server and model"):
        contender("openai:localhost", run)


def test_a_hub_id_is_left_to_the_loader(run):
    found = contender("owner/some-model", run)
    assert (found.name, found.source, found.served) == ("some-model", "owner/some-model", False)


def test_a_folder_of_weights_answers_and_the_same_seed_repeats(run, tmp_path):
    saved(tmp_path / "mine")
    who = contender(str(tmp_path / "mine"), run)
    with opened(who, "cpu", "transformers", "compact", 8, 1.0, 1.0) as policy_of:
        first, again, other = (policy_of.write(["class"], 3, seed) for seed in (1, 1, 2))
        assert "<|cuda|>" in policy_of.prompt("cuda")(Task("class Model: pass"))
    assert first == again != other
    assert [len(answers) for answers in first] == [3]
    assert dict(policy_of.settings)["weights"] == who.digest


class Server(BaseHTTPRequestHandler):
    """Answers in the protocol's form and remembers what it was asked."""

    asked: ClassVar[list[tuple[str, dict]]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Server.asked.append((self.path, body))
        choice = {"finish_reason": "stop", "text": ANSWER, "message": {"content": ANSWER}}
        data = json.dumps({"choices": [choice], "usage": {"completion_tokens": 9}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    server = HTTPServer(("127.0.0.1", 0), Server)
    Server.asked.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


@pytest.mark.parametrize(("kind", "path"), [("openai", "/v1/completions"), ("chat", "/v1/chat/completions")])
def test_a_server_is_evaluated_like_any_policy(run, address, tmp_path, kind, path):
    def judge(tasks, candidates, protocol):
        for c in candidates:
            yield Verdict(c.task_id, c.id, c.backend, Outcome.WRONG, "compare", "cpu-interpreter", protocol)

    who = contender(f"{kind}:{address}#maker/big-model", run)
    tasks = [Task("class Model: pass"), Task("class Model: x = 1")]
    with opened(who, "cpu", "transformers", "compact", 64, 0.8, 1.0) as policy_of:
        subject = Subject(who.name, "heldout", "triton", 2, settings=policy_of.settings)
        attempts = evaluate(subject, tasks, policy_of.write, judge, policy_of.prompt("triton"), tmp_path, say=str)
    assert who.name == "big-model"
    assert {a.outcome for a in attempts} == {Outcome.WRONG}
    assert len(attempts) == 4
    assert all(a.tokens == 9 for a in attempts)
    assert {asked for asked, _ in Server.asked} == {path}
    assert {body["model"] for _, body in Server.asked} == {"maker/big-model"}
    seeds = [body["seed"] for _, body in Server.asked]
    assert len(set(seeds)) == 4
    texts = [json.dumps(body) for _, body in Server.asked]
    assert all(("<|triton|>" in text) is (kind == "openai") for text in texts)  # a chat server is asked in words
