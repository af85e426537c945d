"""Losses: forward and gradients, with every option PyTorch has, at ties and edges too."""
import torch
import torch.nn.functional as F

from parity import File

f = File("losses")
rn = torch.randn


def probs(*shape):
    return torch.rand(*shape) * 0.8 + 0.1


def ints(high, *shape, low=0):
    return torch.randint(low, high, shape)


RED = ("mean", "sum", "none")

# classes
lp, y = torch.log_softmax(rn(6, 5), 1), ints(5, 6)
yi = y.clone()
yi[1] = -100
yi[4] = 2
w = probs(5)
for r in RED:
    f.run(f"nll_{r}", lambda x, t: F.nll_loss(x, t, reduction=r), lp, yi)
    f.run(f"nll_weight_{r}", lambda x, t, k: F.nll_loss(x, t, k, ignore_index=2, reduction=r), lp, yi.abs() % 5, w,
          skip_grad=(2,))
    f.run(f"ce_{r}", lambda x, t: F.cross_entropy(x, t, reduction=r), rn(6, 5), yi)
    f.run(f"ce_smooth_{r}", lambda x, t: F.cross_entropy(x, t, reduction=r, label_smoothing=0.1), rn(6, 5), yi)
    f.run(f"ce_smooth_weight_{r}", lambda x, t, k: F.cross_entropy(x, t, k, reduction=r, label_smoothing=0.2), rn(6, 5),
          yi, w, skip_grad=(2,))
    f.run(f"ce_prob_{r}", lambda x, t: F.cross_entropy(x, t, reduction=r), rn(6, 5), torch.softmax(rn(6, 5), 1))
    f.run(f"ce_prob_smooth_weight_{r}", lambda x, t, k: F.cross_entropy(x, t, k, reduction=r, label_smoothing=0.3),
          rn(6, 5), torch.softmax(rn(6, 5), 1), w,
          skip_grad=(1, 2))
    f.run(f"multi_margin_{r}", lambda x, t: F.multi_margin_loss(x, t, reduction=r), rn(6, 5), y)
    f.run(f"multi_margin_p2_{r}", lambda x, t, k: F.multi_margin_loss(x, t, p=2, margin=0.7, weight=k, reduction=r),
          rn(6, 5), y, w, skip_grad=(2,))
f.run("nll_2d", lambda x, t: F.nll_loss(x, t), torch.log_softmax(rn(2, 5, 3, 4), 1), ints(5, 2, 3, 4))
f.run("ce_1d", lambda x, t: F.cross_entropy(x, t), rn(5), torch.tensor(3))
f.run("ce_2d", lambda x, t: F.cross_entropy(x, t, ignore_index=0, label_smoothing=0.1), rn(2, 5, 3, 4),
      ints(5, 2, 3, 4))
f.run("ce_seq", lambda x, t: F.cross_entropy(x.transpose(1, 2), t), rn(2, 3, 5), ints(5, 2, 3))
f.run("ce_square", lambda x, t: F.cross_entropy(x, t), rn(2, 4, 4), ints(4, 2, 4))
f.run("ce_prob_2d", lambda x, t: F.cross_entropy(x, t, reduction="none"), rn(2, 5, 3), torch.softmax(rn(2, 5, 3), 1))
f.run("ce_all_ignored", lambda x, t: F.cross_entropy(x, t, reduction="sum"), rn(2, 5), torch.tensor([-100, -100]))
f.run("ce_f64", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), rn(6, 5, dtype=torch.float64), y)

# pointwise
a, b = rn(4, 5) * 2, rn(4, 5)
a[0, 0] = b[0, 0]
a[0, 1] = b[0, 1] + 1
sign = ints(2, 4, 5).float() * 2 - 1
p, t = probs(4, 5), probs(4, 5)
p[0, :3] = torch.tensor([0.0, 1.0, 1e-14])
t[0, :3] = torch.tensor([1.0, 0.0, 1.0])
z = rn(4, 5) * 5
z[0, 0] = 0
big = probs(4, 5) * 6
kt = torch.softmax(rn(4, 5), 1)
kt[0, 0] = 0
pw, ew = probs(5) * 3, probs(4, 5)
for r in RED:
    f.run(f"mse_{r}", lambda x, t: F.mse_loss(x, t, reduction=r), a, b)
    f.run(f"l1_{r}", lambda x, t: F.l1_loss(x, t, reduction=r), a, b)
    f.run(f"smooth_l1_{r}", lambda x, t: F.smooth_l1_loss(x, t, reduction=r, beta=0.5), a, b)
    f.run(f"huber_{r}", lambda x, t: F.huber_loss(x, t, reduction=r, delta=0.7), a, b)
    f.run(f"bce_logits_{r}", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=r), z, t)
    f.run(f"bce_logits_w_{r}", lambda x, t, k, q: F.binary_cross_entropy_with_logits(x, t, k, pos_weight=q,
            reduction=r), z, t, ew, pw, skip_grad=(2, 3))
    f.run(f"kl_{r}", lambda x, t: F.kl_div(x, t, reduction=r), torch.log_softmax(rn(4, 5), 1), kt, skip_grad=(1,))
    f.run(f"soft_margin_{r}", lambda x, t: F.soft_margin_loss(x, t, reduction=r), z, sign, skip_grad=(1,))
    f.run(f"hinge_{r}", lambda x, t: F.hinge_embedding_loss(x, t, margin=1.5, reduction=r), z, sign, skip_grad=(1,))
    f.run(f"poisson_{r}", lambda x, t: F.poisson_nll_loss(x, t, reduction=r), b, big, skip_grad=(1,))
    f.run(f"gauss_{r}", lambda x, t, v: F.gaussian_nll_loss(x, t, v, reduction=r), a, b, probs(4, 5))
    f.run(f"mlsm_{r}", lambda x, t, k: F.multilabel_soft_margin_loss(x, t, k, reduction=r), z, ints(2, 4, 5).float(),
          probs(5), skip_grad=(1, 2))
    f.run(f"mlm_{r}", lambda x, t: F.multilabel_margin_loss(x, t, reduction=r), rn(3, 4),
          torch.tensor([[1, 3, -1, 0], [-1, 1, 2, 3], [3, 0, 1, 2]]))
