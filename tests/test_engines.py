"""Engines behind one function. If these break, a seed is lost on its way, or a server's hiccup ends a run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rl_doubles import tiny

from kzlib import policy
from kzlib.engines import Endpoint, Vllm


class Server(ThreadingHTTPServer):
    seen: list[dict[str, Any]]
    failures: int


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.failures > 0:
            self.server.failures -= 1
            self.send_error(503)
            return
        if body["model"] == "unknown":
            self.send_error(404)
            return
        self.server.seen.append({**body, "key": self.headers.get("Authorization")})
        text = f"{body.get('prompt') or body['messages'][0]['content']}/{body['seed']}"
        choice = {"text": text, "message": {"content": text}, "finish_reason": "length"}
        reply = json.dumps({"choices": [choice], "usage": {"completion_tokens": 5}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    httpd = Server(("127.0.0.1", 0), Handler)
    httpd.seen, httpd.failures = [], 0
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def endpoint(server: Server, **changes: Any) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", **({"model": "m"} | changes))


@pytest.mark.parametrize("chat", [False, True])
def test_every_sample_has_its_own_seed_and_order_is_kept(server: Server, chat: bool, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    ask = {"n": 3, "max_new_tokens": 9, "engine": "openai"}
    a = policy.generate(endpoint(server, chat=chat), None, ["x", "y"], seed=1, **ask)  # type: ignore[arg-type]
    assert [[g.text[0] for g in group] for group in a] == [["x"] * 3, ["y"] * 3]
    assert len({g.text for group in a for g in group}) == 6
    assert a == policy.generate(endpoint(server, chat=chat), None, ["x", "y"], seed=1, **ask)  # type: ignore[arg-type]
    assert a != policy.generate(endpoint(server, chat=chat), None, ["x", "y"], seed=2, **ask)  # type: ignore[arg-type]
    assert a[0][0].finish_reason == "length"
    assert {row["key"] for row in server.seen} == {"Bearer secret"}


def test_a_hiccup_is_retried_and_a_refusal_is_one_sentence(server: Server) -> None:
    server.failures = 2
    assert policy.generate(endpoint(server), None, ["x"], engine="openai")[0][0].tokens == 5
    with pytest.raises(RuntimeError, match="check the address, the model's name and the key in OPENAI_API_KEY"):
        policy.generate(endpoint(server, model="unknown"), None, ["x"], engine="openai")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="use transformers, vllm or openai"):
        policy.generate("m", None, ["x"], engine="sglang")  # type: ignore[arg-type]


PROMPTS = ["abc", "class ModelNew", "d"]


def saved(folder: Path) -> tuple[Any, Any]:
    """A policy that vLLM takes on a CPU too: 32 numbers a head."""
    pytest.importorskip("vllm")
    tokenizer = tiny()[1]
    model = policy.build_model(tokenizer, layers=2, hidden=64, heads=2)
    policy.save(model, tokenizer, folder)
    return model, tokenizer


@pytest.mark.vllm
@pytest.mark.timeout(600)
def test_a_vllm_server_answers_as_transformers_do_and_keeps_seeds(tmp_path: Path) -> None:
    model, tokenizer = saved(tmp_path / "m")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(tmp_path / "m")]
    command += ["--served-model-name", "m", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--max-model-len", "128", "--enforce-eager"]
    with (tmp_path / "log").open("w") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models", started, tmp_path / "log")
        served = Endpoint(f"http://127.0.0.1:{port}/v1", "m")
        greedy = policy.generate(served, None, PROMPTS, max_new_tokens=12, temperature=0, engine="openai")
        assert greedy == policy.generate(model, tokenizer, PROMPTS, max_new_tokens=12, temperature=0)
        first, again, other = (
            policy.generate(served, None, PROMPTS, n=2, max_new_tokens=12, seed=seed, engine="openai")
            for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other
        assert all(a.text != b.text for a, b in first)
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        started.wait(60)


def wait_for(url: str, started: subprocess.Popen[bytes], log: Path) -> None:
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            assert started.poll() is None, log.read_text()[-2000:]
            time.sleep(1)


@pytest.mark.vllm
def test_vllm_writes_the_same_greedy_tokens_as_transformers(tmp_path: Path) -> None:
    model, tokenizer = saved(tmp_path / "m")
    prompts = PROMPTS
    ours = policy.generate(model, tokenizer, prompts, max_new_tokens=12, temperature=0)
    with Vllm(tmp_path / "m", dtype="float32", max_model_len=128) as served:
        theirs = served.generate(prompts, 1, 12, 0.0, 1.0, seed=0)
        assert [g[0].text for g in theirs] == [g[0].text for g in ours]
        policy.same_policy(
            model, tokenizer, lambda ps: [g[0].text for g in served.generate(ps, 1, 16, 0.0, 1.0, 0)], prompts
        )
