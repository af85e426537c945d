"""Linear algebra, attention, complex numbers and Fourier transforms."""
import torch
from torch.nn import functional as F

from parity import File

f = File("ops_linalg")
E = torch.einsum
f.run("einsum2", lambda p, q: (E("bij,bjk->bik", p, q), E("bij,bjk", p, q), E("bij,bjk->", p, q),
                               E(" bij , bjk -> kbi ", p, q)), torch.randn(2, 3, 4), torch.randn(2, 4, 5))
f.run("einsum1", lambda t: (E("ii->i", t), E("ii", t), E("ij->ji", t), E("ij->j", t), E("ba", t), E("ij->ij", t)),
      torch.randn(3, 3))
f.run("einsum3", lambda p, q, r: (E("ij,jk,kl->il", p, q, r), E("ij,jk,kl->ijl", p, q, r), E("ij,kj,lj->ikl", p, p, p)),
      torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 2))
f.run("einsum_dots", lambda p, q: (E("...ij,...jk->...ik", p, q), E("...ij,...jk", p, q),
                                   E("b...j,...jk->bk...", p, q)), torch.randn(2, 3, 4), torch.randn(1, 4, 3))
f.run("einsum_broadcast", lambda p, q: (E("ij,ij->ij", p, q), E("ij,ij->i", p, q), E("ij,kj->ik", p, q)),
      torch.randn(3, 4), torch.randn(1, 4))
f.run("tensordot", lambda p, q: (torch.tensordot(p, q, ([1, 2], [0, 1])), torch.tensordot(p, q, ([2], [1]))),
      torch.randn(2, 3, 4), torch.randn(3, 4, 5))
f.run("products", lambda p, q, v: (p @ q, p @ v, v @ v, torch.outer(v, v), torch.kron(p, q), torch.kron(v, p)),
      torch.randn(2, 3), torch.randn(3, 2), torch.randn(3))
f.run("bmm", lambda p, q, c: (p.bmm(q), torch.baddbmm(c, p, q, alpha=2, beta=0.5)), torch.randn(2, 3, 4),
      torch.randn(2, 4, 2), torch.randn(2, 3, 2))
f.run("addmm", lambda c, p, q: (torch.addmm(c, p, q), torch.addmm(c, p, q, alpha=0.5, beta=-1), p @ q), torch.randn(2),
      torch.randn(3, 4), torch.randn(4, 2))
f.run("cross", lambda p, q: (torch.linalg.cross(p, q), torch.linalg.cross(p, q, dim=0)), torch.randn(3, 3),
      torch.randn(3, 3))
f.run("cdist", lambda p, q: tuple(torch.cdist(p, q, n) for n in (2.0, 1.0, 3.0, float("inf"))), torch.randn(2, 3, 4),
      torch.randn(2, 5, 4))
eye = torch.eye(4)


def chol(t):
    a = t @ t.mT + eye
    return torch.linalg.cholesky(a), torch.linalg.cholesky(a).mT


f.run("cholesky", chol, torch.randn(2, 4, 4))
lower = torch.randn(4, 4) * 0.5 + 2 * eye
f.run("cholesky_solve", lambda a, b: (torch.cholesky_solve(b, a.tril()), torch.cholesky_solve(b, a.triu(), upper=True)),
      lower, torch.randn(4, 2))
T = torch.linalg.solve_triangular
f.run("triangular", lambda a, b: (T(a.tril(), b, upper=False), T(a.triu().mT, b, upper=False),
                                  T(a.tril(), b, upper=False, unitriangular=True),
                                  T(a.tril(), b.mT, upper=False, left=False)), lower, torch.randn(4, 2))
f.run("solve", lambda a, b: (torch.linalg.solve(a, b), torch.linalg.inv(a), torch.linalg.det(a),
                             *torch.linalg.slogdet(a)), torch.randn(2, 4, 4), torch.randn(2, 4, 3))
