#!/usr/bin/env python3
"""Calls of tensor functions, losses, pools, transforms and distributions with drawn options and shapes (empty ones,
dims of 1, ties, negative axes, operands that broadcast), in f64, beside PyTorch: values and gradients.

usage: BUILD=build draws_torch.py [--first SEED] [--seeds N] [--each K] [--only NAME]    (a Python with PyTorch)

Each function of FAMILIES draws one call: C text, the same in PyTorch, inputs, and which of them want a gradient. K
calls of each family become one C program, which prints what it has; the gradient is that of the sum of the outputs
times cos(0), cos(1), ... A call that PyTorch refuses must be an error here, or is named in FREER with the reason; one
that is refused here alone is a difference."""
import argparse
import math
import os
import random
import subprocess
import sys
import tempfile

import torch
import torch.distributions as D
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
INF = float("inf")
# Families in which a call that PyTorch refuses may have a meaning here.
FREER = {"reductions": "the largest magnitude of no elements is 0", "padding": "a dim may become empty",
         "along": "slices of no elements are never looked at",
         "of_integers": "bools have a median, and what is below 0 is not counted",
         "distributions": "more of them have means, entropies and distribution functions"}
FAMILIES = {}
r = random.Random()


class Call:
    """c: statements or an expression with the inputs' names; f: the same of tensors by name; grad: names of inputs."""

    def __init__(self, c, f, grad=(), tol=1e-8, /, **inputs):
        self.c, self.f, self.grad, self.tol, self.inputs = c, f, tuple(grad), tol, inputs


def family(f):
    FAMILIES[f.__name__] = f
    return f


def rn(*dims):
    """Floats that are rarely equal; sometimes halves, with many ties and zeros."""
    x = torch.tensor([r.gauss(0, 1) for _ in range(math.prod(dims))]).reshape(dims)
    return (x * 2).round() / 2 if r.random() < 0.25 else x


def smooth(*dims):
    return torch.tensor([r.gauss(0, 1) for _ in range(math.prod(dims))]).reshape(dims)


def unit(*dims):
    return torch.tensor([r.uniform(0.05, 0.95) for _ in range(math.prod(dims))]).reshape(dims)


def pos(*dims):
    return torch.tensor([r.uniform(0.2, 3) for _ in range(math.prod(dims))]).reshape(dims)


def ints(lo, hi, *dims):
    return torch.tensor([r.randrange(lo, hi) for _ in range(math.prod(dims))], dtype=torch.int64).reshape(dims)


def shape(lo=1, hi=4, empty=0.08):
    dims = [r.choice((1, 2, 3, 4, 5)) for _ in range(r.randint(lo, hi))]
    if dims and r.random() < empty:
        dims[r.randrange(len(dims))] = 0
    return dims


def axis_of(dims):
    a = r.randrange(len(dims))
    return a - len(dims) if r.random() < 0.5 else a


def axes_of(dims, n=None):
    k = n or r.randint(1, len(dims))
    return [a - len(dims) if r.random() < 0.5 else a for a in r.sample(range(len(dims)), k)]


def lst(v):
    return "XT_LIST(" + ", ".join(str(x) for x in v) + ")"


def num(v):
    return {INF: "INFINITY", -INF: "-INFINITY"}.get(v, repr(v))


def on(b):
    return "XT_ON" if b else "XT_OFF"


def opts(**kw):
    """Options that are not None, as C says them and as keywords."""
    out = []
    for k, v in kw.items():
        if v is None:
            continue
        if isinstance(v, (list, tuple)):
            v = "{" + ", ".join(map(str, v)) + "}"
        elif isinstance(v, bool):
            v = "true" if v else "false"
        elif isinstance(v, float):
            v = num(v)
        out.append(f", .{k} = {v}")
    return "".join(out)


def maybe(v, p=0.5):
    return v if r.random() < p else None


def kw(**d):
    return {k: v for k, v in d.items() if v is not None}


# --- of each element
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


# --- reductions
@family
def reductions():
    dims = shape(1, 4, 0.12)
    axes, keep = axes_of(dims), r.random() < 0.5
    corr = r.choice((0, 1, 2)) if math.prod(dims[a] for a in axes) > 2 else 0
    p = r.choice((0.0, 0.5, 1.0, 2.0, 3.0, INF, -INF, -1.0))
    k = opts(keepdim=keep or None)
    name, c, f = r.choice([
        ("sum", f"xt_sum(x, {lst(axes)}{k})", lambda x: torch.sum(x, axes, keepdim=keep)),
        ("mean", f"xt_mean(x, {lst(axes)}{k})", lambda x: torch.mean(x, axes, keepdim=keep)),
        ("amax", f"xt_amax(x, {lst(axes)}{k})", lambda x: torch.amax(x, axes, keepdim=keep)),
        ("amin", f"xt_amin(x, {lst(axes)}{k})", lambda x: torch.amin(x, axes, keepdim=keep)),
        ("prod", f"xt_prod(x, {axes[0]}{k})", lambda x: torch.prod(x, axes[0], keepdim=keep)),
        ("logsumexp", f"xt_logsumexp(x, {lst(axes)}{k})", lambda x: torch.logsumexp(x, axes, keepdim=keep)),
        ("var", f"xt_var(x, {lst(axes)}, .correction = {corr}{k})",
         lambda x: torch.var(x, axes, correction=corr, keepdim=keep)),
        ("std", f"xt_std(x, {lst(axes)}, .correction = {corr}{k})",
         lambda x: torch.std(x, axes, correction=corr, keepdim=keep)),
        ("norm", f"xt_norm(x, {num(p)}, {lst(axes)}{k})",
         lambda x: torch.linalg.vector_norm(x, p, axes, keepdim=keep)),
        ("count", f"xt_count_nonzero(x, {lst(axes)})", lambda x: torch.count_nonzero(x, axes)),
        ("any", f"xt_any(x, {lst(axes)}{k})", lambda x: torch.any(x, axes, keepdim=keep)),
        ("all", f"xt_all(x, {lst(axes)}{k})", lambda x: torch.all(x, axes, keepdim=keep)),
        ("nansum", f"xt_nansum(x, {lst(axes)}{k})", lambda x: torch.nansum(x, axes, keepdim=keep)),
        ("nanmean", f"xt_nanmean(x, {lst(axes)}{k})", lambda x: torch.nanmean(x, axes, keepdim=keep)),
        ("sum", "xt_sum(x)", torch.sum), ("mean", "xt_mean(x)", torch.mean), ("prod", "xt_prod(x)", torch.prod),
        ("max", "xt_max(x)", torch.max), ("min", "xt_min(x)", torch.min), ("std", "xt_std(x)", torch.std),
        ("var", "xt_var(x)", torch.var), ("norm", "xt_norm(x)", torch.linalg.vector_norm),
        ("normalize", f"xt_normalize(x, {axes[0]}, .p = {num(p)})", lambda x: F.normalize(x, p, axes[0])),
        ("softmax", f"xt_softmax(x, {axes[0]})", lambda x: F.softmax(x, axes[0])),
        ("log_softmax", f"xt_log_softmax(x, {axes[0]})", lambda x: F.log_softmax(x, axes[0])),
        ("softmin", f"xt_softmin(x, {axes[0]})", lambda x: F.softmin(x, axes[0])),
        ("glu", f"xt_glu(x, {axes[0]})", lambda x: F.glu(x, axes[0])),
        ("var_mean", f"xt_var_mean(x, {lst(axes)}, {corr}, &out[0], &out[1]);",
         lambda x: torch.var_mean(x, axes, correction=corr)),
        ("std_mean", f"xt_std_mean(x, {lst(axes)}, {corr}, &out[0], &out[1]);",
         lambda x: torch.std_mean(x, axes, correction=corr)),
    ])
    x = rn(*dims)
    if name.startswith("nan") and x.numel():
        x.view(-1)[r.randrange(x.numel())] = math.nan
    return Call(c, f, [] if name in ("count", "any", "all") else ["x"], x=x)


@family
def along():
    """One axis: sorts, running totals, quantiles."""
    dims = shape(1, 3, 0.06)
    a = axis_of(dims)
    n = dims[a]
    k = r.randint(1, max(n, 1))
    q, b = round(r.random(), 2), r.random() < 0.5
    rule = r.choice(("linear", "lower", "higher", "midpoint", "nearest"))
    B = "true" if b else "false"
    name, c, f = r.choice([
        ("sort", f"xt_sort(x, {a}, &out[0], &out[1], .descending = {B});",
         lambda x: torch.sort(x, dim=a, descending=b, stable=True)),
        ("argsort", f"xt_argsort(x, {a}, .descending = {B})",
         lambda x: torch.argsort(x, dim=a, descending=b, stable=True)),
        ("topk", f"xt_topk(x, {k}, {a}, &out[0], &at, .smallest = {B});",
         lambda x: torch.topk(x, k, a, largest=not b)[0]),
        ("kthvalue", f"xt_kthvalue(x, {k}, {a}, &out[0], &at);", lambda x: torch.kthvalue(x, k, a)[0]),
        ("median", f"xt_median_axis(x, {a}, &out[0], &at);", lambda x: torch.median(x, a)[0]),
        ("median", "xt_median(x)", torch.median), ("nanmedian", "xt_nanmedian(x)", torch.nanmedian),
        ("nanmedian", f"xt_nanmedian_axis(x, {a}, &out[0], &at);", lambda x: torch.nanmedian(x, a)[0]),
        ("quantile", f"xt_quantile(x, {q}, {a}, .interpolation = XT_QUANTILE_{rule.upper()}, .keepdim = {B})",
         lambda x: torch.quantile(x, q, a, interpolation=rule, keepdim=b)),
        ("nanquantile", f"xt_nanquantile(x, {q}, {a}, .interpolation = XT_QUANTILE_{rule.upper()}, .keepdim = {B})",
         lambda x: torch.nanquantile(x, q, a, interpolation=rule, keepdim=b)),
        ("cumsum", f"xt_cumsum(x, {a})", lambda x: torch.cumsum(x, a)),
        ("cumprod", f"xt_cumprod(x, {a})", lambda x: torch.cumprod(x, a)),
        ("logcumsumexp", f"xt_logcumsumexp(x, {a})", lambda x: torch.logcumsumexp(x, a)),
        ("cummax", f"xt_cummax(x, {a}, &out[0], &out[1]);", lambda x: torch.cummax(x, a)),
        ("cummin", f"xt_cummin(x, {a}, &out[0], &out[1]);", lambda x: torch.cummin(x, a)),
        ("max", f"xt_max_with_index(x, {a}, &out[0], &out[1]);", lambda x: torch.max(x, a)),
        ("min", f"xt_min_with_index(x, {a}, &out[0], &out[1]);", lambda x: torch.min(x, a)),
        ("argmax", f"xt_argmax(x, {a})", lambda x: torch.argmax(x, a)),
        ("argmin", f"xt_argmin(x, {a})", lambda x: torch.argmin(x, a)), ("argmax", "xt_argmax(x)", torch.argmax),
        ("diff", f"xt_diff(x, {k % 3}, {a})", lambda x: torch.diff(x, k % 3, a)),
        ("trapezoid", f"xt_trapezoid(x, {q}, {a})", lambda x: torch.trapezoid(x, dx=q, dim=a)),
        ("cumulative", f"xt_cumulative_trapezoid(x, {q}, {a})",
         lambda x: torch.cumulative_trapezoid(x, dx=q, dim=a)),
        ("mode", f"xt_mode(x, {a}, &out[0], &at);", lambda x: torch.mode(x, a)[0]),
        ("renorm", f"xt_renorm(x, {1 + b}, {a}, 1.5)", lambda x: torch.renorm(x, 1 + b, a, 1.5)),
        ("gradient", f"xt_gradient(x, {a}, .spacing = {q + 0.5}, .edge_order = {1 + b})",
         lambda x: torch.gradient(x, spacing=q + 0.5, dim=a, edge_order=1 + b)[0]),
        ("aminmax", f"xt_aminmax(x, {lst([a])}, &out[0], &out[1]);", lambda x: (torch.amin(x, a), torch.amax(x, a))),
        ("msort", "xt_msort(x)", torch.msort),
    ])
    x = rn(*dims)
    if name.startswith("nan") and x.numel():
        x.view(-1)[r.randrange(x.numel())] = math.nan
    return Call(c, f, [] if name.startswith("arg") else ["x"], x=x)


