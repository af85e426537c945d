"""torch.distributions: log_prob, entropy, cdf, icdf, mean, variance and kl, with their gradients."""
import math

import torch
import torch.distributions as D
from torch.distributions import transforms as T

from parity import File

f = File("distributions")
D.Distribution.set_default_validate_args(False)
loc, scale, other = torch.randn(3, 1), torch.rand(4) * 2 + 0.2, torch.rand(3, 4) * 2 + 0.3
real, positive, unit = torch.randn(3, 4) * 2, torch.rand(3, 4) * 3 + 0.05, torch.rand(3, 4) * 0.9 + 0.05
counts = torch.tensor([[0.0, 1, 2, 5], [3, 0, 7, 4], [1, 1, 6, 2]])
bits = torch.tensor([[0.0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]])
logits = torch.randn(3, 5)


class Rounded:
    """PyTorch's numbers in f64, and kept in f32 as the inputs are: its own f32 loses digits where terms cancel."""

    def run(self, case, fn, *inputs, grads=True):
        if any(x.dtype == torch.float64 for x in inputs):
            return f.run(case, fn, *inputs, grads=grads)
        g = File("unused")
        torch.set_default_dtype(torch.float64)  # some distributions make tensors of their own
        g.run(case, fn, *[x.double() if x.is_floating_point() else x for x in inputs], grads=grads)
        torch.set_default_dtype(torch.float32)
        for name, t in g.tensors.items():
            f.put(name, t.float() if t.is_floating_point() else t)


rounded = Rounded()


def defined(fn):
    try:
        with torch.no_grad():
            return bool(torch.isfinite(fn()).all())
    except NotImplementedError:
        return False


def kind(name, make, params, value, kl=True, q=unit):
    """Everything PyTorch knows of make(*params), and of value there."""
    n = len(params)
    rounded.run(f"{name}_log_prob", lambda *a: make(*a[:n]).log_prob(a[n]), *params, value)
    d = make(*params)
    if defined(lambda: d.entropy()):
        rounded.run(f"{name}_entropy", lambda *a: make(*a).entropy(), *params)
    if defined(lambda: d.mean) and defined(lambda: d.variance):
        rounded.run(f"{name}_moments", lambda *a: (make(*a).mean, make(*a).variance), *params)
    gamma = isinstance(d, (D.Gamma, D.InverseGamma))  # PyTorch has no derivative of its distribution function
    if not gamma and defined(lambda: d.cdf(value)):
        rounded.run(f"{name}_cdf", lambda *a: make(*a[:n]).cdf(a[n]), *params, value)
    if defined(lambda: d.icdf(q)):
        rounded.run(f"{name}_icdf", lambda *a: make(*a[:n]).icdf(a[n]), *params, q)
    if kl:
        more = [p * 0.7 + 0.1 for p in params]
        rounded.run(f"{name}_kl", lambda *a: D.kl_divergence(make(*a[:n]), make(*a[n:])), *params, *more)


kind("normal", D.Normal, [loc, scale], real)
kind("log_normal", D.LogNormal, [loc, scale * 0.5], positive)
kind("laplace", D.Laplace, [loc, scale], real)
kind("cauchy", D.Cauchy, [loc, scale], real)
kind("gumbel", D.Gumbel, [loc, scale], real)
kind("student_t", D.StudentT, [other + 2, loc, scale], real, kl=False)
kind("uniform", D.Uniform, [-other, scale + 2], real, kl=False)
rounded.run("uniform_kl", lambda a, b, c, d: D.kl_divergence(D.Uniform(a, b), D.Uniform(c, d)), -scale, other,
            -scale - 1, other + 1)
kind("half_normal", D.HalfNormal, [scale], positive)
kind("half_cauchy", D.HalfCauchy, [scale], positive)
kind("exponential", D.Exponential, [other], positive)
kind("gamma", D.Gamma, [other, scale], positive)
kind("chi2", D.Chi2, [other], positive, kl=False)
kind("beta", D.Beta, [other, scale], unit)
for name, make in [("bernoulli", D.Bernoulli), ("geometric", D.Geometric)]:
    value = bits if name == "bernoulli" else counts
    kind(name, lambda p, make=make: make(probs=p), [unit], value)
    kind(name + "_logits", lambda x, make=make: make(logits=x), [real * 0.7], value)