f.run("solve_vector", torch.linalg.solve, torch.randn(5, 5), torch.randn(5))
f.run("logdet", torch.logdet, lower)
P = torch.linalg.matrix_power
f.run("matrix_power", lambda t: (P(t, 3), P(t, 0), P(t, -2), P(t, 1)), torch.randn(3, 3) + 2 * torch.eye(3))

q, k, v = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 3)
A = F.scaled_dot_product_attention
f.run("sdpa", lambda q, k, v: (A(q, k, v), A(q, k, v, is_causal=True), A(q, k, v, scale=0.3)), q, k, v)
mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
f.run("sdpa_mask", lambda q, k, v, b, n: (A(q, k, v, b), A(q, k, v, n)), q, k, v, mask, torch.randn(2, 1, 1, 5))
f.run("sdpa_groups", lambda q, k, v: A(q, k, v, enable_gqa=True), torch.randn(1, 4, 3, 2), torch.randn(1, 2, 5, 2),
      torch.randn(1, 2, 5, 2))

C = torch.complex
R = torch.view_as_real
f.run("complex_parts", lambda p, q: (C(p, q).real, C(p, q).imag, C(p, q).abs(), C(p, q).angle(),
                                     R(C(p, q).conj().resolve_conj()), R(C(p, q) * C(p, q))), torch.randn(3),
                                     torch.randn(3))
f.run("polar", lambda p, q: (R(torch.polar(p, q)), q.angle().detach()), torch.rand(4) + 0.5, torch.randn(4))
Z = torch.view_as_complex
f.run("fft", lambda t: (R(torch.fft.fft(Z(t))), R(torch.fft.ifft(Z(t), dim=0)), R(torch.fft.fft(Z(t), 7, norm="ortho")),
                        R(torch.fft.ifft(Z(t), 3, norm="forward"))), torch.randn(3, 5, 2))
f.run("rfft", lambda t: (R(torch.fft.rfft(t)), R(torch.fft.rfft(t, dim=0, norm="forward")), R(torch.fft.fft(t)),
                         R(torch.fft.rfft(t, 8))), torch.randn(4, 6))
f.run("irfft", lambda t: (torch.fft.irfft(Z(t)), torch.fft.irfft(Z(t), 7, norm="ortho"), torch.fft.irfft(Z(t), dim=0)),
      torch.randn(3, 4, 2))
f.run("fftn", lambda t: (R(torch.fft.fftn(t, dim=(0, 1))), R(torch.fft.ifftn(t)), torch.fft.fftshift(t, 0),
                         torch.fft.ifftshift(t)), torch.randn(3, 5))
f.run("rfftn", lambda t: (R(torch.fft.rfftn(t, dim=(0, 1))), R(torch.fft.rfftn(t, norm="ortho")),
                          torch.fft.irfftn(torch.fft.rfftn(t, dim=(0, 1)), s=(3, 5))), torch.randn(3, 5))
S = torch.stft
f.run("stft", lambda t, w: (R(S(t, 8, window=w, return_complex=True)),
                            R(S(t, 8, 3, 6, window=torch.ones(6), center=False, return_complex=True)),
                            R(S(t, 8, 4, window=torch.ones(8), onesided=False, normalized=True, pad_mode="constant",
                                return_complex=True))), torch.randn(2, 21), torch.rand(8))
f.run("windows", lambda: (torch.hann_window(8), torch.hamming_window(7), torch.blackman_window(9, periodic=False),
                          torch.fft.fftfreq(7, 0.5), torch.fft.fftfreq(4),
                          torch.fft.rfftfreq(6, 2), torch.hann_window(1, periodic=False)), grads=False)
f.run("hfft", lambda t: (torch.fft.hfft(Z(t)), torch.fft.hfft(Z(t), 7, norm="ortho"),
                         R(torch.fft.ihfft(t[..., 0]).resolve_conj()),
                         R(torch.fft.ihfft(t[..., 1], dim=0, norm="forward").resolve_conj())), torch.randn(3, 4, 2))
f.run("cdist_zero", lambda p, q: torch.cdist(p, q, 0), torch.randint(0, 3, (2, 3, 4)).float(),
      torch.randint(0, 3, (2, 2, 4)).float(), grads=False)
f.save()
