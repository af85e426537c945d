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
f.save()
