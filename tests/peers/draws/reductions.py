"""Reductions, sorts, running totals, dtypes."""
import math

import torch
import torch.nn.functional as F

from draws.calls import Call, INF, axes_of, axis_of, family, ints, lst, num, odd, opts, r, rn, shape, smooth


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


@family
def along_nan():
    """Rows that hold NaN, or nothing else; and tensors without dims."""
    dims = shape(1, 3, 0)
    a = axis_of(dims)
    at, axes, kinds = f"{a}", f"XT_LIST({a})", [math.nan]
    if r.random() < 0.1:
        dims, a = [], r.choice((0, -1))
        at, axes = f"{a}", "XT_LIST()"
    c, f, more = r.choice([
        (f"xt_nanmean(x, {axes})", lambda x: torch.nanmean(x, a), [INF]),
        (f"xt_nansum(x, {axes})", lambda x: torch.nansum(x, a), [INF]),
        (f"xt_cumprod(x, {at})", lambda x: torch.cumprod(x, a), []),
        (f"xt_cumsum(x, {at})", lambda x: torch.cumsum(x, a), [INF]),
        (f"xt_nanmedian_axis(x, {at}, &out[0], &at);", lambda x: torch.nanmedian(x, a)[0], [INF]),
        (f"xt_max_with_index(x, {at}, &out[0], &out[1]);", lambda x: torch.max(x, a), [INF, -INF]),
        (f"xt_min_with_index(x, {at}, &out[0], &out[1]);", lambda x: torch.min(x, a), [INF, -INF]),
        (f"xt_amax(x, {axes})", lambda x: torch.amax(x, a), [INF]),
        (f"xt_softmax(x, {at})", lambda x: F.softmax(x, a), [-INF]),
        (f"xt_mean(x, {axes})", lambda x: torch.mean(x, a), [INF]),
    ])
    # Beside a zero PyTorch takes another way, in which what NaN gives depends on the zeros of other rows.
    x = smooth(*dims) if "cumprod" in c else rn(*dims)
    if not dims and not c.startswith(("xt_max_", "xt_min_", "xt_cum")):
        return along_nan()
    return Call(c, f, ["x"], x=odd(x, *kinds, *more))
