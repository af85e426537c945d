"""Reductions, scans and sorting."""
import torch

from parity import File

f = File("ops_reduce")
nan, inf = float("nan"), float("inf")
x = torch.randn(2, 3, 4)
m = torch.randn(4, 5)
f.run("sum", lambda t: (t.sum((0, -1)), t.sum(1, keepdim=True), t.sum((0, 1, 2), keepdim=True)), x)
f.run("mean", lambda t: (t.mean((0, -1)), t.mean(1, keepdim=True)), x)
f.run("prod", lambda t: (t.prod(1), t.prod()), m)
f.run("prod_zeros", lambda t: t.prod(1), torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]]))
f.run("extremes", lambda t: (t.amax((0, 2)), t.amin(-1, keepdim=True)), x)
ties = torch.tensor([[1.0, 2.0, 2.0], [1.0, 0.0, 2.0]])
f.run("extremes_ties", lambda t: (t.amax(0), t.amin(1)), ties)
f.run("extremes_nan", lambda t: (t.amax(1), t.amin(1), t.argmax(1), t.argmin(1)),
      torch.tensor([[1.0, nan, 3.0], [2.0, 1.0, 2.0]]), grads=False)
w = torch.tensor([[1, -2, 0], [3, 0, 0]], dtype=torch.int32)
f.run("whole_numbers", lambda t: (t.sum(0), t.prod(1), t.amax(0), t.any(0), t.all(0, keepdim=True), t.count_nonzero(1),
                                  t.sum(0, dtype=torch.float32), t.cumsum(1)), w, grads=False)
b = torch.tensor([[True, False], [True, True]])
f.run("truth", lambda t: (t.sum(0), t.prod(), t.any(), t.all(), t.count_nonzero(), t.cumsum(0), t.int().argmax(1),
                          t.amax(1)), b, grads=False)
f.run("empty", lambda t: (t.sum(0), t.prod(0), t.mean(0), t.all(0), t.any(0), t.logsumexp(0), t.var(0)),
      torch.zeros(0, 2), grads=False)
h = torch.randn(3, 40).to(torch.bfloat16)
f.run("half", lambda t: (t.sum(1), t.mean(), t.float().logsumexp(1).to(t.dtype)), h, grads=False)
f.run("logsumexp", lambda t: (t.logsumexp((0, 1)), t.logsumexp((0, 1, 2)), t.logsumexp(2, keepdim=True)), x)
f.run("logsumexp_edges", lambda t: t.logsumexp(1),
      torch.tensor([[-inf, -inf], [inf, 1.0], [-inf, 2.0], [nan, 1.0], [1000.0, 1000.0]]), grads=False)
f.run("var", lambda t: (t.var(), t.std(), t.var((0, 1), correction=0), t.std(2, keepdim=True), t.var(2, correction=2)),
      x)
f.run("std_flat", lambda t: t.std(1), torch.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]]))
f.run("var_one", lambda t: (t.var(), t.std(0, correction=0)), torch.tensor([3.0]), grads=False)
ln = torch.linalg.vector_norm
f.run("norm", lambda t: (ln(t), ln(t, 1, (0, 2)), ln(t, 3, 1, keepdim=True), ln(t, inf, 1), ln(t, -inf, 1),
                         ln(t, 0.5, 1)), x)
f.run("norm_zero", lambda t: (ln(t, 2, 1), ln(t, 0, 1).detach()), torch.tensor([[0.0, 0.0], [3.0, 4.0]]))


def flat(*pairs):
    return tuple(t for p in pairs for t in p)


f.run("max_with_index", lambda t: flat(t.max(1), t.min(-1)), x)
f.run("max_ties", lambda t: flat(t.max(1), t.min(0)), ties)

