"""Triton kernels compiled ahead, without a device: the same files for the same code, and nothing else is stored."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.verifier import precompile, wire
from kzlib.verifier.pool import ForkServer, ServerConfig
from kzlib.verifier.sandbox import Limits

TASK = """import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x)
def get_inputs(): return [torch.randn(1 << 14, 1 << 16)]
def get_init_inputs(): return []
"""
CODE = """import torch, triton
import triton.language as tl

@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + index, tl.maximum(tl.load(x_ptr + index, mask=index < n), 0.0), mask=index < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda and x.device.type == "cuda"
        y = torch.empty_like(x, device=x.device)
        blocks = torch.cuda.get_device_properties(0).multi_processor_count
        relu[(blocks,)](x, y, x.numel(), BLOCK=1024)
        return y
"""
FACTS = {"properties": {"name": "NVIDIA H200", "multi_processor_count": 132}, "capability": [9, 0]}


def compiled(server: ForkServer, code: str) -> dict:
    with server.fork("kzlib.verifier.precompile:compile_main") as child:
        child.send({"candidate": code, "task": TASK, "entries": ["ModelNew"], "arch": 90, "device": FACTS})
        return child.receive(120.0, precompile.MAX_BYTES)


def test_the_same_code_compiles_to_the_same_files_and_4_gib_need_no_memory(tmp_path: Path) -> None:
    limits = Limits(memory=0, file_bytes=1 << 30, open_files=4096, processes=True)
    server = ForkServer(ServerConfig(preload=("kzlib.verifier.precompile",), environment={}, limits=limits))
    try:
        first, again = compiled(server, CODE), compiled(server, CODE)
        other = compiled(server, CODE.replace("0.0)", "1.0)"))
        broken = compiled(server, CODE.replace("return y", "return y.sum().item()"))
        refused = compiled(server, CODE.replace("tl.maximum(", "tl.nothing("))
    finally:
        server.close()
    assert first["error"] == "" and any(name.endswith("/relu.cubin") for name in first["files"]), first
    assert precompile.checked(first["files"]).keys() == again["files"].keys()  # keys do not hold our file names
    assert first["files"].keys() != other["files"].keys()
    assert broken["files"] and broken["error"]  # what was compiled before the branch on a value is of use
    assert not refused["files"] and "Error" in refused["error"]
    precompile.install(first["files"], tmp_path)
    group = next(tmp_path.glob("*/__grp__relu.json")).read_text()
    paths = re.findall(r'"(/[^"]+)"', group)
    assert len(paths) == 2 and all(Path(p).exists() for p in paths)


@settings(max_examples=60)
@given(st.dictionaries(st.one_of(st.text(max_size=40), st.sampled_from(["a/b.so", "../b.so", "/a/b.json"])),
                       st.one_of(st.binary(max_size=4), st.none()), max_size=4))  # fmt: skip
def test_only_compiled_files_of_flat_folders_are_kept(files: dict) -> None:
    try:
        kept = precompile.checked(files)
    except wire.WireError:
        return
    assert all(re.fullmatch(r"[\w-]+/[\w.-]+\.(json|cubin|so)", name) for name in kept)
    assert not any(".." in Path(name).parts for name in kept)


@pytest.mark.parametrize("files", [None, [], {"a/b.cubin": b"0" * (33 << 20)}, {"a/b.cubin": "text"}])
def test_other_answers_are_refused(files: object) -> None:
    with pytest.raises(wire.WireError):
        precompile.checked(files)


def test_a_server_that_compiled_once_has_one_thread_and_its_children_hash_nothing(
    tmp_path: Path,
) -> None:
    """Triton hashes its own library, half a gigabyte, in every process that asks for a stored kernel: 0.5 s each."""
    program = """
import os, time
from kzlib.verifier import gpu_child
gpu_child.warm_compiler(90)
from triton.runtime import cache, jit
from triton.compiler import compiler
key = getattr(cache, "triton_key", None) or compiler.triton_key
print(key.cache_info().currsize, open("/proc/self/status").read().split("Threads:")[1].split()[0])
"""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment,
                          cwd=Path(__file__).parents[1], timeout=240)  # fmt: skip
    assert done.stdout.split() == ["1", "1"], done.stderr
