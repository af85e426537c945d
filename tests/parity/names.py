"""PyTorch's second names and short functions (xtrain/names.h)."""
import torch
from torch.nn import functional as F

from parity import File

f = File("names")
x, y, p = torch.randn(3, 4), torch.randn(3, 4), torch.rand(3, 4) * 0.8 + 0.1
wide = torch.linspace(-30, 6, 19)
for name in ("absolute", "arcsinh", "arctan", "negative"):
    f.run(name, getattr(torch, name), x)
for name in ("fix", "sgn"):
    f.run(name, getattr(torch, name), x, grads=False)
for name in ("arccos", "arcsin", "arctanh"):
    f.run(name, getattr(torch, name), p)
f.run("arccosh", torch.arccosh, p + 1.5)
for name in ("arctan2", "divide", "true_divide", "multiply", "subtract"):
    f.run(name, getattr(torch, name), x, y)
for name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
    f.run(name, getattr(torch, name), x, y, grads=False)
f.run("clip", lambda x: torch.clip(x, -0.5, 0.7), x)
f.run("clamp_min", lambda x: torch.clamp_min(x, -0.5), x)
f.run("clamp_max", lambda x: torch.clamp_max(x, 0.7), x)
f.run("cat", lambda x, y: torch.cat((x, y), 1), x, y)
f.run("shapes", lambda x: (torch.swapaxes(x, 0, 1), torch.moveaxis(x, 0, 1), torch.t(x), torch.ravel(x),
                           torch.fliplr(x), torch.flipud(x)), x)
f.run("bucketize", lambda x, b: torch.bucketize(x, b, right=True), x, torch.tensor([-1.0, 0.0, 0.5, 1.0]), grads=False)
f.run("fft2", lambda x: torch.fft.rfft2(x).abs(), x)
f.run("special", lambda x: tuple(getattr(torch.special, n)(x) for n in ("expit", "psi", "gammaln", "entr", "ndtr")), p)
f.run("ndtri", torch.special.ndtri, p)
f.run("log_ndtr", torch.special.log_ndtr, wide, grads=False)  # its gradient in f32 has few digits
f.run("log_ndtr_f64", torch.special.log_ndtr, wide.double())
f.run("mvlgamma", lambda x: torch.mvlgamma(x, 3), p + 1.5)
f.run("float_power", torch.float_power, p, y)
f.run("rrelu_eval", lambda x: F.rrelu(x, 0.1, 0.3), x)
f.run("pairs", lambda x: (x.amin(1), x.amax(1), *torch.var_mean(x, 0), *torch.std_mean(x, (0, 1))), x)
f.run("msort", torch.msort, x)
v, w = torch.randn(3), torch.randn(4)
f.run("stacks", lambda x, y: (torch.hstack((x, y)), torch.vstack((x, y)), torch.dstack((x, y)),
                              torch.column_stack((x, y))), x, y)
f.run("stacks_of_vectors", lambda v, u: (torch.hstack((v, u)), torch.vstack((v, u)), torch.dstack((v, u)),
                                         torch.column_stack((v, u))), v, torch.randn(3))
f.run("cartesian_prod", torch.cartesian_prod, v, w, torch.randn(2))
f.run("atleast", lambda v, x: (torch.atleast_2d(v), torch.atleast_3d(v), torch.atleast_3d(x)), v, x)
f.run("diagflat", lambda x: torch.diagflat(x, -1), torch.randn(2, 2))
# torch.vander itself has no gradient: it writes in place
f.run("vander", lambda v: (torch.stack([v ** 2, v, v ** 0], -1), torch.stack([v ** i for i in range(5)], -1)), v)
assert torch.equal(f.tensors["vander/y0"], torch.vander(v))
f.run("inner", torch.inner, x, torch.randn(2, 4))
f.run("vecdot", lambda x, y: torch.linalg.vecdot(x, y, dim=0), x, y)
f.run("addmv", lambda c, a, x: torch.addmv(c, a, x, beta=0.5, alpha=2), v, x, w)
f.run("addr", lambda c, a, b: torch.addr(c, a, b, beta=0.25, alpha=3), x, v, w)
f.run("addr_0", lambda c, a, b: torch.addr(c, a, b, beta=0), x * float("nan"), v, w, grads=False)
f.run("multi_dot", lambda *t: torch.linalg.multi_dot(t), torch.randn(2, 5), torch.randn(5, 3), torch.randn(3, 7),
      torch.randn(7))
