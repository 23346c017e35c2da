"""What the kernel of the operating system takes away from a child before generated code runs in it.

Every step is tried and, where the platform refuses, left out: `server_walls` and `child_walls` return the names of the
walls that stand, and `Verifier.protections()` shows them. Source: issue 3, item 4; docs/verifier.md lists what is not
protected.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
CLONE_VFORK, CLONE_THREAD = 0x4000, 0x10000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE = 1, 22, 38, 36, 4
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same numbers on every architecture


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use. Bytes and seconds; `processes` False forbids fork and exec outright."""

    memory: int = 6 << 30  # beyond what the warm server already maps
    file_bytes: int = 64 << 20
    scratch_bytes: int = 256 << 20
    cpu_seconds: int = 120
    open_files: int = 256
    processes: bool = False


def _call(name: str, *args: object) -> int:
    result = int(getattr(libc, name)(*args))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _attempt(walls: list[str], name: str, step: Callable[[], object]) -> bool:
    try:
        step()
    except (OSError, ValueError, AttributeError):
        return False
    walls.append(name)
    return True


# --- once, in the fork server ---------------------------------------------------------------------------------------


def enter_namespaces(user: bool = True) -> list[str]:
    """Leave the machine's network, IPC and mount tables; the next child of this process starts a pid space."""
    walls: list[str] = []
    uid, gid = os.getuid(), os.getgid()

    def unshare() -> None:
        flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS
        _call("unshare", flags | (CLONE_NEWUSER if user else 0))
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)

    if _attempt(walls, "namespaces", unshare):
        walls[:] = ["network", "ipc", "mounts", "pids", *(["user"] if user else [])]
    return walls


