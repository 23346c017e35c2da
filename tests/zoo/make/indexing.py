"""Lookup and scatter: integer inputs that must stay integers, atomics, joins."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

LOOKUP = """
@triton.jit
def lookup(table_ptr, index_ptr, y_ptr, dim, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + i)
    v = tl.load(table_ptr + row * dim + d, mask=d < dim)
    tl.store(y_ptr + i * dim + d, @VALUE@, mask=d < dim)


class ModelNew(nn.Module):@INIT@
    def forward(self, @ARGS@):
        table = @TABLE@
        dim = table.shape[1]
        y = torch.empty((*idx.shape, dim), dtype=table.dtype, device=table.device)
        lookup[(idx.numel(),)](table, idx.contiguous(), y, dim, BLOCK=triton.next_power_of_2(dim))
        return y
"""
EMBED = "\n    def __init__(self):\n        super().__init__()\n        self.emb = nn.Embedding(@SIZE@)\n"
BAG = """
@triton.jit
def bag(table_ptr, index_ptr, y_ptr, length, dim, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in range(length):
        row = tl.load(index_ptr + i * length + j)
        acc += tl.load(table_ptr + row * dim + d, mask=d < dim, other=0.0)
    tl.store(y_ptr + i * dim + d, acc @SCALE@, mask=d < dim)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(20, 12, mode="@MODE@")

    def forward(self, idx):
        table = self.bag.weight
        y = torch.empty(idx.shape[0], table.shape[1], device=table.device)
        bag[(idx.shape[0],)](table, idx, y, idx.shape[1], table.shape[1], BLOCK=16)
        return y
"""
GATHER = """
@triton.jit
def gather_rows(x_ptr, index_ptr, y_ptr, cols, picks, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    column = tl.load(index_ptr + i, mask=ok, other=0)
    v = tl.load(x_ptr + (i // picks) * cols + column, mask=ok)
    tl.store(y_ptr + i, v, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, idx):
        y = torch.empty(idx.shape, dtype=x.dtype, device=x.device)
        gather_rows[(triton.cdiv(y.numel(), 64),)](x, idx, y, x.shape[1], idx.shape[1], y.numel(), BLOCK=64)
        return y
"""
SCATTER_ADD = """
@triton.jit
def scatter(x_ptr, index_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + i)
    v = tl.load(x_ptr + i * cols + c, mask=c < cols)
    tl.atomic_add(y_ptr + row * cols + c, v, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, base, idx, x):
        y = base.clone()
        scatter[(x.shape[0],)](x.contiguous(), idx, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""
HISTOGRAM = """
@triton.jit
def count(idx_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(idx_ptr + i, mask=i < n, other=0)
    one = tl.full((BLOCK,), 1, tl.int64)
    tl.atomic_add(y_ptr + v, one, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, idx):
        y = torch.zeros(8, dtype=torch.int64, device=idx.device)
        count[(triton.cdiv(idx.numel(), 64),)](idx, y, idx.numel(), BLOCK=64)
        return y
"""
ONE_HOT = """
@triton.jit
def one_hot(idx_ptr, y_ptr, classes, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    label = tl.load(idx_ptr + i)
    tl.store(y_ptr + i * classes + c, (c == label).to(tl.int64), mask=c < classes)


class ModelNew(nn.Module):
    def forward(self, idx):
        y = torch.empty((*idx.shape, 7), dtype=torch.int64, device=idx.device)
        one_hot[(idx.numel(),)](idx.contiguous(), y, 7, BLOCK=8)
        return y
"""
CAT = """
@triton.jit
def copy_into(x_ptr, y_ptr, cols, wide, offset, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + (i // cols) * wide + offset + i % cols, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, *parts):
        wide = sum(p.shape[1] for p in parts)
        y = torch.empty(parts[0].shape[0], wide, dtype=parts[0].dtype, device=parts[0].device)
        offset = 0
        for p in parts:
            copy_into[(triton.cdiv(p.numel(), 64),)](p.contiguous(), y, p.shape[1], wide, offset, p.numel(), BLOCK=64)
            offset += p.shape[1]
        return y
"""
STACK = """
@triton.jit
def interleave(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    both = tl.interleave(tl.load(a_ptr + i, mask=i < n), tl.load(b_ptr + i, mask=i < n))
    j = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(y_ptr + j, both, mask=j < 2 * n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(*a.shape, 2, device=a.device)
        interleave[(triton.cdiv(a.numel(), 32),)](a, b, y, a.numel(), BLOCK=32)
        return y
"""
SORT = """
@triton.jit
def sort_rows(x_ptr, y_ptr, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    v = tl.load(x_ptr + row * COLS + c)
    tl.store(y_ptr + row * COLS + c, tl.sort(v, descending=@DESC@))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sort_rows[(x.shape[0],)](x, y, COLS=x.shape[1])
        return y
"""
MASKED = """
@triton.jit
def masked(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(m_ptr + i, mask=i < n, other=0)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(keep != 0, @YES@, v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked[(triton.cdiv(x.numel(), 128),)](x, mask, y, x.numel(), BLOCK=128)
        return y
"""


def cases() -> Iterator[Made]:
    table = {"VALUE": "v", "INIT": "", "ARGS": "x, idx", "TABLE": "x.contiguous()"}
    select = task("x[idx]", "torch.randn(15, 10), torch.randint(0, 15, (9,))", "x, idx")
    yield Made("ix_select", select, "ix_select", "R6", fill(LOOKUP, **table))
    select2 = task(
        "torch.index_select(x, 0, idx.flatten()).view(*idx.shape, -1)",
        "torch.randn(8, 5), torch.randint(0, 8, (3, 4))",
        "x, idx",
    )
    yield Made("ix_select2d", select2, "ix_select2d", "R6", fill(LOOKUP, **table))
    for name, size, forward, value, shape in (
        ("embedding", "30, 18", "self.emb(idx)", "v", "(4, 7)"),
        ("embedding_scaled", "25, 16", "self.emb(idx) * 4.0", "v * 4.0", "(11,)"),
        ("embedding_tanh", "12, 9", "torch.tanh(self.emb(idx))", "2.0 * tl.sigmoid(2.0 * v) - 1.0", "(2, 3, 4)"),
    ):
        source = task(
            forward, f"torch.randint(0, {size.split(',')[0]}, {shape})", "idx", f"self.emb = nn.Embedding({size})"
        )
        values = {"VALUE": value, "INIT": fill(EMBED, SIZE=size), "ARGS": "idx", "TABLE": "self.emb.weight"}
        yield Made(f"ix_{name}", source, f"ix_{name}", "R6, R4", fill(LOOKUP, **values))
    for mode, scale in (("sum", "* 1.0"), ("mean", "/ length")):
        source = task(
            "self.bag(idx)", "torch.randint(0, 20, (6, 5))", "idx", f"self.bag = nn.EmbeddingBag(20, 12, mode='{mode}')"
        )
        yield Made(f"ix_bag_{mode}", source, f"ix_bag_{mode}", "R6, R4", fill(BAG, MODE=mode, SCALE=scale))
    rows = "torch.randn(6, 14), torch.randint(0, 14, (6, 5))"
    yield Made("ix_gather", task("torch.gather(x, 1, idx)", rows, "x, idx"), "ix_gather", "R6", GATHER)
    source = task(
        "base.index_add(0, idx, x)",
        "torch.randn(5, 12), torch.randint(0, 5, (20,)), torch.randn(20, 12)",
        "base, idx, x",
    )
    yield Made("ix_index_add", source, "ix_index_add", "R6, R17", SCATTER_ADD)
    yield Made(
        "ix_bincount",
        task("torch.bincount(idx, minlength=8)", "torch.randint(0, 8, (150,))", "idx"),
        "ix_bincount",
        "R6, R13, R17",
        HISTOGRAM,
    )
    yield Made(
        "ix_one_hot", task("F.one_hot(idx, 7)", "torch.randint(0, 7, (4, 5))", "idx"), "ix_one_hot", "R6, R13", ONE_HOT
    )
    yield Made(
        "ix_cat",
        task("torch.cat([a, b, c], 1)", "torch.randn(5, 4), torch.randn(5, 9), torch.randn(5, 2)", "a, b, c"),
        "ix_cat",
        "plain",
        CAT,
    )
    yield Made(
        "ix_stack",
        task("torch.stack([a, b], -1)", "torch.randn(70), torch.randn(70)", "a, b"),
        "ix_interleave",
        "plain",
        STACK,
    )
    for name, desc in (("sort", "False"), ("sort_down", "True")):
        source = task(f"torch.sort(x, dim=1, descending={desc}).values", "torch.randn(5, 32)")
        yield Made(f"ix_{name}", source, f"ix_{name}", "R15", fill(SORT, DESC=desc))
    for name, forward, yes in (
        ("masked_fill", "x.masked_fill(mask, -2.5)", "-2.5"),
        ("masked_negate", "torch.where(mask, -x, x)", "-v"),
    ):
        source = task(forward, "torch.randn(8, 21), torch.rand(8, 21) > 0.4", "x, mask")
        yield Made(f"ix_{name}", source, f"ix_{name}", "R13", fill(MASKED, YES=yes))