f.run("nan", lambda t: (t.nansum(0), t.nanmean(1, keepdim=True)), torch.tensor([[1.0, nan, 3.0], [2.0, 5.0, nan]]))
f.run("normalize", lambda t: (torch.nn.functional.normalize(t), torch.nn.functional.normalize(t, 1, -1)), x)
f.run("cov", lambda t: (t.cov(), t.corrcoef(), torch.trapezoid(t, dx=0.5, dim=1)), m)
f.run("cumsum", lambda t: (t.cumsum(0), t.cumsum(-1)), x)
f.run("cumprod", lambda t: t.cumprod(1), m)
f.run("cumprod_zeros", lambda t: t.cumprod(0), torch.tensor([2.0, 0.0, 3.0, 0.0, 4.0]))
f.run("logcumsumexp", lambda t: t.logcumsumexp(1), m)
f.run("logcumsumexp_edges", lambda t: t.logcumsumexp(0), torch.tensor([-inf, -inf, 1.0, 100.0, -inf]), grads=False)
f.run("cummax", lambda t: flat(t.cummax(1), t.cummin(0)), m)
f.run("cummax_edges", lambda t: flat(t.cummax(0), t.cummin(0)), torch.tensor([1.0, 1.0, 0.0, 0.0, 3.0, nan, 2.0, nan]),
      grads=False)
f.run("diff_away", lambda t: (t.diff(n=9, dim=0), t.diff(dim=0)), torch.zeros(1, 2), grads=False)
f.run("diff", lambda t: (t.diff(), t.diff(n=2, dim=0)), m)

f.run("sort", lambda t: flat(t.sort(-1), t.sort(0, descending=True)), m)
f.run("sort_edges", lambda t: flat(t.sort(stable=True), t.sort(stable=True, descending=True),
                                   (t.argsort(stable=True), t.argsort(stable=True, descending=True))),
      torch.tensor([1.0, nan, -0.0, 0.0, inf, -nan, -inf, 0.0, 1.0, -0.0]), grads=False)
f.run("sort_whole", lambda t: flat(t.sort(stable=True), t.sort(stable=True, descending=True)),
      torch.tensor([3, -1, 3, 0, -1, 7]), grads=False)
f.run("topk", lambda t: flat(t.topk(2, 1), t.topk(3, 0, largest=False)), m)
f.run("kthvalue", lambda t: t.kthvalue(2, 1), m)
f.run("median", lambda t: (t.median(), *t.median(1)), m)
f.run("median_nan", lambda t: (t.median(), *t.median(1)), torch.tensor([[1.0, 5.0, nan, 2.0], [4.0, 3.0, 2.0, 1.0]]),
      grads=False)
f.run("quantile", lambda t: (t.quantile(0.3, 1), t.quantile(1.0, 0), t.quantile(0.5, -1)), m)
f.run("quantile_nan", lambda t: t.quantile(0.3, 1), torch.tensor([[1.0, nan], [2.0, 4.0]]), grads=False)
s = torch.tensor([1.0, 2.0, 2.0, 5.0])
f.run("searchsorted", lambda p, q: (torch.searchsorted(p, q), torch.searchsorted(p, q, right=True)), s,
      torch.tensor([[2.0, 0.0, nan], [6.0, 5.0, 3.0]]), grads=False)
f.run("searchsorted_rows", torch.searchsorted, torch.tensor([[1, 3, 5], [2, 4, 6]]), torch.tensor([[3, 6], [3, 6]]),
      grads=False)
f.run("bincount", lambda p, q: (p.bincount(minlength=6), p.bincount(q, minlength=6)), torch.tensor([1, 5, 1, 0]),
      torch.tensor([0.5, 1.0, 2.0, 3.0]), grads=False)
f.run("nanmedian", lambda t: (*flat(t.nanmedian(1), t.nanmedian(0)), t.nanmedian()),
      torch.tensor([[1.0, 5.0, nan, 2.0], [4.0, nan, nan, 1.0], [0.0, 3.0, 7.0, 6.0]]))
f.run("renorm", lambda t: (t.renorm(2, 0, 1.5), t.renorm(1, 1, 3), torch.cumulative_trapezoid(t, dx=0.5)), m)
f.run("cov_one", lambda t: (t.cov(), t.corrcoef()), torch.randn(5))
f.save()
