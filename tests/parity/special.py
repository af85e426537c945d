"""torch.special: Bessel functions, polynomials and the incomplete gamma function. Values are PyTorch's, and
derivatives too where it has them: it has none of most Bessel functions and of polynomials. J and Y are mpmath's:
PyTorch's have nine digits beyond 5."""
import mpmath
import torch

from parity import File

f = File("special")
S = torch.special
D = torch.float64
near = torch.tensor([0.0, 1e-3, 0.3, 1, 2, 2.5, 5, 7.99, 8.01, 9.5, 20, 75, 300], dtype=D)
both = torch.cat([-near.flip(0), near])


def exact(name, fn):
    x = f.tensors[f"{name}/x0"].tolist()
    f.tensors[f"{name}/y0"] = torch.tensor([float(fn(int(name[-1]), v)) for v in x], dtype=D)


for name in ("i0", "i0e", "i1", "i1e"):
    f.run(name, getattr(S, name), both)
    f.run(name + "_f32", getattr(S, name), both[8:-4].float())
for name in ("bessel_j0", "bessel_j1", "spherical_bessel_j0"):
    f.run(name, getattr(S, name), both, grads=False)
    if name != "spherical_bessel_j0":
        exact(name, mpmath.besselj)
for name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
             "scaled_modified_bessel_k1"):
    f.run(name, getattr(S, name), near[1:], grads=False)
    f.run(name + "_f32", getattr(S, name), near[1:].float(), grads=False)
    if name.startswith("bessel"):
        exact(name, mpmath.bessely)
x = torch.linspace(-0.95, 1.3, 12, dtype=D)
for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
             "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
             "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
             "laguerre_polynomial_l", "legendre_polynomial_p"):
    inside = x[x.abs() < 0.9] if "shifted" not in name else (x[x.abs() < 0.9] + 1) / 2
    f.run(name, lambda v, fn=getattr(S, name): torch.stack([fn(v, n) for n in (0, 1, 2, 5, 9)]), inside, grads=False)
f.run("erfcx", S.erfcx, torch.tensor([-3, -0.4, 0, 0.2, 1, 4, 30, 1e5], dtype=D))
f.run("erfcx_f32", S.erfcx, torch.tensor([-3, -0.4, 0, 0.2, 1, 4, 30, 1e5]))
a, x = torch.tensor([[0.05], [0.9], [4.0], [15.0]], dtype=D), torch.tensor([0.01, 0.7, 3.5, 55, 120], dtype=D)
f.run("gammainc", S.gammainc, a, x, skip_grad=(0,))
f.run("gammaincc", S.gammaincc, a, x, skip_grad=(0,))
f.save()