a = torch.randn(4, 4, dtype=torch.float64)
f.run("cholesky_inverse", lambda a: torch.cholesky_inverse(torch.linalg.cholesky(a @ a.T)), a)
tall = torch.randn(5, 3, dtype=torch.float64)
f.run("pinverse", torch.linalg.pinv, tall)
low = tall[:, :2] @ torch.randn(2, 4, dtype=torch.float64)
f.run("pinverse_low", torch.linalg.pinv, low, grads=False)
f.run("matrix_rank", torch.linalg.matrix_rank, low, grads=False)
f.run("lstsq", lambda a, y: torch.linalg.lstsq(a, y).solution, tall, torch.randn(5, 2, dtype=torch.float64))
ords = ("fro", "nuc", 1, -1, 2, -2, float("inf"))
f.run("hfft_of_axes", lambda a, b: (torch.fft.hfft2(torch.complex(a, b)),
                                    torch.fft.hfftn(torch.complex(a, b), dim=(0, 1), norm="ortho"),
                                    torch.fft.ihfft2(a).real, torch.fft.ihfftn(a, dim=(0, 2), norm="forward").imag),
      torch.randn(2, 3, 4), torch.randn(2, 3, 4))
f.run("linalg_norm", lambda a: (torch.linalg.norm(a), torch.linalg.norm(a, 2), torch.linalg.norm(a[0], 1),
                                torch.linalg.norm(a, 1, dim=0), torch.linalg.norm(a, "nuc", dim=(1, 0), keepdim=True)),
      tall)
f.run("of_all_or_axes", lambda a: (a.amax(1), a.amin(), a.nansum(), a.nansum(1), a.nanmean(0, keepdim=True)), tall)
f.run("matrix_norm", lambda a: tuple(torch.linalg.matrix_norm(a, o) for o in ords), tall)
f.run("pdist", torch.pdist, torch.randn(4, 3))
f.run("pdist_1", lambda x: torch.pdist(x, 1.0), torch.randn(4, 3))
few = torch.randint(0, 4, (3, 9)).float()
f.run("mode", lambda x: (torch.mode(x, 1).values, torch.mode(x, 0).values), few)
f.run("mode_indices", lambda x: (torch.mode(x, 1).indices, torch.mode(x, 0).indices), few, grads=False)
f.run("mode_ints", lambda x: torch.mode(x), few.long() - 2, grads=False)
f.run("gradient", lambda x: (*torch.gradient(x, spacing=0.5), *torch.gradient(x, edge_order=2)), torch.randn(4, 5))
at = torch.tensor([0.0, 0.5, 2.0, 3.5, 3.75])
f.run("gradient_at", lambda x, at: (torch.gradient(x, spacing=(at,), dim=1)[0],
                                    torch.gradient(x, spacing=(at,), dim=1, edge_order=2)[0],
                                    torch.gradient(x.mT, spacing=(at,), dim=0, edge_order=2)[0]), torch.randn(4, 5), at,
      skip_grad=(1,))
f.run("gradient_two", lambda x: torch.gradient(x)[0], torch.randn(2))
spread = torch.randn(200) * 2
edges = torch.tensor([-3.0, -1.0, -0.5, 0.25, 2.0])
f.run("histogram", lambda x, e: (*torch.histogram(x, 10), *torch.histogram(x, 7, range=(-1.5, 2.0)),
                                 *torch.histogram(x, e)), spread, edges, grads=False)
f.run("histogram_weighted", lambda x, w: (*torch.histogram(x, 6, weight=w, density=True),
                                          torch.histogram(x, 5, density=True).hist), spread, torch.rand(200),
      grads=False)
