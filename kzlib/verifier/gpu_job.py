"""A judgement's working state on a GPU: what was built for it, and the device memory it holds. Source: issue 4."""

from __future__ import annotations

from dataclasses import dataclass, field

from kzlib.verifier.judge import Job


@dataclass
class GpuJob(Job):
    """`kernels` and `extensions` are None until they were built; `reserved` counts bytes of device memory."""

    kernels: dict[str, bytes] | None = None
    extensions: list[tuple[str, str, str]] | None = None  # key, path, kind
    failed: dict[str, str] = field(default_factory=dict)  # extensions that do not compile, and why
    reserved: int = 0
    alone: bool = False  # judged again with all of the device's memory
    unwatched: bool = False  # the call under observation ended its process once
