"""Factorisations. Signs of singular vectors and eigenvectors are free, so what is compared does not depend on them."""
import torch

from parity import File

f = File("linalg_factor")
L = torch.linalg
D = torch.float64


def svd(x, full=False):
    u, s, vh = L.svd(x, full_matrices=full)
    k = s.shape[-1]
    return u[..., :k].abs(), s, vh[..., :k, :].abs(), u[..., :k] @ vh[..., :k, :]


def eigh(x, uplo="L"):
    w, v = L.eigh(x, UPLO=uplo)
    return w, v.abs(), (v * torch.tanh(w)[..., None, :]) @ v.mT


f.run("svd_tall", svd, torch.randn(5, 3, dtype=D))
f.run("svd_wide", svd, torch.randn(2, 3, 5, dtype=D))
f.run("svd_square", svd, torch.randn(4, 4, dtype=D))
f.run("svd_full", lambda x: svd(x, True), torch.randn(6, 4, dtype=D))
f.run("svd_full_wide", lambda x: svd(x, True), torch.randn(2, 5, dtype=D))
f.run("svd_f32", svd, torch.randn(3, 4, 2) + 3 * torch.eye(4, 2))
f.run("svd_only_u", lambda x: L.svd(x, full_matrices=False)[0].abs(), torch.randn(4, 3, dtype=D))
f.run("svdvals", L.svdvals, torch.randn(3, 5, dtype=D))
f.run("eigh", lambda x: eigh(x + x.mT), torch.randn(2, 4, 4, dtype=D))
f.run("eigh_f32", lambda x: eigh(x + x.mT), torch.randn(5, 5))
f.run("eigh_lower", eigh, torch.randn(4, 4, dtype=D))
f.run("eigh_upper", lambda x: eigh(x, "U"), torch.randn(4, 4, dtype=D))
f.run("eigvalsh", lambda x: L.eigvalsh(x + x.mT), torch.randn(3, 3, dtype=D))
f.run("qr_tall", L.qr, torch.randn(2, 5, 3, dtype=D))
f.run("qr_square", L.qr, torch.randn(4, 4))
f.run("qr_wide", L.qr, torch.randn(3, 5, dtype=D))
f.run("qr_wide_complete", lambda x: L.qr(x, mode="complete"), torch.randn(3, 4, dtype=D))
f.run("qr_only_r", lambda x: L.qr(x)[1], torch.randn(4, 3, dtype=D))
f.run("qr_complete", lambda x: L.qr(x, mode="complete"), torch.randn(5, 3, dtype=D), grads=False)
# derivatives of derivatives: the norm of a gradient
x = torch.randn(4, 3, dtype=D)


def second(fn):
    def run(x):
        g, = torch.autograd.grad(fn(x), x, create_graph=True)
        return g, (g * g).sum()
    return run


f.run("svd_second", second(lambda x: (L.svd(x, full_matrices=False)[0].abs() ** 3).sum() + L.svdvals(x).prod()), x)
f.run("qr_second", second(lambda x: (L.qr(x)[0] ** 3).sum() + L.qr(x)[1].sin().sum()), x)
f.run("eigh_second", second(lambda x: (L.eigh(x.mT @ x)[1].abs() ** 3).sum() + L.eigh(x.mT @ x)[0].log().sum()), x)
# LU, eigenvalues of general matrices, reflectors, the exponential, tensors as matrices.
def wide(*dims):
    return torch.randn(*dims, dtype=D)


def eig(x):
    """Phases of vectors are free."""
    w, v = L.eig(x)
    order = torch.argsort(w.real + 0.1 * w.imag, dim=-1)
    w, v = w.gather(-1, order), v.gather(-1, order[..., None, :].expand(v.shape))
    return w.real, w.imag, v.abs()


def lu_solved(x, y):
    lu, p = L.lu_factor(x)
    return L.lu_solve(lu, p, y)


f.run("lu_square", L.lu, wide(2, 4, 4))
f.run("lu_tall", L.lu, wide(5, 3))
f.run("lu_wide", L.lu, wide(2, 3, 5))
f.run("lu_f32", L.lu, torch.randn(4, 4))
f.run("lu_solve", lu_solved, wide(2, 4, 4), wide(2, 4, 3))
f.run("eig", eig, wide(2, 5, 5))
f.run("eigvals", lambda x: (lambda w: (w.real.sort()[0], w.imag.sort()[0]))(L.eigvals(x)), wide(4, 4))
f.run("householder", L.householder_product, wide(2, 5, 3), torch.rand(2, 3, dtype=D))
f.run("householder_few", L.householder_product, wide(5, 4), torch.rand(2, dtype=D))
f.run("matrix_exp", torch.matrix_exp, wide(2, 4, 4) * torch.tensor([0.1, 3.0], dtype=D)[:, None, None])
f.run("matrix_exp_f32", torch.matrix_exp, torch.randn(3, 3))
f.run("tensorinv", lambda x: L.tensorinv(x, ind=1), wide(6, 2, 3))
f.run("tensorsolve", L.tensorsolve, wide(2, 3, 6), wide(2, 3))
big = torch.eye(70, dtype=D) * 4 + wide(70, 70) / 4
f.run("large_solve", lambda x: L.solve(big, x), wide(70, 2))
f.run("large_det", lambda x: (torch.det(x.expand(70, 70) + 0 * big + big),), torch.rand(1, dtype=D))
f.run("large_slogdet", lambda x: L.slogdet(big * x)[1], torch.rand(1, dtype=D) + 0.5)
f.put("large_solve/m", big)
f.save()
