"""Linear layers, and the reading of reference files itself."""
import torch
from torch import nn

from parity import File

f = File("linear")
f.run("plain", None, torch.randn(4, 5), module=nn.Linear(5, 3))
f.run("no_bias", None, torch.randn(2, 3, 4), module=nn.Linear(4, 6, bias=False))
f.run("f64", None, torch.randn(3, 4, dtype=torch.float64), module=nn.Linear(4, 2, dtype=torch.float64))
f.run("weight_norm", None, torch.randn(4, 5), module=nn.utils.parametrizations.weight_norm(nn.Linear(5, 3)))
f.run("weight_norm_conv", None, torch.randn(2, 3, 6), module=nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3)))
f.save()
