"""Chains over each element: activations, masks, special functions, casts."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.scipy import special

from suite import add, bf16, c64, f16, f32, f64, flag, gradient, positive

F = "elementwise"
add(F, "add", jnp.add, f32(1024, 1024), f32(1024, 1024))
add(F, "axpy", lambda a, x, y: a * x + y, f32(), f32(1 << 20), f32(1 << 20))
add(F, "axpy, 4096 numbers", lambda a, x, y: a * x + y, f32(), f32(4096), f32(4096))
add(F, "add, f64", jnp.add, f64(512, 1024), f64(512, 1024))
add(F, "add, bf16", jnp.add, bf16(1024, 1024), bf16(1024, 1024))
add(F, "polynomial", lambda x: ((0.1 * x + 0.2) * x + 0.3) * x + 0.4, f32(1 << 20))
add(F, "broadcast row", lambda x, b: nn.relu(x + b), f32(1024, 1024), f32(1024))
add(F, "broadcast column", lambda x, b: x * b, f32(1024, 1024), f32(1024, 1))
add(F, "outer sum", lambda a, b: a[:, None] + b[None, :], f32(1024), f32(1024))
add(F, "gelu", nn.gelu, f32(256, 3072))
add(F, "gelu, bf16", nn.gelu, bf16(256, 3072))
add(F, "gelu by erf", lambda x: nn.gelu(x, approximate=False), f32(256, 3072))
add(F, "gelu, gradient", gradient(nn.gelu), f32(256, 3072))
add(F, "silu", nn.silu, f32(256, 3072))
add(F, "silu gate", lambda x, y: nn.silu(x) * y, f32(256, 3072), f32(256, 3072))
add(F, "silu gate, gradient", gradient(lambda x, y: nn.silu(x) * y), bf16(256, 3072), bf16(256, 3072))
add(F, "mish", lambda x: x * jnp.tanh(nn.softplus(x)), f32(256, 3072))
add(F, "sigmoid", nn.sigmoid, f32(1 << 20))
add(F, "tanh", jnp.tanh, f32(1 << 20))
add(F, "exp", jnp.exp, f32(1 << 20))
add(F, "exp, f64", jnp.exp, f64(1 << 18))
add(F, "log", jnp.log, positive(f32(1 << 20)))
add(F, "log1p and expm1", lambda x: jnp.log1p(jnp.expm1(x)), positive(f32(1 << 18)))
add(F, "sine and cosine", lambda x: jnp.sin(x) + jnp.cos(x), f32(1 << 18))
add(F, "atan2", jnp.arctan2, f32(1 << 18), f32(1 << 18))
add(F, "power", jnp.power, positive(f32(1 << 18)), f32(1 << 18))
add(F, "square root and reciprocal", lambda x: lax.rsqrt(x) + 1 / x, positive(f32(1 << 20)))
add(F, "erf", special.erf, f32(1 << 18))
add(F, "erfinv", lambda x: special.erfinv(x / 2.01), f32(1 << 16))
add(F, "lgamma and digamma", lambda x: special.gammaln(x) + special.digamma(x), positive(f32(1 << 16)))
add(F, "select", lambda m, x, y: jnp.where(m, x, y), flag(1024, 1024), f32(1024, 1024), f32(1024, 1024))
add(F, "clip", lambda x: jnp.clip(x, -1, 1), f32(1 << 20))
add(F, "dropout by a mask", lambda m, x: jnp.where(m, x / 0.9, 0), flag(256, 3072), f32(256, 3072))
add(F, "cast f32 to bf16 and back", lambda x: x.astype(jnp.bfloat16).astype(jnp.float32) - x, f32(1 << 20))
add(F, "cast f16", lambda x: (x.astype(jnp.float32) * 1.5).astype(jnp.float16), f16(1 << 20))
add(F, "sign and floor", lambda x: jnp.sign(x) * jnp.floor(jnp.abs(x) * 10), f32(1 << 20))
add(F, "complex product", lambda x, y: x * y, c64(1 << 18), c64(1 << 18))
add(F, "complex exp", jnp.exp, c64(1 << 16))
add(F, "rotary positions", lambda x, c, s: jnp.concatenate(
    [x[..., ::2] * c - x[..., 1::2] * s, x[..., ::2] * s + x[..., 1::2] * c], -1),
    f32(8, 12, 128, 64), f32(128, 32), f32(128, 32))
add(F, "adam", lambda p, m, v, g: (
    p - 1e-3 * (0.9 * m + 0.1 * g) / (jnp.sqrt(0.999 * v + 0.001 * g * g) + 1e-8),
    0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g),
    f32(1 << 20), f32(1 << 20), positive(f32(1 << 20)), f32(1 << 20))
