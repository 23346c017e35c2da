# ruff: noqa: E501 - tables of names
"""API set -> a Torch module in KernelBench form that uses exactly those APIs.

Style "plain" is short and regular: diversity lies in which operators meet and how, not in the surface. Style "varied"
(`surface.py`) changes names, spelling, comments and layout of the same module.
"""

from __future__ import annotations

import ast
import contextlib
import math
import random
import re
from collections.abc import Sequence

from kzlib.teacher.draft import RANGES, Draft, TooManyInputsError
from kzlib.teacher.operators import (
    attention,
    gates,
    idioms,
    indexing,
    layout,
    losses,
    norms,
    products,
    reductions,
    resizing,
    windows,
)
from kzlib.teacher.operators.common import Write, channels, last
from kzlib.teacher.pointwise_rows import rows

POINTWISE = rows()
NUMBER = re.compile(r"(?<=[ (=])\d+(\.\d+)?(?=[,)])")  # as an argument
OPERAND = re.compile(r"(?<=[ (=])\d+\.\d+(?=[,) ]|$)")  # of forward
N = "torch.nn."
F = "torch.nn.functional."

# API names by family: what writes them is the function beside
STRUCTURED: dict[str, tuple[Write, str]] = {
    "matmul": (
        products.matmul,
        "torch.matmul torch.mm torch.bmm torch.mv torch.addmm torch.baddbmm torch.outer torch.dot torch.einsum "
        "torch.inner torch.tensordot torch.linalg.multi_dot",
    ),
    "linear": (products.linear, f"{N}Linear {F}linear"),
    "bilinear": (products.bilinear, f"{N}Bilinear {F}bilinear"),
    "conv": (windows.conv, " ".join(f"{N}Conv{n}d {F}conv{n}d" for n in (1, 2, 3))),
    "conv_transpose": (windows.conv, " ".join(f"{N}ConvTranspose{n}d {F}conv_transpose{n}d" for n in (1, 2, 3))),
    "pooling": (
        windows.pool,
        " ".join(f"{N}{k}Pool{n}d" for k in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax", "LP") for n in (1, 2, 3))
        + " "
        + " ".join(f"{F}{k}_pool{n}d" for k in ("max", "avg", "adaptive_avg", "adaptive_max") for n in (1, 2, 3)),
    ),
    "norm": (
        norms.norm,
        f"{N}LayerNorm {N}RMSNorm {N}GroupNorm {N}BatchNorm1d {N}BatchNorm2d {N}BatchNorm3d {N}InstanceNorm1d {N}InstanceNorm2d "
        f"{N}InstanceNorm3d {N}LocalResponseNorm {F}layer_norm {F}rms_norm {F}group_norm {F}batch_norm {F}instance_norm {F}normalize "
        f"{F}local_response_norm",
    ),
    "softmax": (
        norms.softmax,
        f"{F}softmax {F}log_softmax {F}softmin {N}Softmax {N}LogSoftmax {N}Softmin {N}Softmax2d torch.logsumexp",
    ),
    "reduction": (
        reductions.reduction,
        "torch.sum torch.mean torch.max torch.min torch.amax torch.amin torch.argmax torch.argmin torch.any torch.all "
        "torch.prod torch.var torch.std torch.norm torch.linalg.norm torch.linalg.vector_norm torch.median torch.kthvalue "
        "torch.count_nonzero torch.var_mean torch.std_mean torch.nanmean",
    ),
    "distance": (
        reductions.whole,
        f"torch.trace torch.dist torch.cdist {F}cosine_similarity {F}pairwise_distance {N}CosineSimilarity {N}PairwiseDistance",
    ),
    "scan": (reductions.scan, "torch.cumsum torch.cumprod torch.cummax torch.logcumsumexp"),
    "loss": (
        losses.loss,
        f"{N}CrossEntropyLoss {F}cross_entropy {N}NLLLoss {F}nll_loss {N}MSELoss {F}mse_loss {N}L1Loss {F}l1_loss {N}SmoothL1Loss "
        f"{F}smooth_l1_loss {N}HuberLoss {F}huber_loss {N}BCEWithLogitsLoss {F}binary_cross_entropy_with_logits {N}BCELoss "
        f"{F}binary_cross_entropy {N}KLDivLoss {F}kl_div {N}SoftMarginLoss {F}soft_margin_loss {N}MarginRankingLoss {F}margin_ranking_loss "
        f"{N}CosineEmbeddingLoss {F}cosine_embedding_loss {N}TripletMarginLoss {F}triplet_margin_loss {N}TripletMarginWithDistanceLoss "
        f"{F}triplet_margin_with_distance_loss {N}GaussianNLLLoss {F}gaussian_nll_loss {N}MultiLabelSoftMarginLoss "
        f"{F}multilabel_soft_margin_loss",
    ),
    "layout": (
        layout.layout,
        "torch.transpose torch.t torch.Tensor.T torch.Tensor.mT torch.permute torch.movedim torch.flatten torch.nn.Flatten torch.Tensor.view "
        "torch.reshape torch.unsqueeze torch.squeeze torch.flip torch.fliplr torch.flipud torch.roll torch.tril torch.triu torch.cat "
        "torch.stack torch.hstack torch.vstack torch.column_stack torch.Tensor.repeat torch.tile torch.repeat_interleave torch.chunk "
        "torch.split torch.tensor_split torch.unbind torch.split_with_sizes torch.narrow torch.select torch.diagonal torch.diag "
        "torch.diag_embed torch.Tensor.expand torch.broadcast_to torch.rot90 torch.unflatten torch.nn.Unflatten torch.ravel "
        "torch.atleast_1d torch.atleast_2d torch.atleast_3d",
    ),
    "index": (
        indexing.index,
        f"{N}Embedding {F}embedding torch.gather torch.take_along_dim torch.index_select torch.take torch.index_add "
        f"torch.scatter_add torch.sort torch.argsort torch.topk torch.bucketize torch.searchsorted {F}one_hot",
    ),
    "pad": (
        resizing.pad,
        f"{F}pad "
        + " ".join(
            f"{N}{k}Pad{n}d" for k in ("Reflection", "Replication", "Zero", "Constant", "Circular") for n in (1, 2, 3)
        ),
    ),
    "resample": (
        resizing.resize,
        f"{F}interpolate {N}Upsample {N}UpsamplingBilinear2d {N}UpsamplingNearest2d {F}pixel_shuffle {N}PixelShuffle "
        f"{F}pixel_unshuffle {N}PixelUnshuffle {F}unfold {N}Unfold",
    ),
    "attention": (attention.attention, f"{F}scaled_dot_product_attention {N}MultiheadAttention"),
    "gate": (gates.glu, f"{N}GLU {F}glu"),
    "prelu": (gates.prelu, f"{N}PReLU {F}prelu"),
    "diff": (reductions.diff, "torch.diff"),
}

WRITERS: dict[str, tuple[Write, str]] = {
    api: (
        write,
        {
            "linear": "matmul",
            "bilinear": "matmul",
            "gate": "activation",
            "prelu": "activation",
            "diff": "elementwise",
            "distance": "reduction",
        }.get(family, family),
    )
    for family, (write, names) in STRUCTURED.items()
    for api in names.split()
}
ACTIVATION = {a for a in POINTWISE if a.startswith("torch.nn.") or a in ("torch.sigmoid", "torch.tanh")}

# right answers of these differ near their zeros and jumps, so random modules leave them out
ON_REQUEST = {"torch.lgamma", "torch.remainder", "torch.fmod", "torch.floor_divide"}
FAMILIES: dict[str, tuple[str, ...]] = {}
for _api, (_, _family) in WRITERS.items():
    FAMILIES[_family] = (*FAMILIES.get(_family, ()), _api)
FAMILIES["activation"] = (*FAMILIES.get("activation", ()), *sorted(ACTIVATION))
FAMILIES["elementwise"] = (
    *FAMILIES.get("elementwise", ()),
    *sorted(set(POINTWISE) - ACTIVATION - ON_REQUEST),
)

# odd sizes so that masks matter, small so that the interpreter is quick
START_SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((19,), (37,), (64,), (100,)),
    2: ((4, 33), (5, 37), (7, 20), (8, 16), (3, 65), (16, 10), (9, 50)),
    3: ((2, 6, 9), (2, 8, 16), (3, 5, 12), (2, 7, 33), (4, 3, 20)),
    4: ((2, 3, 8, 8), (2, 4, 7, 9), (1, 6, 10, 10), (2, 8, 6, 5), (2, 3, 12, 12)),
    5: ((1, 3, 4, 5, 6), (2, 2, 5, 5, 5), (1, 4, 6, 4, 4)),
}


