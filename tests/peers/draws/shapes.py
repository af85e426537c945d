"""Shapes, padding, indices."""
import torch
import torch.nn.functional as F

from draws.calls import Call, axes_of, axis_of, family, ints, lst, opts, r, rn, shape, smooth


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
