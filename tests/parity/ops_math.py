"""Elementwise functions and activations."""
import torch
from torch.nn import functional as F

from parity import File

f = File("ops_math")
nan, inf = float("nan"), float("inf")
x = torch.randn(3, 4)
one = torch.tanh(torch.randn(3, 4)) * 0.95
pos = torch.rand(3, 4) * 4 + 0.1
edges = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.5, -2.5])
wide = torch.cat([torch.linspace(-6, 6, 25), torch.tensor([-30.0, 30.0])])
for name in ["acos", "asin", "atanh"]:
    f.run(name, getattr(torch, name), one)
f.run("acosh", torch.acosh, pos + 1)
for name in ["asinh", "atan", "cosh", "sinh", "tan", "exp2", "frac", "deg2rad", "rad2deg"]:
    f.run(name, getattr(torch, name), x * 2)
for name in ["log2", "log10", "reciprocal"]:
    f.run(name, getattr(torch, name), pos)
f.run("erf", torch.erf, wide / 2)
f.run("erfc", torch.erfc, wide / 2)
f.run("erfinv", torch.erfinv, one)
f.run("lgamma", torch.lgamma, torch.cat([pos.flatten(), torch.tensor([-0.7, -1.3, -2.5, 12.0])]))
f.run("digamma", torch.digamma, torch.cat([pos.flatten(), torch.tensor([-0.7, -1.3, 12.0])]))
f.run("polygamma", lambda t: torch.polygamma(2, t), pos)
f.run("sinc", torch.sinc, torch.cat([x.flatten(), torch.zeros(1)]))
f.run("logit", torch.logit, torch.rand(3, 4) * 0.9 + 0.05)
f.run("trunc", torch.trunc, x * 2, grads=False)  # a derivative of zero is no gradient here
f.run("sign", torch.sign, edges, grads=False)
f.run("tests", lambda t: (t.isnan(), t.isinf(), t.isposinf(), t.isneginf(), t.isfinite(), t.signbit()),
      torch.cat([edges, -edges[:1]]), grads=False)
f.run("nan_to_num", torch.nan_to_num, edges, grads=False)
f.run("nan_to_num_with", lambda t: torch.nan_to_num(t, 1.0, 2.0, -3.0), edges)
f.run("int_unary", lambda t: (torch.acos(t), torch.trunc(t), torch.bitwise_not(t), torch.isnan(t), torch.reciprocal(t)),
      torch.tensor([1, -1], dtype=torch.int32), grads=False)

f.run("gelu_erf", F.gelu, wide)
for name in ["hardsigmoid", "hardswish", "hardtanh", "relu6", "selu", "softsign", "mish", "logsigmoid", "tanhshrink"]:
    f.run(name, getattr(F, name), wide)
f.run("elu", lambda t: F.elu(t, 0.7), wide)
f.run("celu", lambda t: F.celu(t, 1.3), wide)
f.run("leaky_relu", lambda t: F.leaky_relu(t, 0.1), wide)
f.run("softplus", F.softplus, wide)
f.run("softplus_beta", lambda t: F.softplus(t, 2, 3), wide)
f.run("hardshrink", lambda t: F.hardshrink(t, 0.5), wide)
f.run("softshrink", lambda t: F.softshrink(t, 0.5), wide)
f.run("threshold", lambda t: F.threshold(t, 0.1, 20), wide)
f.run("glu", F.glu, torch.randn(2, 3, 4))
f.run("glu0", lambda t: F.glu(t, 0), torch.randn(4, 3))
f.run("prelu", F.prelu, torch.randn(2, 3, 4), torch.randn(3))
f.run("prelu_one", F.prelu, torch.randn(5), torch.randn(1))
f.run("softmin", lambda t: F.softmin(t, 1), x)

a, b = torch.randn(3, 4), torch.randn(1, 4)
f.run("atan2", torch.atan2, a, b)
f.run("hypot", torch.hypot, torch.cat([a.flatten(), torch.tensor([3e30, 1.0])]),
      torch.cat([torch.randn(12), torch.tensor([4e30, 1.0])]))
