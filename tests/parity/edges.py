"""Functions of each element where formulas change: NaN, infinities, zeros of both signs, kinks, ties, the far ends of
their range; pools of windows whose elements are equal or zero; and the two triangles of a matrix whose factor reads
one."""
import torch
from torch.nn import functional as F

from parity import File

f = File("edges")
S = torch.special
D = torch.float64
nan, inf = float("nan"), float("inf")
finite = torch.tensor([0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 3, -3, 6, 6.5, -6.5], dtype=D)
every = torch.cat([finite, torch.tensor([nan, inf, -inf], dtype=D)])
numbers = torch.tensor([-3, 0, 2, 6, 9])

NAMES = ("relu relu6 hardsigmoid hardswish hardtanh hardshrink softshrink elu selu celu leaky_relu softplus softsign "
         "logsigmoid tanhshrink mish silu").split()
for name in NAMES:
    fn = getattr(F, name)
    f.run(f"{name}_values", fn, every, grads=False)
    if name == "hardsigmoid":  # PyTorch's f64 has its sixth in f32
        f.run(f"{name}_slopes_f32", fn, finite.float())
    else:
        f.run(f"{name}_slopes", fn, finite)
f.run("hardswish_far", F.hardswish, torch.tensor([inf, 1e300, -1e300], dtype=D))
f.run("threshold_values", lambda x: F.threshold(x, 0.5, 7), every, grads=False)
f.run("threshold_slopes", lambda x: F.threshold(x, 0.5, 7), finite)
f.run("integers", lambda x: (F.relu(x), F.relu6(x), F.hardtanh(x, -2, 3), F.threshold(x, 0, 20)), numbers,
      grads=False)

for name, x in (("entr", [0.0, 1e-30, 0.3, 1, 2]), ("digamma", [0.0, 0.3, 1, 4.5]),
                ("lgamma", [0.0, 0.3, 1, 4.5, -0.5])):
    fn = getattr(torch if name == "lgamma" else S, name)
    f.run(f"{name}_values", fn, torch.cat([every, torch.tensor([0.01, 0.9, 1.1], dtype=D)]), grads=False)
    if name != "digamma":  # PyTorch's trigamma has ten digits
        f.run(f"{name}_slopes", fn, torch.tensor(x, dtype=D))
    f.run(f"{name}_slopes_f32", fn, torch.tensor(x))
f.run("polygamma_below", lambda x: (S.polygamma(2, x), S.polygamma(3, x), S.polygamma(4, x)),
      torch.tensor([-0.5, -1.25, -10.5, -11.75, -20.25, -170.5, 0.25], dtype=D), grads=False)
f.run("entr_below", S.entr, torch.tensor([-1.0, -inf, -1e-30]), grads=False)
low = torch.tensor([1e-300, 1e-100, 1e-30, 1e-17, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 0.02, 0.13, 0.14, 0.3, 0.5], dtype=D)
f.run("ndtri", S.ndtri, torch.cat([low, 1 - low[3:]]), grads=False)
f.run("ndtri_f32", S.ndtri, torch.cat([low[2:], 1 - low[4:]]).float(), grads=False)
f.run("ndtri_ends", S.ndtri, torch.tensor([0.0, 1, -0.1, 1.1, nan, -0.0], dtype=D), grads=False)
for i, x in enumerate(low.tolist()):  # one by one: they differ by hundreds of orders
    f.run(f"ndtri_slope{i}", S.ndtri, torch.tensor([x], dtype=D))
f.run("ndtri_slope_end", S.ndtri, torch.tensor([0.0, 1], dtype=D))

a = torch.tensor([nan, 1, nan, inf, -inf, inf, -inf, 0, -0.0, 1, 0, -0.0], dtype=D)
b = torch.tensor([1, nan, nan, inf, inf, 1, -inf, -0.0, 0, inf, -1, -1], dtype=D)
x = torch.tensor([0.0, -0.0, 1, -1, 2, 2, -3, 0.5], dtype=D)
y = torch.tensor([0.0, 1, 1, -1, 1, 3, -3, -0.5], dtype=D)
for name in ("maximum", "minimum", "fmax", "fmin", "copysign"):
    fn = getattr(torch, name)
    f.run(f"{name}_values", fn, a, b, grads=False)
    f.run(f"{name}_slopes", fn, x, y, skip_grad=(1,) if name == "copysign" else ())

every_pair = torch.cartesian_prod(torch.tensor([0.0, -0.0, 1, -1, inf, -inf, nan], dtype=D),
                                  torch.tensor([0.0, -0.0, 2, -2, inf, -inf, nan], dtype=D))
for name in ("hypot", "igamma", "igammac", "atan2", "logaddexp", "xlogy", "heaviside", "nextafter", "fmod",
             "remainder"):
    # PyTorch's igamma of infinity and NaN is 0
    pairs = every_pair[~every_pair.isnan().any(1)] if name.startswith("igamma") else every_pair
    f.run(f"{name}_pairs", getattr(torch, name), pairs[:, 0], pairs[:, 1], grads=False)
x = torch.tensor([0.0, 0, 0, 0, 1, 1, 2, 2], dtype=D).reshape(1, 1, 8)
signed = torch.tensor([-3.0, -1, 0, 0, 1, -1, 2, 5], dtype=D).reshape(1, 1, 8)
for p in (1, 2, 3):
    f.run(f"lp{p}", lambda t, p=p: F.lp_pool1d(t, p, 2), x)
    f.run(f"lp{p}_signed", lambda t, p=p: F.lp_pool1d(t, p, 2), signed)