kind("binomial", lambda p: D.Binomial(7, p), [unit], counts)
kind("binomial_logits", lambda x: D.Binomial(7, logits=x), [real * 0.7], counts)
kind("poisson", D.Poisson, [other], counts)
choice = torch.tensor([3, 0, 4])
kind("categorical", D.Categorical, [torch.rand(3, 5) + 0.1], choice)
kind("categorical_logits", lambda x: D.Categorical(logits=x), [logits], choice)
kind("one_hot", D.OneHotCategorical, [torch.rand(3, 5) + 0.1], torch.eye(5)[choice])
simplex = torch.softmax(torch.randn(3, 5), -1)
kind("dirichlet", D.Dirichlet, [torch.rand(3, 5) * 3 + 0.2], simplex)
root = torch.randn(2, 4, 4)
covariance = root @ root.mT + torch.eye(4)
vectors = torch.randn(3, 1, 4)
kind("multivariate", lambda m, c: D.MultivariateNormal(m, c), [torch.randn(3, 1, 4), covariance], vectors, kl=False)
tril = torch.linalg.cholesky(covariance)
rounded.run("multivariate_kl", lambda a, b, c, d: D.kl_divergence(
    D.MultivariateNormal(a, scale_tril=b), D.MultivariateNormal(c, scale_tril=d)), torch.randn(2, 4), tril,
    torch.randn(4), tril.flip(0))

# Distributions of distributions.
rounded.run("independent", lambda m, s, x: (D.Independent(D.Normal(m, s), 1).log_prob(x),
                                      D.Independent(D.Normal(m, s), 1).entropy()), loc, scale, real)
rounded.run("independent_kl", lambda m, s: D.kl_divergence(D.Independent(D.Normal(m, s), 1), D.Independent(
    D.Normal(torch.zeros_like(m), torch.ones_like(s)), 1)), real, other)
rounded.run("mixture", lambda w, m, s, x: (lambda d: (d.log_prob(x), d.mean, d.variance, d.cdf(x)))(
    D.MixtureSameFamily(D.Categorical(logits=w), D.Normal(m, s))), torch.randn(4), real, other, torch.randn(3))
rounded.run("mixture_vectors", lambda w, m, s, x: (lambda d: (d.log_prob(x), d.mean, d.variance))(
    D.MixtureSameFamily(D.Categorical(logits=w), D.Independent(D.Normal(m, s), 1))), torch.randn(3), real, other,
    torch.randn(6, 4))
for name, t in [("exp", T.ExpTransform()), ("sigmoid", T.SigmoidTransform()), ("tanh", T.TanhTransform())]:
    d = lambda m, s, t=t: D.TransformedDistribution(D.Normal(m, s), [t])
    value = {"exp": positive, "sigmoid": unit, "tanh": unit * 2 - 1}[name]
    rounded.run(f"to_{name}", lambda m, s, x, d=d: (d(m, s).log_prob(x), d(m, s).cdf(x)), loc, scale, value)
    rounded.run(f"to_{name}_icdf", lambda m, s, q, d=d: d(m, s).icdf(q), loc, scale, unit)
affine = lambda m, s, a, b: D.TransformedDistribution(D.Normal(m, s), [T.AffineTransform(a, b)])
rounded.run("to_affine", lambda m, s, a, b, x: (affine(m, s, a, b).log_prob(x), affine(m, s, a, b).cdf(x)), loc, scale,
      torch.randn(4), -other, real)
rounded.run("squashed", lambda m, s, x: D.Independent(D.TransformedDistribution(
    D.Normal(m, s), [T.TanhTransform(), T.AffineTransform(0.0, 2.0)]), 1).log_prob(x), loc, scale, unit * 3 - 1.5)

