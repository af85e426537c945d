"""Pictures as torchvision's Resize, CenterCrop and ToTensor give them, to sides that shrink and enlarge them; and PNG
files of every kind as Pillow's convert("RGB") reads them. Run it by hand with a Python that has torchvision and
Pillow 13."""
import io
import struct
import warnings
import zlib

import numpy as np
import torch
from PIL import Image
from torchvision import transforms

from parity import File

f = File("pictures")
draws = np.random.default_rng(5)
for width, height, side in ((37, 23, 8), (23, 37, 8), (26, 26, 13), (9, 5, 14), (31, 8, 8), (40, 9, 2), (6, 4, 2),
                            (5, 3, 1), (17, 18, 17), (20, 41, 8), (20, 40, 8), (20, 39, 8), (41, 20, 8), (9, 90, 4),
                            (12, 73, 7), (7, 15, 3), (7, 14, 3), (12, 61, 20), (16, 90, 16)):
    rgb = draws.integers(0, 256, (height, width, 3), dtype=np.uint8)
    new = transforms.Compose([transforms.Resize(side), transforms.CenterCrop(side), transforms.ToTensor()])
    f.put(f"{width}x{height}_{side}/rgb", torch.from_numpy(rgb))
    f.put(f"{width}x{height}_{side}/new", new(Image.fromarray(rgb, "RGB")))

warnings.simplefilter("ignore")  # of Pillow, on palettes with alpha
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of the colour types: grey, RGB, palette, grey and RGB with alpha
ADAM7 = ((0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows(pixels, depth):
    """Each row behind a 0: no filter."""
    if depth == 16:
        flat = pixels.astype(">u2").reshape(len(pixels), -1).view(np.uint8)
    elif depth == 8:
        flat = pixels.astype(np.uint8).reshape(len(pixels), -1)
    else:
        bits = np.unpackbits(pixels.astype(np.uint8).reshape(len(pixels), -1, 1), axis=2)[:, :, 8 - depth :]
        flat = np.packbits(bits.reshape(len(pixels), -1), axis=1)
    return b"".join(b"\0" + r.tobytes() for r in flat)


def png(pixels, depth, kind, chunks, interlaced):
    height, width = pixels.shape[:2]
    parts = [pixels[y::dy, x::dx] for y, dy, x, dx in ADAM7] if interlaced else [pixels]
    raw = b"".join(rows(p, depth) for p in parts if p.size)
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    data = chunk(b"IDAT", zlib.compress(raw))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunks + data + chunk(b"IEND", b"")


LINEAR = chunk(b"gAMA", struct.pack(">I", 100000))
for kind, depth in ((0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8),
                    (4, 16), (6, 8), (6, 16)):
    for more in ("", "gamma", "clear"):
        if more == "clear" and kind > 3:
            continue
        pixels = draws.integers(0, 1 << depth, (11, 13, CHANNELS[kind]))
        pixels[3:6] //= 130  # small numbers of 16 bits too
        chunks = LINEAR if more == "gamma" else b""
        if kind == 3:  # the last number is of no colour
            chunks += chunk(b"PLTE", draws.integers(0, 256, 3 * ((1 << depth) - 1), dtype=np.uint8).tobytes())
        if more == "clear":
            chunks += chunk(b"tRNS", b"\0\x40" if kind == 3 and depth > 1 else b"\0" if kind == 3
                            else b"".join(struct.pack(">H", v) for v in pixels[0, 0]))
        for interlaced in (0, 1):
            file = png(pixels, depth, kind, chunks, interlaced)
            name = f"png{kind}_{depth}{more}{'_interlaced' if interlaced else ''}"
            f.put(f"{name}/file", torch.frombuffer(bytearray(file), dtype=torch.uint8))
            f.put(f"{name}/as_rgb", torch.from_numpy(np.array(Image.open(io.BytesIO(file)).convert("RGB"))))
f.save()
