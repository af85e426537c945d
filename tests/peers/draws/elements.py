"""Functions of each element."""
import math

import torch
import torch.nn.functional as F

from draws.calls import Call, INF, family, ints, odd, r, rn, shape


@family
def activations():
    a, b = round(r.uniform(0.1, 2), 2), round(r.uniform(-1, 1), 2)
    name, c, f = r.choice([
        ("elu", f"xt_elu(x, {a})", lambda x: F.elu(x, a)), ("celu", f"xt_celu(x, {a})", lambda x: F.celu(x, a)),
        ("elu", "xt_elu(x)", F.elu), ("selu", "xt_selu(x)", F.selu), ("silu", "xt_silu(x)", F.silu),
        ("leaky", f"xt_leaky_relu(x, {b})", lambda x: F.leaky_relu(x, b)), ("mish", "xt_mish(x)", F.mish),
        ("hardtanh", f"xt_hardtanh(x, {b - 1}, {b})", lambda x: F.hardtanh(x, b - 1, b)),
        ("hardshrink", f"xt_hardshrink(x, {a})", lambda x: F.hardshrink(x, a)),
        ("softshrink", f"xt_softshrink(x, {a})", lambda x: F.softshrink(x, a)),
        ("threshold", f"xt_threshold(x, {b}, {a})", lambda x: F.threshold(x, b, a)),
        ("softplus", f"xt_softplus(x, .beta = {a}, .threshold = 1.5)", lambda x: F.softplus(x, a, 1.5)),
        ("hardsigmoid", "xt_hardsigmoid(x)", F.hardsigmoid), ("hardswish", "xt_hardswish(x)", F.hardswish),
        ("relu6", "xt_relu6(xt_mul(x, 4))", lambda x: F.relu6(x * 4)), ("softsign", "xt_softsign(x)", F.softsign),
        ("tanhshrink", "xt_tanhshrink(x)", F.tanhshrink), ("logsigmoid", "xt_logsigmoid(x)", F.logsigmoid),
        ("gelu", "xt_gelu(x)", lambda x: F.gelu(x, approximate="tanh")), ("gelu_erf", "xt_gelu_erf(x)", F.gelu),
        ("rrelu", "xt_rrelu(x, 0.1, 0.4)", lambda x: F.rrelu(x, 0.1, 0.4)), ("relu", "xt_relu(x)", F.relu),
        ("logit", "xt_logit(xt_sigmoid(x))", lambda x: torch.logit(torch.sigmoid(x))),
        ("sinc", "xt_sinc(x)", torch.sinc), ("sgn", "xt_sgn(x)", torch.sgn), ("abs", "xt_abs(x)", torch.abs),
        ("clamp", f"xt_clamp(x, {b - 0.5}, {b})", lambda x: torch.clamp(x, b - 0.5, b)),
        ("clamp", f"xt_clamp_min(x, {b})", lambda x: torch.clamp_min(x, b)),
        ("clamp", f"xt_clamp(x, {b}, {b - 0.5})", lambda x: torch.clamp(x, b, b - 0.5)),
        ("nan_to_num", "xt_nan_to_num(xt_div(x, xt_floor(x)))", lambda x: torch.nan_to_num(x / torch.floor(x))),
        ("entr", "xt_entr(xt_abs(x))", lambda x: torch.special.entr(x.abs())),
        ("ndtr", "xt_ndtr(x)", torch.special.ndtr),
        ("log_ndtr", "xt_log_ndtr(xt_mul(x, 9))", lambda x: torch.special.log_ndtr(x * 9)),
        ("square", "xt_square(x)", torch.square), ("rsqrt", "xt_rsqrt(xt_abs(x))", lambda x: torch.rsqrt(x.abs())),
        ("sqrt", "xt_sqrt(x)", torch.sqrt), ("frac", "xt_frac(x)", torch.frac),
        ("lgamma", "xt_lgamma(x)", torch.lgamma), ("digamma", "xt_digamma(x)", torch.digamma),
        ("mvlgamma", "xt_mvlgamma(xt_add(xt_abs(x), 2), 3)", lambda x: torch.mvlgamma(x.abs() + 2, 3)),
        ("erfinv", "xt_erfinv(xt_tanh(x))", lambda x: torch.erfinv(torch.tanh(x))),
        ("i0", "xt_i0(x)", torch.special.i0), ("i1", "xt_i1(x)", torch.special.i1),
        ("expm1", "xt_expm1(x)", torch.expm1), ("log1p", "xt_log1p(x)", torch.log1p), ("tan", "xt_tan(x)", torch.tan),
        ("exp2", "xt_exp2(x)", torch.exp2), ("acosh", "xt_acosh(xt_add(x, 2))", lambda x: torch.acosh(x + 2)),
    ])
    return Call(c, lambda x: f(x), ["x"], x=rn(*shape(0)))