# as old ones keep their numbers: numbers of its own
own = torch.Generator().manual_seed(3)
points, third = torch.randn(150, 2, generator=own), torch.tensor([-1.0, 0.0, 0.75])
f.run("histogramdd", lambda x, e, g: (lambda a, b, c: (a.hist, *a.bin_edges, b.hist, *b.bin_edges, c.hist))(
    torch.histogramdd(x, [5, 3]), torch.histogramdd(x, [2, 7], range=[-1, 2, -0.5, 1.5]),
    torch.histogramdd(x, [e, g])), points, edges, third, grads=False)
f.run("histogramdd_weighted", lambda x, w: torch.histogramdd(x, [3, 2, 4], weight=w, density=True).hist,
      torch.randn(5, 40, 3, generator=own), torch.rand(5, 40, generator=own), grads=False)
f.run("histogram_same", lambda x: torch.histogram(x, 4), torch.full((5,), 2.0), grads=False)
i, j = torch.tensor([12, -18, 0, 7, 0, 1 << 40, 35]), torch.tensor([18, 27, 5, 0, 0, 3 << 38, -49])
f.run("divisors", lambda x, y: (torch.gcd(x, y), torch.lcm(x, y), torch.gcd(x.int(), y[:1].int()),
                                torch.lcm(x.to(torch.int16)[:4], y.to(torch.int16)[:4])), i, j, grads=False)
f.run("divisors_u8", torch.gcd, torch.tensor([200, 0, 255], dtype=torch.uint8),
      torch.tensor([150, 3, 85], dtype=torch.uint8), grads=False)
hann, short = torch.hann_window(16), torch.hann_window(10)
C = torch.view_as_complex
f.run("istft", lambda x, h, s: (torch.istft(C(x), 16, window=h), torch.istft(C(x), 16, 5, length=41, window=h),
                                torch.istft(C(x), 16, 4, 10, s, normalized=True)), torch.randn(2, 9, 8, 2), hann,
      short, skip_grad=(1, 2))
f.run("istft_two_sided", lambda x: (torch.istft(C(x), 8, 2, onesided=False),
                                    torch.istft(C(x), 8, 3, center=False, onesided=False, length=40)),
      torch.randn(8, 6, 2))
RULES = ("linear", "lower", "higher", "midpoint", "nearest")
holes = torch.randn(4, 9)
holes[holes.abs() < 0.3] = float("nan")
holes[1] = float("nan")
for name, x in (("quantile_rules", torch.randn(4, 9)), ("nanquantile", holes)):
    q = torch.nanquantile if name == "nanquantile" else torch.quantile
    f.run(name, lambda x: tuple(q(x, 0.3, 1, interpolation=r) for r in RULES) +
          tuple(q(x, 0.5, 0, keepdim=True, interpolation=r) for r in RULES), x, grads=q == torch.quantile)
f.run("nanquantile_grad", lambda x: (torch.nanquantile(x, 0.3, 1), torch.nanquantile(x, 0.9, 0)),
      torch.where(torch.rand(4, 9) < 0.2, torch.nan, torch.randn(4, 9)))
f.run("combinations", lambda x: (torch.combinations(x), torch.combinations(x, 3), torch.combinations(x, 1),
                                 torch.combinations(x, 3, True), torch.combinations(x, 5, True)), torch.randn(5))
f.run("combinations_none", lambda x: torch.combinations(x, 4), torch.randn(3), grads=False)
at, values = torch.tensor([[3, -1], [0, 7]]), torch.randn(2, 2)
f.run("put", lambda x, i, v: (torch.Tensor.put(x, i, v), torch.Tensor.put(x, i, v, accumulate=True)),
      torch.randn(3, 4), at, values)
