"""Reading and writing at indices."""
import torch
from torch.nn import functional as F

from parity import File

f = File("ops_index")
x = torch.randn(3, 4)
i = torch.tensor([[0, 2, 1, 0], [2, 1, 0, 0], [1, 1, 1, 2]])
f.run("gather", lambda t, k: (t.gather(1, k), t.gather(0, k)), x, i)
f.run("gather_small", lambda t, k: t.gather(-1, k), torch.randn(3, 4, 5),
      torch.tensor([[[4, 0], [3, 3]], [[1, 2], [0, 4]]], dtype=torch.int64))
f.run("take_along_axis", lambda t, k: torch.take_along_dim(t, k, 1), x, torch.tensor([[3, 0, 0]]))
j = torch.tensor([[0, 3], [2, 1]])
f.run("scatter", lambda t, k, u: (t.scatter(1, k, u), t.scatter_add(1, k, u)), x, j, torch.randn(2, 2))
f.run("scatter_larger", lambda t, k, u: t.scatter(1, k, u), x, j, torch.randn(3, 3), grads=False)
f.run("scatter_number", lambda t, k: t.scatter(0, k, 7.0), x, j % 3)
k, u = torch.tensor([0, 2, 0, 0, 3]), torch.tensor([2.0, -1.0, 3.0, 0.5, 4.0])
base = torch.tensor([1.5, -2.0, 3.0, 0.25, 9.0])


def red(how, include=True):
    return lambda t, n, v: t.scatter_reduce(0, n, v, how, include_self=include)


f.run("scatter_repeated", lambda t, n, v: (t.scatter_add(0, n, v), red("sum", False)(t, n, v), red("mean")(t, n, v),
                                           red("mean", False)(t, n, v)), base, k, u)
six = [red(h, s) for s in (True, False) for h in ("prod", "amax", "amin")]
f.run("scatter_reduce", lambda t, n, v: tuple(g(t, n, v) for g in six), base, k, u, grads=False)
f.run("scatter_extremes", lambda t, n, v: (red("amax")(t, n, v), red("amin")(t, n, v)),
      torch.tensor([3.0, -2.0, -1.0, 0.25, 9.0]), k, u)
f.run("scatter_extremes_alone", red("amax", False), base, k, u)
f.run("scatter_whole", lambda t, n, v: (red("mean")(t, n, v), red("amin", False)(t, n, v), red("amax", False)(t, n, v)),
      torch.tensor([1, -7, 5, 100], dtype=torch.int32), torch.tensor([1, 1, 3, 0]),
      torch.tensor([-2, 4, -9, 3], dtype=torch.int32), grads=False)
f.run("index_select", lambda t, n: (t.index_select(0, n), t.index_select(-1, n)), x,
      torch.tensor([2, 0, 2], dtype=torch.int32))
f.run("index_add", lambda t, n, v: (t.index_add(0, n, v), t.index_add(0, n, v, alpha=-0.5)), x, torch.tensor([0, 2, 0]),
      torch.randn(3, 4))
f.run("index_copy", lambda t, n, v: (t.index_copy(1, n, v), t.index_fill(0, n, 3)), x, torch.tensor([2, 0]),
      torch.randn(3, 2))
f.run("index", lambda t, p, q: (t[p], t[p, q]), torch.randn(3, 4, 2), torch.tensor([[0], [-1]]),
      torch.tensor([1, -4, 2]))
f.run("index_put", lambda t, p, q, v: (t.index_put((p, q), v), t.index_put((p, q), v, accumulate=True)),
      torch.randn(3, 4, 2), torch.tensor([0, 2, 1]),
      torch.tensor([1, -1, 2]), torch.randn(2))
f.run("masked_fill", lambda t, n: t.masked_fill(n, -3), x, torch.tensor([[True], [False], [True]]))
f.run("masked_fill_int", lambda t, n: t.masked_fill(n, 9), torch.arange(4), torch.tensor([True, False, False, True]),
      grads=False)
f.run("take", lambda t, n: t.take(n), x, torch.tensor([[11, 0], [5, 5]]))
f.run("one_hot", lambda n: F.one_hot(n, 5), torch.tensor([[0, 4], [2, 2]]), grads=False)
f.run("masked_scatter", lambda t, n, v: t.masked_scatter(n, v), x, torch.tensor([True, False, True, True]),
      torch.randn(10))
f.run("histc", lambda t: t.histc(4, -1, 1), torch.tensor([-1.0, -0.5, 0.0, 0.1, 0.49, 0.5, 1.0, 1.1, -3.0]),
      grads=False)
B = F.embedding_bag
f.run("embedding_bag", lambda t, n, v: (B(n, t, mode="mean"), B(n, t, mode="sum", per_sample_weights=v),
                                        B(n, t, mode="max")), torch.randn(5, 3),
      torch.tensor([[0, 4, 4], [2, 1, 0]]), torch.randn(2, 3))
f.run("embedding_bag_parts", lambda t, n, o, v: (
    B(n, t, o, mode="mean"), B(n, t, o, mode="sum", per_sample_weights=v, padding_idx=2), B(n, t, o, mode="max"),
    B(n, t, o, mode="mean", include_last_offset=True, padding_idx=-1)), torch.randn(5, 3),
      torch.tensor([0, 4, 4, 2, 1, 0, 2]), torch.tensor([0, 3, 3, 7]), torch.randn(7))
f.save()
