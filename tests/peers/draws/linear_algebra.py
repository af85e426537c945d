"""Products and decompositions."""
import torch

from draws.calls import Call, INF, axis_of, family, ints, lst, maybe, num, opts, pos, r, rn, shape, smooth


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
