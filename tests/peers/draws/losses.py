"""Losses, sequences, distances, attention."""
import torch
import torch.nn.functional as F

from draws.calls import Call, INF, family, ints, kw, maybe, num, on, opts, pos, r, rn, shape, smooth


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
