"""Faults cost exactly one verdict: the next candidate's result does not depend on them, and nothing is left running."""

# ruff: noqa: E501 - sources of kernels, one a line

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kzlib.records import Candidate, Outcome, Task, Verdict, from_json
from kzlib.verifier import Verifier
from kzlib.verifier.protocols import PROTOCOLS
from kzlib.verifier.references import Reference
from tests.verifier_support import DOUBLE, DOUBLE_TASK, HEAD, TRITON, double_with, judge, verifier

FORWARD = TRITON + "import os, sys, time, signal\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        "
FAULTS = {
    "exception": FORWARD + "raise RuntimeError('illegal memory access')",
    "segmentation fault": FORWARD + "import faulthandler; faulthandler._sigsegv()",
    "abort": FORWARD + "os.abort()",
    "kill itself": FORWARD + "os.kill(os.getpid(), signal.SIGKILL); return x",
    "kill the group": FORWARD + "os.killpg(0, signal.SIGKILL); return x",
    "kill everything": FORWARD + "os.kill(-1, signal.SIGKILL); return x",
    "kill the parent": FORWARD + "os.kill(os.getppid() or 1, signal.SIGKILL); return x",
    "exit": FORWARD + "os._exit(3)",
    "fork bomb": FORWARD + "\n        while True:\n            os.fork()",
    "quiet fork bomb": FORWARD + "\n        for _ in range(1000):\n            try: os.fork()\n            except OSError: pass\n        return x",
    "daemon": FORWARD + "os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '600'); return x",
    "thread bomb": FORWARD + "import threading\n        for _ in range(100_000):\n            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n        return x",
    "all memory": FORWARD + "hog = [bytearray(1 << 28) for _ in range(1000)]; return x",
    "huge tensor": FORWARD + "return torch.zeros(1 << 44)",
    "huge output": FORWARD + "return torch.zeros(1 << 25)",
    "fill the disk": FORWARD + "\n        for i in range(10_000):\n            open(f'f{i}', 'wb').write(bytes(1 << 24))\n        return x",
    "one huge file": FORWARD + "\n        with open('f', 'wb') as f:\n            f.seek(1 << 40); f.write(b'x')\n        return x",
    "write elsewhere": FORWARD + "open(torch.__file__, 'a').write('#'); return x",
    "remove files": FORWARD + "import shutil; shutil.rmtree('/usr/lib', ignore_errors=False); return x",
    "network": FORWARD + "import socket; socket.create_connection(('1.1.1.1', 80), 3); return x",
    "noise on every descriptor": FORWARD + "\n        for fd in range(3, 256):\n            try: os.write(fd, b'{\"event\": \"report\"}' * 10)\n            except OSError: pass\n        return x",
    "close every descriptor": FORWARD + "os.closerange(0, 4096); return x",
    "deep recursion": FORWARD + "return self.forward(x)",
    "store far away": double_with("tl.store(y + i", "tl.store(y + i + 100000000"),
    "load far away": double_with("tl.load(x + i", "tl.load(x - 100000000 + i"),
    "exit handler": "import atexit, os\natexit.register(lambda: os._exit(0))\nraise SystemExit(0)",
    "syntax error": "class ModelNew(",
}  # fmt: skip


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter limit than users get, so that hangs do not dominate the test."""
    import dataclasses

    monkeypatch.setitem(PROTOCOLS, "strict", dataclasses.replace(PROTOCOLS["strict"], run_seconds=6.0))


def descendants(pid: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, queue = set(), [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.add(child)
            queue.append(child)
    return found


def test_fifty_mixed_faults_in_random_order_leave_every_next_verdict_unchanged(monkeypatch):
    quick(monkeypatch)
    order = [name for name in FAULTS for _ in range(2)]
    random.Random(5).shuffle(order)
    assert len(order) >= 50
    with Verifier(device="cpu", workers=1) as one:
        settled = one.server()
        expected = next(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)], seed=1)).outcome
        assert expected is Outcome.PASS
        quiet = descendants(os.getpid())
        got: dict[str, set[str]] = {}
        unchanged = 0
        for number, name in enumerate(order):
            pair = [FAULTS[name] + f"\n# {number}", DOUBLE + f"\n# {number}"]
            candidates = [Candidate(DOUBLE_TASK.id, "triton", s) for s in pair]
            by_id = {v.candidate_id: v for v in one.verify([DOUBLE_TASK], candidates, seed=1)}
            got.setdefault(name, set()).add(by_id[candidates[0].id].outcome.value)
            unchanged += by_id[candidates[1].id].outcome is expected
        assert unchanged == len(order)
        assert one.server() is settled  # no fault reached the server
        time.sleep(0.5)
        assert descendants(os.getpid()) <= quiet
        assert list(settled.scratch_root.glob("job*")) == []
    allowed = {"runtime_fail", "wrong", "cheat", "timeout", "compile_fail"}
    slow = got.pop("all memory")  # filling it may take longer than the limit on a busy machine
    assert slow <= {"runtime_fail", "timeout"}
    assert {n: o for n, o in got.items() if len(o) != 1 or not o <= allowed} == {}
    assert got["exception"] == {"runtime_fail"} and got["syntax error"] == {"compile_fail"}
    assert Path(sys.modules["torch"].__file__).read_text()[-1] != "#"


@pytest.mark.parametrize("where", ["import", "forward", "kernel"])
def test_a_hang_is_a_timeout_within_its_limit(monkeypatch, where):
    quick(monkeypatch)
    if where == "import":
        import dataclasses

        monkeypatch.setitem(PROTOCOLS, "strict", dataclasses.replace(PROTOCOLS["strict"], load_seconds=4.0))
    source = {
        "import": "while True: pass",
        "forward": FORWARD + "time.sleep(600)",
        "kernel": double_with("    v = tl", "    while i.shape[0] > 0:\n        pass\n    v = tl"),
    }[where]
    start = time.monotonic()
    assert judge(DOUBLE_TASK, source).outcome is Outcome.TIMEOUT
    assert time.monotonic() - start < 60
    assert judge(DOUBLE_TASK, DOUBLE).outcome is Outcome.PASS


def test_a_killed_server_is_replaced_and_no_candidate_pays_for_it():
    with Verifier(device="cpu", workers=2) as one:
        candidates = [Candidate(DOUBLE_TASK.id, "triton", DOUBLE + f"\n# {i}") for i in range(12)]
        outcomes = []
        for number, verdict in enumerate(one.verify([DOUBLE_TASK], candidates)):
            outcomes.append(verdict.outcome)
            if number == 2:
                os.killpg(one.server()._process.pid, signal.SIGKILL)
        assert outcomes == [Outcome.PASS] * 12


def test_a_child_killed_from_outside_is_judged_again():
    """As when the machine runs out of memory: the same child is run once more, and passes."""
    with Verifier(device="cpu", workers=1) as one:
        one.server()
        slow = DOUBLE.replace("        y = torch", "        import time; time.sleep(1.0)\n        y = torch")
        result = []
        thread = threading.Thread(
            target=lambda: result.extend(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", slow)]))
        )
        thread.start()
        server = descendants(one.server()._process.pid)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            fresh = descendants(one.server()._process.pid) - server
            if fresh:
                time.sleep(1.0)  # past the reference's child, into the candidate's
                fresh = descendants(one.server()._process.pid) - server
                if fresh:
                    os.kill(max(fresh), signal.SIGKILL)
                    break
        thread.join()
        assert result[0].outcome is Outcome.PASS


def test_infra_when_our_own_machinery_keeps_failing(monkeypatch):
    with Verifier(device="cpu", workers=1) as one:
        one.server()
        monkeypatch.setattr(one.judge, "server", lambda: (_ for _ in ()).throw(OSError("no processes left")))
        verdict = next(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)]))
        assert verdict.outcome is Outcome.INFRA and not verdict.judged and "no processes left" in verdict.message


def test_protections_of_this_machine_are_named():
    walls = verifier().protections()
    assert "limits" in walls and "no new privileges" in walls


@pytest.mark.parametrize(("added", "outcome"), [("+ 1", Outcome.PASS), ("+ 2", Outcome.WRONG)])
def test_references_let_go_are_gone_at_once_weights_and_all(monkeypatch, added, outcome):
    monkeypatch.setattr("kzlib.verifier.references.KEEP_BYTES", 1 << 16)  # bytes; each task below has 40,000 of weights
    heavy = "super().__init__()\n        self.register_buffer('w', torch.zeros(10000))\n        self.n = {n}"
    source = DOUBLE_TASK.source.replace("super().__init__()", heavy, 1)
    tasks = [Task(source.format(n=n)) for n in range(6)]
    assert len({task.id for task in tasks}) == 6

    def alive() -> int:  # other tests' verifiers hold theirs
        return sum(type(o) is Reference for o in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()  # what is left to the collector waits for it while gigabytes pile up
    try:
        with Verifier(device="cpu", workers=1) as own:
            answers = [Candidate(task.id, "triton", DOUBLE.replace("v * 2 + 1", f"v * 2 {added}")) for task in tasks]
            assert {v.outcome for v in own.verify(tasks, answers)} == {outcome}
            kept = alive() - before
    finally:
        gc.enable()
    assert kept <= 2


def test_a_candidate_runs_on_the_card_that_the_caller_chose(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    tells = double_with(
        "return y", "import os\n        raise RuntimeError(os.environ.get('CUDA_VISIBLE_DEVICES', 'any'))"
    )
    with Verifier(device="cpu", workers=1) as one:
        verdict = next(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", tells)]))
    assert "RuntimeError: 3" in verdict.message, verdict


def test_secrets_of_the_caller_do_not_reach_a_candidate(monkeypatch):
    monkeypatch.setenv("KZ_SECRET_TOKEN", "hush")
    with Verifier(device="cpu", workers=1) as one:
        leak = double_with(
            "return y", "import os\n        assert 'KZ_SECRET_TOKEN' not in os.environ\n        return y"
        )
        assert next(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", leak)])).outcome is Outcome.PASS
    files = double_with("return y", f"open({str(Path(__file__))!r}).read()\n        return y")
    verdict = judge(DOUBLE_TASK, files)
    if "read-only files" in verifier().protections():
        assert verdict.outcome is Outcome.RUNTIME_FAIL


def test_servers_started_beforehand_are_those_that_judge_and_end_with_the_verifier():
    with Verifier(device="cpu", workers=1).start() as one:
        until = time.monotonic() + 60
        while len(one._servers) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        started = dict(one._servers)
        assert set(started) == {"candidates", "front end"}
        assert next(one.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)])).passed
        assert one._servers == started
    assert not any(server.alive for server in started.values())
    Verifier(device="cpu", workers=1).start().close()  # at once: nothing may be left, or begun afterwards


def test_abandoning_the_iterator_leaves_nothing_running():
    with Verifier(device="cpu", workers=2) as one:
        servers = [one.server(), one.front_end()]  # other tests' verifiers may start servers of their own meanwhile

        def running() -> set[int]:
            return set().union(*(descendants(server._process.pid) for server in servers))

        quiet = running()
        stream = one.verify(
            [DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE + f"\n# {i}") for i in range(20)]
        )
        next(stream)
        stream.close()
        deadline, since = time.monotonic() + 60, time.monotonic()
        while time.monotonic() - since < 2 and time.monotonic() < deadline:  # a judgement has several processes in turn
            time.sleep(0.1)
            since = time.monotonic() if running() - quiet else since
        assert time.monotonic() - since >= 2, running() - quiet


def test_candidates_defined_in_a_cell_are_judged_by_several_workers_without_a_main_guard():
    """As from a notebook: the main module is not a file that a worker could import again."""
    program = f"""