def families() -> tuple[str, ...]:
    """The names that `generate(families=...)` and `kz teach --family` accept."""
    return tuple(sorted(FAMILIES))


def writable(api: str) -> bool:
    return api in WRITERS or api in POINTWISE


def write_pointwise(d: Draft, api: str) -> bool:
    need, gives, flags, forward, module = d.rng.choice(POINTWISE[api])
    if need not in RANGES[d.range]:
        if d.lines or d.rng.random() < 0.1:
            return False
        d.start, d.range = need if need != "nonneg" else "unit", need if need != "nonneg" else "unit"
    if "e" in flags and not d.exact:
        return False
    if api in PERIODIC and d.grown:
        return False  # the sine of a huge number is noise
    if "g" in flags:
        if d.grown:
            return False
        d.grown = True
    table: dict[str, object] = {
        "x": d.value,
        "c": d.constant(),
        "s": d.small(),
        "lo": d.pick(0.0, -1.0, -0.5, -d.constant(), -d.limit()),
        "hi": d.pick(1.0, 0.5, 2.0, d.limit(), d.limit()),
        "p": d.pick(2, 3),
    }
    if module:
        attr = "act" if api in ACTIVATION else "op"
        table["m"] = d.module(attr, module.format(**table))
    for key, kind in (("y", "randn"), ("z", "randn"), ("yp", "pos"), ("zp", "pos"), ("yu", "unit"), ("zu", "unit")):
        if "{" + key + "}" in forward:
            table[key] = d.input(_broadcast(d), kind)
    text = forward.format(**table)
    if not flags and need == "any" and d.rng.random() < 0.1:  # beside what it came from
        text, gives = d.pick(f"{d.value} + {text}", f"{d.value} - {text}", f"{text} * {d.constant()}"), "any"
    d.step(text)
    if "e" in flags or api not in EXACT:
        d.exact = False  # two right answers differ in the last digit: nothing that jumps may follow
    d.range = gives
    return True


