"""Resizing by sizes and by scales that are no whole numbers. PyTorch's own gradient is of another map than its forward
where cubic rows keep their size, and where the nearest of one or three dims keep or double it: these are not here."""
import torch
from torch.nn import functional as F

from parity import File

f = File("resize")
x1, x2, x3 = torch.randn(1, 2, 6), torch.randn(1, 2, 4, 6), torch.randn(1, 1, 3, 2, 5)
SCALES = {"stays": 1.01, "doubles": 2.03, "between": 1.55, "down": 0.6}
for name, scale in SCALES.items():
    f.run(f"near2_{name}", lambda x, s=scale: F.interpolate(x, scale_factor=s), x2)
    f.run(f"exact2_{name}", lambda x, s=scale: F.interpolate(x, scale_factor=s, mode="nearest-exact"), x2)
    f.run(f"lin1_{name}", lambda x, s=scale: F.interpolate(x, scale_factor=s, mode="linear"), x1)
    f.run(f"area2_{name}", lambda x, s=scale: F.interpolate(x, scale_factor=s, mode="area"), x2)
# one dim keeps its size, the other does not
f.run("near2_part", lambda x: F.interpolate(x, scale_factor=1.2), x2)
f.run("lin2_part", lambda x: F.interpolate(x, scale_factor=1.2, mode="bilinear"), x2)
f.run("cub2_part", lambda x: F.interpolate(x, scale_factor=1.2, mode="bicubic"), x2)
f.run("lin3_stays", lambda x: F.interpolate(x, scale_factor=1.1, mode="trilinear"), x3)
f.run("lin2_f64", lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), x2.double())
f.run("exact1", lambda x: F.interpolate(x, 4, mode="nearest-exact"), x1)
f.run("exact1_thrice", lambda x: F.interpolate(x, 18, mode="nearest-exact"), x1)
f.run("exact3", lambda x: F.interpolate(x, (5, 4, 3), mode="nearest-exact"), x3)
f.run("area1", lambda x: F.interpolate(x, 4, mode="area"), x1)
f.run("area3", lambda x: F.interpolate(x, (2, 3, 2), mode="area"), x3)
f.save()
