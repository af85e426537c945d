"""Pictures as torchvision's Resize, CenterCrop and ToTensor give them, to sides that shrink and enlarge them. Run it by
hand with a Python that has torchvision and Pillow."""
import numpy as np
import torch
from PIL import Image
from torchvision import transforms

from parity import File

f = File("pictures")
draws = np.random.default_rng(5)
for width, height, side in ((37, 23, 8), (23, 37, 8), (26, 26, 13), (9, 5, 14), (31, 8, 8), (40, 9, 2), (6, 4, 2),
                            (5, 3, 1), (17, 18, 17)):
    rgb = draws.integers(0, 256, (height, width, 3), dtype=np.uint8)
    new = transforms.Compose([transforms.Resize(side), transforms.CenterCrop(side), transforms.ToTensor()])
    f.put(f"{width}x{height}_{side}/rgb", torch.from_numpy(rgb))
    f.put(f"{width}x{height}_{side}/new", new(Image.fromarray(rgb, "RGB")))
f.save()
