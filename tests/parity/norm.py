"""Normalisation layers in both modes, embeddings, bilinear layers and learnt activations."""
import torch
from torch import nn
from torch.nn import functional as F

from parity import File

f = File("norm")


def stir(m):
    """Weights that are not all 1 and statistics that are not all fresh."""
    with torch.no_grad():
        for name, t in list(m.named_parameters()) + list(m.named_buffers()):
            if t.is_floating_point():
                t.uniform_(0.5, 1.5)
            elif t.dim() == 0:
                t.fill_(3)
    return m


x2, x4, x5 = torch.randn(6, 4), torch.randn(3, 4, 3, 5), torch.randn(2, 4, 2, 3, 2)
f.run("bn2", None, x2, module=stir(nn.BatchNorm1d(4)))
f.run("bn3", None, torch.randn(3, 4, 5), module=stir(nn.BatchNorm1d(4, momentum=0.3, eps=1e-3)))
f.run("bn4", None, x4, module=stir(nn.BatchNorm2d(4)))
f.run("bn4_eval", None, x4, module=stir(nn.BatchNorm2d(4)).eval())
f.run("bn4_plain", None, x4, module=stir(nn.BatchNorm2d(4, affine=False)))
f.run("bn4_cumulative", None, x4, module=stir(nn.BatchNorm2d(4, momentum=None)))
f.run("bn4_untracked", None, x4, module=stir(nn.BatchNorm2d(4, track_running_stats=False)))
f.run("bn4_untracked_eval", None, x4, module=stir(nn.BatchNorm2d(4, track_running_stats=False)).eval())
f.run("bn5", None, x5, module=stir(nn.BatchNorm3d(4)))
f.run("ln1", None, x4, module=stir(nn.LayerNorm(5)))
f.run("ln3", None, x4, module=stir(nn.LayerNorm((4, 3, 5), eps=1e-3)))
f.run("ln2_nobias", None, x4, module=stir(nn.LayerNorm((3, 5), bias=False)))
f.run("ln1_plain", None, x4, module=nn.LayerNorm(5, elementwise_affine=False))
f.run("gn", None, x4, module=stir(nn.GroupNorm(2, 4)))
f.run("gn_plain", None, torch.randn(3, 4, 5), module=nn.GroupNorm(2, 4, affine=False))
f.run("in4", None, x4, module=nn.InstanceNorm2d(4))
f.run("in4_all", None, x4, module=stir(nn.InstanceNorm2d(4, affine=True, track_running_stats=True)))
f.run("in4_all_eval", None, x4, module=stir(nn.InstanceNorm2d(4, affine=True, track_running_stats=True)).eval())
f.run("rms", None, x4, module=stir(nn.RMSNorm(5)))
f.run("rms2", None, x4, module=stir(nn.RMSNorm((3, 5), eps=1e-2)))
f.run("lrn", lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.6, k=2), x4)
f.run("lrn_even", lambda x: F.local_response_norm(x, 4), x4)
f.run("embedding", None, torch.tensor([[1, 0, 4], [4, 2, 1]]), module=nn.Embedding(5, 3))
f.run("embedding_pad", None, torch.tensor([[1, 0, 4], [4, 2, 1]]), module=nn.Embedding(5, 3, padding_idx=-1))
f.run("bilinear", None, torch.randn(2, 3, 4), torch.randn(2, 3, 5), module=nn.Bilinear(4, 5, 3))
f.run("prelu", None, x4, module=nn.PReLU())
f.run("prelu_channels", None, x4, module=stir(nn.PReLU(4)))
f.run("dropout_eval", None, x2, module=nn.Dropout(0.5).eval())
f.save()