def _broadcast(d: Draft) -> list[int]:
    """The shape of another operand: mostly the same; else one that is spread over leading axes, or over any."""
    chance = d.rng.random()
    if d.rank < 2 or chance < 0.6:
        return d.shape
    if chance < 0.75:
        return d.shape[-1:]
    if chance < 0.85 and d.rank > 2:
        return [d.shape[1], *[1] * (d.rank - 2)]
    return [s if d.rng.random() < 0.5 else 1 for s in d.shape]


def write_operator(d: Draft) -> bool:
    """Python arithmetic between the APIs: it needs no API of its own."""
    d.exact = False
    kind = d.pick("scale", "shift", "divide", "bias", "residual")
    x = d.value
    if kind == "scale":
        d.step(f"{x} * {d.constant()}")
    elif kind == "shift":
        d.step(f"{x} {d.pick('+', '-')} {d.constant()}")
    elif kind == "divide":
        d.step(f"{x} / {d.pick(2.0, 3.0, 4.0, d.constant())}")
    elif kind == "bias" and d.rank in (2, 3, 4) and d.shape[1] > 1:
        if d.rank == 2:
            b = d.module("bias", f"nn.Parameter(torch.randn({d.argument(last(d), d.shape[1])}))")
        else:
            ones = ", ".join(["1"] * (d.rank - 2))
            b = d.module("bias", f"nn.Parameter(torch.randn({d.argument(channels(d), d.shape[1])}, {ones}))")
        d.step(f"{x} {d.pick('+', '*')} self.{b}")
    elif d.grown:
        d.step(f"{x} + {x} * {d.constant()}")
    else:
        d.step(d.pick(f"{x} * {d.constant()} + {x} * {x} * {d.small()}", f"{x} * {x}", f"{d.constant()} - {x}"))
        d.grown = True
    d.range = "any"
    return True