from kzlib.records import Candidate, Task
from kzlib.verifier import verify
task = Task({DOUBLE_TASK.source!r})
candidates = [Candidate(task.id, "triton", {DOUBLE!r} + f"\\n# {{i}}") for i in range(6)]
print(sorted(v.outcome.value for v in verify([task], candidates, workers=4, device="cpu")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, cwd=Path(__file__).parents[1]
    )
    assert done.stdout.strip() == str(["pass"] * 6), done.stderr


def test_kz_verify_prints_a_verdict_and_its_exit_codes(tmp_path):
    (tmp_path / "task.py").write_text(DOUBLE_TASK.source)
    (tmp_path / "good.py").write_text(DOUBLE)
    (tmp_path / "bad.py").write_text(HEAD)

    def kz(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kzlib.cli", "verify", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=Path(__file__).parents[1])

    common = ["--task", str(tmp_path / "task.py"), "--backend", "triton", "--device", "cpu"]
    good = kz(*common, "--candidate", str(tmp_path / "good.py"), "--json")
    assert good.returncode == 0, good.stderr
    assert from_json(Verdict, json.loads(good.stdout)).outcome is Outcome.PASS
    bad = kz(*common, "--candidate", str(tmp_path / "bad.py"), "--protocol", "keck")
    assert bad.returncode == 0 and bad.stdout.startswith("compile_fail (keck protocol")
    assert kz(*common, "--candidate", str(tmp_path / "missing.py")).returncode == 2
    assert kz("--task", "x").returncode == 2
