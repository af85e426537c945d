"""Functions that cut, join, repeat, turn and pad; new tensors."""
import torch
from torch.nn import functional as F

from parity import File

f = File("ops_shape")
x = torch.randn(2, 5, 4)
m = torch.randn(2, 3)
f.run("narrow", lambda t: (t.narrow(1, 1, 2), t.narrow(-1, -2, 1), t.select(1, -1), t[:, :, ::3]), x)
f.run("split", lambda t: (*t.split(2, 1), *t.split([1, 4], -2)), x)
f.run("chunk", lambda t: (*t.chunk(3, 1), *t.unbind(0)), x)
f.run("channel_shuffle", lambda t: (torch.channel_shuffle(t, 2), torch.channel_shuffle(t, 3), torch.channel_shuffle(
    t.flatten(1)[:, :12, None], 4)[:, :, 0]), torch.randn(2, 6, 4, 3))
R = torch.repeat_interleave
f.run("repeat_counts", lambda t, c, d: (R(t, c, 0), R(t, d, 1), torch.cat([R(t, c, 0), torch.zeros(2, 3)]),
                                        R(t, c, 0)[:3]),
      torch.randn(4, 3), torch.tensor([2, 0, 3, 1]), torch.tensor([1, 4, 0]))
f.run("triangle_places", lambda t: (torch.tril_indices(4, 3), torch.tril_indices(3, 5, 1), torch.tril_indices(4, 3, -2),
                                    torch.triu_indices(4, 3), torch.triu_indices(3, 5, -1),
                                    torch.triu_indices(3, 3, 2)), torch.zeros(1), grads=False)
f.run("pairwise_distance", lambda p, q: (F.pairwise_distance(p, q), F.pairwise_distance(p, q, 1.0, keepdim=True),
                                         F.pairwise_distance(p, q, 3.0, 0.1)), torch.randn(3, 4), torch.randn(4))
f.run("stack", lambda p, q: (torch.stack([p, q]), torch.stack([p, q], -1), torch.stack([p, q], 1)), m,
      torch.randn(2, 3))
f.run("repeat", lambda t: (t.repeat(2, 3), t.repeat(2, 1, 2), t.tile(2), t.repeat_interleave(2, 0),
                           t.repeat_interleave(3, -1)), m)
f.run("flip", lambda t: (t.flip(0, 2), t.flip(-1)), x)
f.run("roll", lambda t: (t.roll(1, 1), t.roll((-2, 5), (0, 2)), t.roll(3)), x)
f.run("rot90", lambda t: (t.rot90(1, (0, 1)), t.rot90(2, (0, 1)), t.rot90(-1, (0, 1)), t.rot90(1, (1, 0))), x)
f.run("movedim", lambda t: (t.movedim(0, -1), t.movedim((0, 1), (1, 2))), x)
f.run("unflatten", lambda t: (t.unflatten(1, (2, -1)), t.view(3, 8), t[:1].expand(5, 4, 6)), torch.randn(1, 4, 6))


def grids(p, q):
    u, v = p.flatten(), q.flatten()
    return (*torch.broadcast_tensors(p, q), *torch.meshgrid(u, v, indexing="ij"), *torch.meshgrid(u, v, indexing="xy"))


f.run("broadcast", grids, torch.randn(2, 1), torch.randn(3))
f.run("pad", lambda t: (F.pad(t, (1, 2)), F.pad(t, (1, 0, 2, 1), value=3), F.pad(t, (-1, 1, 0, -1))), x)
f.run("pad_modes", lambda t: (F.pad(t, (2, 1), mode="reflect"), F.pad(t, (2, 5), mode="replicate"),
                              F.pad(t, (4, 1), mode="circular")), x)
f.run("pad_modes2", lambda t: tuple(F.pad(t, (1, 1, 2, 0), mode=k) for k in ("reflect", "replicate", "circular")),
      torch.randn(1, 2, 3, 4))