def next_pid_space() -> None:
    """Make the next forked child the first process of a pid space of its own: when it dies, all it started dies."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", own, CLONE_NEWPID)
    finally:
        os.close(own)
    _call("unshare", CLONE_NEWPID)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it ends."""
    _call("prctl", PR_SET_PDEATHSIG, 9, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (used where pid spaces are refused)."""
    _call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# --- in every child -------------------------------------------------------------------------------------------------


def child_walls(
    scratch: str, limits: Limits, own_mounts: bool, readable: Iterable[str] = (), devices: Iterable[str] = ()
) -> list[str]:
    """Shut this process in: limits, a private scratch folder as its current one, read-only rest, fewer system calls."""
    walls: list[str] = []
    if own_mounts and _attempt(walls, "private scratch", lambda: _mount_scratch(scratch, limits.scratch_bytes)):
        # A process list of its own pid space: CUDA looks itself up there by the number it knows.
        _attempt(walls, "own process list", lambda: _call("mount", b"proc", b"/proc", b"proc", 14, None))
    os.chdir(scratch)
    _set_limits(limits)
    walls.append("limits")
    _attempt(walls, "no new privileges", lambda: _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _attempt(walls, "no capabilities", _drop_capabilities)
    _attempt(walls, "read-only files", lambda: _landlock(scratch, [*readable_roots(), *readable], devices))
    _attempt(walls, "system calls", lambda: _seccomp(limits.processes))
    return walls


def _mount_scratch(scratch: str, size: int) -> None:
    _call("unshare", CLONE_NEWNS | CLONE_NEWIPC)
    options = f"size={size},nr_inodes=4096,mode=700".encode()
    _call("mount", b"tmpfs", scratch.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, options)


def _set_limits(limits: Limits) -> None:
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for kind, value in (
        (resource.RLIMIT_AS, mapped + limits.memory if limits.memory else resource.RLIM_INFINITY),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))
    _attempt([], "", lambda: _call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0))


def _drop_capabilities() -> None:
    header = struct.pack("<II", 0x20080522, 0)
    number = {"x86_64": 126, "aarch64": 91}[platform.machine()] if platform.machine() in ("x86_64", "aarch64") else None
    if number is None:
        raise OSError("capset has no known number here")
    _call("syscall", number, ctypes.c_char_p(header), ctypes.c_char_p(struct.pack("<6I", *[0] * 6)))


def readable_roots() -> list[str]:
    """Folders and files a child needs to read: the interpreter, installed packages, system libraries, a few devices."""
    package = str(Path(__file__).resolve().parents[2])
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    roots |= {entry for entry in sys.path if "site-packages" in entry or "dist-packages" in entry}
    roots |= {
        "/usr",
        "/lib",
        "/lib64",
        "/bin",
        "/etc",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/self",
        "/sys/devices/system/cpu",
    }
    roots |= {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"}
    inside = [root for root in roots if root and os.path.realpath(root) != package]
    return sorted(root for root in inside if Path(root).exists())


def _landlock(scratch: str, readable: Iterable[str], devices: Iterable[str]) -> None:
    abi = libc.syscall(LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        raise OSError("Landlock is not offered")
    files = (1 << (13 + (abi >= 2) + (abi >= 3) + (abi >= 5))) - 1  # the rights each version of Landlock knows
    read, dir_read, execute = 1 << 2, 1 << 3, 1 << 0
    network = 3 if abi >= 4 else 0
    scoped = 3 if abi >= 6 else 0
    attribute = struct.pack("<QQQ", files, network, scoped)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _call("syscall", LANDLOCK_CREATE, ctypes.c_char_p(attribute), len(attribute), 0)
    file_only = read | execute | (1 << 1) | ((1 << 14) if abi >= 3 else 0) | ((1 << 15) if abi >= 5 else 0)

    def allow(path: str, rights: int) -> None:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not Path(path).is_dir():
                rights &= file_only
            rule = struct.pack("<Qi", rights & files, handle)
            _call("syscall", LANDLOCK_ADD, ruleset, 1, ctypes.c_char_p(rule), 0)
        finally:
            os.close(handle)

    for path in readable:
        allow(path, read | dir_read | execute)
    for path in ("/dev/null", "/dev/zero", *devices):
        allow(path, read | (1 << 1) | (1 << 14) | (1 << 15))  # CUDA truncates its threads' comm files
    # Make and remove ordinary files and folders only: no devices, sockets or fifos.
    allow(
        scratch,
        read | dir_read | (1 << 1) | (1 << 4) | (1 << 5) | (1 << 7) | (1 << 8) | (1 << 13) | (1 << 14) | execute,
    )
    _call("syscall", LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


# System calls no kernel candidate needs: tracing, other processes' memory, mounts, namespaces, keys, modules, io_uring.
_FORBIDDEN = {
    "x86_64": (101, 310, 311, 165, 166, 272, 308, 321, 298, 250, 248, 249, 246, 320, 175, 313, 176, 169, 425, 426, 427,
               155, 161, 304, 323, 428, 429, 430, 438, 442),
    "aarch64": (117, 270, 271, 40, 39, 97, 268, 280, 241, 219, 217, 218, 104, 294, 105, 273, 106, 142, 425, 426, 427,
                41, 51, 265, 282, 428, 429, 430, 438, 442),
}  # fmt: skip
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# fork, vfork, execve, execveat; socket, connect, bind (paths of sockets are not covered by Landlock)
_PROCESS_CALLS = {"x86_64": (57, 58, 59, 322, 41, 42, 49), "aarch64": (221, 281, 198, 203, 200)}
_FORK: dict[str, tuple[int, ...]] = {"x86_64": (57,), "aarch64": ()}
_CLONE = {"x86_64": (56, 435), "aarch64": (220, 435)}


def _seccomp(processes: bool) -> None:
    machine = platform.machine()
    if machine not in _ARCH or sys.byteorder != "little":
        raise OSError("no filter for this architecture")
    load, equal, returns, test = 0x20, 0x15, 0x06, 0x45
    allow, deny, missing = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
    clone, clone3 = _CLONE[machine]
    denied = _FORBIDDEN[machine] + (_FORK[machine] if processes else _PROCESS_CALLS[machine])
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4), (equal, 1, 0, _ARCH[machine]), (returns, 0, 0, deny), (load, 0, 0, 0),
        (0x35, 0, 1, 0x40000000), (returns, 0, 0, deny),  # the x32 table, whose numbers would slip past the list
    ]  # fmt: skip
    for number in denied:
        program += [(equal, 0, 1, number), (returns, 0, 0, deny)]
    # glibc falls back from clone3 to clone, whose flags can be read: threads yes; and where compilers must be started,
    # a process that starts another program while its parent waits (vfork), never a copy of this one.
    allowed = CLONE_THREAD | (CLONE_VFORK if processes else 0)
    program += [(equal, 0, 1, clone3), (returns, 0, 0, missing)]
    program += [(equal, 0, 3, clone), (load, 0, 0, 16), (test, 1, 0, allowed), (returns, 0, 0, deny)]
    program.append((returns, 0, 0, allow))
    code = b"".join(struct.pack("<HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(buffer))
    _call("prctl", PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0)
