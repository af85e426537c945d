"""torch.nn.utils: orthogonal weights, parametrizations that are taken off again, batch norms that are fused."""
import torch
from torch import nn
from torch.nn.utils import fusion, parametrizations, parametrize

from parity import File

f = File("nn_utils")
SHAPES = dict(square=(4, 4), tall=(3, 6), wide=(6, 3)) # in, out
MAPS = ("matrix_exp", "cayley", "householder")
for shape, (n_in, n_out) in SHAPES.items():
    for map in MAPS:
        for based in (True, False):
            m = parametrizations.orthogonal(nn.Linear(n_in, n_out), orthogonal_map=map, use_trivialization=based)
            with torch.no_grad():  # away from where all maps are alike
                x = m.parametrizations.weight.original
                x += 0.3 * torch.randn(x.shape).tril(-1)
            f.run(f"{map}_{shape}_{'base' if based else 'plain'}", None, torch.randn(2, n_in), module=m)
f.run("default_square", None, torch.randn(2, 4), module=parametrizations.orthogonal(nn.Linear(4, 4)))
f.run("default_tall", None, torch.randn(2, 3), module=parametrizations.orthogonal(nn.Linear(3, 5)))


# of a convolution's weight each kernel is a matrix
for map in MAPS:
    m = parametrizations.orthogonal(nn.Conv2d(2, 3, (2, 3)), orthogonal_map=map)
    with torch.no_grad():
        x = m.parametrizations.weight.original
        x += 0.3 * torch.randn(x.shape).mT.tril(-1).mT
    f.run(f"{map}_kernels", None, torch.randn(2, 2, 4, 5), module=m)


class Removed(nn.Module):
    """What it is made of, and what it gives with plain weights."""

    def __init__(self):
        super().__init__()
        self.a = parametrizations.weight_norm(nn.Linear(4, 5))
        self.b = parametrizations.spectral_norm(nn.Linear(5, 4))
        self.c = parametrizations.orthogonal(nn.Linear(4, 4))
        self.eval()

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


m = Removed()
x = torch.randn(3, 4)
f.run("removed", None, x, module=m, grads=False)
for layer in (m.a, m.b, m.c):
    parametrize.remove_parametrizations(layer, "weight")
for name, t in m.state_dict().items():
    f.put(f"removed_state/{name}", t)


def norms(m):
    """Statistics that are none's beginning."""
    for n in m.modules():
        if isinstance(n, nn.modules.batchnorm._BatchNorm):
            n.running_mean.normal_()
            n.running_var.uniform_(0.5, 2)
            if n.affine:
                n.weight.data.uniform_(0.5, 2)
                n.bias.data.normal_()
    return m.eval()


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.ConvTranspose2d(4, 3, 3), nn.BatchNorm2d(3, affine=False, eps=1e-3)
        self.fc, self.bn3 = nn.Linear(3, 5), nn.BatchNorm1d(5)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.bn3(self.fc(x.mean((2, 3))))


m = norms(Fused())
f.run("fused", None, torch.randn(2, 2, 6, 6), module=m, grads=False)
for pair, transpose in (("conv1 bn1", False), ("conv2 bn2", True)):
    conv, bn = (getattr(m, n) for n in pair.split())
    fused = fusion.fuse_conv_bn_eval(conv, bn, transpose)
    for name, t in fused.state_dict().items():
        f.put(f"fused_state/{pair.split()[0]}.{name}", t)
for name, t in fusion.fuse_linear_bn_eval(m.fc, m.bn3).state_dict().items():
    f.put(f"fused_state/fc.{name}", t)
f.save()
