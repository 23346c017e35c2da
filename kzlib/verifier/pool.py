"""The judge's side of the fork server: start it, ask for children, talk to them under a deadline, kill them.

Nothing here runs generated code, and nothing here trusts what a child sends beyond its size (see `wire`).
Source: issue 3, item 4; issue 4, item 3; reports P16, P17, P46.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kzlib.verifier import wire
from kzlib.verifier.sandbox import Limits

PROMPT = 0.2  # seconds


class ServerDied(RuntimeError):  # noqa: N818
    """The fork server is gone: our fault, never the candidate's."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How one device's fork server is started. `preload` modules may define `warm_up()`, run once before any fork."""

    preload: tuple[str, ...] = ("kzlib.verifier.candidate", "kzlib.verifier.reference")
    environment: dict[str, str] = field(default_factory=lambda: {"TRITON_INTERPRET": "1"})
    limits: Limits = field(default_factory=Limits)
    namespaces: bool = True
    readable: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    start_seconds: float = 180.0


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: an exit code, or the signal that killed it and whether it was ours."""

    code: int
    killed_by_us: bool

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the child, if one did."""
        return signal.Signals(-self.code).name if self.code < 0 else None


# One thread each: a child of a warm server must find no other threads, and timing must not depend on the host's cores.
_SINGLE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)

_GIVEN = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES")  # of our own environment, to server and children


class ForkServer:
    """A running fork server. Thread-safe: many judges may ask it for children at once.

    `walls` names the protections of the server; a child's greeting adds its own.
    """

    def __init__(self, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig()
        self._lock = threading.Lock()
        self.scratch_root = Path(tempfile.mkdtemp(prefix="kz-"))
        self._count = 0
        self._gone = False
        self._closed = False
        self.walls: list[str] = []
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        package_root = str(Path(__file__).resolve().parents[2])
        home = str(self.scratch_root)
        # Children get this and nothing else: without the choice of a card they would run on the first one.
        given = {name: os.environ[name] for name in _GIVEN if name in os.environ}
        self.environment = {"KZ_CHILD": "1", **_SINGLE_THREAD, **given, **self.config.environment}
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home, "TMPDIR": home, "PYTHONPATH": package_root,
            "PYTHONDONTWRITEBYTECODE": "1", **self.environment,
        }  # fmt: skip
        config = {
            "preload": self.config.preload, "namespaces": self.config.namespaces, "limits": asdict(self.config.limits),
            "readable": self.config.readable, "devices": self.config.devices,
        }  # fmt: skip
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the server
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kzlib.verifier.forkserver", str(theirs.fileno()), json.dumps(config)],
            pass_fds=[theirs.fileno()], env=environment, cwd=home, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self._control = ours
        ours.settimeout(self.config.start_seconds)
        try:
            hello = ours.recv(1 << 16)
        except TimeoutError:
            hello = b""
        if not hello:
            raise ServerDied(f"the verifier's fork server did not start: {self._tail()}")
        facts = json.loads(hello)
        self.walls = facts["walls"]
        self.threads = facts["threads"]

    def _tail(self) -> str:
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it wrote nothing"

    def fork(self, entry: str, debug: str | None = None) -> Child:
        """A fresh child running `entry` (`module:function`, preloaded). `ServerDied` when the server cannot serve."""
        with self._lock:
            if self._closed:
                raise ServerDied("the verifier is closed")
            self._count += 1
            scratch = self.scratch_root / f"job{self._count}"
            scratch.mkdir(mode=0o700)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            status_read, status_write = os.pipe2(os.O_CLOEXEC)
            request = {"entry": entry, "scratch": str(scratch), "environment": self.environment, "debug": debug}
            try:
                socket.send_fds(self._control, [json.dumps(request).encode()], [theirs.fileno(), status_write])
                reply, descriptors, _, _ = socket.recv_fds(self._control, 4096, 1)
            except OSError as error:
                ours.close()
                os.close(status_read)
                self._gone = True  # its process may still be dying: the next caller starts another server
                raise ServerDied(f"the fork server does not answer ({error})") from None
            finally:
                theirs.close()
                os.close(status_write)
            if not descriptors:
                ours.close()
                os.close(status_read)
                reason = json.loads(reply).get("error", "") if reply else "it ended"
                raise ServerDied(f"the fork server could not fork ({reason})")
        return Child(ours, descriptors[0], status_read, scratch)

    @property
    def alive(self) -> bool:
        """True while the server process runs."""
        return not (self._closed or self._gone) and self._process.poll() is None

    def close(self) -> None:
        """End the server, every child of it, and the scratch folder."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._control.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        shutil.rmtree(self.scratch_root, ignore_errors=True)


