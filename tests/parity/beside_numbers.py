"""Writes tests/unit/beside_numbers.def: what PyTorch gives for numbers beside tensors of every dtype.

usage: beside_numbers.py >tests/unit/beside_numbers.def
A whole number is an int, as xtrain takes it. `refused`: PyTorch finds that the number does not fit the dtype. `-`: it
refuses the dtype, where xtrain may compute (a power below 0 of integers, activations of integers).
"""
import torch
from torch.nn import functional as F

DTYPES = dict(bool=torch.bool, u8=torch.uint8, i8=torch.int8, i16=torch.int16, i32=torch.int32, i64=torch.int64,
              f16=torch.float16, bf16=torch.bfloat16, f32=torch.float32, f64=torch.float64)
NAMES = {v: k for k, v in DTYPES.items()}
NUMBERS = [2, -1, 0.5, -1.5, 300, 10000000000, 3]
BASE = torch.tensor([0.0, 1, 2, 5])
ONE = torch.tensor([1])
FUNCTIONS = dict(
    add=lambda x, v: x + v,
    mul=lambda x, v: x * v,
    div=lambda x, v: x / v,
    rsub=torch.rsub,
    pow=lambda x, v: x**v,
    clamp_min=lambda x, v: x.clamp(min=v),
    clamp_max=lambda x, v: x.clamp(max=v),
    clamp=lambda x, v: x.clamp(min(v, 3), 3),
    masked_fill=lambda x, v: x.masked_fill(x > 1, v),
    index_fill=lambda x, v: x.index_fill(0, ONE, v),
    index_add=lambda x, v: x.index_add(0, ONE, x[3:], alpha=v),
    full_like=torch.full_like,
    leaky_relu=F.leaky_relu,
    threshold=lambda x, v: F.threshold(x, v, 7),
    hardtanh=lambda x, v: F.hardtanh(x, min(v, 3), 3),
    lerp=lambda x, v: torch.lerp(x, x, v),
    addcmul=lambda x, v: torch.addcmul(x, x, x, value=v),
    pad=lambda x, v: F.pad(x, (0, 1), value=v)[1:],
    lt=lambda x, v: x < v,
    ge=lambda x, v: x >= v,
    eq=lambda x, v: x == v,
    over=lambda x, v: v / (x + 1),
    sub=lambda x, v: x - v,
    power_of=lambda x, v: v**x,
    remainder=lambda x, v: x % v,
    remainder_of=lambda x, v: v % (x + 1),
    floor_divide=lambda x, v: x // v,
    floor_divide_of=lambda x, v: v // (x + 1),
    fmod=torch.fmod,
    below=lambda x, v: v < x,
    where=lambda x, v: torch.where(x > 1, x, v),
    where_of=lambda x, v: torch.where(x > 1, v, x),
)


def row(fn, x, v):
    try:
        y = fn(x, v)
    except Exception as e:
        return "refused" if "overflow" in str(e) or "unsigned type with negative" in str(e) else "-"
    return NAMES[y.dtype] + "".join(f" {e:.12g}" for e in y.double().tolist())


print("/* Made by tests/parity/beside_numbers.py with PyTorch: ROW(function, dtype, the dtype and values for each of "
      "the")
print(" * numbers 2, -1, 0.5, -1.5, 300, 1e10 and 3 beside 0, 1, 2 and 5). */")
print("/* clang-format off */")
for name, fn in FUNCTIONS.items():
    for dtype, t in DTYPES.items():
        print(f"ROW({name}, {dtype},")
        rows = [row(fn, BASE.to(t), v) for v in NUMBERS]
        lines, line = [], ""
        for k, r in enumerate(rows):
            part = r + ("|" if k + 1 < len(rows) else "")
            if len(line) + len(part) > 110:
                lines.append(line)
                line = ""
            line += part
        print("\n".join(f'    "{part}"' for part in lines + [line]) + ")")
print("/* clang-format on */")
