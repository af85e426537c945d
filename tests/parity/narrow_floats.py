"""Writes narrow_floats.safetensors: what ml_dtypes makes of every code of the narrow floats, and of numbers near every
rounding boundary.

usage: python3 narrow_floats.py     (tried with ml_dtypes 0.5)

TYPE/decode [codes] f32: the value of each code.  TYPE/near [n] f64 and TYPE/encode [n] u8 or u16: numbers, and their
codes."""
import json
import os
import struct

import ml_dtypes
import numpy as np

TYPES = """float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz
float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn bfloat16 float16""".split()


def dtype(name):
    return np.dtype(np.float16) if name == "float16" else np.dtype(getattr(ml_dtypes, name))


def near(values):
    """Every finite value, midpoints of neighbours, and the f32 just beside those; beyond the largest; specials. All
    exact in f32."""
    v = np.unique(values[np.isfinite(values)].astype(np.float64))
    mid = (v[1:] + v[:-1]) / 2
    ends = [v[-1] * 1.5, v[-1] * 2.5, -v[-1] * 1.5, v[-1] + (v[-1] - v[-2]) / 2, np.inf, -np.inf, np.nan, 0.0, -0.0,
            1e30, -1e30, 1e-30]
    x = np.concatenate([v, mid, ends]).astype(np.float32)
    with np.errstate(over="ignore"):
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    return x[(np.abs(x) >= 1.2e-38) | (x == 0) | np.isnan(x)].astype(np.float64)


def main():
    tensors = {}
    rng = np.random.default_rng(1)
    for name in TYPES:
        t = dtype(name)
        bits = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}.get(name, 8 * t.itemsize)
        codes = np.arange(1 << bits).astype(np.uint8 if t.itemsize == 1 else np.uint16)
        if t.itemsize == 2:  # 65,536 codes: every 37th, and the ends of the exponents
            codes = np.unique(np.concatenate([codes[::211],
                                              codes[[0, 1, 2, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7F7F,
                                                     0x7F80, 0x7FC0, 0x8000, 0xFBFF, 0xFC00, 0xFF80]]]))
        values = codes.view(t).astype(np.float32)
        x = near(values)
        if t.itemsize == 2:
            x = rng.choice(x, 300, replace=False)
        tensors[name + "/codes"] = codes
        tensors[name + "/decode"] = values
        tensors[name + "/near"] = x.astype(np.float32)
        with np.errstate(all="ignore"):
            tensors[name + "/encode"] = x.astype(np.float32).astype(t).view(codes.dtype)
    header, data = {}, b""
    names = {"float32": "F32", "uint8": "U8", "uint16": "U16"}
    for k, v in tensors.items():
        header[k] = {"dtype": names[v.dtype.name], "shape": list(v.shape),
                     "data_offsets": [len(data), len(data) + v.nbytes]}
        data += v.tobytes()
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "narrow_floats.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + data)


main()
