"""Operators that are shorthand for simpler ones, written in Torch; the tracer opens them up.

A composite returns NotImplemented for argument forms it does not cover, and the call is then recorded as it stands.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Python functions whose own body is a fine definition
OPENED = {
    "multi_head_attention_forward",
    "triplet_margin_with_distance_loss",
    "gaussian_nll_loss",
    "in_projection_packed",
    "in_projection",
    "softmin_",
    "einsum_",
    "tensordot_",
    "meshgrid",
    "split_",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "atleast_1d_",
    "cdist_",
    "norm_",
    "broadcast_tensors",
    "block_diag_",
    "cartesian_prod",
    "chain_matmul_",
    "local_response_norm_",
    "dice_",
}


def _loss(v: Tensor, reduction: str) -> Tensor:
    return v if reduction == "none" else torch.mean(v) if reduction == "mean" else torch.sum(v)


def mse_loss(input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean", weight=None):
    d = input - target
    return _loss(d * d, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return _loss(torch.abs(input - target), reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    d = torch.abs(input - target)
    return _loss(torch.where(d < beta, 0.5 / beta * d * d, d - 0.5 * beta), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    d = torch.abs(input - target)
    return _loss(torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    v = -(
        target * torch.clamp(torch.log(input), min=-100.0)
        + (1 - target) * torch.clamp(torch.log(1 - input), min=-100.0)
    )
    return _loss(v if weight is None else v * weight, reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):  # fmt: skip
    if pos_weight is not None:
        v = (1 - target) * input - (1 + (pos_weight - 1) * target) * torch.nn.functional.logsigmoid(input) + 0 * input
        v = (1 - target) * input + (1 + (pos_weight - 1) * target) * torch.nn.functional.softplus(-input)
    else:
        v = torch.clamp(input, min=0.0) - input * target + torch.log1p(torch.exp(-torch.abs(input)))
    return _loss(v if weight is None else v * weight, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    v = torch.exp(target) * (target - input) if log_target else torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return torch.sum(v) / input.shape[0]
    return _loss(v, reduction)


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):  # fmt: skip
    v = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(6.283185307179586 * target)
        v = v + torch.where(target > 1, stirling, 0.0)
    return _loss(v, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if not isinstance(var, Tensor):
        return NotImplemented
    if var.dim() != input.dim():
        var = var.unsqueeze(-1)
    var = torch.clamp(var, min=eps)
    d = input - target
    v = 0.5 * (torch.log(var) + d * d / var)
    if full:
        v = v + 0.9189385332046727
    return _loss(v, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _loss(torch.log1p(torch.exp(-target * input)), reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return _loss(torch.where(target == 1, input, torch.clamp(margin - input, min=0.0)), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    return _loss(torch.clamp(margin - target * (input1 - input2), min=0.0), reduction)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    dot = torch.sum(x1 * x2, dim=dim)
    a, b = torch.sum(x1 * x1, dim=dim), torch.sum(x2 * x2, dim=dim)
    return dot / torch.sqrt(torch.clamp(a, min=eps * eps) * torch.clamp(b, min=eps * eps))


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    cos = cosine_similarity(input1, input2, dim=-1, eps=1e-6)
    return _loss(torch.where(target == 1, 1 - cos, torch.clamp(cos - margin, min=0.0)), reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    d = x1 - x2 + eps
    return torch.norm(d, p, -1, keepdim)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):  # fmt: skip
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _loss(torch.clamp(near - far + margin, min=0.0), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    f = torch.nn.functional
    v = -(target * f.logsigmoid(input) + (1 - target) * f.logsigmoid(-input))
    v = torch.mean(v if weight is None else v * weight, dim=-1)
    return _loss(v, reduction)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):  # fmt: skip
    dim = 0 if input.dim() == 1 else 1
    f = torch.nn.functional
    if target.dtype.is_floating_point:
        if weight is not None or label_smoothing:
            return NotImplemented
        v = -torch.sum(f.log_softmax(input, dim) * target, dim=dim)
        if reduction == "mean":
            return torch.sum(v) / max(1, v.numel())
        return _loss(v, reduction)
    if weight is not None:
        return (
            f.nll_loss(f.log_softmax(input, dim), target, weight, reduction=reduction)
            if not label_smoothing
            else NotImplemented
        )
    picked = torch.gather(input, dim, target.unsqueeze(dim)).squeeze(dim)
    v = torch.logsumexp(input, dim) - picked
    if label_smoothing:
        smooth = torch.logsumexp(input, dim) - torch.mean(input, dim)
        v = (1 - label_smoothing) * v + label_smoothing * smooth
    return _loss(v, reduction)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    dim = 0 if input.dim() == 1 else 1
    picked = -torch.gather(input, dim, target.unsqueeze(dim)).squeeze(dim)
    if weight is None:
        return _loss(picked, reduction)
    w = weight[target]
    if reduction == "mean":
        return torch.sum(picked * w) / torch.sum(w)
    return _loss(picked * w, reduction)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):  # fmt: skip
    if dropout_p or enable_gqa:
        return NotImplemented
    scale = scale if scale is not None else query.shape[-1] ** -0.5
    scores = torch.matmul(query, key.transpose(-2, -1)) * scale
    if is_causal:
        keep = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~keep, float("-inf"))
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.matmul(torch.softmax(scores, dim=-1), value)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    v = torch.matmul(batch1, batch2)
    v = v if alpha == 1 else v * alpha
    return v + (input if beta == 1 else input * beta)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    return baddbmm(input, mat, vec, beta=beta, alpha=alpha)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    v = vec1.unsqueeze(1) * vec2
    v = v if alpha == 1 else v * alpha
    return v + (input if beta == 1 else input * beta)


def outer(input, vec2):
    return input.unsqueeze(1) * vec2


def glu(input, dim=-1):
    a, b = torch.chunk(input, 2, dim)
    return a * torch.sigmoid(b)


def std(input, dim=None, correction=1, keepdim=False, unbiased=None, **_):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if isinstance(correction, bool):
        unbiased, correction = correction, 1
    if unbiased is not None:
        correction = int(unbiased)
    return torch.sqrt(torch.var(input, dim, correction=correction, keepdim=keepdim))


def prelu(input, weight):
    if weight.numel() > 1 and input.dim() > 2:
        weight = weight.reshape(-1, *[1] * (input.dim() - 2))
    return torch.where(input > 0, input, weight * input)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    if n != 1 or prepend is not None or append is not None:
        return NotImplemented
    size = input.shape[dim]
    return input.narrow(dim, 1, size - 1) - input.narrow(dim, 0, size - 1)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    f = torch.nn.functional
    if input.dim() not in (3, 4):
        return NotImplemented
    square = (input * input).unsqueeze(1)
    if input.dim() == 3:
        square = f.avg_pool2d(f.pad(square, (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1)
    else:
        square = f.avg_pool3d(f.pad(square, (0, 0, 0, 0, size // 2, (size - 1) // 2)), (size, 1, 1), stride=1)
    return input / (square.squeeze(1) * alpha + k) ** beta


def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    f = torch.nn.functional
    if ceil_mode:
        return NotImplemented
    pool = {3: f.avg_pool1d, 4: f.avg_pool2d, 5: f.avg_pool3d}.get(input.dim())
    count = kernel_size
    if not isinstance(kernel_size, int):
        count = 1
        for k in kernel_size:
            count *= k
    elif pool is not None:
        count = kernel_size ** (input.dim() - 2)
    if pool is None:
        return NotImplemented
    mean = pool(torch.pow(input, norm_type), kernel_size, stride)
    return torch.pow(torch.relu(mean * count), 1.0 / norm_type)


def inner(input, other):
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if other.dim() == 1:
        return torch.matmul(input, other)
    return torch.matmul(input, other.transpose(-1, -2)) if input.dim() <= 2 and other.dim() == 2 else NotImplemented


def pairwise_extreme(name: str) -> Any:
    """max(a, b) of two tensors is `maximum`; every other form is a reduction and is recorded as it stands."""

    def apply(input: Tensor, other: Any = None, *rest: Any, **kwargs: Any) -> Any:
        return getattr(torch, name)(input, other) if isinstance(other, Tensor) and not rest else NotImplemented

    return apply


def multi_dot(tensors: Any) -> Tensor:
    out = tensors[0]
    for t in tensors[1:]:
        out = torch.matmul(out, t)
    return out


def ndtr(input: Tensor) -> Tensor:
    return 0.5 * (1.0 + torch.erf(input * 0.7071067811865476))


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False):
    return NotImplemented if equal_nan else torch.abs(input - other) <= atol + rtol * torch.abs(other)


COMPOSITES = {
    "mse_loss": mse_loss,
    "l1_loss": l1_loss,
    "smooth_l1_loss": smooth_l1_loss,
    "huber_loss": huber_loss,
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "kl_div": kl_div,
    "poisson_nll_loss": poisson_nll_loss,
    "gaussian_nll_loss": gaussian_nll_loss,
    "soft_margin_loss": soft_margin_loss,
    "hinge_embedding_loss": hinge_embedding_loss,
    "margin_ranking_loss": margin_ranking_loss,
    "cosine_similarity": cosine_similarity,
    "cosine_embedding_loss": cosine_embedding_loss,
    "pairwise_distance": pairwise_distance,
    "triplet_margin_loss": triplet_margin_loss,
    "multilabel_soft_margin_loss": multilabel_soft_margin_loss,
    "cross_entropy": cross_entropy,
    "nll_loss": nll_loss,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "baddbmm": baddbmm,
    "addmm": baddbmm,
    "addmv": addmv,
    "addr": addr,
    "outer": outer,
    "glu": glu,
    "std": std,
    "diff": diff,
    "prelu": prelu,
    "max": pairwise_extreme("maximum"),
    "min": pairwise_extreme("minimum"),
    "linalg_multi_dot": multi_dot,
    "ndtr": ndtr,
    "isclose": isclose,
    "local_response_norm": local_response_norm,
    "lp_pool1d": lp_pool,
    "lp_pool2d": lp_pool,
    "lp_pool3d": lp_pool,
    "inner": inner,
    "bmm": torch.matmul,
    "mm": torch.matmul,
    "mv": torch.matmul,
    "dot": torch.matmul,
    "vdot": torch.matmul,
    "__matmul__": torch.matmul,
    "__rmatmul__": lambda a, b: torch.matmul(b, a),
}
