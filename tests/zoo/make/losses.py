# ruff: noqa: E501 - tables, one row a case
"""Losses: per element, per row, with integer labels; mean, sum and none."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

ATOMIC = """
@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    p = tl.load(p_ptr + i, mask=ok, other=0.5)
    t = tl.load(t_ptr + i, mask=ok, other=0.5)
    loss = tl.where(ok, @TERM@, 0.0)
    tl.atomic_add(out_ptr, tl.sum(loss, 0) @SCALE@)


class ModelNew(nn.Module):
    def forward(self, p, t):
        out = torch.zeros((), dtype=torch.float32, device=p.device)
        loss_kernel[(triton.cdiv(p.numel(), 128),)](p.contiguous(), t.contiguous(), out, p.numel(), BLOCK=128)
        return out
"""
SINGLE = """
@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        ok = i < n
        p = tl.load(p_ptr + i, mask=ok, other=0.5)
        t = tl.load(t_ptr + i, mask=ok, other=0.5)
        acc += tl.where(ok, @TERM@, 0.0)
    tl.store(out_ptr, tl.sum(acc, 0) @SCALE@)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, p, t):
        out = p.new_empty(())
        loss_kernel[(1,)](p, t, out, p.numel(), 256)
        return out
"""
ELEMENTS = """
@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=0.5)
    t = tl.load(t_ptr + i, mask=i < n, other=0.5)
    tl.store(out_ptr + i, @TERM@, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, p, t):
        out = torch.empty_like(p)
        loss_kernel[(triton.cdiv(p.numel(), 128),)](p, t, out, p.numel(), BLOCK=128)
        return @REDUCE@