f.run("copysign", torch.copysign, a, b, skip_grad=(1,))
f.run("fmod", torch.fmod, a * 5, b)
num, den = torch.tensor([7.0, -7.0, 7.0, -7.0, 1.0, 0.3, -0.3, 9.0]), torch.tensor([2.0, 2.0, -2.0, -2.0, 0.1, 0.1, 0.1,
        -3.0])
f.run("floor_divide", lambda p, q: (torch.floor_divide(p, q), torch.remainder(p, q), torch.fmod(p, q)), num, den,
      grads=False)
f.run("floor_divide_int", lambda p, q: (torch.floor_divide(p, q), torch.remainder(p, q), torch.fmod(p, q)),
      torch.tensor([7, -7, 7, -7, 6, 0]), torch.tensor([2, 2, -2, -2, 3, 5], dtype=torch.int32), grads=False)
f.run("logaddexp", torch.logaddexp, a * 3, b)
e1, e2 = torch.tensor([inf, -inf, inf, -inf, 80.0, 1.0]), torch.tensor([inf, -inf, -inf, 1.0, -90.0, nan])
f.run("logaddexp_edges", lambda p, q: (torch.logaddexp(p, q), torch.logaddexp2(p, q)), e1, e2, grads=False)
f.run("logaddexp2", torch.logaddexp2, a, b)
f.run("xlogy", torch.xlogy, torch.cat([torch.zeros(2), torch.randn(3)]), torch.tensor([2.0, 0.5, 1.0, 2.0, 3.0]))
f.run("xlogy_edges", lambda p, q: (torch.xlogy(p, q), torch.special.xlog1py(p, q)), torch.zeros(5),
      torch.tensor([0.0, inf, nan, -1.0, 2.0]), grads=False)
f.run("xlog1py", torch.special.xlog1py, torch.randn(4), torch.rand(4))
f.run("heaviside", torch.heaviside, edges, torch.tensor(0.5), grads=False)
m1, m2 = torch.tensor([nan, 1.0, nan, 2.0, -0.0]), torch.tensor([1.0, nan, nan, 3.0, 1.0])
f.run("extremes", lambda p, q: (torch.maximum(p, q), torch.minimum(p, q), torch.fmax(p, q), torch.fmin(p, q)), m1, m2,
      grads=False)
f.run("maximum", lambda p, q: (torch.maximum(p, q), torch.minimum(p, q)), torch.tensor([1.0, 2.0, 3.0]),
      torch.tensor([1.0, 3.0, 2.0]))
f.run("ldexp", torch.ldexp, a, torch.tensor([1.0, -2.0, 3.0, 0.0]), skip_grad=(1,))
f.run("nextafter", torch.nextafter, torch.tensor([1.0, 1.0, 0.0, -1.0]), torch.tensor([2.0, 0.0, 1.0, -1.0]),
      grads=False)
i1, i2 = torch.tensor([12, -7, 255, 1 << 20], dtype=torch.int32), torch.tensor([10, 3, -1, 5], dtype=torch.int32)
f.run("bits", lambda p, q: (p & q, p | q, p ^ q), i1, i2, grads=False)
f.run("shifts", lambda p, q: (p << q, p >> q), i1, torch.tensor([1, 3, 0, 10], dtype=torch.int32), grads=False)
t1, t2 = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
f.run("bits_bool", lambda p, q: (p & q, p | q, torch.logical_xor(p, q), torch.bitwise_not(p)), t1, t2, grads=False)
f.run("promote", lambda p, q: (torch.atan2(p, q), torch.copysign(p, p), torch.logical_xor(p, q), torch.fmax(p, q)),
      torch.tensor([1, -2, 0], dtype=torch.int16), torch.tensor([3, 1, 0], dtype=torch.uint8), grads=False)
f.run("lerp", lambda p, q, w: (torch.lerp(p, q, w), torch.lerp(p, q, 0.3)), a, torch.randn(3, 4), torch.rand(4))
f.run("addcmul", lambda p, q, r: (torch.addcmul(p, q, r, value=0.5), torch.addcdiv(p, q, r, value=-2)), a, b,
      torch.rand(3, 1) + 0.5)
