"""What a candidate for a GPU needs built before it gets near the device: extensions, and Triton kernels compiled ahead.

Runs in the judge; generated code runs in children that have no inputs. Source: issue 4, items 1-3.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from kzlib.records import Outcome, content_id
from kzlib.verifier import precompile, wire
from kzlib.verifier.build import BadRequest, Builder, BuildFailed, BuildTimeout, build_glue
from kzlib.verifier.extension import Extension
from kzlib.verifier.gpu_job import GpuJob
from kzlib.verifier.intercept import asks_for_builds, find, may_catch, own_lines
from kzlib.verifier.judge import Ended
from kzlib.verifier.pool import ForkServer
from kzlib.verifier.store import Store, StoreBusy
from kzlib.verifier.toolkit import ToolMissing


class Builds:
    """Builds for one device, by its number and its driver's name. Thread-safe: results are kept on the job."""

    def __init__(
        self, server: Callable[[], ForkServer], device: int, name: str, builder: Builder | None = None
    ) -> None:
        self.server, self.device, self.name = server, device, name
        self._builder = builder
        self._glue: Path | None = None
        self._store: Store | None = None
        self._facts: dict[str, Any] = {}
        self._lock = threading.Lock()

    def builder(self) -> Builder:
        """The builder for this device's architecture. `ToolMissing` where there is no compiler."""
        with self._lock:
            if self._builder is None:
                major, minor = torch.cuda.get_device_capability(self.device)
                self._builder = Builder(Store(), arch=f"{major}{minor}")
            if self._glue is None:
                self._glue = build_glue(self._builder.store, self._builder.tools)
            return self._builder

    def glue(self, job: GpuJob) -> str:
        """Path of what lean extensions are loaded with; empty where the candidate asks for none."""
        return str(self._glue) if self._glue is not None and asks_for_builds(job.candidate.source) else ""

    def kernels(self, job: GpuJob) -> None:
        """Compile its Triton kernels ahead, once a judgement; what cannot be is compiled where it runs."""
        if "triton" in job.candidate.source and job.kernels is None:
            start = time.perf_counter()
            try:
                job.kernels = self._compiled(job)
            except (StoreBusy, OSError) as error:
                raise Ended(Outcome.INFRA, "build", f"the build store failed: {error}") from None
            job.spend("compile", start)

    def _compiled(self, job: GpuJob) -> dict[str, bytes]:
        """The candidate's Triton kernels for its task's shapes, compiled now or earlier; none where it needs a run."""
        if self._store is None:
            self._store, self._facts = Store(), precompile.device_facts(self.device)
        arch = self._facts["capability"][0] * 10 + self._facts["capability"][1]
        entries = list(job.protocol.entries)
        key = content_id("triton kernels", job.candidate.source, job.task.source, *entries, str(arch), self.name,
                         triton_version(), torch.__version__)  # fmt: skip
        made = False

        def make(folder: Path) -> None:
            nonlocal made
            made = True
            request = {"candidate": job.candidate.source, "task": job.task.source, "entries": entries, "arch": arch,
                       "device": self._facts}  # fmt: skip
            with self.server().fork("kzlib.verifier.precompile:compile_main") as child:
                try:
                    child.send(request)
                    answer = child.receive(job.protocol.load_seconds, precompile.MAX_BYTES)
                    precompile.keep(precompile.checked(answer["files"]), folder)
                except (wire.WireError, wire.Deadline, KeyError, TypeError):
                    precompile.keep({}, folder)  # its own run will tell

        entry = self._store.build(key, make, wait=2 * job.protocol.load_seconds)
        files = precompile.kept(entry)
        job.evidence["compiled_ahead"] = "now" if made and files else "stored" if files else "nothing"
        return files

    def extensions(self, job: GpuJob) -> list[tuple[str, str, str]]:
        """Build the extensions it will ask for, once a judgement: key, path and kind. `Ended` when that fails."""
        if job.extensions is not None:
            return job.extensions
        start = time.perf_counter()
        try:
            rows = self._built(job) if asks_for_builds(job.candidate.source) else []
        except ToolMissing as error:
            raise Ended(Outcome.INFRA, "build", str(error)) from None
        except (StoreBusy, OSError) as error:
            raise Ended(Outcome.INFRA, "build", f"the build store failed: {error}") from None
        finally:
            job.spend("build", start)
        job.extensions = rows
        return rows

    def _built(self, job: GpuJob) -> list[tuple[str, str, str]]:
        builder = self.builder()
        found = find(job.candidate.source)
        asked = list(found.extensions) if found.complete else self._recorded(job, list(found.extensions))
        rows, kinds = [], []
        failed: dict[str, str] = {}
        for extension in asked:
            try:
                built = builder.build(extension)
            except BuildFailed as error:
                failed[extension.key] = "\n".join(own_lines(error.lines, found.lines.get(extension.key, {})))
                continue  # the candidate's own call then fails as PyTorch's would
            except BadRequest as error:
                raise Ended(Outcome.COMPILE_FAIL, "build", str(error)) from None
            except BuildTimeout as error:
                raise Ended(Outcome.COMPILE_TIMEOUT, "build", str(error)) from None
            rows.append((extension.key, str(built.path), built.kind))
            kinds.append(built.kind)
        if asked:
            job.evidence["builds"] = kinds
        if failed:
            job.evidence["failed_builds"] = list(failed.values())
            if not rows and not may_catch(job.candidate.source):
                raise Ended(Outcome.COMPILE_FAIL, "build", next(iter(failed.values())))
        job.failed = failed
        return rows

    def _recorded(self, job: GpuJob, known: list[Extension]) -> list[Extension]:
        """Extensions that only running the candidate tells, written down by a child that builds nothing."""
        with self.server().fork("kzlib.verifier.intercept:record_child") as child:
            try:
                child.send({"candidate": job.candidate.source, "task": job.task.source})
                answer = child.receive(job.protocol.load_seconds, wire.MAX_JSON)
                told = [Extension.from_json(row) for row in answer["extensions"]]
            except (wire.WireError, wire.Deadline, KeyError, TypeError, ValueError):
                told = []
        return list({e.key: e for e in (*known, *told)}.values())


@cache
def triton_version() -> str:
    """Of the installed Triton, without importing it."""
    return metadata.version("triton")