"""
RANDN = "torch.randn(21, 17), torch.randn(21, 17)"
PROBABILITY = "torch.rand(12, 25) * 0.9 + 0.05, torch.rand(12, 25) * 0.9 + 0.05"
SIGNS = "torch.randn(300), torch.randn(300).sign()"
# name: (torch loss without reduction argument, term of p and t, inputs, styles)
PAIRS = {
    "mse": ("F.mse_loss(p, t", "(p - t) * (p - t)", RANDN, "atomic single none"),
    "l1": ("F.l1_loss(p, t", "tl.abs(p - t)", RANDN, "single none"),
    "smooth_l1": ("F.smooth_l1_loss(p, t", "tl.where(tl.abs(p - t) < 1.0, 0.5 * (p - t) * (p - t), tl.abs(p - t) - 0.5)", RANDN, "atomic none"),
    "huber": ("F.huber_loss(p, t, delta=0.5", "tl.where(tl.abs(p - t) <= 0.5, 0.5 * (p - t) * (p - t), 0.5 * (tl.abs(p - t) - 0.25))", RANDN, "single"),
    "bce": ("F.binary_cross_entropy(p, t", "-(t * tl.log(p) + (1.0 - t) * tl.log(1.0 - p))", PROBABILITY, "atomic none"),
    "bce_logits": ("F.binary_cross_entropy_with_logits(p, t", "tl.maximum(p, 0.0) - p * t + tl.log(1.0 + tl.exp(-tl.abs(p)))", "torch.randn(90), torch.rand(90)", "single none"),
    "soft_margin": ("F.soft_margin_loss(p, t", "tl.maximum(-p * t, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(p * t)))", SIGNS, "atomic"),
    "hinge": ("F.hinge_embedding_loss(p, t", "tl.where(t > 0, p, tl.maximum(1.0 - p, 0.0))", SIGNS, "single"),
    "poisson": ("F.poisson_nll_loss(p, t", "tl.exp(p) - t * p", PROBABILITY, "none"),
    "kl": ("F.kl_div(p, t", "t * (tl.log(t) - p)", PROBABILITY, "single none"),
}  # fmt: skip

CROSS_ENTROPY = """
@triton.jit
def cross_entropy_rows(x_ptr, label_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    label = tl.load(label_ptr + row)
    top = tl.max(v, 0)
    lse = tl.log(tl.sum(tl.exp(v - top), 0)) + top
    tl.store(out_ptr + row, @VALUE@)


class ModelNew(nn.Module):
    def forward(self, x, labels):
        rows, cols = x.shape
        out = torch.empty(rows, dtype=torch.float32, device=x.device)
        cross_entropy_rows[(rows,)](x.contiguous(), labels, out, cols, BLOCK=triton.next_power_of_2(cols))
        return @REDUCE@
"""
NLL = """
@triton.jit
def nll(logp_ptr, label_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    label = tl.load(label_ptr + r, mask=r < rows, other=0)
    picked = tl.load(logp_ptr + r * cols + label, mask=r < rows, other=0.0)
    tl.store(out_ptr, -tl.sum(picked, 0) / rows)


class ModelNew(nn.Module):
    def forward(self, logp, labels):
        out = torch.empty((), device=logp.device)
        nll[(1,)](logp.contiguous(), labels, out, *logp.shape, BLOCK=triton.next_power_of_2(logp.shape[0]))
        return out
"""
ROW_PAIR = """
@triton.jit
def row_pair(a_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * cols + c, mask=c < cols, other=0.0)
    b = tl.load(b_ptr + row * cols + c, mask=c < cols, other=0.0)
    @STEPS@
    tl.store(out_ptr + row, r)


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a.new_empty(a.shape[0])
        row_pair[(a.shape[0],)](a, b, out, a.shape[1], BLOCK=triton.next_power_of_2(a.shape[1]))
        return out
"""
TRIPLET = """
@triton.jit
def triplet(a_ptr, p_ptr, n_ptr, out_ptr, cols, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < cols
    a = tl.load(a_ptr + row * cols + c, mask=keep, other=0.0)
    dp = tl.where(keep, a - tl.load(p_ptr + row * cols + c, mask=keep, other=0.0) + 1e-6, 0.0)
    dn = tl.where(keep, a - tl.load(n_ptr + row * cols + c, mask=keep, other=0.0) + 1e-6, 0.0)
    loss = tl.sqrt(tl.sum(dp * dp, 0)) - tl.sqrt(tl.sum(dn * dn, 0)) + margin
    tl.store(out_ptr + row, tl.maximum(loss, 0.0))


class ModelNew(nn.Module):
    margin = 1.0

    def forward(self, anchor, positive, negative):
        rows, cols = anchor.shape
        out = torch.empty(rows, device=anchor.device)
        triplet[(rows,)](anchor, positive, negative, out, cols, self.margin, BLOCK=triton.next_power_of_2(cols))
        return out.mean()
"""


def cases() -> Iterator[Made]:
    for op, (call, term, inputs, styles) in PAIRS.items():
        extra = ", log_input=True" if op == "poisson" else ""
        for style in styles.split():
            name = f"loss_{op}_{style}"
            if style == "none":
                body = fill(ELEMENTS, TERM=term, REDUCE="out")
                yield Made(name, task(f"{call}{extra}, reduction='none')", inputs, "p, t"), name, "plain", body)
                continue
            template, ids = (ATOMIC, "R1, R17, R12") if style == "atomic" else (SINGLE, "R1, R12")
            reduction, scale = (
                ("sum", "") if name in ("loss_kl_single", "loss_hinge_single", "loss_mse_single") else ("mean", "/ n")
            )
            body = fill(template, TERM=term, SCALE=scale).replace(" \n", "\n").replace(" )\n", ")\n")
            yield Made(name, task(f"{call}{extra}, reduction='{reduction}')", inputs, "p, t"), name, ids, body)
    yield from _label_cases()


def _label_cases() -> Iterator[Made]:
    labelled = "torch.randn(14, 10), torch.randint(0, 10, (14,))"
    picked = "lse - tl.sum(tl.where(c == label, v, 0.0), 0)"
    smooth = "lse - 0.9 * tl.sum(tl.where(c == label, v, 0.0), 0) - 0.1 * tl.sum(tl.where(c < cols, v, 0.0), 0) / cols"
    for name, forward, value, reduce in (
        ("cross_entropy", "F.cross_entropy(x, labels)", picked, "out.mean()"),
        ("cross_entropy_none", "F.cross_entropy(x, labels, reduction='none')", picked, "out"),
        ("cross_entropy_sum", "F.cross_entropy(x, labels, reduction='sum')", picked, "torch.sum(out)"),
        ("cross_entropy_smooth", "F.cross_entropy(x, labels, label_smoothing=0.1)", smooth, "out.mean()"),
    ):
        body = fill(CROSS_ENTROPY, VALUE=value, REDUCE=reduce)
        yield Made(f"loss_{name}", task(forward, labelled, "x, labels"), f"loss_{name}", "R6, R1", body)
    source = task("F.nll_loss(logp, labels)", "torch.randn(13, 6), torch.randint(0, 6, (13,))", "logp, labels")
    yield Made("loss_nll", source, "loss_nll", "R6, R12", NLL)
    pair = "torch.randn(9, 20), torch.randn(9, 20)"
    for name, forward, steps in (
        (
            "cosine",
            "F.cosine_similarity(a, b)",
            "r = tl.sum(a * b, 0) / tl.maximum(tl.sqrt(tl.sum(a * a, 0)) * tl.sqrt(tl.sum(b * b, 0)), 1e-8)",
        ),
        ("distance", "torch.linalg.vector_norm(a - b, dim=1)", "r = tl.sqrt(tl.sum((a - b) * (a - b), 0))"),
        ("row_dot", "(a * b).sum(1)", "r = tl.sum(a * b, 0)"),
        ("row_l1", "(a - b).abs().mean(1)", "r = tl.sum(tl.abs(a - b), 0) / cols"),
    ):
        yield Made(f"pair_{name}", task(forward, pair, "a, b"), f"pair_{name}", "R1", fill(ROW_PAIR, STEPS=steps))
    source = task(
        "F.triplet_margin_loss(a, p, n)", "torch.randn(8, 12), torch.randn(8, 12), torch.randn(8, 12)", "a, p, n"
    )
    yield Made("loss_triplet", source, "loss_triplet", "R1, R12", TRIPLET)
