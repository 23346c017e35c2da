"""A verifier that misses subtle breakage rewards it: mutants must be real, labelled, and caught."""

from __future__ import annotations

import ast
import difflib

import pytest

from kzlib.records import Candidate, Outcome
from kzlib.verifier import Verifier
from kzlib.verifier.mutate import CLASSES, mutants
from tests.zoo import cases, tasks
from tests.zoo.values import classify

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def layer(x_ptr, w_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    mean = tl.sum(acc, 0) / 3.5
    tl.atomic_add(y_ptr + row, tl.maximum(mean - 1.5, 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        y = torch.zeros(x.shape[0])
        layer[(triton.cdiv(x.shape[0], 1),)](x, w, y, *x.shape, *x.stride(), BLOCK=64)
        return y
"""
CUDA = '''SOURCE = """
__global__ void total(const float* x, float* y, int n) {
    __shared__ float part[128];
    float acc = 0.f;  // if (a < b) in a comment
    for (int i = threadIdx.x; i < n; i += 128) acc += fmaxf(x[i], 0.5f);
    part[threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.x < 1) y[0] = part[0];
}
torch::Tensor run(torch::Tensor x) { if (x.size(0) < 3) return x; total<<<1, 128>>>(0, 0, 3); return x; }
"""
'''


def test_every_class_of_the_table_is_made_by_some_kernel():
    made = {m.kind for text in (KERNEL, CUDA) for m in mutants(text)}
    assert set(CLASSES) == made


@pytest.mark.parametrize("text", [KERNEL, CUDA])
def test_a_mutant_differs_in_one_place_and_still_parses(text):
    for mutant in mutants(text):
        ast.parse(mutant.source)
        changes = [
            op
            for op in difflib.SequenceMatcher(
                None, text.splitlines(), mutant.source.splitlines(), autojunk=False
            ).get_opcodes()
            if op[0] != "equal"
        ]
        assert len(changes) == 1, mutant
        assert changes[0][1] + 1 <= mutant.line <= changes[0][2], mutant


def test_no_two_mutants_are_the_same_text():
    texts = [m.source for m in mutants(KERNEL)]
    assert len(texts) == len(set(texts)) and KERNEL not in texts


def test_cuda_edits_stay_inside_kernels_and_out_of_comments():
    found = mutants(CUDA)
    assert {"missing_barrier", "missing_mask", "off_by_one", "wrong_operator", "wrong_constant", "skipped_term"} <= {
        m.kind for m in found
    }
    assert all(m.line < 10 for m in found)
    assert all("in a comment" in m.source and "(a < b)" in m.source for m in found)


def test_an_effect_is_named_by_running_the_kernel():
    case = next(c for c in cases() if c.name == "honest/triton/ew_softsign_flat")
    source = case.candidate.source
    texts = [
        source.replace("v / (1.0 + tl.abs(v))", "v / (1.01 + tl.abs(v))"),
        source.replace("v / (1.0 + tl.abs(v))", "v / (tl.abs(v) + 1.0)"),
        source.replace("def forward(self, x)", "def forward(self, x, z)"),
        source.replace("mask = offs < n", "mask = offs < n + 4"),
    ]
    assert all(text != source for text in texts)
    assert classify([(tasks()[case.task].source, source, texts)], 1) == [["changed", "same", "broken", "unsafe"]]


# One kernel a family, all cheap to run; the published share comes from `scripts/zoo_report.py`.
SAMPLE = [
    "red_mean_loop",
    "norm_layer_affine_block",
    "mat_mm_relu_dot",
    "loss_cross_entropy_none",
    "scan_cumsum_chunks",
]


def test_nearly_all_mutants_that_change_values_are_caught():
    chosen = [c for c in cases() if c.name.removeprefix("honest/triton/") in SAMPLE]
    assert len(chosen) == len(SAMPLE)
    groups = [(c, mutants(c.candidate.source)[::8]) for c in chosen]
    effects = classify([(tasks()[c.task].source, c.candidate.source, [m.source for m in found]) for c, found in groups])
    changed = [
        (c, m)
        for (c, found), row in zip(groups, effects, strict=True)
        for m, e in zip(found, row, strict=True)
        if e == "changed"
    ]
    assert len(changed) >= 10
    candidates = [Candidate(c.candidate.task_id, "triton", m.source) for c, m in changed]
    with Verifier(device="cpu", workers=2) as verifier:
        outcomes = {v.candidate_id: v.outcome for v in verifier.verify(tasks().values(), candidates, seed=11)}
    missed = [
        (c.name, m.line, m.before, m.after)
        for (c, m), own in zip(changed, candidates, strict=True)
        if outcomes[own.id] is Outcome.PASS
    ]
    assert len(missed) <= 0.02 * len(changed), missed
