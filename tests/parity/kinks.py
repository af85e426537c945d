"""Losses, distances and reductions at the places where they have no slope: inputs drawn from a few numbers, so that
elements lie on a margin, a bound or a kink, or tie with one another. The gradients are PyTorch's choice there.
Functions of one element have theirs in edges.py."""
import torch
from torch.nn import functional as F

from parity import File

f = File("kinks")
D = torch.float64
draws = torch.Generator().manual_seed(3)


def grid(*shape, of=(-1, -0.5, 0, 0.5, 1, 2)):
    return torch.tensor(of, dtype=D)[torch.randint(len(of), shape, generator=draws)]


def signs(*shape):
    return grid(*shape, of=(-1, 1))


def classes(c, *shape):
    return torch.randint(c, shape, generator=draws)


def two(name, fn, x=None, y=None, skip=()):
    f.run(name, fn, grid(24) if x is None else x, grid(24) if y is None else y, skip_grad=skip)


none = dict(reduction="none")
two("l1", lambda x, y: F.l1_loss(x, y, **none))
two("mse", lambda x, y: F.mse_loss(x, y, **none))
for beta, name in ((0, "0"), (0.5, "half"), (1, "1")):
    two(f"smooth_l1_{name}", lambda x, y, beta=beta: F.smooth_l1_loss(x, y, beta=beta, **none))
for delta, name in ((0.5, "half"), (1, "1")):
    two(f"huber_{name}", lambda x, y, delta=delta: F.huber_loss(x, y, delta=delta, **none))
for margin, name in ((0, "0"), (0.5, "half"), (1, "1")):
    two(f"hinge_{name}", lambda x, y, m=margin: F.hinge_embedding_loss(x, y, margin=m, **none), y=signs(24), skip=(1,))
    f.run(f"ranking_{name}", lambda x, y, k, m=margin: F.margin_ranking_loss(x, y, k, margin=m, **none), grid(24),
          grid(24), signs(24), skip_grad=(2,))
    for p in 1, 2:
        f.run(f"multi_margin_{p}_{name}", lambda x, t, m=margin, p=p: F.multi_margin_loss(x, t, p=p, margin=m, **none),
              grid(8, 4), classes(4, 8))
f.run("multi_margin_weights", lambda x, t, w: F.multi_margin_loss(x, t, weight=w, **none), grid(8, 4), classes(4, 8),
      torch.tensor([1, 2, 0.5, 0], dtype=D), skip_grad=(2,))
labels = classes(4, 8, 4)
labels[torch.arange(8), torch.tensor([1, 2, 3, 1, 2, 3, 1, 0])] = -1
f.run("multilabel_margin", lambda x, t: F.multilabel_margin_loss(x, t, **none), grid(8, 4), labels)
two("soft_margin", lambda x, y: F.soft_margin_loss(x, y, **none), y=signs(24), skip=(1,))
f.run("cosine_embedding", lambda x, y, k: F.cosine_embedding_loss(x, y, k, **none),
      torch.tensor([[1, 0], [0, 2], [1, 1], [0, 0]], dtype=D), torch.tensor([[0, 1], [3, 0], [-1, 1], [1, 0]], dtype=D),
      torch.tensor([-1, -1, -1, -1], dtype=D), skip_grad=(2,))
for p, name in ((1, "1"), (2, "2"), (float("inf"), "inf")):
    f.run(f"triplet_{name}", lambda a, b, c, p=p: F.triplet_margin_loss(a, b, c, margin=1, p=p, eps=0, **none),
          grid(12, 3), grid(12, 3), grid(12, 3))
    f.run(f"triplet_swap_{name}",
          lambda a, b, c, p=p: F.triplet_margin_loss(a, b, c, margin=1, p=p, eps=0, swap=True, **none), grid(12, 3),
          grid(12, 3), grid(12, 3))
    two(f"pairwise_{name}", lambda x, y, p=p: F.pairwise_distance(x, y, p, 0), grid(8, 3), grid(8, 3))
    if name != "inf":  # PyTorch's gives each of the largest the whole gradient, its other norms a share
        two(f"cdist_{name}", lambda x, y, p=p: torch.cdist(x, y, p), grid(4, 3), grid(5, 3))
    f.run(f"norm_{name}", lambda x, p=p: torch.linalg.vector_norm(x, p, dim=1), grid(12, 3, of=(0, 0, 1, -1)))
    f.run(f"normalize_{name}", lambda x, p=p: F.normalize(x, p, 1), grid(12, 3, of=(0, 0, 1, -1)))
f.run("pdist", lambda x: F.pdist(x), grid(6, 3, of=(0, 1)))
f.run("cosine_similarity", lambda x, y: F.cosine_similarity(x, y), grid(12, 2, of=(0, 0, 1)), grid(12, 2, of=(0, 0, 1)))
two("clamp_tensors", lambda x, y: torch.clamp(x, y, torch.full_like(y, 0.5)))
f.run("clamp_three", lambda x, lo, hi: torch.clamp(x, lo, hi), grid(24), grid(24), grid(24))
two("maximum", torch.maximum)
two("minimum", torch.minimum)
two("fmax", torch.fmax)
two("fmin", torch.fmin)
two("hypot", torch.hypot)
two("logaddexp", torch.logaddexp)
two("remainder", torch.remainder, y=grid(24, of=(-1, 0.5, 1, 2)), skip=(1,))
two("fmod", torch.fmod, y=grid(24, of=(-1, 0.5, 1, 2)), skip=(1,))
x = grid(6, 5)
f.run("amax", lambda t: (t.amax(1), t.amin(0), t.amax((0, 1))), x)
f.run("max_whole", lambda t: (t.max(), t.min()), x)
f.run("cummax", lambda t: (t.cummax(1)[0], t.cummin(1)[0]), x)
f.run("median_axis", lambda t: t.quantile(0.5, 1), x)
f.run("std_of_equal", lambda t: t.std(1), torch.tensor([[1.0, 1, 1], [1, 2, 1]], dtype=D))
f.run("max_pool", lambda t: F.max_pool1d(t.reshape(1, 3, 10), 2), x)
f.run("abs", lambda t: (t.abs(), t.sign()), x)
f.run("gaussian_nll", lambda t, y, v: F.gaussian_nll_loss(t, y, v, eps=0.5, **none), grid(24), grid(24),
      grid(24, of=(0.25, 0.5, 1)))
f.save()