# f64 keeps its digits.
kind("gamma64", D.Gamma, [other.double(), scale.double()], positive.double(), kl=True)
kind("normal64", D.Normal, [loc.double(), scale.double()], real.double(), q=unit.double())
rounded.run("wide_cdf", lambda x: D.Gamma(torch.ones(3, 4, dtype=torch.float64) * 2.5, torch.tensor(
    1.5, dtype=torch.float64)).cdf(x), positive.double(), grads=False)
a = torch.tensor([1e-3, 0.05, 0.4, 1, 2.5, 9, 40, 1000], dtype=torch.float64)
x = a[:, None] * torch.tensor([0.02, 0.3, 0.9, 1.05, 1.6, 4], dtype=torch.float64)
rounded.run("igamma", lambda c, v: D.Gamma(c, torch.ones_like(c)).cdf(v), a[:, None], x, grads=False)

# The derivative of the distribution function by the concentration, of which implicit gradients are made, by central
# differences: PyTorch's own has three digits.
c, v = a[:, None].expand_as(x).clone(), x.clone()
h = c * 1e-5
f.put("implicit/x0", c)
f.put("implicit/x1", v)
f.put("implicit/dx0", (torch.special.gammainc(c + h, v) - torch.special.gammainc(c - h, v)) / (2 * h))
f.save()

# Counts, powers, relaxations, angles and matrices: a file of their own, distributions_more.
f = File("distributions_more")
power = torch.rand(3, 4) * 2 + 0.6
kind("pareto", D.Pareto, [scale, other], positive + 2.3, kl=False)
rounded.run("pareto_kl", lambda a, b, c, d: D.kl_divergence(D.Pareto(a, b), D.Pareto(c, d)), scale + 1, other, scale,
            other * 0.7 + 0.1)
kind("generalized_pareto", D.GeneralizedPareto, [-other, scale, torch.tensor([-0.2, 0.0, 0.3, 0.45])], positive * 0.3,
     kl=False)
kind("weibull", D.Weibull, [scale, power], positive, kl=False)
kind("kumaraswamy", D.Kumaraswamy, [power, scale + 0.3], unit, kl=False)
kind("inverse_gamma", D.InverseGamma, [other + 2.2, scale], positive)
kind("fisher_snedecor", D.FisherSnedecor, [other, scale + 4.2], positive, kl=False)
cut = torch.tensor([[0.1, 0.4995, 0.503, 0.9], [0.3, 0.5, 0.7, 0.48], [0.02, 0.6, 0.52, 0.98]])
kind("continuous_bernoulli", D.ContinuousBernoulli, [cut], unit)
kind("continuous_bernoulli_logits", lambda x: D.ContinuousBernoulli(logits=x), [real * 0.7], unit)
kind("relaxed_bernoulli", lambda t, p: D.RelaxedBernoulli(t, p), [scale, unit], unit.flip(0), kl=False)
kind("relaxed_bernoulli_logits", lambda t, x: D.RelaxedBernoulli(t, logits=x), [scale, real * 0.7], unit, kl=False)
kind("negative_binomial", lambda n, p: D.NegativeBinomial(n, p), [other * 4, unit], counts, kl=False)
kind("negative_binomial_logits", lambda n, x: D.NegativeBinomial(n, logits=x), [other * 4, real * 0.7], counts,
     kl=False)
tries = torch.tensor([[0.0, 3, 1, 2, 1], [7, 0, 0, 0, 0], [1, 1, 2, 2, 1]])
kind("multinomial", lambda p: D.Multinomial(7, p), [torch.rand(3, 5) + 0.1], tries, kl=False)
kind("multinomial_logits", lambda x: D.Multinomial(7, logits=x), [logits], tries, kl=False)
kind("straight_through", D.OneHotCategoricalStraightThrough, [torch.rand(3, 5) + 0.1], torch.eye(5)[choice])
kind("relaxed_one_hot", lambda t, p: D.RelaxedOneHotCategorical(t, p), [torch.tensor([0.7]), torch.rand(3, 5) + 0.1],
     simplex, kl=False)
kind("relaxed_one_hot_logits", lambda t, x: D.RelaxedOneHotCategorical(t, logits=x), [torch.tensor([1.3]), logits],
     simplex, kl=False)