@family
def of_integers():
    dims = shape(1, 3, 0.06)
    a, axes = axis_of(dims), axes_of(dims)
    keep = r.random() < 0.5
    k = opts(keepdim=keep or None)
    dt = r.choice((torch.int64, torch.int32, torch.uint8, torch.bool, torch.int16))
    x = ints(0 if dt in (torch.uint8, torch.bool) else -5, 2 if dt == torch.bool else 6, *dims).to(dt)
    c, f = r.choice([
        (f"xt_sum(x, {lst(axes)}{k})", lambda x: torch.sum(x, axes, keepdim=keep)), ("xt_sum(x)", torch.sum),
        ("xt_prod(x)", torch.prod), (f"xt_prod(x, {a}{k})", lambda x: torch.prod(x, a, keepdim=keep)),
        (f"xt_amax(x, {lst(axes)}{k})", lambda x: torch.amax(x, axes, keepdim=keep)),
        (f"xt_amin(x, {lst(axes)}{k})", lambda x: torch.amin(x, axes, keepdim=keep)),
        (f"xt_any(x, {lst(axes)}{k})", lambda x: torch.any(x, axes, keepdim=keep).bool()),
        (f"xt_all(x, {lst(axes)}{k})", lambda x: torch.all(x, axes, keepdim=keep).bool()),
        (f"xt_count_nonzero(x, {lst(axes)})", lambda x: torch.count_nonzero(x, axes)),
        (f"xt_cumsum(x, {a})", lambda x: torch.cumsum(x, a)), (f"xt_cumprod(x, {a})", lambda x: torch.cumprod(x, a)),
        (f"xt_sort(x, {a}, &out[0], &out[1], .descending = true);",
         lambda x: torch.sort(x, dim=a, descending=True, stable=True)),
        (f"xt_argsort(x, {a})", lambda x: torch.argsort(x, dim=a, stable=True)),
        (f"xt_cummax(x, {a}, &out[0], &out[1]);", lambda x: torch.cummax(x, a)),
        (f"xt_max_with_index(x, {a}, &out[0], &out[1]);", lambda x: torch.max(x, a)),
        (f"xt_argmin(x, {a})", lambda x: torch.argmin(x.long(), a)), ("xt_max(x)", torch.max),
        ("xt_median(x)", torch.median), (f"xt_mode(x, {a}, &out[0], &at);", lambda x: torch.mode(x, a)[0]),
        (f"xt_diff(x, 1, {a})", lambda x: torch.diff(x, 1, a)),
        ("xt_unique(x, -1)", torch.unique), ("xt_nonzero(x, -1, NULL)", torch.nonzero),
        ("xt_masked_select(x, xt_ne(x, 0), -1, NULL)", lambda x: torch.masked_select(x, x != 0)),
        ("xt_bincount(xt_flatten(xt_cast(x, XT_I64)), 9, (xt_tensor){0})",
         lambda x: torch.bincount(x.long().flatten(), minlength=9)),
        ("xt_one_hot(xt_abs(xt_cast(x, XT_I64)), 7)", lambda x: F.one_hot(x.long().abs(), 7)),
        ("xt_sqrt(xt_cast(x, XT_I64))", lambda x: torch.sqrt(x.long())), ("xt_sigmoid(x)", torch.sigmoid),
        ("xt_square(xt_cast(x, XT_I32))", lambda x: torch.square(x.int())),
        ("xt_tril(x)", torch.tril), (f"xt_roll(x, 2, {a})", lambda x: torch.roll(x, 2, a)),
        (f"xt_mean(xt_cast(x, XT_F64), {lst(axes)})", lambda x: torch.mean(x.double(), axes)),
    ])
    return Call(c, f, [], 1e-6, x=x)


