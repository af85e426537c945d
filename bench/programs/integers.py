"""Integers, bits and booleans."""
import jax.numpy as jnp
from jax import lax

from suite import add, f32, flag, i32, i64, i8, u32, u8

F = "integers"
add(F, "add integers", jnp.add, i32(1 << 20), i32(1 << 20))
add(F, "divide and remainder", lambda x, y: (x // (y + 1), x % (y + 1)), i32(1 << 18), i32(1 << 18))
add(F, "divide by a constant", lambda x: x // 7 + x % 7, i32(1 << 18))
add(F, "64-bit products", lambda x, y: x * y + x, i64(1 << 18), i64(1 << 18))
add(F, "bytes to f32", lambda x: x.astype(jnp.float32) / 255, u8(1 << 20))
add(F, "quantize", lambda x: jnp.clip(jnp.round(x * 63), -128, 127).astype(jnp.int8), f32(1 << 20))
add(F, "dequantize", lambda x, s: x.astype(jnp.float32) * s, i8(1024, 1024), f32(1024))
add(F, "shifts and masks", lambda x: ((x << 13) ^ (x >> 7)) & 0xFFFF, u32(1 << 20))
add(F, "hash of 16 rounds", lambda x: lax.fori_loop(0, 16, lambda i, h: (h ^ (h >> 15)) * jnp.uint32(0x2C1B3C6D), x),
    u32(1 << 18))
add(F, "population count", lambda x: lax.population_count(x), u32(1 << 20))
add(F, "logic", lambda a, b, c: (a & b) | ~c, flag(1 << 20), flag(1 << 20), flag(1 << 20))
add(F, "comparison counts", lambda x, y: (x[:, None] < y[None]).sum(1), i32(1024), i32(1024))
add(F, "unpack bits", lambda x: ((x[:, None] >> jnp.arange(8, dtype=jnp.uint8)) & 1).astype(jnp.float32), u8(1 << 16))
add(F, "integer cumulative sum", lambda x: jnp.cumsum(x, 1), i32(512, 1024))
add(F, "mask of tokens", lambda x: (x != 0)[:, None, :] & (x != 0)[:, :, None], i32(16, 256))
add(F, "game of life, 20 steps", lambda x: lax.fori_loop(0, 20, lambda i, x: _life(x), x), u8(256, 256, low=0,
    high=2))


def _life(x):
    n = sum(jnp.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    return ((n == 3) | ((x == 1) & (n == 2))).astype(jnp.uint8)
