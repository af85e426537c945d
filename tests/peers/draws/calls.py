"""A drawn call, and what the families draw it from: numbers, shapes, axes, options as C and PyTorch say them."""
import math
import random

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
INF = float("inf")
FAMILIES = {}
r = random.Random()


class Call:
    """c: statements or an expression with the inputs' names; f: the same of tensors by name; grad: names of inputs."""

    def __init__(self, c, f, grad=(), tol=1e-8, /, **inputs):
        self.c, self.f, self.grad, self.tol, self.inputs = c, f, tuple(grad), tol, inputs


def family(f):
    FAMILIES[f.__name__] = f
    return f


def rn(*dims):
    """Floats that are rarely equal; sometimes halves, with many ties and zeros."""
    x = torch.tensor([r.gauss(0, 1) for _ in range(math.prod(dims))]).reshape(dims)
    return (x * 2).round() / 2 if r.random() < 0.25 else x


def odd(x, *kinds):
    """Some of x's numbers are one of kinds; sometimes all of a row (of the last dim) are."""
    for row in x.reshape(-1, x.shape[-1]) if x.dim() and x.numel() else [x.view(-1)]:
        if r.random() < 0.15:
            row.fill_(r.choice(kinds))
        for i in range(len(row)):
            if r.random() < 0.3:
                row[i] = r.choice(kinds)
    return x


def smooth(*dims):
    return torch.tensor([r.gauss(0, 1) for _ in range(math.prod(dims))]).reshape(dims)


def unit(*dims):
    return torch.tensor([r.uniform(0.05, 0.95) for _ in range(math.prod(dims))]).reshape(dims)


def pos(*dims):
    return torch.tensor([r.uniform(0.2, 3) for _ in range(math.prod(dims))]).reshape(dims)


def ints(lo, hi, *dims):
    return torch.tensor([r.randrange(lo, hi) for _ in range(math.prod(dims))], dtype=torch.int64).reshape(dims)


def shape(lo=1, hi=4, empty=0.08):
    dims = [r.choice((1, 2, 3, 4, 5)) for _ in range(r.randint(lo, hi))]
    if dims and r.random() < empty:
        dims[r.randrange(len(dims))] = 0
    return dims


def axis_of(dims):
    a = r.randrange(len(dims))
    return a - len(dims) if r.random() < 0.5 else a


def axes_of(dims, n=None):
    k = n or r.randint(1, len(dims))
    return [a - len(dims) if r.random() < 0.5 else a for a in r.sample(range(len(dims)), k)]


def lst(v):
    return "XT_LIST(" + ", ".join(str(x) for x in v) + ")"


def num(v):
    return {INF: "INFINITY", -INF: "-INFINITY"}.get(v, repr(v))


def on(b):
    return "XT_ON" if b else "XT_OFF"


def opts(**kw):
    """Options that are not None, as C says them and as keywords."""
    out = []
    for k, v in kw.items():
        if v is None:
            continue
        if isinstance(v, (list, tuple)):
            v = "{" + ", ".join(map(str, v)) + "}"
        elif isinstance(v, bool):
            v = "true" if v else "false"
        elif isinstance(v, float):
            v = num(v)
        out.append(f", .{k} = {v}")
    return "".join(out)


def maybe(v, p=0.5):
    return v if r.random() < p else None


def kw(**d):
    return {k: v for k, v in d.items() if v is not None}