@family
def promoted():
    """Operands of two dtypes, and numbers beside them."""
    kinds = (torch.float64, torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool, torch.int16)
    dx, dy = r.choice(kinds), r.choice(kinds)
    dims = shape(0, 2, 0)
    x = ints(0, 2 if dx == torch.bool else 5, *dims).to(dx)
    y = ints(1, 2 if dy == torch.bool else 5, *(dims if r.random() < 0.6 else [])).to(dy)
    n, whole = r.choice((0.5, 1.5, -2.5)), r.randint(1, 3)
    c, f = r.choice([
        ("xt_add(x, y)", torch.add), ("xt_mul(x, y)", torch.mul), ("xt_div(x, y)", torch.div),
        ("xt_maximum(x, y)", torch.maximum), ("xt_where(xt_gt(x, y), x, y)", lambda x, y: torch.where(x > y, x, y)),
        ("xt_pow(x, y)", torch.pow), ("xt_atan2(x, y)", torch.atan2), ("xt_eq(x, y)", torch.eq),
        (f"xt_add(x, {n})", lambda x, y: x + n), (f"xt_mul(x, {n})", lambda x, y: x * n),
        (f"xt_mul(x, {whole})", lambda x, y: x * whole), (f"xt_div(x, {whole})", lambda x, y: x / whole),
        (f"xt_pow(x, {whole})", lambda x, y: x ** whole), (f"xt_gt(x, {n})", lambda x, y: x > n),
        (f"xt_minus({n}, x)", lambda x, y: n - x), (f"xt_remainder(x, {whole})", lambda x, y: x % whole),
        (f"xt_floor_divide(x, {whole})", lambda x, y: x // whole),
        ("xt_concat(2, XT_TENSORS(xt_flatten(x), xt_flatten(y)), 0)",
         lambda x, y: torch.cat([x.flatten(), y.flatten()])),
    ])
    return Call(c, f, [], 1e-6, x=x, y=y)


# --- shapes
@family
def shapes():
    dims = shape(1, 4, 0.1)
    a, axes, n = axis_of(dims), axes_of(dims), len(dims)
    k = r.randint(-3, 3)
    to = r.sample(range(n), len(axes))
    perm = r.sample(range(n), n)
    shifts = [r.randint(-4, 4) for _ in axes]
    times = [r.randint(1, 3) for _ in dims]
    pair = r.sample(range(n), 2) if n > 1 else [0, 0]
    lo, hi = r.randint(-5, 5), r.randint(-5, 6)
    step = r.choice((1, 2, 3))
    s, e = sorted(r.randrange(n) for _ in range(2))
    if r.random() < 0.5:
        e -= n
    size = r.randint(1, max(dims[a], 1))

    def cut(x):
        i = [slice(None)] * n
        i[a] = slice(lo, hi, step)
        return x[tuple(i)]
    c, f = r.choice([
        (f"xt_flip(x, {lst(axes)})", lambda x: torch.flip(x, axes)),
        (f"xt_roll(x, {lst(shifts)}, {lst(axes)})", lambda x: torch.roll(x, shifts, axes)),
        (f"xt_roll(x, {k}, XT_ALL_AXES)", lambda x: torch.roll(x, k)),
        (f"xt_movedim(x, {lst(axes)}, {lst(to)})", lambda x: torch.movedim(x, axes, to)),
        (f"xt_permute(x, {', '.join(map(str, perm))})", lambda x: torch.permute(x, perm)),
        (f"xt_repeat(x, {lst(times)})", lambda x: x.repeat(times)),
        (f"xt_tile(x, {lst(times[:2])})", lambda x: torch.tile(x, times[:2])),
        (f"xt_repeat_interleave(x, {1 + abs(k)}, {a})", lambda x: torch.repeat_interleave(x, 1 + abs(k), a)),
        (f"xt_rot90(x, {k}, {pair[0]}, {pair[-1]})", lambda x: torch.rot90(x, k, pair)),
        (f"xt_tril(x, {k})", lambda x: torch.tril(x, k)), (f"xt_triu(x, {k})", lambda x: torch.triu(x, k)),
        (f"xt_diag(x, {k})", lambda x: torch.diag(x, k)), (f"xt_diagflat(x, {k})", lambda x: torch.diagflat(x, k)),
        (f"xt_diagonal(x, {k}, {pair[0]}, {pair[-1]})", lambda x: torch.diagonal(x, k, *pair)),
        (f"xt_diag_embed(x, {k})", lambda x: torch.diag_embed(x, k)),
        (f"xt_diag_embed(x, {k}, {s}, {e - (e < 0)})", lambda x: torch.diag_embed(x, k, s, e - (e < 0))),
        (f"xt_flatten(x, {s}, {e})", lambda x: torch.flatten(x, s, e)),
        (f"xt_flatten(x, {s})", lambda x: torch.flatten(x, s)),
        (f"xt_slice_step(x, {a}, {lo}, {hi}, {step})", cut),
        (f"xt_unfold_axis(x, {a}, {size}, {step})", lambda x: x.unfold(a, size, step)),
        (f"xt_unsqueeze(x, {a})", lambda x: torch.unsqueeze(x, a)), ("xt_squeeze(x)", torch.squeeze),
        (f"xt_squeeze(x, {a})", lambda x: torch.squeeze(x, a)), ("xt_atleast_3d(x)", torch.atleast_3d),
        ("xt_atleast_2d(x)", torch.atleast_2d), ("xt_trace(x)", torch.trace),
        (f"out[0] = out[1] = (xt_tensor){{0}}; xt_tensor parts[9]; int n = xt_chunk(x, {1 + abs(k)}, {a}, parts); "
         f"out[0] = parts[0]; out[1] = parts[n - 1];",
         lambda x: (lambda p: (p[0], p[-1]))(torch.chunk(x, 1 + abs(k), a))),
        (f"xt_tensor parts[9]; xt_tensor_split(x, {1 + abs(k)}, {a}, parts); out[0] = parts[0]; "
         f"out[1] = parts[{abs(k)}];", lambda x: (lambda p: (p[0], p[-1]))(torch.tensor_split(x, 1 + abs(k), a))),
        (f"xt_concat(2, XT_TENSORS(x, x), {a})", lambda x: torch.cat([x, x], a)),
        (f"xt_stack(2, XT_TENSORS(x, x), {a})", lambda x: torch.stack([x, x], a)),
        ("xt_hstack(2, XT_TENSORS(x, x))", lambda x: torch.hstack([x, x])),
        ("xt_dstack(2, XT_TENSORS(x, x))", lambda x: torch.dstack([x, x])),
        ("xt_vstack(2, XT_TENSORS(x, x))", lambda x: torch.vstack([x, x])),
        ("xt_column_stack(2, XT_TENSORS(x, x))", lambda x: torch.column_stack([x, x])),
        (f"xt_select(x, {a}, {k})", lambda x: torch.select(x, a, k)),
        (f"xt_narrow(x, {a}, 0, {size})", lambda x: torch.narrow(x, a, 0, size)),
        ("xt_adjoint(x)", torch.adjoint), ("xt_msort(x)", torch.msort),
        (f"xt_vander(x, {abs(k) + 1}, true)", lambda x: torch.linalg.vander(x, N=abs(k) + 1)),
        (f"xt_combinations(x, {1 + abs(k) % 3}, {'true' if k < 0 else 'false'})",
         lambda x: torch.combinations(x, 1 + abs(k) % 3, k < 0)),
        (f"xt_block_diag(2, XT_TENSORS(x, x))", lambda x: torch.block_diag(x, x)),
    ])
    return Call(c, f, ["x"], x=rn(*dims))


@family
def padding():
    spatial = r.randint(1, 3)
    dims = [2, r.randint(1, 3)][r.randrange(2):] + [r.randint(1, 5) for _ in range(spatial)]
    mode = r.choice(("constant", "reflect", "replicate", "circular"))
    k = r.randint(1, spatial)
    amounts = [r.randint(-1 if mode == "constant" else 0, 3) for _ in range(2 * (k if mode == "constant" else spatial))]
    v = round(r.gauss(0, 1), 2) if mode == "constant" else None
    return Call(f"xt_pad(x, {lst(amounts)}, .mode = XT_PAD_{mode.upper()}{opts(value=v)})",
                lambda x: F.pad(x, amounts, mode, v), ["x"], x=rn(*dims))


@family
def indices():
    dims = shape(1, 3, 0)
    a = axis_of(dims)
    n = dims[a]
    idims = [r.randint(1, d) for d in dims]
    idims[a] = r.randint(1, 4)
    i = ints(0, n, *idims)
    line = ints(0, n, r.randint(1, 5))
    u = list(dims)
    u[a] = len(line)
    how = r.choice(("sum", "prod", "mean", "amax", "amin"))
    inc = r.random() < 0.5
    HOW = f"XT_REDUCE_{how.upper()}{opts(exclude_self=not inc or None)}"
    IHOW = how if how != "sum" else "prod"
    kind = r.randrange(12)
    # Where x has what wins among the updates, PyTorch counts it among those that share a gradient, with it or without.
    X, U = (rn(*dims), rn(*idims)) if inc else (smooth(*dims), smooth(*idims))
    if kind == 0:
        return Call(f"xt_gather(x, {a}, i)", lambda x, i: torch.gather(x, a, i), ["x"], x=X, i=i)
    if kind == 1:
        return Call(f"xt_index_select(x, {a}, i)", lambda x, i: torch.index_select(x, a, i), ["x"], x=X, i=line)
    if kind == 2:
        return Call(f"xt_scatter_add(x, {a}, i, u)", lambda x, i, u: x.scatter_add(a, i, u), ["x", "u"], x=X, i=i, u=U)
    if kind in (3, 4):
        return Call(f"xt_scatter_reduce(x, {a}, i, u, {HOW})",
                    lambda x, i, u: x.scatter_reduce(a, i, u, how, include_self=inc), ["x", "u"], x=X, i=i, u=U)
    if kind in (5, 6):
        if IHOW == "prod":
            HOW = f"XT_REDUCE_PROD{opts(exclude_self=not inc or None)}"
        return Call(f"xt_index_reduce(x, {a}, i, u, {HOW})",
                    lambda x, i, u: x.index_reduce(a, i, u, IHOW, include_self=inc), ["x", "u"], x=X, i=line,
                    u=smooth(*u))
    if kind == 7:
        return Call(f"xt_index_add(x, {a}, i, u, 0.5)", lambda x, i, u: x.index_add(a, i, u, alpha=0.5), ["x", "u"],
                    x=X, i=line, u=rn(*u))
    if kind == 8:
        return Call(f"xt_index_fill(x, {a}, i, 2.5)", lambda x, i: x.index_fill(a, i, 2.5), ["x"], x=X, i=line)
    if kind == 9:
        acc = r.random() < 0.5
        flat = torch.tensor(r.sample(range(X.numel()), min(3, X.numel()))) - (X.numel() if r.random() < 0.5 else 0)
        return Call(f"xt_put(x, i, u, .accumulate = {'true' if acc else 'false'})",
                    lambda x, i, u: x.put(i, u, acc), ["x", "u"], x=X, i=flat, u=rn(len(flat)))
    if kind == 10:
        m = ints(0, 2, *dims[r.randrange(len(dims)):]).bool()
        return Call("xt_masked_fill(x, m, -1.5)", lambda x, m: x.masked_fill(m, -1.5), ["x"], x=X, m=m)
    right = r.random() < 0.5
    s = torch.sort(X, -1)[0]
    return Call(f"xt_searchsorted(x, u, .right = {'true' if right else 'false'})",
                lambda x, u: torch.searchsorted(x, u, right=right), [], x=s, u=rn(*dims[:-1], 3))


# --- images and signals
def per_dim(n, lo, hi):
    """A number for all dims, or one a dim: (the option's value, its plural)."""
    if r.random() < 0.5:
        v = r.randint(lo, hi)
        return v, None, [v] * n
    v = [r.randint(lo, hi) for _ in range(n)]
    return None, v, v


def image(n, lo=3, hi=7):
    lead = [r.randint(1, 2), r.randint(1, 3)] if r.random() < 0.8 else [r.randint(1, 3)]
    return lead + [r.randint(lo, hi) for _ in range(n)]


@family
def pools():
    n = r.randint(1, 3)
    k0, ks, k = per_dim(n, 1, 3)
    s0, ss, s = per_dim(n, 1, 3)
    pad = [r.randint(0, j // 2) for j in k]
    p0, ps = (pad[0], None) if len(set(pad)) == 1 else (None, pad)
    d0, ds, d = per_dim(n, 1, 2)
    ceil = r.random() < 0.5
    x = rn(*image(n, 4, 8))
    kind = r.choice(("max", "max", "avg", "avg", "indices", "lp"))
    common = opts(stride=s0, strides=ss, padding=p0, paddings=ps, kernels=ks) + f", .ceil_mode = {on(ceil)}"
    if kind == "avg":
        inc = r.random() < 0.5
        div = maybe(r.randint(1, 5), 0.3) if n > 1 else None
        return Call(f"xt_avg_pool{n}d(x, {k0 or 0}{common}, .count_include_pad = {on(inc)}{opts(divisor=div)})",
                    lambda x: getattr(F, f"avg_pool{n}d")(x, k, s, pad, ceil, inc,
                                                          **(kw(divisor_override=div) if n > 1 else {})), ["x"], x=x)
    if kind == "lp":
        p = r.choice((1.0, 2.0, 3.0))
        return Call(f"xt_lp_pool{n}d(x, {p}, {k0 or 0}{opts(stride=s0, strides=ss, kernels=ks)}, "
                    f".ceil_mode = {on(ceil)})",
                    lambda x: getattr(F, f"lp_pool{n}d")(x, p, k if n > 1 else k[0], s if n > 1 else s[0], ceil),
                    ["x"], x=x.abs() + 0.1)
    dil = opts(dilation=d0, dilations=ds)
    if kind == "indices":
        return Call(f"out[0] = xt_max_pool{n}d_with_indices(x, {k0 or 0}, &out[1]{common}{dil});",
                    lambda x: getattr(F, f"max_pool{n}d")(x, k, s, pad, d, ceil, True), ["x"], x=x)
    return Call(f"xt_max_pool{n}d(x, {k0 or 0}{common}{dil})",
                lambda x: getattr(F, f"max_pool{n}d")(x, k, s, pad, d, ceil), ["x"], x=x)


@family
def adaptive_pools():
    n = r.randint(1, 3)
    x = rn(*image(n, 1, 8))
    sizes = [r.randint(1, 9) if r.random() < 0.8 else -1 for _ in range(n)]
    wanted = [x.shape[i - n] if v == -1 else v for i, v in enumerate(sizes)]
    given = ", ".join(map(str, sizes))
    kind = r.choice(("avg", "max", "indices"))
    if kind == "indices":
        return Call(f"out[0] = xt_adaptive_max_pool{n}d_with_indices(x, &out[1], {given});",
                    lambda x: getattr(F, f"adaptive_max_pool{n}d")(x, wanted, True), ["x"], x=x)
    return Call(f"xt_adaptive_{kind}_pool{n}d(x, {given})",
                lambda x: getattr(F, f"adaptive_{kind}_pool{n}d")(x, wanted), ["x"], x=x)


@family
def convolutions():
    n = r.randint(1, 3)
    g = r.choice((1, 1, 2, 3))
    cin, cout = g * r.randint(1, 2), g * r.randint(1, 3)
    k = [r.randint(1, 3) for _ in range(n)]
    s0, ss, s = per_dim(n, 1, 3)
    p0, ps, p = per_dim(n, 0, 2)
    d0, ds, d = per_dim(n, 1, 2)
    lead = [r.randint(1, 2)] if r.random() < 0.8 else []
    x = smooth(*lead, cin, *[r.randint(5, 8) for _ in range(n)])
    b = maybe(smooth(cout))
    B, inp = ("b", dict(b=b)) if b is not None else ("(xt_tensor){0}", {})
    o = opts(stride=s0, strides=ss, padding=p0, paddings=ps, dilation=d0, dilations=ds, groups=g)
    grads = ["x", "w"] + list(inp)
    if r.random() < 0.5:
        w = smooth(cout, cin // g, *k)
        return Call(f"xt_conv{n}d_fn(x, w, {B}{o})",
                    lambda x, w, b=None: getattr(F, f"conv{n}d")(x, w, b, s, p, d, g), grads, x=x, w=w, **inp)
    op = [r.randrange(max(i, j)) for i, j in zip(s, d)]
    w = smooth(cin, cout // g, *k)
    return Call(f"xt_conv_transpose{n}d_fn(x, w, {B}{o}, .output_paddings = {{{', '.join(map(str, op))}}})",
                lambda x, w, b=None: getattr(F, f"conv_transpose{n}d")(x, w, b, s, p, op, g, d), grads, x=x, w=w, **inp)


@family
def resizing():
    n = r.randint(1, 3)
    x = smooth(r.randint(1, 2), r.randint(1, 2), *[r.randint(1, 6) for _ in range(n)])
    mode = r.choice(["nearest", "nearest-exact", "linear", "area"] + ["cubic"] * (n == 2))
    align = r.random() < 0.5 if mode in ("linear", "cubic") else None
    scale = maybe(round(r.uniform(0.4, 3), 2))
    sizes = None if scale else [r.randint(1, 9) for _ in range(n)]
    name = {"linear": ("linear", "bilinear", "trilinear")[n - 1], "cubic": "bicubic"}.get(mode, mode)
    ours = mode.upper().replace("-", "_")
    a = f", .align_corners = {on(align)}" if align is not None else ""
    if scale and any(int(v * scale) < 1 for v in x.shape[2:]):
        scale = 1.5
    if scale and mode == "nearest" and n != 2 and any(int(v * scale) in (v, 2 * v) for v in x.shape[2:]):
        scale, sizes = None, [r.randint(1, 9) for _ in range(n)]  # PyTorch's values and gradients disagree
    # PyTorch repeats the first row of a result that is one wide.
    wide = n == 2 and (int(x.shape[3] * scale) if scale else sizes[1]) > 1
    anti = (wide and align is not None and r.random() < 0.5) or None
    return Call(f"xt_interpolate(x, .mode = XT_{ours}{opts(scale=scale, sizes=sizes, antialias=anti)}{a})",
                lambda x: F.interpolate(x, sizes, scale, name, align, antialias=bool(anti)), ["x"], x=x)


@family
def places():
    kind = r.randrange(5)
    if kind < 2:
        n = r.choice((2, 2, 3))
        x = smooth(r.randint(1, 2), r.randint(1, 2), *[r.randint(1, 5) for _ in range(n)])
        grid = smooth(x.shape[0], *[r.randint(1, 4) for _ in range(n)], n) * r.choice((0.8, 3))
        pad, align = r.choice(("zeros", "border", "reflection")), r.random() < 0.5
        mode = r.choice(("bilinear", "nearest", "bicubic"))
        o = opts(nearest=mode == "nearest" or None, bicubic=mode == "bicubic" or None, align_corners=align)
        return Call(f"xt_grid_sample(x, g, .padding = XT_GRID_{pad.upper()}{o})",
                    lambda x, g: F.grid_sample(x, g, mode, pad, align), ["x", "g"], x=x, g=grid)
    if kind == 2:
        h, w, align = r.randint(1, 5), r.randint(1, 5), r.random() < 0.5
        return Call(f"xt_affine_grid(t, {h}, {w}, {'true' if align else 'false'})",
                    lambda t: F.affine_grid(t, [t.shape[0], 1, h, w], align), ["t"], t=smooth(r.randint(1, 2), 2, 3))
    k, h, w, c = [r.randint(1, 3), r.randint(1, 3)], r.randint(5, 7), r.randint(5, 7), r.randint(1, 2)
    (s0, ss, s), (p0, ps, p), (d0, ds, d) = per_dim(2, 1, 2), per_dim(2, 1, 2), per_dim(2, 1, 2)
    if r.random() < 0.3:
        p0, ps, p = None, None, [0, 0]
    o = opts(stride=s0, strides=ss, padding=p0, paddings=ps, dilation=d0, dilations=ds)
    if kind == 3:
        return Call(f"xt_unfold(x, {k[0]}, {k[1]}{o})", lambda x: F.unfold(x, k, d, p, s), ["x"],
                    x=smooth(r.randint(1, 2), c, h, w))
    at = [(v + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, v in enumerate((h, w))]
    return Call(f"xt_fold(x, {h}, {w}, {k[0]}, {k[1]}{o})", lambda x: F.fold(x, (h, w), k, d, p, s), ["x"],
                x=smooth(r.randint(1, 2), c * k[0] * k[1], at[0] * at[1]))


@family
def shuffles():
    up = r.randint(1, 3)
    g = r.choice((1, 2, 3))
    kind = r.randrange(4)
    if kind == 0:
        return Call(f"xt_pixel_shuffle(x, {up})", lambda x: F.pixel_shuffle(x, up), ["x"], x=rn(2, 2 * up * up, 3, 2))
    if kind == 1:
        return Call(f"xt_pixel_unshuffle(x, {up})", lambda x: F.pixel_unshuffle(x, up), ["x"], x=rn(2, 2, 2 * up, up))
    if kind == 2:
        return Call(f"xt_channel_shuffle(x, {g})", lambda x: F.channel_shuffle(x, g), ["x"], x=rn(2, 2 * g, 3))
    size = r.randint(1, 5)
    a, b, k = round(r.uniform(1e-3, 1), 3), round(r.uniform(0.3, 1), 2), round(r.uniform(0.5, 2), 2)
    return Call(f"xt_local_response_norm(x, {size}, .alpha = {a}, .beta = {b}, .k = {k})",
                lambda x: F.local_response_norm(x, size, a, b, k), ["x"], x=rn(*image(r.randint(1, 2), 2, 4)))


# --- losses
def reduction(batch=False):
    name = r.choice(["mean", "sum", "none"] + ["batchmean"] * batch)
    return name, ", .reduction = XT_" + {"batchmean": "BATCH_MEAN"}.get(name, name.upper())


@family
def losses():
    red, R = reduction()
    dims = shape(1, 3, 0)
    m = round(r.uniform(0.1, 2), 2)
    b1, b2 = r.random() < 0.5, r.random() < 0.5
    x, y = rn(*dims), rn(*dims)
    kind = r.randrange(12)
    if kind == 0:
        c, f = r.choice([("mse", F.mse_loss), ("l1", F.l1_loss)])
        return Call(f"xt_{c}_loss(x, y{R})", lambda x, y: f(x, y, reduction=red), ["x", "y"], x=x, y=y)
    if kind == 1:
        return Call(f"xt_smooth_l1_loss(x, y, .beta = {m}{R})",
                    lambda x, y: F.smooth_l1_loss(x, y, reduction=red, beta=m), ["x", "y"], x=x, y=y)
    if kind == 2:
        return Call(f"xt_huber_loss(x, y, .delta = {m}{R})",
                    lambda x, y: F.huber_loss(x, y, reduction=red, delta=m), ["x", "y"], x=x, y=y)
    if kind == 3:
        s = torch.where(y > 0, 1.0, -1.0)
        return Call(f"xt_soft_margin_loss(x, y{R})", lambda x, y: F.soft_margin_loss(x, y, reduction=red), ["x"],
                    x=x, y=s)
    if kind == 4:
        s = torch.where(y > 0, 1.0, -1.0)
        return Call(f"xt_hinge_embedding_loss(x, y, .margin = {m}{R})",
                    lambda x, y: F.hinge_embedding_loss(x, y, m, reduction=red), ["x"], x=x, y=s)
    if kind == 5:
        p, t = torch.sigmoid(x), torch.sigmoid(y)
        w = maybe(pos(*dims))
        W, inp = (", .weight = w", dict(w=w)) if w is not None else ("", {})
        return Call(f"xt_binary_cross_entropy(x, y{W}{R})",
                    lambda x, y, w=None: F.binary_cross_entropy(x, y, w, reduction=red), ["x", "y"] + list(inp)[:0],
                    x=p, y=t, **inp)
    if kind == 6:
        w, q = maybe(pos(*dims[r.randrange(len(dims)):])), maybe(pos(*dims[-1:]))
        inp = kw(w=w, q=q)
        return Call(f"xt_bce_with_logits(x, y{', .weight = w' if 'w' in inp else ''}"
                    f"{', .pos_weight = q' if 'q' in inp else ''}{R})",
                    lambda x, y, w=None, q=None: F.binary_cross_entropy_with_logits(x, y, w, reduction=red,
                                                                                   pos_weight=q),
                    ["x", "y"], x=x, y=torch.sigmoid(y), **inp)
    if kind == 7:
        red, R = reduction(True)
        t = torch.log_softmax(y, -1) if b1 else torch.softmax(y, -1)
        if not b1 and t.numel():
            t.view(-1)[0] = 0
        return Call(f"xt_kl_div(x, y, .log_target = {on(b1)}{R})",
                    lambda x, y: F.kl_div(x, y, reduction=red, log_target=b1), ["x", "y"] if b1 else ["x"], x=x, y=t)
    if kind == 8:
        eps = "" if b1 else ", .eps = 1e-3"
        return Call(f"xt_poisson_nll_loss(x, y, .log_input = {on(b1)}, .full = {on(b2)}{eps}{R})",
                    lambda x, y: F.poisson_nll_loss(x, y, b1, b2, eps=1e-3, reduction=red), ["x"],
                    x=x if b1 else x.abs(), y=(y.abs() * 2).round())
    if kind == 9:
        v = pos(*(dims if b2 else dims[:-1] + [1]))
        return Call(f"xt_gaussian_nll_loss(x, y, v, .full = {on(b1)}, .eps = 0.5{R})",
                    lambda x, y, v: F.gaussian_nll_loss(x, y, v, b1, 0.5, red), ["x", "y", "v"], x=x, y=y, v=v)
    if kind == 10:
        s = torch.where(rn(*dims) > 0, 1.0, -1.0)
        return Call(f"xt_margin_ranking_loss(x, y, s, .margin = {m}{R})",
                    lambda x, y, s: F.margin_ranking_loss(x, y, s, m, reduction=red), ["x", "y"], x=x, y=y, s=s)
    n, d = r.randint(1, 4), r.randint(1, 4)
    s = torch.where(rn(n) > 0, 1.0, -1.0)
    return Call(f"xt_cosine_embedding_loss(x, y, s, .margin = {m / 4}{R})",
                lambda x, y, s: F.cosine_embedding_loss(x, y, s, m / 4, reduction=red), ["x", "y"],
                x=smooth(n, d), y=smooth(n, d), s=s)


@family
def class_losses():
    red, R = reduction()
    n, c = r.randint(1, 4), r.randint(2, 5)
    more = [r.choice((1, 2, 3)) for _ in range(r.choice((0, 0, 1, 2)))]
    batch = [n] if more or r.random() < 0.8 else []
    x, t = rn(*batch, c, *more), ints(0, c, *batch, *more)
    ign = r.choice((-100, 0, c - 1, -1))
    if ign < 0 and t.numel() > 1 and t.dim():
        t.view(-1)[0] = ign
    w = maybe(pos(c))
    W, inp = (", .weight = w", dict(w=w)) if w is not None else ("", {})
    axis = f", .axis = {len(batch)}"
    kind = r.randrange(7)
    if kind == 0:
        return Call(f"xt_nll_loss(x, t, .ignore_index = {ign}{W}{R}{axis})",
                    lambda x, t, w=None: F.nll_loss(x, t, w, ignore_index=ign, reduction=red), ["x"], x=x, t=t, **inp)
    if kind < 3:
        ls = r.choice((0.0, 0.1, 0.7))
        return Call(f"xt_cross_entropy(x, t, .ignore_index = {ign}, .label_smoothing = {ls}{W}{R}{axis})",
                    lambda x, t, w=None: F.cross_entropy(x, t, w, ignore_index=ign, reduction=red, label_smoothing=ls),
                    ["x"], x=x, t=t, **inp)
    if kind == 3:
        ls = r.choice((0.0, 0.1, 0.7))
        p = torch.softmax(rn(*x.shape), len(batch))
        return Call(f"xt_cross_entropy(x, t, .label_smoothing = {ls}{W}{R}{axis})",
                    lambda x, t, w=None: F.cross_entropy(x, t, w, reduction=red, label_smoothing=ls), ["x", "t"],
                    x=x, t=p, **inp)
    batch = [n] if r.random() < 0.8 else []
    x, t = rn(*batch, c), ints(0, c, *batch)
    m, p = round(r.uniform(0.1, 2), 2), r.choice((1, 2))
    if kind == 4:
        return Call(f"xt_multi_margin_loss(x, t, .p = {p}, .margin = {m}{W}{R})",
                    lambda x, t, w=None: F.multi_margin_loss(x, t, p, m, w, reduction=red), ["x"], x=x, t=t, **inp)
    if kind == 5:
        y = ints(0, 2, *batch, c).double()
        return Call(f"xt_multilabel_soft_margin_loss(x, y{W}{R})",
                    lambda x, y, w=None: F.multilabel_soft_margin_loss(x, y, w, reduction=red), ["x"], x=x, y=y, **inp)
    t = torch.stack([torch.tensor(r.sample(range(c), c)) for _ in range(n if batch else 1)]).reshape(*batch, c)
    t[..., r.randrange(c):] = -1
    return Call(f"xt_multilabel_margin_loss(x, t{R})", lambda x, t: F.multilabel_margin_loss(x, t, reduction=red),
                ["x"], x=x, t=t)


@family
def sequences():
    """Connectionist temporal classification, bags of rows, counts."""
    kind = r.randrange(3)
    if kind == 0:
        T, N, C, S = r.randint(1, 6), r.randint(1, 3), r.randint(2, 4), r.randint(1, 3)
        red, R = reduction()
        blank, zero = r.randrange(C), r.random() < 0.6
        t = torch.tensor([[r.choice([c for c in range(C) if c != blank]) for _ in range(S)] for _ in range(N)])
        li, lt = ints(1, T + 1, N), ints(0, S + 1, N)
        return Call(f"xt_ctc_loss(xt_log_softmax(x, 2), t, n, k, .blank = {blank}, .zero_infinity = {on(zero)}{R})",
                    lambda x, t, n, k: F.ctc_loss(F.log_softmax(x, 2), t, n, k, blank, red, zero),
                    ["x"] if zero else [], x=smooth(T, N, C), t=t, n=li, k=lt)
    if kind == 1:
        mode = r.choice(("mean", "sum", "max"))
        i, table = ints(0, 5, r.randint(1, 3), r.randint(1, 4)), smooth(5, r.randint(1, 3))
        pad, last, inp, o = maybe(r.randint(-5, 4)), False, {}, ""
        if r.random() < 0.6:
            i, last = i.flatten(), r.random() < 0.4
            ends = [0] + sorted(r.randint(0, len(i)) for _ in range(r.randint(0, 4))) + [len(i)] * last
            inp["o"], o = torch.tensor(ends), ", .offsets = o"
        w = "w" if mode == "sum" and r.random() < 0.5 else "(xt_tensor){0}"
        if w == "w":
            inp["w"] = smooth(*i.shape)
        o += opts(padding_idx=pad, include_last_offset=last or None)
        return Call(f"xt_embedding_bag(i, t, XT_BAG_{mode.upper()}, {w}{o})",
                    lambda i, t, o=None, w=None: F.embedding_bag(i, t, o, mode=mode, per_sample_weights=w,
                                                                 include_last_offset=last, padding_idx=pad),
                    ["t"] + ["w"] * ("w" in inp), i=i, t=table, **inp)
    bins, lo, hi = r.randint(1, 6), -r.randint(1, 3), r.randint(1, 3)
    return Call(f"xt_histc(x, {bins}, {lo}, {hi})", lambda x: torch.histc(x, bins, lo, hi), [], x=rn(*shape(1, 2)))


@family
def distances():
    n, d = r.randint(1, 4), r.randint(1, 4)
    p = r.choice((0.5, 1.0, 2.0, 3.0, INF))
    keep, swap = r.random() < 0.5, r.random() < 0.5
    red, R = reduction()
    kind = r.randrange(6)
    x, y = rn(n, d), rn(n, d)
    if kind == 0:
        return Call(f"xt_pairwise_distance(x, y, .p = {num(p)}, .keepdim = {'true' if keep else 'false'})",
                    lambda x, y: F.pairwise_distance(x, y, p, keepdim=keep), ["x", "y"], x=x, y=y)
    if kind == 1:
        return Call(f"xt_triplet_margin_loss(x, y, z, .margin = 0.7, .p = {num(p)}, .swap = {on(swap)}{R})",
                    lambda x, y, z: F.triplet_margin_loss(x, y, z, 0.7, p, swap=swap, reduction=red), ["x", "y", "z"],
                    x=x, y=y, z=rn(n, d))
    if kind == 2:
        return Call(f"xt_cdist(x, y, {num(p)})", lambda x, y: torch.cdist(x, y, p), ["x", "y"], x=rn(2, n, d),
                    y=rn(r.choice((1, 2)), r.randint(1, 4), d))
    if kind == 3:
        return Call(f"xt_pdist(x, {num(p)})", lambda x: F.pdist(x, p), ["x"], x=x)
    a = r.choice((0, 1, -1, -2))
    return Call(f"xt_cosine_similarity(x, y, .axis = {a})", lambda x, y: F.cosine_similarity(x, y, a), ["x", "y"],
                x=x, y=y if r.random() < 0.6 else rn(1, d))


@family
def attention():
    e, f, L, S = r.randint(1, 4), r.randint(1, 4), r.randint(1, 4), r.randint(1, 4)
    lead = [r.randint(1, 2), r.randint(1, 2)][:r.randint(1, 2)]
    kind = r.choice(("none", "bool", "float", "causal"))
    scale = maybe(round(r.uniform(0.1, 1), 2))
    inp, o = {}, opts(scale=scale)
    if kind == "bool":
        inp["m"] = ints(0, 3, *(lead if r.random() < 0.5 else []), L, S).bool()
    if kind == "float":
        inp["m"] = rn(L, S)
    if inp:
        o += ", .mask = m"
    if kind == "causal":
        o += ", .causal = XT_ON"
    return Call(f"xt_scaled_dot_product_attention(q, k, v{o})",
                lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, is_causal=kind == "causal",
                                                                       scale=scale),
                ["q", "k", "v"] + (["m"] if kind == "float" else []), q=smooth(*lead, L, e), k=smooth(*lead, S, e),
                v=smooth(*lead, S, f), **inp)


# --- linear algebra
def well(n, *lead):
    return smooth(*lead, n, n) + 3 * torch.eye(n)


def spd(n, *lead):
    a = smooth(*lead, n, n)
    return a @ a.mT + torch.eye(n)


@family
def products():
    lead = shape(0, 2, 0.1)
    other = [1 if r.random() < 0.3 else d for d in lead][r.randrange(len(lead) + 1):]
    n, k, m = (r.choice((0, 1, 2, 3)) if r.random() < 0.3 else r.randint(1, 4) for _ in range(3))
    al, be = round(r.uniform(-1, 2), 2), round(r.uniform(-1, 2), 2)
    kind = r.randrange(12)
    x, y = rn(*lead, n, k), rn(*other, k, m)
    if kind < 3:
        x = rn(k) if r.random() < 0.2 else x
        y = rn(k) if r.random() < 0.2 else y
        return Call("xt_matmul(x, y)", torch.matmul, ["x", "y"], x=x, y=y)
    if kind == 3:
        return Call(f"xt_addmm(c, x, y, .alpha = {al}, .beta = {be})",
                    lambda c, x, y: torch.addmm(c, x, y, alpha=al, beta=be), ["c", "x", "y"],
                    c=rn(*r.choice(((n, m), (m,), (1, m), ()))), x=rn(n, k), y=rn(k, m))
    if kind == 4:
        return Call(f"xt_baddbmm(c, x, y, .alpha = {al}, .beta = {be})",
                    lambda c, x, y: torch.baddbmm(c, x, y, alpha=al, beta=be), ["c", "x", "y"],
                    c=rn(2, n, m), x=rn(2, n, k), y=rn(2, k, m))
    if kind == 5:
        return Call(f"xt_addmv(c, x, y, {be}, {al})", lambda c, x, y: torch.addmv(c, x, y, beta=be, alpha=al),
                    ["c", "x", "y"], c=rn(n), x=rn(n, k), y=rn(k))
    if kind == 6:
        return Call(f"xt_addr(c, x, y, {be}, {al})", lambda c, x, y: torch.addr(c, x, y, beta=be, alpha=al),
                    ["c", "x", "y"], c=rn(n, m), x=rn(n), y=rn(m))
    if kind == 7:
        return Call("xt_kron(x, y)", torch.kron, ["x", "y"], x=rn(*shape(0, 3, 0)), y=rn(*shape(0, 3, 0)))
    if kind == 8:
        dims = shape(2, 3, 0)
        a = axis_of(dims)
        dims[a] = 3
        return Call(f"xt_cross(x, y, {a})", lambda x, y: torch.linalg.cross(x, y, dim=a), ["x", "y"], x=rn(*dims),
                    y=rn(*dims))
    if kind == 9:
        return Call("xt_tensordot(x, y, XT_LIST(1, 2), XT_LIST(1, 0))",
                    lambda x, y: torch.tensordot(x, y, ([1, 2], [1, 0])), ["x", "y"], x=rn(2, k, n), y=rn(n, k, m))
    if kind == 10:
        spec = r.choice(("bij,bjk->bik", "bij,bjk", "...ij,...jk->...k", "bij,bjk->", "bij,bjk->kbi", "aij,bjk->abk"))
        return Call(f'xt_einsum("{spec}", 2, XT_TENSORS(x, y))', lambda x, y: torch.einsum(spec, x, y), ["x", "y"],
                    x=rn(2, n, k), y=rn(2, k, m))
    c, f = r.choice([("xt_inner(x, y)", torch.inner), ("xt_vecdot(x, y)", torch.linalg.vecdot)])
    return Call(c, f, ["x", "y"], x=rn(*lead, 3), y=rn(*lead, 3))


@family
def matrices():
    n = r.randint(1, 5)
    lead = shape(0, 1, 0)
    up, un, right = (r.random() < 0.5 for _ in range(3))
    T = {True: "true", False: "false"}
    ordv = r.choice(("f", "n", 1, -1, 2, -2, INF, -INF))
    ORD = f"'{ordv}'" if isinstance(ordv, str) else num(ordv)
    fro = {"f": "fro", "n": "nuc"}.get(ordv, ordv)
    k = r.randint(1, 3)
    power = r.randint(-3, 4)
    rect = smooth(*lead, n, r.randint(1, 5))
    kinds = [
        lambda: Call("xt_inverse(a)", torch.linalg.inv, ["a"], a=well(n, *lead)),
        lambda: Call("xt_det(a)", torch.linalg.det, ["a"], a=smooth(*lead, n, n)),
        lambda: Call("xt_logdet(a)", torch.logdet, ["a"], a=spd(n, *lead)),
        lambda: Call("xt_slogdet(a, &out[0], &out[1]);", torch.linalg.slogdet, ["a"], a=smooth(*lead, n, n)),
        lambda: Call("xt_solve(a, y)", torch.linalg.solve, ["a", "y"], a=well(n, *lead), y=smooth(*lead, n, k)),
        lambda: Call(f"xt_cholesky(a, {T[up]})", lambda a: torch.linalg.cholesky((a + a.mT) / 2, upper=up), [],
                     a=spd(n, *lead)),
        lambda: Call(f"xt_cholesky(a, {T[up]})", lambda a: torch.linalg.cholesky(a, upper=up), ["a"], a=spd(n, *lead)),
        lambda: Call(f"xt_cholesky_solve(y, a, {T[up]})", lambda y, a: torch.cholesky_solve(
            y, a.triu() if up else a.tril(), up), ["y", "a"],
                     y=smooth(n, k), a=torch.linalg.cholesky(spd(n), upper=up)),
        lambda: Call(f"xt_cholesky_inverse(a, {T[up]})", lambda a: torch.cholesky_inverse(
            a.triu() if up else a.tril(), up), ["a"],
                     a=torch.linalg.cholesky(spd(n), upper=up)),
        lambda: Call(f"xt_triangular_solve(a, y, .upper = {T[up]}, .unit_diagonal = {T[un]}, .right = {T[right]})",
                     lambda a, y: torch.linalg.solve_triangular(a, y, upper=up, left=not right, unitriangular=un),
                     ["a", "y"], a=well(n, *lead), y=smooth(*lead, k, n) if right else smooth(*lead, n, k)),
        lambda: Call(f"xt_matrix_power(a, {power})", lambda a: torch.linalg.matrix_power(a, power), ["a"],
                     a=well(n, *lead) / 2),
        lambda: Call("xt_matrix_exp(a)", torch.linalg.matrix_exp, ["a"], a=smooth(*lead, n, n)),
        lambda: Call(f"xt_matrix_norm(a, {ORD})", lambda a: torch.linalg.matrix_norm(a, fro), ["a"], a=rect),
        lambda: Call(f"xt_matrix_norm(a, {ORD})", lambda a: torch.linalg.matrix_norm(a, fro), ["a"], a=rect),
        lambda: Call(f"xt_linalg_norm(a, {ORD}, {lst([0, 1])}, .keepdim = {T[up]})",
                     lambda a: torch.linalg.norm(a, fro, (0, 1), keepdim=up), ["a"], a=smooth(n, k, 2)),
        lambda: Call("xt_pinverse(a)", torch.linalg.pinv, ["a"], a=rect),
        lambda: Call("xt_matrix_rank(a)", torch.linalg.matrix_rank, [], a=rect),
        lambda: Call("xt_linalg_svdvals(a)", torch.linalg.svdvals, ["a"], a=rect),
        lambda: Call("xt_linalg_eigvalsh(a)", torch.linalg.eigvalsh, ["a"], a=spd(n, *lead)),
        lambda: Call(f"xt_linalg_eigvalsh(a, .upper = {T[up]})", lambda a: torch.linalg.eigvalsh(a, "U" if up else "L"),
                     ["a"], a=smooth(*lead, n, n)),
        lambda: Call("xt_lstsq(a, y)", lambda a, y: torch.linalg.lstsq(a, y)[0], ["a", "y"], a=smooth(n + 2, n),
                     y=smooth(n + 2, k)),
        lambda: Call("xt_tensor q, t; xt_linalg_qr(a, &q, &t); out[0] = xt_matmul(q, xt_transpose(q, -2, -1)); "
                     "out[1] = xt_matmul(xt_transpose(t, -2, -1), t);",
                     lambda a: (lambda q, t: (q @ q.mT, t.mT @ t))(*torch.linalg.qr(a)), ["a"],
                     a=smooth(*lead, n + r.randrange(3), n)),
        lambda: Call("xt_tensor u, s, v; xt_linalg_svd(a, &u, &s, &v, .full_matrices = XT_OFF); "
                     "out[0] = xt_matmul(u, v); out[1] = s;",
                     lambda a: (lambda u, s, v: (u @ v, s))(*torch.linalg.svd(a, full_matrices=False)), ["a"], a=rect),
        lambda: Call("xt_tensor p, l, u; xt_linalg_lu(a, &p, &l, &u); out[0] = l; out[1] = u;",
                     lambda a: torch.linalg.lu(a)[1:], ["a"], a=rect),
        lambda: Call("xt_multi_dot(3, XT_TENSORS(a, y, z))", lambda a, y, z: torch.linalg.multi_dot([a, y, z]),
                     ["a", "y", "z"], a=smooth(n, k), y=smooth(k, 3), z=smooth(3, 2)),
        lambda: Call("xt_tensorinv(a, 1)", lambda a: torch.linalg.tensorinv(a, 1), ["a"], a=well(6).reshape(6, 2, 3)),
        lambda: Call("xt_tensorsolve(a, y)", torch.linalg.tensorsolve, ["a", "y"], a=well(6).reshape(2, 3, 6),
                     y=smooth(2, 3)),
        cov,
        lambda: Call("xt_corrcoef(a)", torch.corrcoef, ["a"], a=smooth(n, k + 2)),
    ]
    c = r.choice(kinds)()
    c.tol = 1e-6
    return c


def cov():
    n, k = r.randint(1, 4), r.randint(1, 6)
    a = smooth(*([n] if r.random() < 0.8 else []), k)
    c = maybe(r.choice((0, 1, 2)))
    inp = {}
    if r.random() < 0.5:
        inp["f"] = ints(1, 4, k)
    if r.random() < 0.5:
        inp["w"] = pos(k)
    o = opts(correction=c, fweights="f" if "f" in inp else None, aweights="w" if "w" in inp else None)
    return Call(f"xt_cov(a{o})", lambda a, f=None, w=None: torch.cov(a, correction=1 if c is None else c, fweights=f,
                                                                    aweights=w), ["a"], a=a, **inp)


# --- Fourier
@family
def fourier():
    dims = shape(1, 3, 0)
    a = axis_of(dims)
    norm = r.choice((None, "backward", "ortho", "forward"))
    N = f", .norm = XT_FFT_{norm.upper()}" if norm else ""
    n = maybe(r.randint(1, 7))
    axes = axes_of(dims)
    name = r.choice(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "hfftn",
                     "ihfftn", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"))
    x, im = smooth(*dims), smooth(*dims)
    real = name[0] in "r" or name.startswith("ih")
    arg = "x" if real else "xt_complex(x, y)"
    g = getattr(torch.fft, name)

    def split(z):
        return (z.real, z.imag) if z.is_complex() else z
    if name[-1] in "n2":
        use = axes if name[-1] == "n" else (-2, -1)
        s = maybe([-1 if r.random() < 0.2 else r.randint(1, 6) for _ in use])
        if s and name[-1] == "n" and r.random() < 0.3:
            use = None
        S = opts(s=s) + N
        to = ", " + (lst(use) if use else "XT_ALL_AXES") if name[-1] == "n" else ""
        call = f"xt_{name}({arg}{to}{S})"
        run = lambda z: g(z, s, dim=use, norm=norm)
    else:
        call = f"xt_{name}({arg}, {a}{opts(n=n)}{N})"
        run = lambda z: g(z, n=n, dim=a, norm=norm)
    c = call if "irfft" in name or name.startswith("hfft") else \
        f"xt_tensor z = {call}; out[0] = xt_real(z); out[1] = xt_imag(z);"
    if real:
        return Call(c, lambda x: split(run(x)), ["x"], x=x)
    return Call(c, lambda x, y: split(run(torch.complex(x, y))), ["x", "y"], x=x, y=im)


@family
def frames():
    n = r.choice((4, 5, 8))
    hop = r.randint(1, n)
    win = maybe(r.randint(2, n))
    cen, two, normed, zero = (r.random() < 0.5 for _ in range(4))
    x = smooth(*([2] if r.random() < 0.5 else []), r.randint(n + 2, 20))
    w = pos(win or n)
    o = opts(hop=hop, win_length=win, normalized=normed or None, two_sided=two or None) + ", .window = w"
    return Call(f"xt_tensor z = xt_stft(x, {n}{o}, .center = {on(cen)}{', .zero_pad = true' if zero and cen else ''}); "
                "out[0] = xt_real(z); out[1] = xt_imag(z);",
                lambda x, w: (lambda z: (z.real, z.imag))(torch.stft(
                    x, n, hop, win, w, cen, "constant" if zero else "reflect", normed, not two, return_complex=True)),
                ["x", "w"], x=x, w=w)


# --- distributions
def dist_of():
    """(C constructor, PyTorch's, parameters, a value in its support, what it lacks)"""
    b = shape(0, 2, 0.1)
    o = [1 if r.random() < 0.3 else d for d in b][r.randrange(len(b) + 1):]
    K = r.randint(2, 4)
    n = r.randint(1, 5)

    def counts(hi):
        return ints(0, hi, *b).double()
    onehot = F.one_hot(ints(0, K, *b), K).double() if math.prod(b) else torch.zeros(*b, K)
    return r.choice([
        lambda: ("normal", D.Normal, [smooth(*b), pos(*o)], smooth(*b)),
        lambda: ("log_normal", D.LogNormal, [smooth(*b), pos(*o)], pos(*b)),
        lambda: ("laplace", D.Laplace, [smooth(*b), pos(*o)], smooth(*b)),
        lambda: ("cauchy", D.Cauchy, [smooth(*b), pos(*o)], smooth(*b)),
        lambda: ("gumbel", D.Gumbel, [smooth(*b), pos(*o)], smooth(*b)),
        lambda: ("student_t", D.StudentT, [pos(*b) + 2, smooth(*o), pos(*o)], smooth(*b)),
        lambda: ("uniform", D.Uniform, [-pos(*b), pos(*o)], smooth(*b) * 0.01),
        lambda: ("half_normal", D.HalfNormal, [pos(*b)], pos(*b)),
        lambda: ("half_cauchy", D.HalfCauchy, [pos(*b)], pos(*b)),
        lambda: ("exponential", D.Exponential, [pos(*b)], pos(*b)),
        lambda: ("gamma", D.Gamma, [pos(*b), pos(*o)], pos(*b)),
        lambda: ("chi2", D.Chi2, [pos(*b)], pos(*b)),
        lambda: ("beta", D.Beta, [pos(*b), pos(*o)], unit(*b)),
        lambda: ("pareto", D.Pareto, [pos(*b), pos(*o) + 2], pos(*b) + 3),
        lambda: ("weibull", D.Weibull, [pos(*b), pos(*o)], pos(*b)),
        lambda: ("kumaraswamy", D.Kumaraswamy, [pos(*b), pos(*o)], unit(*b)),
        lambda: ("inverse_gamma", D.InverseGamma, [pos(*b) + 2, pos(*o)], pos(*b)),
        lambda: ("fisher_snedecor", D.FisherSnedecor, [pos(*b) + 4, pos(*o) + 4], pos(*b)),
        lambda: ("von_mises", D.VonMises, [smooth(*b), pos(*o)], smooth(*b)),
        lambda: ("continuous_bernoulli", D.ContinuousBernoulli, [unit(*b)], unit(*b)),
        lambda: ("bernoulli", D.Bernoulli, [unit(*b)], counts(2)),
        lambda: ("bernoulli_logits", lambda z: D.Bernoulli(logits=z), [smooth(*b)], counts(2)),
        lambda: ("geometric", D.Geometric, [unit(*b)], counts(5)),
        lambda: ("geometric_logits", lambda z: D.Geometric(logits=z), [smooth(*b)], counts(5)),
        lambda: (f"binomial({n})", lambda p: D.Binomial(n, p), [unit(*b)], counts(n + 1)),
        lambda: (f"binomial_logits({n})", lambda p: D.Binomial(n, logits=p), [smooth(*b)], counts(n + 1)),
        lambda: ("poisson", D.Poisson, [pos(*b)], counts(5)),
        lambda: ("negative_binomial", lambda t, p: D.NegativeBinomial(t, p), [pos(*b), unit(*o)], counts(5)),
        lambda: ("categorical", D.Categorical, [pos(*b, K)], ints(0, K, *b)),
        lambda: ("categorical_logits", lambda z: D.Categorical(logits=z), [smooth(*b, K)], ints(0, K, *b)),
        lambda: ("one_hot_categorical", D.OneHotCategorical, [pos(*b, K)], onehot),
        lambda: (f"multinomial({n})", lambda p: D.Multinomial(n, p), [pos(*b, K)], onehot * n),
        lambda: ("dirichlet", D.Dirichlet, [pos(*b, K)], torch.softmax(smooth(*b, K), -1)),
        lambda: ("multivariate_normal", D.MultivariateNormal, [smooth(*b, K), spd(K)], smooth(*b, K)),
        lambda: ("multivariate_normal_tril", lambda m, t: D.MultivariateNormal(m, scale_tril=t),
                 [smooth(*b, K), torch.linalg.cholesky(spd(K))], smooth(*b, K)),
        lambda: ("low_rank_multivariate_normal", D.LowRankMultivariateNormal, [smooth(*b, K), smooth(K, 2), pos(K)],
                 smooth(*b, K)),
        lambda: ("relaxed_bernoulli", D.RelaxedBernoulli, [pos(), unit(*b)], unit(*b)),
        lambda: ("relaxed_one_hot", D.RelaxedOneHotCategorical, [pos(), pos(*b, K)], torch.softmax(smooth(*b, K), -1)),
        lambda: ("logistic_normal", D.LogisticNormal, [smooth(*b, K - 1), pos(*b, K - 1)],
                 torch.softmax(smooth(*b, K), -1)),
        lambda: ("wishart", lambda df, c: D.Wishart(df, covariance_matrix=c), [pos() + K, spd(K)], spd(K)),
        lambda: (f"lkj_cholesky({K})", lambda c: D.LKJCholesky(K, c), [pos()],
                 torch.linalg.cholesky(0.3 * torch.ones(K, K) + 0.7 * torch.eye(K))),
        lambda: ("generalized_pareto", D.GeneralizedPareto, [smooth(*b), pos(*o), unit(*o) * 0.4], pos(*b) + 4),
    ])()


def made(name, names):
    head, _, count = name.partition("(")
    return f"xt_{head}_dist({', '.join(([count[:-1]] if count else []) + names)})"


@family
def distributions():
    name, make, params, value = dist_of()
    names = [f"p{i}" for i in range(len(params))]
    d = made(name, names)
    inp = dict(zip(names, params))
    what = r.choice(("log_prob",) * 4 + ("entropy", "mean", "variance", "stddev", "cdf", "icdf"))

    def run(method):
        return lambda v=None, **p: method(make(*p.values()), v)
    if what == "icdf" and name not in ("binomial", "categorical"):
        return Call(f"xt_dist_icdf({d}, v)", run(lambda q, v: q.icdf(v)), names + ["v"], v=unit(*value.shape), **inp)
    if what in ("log_prob", "cdf", "icdf"):
        what = "log_prob" if what == "icdf" else what
        smooth_value = value.is_floating_point() and not (value == value.round()).all()
        return Call(f"xt_dist_{what}({d}, v)", run(lambda q, v: getattr(q, what)(v)),
                    names + ["v"] * smooth_value, 1e-7, v=value, **inp)

    def plain(**p):
        q = make(*p.values())
        return q.entropy() if what == "entropy" else getattr(q, what)
    return Call(f"xt_dist_{what}({d})", plain, names, 1e-7, **inp)


@family
def divergences():
    while True:
        name, make, params, _ = dist_of()
        state = r.getstate()
        r.seed(r.random())
        other = [p + 0.1 * pos(*p.shape) for p in params]
        if "uniform" in name:
            other = [params[0] - 1, params[1] + 1]
        if "multivariate_normal" in name and "low" not in name:
            k = params[1].shape[-1]
            other[1] = spd(k) if "tril" not in name else torch.linalg.cholesky(spd(k))
        if "wishart" in name:
            other[1] = spd(params[1].shape[-1])
        if name in ("bernoulli", "geometric", "continuous_bernoulli", "negative_binomial") or name.startswith("binom"):
            other = [p if p.max() > 1 else unit(*p.shape) for p in params] if math.prod(params[0].shape) else params
        del state
        try:
            D.kl_divergence(make(*params), make(*other))
            break
        except (NotImplementedError, ValueError, RuntimeError):
            continue
    a, b = [f"p{i}" for i in range(len(params))], [f"q{i}" for i in range(len(params))]
    k = len(params)
    slopes = b if "wishart" in name else a + b  # by Bregman divergences, which take the first one out of the graph
    return Call(f"xt_dist_kl({made(name, a)}, {made(name, b)})",
                lambda **t: D.kl_divergence(make(*list(t.values())[:k]), make(*list(t.values())[k:])), slopes, 1e-7,
                **dict(zip(a + b, params + other)))


@family
def layers_of_distributions():
    b = shape(1, 2, 0)
    loc, scale = smooth(*b), pos(*b)
    v = smooth(*b)
    kind = r.randrange(6)
    base = "xt_normal_dist(p, q)"
    N = D.Normal
    if kind == 0:
        n = r.randint(1, len(b))
        return Call(f"xt_dist_log_prob(xt_independent_dist({base}, {n}), v)",
                    lambda p, q, v: D.Independent(N(p, q), n).log_prob(v), ["p", "q", "v"], p=loc, q=scale, v=v)
    if kind == 1:
        w = smooth(*b)
        return Call(f"xt_dist_log_prob(xt_mixture_dist(w, {base}), v)",
                    lambda w, p, q, v: D.MixtureSameFamily(D.Categorical(logits=w), N(p, q)).log_prob(v),
                    ["w", "p", "q", "v"], w=w, p=loc, q=scale, v=smooth(*b[:-1]))
    t, c, val = r.choice([
        (D.ExpTransform(), "exp", v.exp()), (D.SigmoidTransform(), "sigmoid", v.sigmoid()),
        (D.TanhTransform(), "tanh", v.tanh()), (D.SoftplusTransform(), "softplus", F.softplus(v))])
    return Call(f"xt_dist_log_prob(xt_{c}_dist({base}), v)",
                lambda p, q, v: D.TransformedDistribution(N(p, q), [t]).log_prob(v), ["p", "q", "v"], p=loc, q=scale,
                v=val)


# --- comparing
TYPES = {torch.float64: "XT_F64", torch.float32: "XT_F32", torch.int64: "XT_I64", torch.int32: "XT_I32",
         torch.bool: "XT_BOOL", torch.uint8: "XT_U8", torch.int16: "XT_I16"}
C_TYPES = {"XT_F64": "double", "XT_F32": "float", "XT_I64": "int64_t", "XT_I32": "int32_t", "XT_BOOL": "bool",
           "XT_U8": "uint8_t", "XT_I16": "int16_t"}
HEAD = r"""#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
#include <xtrain/distributions.h>
static void show(const char *what, xt_tensor t) {
    int rank = xt_rank_of(t);
    int64_t n = 1;
    printf("%s %s %d", what, xt_dtype_name(xt_dtype_of(t)), rank);
    for (int i = 0; i < rank; i++) printf(" %lld", (long long)xt_dim(t, i)), n *= xt_dim(t, i);
    printf(" :");
    double *v = calloc(n + 1, sizeof *v);
    if (!xt_read(xt_cast(t, XT_F64), v, n * sizeof *v)) printf(" unread");
    else for (int64_t i = 0; i < n; i++) printf(" %.17g", v[i]);
    printf("\n");
    free(v);
}
static xt_tensor weighed(xt_tensor t) {
    int rank = xt_rank_of(t);
    int64_t n = 1, dims[XT_MAX_RANK + 1] = {0};
    for (int i = 0; i < rank; i++) n *= dims[i] = xt_dim(t, i);
    double *v = calloc(n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = cos((double)i);
    xt_tensor w = xt_from_data(v, XT_F64, rank, dims);
    free(v);
    return xt_sum(xt_mul(xt_cast(t, XT_F64), w));
}
static void give(int number, xt_tensor *out, int n, const xt_tensor *in) {
    xt_status bad = xt_error();
    printf("call %d\n", number);
    for (int i = 0; i < 2 && !bad && !xt_is_none(out[i]); i++) {
        if (xt_is_error(out[i])) break;
        show("value", out[i]), bad = xt_error();
    }
    if (!bad && n) {
        xt_tensor loss = {0}, grads[8] = {{0}};
        for (int i = 0; i < 2; i++)
            if (!xt_is_none(out[i]) && xt_dtype_of(out[i]) == XT_F64)
                loss = xt_is_none(loss) ? weighed(out[i]) : xt_add(loss, weighed(out[i]));
        if (!xt_is_none(loss)) {
            xt_grad_of(loss, n, in, grads, .allow_unused = XT_ON);
            for (int i = 0; i < n && !(bad = xt_error()); i++)
                if (xt_is_none(grads[i])) printf("none\n");
                else show("grad", grads[i]);
        }
        bad = bad ? bad : xt_error();
    }
    if (bad) {
        printf("error ");
        for (const char *c = xt_status_message(bad); *c; c++) putchar(*c == '\n' ? ' ' : *c);
        printf("\n");
    }
    xt_clear_error();
    xt_mark_step();
}
"""


def program(calls, seen):
    text = [HEAD]
    for i, call in enumerate(calls):
        body = []
        for name, t in call.inputs.items():
            ty = TYPES[t.dtype]
            vals = ", ".join("NAN" if v != v else num(v) if isinstance(v, float) else str(v).lower()
                             for v in t.reshape(-1).tolist())
            body.append(f"    {C_TYPES[ty]} {name}_v[] = {{{vals or 0}}};")
            body.append(f"    int64_t {name}_d[] = {{{', '.join(map(str, t.shape)) or 0}}};")
            body.append(f"    xt_tensor {name} = xt_from_data({name}_v, {ty}, {t.dim()}, {name}_d);")
        c = call.c if call.c.rstrip().endswith(";") else f"out[0] = {call.c};"
        grads = ", ".join(call.grad)
        text.append(f"static void call_{i}(void) {{\n    xt_tensor out[2] = {{{{0}}, {{0}}}}, at;\n" + "\n".join(body) +
                    f"\n    {c}\n    give({i}, out, {len(call.grad)}, "
                    f"{'(xt_tensor[]){' + grads + '}' if grads else 'NULL'});\n}}\n")
    text.append("int main(void) {\n" + "".join(f"    call_{i}();\n" for i in range(len(calls))) +
                "    return xt_finish();\n}\n")
    return "\n".join(text)


def run_theirs(call):
    """(values, gradients), or why PyTorch refuses."""
    t = {k: v.clone().requires_grad_(k in call.grad) for k, v in call.inputs.items()}
    torch.set_default_dtype(torch.float32)  # what a program of theirs has
    try:
        own = getattr(call.f, "__module__", None) == __name__  # PyTorch's own have other names for their arguments
        out = call.f(**t) if own else call.f(*t.values())
        out = [o for o in (out if isinstance(out, (tuple, list)) else [out])]
        loss = sum((o * torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape)).sum()
                   for o in out if o.dtype == torch.float64)
        grads = []
        if call.grad and isinstance(loss, torch.Tensor):
            got = torch.autograd.grad(loss, [t[k] for k in call.grad], allow_unused=True) if loss.requires_grad else \
                [None] * len(call.grad)
            grads = [torch.zeros_like(t[k]) if g is None else g for g, k in zip(got, call.grad)]
        return [o.detach() for o in out], grads
    except Exception as e:  # whatever PyTorch raises is its refusal
        return f"{type(e).__name__}: {e}".splitlines()[0]
    finally:
        torch.set_default_dtype(torch.float64)


def parse(text):
    out = {}
    for line in text.splitlines():
        w = line.split()
        if line.startswith("call "):
            at = out[int(w[1])] = {"value": [], "grad": [], "error": None}
        elif line.startswith("error ") and out:
            at["error"] = line[6:]
        elif line == "none" and out:
            at["grad"].append(None)
        elif w and w[0] in ("value", "grad") and out:
            rank = int(w[2])
            dims = [int(v) for v in w[3:3 + rank]]
            if "unread" in w:
                at["error"] = at["error"] or "unread"
                continue
            at[w[0]].append((w[1], torch.tensor([float(v) for v in w[4 + rank:]]).reshape(dims)))
    return out


def apart(ours, theirs, tol):
    dtype, ours = ours
    if TYPES.get(theirs.dtype) not in ("XT_" + dtype.upper(), None):
        return f"dtype {dtype}, PyTorch has {theirs.dtype}"
    theirs = theirs.double()
    if list(ours.shape) != list(theirs.shape):
        return f"shape {list(ours.shape)}, PyTorch has {list(theirs.shape)}"
    if torch.allclose(ours, theirs, tol, tol, equal_nan=True):
        return None
    bad = ~torch.isclose(ours, theirs, tol, tol, equal_nan=True)
    i = tuple(bad.nonzero()[0].tolist())
    found = f"{ours[i].item()}, PyTorch has {theirs[i].item()}"
    return f"{int(bad.sum())} of {ours.numel()} differ, first at {list(i)}: {found}"


def compare(call, got, freer):
    want = run_theirs(call)
    if got is None:
        return "nothing was printed"
    if isinstance(want, str):
        return None if got["error"] or freer else f"ACCEPTED, PyTorch says {want}"
    if got["error"]:
        return f"REFUSED: {got['error']}"
    values, grads = want
    if len(got["value"]) != len(values):
        return f"{len(got['value'])} values, PyTorch has {len(values)}"
    for i, (a, b) in enumerate(zip(got["value"], values)):
        bad = apart(a, b, call.tol)
        if bad:
            return f"value {i}: {bad}"
    for name, a, b in zip(call.grad, got["grad"], grads):
        bad = apart(("f64", torch.zeros_like(b)) if a is None else a, b, call.tol * 10)
        if bad:
            return f"gradient of {name}: {bad}"
    return None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--first", type=int, default=1)
    ap.add_argument("--seeds", type=int, default=1)
    ap.add_argument("--each", type=int, default=20)
    ap.add_argument("--only")
    ap.add_argument("--keep")
    a = ap.parse_args()
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    differ = total = 0
    for seed in range(a.first, a.first + a.seeds):
        for name, draw in FAMILIES.items():
            if a.only and name not in a.only.split(","):
                continue
            r.seed(f"{seed} {name}")
            calls = [draw() for _ in range(a.each)]
            with tempfile.TemporaryDirectory() as tmp:
                tmp = a.keep or tmp
                src, exe = os.path.join(tmp, "draws.c"), os.path.join(tmp, "draws")
                with open(src, "w") as f:
                    f.write(program(calls, None))
                subprocess.run(["gcc", "-std=gnu11", "-O0", "-w", "-I", os.path.join(ROOT, "include"), src, "-o", exe,
                                "-L", build, "-lxtrain", "-lm", f"-Wl,-rpath,{build}"], check=True)
                p = subprocess.run([exe], capture_output=True, text=True, timeout=900,
                                   env={**os.environ, "XT_SUMMARY": "off"})
            got = parse(p.stdout)
            for i, call in enumerate(calls):
                total += 1
                bad = compare(call, got.get(i), name in FREER)
                if bad:
                    differ += 1
                    dims = ", ".join(f"{k} {list(v.shape)}" for k, v in call.inputs.items())
                    print(f"{name} {seed}.{i}: {call.c}\n    {dims}\n    {bad}", flush=True)
            if p.returncode not in (0, 1):
                print(f"{name} {seed}: the program ended with {p.returncode}: {p.stderr[-300:]}")
                differ += 1
    print(f"{total} calls, {differ} differ")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
