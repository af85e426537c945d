"""JPEG files as Pillow writes them, and the pixels it reads: baseline, progressive, subsampled, grey, CMYK. Run it by
hand with a Python that has PyTorch and Pillow."""
import io

import numpy as np
import torch
from PIL import Image

from parity import File

f = File("jpeg")
rows, columns = np.mgrid[0:21, 0:26].astype(float)
waves = [np.sin(rows / (3 + c) + columns / (5 - c)) * 100 + 128 for c in range(4)]
rgb = Image.fromarray(np.stack(waves[:3], -1).astype(np.uint8), "RGB")
cmyk = Image.fromarray(np.stack(waves, -1).astype(np.uint8), "CMYK")
for name, picture, options in (("baseline", rgb, {"subsampling": 0}), ("subsampled", rgb, {"subsampling": 2}),
                               ("progressive", rgb, {"progressive": True, "quality": 90}),
                               ("grey", rgb.convert("L"), {}), ("cmyk", cmyk, {})):
    file = io.BytesIO()
    picture.save(file, "JPEG", **options)
    f.put(name + "/file", torch.tensor(list(file.getvalue()), dtype=torch.uint8))
    read = Image.open(io.BytesIO(file.getvalue())).convert("RGB")
    f.put(name + "/rgb", torch.from_numpy(np.asarray(read).copy()))
f.save()