def draft_for(apis: Sequence[str], rng: random.Random, tries: int = 40, by_hand: float = 0.0) -> Draft | None:
    """A module that uses exactly these APIs, or None if no order and shape was found that takes them all.

    With chance `by_hand` it also holds an idiom, with the APIs that the idiom needs.
    """
    for _ in range(tries):
        with contextlib.suppress(TooManyInputsError):
            if (draft := _attempt(list(apis), rng, by_hand)) is not None:
                return draft
    return None


def _attempt(order: list[str], rng: random.Random, by_hand: float) -> Draft | None:
    """One order of the APIs, one shape."""
    rng.shuffle(order)
    order.sort(key=lambda a: WRITERS.get(a, (None, ""))[1] in ("loss",))
    d = Draft(rng, list(rng.choice(START_SHAPES[_rank(order, rng)])))
    first = list(d.shape)
    d.inputs.append(("x", ""))
    idiom_at = rng.randint(0, len(order)) if rng.random() < by_hand else -1
    residual: _Residual | None = None
    for k, api in enumerate(order):
        if k == idiom_at:
            _write_idiom(d)
        if residual is None and k < 2 and rng.random() < 0.2:
            residual = _Residual(d)
        if d.done or not _write(d, api):
            return None
        if residual and residual.fits(d) and rng.random() < 0.8:
            residual.join(d)
            residual = None
        if _has_room_for_operator(d, last_api=k == len(order) - 1):
            write_operator(d)
    if idiom_at == len(order):
        _write_idiom(d)
    if residual:
        residual.drop(d)
    if not d.lines or min(d.shape, default=1) < 1 or math.prod(d.shape) > 40000:
        return None
    d.inputs[0] = ("x", d.maker(first, d.start))
    return d


def _write_idiom(d: Draft) -> None:
    if not d.done:
        idioms.idiom(d, bool(set(d.apis) & SATURATING))


def _has_room_for_operator(d: Draft, last_api: bool) -> bool:
    """Now and then between two APIs, more often after the last one."""
    if d.done and last_api:
        return False
    return d.rng.random() < (0.3 if last_api else 0.12) and not d.done and bool(d.shape)


class _Residual:
    """The value of one place, called `r`, until it meets a later value that spreads over it."""

    def __init__(self, d: Draft) -> None:
        self.place, self.shape = len(d.lines), list(d.shape)
        d.lines.append(f"r = {d.value}")

    def fits(self, d: Draft) -> bool:
        return not d.done and _spreads(d.shape, self.shape)

    def join(self, d: Draft) -> None:
        by_r = [f"r / {d.value}"] if d.range == "pos" else []
        d.step(d.pick(*(f"{d.value} {sign} r" for sign in "++*-"), f"r - {d.value}", *by_r))
        d.exact, d.range, d.grown, d.shape = False, "any", True, self.shape

    def drop(self, d: Draft) -> None:
        del d.lines[self.place]


def _spreads(shape: list[int], over: list[int]) -> bool:
    """Whether a value of `shape` can be combined with one of shape `over` without changing the latter."""
    return len(shape) == len(over) and all(a in (1, b) for a, b in zip(shape, over, strict=True))


