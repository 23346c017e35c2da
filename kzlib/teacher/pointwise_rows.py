"""Pointwise APIs as the grammar writes them: a row for each way to write one. Data only.

Columns: API | what the operand must be | what the result is | forward text | module to build (modules only).
Ranges: any, nonneg, pos (> 0), unit (0 to 1). Flags after the result: g grows fast, e needs exact operands (jumps).
Placeholders: {x} operand, {c} {lo} {hi} {s} constants, {p} a power, {y} a second input, {z} a third ({yp} {zp}
positive, {yu} {zu} from 0 to 1).
"""

ROWS = """
torch.nn.functional.relu | any | nonneg | F.relu({x}) |
torch.sigmoid | any | unit | torch.sigmoid({x}) |
torch.tanh | any | any | torch.tanh({x}) |
torch.nn.functional.leaky_relu | any | any | F.leaky_relu({x}, negative_slope={s}) |
torch.nn.functional.softplus | any | pos | F.softplus({x}) |
torch.nn.functional.gelu | any | any | F.gelu({x}) |
torch.nn.functional.silu | any | any | F.silu({x}) |
torch.nn.functional.logsigmoid | any | any | F.logsigmoid({x}) |
torch.nn.functional.elu | any | any | F.elu({x}, alpha={c}) |
torch.nn.functional.relu6 | any | nonneg | F.relu6({x}) |
torch.nn.functional.hardsigmoid | any | nonneg | F.hardsigmoid({x}) |
torch.nn.functional.hardtanh | any | any | F.hardtanh({x}, min_val={lo}, max_val={hi}) |
torch.nn.functional.selu | any | any | F.selu({x}) |
torch.nn.functional.threshold | any | any e | F.threshold({x}, {s}, {c}) |
torch.nn.functional.mish | any | any | F.mish({x}) |
torch.nn.functional.hardswish | any | any | F.hardswish({x}) |
torch.nn.functional.softshrink | any | any | F.softshrink({x}, lambd={c}) |
torch.nn.functional.softsign | any | any | F.softsign({x}) |
torch.nn.functional.hardshrink | any | any e | F.hardshrink({x}, lambd={c}) |
torch.nn.functional.celu | any | any | F.celu({x}, alpha={c}) |
torch.nn.functional.tanhshrink | any | any | F.tanhshrink({x}) |
torch.nn.ReLU | any | nonneg | self.{m}({x}) | nn.ReLU()
torch.nn.LeakyReLU | any | any | self.{m}({x}) | nn.LeakyReLU({s})
torch.nn.Sigmoid | any | unit | self.{m}({x}) | nn.Sigmoid()
torch.nn.GELU | any | any | self.{m}({x}) | nn.GELU()
torch.nn.Tanh | any | any | self.{m}({x}) | nn.Tanh()
torch.nn.SiLU | any | any | self.{m}({x}) | nn.SiLU()
torch.nn.ReLU6 | any | nonneg | self.{m}({x}) | nn.ReLU6()
torch.nn.ELU | any | any | self.{m}({x}) | nn.ELU(alpha={c})
torch.nn.Softplus | any | pos | self.{m}({x}) | nn.Softplus()
torch.nn.Hardswish | any | any | self.{m}({x}) | nn.Hardswish()
torch.nn.SELU | any | any | self.{m}({x}) | nn.SELU()
torch.nn.Hardtanh | any | any | self.{m}({x}) | nn.Hardtanh({lo}, {hi})
torch.nn.Mish | any | any | self.{m}({x}) | nn.Mish()
torch.nn.Hardsigmoid | any | nonneg | self.{m}({x}) | nn.Hardsigmoid()
torch.nn.CELU | any | any | self.{m}({x}) | nn.CELU(alpha={c})
torch.nn.LogSigmoid | any | any | self.{m}({x}) | nn.LogSigmoid()
torch.nn.Threshold | any | any e | self.{m}({x}) | nn.Threshold({s}, {c})
torch.nn.Hardshrink | any | any e | self.{m}({x}) | nn.Hardshrink({c})
torch.nn.Softshrink | any | any | self.{m}({x}) | nn.Softshrink({c})
torch.nn.Softsign | any | any | self.{m}({x}) | nn.Softsign()
torch.nn.Tanhshrink | any | any | self.{m}({x}) | nn.Tanhshrink()
torch.clamp | any | any | torch.clamp({x}, min={lo}, max={hi}) |
torch.exp | any | pos g | torch.exp({x}) |
torch.masked_fill | any | any e | {x}.masked_fill({x} > {c}, {s}) |
torch.log | pos | any | torch.log({x}) |
torch.sqrt | pos | pos | torch.sqrt({x}) |
torch.mul | any | any | torch.mul({x}, {c}) |
torch.cos | any | any | torch.cos({x}) |
torch.sin | any | any | torch.sin({x}) |
torch.pow | any | nonneg g | torch.pow({x}, 2) |
torch.where | any | any e | torch.where({x} > 0, {x}, {x} * {s}) |
torch.abs | any | nonneg | torch.abs({x}) |
torch.div | any | any | torch.div({x}, {c}) |
torch.add | any | any | torch.add({x}, {c}) |
torch.rsqrt | pos | pos | torch.rsqrt({x}) |
torch.round | any | any e | torch.round({x}) |
torch.floor | any | any e | torch.floor({x}) |
torch.square | any | nonneg g | torch.square({x}) |
torch.sign | any | any e | torch.sign({x}) * {x} |
torch.clamp_min | any | any | torch.clamp_min({x}, {lo}) |
torch.clamp_max | any | any | torch.clamp_max({x}, {hi}) |
torch.sub | any | any | torch.sub({x}, {c}) |
torch.expm1 | any | any g | torch.expm1({x}) |
torch.ceil | any | any e | torch.ceil({x}) |
torch.log1p | nonneg | any | torch.log1p({x}) |
torch.log2 | pos | any | torch.log2({x}) |
torch.log10 | pos | any | torch.log10({x}) |
torch.reciprocal | pos | pos | torch.reciprocal({x}) |
torch.nan_to_num | any | any | torch.nan_to_num({x}) |
torch.acos | unit | nonneg | torch.acos({x} * 0.9) |
torch.asin | unit | nonneg | torch.asin({x} * 0.9) |
torch.atan | any | any | torch.atan({x}) |
torch.neg | any | any | torch.neg({x}) |
torch.tan | unit | any | torch.tan({x}) |
torch.logit | unit | any | torch.logit({x}, eps=0.01) |
torch.erf | any | any | torch.erf({x}) |
torch.erfc | any | any | torch.erfc({x}) |
torch.atanh | unit | any | torch.atanh({x} * 0.5) |
torch.exp2 | any | pos g | torch.exp2({x}) |
torch.frac | any | any e | torch.frac({x}) |
torch.sinc | any | any | torch.sinc({x}) |
torch.cosh | any | pos g | torch.cosh({x}) |
torch.lgamma | pos | any | torch.lgamma({x} + 1.0) |
torch.digamma | pos | any | torch.digamma({x} + 1.0) |
torch.rad2deg | any | any | torch.rad2deg({x}) * 0.01 |
torch.trunc | any | any e | torch.trunc({x}) |
torch.asinh | any | any | torch.asinh({x}) |
torch.special.ndtr | any | unit | torch.special.ndtr({x}) |
torch.isnan | any | any e | torch.isnan({x}).float() + {x} |
torch.isfinite | any | any e | torch.isfinite({x}).float() * {x} |
torch.isinf | any | any e | torch.isinf({x}).float() + {x} |
torch.signbit | any | any e | torch.signbit({x}).float() - {x} |
torch.logical_not | any | any e | torch.logical_not({x} > 0).float() * {x} |
torch.bitwise_not | any | any e | torch.bitwise_not({x} > 0).float() + {x} |
torch.gt | any | any e | torch.gt({x}, {c}).float() * {x} |
torch.ge | any | any e | torch.ge({x}, {c}).float() + {x} |
torch.lt | any | any e | torch.lt({x}, {c}).float() * {x} |
torch.le | any | any e | torch.le({x}, {c}).float() - {x} |
torch.ne | any | any e | torch.ne({x}, {c}).float() * {x} |
torch.eq | any | any e | torch.eq({x}, {x}).float() + {x} |
torch.maximum | any | any | torch.maximum({x}, {y}) |
torch.minimum | any | any | torch.minimum({x}, {y}) |
torch.fmin | any | any | torch.fmin({x}, {y}) |
torch.fmod | any | any e | torch.fmod({x}, {c}) |
torch.remainder | any | any e | torch.remainder({x}, {c}) |
torch.floor_divide | any | any e | torch.floor_divide({x}, {c}) |
torch.atan2 | any | any e | torch.atan2({x}, {yp}) |
torch.addcmul | any | any | torch.addcmul({x}, {y}, {z}, value={c}) |
torch.addcdiv | any | any | torch.addcdiv({x}, {y}, {zp}, value={c}) |
torch.lerp | any | any | torch.lerp({x}, {y}, {s}) |
torch.logaddexp | any | any | torch.logaddexp({x}, {y}) |
torch.xlogy | any | any | torch.xlogy({x}, {yp}) |
torch.logical_and | any | any e | torch.logical_and({x} > 0, {y} > 0).float() * {x} |
torch.logical_or | any | any e | torch.logical_or({x} > 0, {y} > 0).float() * {x} |
torch.logical_xor | any | any e | torch.logical_xor({x} > 0, {y} > 0).float() + {x} |
torch.bitwise_and | any | any e | torch.bitwise_and({x} > 0, {y} > 0).float() + {x} |
torch.bitwise_xor | any | any e | torch.bitwise_xor({x} > 0, {y} > 0).float() - {x} |
torch.heaviside | any | any e | torch.heaviside({x}, {y}) + {x} |
torch.isclose | any | any e | torch.isclose({x}, {y}, rtol=0.1, atol=0.1).float() + {x} |
torch.nn.functional.leaky_relu | any | any | F.leaky_relu({x}) |
torch.nn.functional.leaky_relu | any | any | F.leaky_relu({x}, {s}) |
torch.nn.functional.softplus | any | pos | F.softplus({x}, beta={c}, threshold={hi}) |
torch.nn.functional.softplus | any | pos | F.softplus({x}, beta={c}) |
torch.nn.functional.gelu | any | any | F.gelu({x}, approximate="tanh") |
torch.nn.functional.elu | any | any | F.elu({x}) |
torch.nn.functional.hardtanh | any | any | F.hardtanh({x}) |
torch.nn.functional.softshrink | any | any | F.softshrink({x}) |
torch.nn.functional.celu | any | any | F.celu({x}) |
torch.nn.LeakyReLU | any | any | self.{m}({x}) | nn.LeakyReLU(negative_slope={s})
torch.nn.LeakyReLU | any | any | self.{m}({x}) | nn.LeakyReLU()
torch.nn.GELU | any | any | self.{m}({x}) | nn.GELU(approximate="tanh")
torch.nn.ELU | any | any | self.{m}({x}) | nn.ELU()
torch.nn.Softplus | any | pos | self.{m}({x}) | nn.Softplus(beta={c}, threshold={hi})
torch.nn.Hardtanh | any | any | self.{m}({x}) | nn.Hardtanh(min_val={lo}, max_val={hi})
torch.nn.Hardtanh | any | any | self.{m}({x}) | nn.Hardtanh()
torch.nn.Softshrink | any | any | self.{m}({x}) | nn.Softshrink()
torch.clamp | any | any | torch.clamp({x}, {lo}, {hi}) |
torch.clamp | any | any | torch.clamp({x}, min={lo}) |
torch.clamp | any | any | torch.clamp({x}, max={hi}) |
torch.clamp | any | nonneg | torch.clamp({x}, min=0.0) |
torch.masked_fill | any | any e | {x}.masked_fill({y} > {c}, {s}) |
torch.mul | any | any | torch.mul({x}, {y}) |
torch.add | any | any | torch.add({x}, {y}) |
torch.add | any | any | torch.add({x}, {y}, alpha={c}) |
torch.sub | any | any | torch.sub({x}, {y}) |
torch.div | any | any | torch.div({x}, {yp}) |
torch.pow | any | any g | torch.pow({x}, {p}) |
torch.where | any | any e | torch.where({x} > {c}, {x}, {s}) |
torch.where | any | any e | torch.where({x} > {y}, {x}, {y} * {s}) |
torch.where | any | any | torch.where({y} > 0, {x}, {z}) |
torch.where | any | any | torch.where({y} > {c}, {x}, {x} * {s}) |
torch.where | any | any e | torch.where({x} > 0, {y}, {z}) |
torch.maximum | any | any | torch.maximum({x}, {y} * {c}) |
torch.lerp | any | any | torch.lerp({x}, {y}, {zu}) |
torch.lerp | any | any | torch.lerp({x}, {y}, {c}) |
torch.addcmul | any | any | torch.addcmul({x}, {y}, {z}) |
torch.addcdiv | any | any | torch.addcdiv({x}, {y}, {zp}) |
torch.gt | any | any | torch.gt({y}, {c}).float() * {x} |
torch.lt | any | any | torch.lt({y}, {z}).float() * {x} |
"""


Row = tuple[str, str, str, str, str]


def rows() -> dict[str, list[Row]]:
    """API -> its rows: (needs, gives, flags, forward, module)."""
    out: dict[str, list[Row]] = {}
    for line in ROWS.strip().splitlines():
        api, need, gives, forward, module = (part.strip() for part in line.split("|"))
        kind, _, flags = gives.partition(" ")
        out.setdefault(api, []).append((need, kind, flags, forward, module))
    return out
