"""Distributions: what they draw from, say and how far they are apart."""
import math

import torch
import torch.distributions as D
import torch.nn.functional as F

from draws.calls import Call, family, ints, pos, r, shape, smooth, unit
from draws.linear_algebra import spd


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


@family
def without_a_choice():
    """Categories of which some have no probability."""
    b, K = shape(0, 2, 0), r.randint(2, 4)
    p = pos(*b, K)
    p[..., r.randrange(K)] = 0
    name, make = r.choice([("categorical", D.Categorical), ("one_hot_categorical", D.OneHotCategorical)])
    return Call(f"xt_dist_entropy(xt_{name}_dist(p))", lambda p: make(p).entropy(), ["p"], 1e-7, p=p)


def slopes_at(x, cc):
    """What a Dirichlet draw x gains by its concentrations, through PyTorch's own backward."""
    class Drawn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, cc):
            ctx.save_for_backward(cc)
            return x.clone()

        @staticmethod
        def backward(ctx, d):
            cc, = ctx.saved_tensors
            s = torch._dirichlet_grad(x, cc.contiguous(), cc.sum(-1, True).expand_as(cc).contiguous())
            return s * (d - (x * d).sum(-1, True))
    return Drawn.apply(cc)


@family
def drawn():
    """The gradient of a draw, at the draw that was made here. PyTorch's are approximations, with errors of 1e-3 (the
    derivatives themselves are unit/test_distributions')."""
    b, K = shape(1, 2, 0), r.randint(2, 4)
    around = r.choice((0.05, 0.3, 2, 30, 500))
    if r.random() < 0.5:
        return Call("xt_dist_rsample(xt_dirichlet_dist(p))", lambda p, drawn: slopes_at(drawn, p), ["p"], 5e-4,
                    p=pos(*b, K) * around)

    def beta(p, q, drawn):
        return slopes_at(torch.stack([drawn, 1 - drawn], -1), torch.stack([p, q], -1))[..., 0]
    return Call("xt_dist_rsample(xt_beta_dist(p, q))", beta, ["p", "q"], 5e-4, p=pos(*b) * around,
                q=pos(*b) * r.choice((around, 1)))