f.run("unravel_index", lambda i: torch.unravel_index(i, (4, 3, 5)), torch.randint(0, 60, (3, 4)), grads=False)
list_, pieces = torch.tensor([2, 0, 2, 3, 2]), torch.randn(3, 5, 2)
pieces[0, 2, 1] = pieces[1, 0, 0] = pieces[2, 2, 0] = pieces[2, 4, 0] = 0  # one zero, and two at one place
whole = torch.randn(3, 4, 2)
for how in ("prod", "mean", "amax", "amin"):
    for with_self in (True, False):
        # PyTorch has no first gradient where two zeros meet: the numbers are the same, the gradient is 0
        f.run(f"index_reduce_{how}_{int(with_self)}",
              lambda x, i, u: x.index_reduce(1, i, u, how, include_self=with_self), whole, list_,
              pieces if how != "prod" else torch.where(torch.arange(3)[:, None, None] == 2, pieces + 0.5, pieces))
i8 = torch.tensor([[3, -7, 5], [2, 9, -4]])
f.run("index_reduce_ints", lambda x, i, u: tuple(x.index_reduce(0, i, u, h) for h in ("prod", "mean", "amax", "amin")),
      i8, torch.tensor([1, 1, 0]), torch.tensor([[2, -5, 5], [1, 10, -4], [6, -8, 0]]), grads=False)
f.run("scatter_prod", lambda x, i, u: (x.scatter_reduce(1, i, u, "prod"),
                                      x.scatter_reduce(1, i, u, "prod", include_self=False)),
      torch.randn(3, 4), torch.tensor([[0, 0, 2], [1, 1, 1], [3, 2, 0]]), torch.randn(3, 3))
odd = torch.tensor([0.0, -0.0, 1.0, -3.5, 1e-40, -1e-45, 3e38, float("inf"), float("-inf"), 0.4999999])
f.run("frexp", torch.frexp, odd, grads=False)
f.run("frexp_f64", torch.frexp, torch.tensor([0.0, 5e-324, -1e-310, 1.7e308, 0.1], dtype=torch.float64), grads=False)
f.run("frexp_f16", torch.frexp, torch.tensor([0.0, 6e-8, -65504.0, 0.3]).half(), grads=False)
f.run("frexp_grad", lambda x: torch.frexp(x).mantissa, torch.tensor([0.3, -5.0, 1e30, 2e-38, 0.0]))
w = torch.signal.windows
f.run("windows", lambda: (torch.hann_window(7), torch.hamming_window(6, False), torch.hamming_window(6, True, 0.6, 0.4),
                          torch.blackman_window(9), torch.bartlett_window(8), torch.bartlett_window(7, False),
                          torch.kaiser_window(10), torch.kaiser_window(9, False, 6.5), torch.kaiser_window(1),
                          w.cosine(6), w.cosine(7, sym=False), w.gaussian(9, std=2.5),
                          w.gaussian(8, std=0.7, sym=False), w.exponential(9, tau=3.0), w.exponential(8, sym=False),
                          w.nuttall(12), w.nuttall(7, sym=False)),
      grads=False)
f.run("windows_f64", lambda: (w.kaiser(9, beta=8.0, dtype=torch.float64), w.gaussian(9, dtype=torch.float64),
                              w.nuttall(9, dtype=torch.float64)), grads=False)
f.run("fake_quantize", lambda x: (torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15),
                                  torch.fake_quantize_per_tensor_affine(x, 0.03, 0, -128, 127)), torch.randn(4, 6))
f.run("fake_quantize_channels", lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7),
      torch.randn(4, 3, 2), torch.tensor([0.1, 0.25, 0.5]), torch.tensor([0, 2, -3], dtype=torch.int32), skip_grad=(1,))
# the first of several numbers that have defaults
f.run("one_given", lambda x: (F.hardtanh(x, -0.3), torch.diff(x, 2), torch.trapezoid(x, dx=0.5),
                              torch.cumulative_trapezoid(x, dx=0.5), torch.rot90(x, 3), torch.diagonal(x, 1),
                              F.rrelu(x, 0.05), torch.diagonal(torch.stack((x, x + 1)), 0, 2)), torch.randn(4, 5))
f.save()
