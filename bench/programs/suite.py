"""What a program of the suite is: a function of JAX, and arguments by dtype and shape.

    add("elementwise", "gelu", jax.nn.gelu, f32(64, 3072))

Families are files (elementwise.py,
    ...): each adds its programs when it is imported. Numbers are drawn from a seed that
is the program's name, so a run repeats.
"""
import dataclasses
import zlib

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass
class Argument:
    dtype: str
    shape: tuple
    low: float = -2.0
    high: float = 2.0

    def draw(self, rng):
        if self.dtype == "bool":
            return rng.random(self.shape) < 0.5
        if self.dtype.startswith(("int", "uint")):
            return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)
        if self.dtype.startswith("complex"):
            return (rng.normal(size=self.shape) + 1j * rng.normal(size=self.shape)).astype(self.dtype)
        x = rng.uniform(self.low, self.high, self.shape)
        return jnp.asarray(x, jnp.bfloat16) if self.dtype == "bfloat16" else x.astype(self.dtype)


@dataclasses.dataclass
class Program:
    family: str
    name: str
    function: object
    arguments: tuple
    tolerance: float | None = None  # of the largest number; None: by the dtypes

    @property
    def double(self):
        return any(a.dtype in ("float64", "complex128", "int64") for a in self.arguments)

    def draw(self):
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [a.draw(rng) for a in self.arguments]


programs = []


def add(family, name, function, *arguments, tolerance=None):
    if any(p.name == name for p in programs):
        raise ValueError(f"there are two programs called {name}")
    programs.append(Program(family, name, function, arguments, tolerance))


def _kind(dtype, low=-2.0, high=2.0):
    return lambda *shape, low=low, high=high: Argument(dtype, shape, low, high)


f32, f64, bf16, c64 = _kind("float32"), _kind("float64"), _kind("bfloat16"), _kind("complex64")
f16, flag = _kind("float16"), _kind("bool")
i32, i8, u8, u32, i64 = (_kind(t, 0, 100) for t in ("int32", "int8", "uint8", "uint32", "int64"))


def positive(argument):
    """The same, with numbers from 0.1 on."""
    return dataclasses.replace(argument, low=0.1)


def gradient(f, *which):
    """Of the sum of cubes of what f gives (that of squares has none behind a norm),
    with respect to all arguments or to
    those named."""
    def loss(*args):
        wide = (y.astype(jnp.float32) if y.dtype == jnp.bfloat16 else y for y in jax.tree.leaves(f(*args)))
        return sum((y * y * y).sum() for y in wide)
    return lambda *args: jax.grad(loss, which or tuple(range(len(args))))(*args)


def definite(x):
    """A positive definite matrix of x, or one for each in a batch."""
    n = x.shape[-1]
    return x @ jnp.swapaxes(x, -1, -2) + n * jnp.eye(n, dtype=x.dtype)