f.run("addcmul_int", lambda p, q, r: torch.addcmul(p, q, r, value=3), i1, i2, i2, grads=False)
lo, hi = torch.tensor([-0.5, 0.0, 1.0, -1.0]), torch.tensor([[0.5], [0.25], [2.0]])
f.run("clamp_tensor", lambda p, q, r: torch.clamp(p, q, r), a, lo, hi)
f.run("clamp_low", lambda p, q: torch.clamp(p, min=q), a, lo)
f.run("clamp_high", lambda p, q: torch.clamp(p, max=q), a, lo)
c1, c2 = torch.tensor([1.0, nan, inf, -inf, 1.0, 100.0]), torch.tensor([1.00001, nan, inf, inf, 1.05, 109.0])
f.run("isclose", lambda p, q: (torch.isclose(p, q), torch.isclose(p, q, rtol=0.1, equal_nan=True),
                               torch.tensor(torch.allclose(p, q)), torch.tensor(False)), c1, c2, grads=False)
f.run("scalars", lambda p: (p / 3, 2 - p), a)
h, g = torch.randn(64).bfloat16(), (torch.rand(64) + 0.1).bfloat16()
half = torch.tensor(0.5, dtype=torch.bfloat16)
f.run("narrow", lambda t: (F.gelu(t), F.softplus(t), F.mish(t), F.silu(t), torch.logaddexp(t, -t), F.elu(t),
                           F.gelu(t, approximate="tanh"), torch.atan2(t, half)), h, grads=False)
f.run("narrow3", lambda t, u: (torch.lerp(t, u, 0.3), torch.addcmul(t, u, u, value=0.5), torch.log2(u), F.glu(t),
                               t * 0.3, t + 0.3, t / 0.3), h, g, grads=False)

z = torch.tensor([0.0, 0.0, 2.0, -2.0, 3.0, 0.0])
f.run("pow_edges", torch.pow, z, torch.tensor([2.0, 0.0, 3.0, 2.0, -1.0, 0.5]), skip_grad=(1,))
f.run("pow_exponent", torch.pow, torch.tensor([0.0, 0.0, 2.0, 3.0]), torch.tensor([2.0, 0.0, 3.0, -1.0]))
q = torch.tensor([0.0, 1.0, 2.0, 0.5])
f.run("pow_scalar", lambda t: (t ** 2, t ** 3, t ** 0, t ** 1, t ** 2.5), q)
f.run("pow_negative", lambda t: (t ** -1, t ** -0.5, t.rsqrt(), t.sqrt()), q[1:])
f.run("remainder", torch.remainder, torch.tensor([7.3, -7.3, 7.3, -7.3]), torch.tensor([2.0, 2.0, -2.0, -2.0]))
f.run("kinks", lambda t: (t.abs(), t.relu(), t.clamp(-1, 1), F.silu(t), F.gelu(t, approximate="tanh"), t.square()),
      torch.tensor([-1.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.0]))
f.run("broadcast", lambda t, u: (t + u, t - u, t * u, t / u, torch.where(t > 0, t, u)), torch.randn(2, 1, 3),
      torch.rand(4, 1) + 0.5)
f.run("core_int", lambda t, u: (t / u, t * u, t ** 2, t + 0.5, -u, torch.maximum(t, u), t < u, u.exp()),
      torch.tensor([3, -4, 5]), torch.tensor([2, 3, -7], dtype=torch.int16), grads=False)
vals = [torch.tensor([1.5, 2.5], dtype=d)
        for d in (torch.float16, torch.bfloat16)] + [torch.tensor([1, 2], dtype=torch.uint8),
                                                     torch.tensor(3, dtype=torch.int64),
                                                     torch.tensor(0.5, dtype=torch.float64)]
f.run("wide_promotion", lambda a, b, c, d, e: (a + b, a * c, c + d, b + d, e + c, a + e), *vals, grads=False)
f.save()
