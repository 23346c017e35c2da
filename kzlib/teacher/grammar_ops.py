"""Structured APIs as the grammar writes them: one function an API group. Each returns False where it does not fit."""

from __future__ import annotations

from collections.abc import Callable

from kzlib.teacher.draft import Draft

Write = Callable[[Draft, str], bool]
CHANNELS = (3, 4, 5, 6, 8)
WIDTHS = (7, 12, 16, 20, 33)


def short(api: str) -> str:
    return api.rsplit(".", 1)[1]


def spelled(api: str) -> str:
    """`F.relu`, `torch.sum`, `nn.Linear`."""
    return api.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.").replace("torch.Tensor.", ".")


# ------------------------------------------------------------------ products


def linear(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3):
        return False
    out = d.pick(*WIDTHS)
    a, o = d.argument(_last(d), d.shape[-1]), d.argument("out_features", out)
    if api == "torch.nn.Linear":
        extra = ", bias=False" if d.rng.random() < 0.2 else ""
        d.step(f"self.{d.module('fc', f'nn.Linear({a}, {o}{extra})')}({d.value})")
    else:
        w = d.module("weight", f"nn.Parameter(torch.randn({o}, {a}))")
        b = d.module("bias", f"nn.Parameter(torch.randn({o}))")
        d.step(f"F.linear({d.value}, self.{w}, self.{b})")
    d.shape[-1] = out
    return True


def _last(d: Draft) -> str:
    names = {2: "features", 3: "features", 4: "width", 5: "width"}
    return (
        "out_features"
        if "out_features" in d.constants and d.constants["out_features"] == d.shape[-1]
        else names.get(d.rank, "size")
    )


def _turned(d: Draft, y: str, a: int, b: int) -> str:
    """The second operand of a product given the other way round."""
    if a == 0 and d.rng.random() < 0.4:
        d.note("torch.t", "matmul")
        return f"{y}.t()"
    d.note("torch.transpose", "matmul")
    return f"torch.transpose({y}, {a}, {b})"