@family
def two():
    dims = shape(1, 4, 0.1)
    other = [1 if r.random() < 0.3 else d for d in dims][r.randrange(len(dims)):]
    c, f = r.choice([
        ("xt_add(x, y)", torch.add), ("xt_minus(x, y)", torch.sub), ("xt_mul(x, y)", torch.mul),
        ("xt_div(x, y)", torch.div), ("xt_pow(xt_abs(x), y)", lambda x, y: torch.pow(x.abs(), y)),
        ("xt_maximum(x, y)", torch.maximum), ("xt_minimum(x, y)", torch.minimum), ("xt_fmax(x, y)", torch.fmax),
        ("xt_fmin(x, y)", torch.fmin), ("xt_atan2(x, y)", torch.atan2), ("xt_hypot(x, y)", torch.hypot),
        ("xt_remainder(x, y)", torch.remainder), ("xt_fmod(x, y)", torch.fmod), ("xt_copysign(x, y)", torch.copysign),
        ("xt_logaddexp(x, y)", torch.logaddexp), ("xt_logaddexp2(x, y)", torch.logaddexp2),
        ("xt_xlogy(x, y)", torch.xlogy), ("xt_xlog1py(x, y)", torch.special.xlog1py),
        ("xt_lerp(x, y, 0.3)", lambda x, y: torch.lerp(x, y, 0.3)),
        ("xt_lerp(x, y, 0.8)", lambda x, y: torch.lerp(x, y, 0.8)),
        ("xt_addcmul(x, y, y, 0.5)", lambda x, y: torch.addcmul(x, y, y, value=0.5)),
        ("xt_addcdiv(x, y, x, 0.5)", lambda x, y: torch.addcdiv(x, y, x, value=0.5)),
        ("xt_where(xt_gt(x, y), x, y)", lambda x, y: torch.where(x > y, x, y)),
        ("xt_ldexp(x, y)", torch.ldexp), ("xt_float_power(xt_abs(x), y)", lambda x, y: torch.float_power(x.abs(), y)),
        ("xt_clamp_tensor(x, y, xt_add(y, 1))", lambda x, y: torch.clamp(x, y, y + 1)),
    ])
    return Call(c, f, ["x", "y"], x=rn(*dims), y=rn(*other))


@family
def two_ints():
    dims = shape(1, 3, 0.1)
    dt = r.choice((torch.int64, torch.int32, torch.uint8, torch.int16))
    x, y = ints(0 if dt == torch.uint8 else -9, 10, *dims).to(dt), ints(1, 6, *dims[1:]).to(dt)
    if dt != torch.uint8 and r.random() < 0.5:
        y = -y
    c, f = r.choice([
        ("xt_add(x, y)", torch.add), ("xt_minus(x, y)", torch.sub), ("xt_mul(x, y)", torch.mul),
        ("xt_div(x, y)", torch.div), ("xt_floor_divide(x, y)", torch.floor_divide), ("xt_fmod(x, y)", torch.fmod),
        ("xt_remainder(x, y)", torch.remainder), ("xt_bitwise_and(x, y)", torch.bitwise_and),
        ("xt_bitwise_or(x, y)", torch.bitwise_or), ("xt_bitwise_xor(x, y)", torch.bitwise_xor),
        ("xt_maximum(x, y)", torch.maximum), ("xt_gcd(x, y)", torch.gcd), ("xt_lcm(x, y)", torch.lcm),
        ("xt_bitwise_left_shift(x, xt_abs(y))", lambda x, y: torch.bitwise_left_shift(x, y.abs())),
        ("xt_bitwise_right_shift(x, xt_abs(y))", lambda x, y: torch.bitwise_right_shift(x, y.abs())),
        ("xt_logical_xor(x, y)", torch.logical_xor), ("xt_lt(x, y)", torch.lt), ("xt_abs(x)", lambda x, y: x.abs()),
        ("xt_sign(x)", lambda x, y: x.sign()), ("xt_isin(x, y)", lambda x, y: torch.isin(x, y)),
    ])
    return Call(c, f, [], 1e-6, x=x, y=y)


@family
def beside_nan():
    """NaN, infinities and the ends of domains in what is compared, bounded and divided (but for hardtanh, whose
    gradient beside NaN depends in PyTorch on whether the element stands in a full vector)."""
    dims, b = shape(0, 3, 0), round(r.uniform(-1, 1), 2)
    c, f = r.choice([
        ("xt_maximum(x, y)", torch.maximum), ("xt_minimum(x, y)", torch.minimum), ("xt_fmax(x, y)", torch.fmax),
        ("xt_fmin(x, y)", torch.fmin), ("xt_relu(x)", lambda x, y: torch.relu(x)),
        (f"xt_maximum(x, {b})", lambda x, y: torch.maximum(x, torch.full_like(x, b))),
        (f"xt_minimum(x, {b})", lambda x, y: torch.minimum(x, torch.full_like(x, b))),
        (f"xt_clamp(x, {b - 1}, {b})", lambda x, y: torch.clamp(x, b - 1, b)),
        (f"xt_clamp_min(x, {b})", lambda x, y: torch.clamp_min(x, b)),
        (f"xt_clamp_max(x, {b})", lambda x, y: torch.clamp_max(x, b)),
        ("xt_clamp_tensor(x, y, xt_add(y, 1))", lambda x, y: torch.clamp(x, y, y + 1)),
        ("xt_logit(x)", lambda x, y: torch.logit(x)), ("xt_xlogy(x, y)", torch.xlogy),
        ("xt_xlog1py(x, y)", torch.special.xlog1py), ("xt_abs(x)", lambda x, y: x.abs()),
        ("xt_nan_to_num(x)", lambda x, y: torch.nan_to_num(x)),
        (f"xt_threshold(x, {b}, 0.5)", lambda x, y: F.threshold(x, b, 0.5)),
        ("xt_where(xt_gt(x, y), x, y)", lambda x, y: torch.where(x > y, x, y)),
    ])
    # x log(y) is 0 at x = 0 and y = inf, where PyTorch says that it grows without bound in x.
    kinds = (math.nan, -INF, 0.0, 1.0, -1.0) + (() if "xlog" in c else (INF,))
    return Call(c, f, ["x", "y"], x=odd(rn(*dims), *kinds), y=odd(rn(*dims), *kinds))
