"""A warm process, one a device, that forks one fresh child for every job: imports are paid once, state is never shared.

Started by `pool.ForkServer` as `python -m kzlib.verifier.forkserver FD CONFIG`. A request names the child's entry
(`module:function`) and brings two descriptors: the job's channel and a pipe for its exit status. The answer brings a
pidfd, through which the judge kills the child. Source: issue 4, item 3.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from kzlib.verifier import sandbox


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the judge, who then closes us
    walls: list[str] = []
    if config["namespaces"]:
        walls = sandbox.enter_namespaces()
    if "pids" in walls:
        _become_first_process(control)
    else:
        sandbox.adopt_orphans()
    for name in config["preload"]:
        module = importlib.import_module(name)
        if hasattr(module, "warm_up"):
            module.warm_up()
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"walls": walls, "threads": _threads()}).encode())
    Server(control, walls, config).serve()


def _threads() -> int:
    """Threads of this process, read from its status (its pid here is not its name in the machine's /proc)."""
    text = Path("/proc/thread-self/status").read_text()
    return int(text.split("Threads:")[1].split()[0])


def _become_first_process(control: socket.socket) -> None:
    """Fork once, so that the server itself is process 1 of its pid space; the outer process only waits for it."""
    pid = os.fork()
    if pid == 0:
        sandbox.die_with_parent()
        return
    control.close()
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class Server:
    """Serves fork requests until the judge hangs up."""

    def __init__(self, control: socket.socket, walls: list[str], config: dict[str, Any]) -> None:
        self.control = control
        self.walls = walls
        self.limits = sandbox.Limits(**config["limits"])
        self.readable = config["readable"]
        self.devices = config["devices"]
        self.jobs: dict[int, tuple[int, int]] = {}  # pidfd -> (pid, status descriptor)
        self.poller = select.poll()

    def serve(self) -> None:
        self.poller.register(self.control, select.POLLIN)
        while True:
            for descriptor, _ in self.poller.poll():
                if descriptor != self.control.fileno():
                    self._reap(descriptor)
                elif not self._request():
                    self._close()
                    return

    def _request(self) -> bool:
        message, ancillary, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(8))
        if not message:
            return False
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        channel, status = descriptors
        request = json.loads(message)
        if "pids" in self.walls:
            sandbox.next_pid_space()
        try:
            pid = os.fork()
        except OSError as error:
            self.control.send(json.dumps({"error": error.strerror}).encode())
            os.close(channel)
            os.close(status)
            return True
        if pid == 0:
            self._child(channel, status, request)
        os.close(channel)
        pidfd = os.pidfd_open(pid)
        self.jobs[pidfd] = (pid, status)
        self.poller.register(pidfd, select.POLLIN)
        socket.send_fds(self.control, [json.dumps({"pid": pid}).encode()], [pidfd])
        return True

    def _reap(self, pidfd: int) -> None:
        pid, status = self.jobs.pop(pidfd)
        self.poller.unregister(pidfd)
        _, raw = os.waitpid(pid, 0)
        if "pids" not in self.walls:
            self._kill_strays(pid)
        with contextlib.suppress(BrokenPipeError):  # the judge may have stopped caring
            os.write(status, os.waitstatus_to_exitcode(raw).to_bytes(4, "little", signed=True))
        os.close(status)
        os.close(pidfd)

    def _kill_strays(self, group: int) -> None:
        """Without a pid space: kill the job's process group, and what it left that is now our child."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        known = {pid for pid, _ in self.jobs.values()}
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            if int(child) not in known:
                os.kill(int(child), signal.SIGKILL)
                os.waitpid(int(child), 0)

    def _close(self) -> None:
        for pid, _ in self.jobs.values():
            os.kill(pid, signal.SIGKILL)
        for pidfd in list(self.jobs):
            self._reap(pidfd)

    def _child(self, channel: int, status: int, request: dict[str, Any]) -> None:
        code = 70
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            keep = 20  # the job's channel gets a number no candidate's loop over small descriptors hits by accident
            os.dup2(channel, keep)
            null = os.open("/dev/null", os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            os.closerange(3, keep)
            os.closerange(keep + 1, 4096)
            scratch = request["scratch"]
            os.environ.clear()
            os.environ.update({"HOME": scratch, "TMPDIR": scratch, "PATH": "/usr/bin:/bin", **request["environment"]})
            walls = sandbox.child_walls(scratch, self.limits, "mounts" in self.walls, self.readable, self.devices)
            tempfile.tempdir = None  # the server's own answer is remembered there
            module, function = request["entry"].split(":")
            getattr(sys.modules[module], function)(socket.socket(fileno=keep), [*self.walls, *walls])
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, the child ends here and the judge sees the status
            if request.get("debug"):
                Path(request["debug"]).write_text(traceback.format_exc())
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
