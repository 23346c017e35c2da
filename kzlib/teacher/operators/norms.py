"""Normalisation and softmax."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import channels, last, reduced, short


def _eps(d: Draft) -> str:
    return f", eps={d.pick(1e-6, 1e-4, 1e-3, 1e-5)}" if d.rng.random() < 0.3 else ""


def norm(d: Draft, api: str) -> bool:
    name = short(api)
    channel = d.shape[1] if d.rank > 1 else 0
    if name in ("LayerNorm", "layer_norm", "RMSNorm", "rms_norm"):
        if d.rank not in (2, 3, 4):
            return False
        a = d.argument(last(d), d.shape[-1])
        if api.startswith("torch.nn.functional"):
            w = d.module("weight", f"nn.Parameter(torch.ones({a}))")
            shape = d.pick(f"({d.value}.shape[-1],)", f"self.{w}.shape")
            d.step(f"F.{name}({d.value}, {shape}, self.{w}{_eps(d)})")
        else:
            tail = f"{_eps(d)}{d.pick('', '', '', ', elementwise_affine=False')}"
            d.step(f"self.{d.module('norm', f'nn.{name}({a}{tail})')}({d.value})")
    elif name in ("GroupNorm", "group_norm"):
        if d.rank not in (2, 3, 4, 5) or channel % 2:
            return False
        groups = d.pick(*(g for g in range(2, channel + 1) if channel % g == 0))
        if channel // groups < 2 and d.rank == 2:
            return False
        a = d.argument(channels(d) if d.rank > 2 else last(d), channel)
        if name == "GroupNorm":
            d.step(f"self.{d.module('norm', f'nn.GroupNorm({groups}, {a}{_eps(d)})')}({d.value})")
        else:
            d.step(f"F.group_norm({d.value}, {groups})")
    elif name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "batch_norm"):
        need = {"BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,), "batch_norm": (2, 3, 4)}[name]
        if d.rank not in need or d.shape[0] < 2:
            return False
        a = d.argument(channels(d) if d.rank > 2 else last(d), channel)
        if name == "batch_norm":
            d.step(f"F.batch_norm({d.value}, None, None, training=True)")
        else:
            d.step(f"self.{d.module('norm', f'nn.{name}({a}{_eps(d)})')}({d.value})")
    elif name in ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "instance_norm"):
        if d.rank != {"1": 3, "2": 4, "3": 5}.get(name[-2], d.rank if d.rank in (3, 4) else -1):
            return False
        a = d.argument(channels(d), channel)
        if name == "instance_norm":
            d.step(f"F.instance_norm({d.value})")
        else:
            tail = f"{_eps(d)}{d.pick('', '', ', affine=True')}"
            d.step(f"self.{d.module('norm', f'nn.{name}({a}{tail})')}({d.value})")
    elif name == "normalize":
        if d.rank not in (2, 3, 4):
            return False
        d.step(f"F.normalize({d.value}, {d.pick('', '', 'p=1, ')}dim={d.pick(1, -1)})")
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
    dim = d.pick(-1, 1, d.rng.randrange(d.rank))
    if d.shape[dim] < 2:
        return False
    name = short(api)
    if name == "Softmax2d":
        if d.rank != 4:
            return False
        d.step(f"self.{d.module('softmax', 'nn.Softmax2d()')}({d.value})")
    elif name == "logsumexp":
        keep = d.rng.random() < 0.5
        d.step(f"torch.logsumexp({d.value}, dim={dim}{', keepdim=True' if keep else ''})")
        reduced(d, dim, keep)
    elif api.startswith("torch.nn.functional"):
        d.step(f"F.{name}({d.value}, dim={dim})")
    else:
        d.step(f"self.{d.module('softmax', f'nn.{name}(dim={dim})')}({d.value})")
    d.range = "unit" if name.lower() in ("softmax", "softmax2d", "softmin") else "any"
    return True