image = torch.zeros(1, 2, 4, 4, dtype=D)
image[0, 0, 1:, 2] = 1
image[0, 1, :, 3] = torch.tensor([0.0, -1, 2, 2])
f.run("lp_2d", lambda t: F.lp_pool2d(t, 2, 2), image)
f.run("lp_3d", lambda t: F.lp_pool3d(t, 2, (1, 2, 2)), image)
f.run("amax_ties", lambda t: (F.adaptive_max_pool1d(t, 4), F.adaptive_max_pool1d(t, 3)), x)
f.run("amax_ties_2d", lambda t: (F.adaptive_max_pool2d(t, 2), F.adaptive_max_pool2d(t, 3), F.adaptive_max_pool2d(t, 1)),
      image)
f.run("amax_ties_3d", lambda t: F.adaptive_max_pool3d(t, (1, 3, 2)), image)
# Windows that share a maximum, what is put back there is the same number.
y, i = F.max_pool1d(torch.tensor([0.0, 3, 1, 2, 5, 4, 0, 1, 2], dtype=D).reshape(1, 1, 9), 3, 2, return_indices=True)
f.run("unpool_shared", lambda y, i: F.max_unpool1d(y, i, 3, 2), y, i)
y, i = F.max_pool2d(torch.arange(50, dtype=D).reshape(1, 2, 5, 5).mul(7).cos(), 3, 1, return_indices=True)
f.run("unpool_shared_2d", lambda y, i: F.max_unpool2d(y, i, 3, 1), y, i)
f.run("median_ties", lambda t: t.median(), torch.tensor([0.0, 2, 0, 3, 1, 1, 1, 1, -1], dtype=D))
f.run("median_ties_2d", lambda t: t.median(), torch.tensor([[1.0, 5, 5], [5, 6, 0]], dtype=D))
f.run("median_nan", lambda t: t.median(), torch.tensor([nan, 2, nan, 2, 1], dtype=D))
f.run("nanmedian_ties", lambda t: t.nanmedian(), torch.tensor([[nan, 2, 3], [2, nan, 1]], dtype=D))
f.run("nanmedian_of_none", lambda t: t.nanmedian(), torch.tensor([nan, nan], dtype=D))
a = torch.tensor([[2, 0.5, 0.3], [0.5, 1, 0.2], [0.3, 0.2, 1.5]], dtype=D)
f.run("cholesky", lambda t: (torch.linalg.cholesky(t), torch.linalg.cholesky(t, upper=True)), a)
f.run("cholesky_of_covariance", lambda t: torch.distributions.MultivariateNormal(
    torch.zeros(3, dtype=D), t).log_prob(torch.ones(3, dtype=D)), a)

# Hinges at the very corner, one row without a batch, one variable, one point.
x = torch.tensor([[1.0, 0, 2, 1.5], [0, 1, 0, -1]], dtype=D)
f.run("multi_margin_corner", lambda x, t: F.multi_margin_loss(x, t), x, torch.tensor([0, 1]))
f.run("multilabel_margin_corner", lambda x, t: F.multilabel_margin_loss(x, t, reduction="none"), x,
      torch.tensor([[0, 2, -1, 1], [1, -1, 0, 0]]))
f.run("multilabel_margin_row", lambda x, t: (F.multilabel_margin_loss(x, t, reduction="none"),
                                             F.multilabel_margin_loss(x, t)), x[0], torch.tensor([2, 0, -1, 1]))
f.run("cov_row", lambda x: (torch.cov(x), torch.corrcoef(x)), torch.tensor([[1.0, 2, 4, 8]], dtype=D))
f.run("pdist_one", F.pdist, torch.tensor([[1.0, 2]], dtype=D), grads=False)

# Axes of the result, and further ones: torch's dims.
x = torch.arange(24, dtype=D).reshape(2, 3, 4).cos()
f.run("flatten_to", lambda x: (x.flatten(0, 1), x.flatten(-2, -1), x.flatten(1, 1), x.flatten(0, -2)), x)
f.run("flatten_number", lambda x: x.flatten(0, -1), torch.tensor(3.0, dtype=D))
f.run("diag_embed_axes", lambda x: (x.diag_embed(1, 0, 2), x.diag_embed(-1, 2, 0), x.diag_embed(0, -3, 3)), x)
f.run("cross_last", lambda x: torch.linalg.cross(x, x.flip(0)), x[:, 0, :3])
low = torch.diag(torch.tensor([2.0, 1, 0.3], dtype=D))
# PyTorch's gradient is that of a matrix which has this rank by itself.
f.run("pinverse_rcond", lambda x: (torch.linalg.pinv(x, rtol=0.4), torch.linalg.matrix_rank(x, rtol=0.4)), low,
      grads=False)

f.run("pow_of_zero", torch.pow, torch.tensor([0.0, 0, 0, 2], dtype=D), torch.tensor([-1.0, 0, 2, -1.5], dtype=D))

# Along an axis of arrays without elements.
for name, dims in (("front", (0, 2, 3)), ("last", (2, 3, 0))):
    a = 1
    f.run(f"empty_{name}", lambda x: (*x.sort(a), *x.cummax(a), *x.max(a), *x.min(a), x.argmax(a), x.gather(
        a, torch.zeros(x.shape, dtype=torch.int64)), x.median(a)[0], x.nanmedian(a)[0]), torch.zeros(dims, dtype=D),
        grads=False)
f.run("empty_median", lambda x: (x.median(), x.nanmedian()), torch.zeros(0, dtype=D), grads=False)
f.save()