class Child:
    """One job's process, seen from the judge."""

    def __init__(self, channel: socket.socket, pidfd: int, status: int, scratch: Path) -> None:
        self.channel = channel
        self.pidfd = pidfd
        self._status = status
        self.scratch = scratch
        self._killed = False
        self._exit: Exit | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def send(self, value: Any, seconds: float = 60.0) -> None:
        """Send one value; `wire.Closed` if the child is gone."""
        wire.send(self.channel, value, time.monotonic() + seconds)

    def receive(self, seconds: float, limit: int = 1 << 40) -> Any:
        """The child's next value within `seconds` of time it could have used: time it spent waiting for a core on a
        busy machine is not counted, up to four times the limit. `wire.Deadline`, `wire.Closed` or `wire.WireError`."""
        start = time.monotonic()
        if self._readable(min(seconds, PROMPT)):  # most answers: asking the system how busy it is would cost more
            return wire.receive(self.channel, time.monotonic() + max(seconds, 5.0), limit)
        waited = self._waiting_for_core()
        while True:
            elapsed = time.monotonic() - start
            starved = self._waiting_for_core() - waited
            left = seconds - (elapsed - starved)
            if left <= 0 or elapsed > 4 * seconds:
                raise wire.Deadline
            if self._readable(left):
                return wire.receive(self.channel, time.monotonic() + max(left, 5.0), limit)

    def _readable(self, seconds: float) -> bool:
        if self.channel.fileno() < 0:  # closed on this side, by whoever ended the child
            raise wire.Closed
        poller = select.poll()
        poller.register(self.channel, select.POLLIN)
        return bool(poller.poll(max(1.0, seconds * 1000)))

    def _waiting_for_core(self) -> float:
        """Seconds the child was ready to run and had no core (second field of its schedstat)."""
        try:
            facts = Path(f"/proc/self/fdinfo/{self.pidfd}").read_text()
            pid = int(facts.split("Pid:")[1].split()[0])
            return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    @property
    def alive(self) -> bool:
        """True while the child's process runs."""
        if self.channel.fileno() < 0:
            return False
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        return not poller.poll(0)

    @property
    def ended(self) -> bool:
        """True once it is known how the child ended."""
        return self._exit is not None

    def kill(self) -> None:
        """Kill the child; in a pid space of its own, everything it started dies with it."""
        self._killed = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def wait(self, seconds: float = 10.0) -> Exit:
        """How the child ended. `ServerDied` if nobody tells."""
        if self._exit is None:
            poller = select.poll()
            poller.register(self._status, select.POLLIN | select.POLLHUP)
            if not poller.poll(seconds * 1000):
                self.kill()
                poller.poll(30_000)
            raw = os.read(self._status, 4)
            if len(raw) != 4:
                raise ServerDied("the fork server ended before its child")
            self._exit = Exit(int.from_bytes(raw, "little", signed=True), self._killed)
        return self._exit

    def end(self) -> None:
        """Kill the child if it still runs, wait for it, and remove its scratch folder."""
        if self.channel.fileno() < 0:
            return
        self.channel.close()
        self.kill()
        with contextlib.suppress(ServerDied):
            self.wait()
        os.close(self._status)
        os.close(self.pidfd)
        shutil.rmtree(self.scratch, ignore_errors=True)
