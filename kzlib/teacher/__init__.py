"""A rule-based teacher: Torch modules and right kernels for them, without a model of billions of parameters.

A small compiler of our own: API set -> module (`grammar`) -> graph (`graph`) -> kernels over one expression tree
(`plan`, `families`, `expr`) -> Triton or CUDA text under a schedule (`triton_printer`, `cuda_printer`, `schedule`).
`solve` runs the same path on anybody's task. Source: DESIGN section 7, issue 6.
"""

from kzlib.teacher.compiler import solve
from kzlib.teacher.graph import Unsupported
from kzlib.teacher.sample import Sample, generate
from kzlib.teacher.support import supported_apis

__all__ = ["Sample", "Unsupported", "generate", "solve", "supported_apis"]