f.run("unfold_axis", lambda t: (t.unfold(1, 3, 2), t.unfold(-1, 2, 1)), x)
f.run("unfold", lambda t: (F.unfold(t, (2, 3)), F.unfold(t, 2, stride=2, padding=1), F.unfold(t, 2, dilation=2)),
      torch.randn(2, 3, 4, 5))
f.run("fold", lambda t: (F.fold(t, (4, 5), (2, 3)), F.fold(t, (2, 3), (2, 3), padding=1),
                         F.fold(t[:, :, :4], (7, 9), (2, 3), stride=4, dilation=2)), torch.randn(2, 12, 9))
f.run("triangles", lambda t: (t.tril(), t.triu(1), t.tril(-1), t.triu(-2)), x)
f.run("diag", lambda t: (t.diag(), t.diag(1), t.diag(-2), t.trace()), torch.randn(4, 5))
f.run("diag_vector", lambda t: (t.diag(), t.diag(2), t.diag(-1), t.diag_embed(1)), torch.randn(3))
f.run("diagonal", lambda t: (t.diagonal(), t.diagonal(1, -1, 0), t.diagonal(-1, 1, 2), t.diag_embed(-1)), x)
f.run("ranges", lambda: (torch.arange(1, 2.6, 0.5), torch.arange(10, 0, -3), torch.linspace(-1, 1, 7),
                         torch.linspace(5, 3, 1), torch.logspace(-1, 2, 4), torch.eye(3),
                         torch.eye(2, 4, dtype=torch.int64), torch.linspace(0, 10, 5, dtype=torch.int32)), grads=False)
f.run("likes", lambda t: (torch.zeros_like(t), torch.ones_like(t), torch.full_like(t, 2.5), torch.stack([t, t, t], 1)),
      m.double(), grads=False)
f.run("empty", lambda t: (t.flip(0), t.roll(1, 0), F.pad(t, (0, 0, 1, 1)), t.repeat(2, 2), t.tril(), t.cumsum(0),
                          torch.stack([t, t])), torch.zeros(0, 3), grads=False)
f.run("slice_scatter", lambda t, u, v: (t.slice_scatter(u, 1, 1, 3), t.slice_scatter(u, 1, 0, 4, 3),
                                        t.select_scatter(v, -1, -2)), x, torch.randn(2, 2, 4), torch.randn(2, 5))
f.run("tensor_split", lambda t: (*t.tensor_split(3, 1), torch.block_diag(t[0], t[1, 2])), x)
f.run("isin", torch.isin, torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 4, 9]), grads=False)
G = F.grid_sample
f.run("grid_sample", lambda t, g: (G(t, g, align_corners=False), G(t, g, align_corners=True),
                                   G(t, g, padding_mode="border", align_corners=False),
                                   G(t, g, mode="nearest", align_corners=False)), torch.randn(2, 3, 4, 5),
                                   torch.randn(2, 3, 3, 2) * 0.8)
f.run("affine_grid", lambda t: (F.affine_grid(t, (2, 1, 3, 4), False), F.affine_grid(t, (2, 1, 3, 4), True),
                                F.affine_grid(t, (2, 1, 1, 2), True)), torch.randn(2, 2, 3))
f.run("grid_sample_more", lambda t, g: (*(G(t, g, padding_mode="reflection", align_corners=a) for a in (False, True)),
                                        *(G(t, g, "bicubic", p, False) for p in ("zeros", "border", "reflection"))),
      torch.randn(2, 3, 4, 5), torch.randn(2, 3, 3, 2) * 2)
f.run("grid_sample_volume", lambda t, g: (G(t, g, align_corners=False), G(t, g, "nearest", "border", True),
                                          G(t, g, padding_mode="reflection", align_corners=True)),
      torch.randn(2, 2, 3, 4, 5), torch.randn(2, 2, 2, 3, 3))
f.run("unfold_pairs", lambda t: (F.unfold(t, (2, 3), stride=(2, 1), padding=(0, 1), dilation=(1, 2)),
                                 F.fold(F.unfold(t, (2, 1), stride=(1, 2)), (4, 5), (2, 1), stride=(1, 2))),
      torch.randn(2, 3, 4, 5))
f.save()