def matmul(d: Draft, api: str) -> bool:
    n = d.pick(*WIDTHS)
    if api in ("torch.mm", "torch.matmul", "torch.inner") and d.rank == 2:
        if api == "torch.inner":
            y = d.input([n, d.shape[1]], names=("rows", "features"))
        elif d.rng.random() < 0.25:
            y = _turned(d, d.input([n, d.shape[1]], names=("rows", _last(d))), 0, 1)
        else:
            y = d.input([d.shape[1], n], names=(_last(d), "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api in ("torch.bmm", "torch.matmul") and d.rank == 3:
        if d.rng.random() < 0.25:
            y = _turned(d, d.input([d.shape[0], n, d.shape[2]], names=("batch", "rows", _last(d))), 1, 2)
        else:
            y = d.input([d.shape[0], d.shape[2], n], names=("batch", _last(d), "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], d.shape[1], n]
    elif api == "torch.mv" and d.rank == 2:
        y = d.input([d.shape[1]], names=(_last(d),))
        d.step(f"torch.mv({d.value}, {y})")
        d.shape = [d.shape[0]]
    elif api == "torch.addmm" and d.rank == 2:
        y = d.input([d.shape[1], n], names=(_last(d), "columns"))
        b = d.module("bias", f"nn.Parameter(torch.randn({d.argument('columns', n)}))")
        d.step(f"torch.addmm(self.{b}, {d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api == "torch.baddbmm" and d.rank == 3:
        y = d.input([d.shape[0], d.shape[2], n], names=("batch", _last(d), "columns"))
        z = d.input([d.shape[0], d.shape[1], n], names=("batch", "length", "columns"))
        d.step(f"torch.baddbmm({z}, {d.value}, {y})")
        d.shape = [d.shape[0], d.shape[1], n]
    elif api == "torch.outer" and d.rank == 1:
        y = d.input([n], names=("columns",))
        d.step(f"torch.outer({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api == "torch.dot" and d.rank == 1:
        y = d.input(d.shape, names=("length",))
        d.step(f"torch.dot({d.value}, {y})")
        d.shape = []
    elif api == "torch.tensordot" and d.rank == 3:
        y = d.input([d.shape[2], n], names=(_last(d), "columns"))
        d.step(f"torch.tensordot({d.value}, {y}, dims=1)")
        d.shape = [*d.shape[:2], n]
    elif api == "torch.linalg.multi_dot" and d.rank == 2:
        y = d.input([d.shape[1], n], names=(_last(d), "columns"))
        d.step(f"torch.linalg.multi_dot([{d.value}, {y}])")
        d.shape = [d.shape[0], n]
    elif api == "torch.einsum":
        return einsum(d, n)
    else:
        return False
    return True


def einsum(d: Draft, n: int) -> bool:
    if d.rank == 2:
        y = d.input([n, d.shape[1]], names=("rows", _last(d)))
        d.step(f'torch.einsum("bc,rc->br", {d.value}, {y})')
        d.shape = [d.shape[0], n]
    elif d.rank == 3:
        y = d.input([d.shape[0], n, d.shape[2]], names=("batch", "rows", _last(d)))
        d.step(f'torch.einsum("btc,bsc->bts", {d.value}, {y})')
        d.shape = [d.shape[0], d.shape[1], n]
    elif d.rank == 4:
        y = d.input([d.shape[3], n], names=("width", "columns"))
        d.step(f'torch.einsum("bhtd,de->bhte", {d.value}, {y})')
        d.shape = [*d.shape[:3], n]
    else:
        return False
    return True


def bilinear(d: Draft, api: str) -> bool:
    if d.rank != 2:
        return False
    n, k = d.pick(4, 6, 9), d.pick(5, 8)
    y = d.input([d.shape[0], k], names=("batch", "other"))
    a, b, o = d.argument(_last(d), d.shape[1]), d.argument("other", k), d.argument("out_features", n)
    if api == "torch.nn.Bilinear":
        d.step(f"self.{d.module('bilinear', f'nn.Bilinear({a}, {b}, {o})')}({d.value}, {y})")
    else:
        w = d.module("weight", f"nn.Parameter(torch.randn({o}, {a}, {b}))")
        d.step(f"F.bilinear({d.value}, {y}, self.{w})")
    d.shape = [d.shape[0], n]
    return True


# ------------------------------------------------------------------ convolutions


def conv(d: Draft, api: str) -> bool:
    n = int(api[-2])
    if d.rank != n + 2:
        return False
    transposed = "ranspose" in api
    out, k = d.pick(*CHANNELS), d.pick(1, 2, 3, 3, 3, 3, 4, 5)
    if min(d.shape[2:]) < k + 1:
        return False
    stride, padding, dilation = d.pick(1, 1, 2, 3), d.pick(0, 0, 1, 2), d.pick(1, 1, 1, 1, 2, 3)
    extra = d.pick(0, 1) if transposed and stride > 1 else 0
    groups = 1
    if d.rng.random() < 0.15 and d.shape[1] % 2 == 0:
        groups, out = 2, d.pick(4, 8, 16)
    elif not transposed and d.rng.random() < 0.08:
        groups, out = d.shape[1], d.shape[1]
    if padding >= k:
        padding = 0
    sizes = []
    for s in d.shape[2:]:
        size = (
            (s - 1) * stride - 2 * padding + dilation * (k - 1) + extra + 1
            if transposed
            else (s + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        )
        sizes.append(size)
    if min(sizes) < 1 or max(sizes) > 40:
        return False
    options = [
        f"{name}={v}"
        for name, v, default in (
            ("stride", stride, 1),
            ("padding", padding, 0),
            ("output_padding", extra, 0),
            ("dilation", dilation, 1),
        )
        if v != default
    ]
    if ".functional." in api:
        a = d.argument(_channels(d), d.shape[1])
        o = d.argument("out_channels", out)
        ks = ", ".join([str(k)] * n)
        first, second = (
            (a, f"{o} // {groups}" if groups > 1 else o) if transposed else (o, f"{a} // {groups}" if groups > 1 else a)
        )
        w = d.module("weight", f"nn.Parameter(torch.randn({first}, {second}, {ks}))")
        options += [f"groups={groups}"] if groups > 1 else []
        d.step(f"F.{short(api)}({', '.join([d.value, f'self.{w}', *options])})")
    else:
        a, o = (
            d.argument(_channels(d), d.shape[1]),
            d.argument("out_channels" if out != d.shape[1] or groups == 1 else _channels(d), out),
        )
        options += [f"groups={a if groups == d.shape[1] and groups > 2 else groups}"] if groups > 1 else []
        options += ["bias=False"] if d.rng.random() < 0.15 else []
        text = ", ".join([a, o, str(k), *options])
        d.step(f"self.{d.module('conv', f'nn.{short(api)}({text})')}({d.value})")
    d.shape = [d.shape[0], out, *sizes]
    return True


def _channels(d: Draft) -> str:
    return "out_channels" if d.constants.get("out_channels") == d.shape[1] else "channels"


# ------------------------------------------------------------------ pools, norms, softmax


def pool(d: Draft, api: str) -> bool:
    n = int(api.lower().rstrip("d")[-1])
    if d.rank != n + 2 or min(d.shape[2:]) < 4:
        return False
    name = short(api)
    if "daptive" in api:
        size = d.pick(1, 1, 2, 3)
        d.shape = [*d.shape[:2], *[size] * n]
        if ".functional." in api:
            d.step(f"F.{name}({d.value}, {size})")
        else:
            d.step(f"self.{d.module('pool', f'nn.{name}({size})')}({d.value})")
        return True
    k = d.pick(2, 2, 3, 4)
    stride = d.pick(None, None, 1, 2, 3)
    padding = d.pick(0, 0, 1) if "lp" not in name.lower() else 0
    s = stride or k
    options = ([f"stride={stride}"] if stride else []) + ([f"padding={padding}"] if padding else [])
    if padding and "avg" in name.lower() and d.rng.random() < 0.3:
        options.append("count_include_pad=False")
    head = f"2, {k}" if "lp" in name.lower() else str(k)
    sizes = [(v + 2 * padding - k) // s + 1 for v in d.shape[2:]]
    if ".functional." in api:
        d.step(f"F.{name}({', '.join([d.value, head, *options])})")
    else:
        d.step(f"self.{d.module('pool', 'nn.' + name + '(' + ', '.join([head, *options]) + ')')}({d.value})")
    d.shape = [*d.shape[:2], *sizes]
    return True


def _eps(d: Draft) -> str:
    return f", eps={d.pick(1e-6, 1e-4, 1e-3, 1e-5)}" if d.rng.random() < 0.3 else ""


def norm(d: Draft, api: str) -> bool:
    name = short(api)
    channel = d.shape[1] if d.rank > 1 else 0
    if name in ("LayerNorm", "layer_norm", "RMSNorm", "rms_norm"):
        if d.rank not in (2, 3, 4):
            return False
        a = d.argument(_last(d), d.shape[-1])
        if api.startswith("torch.nn.functional"):
            w = d.module("weight", f"nn.Parameter(torch.ones({a}))")
            shape = d.pick(f"({d.value}.shape[-1],)", f"self.{w}.shape")
            d.step(f"F.{name}({d.value}, {shape}, self.{w}{_eps(d)})")
        else:
            d.step(f"self.{d.module('norm', f'nn.{name}({a}{_eps(d)})')}({d.value})")
    elif name in ("GroupNorm", "group_norm"):
        if d.rank not in (2, 3, 4, 5) or channel % 2:
            return False
        groups = d.pick(*(g for g in range(2, channel + 1) if channel % g == 0))
        if channel // groups < 2 and d.rank == 2:
            return False
        a = d.argument(_channels(d) if d.rank > 2 else _last(d), channel)
        if name == "GroupNorm":
            d.step(f"self.{d.module('norm', f'nn.GroupNorm({groups}, {a}{_eps(d)})')}({d.value})")
        else:
            d.step(f"F.group_norm({d.value}, {groups})")
    elif name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "batch_norm"):
        need = {"BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,), "batch_norm": (2, 3, 4)}[name]
        if d.rank not in need or d.shape[0] < 2:
            return False
        a = d.argument(_channels(d) if d.rank > 2 else _last(d), channel)
        if name == "batch_norm":
            d.step(f"F.batch_norm({d.value}, None, None, training=True)")
        else:
            d.step(f"self.{d.module('norm', f'nn.{name}({a})')}({d.value})")
    elif name in ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "instance_norm"):
        if d.rank != {"1": 3, "2": 4, "3": 5}.get(name[-2], d.rank if d.rank in (3, 4) else -1):
            return False
        a = d.argument(_channels(d), channel)
        if name == "instance_norm":
            d.step(f"F.instance_norm({d.value})")
        else:
            d.step(f"self.{d.module('norm', f'nn.{name}({a})')}({d.value})")
    elif name == "normalize":
        if d.rank not in (2, 3, 4):
            return False
        d.step(f"F.normalize({d.value}, dim={d.pick(1, -1)})")
    elif name in ("LocalResponseNorm", "local_response_norm"):
        if d.rank != 4:
            return False
        if name == "LocalResponseNorm":
            d.step(f"self.{d.module('norm', 'nn.LocalResponseNorm(3)')}({d.value})")
        else:
            d.step(f"F.local_response_norm({d.value}, 3)")
    else:
        return False
    d.range = "any"
    return True


def softmax(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3, 4):
        return False
    dim = d.pick(-1, 1)
    name = short(api)
    if name == "Softmax2d":
        if d.rank != 4:
            return False
        d.step(f"self.{d.module('softmax', 'nn.Softmax2d()')}({d.value})")
    elif name == "logsumexp":
        keep = d.rng.random() < 0.5
        d.step(f"torch.logsumexp({d.value}, dim={dim}{', keepdim=True' if keep else ''})")
        _reduced(d, dim, keep)
    elif api.startswith("torch.nn.functional"):
        d.step(f"F.{name}({d.value}, dim={dim})")
    else:
        d.step(f"self.{d.module('softmax', f'nn.{name}(dim={dim})')}({d.value})")
    d.range = "unit" if name.lower() in ("softmax", "softmax2d", "softmin") else "any"
    return True


def _reduced(d: Draft, dim: int | tuple[int, ...], keep: bool) -> None:
    axes = {(a % d.rank) for a in ((dim,) if isinstance(dim, int) else dim)}
    d.shape = [1 if k in axes else s for k, s in enumerate(d.shape) if keep or k not in axes]


# ------------------------------------------------------------------ reductions and scans


def reduction(d: Draft, api: str) -> bool:
    name = short(api)
    if d.rank < 2:
        return False
    keep = d.rng.random() < 0.4
    dim: int | tuple[int, ...] = d.pick(1, -1, 0) if d.rank > 2 else d.pick(1, 1, -1)
    if d.rank == 4 and name in ("sum", "mean", "amax", "amin", "var", "std") and d.rng.random() < 0.4:
        dim = (2, 3)
    axes = (dim,) if isinstance(dim, int) else dim
    if all(d.shape[a] == 1 for a in axes):
        return False  # over one element it would only copy
    if name in ("var", "std", "var_mean", "std_mean") and any(d.shape[a] < 3 for a in axes):
        return False
    tail = f"dim={dim}{', keepdim=True' if keep else ''}"
    x = d.value
    if name in ("max", "min", "median", "mode"):
        if name == "mode":
            return False
        d.step(f"{api}({x}, {tail}).values")
    elif name == "kthvalue":
        d.step(f"torch.kthvalue({x}, 2, {tail}).values")
    elif name in ("argmax", "argmin"):
        if not d.exact:
            return False
        d.step(f"{api}({x}, {tail})")
        d.done = True
    elif name in ("any", "all"):
        if not d.exact:
            return False
        d.step(f"{api}({x} > {'1.0' if name == 'any' else '-1.0'}, {tail}).float()")
    elif name == "count_nonzero":
        if not d.exact:
            return False
        d.step(f"torch.count_nonzero(F.relu({x}), dim={dim}).float()")
        d.note("torch.nn.functional.relu", "activation")
        keep = False
    elif name in ("var_mean", "std_mean"):
        d.step(f"sum({api}({x}, {tail}))")
    elif name == "prod":
        if any(d.shape[a] > 12 for a in axes):
            return False  # long products leave the range of a float
        d.step(f"torch.prod({x}, {tail})")
    elif name == "norm":
        if api == "torch.linalg.norm":
            d.step(f"torch.linalg.norm({x}, {tail})")
        else:
            d.step(f"torch.norm({x}, p={d.pick(1, 2, 2)}, {tail})")
    elif name == "vector_norm":
        d.step(f"torch.linalg.vector_norm({x}, ord={d.pick(1, 2, 3)}, {tail})")
    elif name in ("var", "std") and d.rng.random() < 0.35:
        d.step(f"{api}({x}, {tail}, {d.pick('unbiased=False', 'correction=0')})")
    elif name in ("sum", "mean", "amax", "amin", "var", "std", "nanmean"):
        d.step(f"{api}({x}, {tail})")
    else:
        return False
    _reduced(d, dim, keep)
    d.range = "nonneg" if "norm" in name else "any" if name not in ("mean", "amax", "amin") else d.range
    return bool(d.shape) or d.rank >= 0


def whole(d: Draft, api: str) -> bool:
    """Everything to one number, or pairs of rows to one."""
    name = short(api)
    x = d.value
    if name == "trace" and d.rank == 2:
        d.step(f"torch.trace({x})")
        d.shape = []
    elif name == "dist":
        d.step(f"torch.dist({x}, {d.input(d.shape)})")
        d.shape = []
    elif name in ("cosine_similarity", "CosineSimilarity") and d.rank == 2:
        y = d.input(d.shape)
        if name == "CosineSimilarity":
            d.step(f"self.{d.module('similarity', 'nn.CosineSimilarity(dim=1)')}({x}, {y})")
        else:
            d.step(f"F.cosine_similarity({x}, {y}, dim=1)")
        d.shape = [d.shape[0]]
    elif name in ("pairwise_distance", "PairwiseDistance") and d.rank == 2:
        y = d.input(d.shape)
        if name == "PairwiseDistance":
            d.step(f"self.{d.module('distance', 'nn.PairwiseDistance()')}({x}, {y})")
        else:
            d.step(f"F.pairwise_distance({x}, {y})")
        d.shape = [d.shape[0]]
    elif name == "cdist" and d.rank == 2:
        n = d.pick(6, 9, 17)
        d.step(f"torch.cdist({x}, {d.input([n, d.shape[1]], names=('rows', _last(d)))})")
        d.shape = [d.shape[0], n]
    else:
        return False
    return True


def scan(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3):
        return False
    dim = d.pick(1, -1)
    text = f"{api}({d.value}, dim={dim})"
    if short(api) in ("cummax",):
        text += ".values"
    if short(api) == "cumprod" and (not d.exact or d.shape[dim] > 12):
        return False
    d.step(text)
    d.range = "any"
    return True


# ------------------------------------------------------------------ losses


def loss(d: Draft, api: str) -> bool:
    name = short(api)
    key = name.lower().replace("_", "").removesuffix("loss")
    shape = d.shape
    x = d.value
    functional = ".functional." in api
    options = ""
    if key in ("mse", "l1", "smoothl1", "huber"):
        y = [d.input(shape)]
        options = (
            f", {'delta' if key == 'huber' else 'beta'}={d.constant()}"
            if key in ("smoothl1", "huber") and d.rng.random() < 0.4
            else ""
        )
    elif key in ("crossentropy", "nll", "multimargin"):
        if d.rank != 2 or key == "multimargin":
            return False
        y = [d.input([shape[0]], f"int:{d.size(_last(d), shape[1])}", names=("batch",))]
    elif key in ("bcewithlogits", "binarycrossentropywithlogits", "multilabelsoftmargin"):
        y = [d.input(shape, "unit")]
    elif key in ("bce", "binarycrossentropy"):
        if d.range != "unit":
            if d.lines:
                return False
            d.start = "unit"
        y = [d.input(shape, "unit")]
    elif key in ("kldiv",):
        y = [d.input(shape, "unit")]
        options = ', reduction="batchmean"' if d.rng.random() < 0.5 else ""
    elif key == "softmargin":
        y = [d.input(shape, "sign")]
    elif key in ("marginranking",):
        y = [d.input(shape), d.input(shape, "sign")]
    elif key == "cosineembedding":
        if d.rank != 2:
            return False
        y = [d.input(shape), d.input([shape[0]], "sign", names=("batch",))]
    elif key in ("tripletmargin", "tripletmarginwithdistance"):
        if d.rank != 2:
            return False
        y = [d.input(shape), d.input(shape)]
        options = f", margin={d.constant()}" if d.rng.random() < 0.4 else ""
    elif key == "gaussiannll":
        y = [d.input(shape), d.input(shape, "pos")]
    else:
        return False
    args = ", ".join([x, *y])
    if functional:
        d.step(f"F.{name}({args}{options})")
    else:
        d.step(f"self.{d.module('loss', f'nn.{name}({options[2:]})')}({args})")
    d.shape, d.done = [], True
    return True


# ------------------------------------------------------------------ layout


def layout(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    r = d.rank
    if r < 2:
        return False
    if name in ("transpose",):
        a, b = (1, 2) if r > 2 else (0, 1)
        d.step(f"torch.transpose({x}, {a}, {b})")
        s[a], s[b] = s[b], s[a]
    elif name in ("t", "T"):
        if r != 2:
            return False
        d.step(f"torch.t({x})" if name == "t" else f"{x}.T")
        s[0], s[1] = s[1], s[0]
    elif name == "mT":
        d.step(f"{x}.mT")
        s[-1], s[-2] = s[-2], s[-1]
    elif name == "permute":
        order = list(range(r))
        d.rng.shuffle(order)
        d.step(f"torch.permute({x}, ({', '.join(map(str, order))}))")
        d.shape = [s[o] for o in order]
    elif name == "movedim":
        d.step(f"torch.movedim({x}, 0, -1)")
        d.shape = [*s[1:], s[0]]
    elif name in ("flatten", "Flatten"):
        if r < 3:
            return False
        total = 1
        for v in s[1:]:
            total *= v
        if name == "flatten":
            d.step(f"torch.flatten({x}, 1)")
        else:
            d.step(f"self.{d.module('flatten', 'nn.Flatten()')}({x})")
        d.shape = [s[0], total]
    elif name in ("view", "reshape"):
        if r < 3 or (name == "view" and d.lines):
            return False
        total = 1
        for v in s[1:]:
            total *= v
        d.step(f"{x}.view({x}.shape[0], -1)" if name == "view" else f"torch.reshape({x}, ({x}.shape[0], -1))")
        d.shape = [s[0], total]
    elif name == "unsqueeze":
        d.step(f"torch.unsqueeze({x}, {(k := d.pick(1, 2))})")
        s.insert(k, 1)
    elif name == "squeeze":
        if 1 not in s:
            return False
        k = s.index(1)
        d.step(f"torch.squeeze({x}, {k})")
        s.pop(k)
    elif name in ("flip", "fliplr", "flipud"):
        d.step(f"torch.flip({x}, dims=({d.pick('1,', '0, 1', '-1,')}))" if name == "flip" else f"torch.{name}({x})")
    elif name == "roll":
        d.step(f"torch.roll({x}, shifts={d.pick(1, 2, 3)}, dims={d.pick(1, -1)})")
    elif name in ("tril", "triu"):
        d.step(f"torch.{name}({x}{d.pick('', ', diagonal=1')})")
    elif name == "cat":
        y = d.input(s)
        dim = d.pick(0, 1, -1)
        d.step(f"torch.cat([{x}, {y}], dim={dim})")
        s[dim] *= 2
    elif name == "stack":
        dim = d.pick(0, 1)
        d.step(f"torch.stack([{x}, {d.input(s)}], dim={dim})")
        s.insert(dim, 2)
    elif name in ("hstack", "vstack", "column_stack"):
        if r != 2:
            return False
        d.step(f"torch.{name}([{x}, {d.input(s)}])")
        s[0 if name == "vstack" else 1] *= 2
    elif name in ("repeat", "tile"):
        times = [1] * (r - 1) + [2]
        d.step(
            f"{x}.repeat({', '.join(map(str, times))})"
            if name == "repeat"
            else f"torch.tile({x}, ({', '.join(map(str, times))}))"
        )
        s[-1] *= 2
    elif name == "repeat_interleave":
        d.step(f"torch.repeat_interleave({x}, 2, dim=1)")
        s[1] *= 2
    elif name in ("chunk", "split", "tensor_split", "unbind", "split_with_sizes"):
        return pieces(d, name)
    elif name == "narrow":
        if s[1] < 4:
            return False
        d.step(f"torch.narrow({x}, 1, 1, {s[1] - 2})")
        s[1] -= 2
    elif name == "select":
        if r < 3:
            return False
        d.step(f"torch.select({x}, 1, {d.pick(0, 1)})")
        s.pop(1)
    elif name in ("diagonal", "diag"):
        if r != 2 or (name == "diag" and r != 2):
            return False
        d.step(f"torch.{name}({x})")
        d.shape = [min(s)]
    elif name in ("diag_embed",):
        if r > 2:
            return False
        d.step(f"torch.diag_embed({x})")
        s.append(s[-1])
    elif name in ("expand", "broadcast_to"):
        k = d.pick(2, 3)
        d.step(
            f"{x}.expand({k}, {', '.join(['-1'] * r)})"
            if name == "expand"
            else f"torch.broadcast_to({x}, ({k}, *{x}.shape))"
        )
        s.insert(0, k)
    elif name == "rot90":
        d.step(f"torch.rot90({x}, 1, (0, 1))")
        s[0], s[1] = s[1], s[0]
    elif name == "unflatten" or name == "Unflatten":
        if s[1] % 2:
            return False
        if name == "unflatten":
            d.step(f"torch.unflatten({x}, 1, (2, {s[1] // 2}))")
        else:
            d.step(f"self.{d.module('unflatten', f'nn.Unflatten(1, (2, {s[1] // 2}))')}({x})")
        d.shape = [s[0], 2, s[1] // 2, *s[2:]]
    elif name == "ravel":
        d.step(f"torch.ravel({x})")
        total = 1
        for v in s:
            total *= v
        d.shape = [total]
    elif name in ("atleast_3d",):
        if r != 2:
            return False
        d.step(f"torch.atleast_3d({x})")
        s.append(1)
    elif name in ("atleast_1d", "atleast_2d"):
        d.step(f"torch.{name}({x})")
    elif name == "meshgrid":
        return False
    else:
        return False
    return True


def pieces(d: Draft, name: str) -> bool:
    x, s = d.value, d.shape
    if name == "unbind":
        if d.rank < 3 or s[1] > 4:
            return False
        d.lines.append(f"parts = torch.unbind({x}, dim=1)")
        d.lines.append(f"{x} = parts[0] * parts[1]")
        s.pop(1)
        return s is not None
    if s[-1] % 2:
        return False
    half = s[-1] // 2
    call = {
        "chunk": f"torch.chunk({x}, 2, dim=-1)",
        "split": f"torch.split({x}, {half}, dim=-1)",
        "tensor_split": f"torch.tensor_split({x}, 2, dim=-1)",
        "split_with_sizes": f"torch.split_with_sizes({x}, [{half}, {half}], dim=-1)",
    }[name]
    d.lines.append(f"a, b = {call}")
    d.lines.append(f"{x} = a {d.pick('*', '+', '-')} b")
    s[-1] = half
    return True


def glu(d: Draft, api: str) -> bool:
    if d.rank < 2 or d.shape[-1] % 2:
        return False
    if api == "torch.nn.GLU":
        d.step(f"self.{d.module('glu', 'nn.GLU()')}({d.value})")
    else:
        d.step(f"F.glu({d.value}, dim=-1)")
    d.shape[-1] //= 2
    return True


def prelu(d: Draft, api: str) -> bool:
    if d.rank < 2:
        return False
    a = d.argument(
        _channels(d) if d.rank > 3 else {2: _last(d), 3: "length"}[d.rank] if d.rank in (2, 3) else "channels",
        d.shape[1],
    )
    if api == "torch.nn.PReLU":
        d.step(f"self.{d.module('act', f'nn.PReLU({a})')}({d.value})")
    else:
        w = d.module("slope", f"nn.Parameter(torch.randn({a}))")
        d.step(f"F.prelu({d.value}, self.{w})")
    return True


def diff(d: Draft, api: str) -> bool:
    if d.rank < 2 or d.shape[-1] < 3:
        return False
    d.step(f"torch.diff({d.value}, dim=-1)")
    d.shape[-1] -= 1
    return True


# ------------------------------------------------------------------ index


def index(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name in ("Embedding", "embedding"):
        if d.lines or d.rank not in (1, 2):
            return False
        rows, width = d.pick(11, 20, 30), d.pick(6, 8, 12)
        d.start = f"int:{d.argument('vocabulary', rows)}"
        w = d.argument("width", width)
        if name == "Embedding":
            d.step(f"self.{d.module('embedding', f'nn.Embedding(vocabulary, {w})')}({x})")
        else:
            t = d.module("table", f"nn.Parameter(torch.randn(vocabulary, {w}))")
            d.step(f"F.embedding({x}, self.{t})")
        d.shape = [*s, width]
        return True
    if d.rank < 2:
        return False
    if name == "gather":
        n = d.pick(3, 5)
        y = d.input(
            [*s[:-1], n],
            f"int:{s[-1]}",
            names=(*("batch", "length", "height", "width", "depth")[: d.rank - 1], "picks"),
        )
        d.step(f"torch.gather({x}, {d.rank - 1}, {y})")
        s[-1] = n
    elif name == "take_along_dim":
        y = d.input(
            [*s[:-1], 4],
            f"int:{s[-1]}",
            names=(*("batch", "length", "height", "width", "depth")[: d.rank - 1], "picks"),
        )
        d.step(f"torch.take_along_dim({x}, {y}, dim=-1)")
        s[-1] = 4
    elif name == "index_select":
        n = d.pick(4, 6)
        y = d.input([n], f"int:{s[1]}", names=("picks",))
        d.step(f"torch.index_select({x}, 1, {y})")
        s[1] = n
    elif name == "take":
        y = d.input([6], f"int:{s[0]}", names=("picks",))
        d.step(f"torch.take({x}, {y})")
        d.shape = [6]
    elif name == "index_add":
        y = d.input([5], f"int:{s[0]}", names=("picks",))
        z = d.input([5, *s[1:]], names=("picks", *(f"n{k}" for k in range(1, d.rank))))
        d.step(f"torch.index_add({x}, 0, {y}, {z})")
    elif name == "scatter_add":
        if d.rank != 2:
            return False
        y = d.input([s[0], 4], f"int:{s[1]}", names=("batch", "picks"))
        z = d.input([s[0], 4], names=("batch", "picks"))
        d.step(f"torch.scatter_add({x}, 1, {y}, {z})")
    elif name in ("sort", "argsort", "topk"):
        if s[-1] > 24 or (name == "argsort" and bool(d.lines)):
            return False
        if name == "topk":
            k = d.pick(2, 3)
            d.step(f"torch.topk({x}, {k}, dim=-1).values")
            s[-1] = k
        elif name == "sort":
            d.step(f"torch.sort({x}, dim=-1{d.pick('', ', descending=True')}).values")
        else:
            d.step(f"torch.argsort({x}, dim=-1)")
            d.done = True
    elif name in ("bucketize", "searchsorted"):
        if not d.exact:
            return False
        b = "torch.linspace(-2.0, 2.0, 9, device=x.device)"
        d.step(f"torch.bucketize({x}, {b})" if name == "bucketize" else f"torch.searchsorted({b}, {x})")
        d.done = True
    elif name == "one_hot":
        if d.lines or d.rank != 2:
            return False
        d.start = "int:7"
        d.step(f"F.one_hot({x}, 7)")
        d.shape = [*s, 7]
        d.done = True
    else:
        return False
    return True


# ------------------------------------------------------------------ padding and resizing


def pad(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name == "pad":
        if d.rank < 3:
            return False
        mode = d.pick("constant", "constant", "reflect", "replicate")
        a, b = d.pick((1, 1), (1, 2), (2, 0))
        tail = "" if mode == "constant" else f', mode="{mode}"'
        if mode != "constant" and d.rank not in (3, 4):
            return False
        if d.rank == 4 and mode != "constant":
            d.step(f"F.pad({x}, ({a}, {b}, {b}, {a}){tail})")
            s[-2] += a + b
        else:
            d.step(f"F.pad({x}, ({a}, {b}){tail})")
        s[-1] += a + b
        return s[-1] > 3
    n = int(name[-2])
    if d.rank != n + 2 or min(s[2:]) < 4:
        return False
    width = d.pick(1, 2)
    value = f", {d.constant()}" if name.startswith("Constant") else ""
    d.step(f"self.{d.module('pad', f'nn.{name}({width}{value})')}({x})")
    d.shape = [*s[:2], *(v + 2 * width for v in s[2:])]
    return True


def resize(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name in ("pixel_shuffle", "PixelShuffle", "pixel_unshuffle", "PixelUnshuffle"):
        down = "nshuffle" in name
        if d.rank != 4 or (s[1] % 4 if not down else (s[2] % 2 or s[3] % 2)):
            return False
        if name[0] == "P":
            d.step(f"self.{d.module('shuffle', f'nn.{name}(2)')}({x})")
        else:
            d.step(f"F.{name}({x}, 2)")
        d.shape = [s[0], s[1] * 4, s[2] // 2, s[3] // 2] if down else [s[0], s[1] // 4, s[2] * 2, s[3] * 2]
        return True
    if name in ("unfold", "Unfold"):
        if d.rank != 4:
            return False
        k, st = d.pick(2, 3), d.pick(1, 2)
        if name == "Unfold":
            d.step(f"self.{d.module('unfold', f'nn.Unfold({k}, stride={st})')}({x})")
        else:
            d.step(f"F.unfold({x}, {k}, stride={st})")
        rows = [(v - k) // st + 1 for v in s[2:]]
        d.shape = [s[0], s[1] * k * k, rows[0] * rows[1]]
        return d.shape[1] * d.shape[2] < 4000
    if d.rank != 4 or max(s[2:]) > 16:
        return False
    if name == "interpolate":
        mode = d.pick("nearest", "bilinear", "nearest")
        tail = f', mode="{mode}"' + (", align_corners=False" if mode == "bilinear" else "")
        d.step(f"F.interpolate({x}, scale_factor=2{tail})")
    elif name == "Upsample":
        d.step(f"self.{d.module('up', 'nn.Upsample(scale_factor=2)')}({x})")
    else:
        d.step(f"self.{d.module('up', f'nn.{name}(scale_factor=2)')}({x})")
    d.shape = [*s[:2], s[2] * 2, s[3] * 2]
    return True


def attention(d: Draft, api: str) -> bool:
    x, s = d.value, d.shape
    if api == "torch.nn.functional.scaled_dot_product_attention":
        if d.rank not in (3, 4):
            return False
        names = ("batch", "length", "features") if d.rank == 3 else ("batch", "heads", "length", "features")
        y, z = d.input(s, names=names), d.input(s, names=names)
        causal = d.pick("", ", is_causal=True")
        d.step(f"F.scaled_dot_product_attention({x}, {y}, {z}{causal})")
        return True
    if api == "torch.nn.MultiheadAttention":
        if d.rank != 3 or s[-1] % 2:
            return False
        a = d.argument("features", s[-1])
        m = d.module("attention", f"nn.MultiheadAttention({a}, 2, batch_first=True)")
        d.step(f"self.{m}({x}, {x}, {x}, need_weights=False)[0]")
        return True
    return False
