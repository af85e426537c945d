"""Sums, extremes, softmax, norms, cumulative sums: along each axis, of wide and of narrow arrays."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.scipy.special import logsumexp

from suite import add, bf16, c64, f32, f64, flag, gradient, i32, i8

F = "reductions"
for shape in ((1024, 1024), (64, 16384), (65536, 16)):
    text = "x".join(map(str, shape))
    add(F, f"row sums {text}", lambda x: x.sum(1), f32(*shape))
    add(F, f"column sums {text}", lambda x: x.sum(0), f32(*shape))
    add(F, f"row maximum {text}", lambda x: x.max(1), f32(*shape))
    add(F, f"softmax {text}", lambda x: nn.softmax(x, 1), f32(*shape))
add(F, "sum of all", jnp.sum, f32(1 << 21))
add(F, "sum of all, f64", jnp.sum, f64(1 << 20))
add(F, "sum of all, bf16", lambda x: x.astype(jnp.float32).sum(), bf16(1 << 21))
add(F, "sum of the middle axis", lambda x: x.sum(1), f32(64, 128, 128))
add(F, "sum of the outer two axes", lambda x: x.sum((0, 1)), f32(64, 128, 128))
add(F, "sum over images", lambda x: x.sum((0, 2, 3)), f32(32, 64, 28, 28))
add(F, "column maximum", lambda x: x.max(0), f32(1024, 1024))
add(F, "argmax of rows", lambda x: x.argmax(1), f32(1024, 1024))
add(F, "argmax of columns", lambda x: x.argmax(0), f32(1024, 1024))
add(F, "mean and variance of rows", lambda x: (x.mean(1), x.var(1)), f32(1024, 768))
add(F, "mean and variance of columns", lambda x: (x.mean(0), x.var(0)), f32(1024, 768))
add(F, "product of rows", lambda x: jnp.prod(1 + x / 1000, 1), f32(1024, 256))
add(F, "any and all", lambda x: (x.any(1), x.all(0)), flag(2048, 1024))
add(F, "count above", lambda x: (x > 0.5).sum(1), f32(1024, 1024))
add(F, "norms of rows", lambda x: jnp.linalg.norm(x, axis=1), f32(2048, 512))
add(F, "log-sum-exp of rows", lambda x: logsumexp(x, 1), f32(512, 2048))
add(F, "log-softmax of rows", lambda x: nn.log_softmax(x, 1), f32(256, 4096))
add(F, "log-softmax over the first axis", lambda x: nn.log_softmax(x, 0), f32(512, 512))
add(F, "softmax, bf16", lambda x: nn.softmax(x, -1), bf16(8, 12, 128, 128))
add(F, "softmax, gradient", gradient(lambda x: nn.softmax(x, -1)), f32(8, 12, 128, 128))
add(F, "cross entropy", lambda x, y: -jnp.take_along_axis(nn.log_softmax(x), y[:, None], 1).mean(),
    f32(256, 10000), i32(256))
add(F, "cross entropy, gradient", lambda x, y: jax.grad(
    lambda x: -jnp.take_along_axis(nn.log_softmax(x), y[:, None], 1).mean())(x), f32(256, 10000), i32(256))


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * g + b


def rms_norm(x, g):
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * g


def batch_norm(x, g, b):
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * g[:, None, None] + b[:, None, None]


add(F, "layer norm", layer_norm, f32(1024, 768), f32(768), f32(768))
add(F, "layer norm, bf16", layer_norm, bf16(1024, 768), bf16(768), bf16(768))
add(F, "layer norm, gradient", gradient(layer_norm), f32(1024, 768), f32(768), f32(768))
add(F, "RMS norm", rms_norm, f32(1024, 768), f32(768))
add(F, "RMS norm, gradient", gradient(rms_norm), f32(1024, 768), f32(768))
add(F, "batch norm", batch_norm, f32(32, 64, 28, 28), f32(64), f32(64))
add(F, "batch norm, gradient", gradient(batch_norm), f32(32, 64, 28, 28), f32(64), f32(64))
add(F, "cumulative sum of rows", lambda x: jnp.cumsum(x, 1), f32(512, 1024))
add(F, "cumulative sum of columns", lambda x: jnp.cumsum(x, 0), f32(512, 1024))
add(F, "cumulative maximum", lambda x: lax.cummax(x, 1), f32(512, 1024))
add(F, "cumulative log-sum-exp", lambda x: lax.cumlogsumexp(x, 1), f32(256, 1024))
add(F, "running mean by an associative scan", lambda x: lax.associative_scan(lambda a, b: 0.5 * a + b, x, axis=1),
    f32(256, 1024), tolerance=1e-4)
add(F, "pairwise distances", lambda x, y: jnp.square(x[:, None] - y[None]).sum(-1), f32(256, 64), f32(256, 64))
add(F, "pairwise L1 distances", lambda x, y: jnp.abs(x[:, None] - y[None]).sum(-1), f32(256, 64), f32(256, 64))
add(F, "cosine similarity", lambda x, y: (x * y).sum(1) / (jnp.linalg.norm(x, axis=1) * jnp.linalg.norm(y, axis=1)),
    f32(1024, 512), f32(1024, 512))
add(F, "sum of integers", lambda x: x.sum(1), i32(1024, 1024))
add(F, "sum of bytes", lambda x: x.astype(jnp.int32).sum(1), i8(1024, 1024))
add(F, "norm of complex numbers", lambda x: jnp.square(jnp.abs(x)).sum(1), c64(512, 512))
add(F, "median", lambda x: jnp.median(x, 1), f32(256, 255))
add(F, "covariance", lambda x: jnp.cov(x, rowvar=False), f32(2048, 128), tolerance=1e-4)
add(F, "max pooling, NCHW", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"),
    f32(16, 64, 56, 56))
add(F, "max pooling, NHWC", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    f32(16, 56, 56, 64))
add(F, "max pooling, gradient", gradient(
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")), f32(16, 56, 56, 32))
add(F, "mean pooling", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4,
    f32(16, 64, 56, 56))
