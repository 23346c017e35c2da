# ruff: noqa: SIM905 - tables of words
"""One spelling of every operator: a layer without weights, a method and an infix operator become a function's call.

`nn.SiLU()(x)`, `F.silu(x)` and `x @ y`, `torch.matmul(x, y)` read alike. By syntax tree alone: nothing is executed.
"""

from __future__ import annotations

import ast
import re

# Layers without weights whose arguments, put after the input, are the function's.
_ACTIVATIONS = (
    "ReLU ReLU6 GELU SiLU Mish ELU CELU SELU LeakyReLU Hardtanh Hardswish Hardsigmoid Hardshrink Softshrink Tanhshrink "
    "Softplus Softsign LogSigmoid Sigmoid Tanh Threshold GLU Softmax LogSoftmax Softmin"
)
_OTHERS = "PixelShuffle PixelUnshuffle CosineSimilarity PairwiseDistance Unfold Fold"
_POOLS = [f"{kind}Pool{n}d" for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax", "LP") for n in (1, 2, 3)]
_ODD = {
    "ReLU": "relu", "ReLU6": "relu6", "GELU": "gelu", "SiLU": "silu", "ELU": "elu", "CELU": "celu", "SELU": "selu",
    "LeakyReLU": "leaky_relu", "GLU": "glu", "LogSigmoid": "logsigmoid", "Upsample": "interpolate",
}  # fmt: skip


def _function(layer: str) -> str:
    if layer in _ODD:
        return _ODD[layer]
    pool = re.fullmatch(r"(\w+)Pool(\dd)", layer)
    words = f"{pool[1]}_pool{pool[2]}" if pool else layer
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words).lower()


STATELESS = {name: _function(name) for name in [*_ACTIVATIONS.split(), *_OTHERS.split(), *_POOLS, "Upsample"]}

# Methods that are functions of torch under the same name, with the same arguments after the tensor.
METHODS = frozenset(
    "abs add addmm all amax amin any argmax argmin argsort atan2 bmm ceil chunk clamp clamp_max clamp_min clone "
    "cos cosh cummax cumprod cumsum diagonal diff div dot erf exp expm1 flatten flip floor gather index_select "
    "kthvalue log log10 log1p log2 logaddexp logcumsumexp logsumexp masked_fill matmul max maximum mean median "
    "min minimum mm mul mv narrow neg norm permute pow prod reciprocal relu reshape roll round rsqrt select "
    "sigmoid sign sin sinh softmax log_softmax sort split sqrt square squeeze std sub sum t take tan tanh tile "
    "topk transpose tril triu trunc unbind unsqueeze var where".split()
)
# Functions that both `torch` and `torch.nn.functional` hold.
BOTH = frozenset("softmax log_softmax relu selu celu prelu sigmoid tanh logsigmoid bilinear layer_norm group_norm "
                 "batch_norm instance_norm cosine_similarity pairwise_distance threshold pixel_shuffle conv1d conv2d "
                 "conv3d pad".split())  # fmt: skip
_F_TO_TORCH = frozenset({"sigmoid", "tanh"})  # kept where the field writes them


def one_name(full: str) -> str:
    """The name under which an operator is shown.

    >>> one_name("torch.softmax"), one_name("torch.nn.functional.tanh"), one_name("torch.exp")
    ('torch.nn.functional.softmax', 'torch.tanh', 'torch.exp')
    """
    for prefix in ("torch.nn.functional.", "torch."):
        name = full.removeprefix(prefix)
        if full.startswith(prefix) and name in BOTH:
            return f"torch.{name}" if name in _F_TO_TORCH else f"torch.nn.functional.{name}"
    return full


def stateless(layer: str) -> str | None:
    """The function of a layer of `torch.nn` without weights that takes its arguments after the input; None for others.

    >>> stateless("MaxPool2d"), stateless("Tanh"), stateless("Linear")
    ('F.max_pool2d', 'torch.tanh', None)
    """
    if layer not in STATELESS:
        return None
    return one_name(f"torch.nn.functional.{STATELESS[layer]}").replace("torch.nn.functional.", "F.")


class Functions(ast.NodeTransformer):
    """Methods of values and `@` as calls of `torch`'s functions.

    >>> ast.unparse(Functions({"x", "y"}).visit(ast.parse("x.sum(dim=1) @ y.softmax(-1)")))
    'torch.matmul(torch.sum(x, dim=1), F.softmax(y, -1))'
    """

    def __init__(self, values: set[str]) -> None:
        self.values = values

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in METHODS and self._is_value(function.value):
            name = one_name(f"torch.{function.attr}")
            arguments = node.args
            if function.attr in ("permute", "reshape", "flip", "tile") and len(arguments) > 1:
                arguments = [ast.Tuple(arguments, ast.Load())]
            node = ast.Call(_attribute(name), [function.value, *arguments], node.keywords)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return ast.Call(_attribute("torch.matmul"), [node.left, node.right], [])
        return node

    def _is_value(self, node: ast.expr) -> bool:
        """Anything but a package: `torch.sum` and `nn.init.normal_` are not methods of values."""
        if isinstance(node, ast.Name) and node.id == "self":
            return False  # a layer of that name
        root = node
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            if isinstance(root, ast.Call):
                return True
            root = root.value
        return not isinstance(root, ast.Name) or root.id in self.values or root.id == "self"


def _attribute(full: str) -> ast.expr:
    return ast.parse(full.replace("torch.nn.functional.", "F."), mode="eval").body