f.run("smooth_l1_default", lambda x, t: F.smooth_l1_loss(x, t), a, b)
f.run("huber_default", lambda x, t: F.huber_loss(x, t), a, b)
f.run("bce", lambda x, t: F.binary_cross_entropy(x, t), p, t, skip_grad=(1,))
f.run("bce_weight", lambda x, t, k: F.binary_cross_entropy(x, t, k, reduction="none"), probs(4, 5), probs(4, 5), ew,
      skip_grad=(2,))
f.run("kl_batchmean", lambda x, t: F.kl_div(x, t, reduction="batchmean"), torch.log_softmax(rn(4, 5), 1), kt,
      skip_grad=(1,))
f.run("kl_log", lambda x, t: F.kl_div(x, t, reduction="batchmean", log_target=True), torch.log_softmax(rn(4, 5), 1),
      torch.log_softmax(rn(4, 5), 1))
f.run("poisson_full", lambda x, t: F.poisson_nll_loss(x, t, log_input=False, full=True), big, probs(4, 5) * 5,
      skip_grad=(1,))
f.run("gauss_full", lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True), a, b,
      torch.tensor([[0.5], [1e-9], [2.0], [1.0]]))
f.run("gauss_rows", lambda x, t, v: F.gaussian_nll_loss(x, t, v), a, b, probs(4))
f.run("hinge_default", lambda x, t: F.hinge_embedding_loss(x, t), z, sign, skip_grad=(1,))

# margins and distances
u, v, q = rn(4, 6), rn(4, 6), rn(4, 6)
s = torch.tensor([1.0, -1.0, 1.0, -1.0])
for r in RED:
    f.run(f"cos_emb_{r}", lambda x, y, t: F.cosine_embedding_loss(x, y, t, margin=-0.2, reduction=r), u, v, s,
          skip_grad=(2,))
    f.run(f"ranking_{r}", lambda x, y, t: F.margin_ranking_loss(x, y, t, margin=0.3, reduction=r), u[0], v[0],
          sign.flatten()[:6], skip_grad=(2,))
    f.run(f"triplet_{r}", lambda x, y, n: F.triplet_margin_loss(x, y, n, reduction=r), u, v, q)
f.run("cos_emb_default", lambda x, y, t: F.cosine_embedding_loss(x, y, t), u, v, s, skip_grad=(2,))
f.run("ranking_tie", lambda x, y, t: F.margin_ranking_loss(x, y, t), u[0], u[0].clone(), torch.ones(6), skip_grad=(2,))
f.run("triplet_p1_swap", lambda x, y, n: F.triplet_margin_loss(x, y, n, p=1, margin=0.5, swap=True), u, v, q)
f.run("triplet_p3", lambda x, y, n: F.triplet_margin_loss(x, y, n, p=3, margin=2), u, v, q)
f.run("cosine", lambda x, y: F.cosine_similarity(x, y), u, v)
f.run("cosine_axis0", lambda x, y: F.cosine_similarity(x, y, dim=0, eps=1e-3), u * 1e-4, v)

# CTC, of logits: PyTorch's gradient of log_probs is only right behind a log_softmax
def ctc(**k):
    return lambda x, y, n, m: F.ctc_loss(torch.log_softmax(x, 2), y, n, m, **k)


long = ints(6, 4, 5, low=1)
long[0] = torch.tensor([2, 2, 3, 3, 3])
lens = (long, torch.tensor([12, 10, 12, 7]), torch.tensor([5, 3, 1, 0]))
for r in RED:
    f.run(f"ctc_{r}", ctc(reduction=r), rn(12, 4, 6), *lens)
f.run("ctc_blank", ctc(blank=5), rn(8, 3, 6), ints(5, 3, 3), torch.tensor([8, 8, 5]), torch.tensor([3, 2, 3]))
f.run("ctc_impossible", ctc(reduction="none", zero_infinity=True), rn(4, 2, 6), torch.tensor([[2, 2, 2], [1, 2, 3]]),
      torch.tensor([4, 4]), torch.tensor([3, 3]))
f.save()