kind("logistic_normal", D.LogisticNormal, [torch.randn(3, 4), scale], simplex)
kind("low_rank", D.LowRankMultivariateNormal, [torch.randn(3, 1, 4), torch.randn(2, 4, 2), other[0]], vectors)
kind("wishart", lambda n, a: D.Wishart(n, scale_tril=a.tril()), [torch.tensor([4.5, 7.0]), tril],
     covariance.flip(0) * 3, kl=False)
# of one: over a batch PyTorch 2.9 adds up what belongs to each
rounded.run("wishart_kl", lambda n, a, k, b: D.kl_divergence(D.Wishart(n, scale_tril=a.tril()), D.Wishart(
    k, scale_tril=b.tril())), torch.tensor(4.5), tril[0], torch.tensor(6.0), tril[1])
corr = torch.linalg.cholesky(covariance / (covariance.diagonal(dim1=-2, dim2=-1)[..., None] ** 0.5) / (
    covariance.diagonal(dim1=-2, dim2=-1)[..., None, :] ** 0.5))
kind("lkj_cholesky", lambda c: D.LKJCholesky(4, c), [torch.tensor([0.7, 2.5])], corr, kl=False)


class Angles(D.VonMises):
    """With Bessel functions of all digits: PyTorch's own here have seven."""

    def log_prob(self, x):
        k = self.concentration
        return k * torch.cos(x - self.loc) - math.log(2 * math.pi) - k - torch.special.i0e(k).log()

    @property
    def variance(self):
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)


kind("von_mises", Angles, [loc, torch.tensor([0.01, 0.8, 5, 90])], real, kl=False)

kind("weibull64", D.Weibull, [scale.double(), power.double()], positive.double(), kl=False, q=unit.double())
degrees = torch.tensor([4.5, 7.0]).double()
rounded.run("wishart64_log_prob", lambda n, c, x: D.Wishart(n, c).log_prob(x), degrees, covariance.double(),
            covariance.flip(0).double() * 3)
rounded.run("wishart64_entropy", lambda n, c: D.Wishart(n, c).entropy(), degrees, covariance.double())

# Transforms of values: forward, back, and the slope.
matrix = torch.randn(2, 4, 4) * 0.4
for name, t, x in [("exp", T.ExpTransform(), real), ("sigmoid", T.SigmoidTransform(), real),
                   ("tanh", T.TanhTransform(), real), ("softplus", T.SoftplusTransform(), real),
                   ("abs", T.AbsTransform(), real), ("softmax", T.SoftmaxTransform(), logits),
                   ("stick_breaking", T.StickBreakingTransform(), logits),
                   ("lower_cholesky", T.LowerCholeskyTransform(), matrix),
                   ("positive_definite", T.PositiveDefiniteTransform(), matrix),
                   ("corr_cholesky", T.CorrCholeskyTransform(), torch.randn(2, 6) * 0.4)]:
    rounded.run(f"transform_{name}", t, x)
    y = t(x.double())
    rounded.run(f"transform_{name}_inverse", lambda y, t=t: t.inv(y), y.float())
    if name in ("abs", "softmax", "lower_cholesky", "positive_definite"):
        continue
    rounded.run(f"transform_{name}_slope", lambda x, t=t: t.log_abs_det_jacobian(x, t(x)), x)
for name, t, value in [("softplus", T.SoftplusTransform(), positive), ("power", T.PowerTransform(torch.tensor(-1.5)),
                                                                       positive)]:
    base = D.Normal if name == "softplus" else lambda m, s: D.Gamma(s, s + 0 * m)
    d = lambda m, s, t=t, base=base: D.TransformedDistribution(base(m, s), [t])
    rounded.run(f"to_{name}", lambda m, s, x, d=d: d(m, s).log_prob(x), loc, scale, value)
rounded.run("to_power_icdf", lambda r, q: D.TransformedDistribution(D.Exponential(r), [
    T.PowerTransform(torch.tensor(-1.5, dtype=r.dtype))]).icdf(q), other, unit)

f.save()
