"""Images and signals: pools, convolutions, resizing."""
import torch.nn.functional as F

from draws.calls import Call, family, kw, maybe, on, opts, r, rn, smooth


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