def _write(d: Draft, api: str) -> bool:
    if api in SPREAD and set(d.apis) & SATURATING:
        return False  # the variance of a constant is noise
    if api in POINTWISE:
        ok, family = write_pointwise(d, api), "activation" if api in ACTIVATION else "elementwise"
    else:
        write, family = WRITERS[api]
        ok = write(d, api)
        if family not in ("layout", "pad", "index"):
            d.exact = False
        if family in MIXING or api == "torch.diff":
            d.range = "any"
    if ok:
        d.note(api, family)
    return ok


def _rank(order: Sequence[str], rng: random.Random) -> int:
    """The input's rank, biased to what the first API wants."""
    for api in order:
        digits = [c for c in api[-3:] if c.isdigit()]
        family = WRITERS.get(api, (None, ""))[1]
        if (
            digits
            and family in ("conv", "conv_transpose", "pooling", "pad", "norm")
            and "1d" not in api[-2:].replace("1d", "1d" if family != "norm" else "")
        ):
            return int(digits[-1]) + 2
        if digits and family in ("conv", "conv_transpose", "pooling", "pad"):
            return int(digits[-1]) + 2
        if family == "resample":
            return 4
        if api in ("torch.dot", "torch.outer"):
            return 1
    return rng.choice((2, 2, 2, 3, 3, 4))


def _hand_over(d: Draft) -> None:
    """A number of a layer, or one of forward, becomes an argument of the constructor, as modules in KernelBench's form
    have many."""
    layers = [(d.init, k, m) for k, line in enumerate(d.init) for m in NUMBER.finditer(line)]
    steps = [(d.lines, k, m) for k, line in enumerate(d.lines) for m in OPERAND.finditer(line)]
    if not (layers or steps):
        return
    lines, k, m = d.rng.choice(layers + steps)
    names = ("kernel_size", "setting", "value") if lines is d.init else ("factor", "offset", "limit")
    name = next((n for n in names if n not in d.constants), None)
    if name is None:
        return
    text = name if lines is d.init else f"self.{name}"
    lines[k] = f"{lines[k][: m.start()]}{text}{lines[k][m.end() :]}"
    d.constants[name] = ast.literal_eval(m[0])
    d.arguments.insert(d.rng.choice((len(d.arguments), d.rng.randint(0, len(d.arguments)))), name)
    if lines is d.lines:
        d.init.append(f"self.{name} = {name}")


def module_source(d: Draft) -> str:
    """The task's text in plain style."""
    for _ in range(d.pick(0, 0, 0, 1, 2, 3)):
        _hand_over(d)
    lines = ["import torch", "import torch.nn as nn", "import torch.nn.functional as F", ""]
    if d.constants:
        lines.append(f"{', '.join(d.constants)} = {', '.join(map(str, d.constants.values()))}")
    lines += ["", "", "class Model(nn.Module):"]
    args = ", ".join(["self", *d.arguments])
    lines += [f"    def __init__({args}):", "        super().__init__()"]
    lines += [f"        {line}" for line in d.init]
    lines += ["", f"    def forward({', '.join(['self', *(n for n, _ in d.inputs)])}):"]
    body = list(d.lines)
    lines += [f"        {line}" for line in body]
    lines += [f"        return {d.value}", "", "", "def get_inputs():"]
    lines += [f"    return [{', '.join(text for _, text in d.inputs)}]", "", "", "def get_init_inputs():"]
    lines += [f"    return [{', '.join(d.arguments)}]"]
    return "\n".join(lines) + "\n"


# families and how often the sampler starts from them; pointwise companions come on top
WEIGHTS = {
    "elementwise": 14,
    "activation": 14,
    "reduction": 12,
    "softmax": 7,
    "norm": 9,
    "matmul": 16,
    "conv": 10,
    "conv_transpose": 5,
    "pooling": 8,
    "scan": 4,
    "loss": 7,
    "layout": 6,
    "index": 4,
    "pad": 3,
    "resample": 3,
    "attention": 2,
}


