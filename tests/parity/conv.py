"""Convolution layers: options one by one and together, one to three dims, forward and transposed."""
import torch
from torch import nn

from parity import File

f = File("conv")
f.run("conv1d", None, torch.randn(2, 3, 9), module=nn.Conv1d(3, 4, 3, stride=2, padding=1))
f.run("conv2d", None, torch.randn(2, 3, 7, 6), module=nn.Conv2d(3, 4, 3))
f.run("conv2d_dims", None, torch.randn(1, 4, 8, 9),
      module=nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(0, 2), dilation=(1, 2), groups=2))
f.run("conv2d_depthwise", None, torch.randn(2, 4, 6, 6), module=nn.Conv2d(4, 8, 3, padding=1, groups=4, bias=False))
f.run("conv2d_unbatched", None, torch.randn(3, 5, 5), module=nn.Conv2d(3, 2, 2))
f.run("conv2d_same", None, torch.randn(1, 2, 6, 7), module=nn.Conv2d(2, 3, (4, 3), padding="same", dilation=(1, 2)))
f.run("reflect", None, torch.randn(1, 2, 6, 5), module=nn.Conv2d(2, 3, 3, padding=2, padding_mode="reflect"))
f.run("replicate", None, torch.randn(1, 2, 6, 5), module=nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="replicate"))
f.run("circular", None, torch.randn(1, 2, 6, 5),
      module=nn.Conv2d(2, 3, 3, padding=2, padding_mode="circular", stride=2))
f.run("conv3d", None, torch.randn(1, 2, 4, 5, 6), module=nn.Conv3d(2, 4, (2, 3, 2), padding=(1, 0, 1), groups=2))
f.run("transpose1d", None, torch.randn(2, 3, 5),
      module=nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1))
f.run("transpose2d", None, torch.randn(2, 3, 4, 5), module=nn.ConvTranspose2d(3, 2, 3))
f.run("transpose2d_all", None, torch.randn(1, 4, 4, 3),
      module=nn.ConvTranspose2d(4, 6, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=(1, 2),
                                groups=2))
f.run("transpose2d_cut", None, torch.randn(1, 2, 5, 5), module=nn.ConvTranspose2d(2, 2, 2, padding=2, stride=2))
f.run("transpose3d", None, torch.randn(1, 2, 3, 2, 3), module=nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False))
f.save()