def sample_apis(rng: random.Random, chosen: Sequence[str] | None, companions: Sequence[float]) -> tuple[str, ...]:
    """A family's API and companions, mostly pointwise: how kernels fuse. `companions`: chances of 0, 1, 2, ... of them."""
    pool = list(chosen or WEIGHTS)
    family = rng.choices(pool, [WEIGHTS.get(f, 3) for f in pool])[0]
    apis = [rng.choice(_common(family, rng))]
    for _ in range(rng.choices(range(len(companions)), companions)[0]):
        kind = rng.choices(("activation", "elementwise", "reduction", "any"), (5, 4, 2, 5))[0]
        other = rng.choice(pool) if kind == "any" else kind
        api = rng.choice(_common(other, rng))
        if api not in apis:
            apis.append(api)
    if all(a in TRIVIAL for a in apis):
        apis.append(rng.choice(COMMON["activation"]))  # moving and rescaling alone is no kernel worth learning
    return tuple(apis)


TRIVIAL = {
    *FAMILIES["layout"],
    *FAMILIES["pad"],
    *FAMILIES["index"],
    "torch.add",
    "torch.sub",
    "torch.mul",
    "torch.div",
    "torch.neg",
    "torch.rad2deg",
    "torch.nan_to_num",
    "torch.isnan",
    "torch.isinf",
    "torch.isfinite",
    "torch.eq",
}
MIXING = {"matmul", "conv", "conv_transpose", "attention", "norm"}  # with weights or operands of either sign
SPREAD = {"torch.var", "torch.std", "torch.var_mean", "torch.std_mean", *FAMILIES["norm"]}
SATURATING = {
    "torch.clamp",
    "torch.clamp_min",
    "torch.clamp_max",
    f"{F}hardtanh",
    f"{N}Hardtanh",
    f"{F}relu6",
    f"{N}ReLU6",
    f"{F}hardsigmoid",
    f"{N}Hardsigmoid",
    f"{F}threshold",
    f"{N}Threshold",
}
EXACT = {"torch.abs", "torch.neg", "torch.maximum", "torch.minimum", "torch.fmin", f"{F}relu", f"{N}ReLU", *SATURATING}
PERIODIC = {"torch.sin", "torch.cos", "torch.tan", "torch.sinc", "torch.remainder", "torch.fmod", "torch.frac"}
COMMON = {
    "matmul": (f"{N}Linear",) * 6 + (f"{F}linear", "torch.matmul", "torch.matmul", "torch.bmm", "torch.mm"),
    "conv": (f"{N}Conv2d",) * 4 + (f"{N}Conv1d", f"{N}Conv3d", f"{F}conv2d"),
    "conv_transpose": (f"{N}ConvTranspose2d",) * 3 + (f"{N}ConvTranspose1d", f"{N}ConvTranspose3d"),
    "activation": (
        "torch.sigmoid",
        "torch.tanh",
        f"{F}relu",
        f"{F}gelu",
        f"{F}leaky_relu",
        f"{F}softplus",
        f"{F}silu",
        f"{F}elu",
        f"{F}mish",
        f"{F}hardtanh",
        f"{F}hardswish",
        f"{F}hardsigmoid",
        f"{N}ReLU",
        f"{N}GELU",
        f"{N}Tanh",
        f"{N}SiLU",
    ),
    "elementwise": (
        "torch.clamp",
        "torch.exp",
        "torch.abs",
        "torch.sqrt",
        "torch.mul",
        "torch.add",
        "torch.sin",
        "torch.cos",
        "torch.square",
        "torch.log",
    ),
    "reduction": (
        "torch.sum",
        "torch.mean",
        "torch.max",
        "torch.amax",
        "torch.var",
        "torch.norm",
        "torch.sum",
        "torch.mean",
    ),
}


def _common(family: str, rng: random.Random) -> Sequence[str]:
    """Three draws in four from the names that people write most, the others from the whole family."""
    return COMMON[family] if family in COMMON and rng.random() < 0.75 else FAMILIES[family]
