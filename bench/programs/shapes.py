"""Data that moves: transposes, slices, concatenation, padding, gathers and scatters, sorting."""
import jax
import jax.numpy as jnp
from jax import lax

from suite import add, bf16, f32, f64, flag, gradient, i32, u8

F = "data movement"
add(F, "transpose", lambda x: x.T + 0, f32(1024, 1024))
add(F, "transpose, bf16", lambda x: x.T + 0, bf16(1024, 1024))
add(F, "transpose of bytes", lambda x: x.T + 0, u8(2048, 1024))
add(F, "transpose of the last two dims", lambda x: jnp.swapaxes(x, -1, -2) * 2, f32(64, 128, 256))
add(F, "heads apart", lambda x: x.reshape(8, 128, 12, 64).transpose(0, 2, 1, 3) * 2, f32(8, 128, 768))
add(F, "heads together", lambda x: x.transpose(0, 2, 1, 3).reshape(8, 128, 768) * 2, f32(8, 12, 128, 64))
add(F, "NCHW to NHWC", lambda x: x.transpose(0, 2, 3, 1) + 1, f32(16, 64, 28, 28))
add(F, "concatenate", lambda x, y: jnp.concatenate([x, y], 1), f32(1024, 512), f32(1024, 512))
add(F, "concatenate features", lambda *x: jnp.concatenate(x, 1), *[f32(16, 32, 28, 28)] * 6)
add(F, "stack", lambda *x: jnp.stack(x, -1), *[f32(512, 512)] * 4)
add(F, "slices added", lambda x: x[:-1, :-1] + x[1:, 1:], f32(1025, 1025))
add(F, "stencil of five points", lambda x: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1,
    2:],
    f32(1024, 1024))
add(F, "strided slice", lambda x: x[::2, ::3] * 2, f32(2048, 1536))
add(F, "reverse", lambda x: x[:, ::-1] * 2, f32(1024, 1024))
add(F, "pad", lambda x: jnp.pad(x, ((1, 1), (2, 2))) * 2, f32(1024, 1024))
add(F, "pad by reflection", lambda x: jnp.pad(x, ((3, 3), (3, 3)), mode="reflect"), f32(512, 512))
add(F, "roll", lambda x: jnp.roll(x, 5, 1) + x, f32(1024, 1024))
add(F, "pad and roll", lambda x: jnp.roll(jnp.pad(x, ((0, 0), (4, 4))), 3, 0), f32(512, 512))
add(F, "tile", lambda x: jnp.tile(x, (4, 4)), f32(256, 256))
add(F, "repeat", lambda x: jnp.repeat(x, 4, 1), f32(1024, 256))
add(F, "triangle", lambda x: jnp.tril(x), f32(1024, 1024))
add(F, "one-hot", lambda y: jax.nn.one_hot(y, 1000), i32(1024))
add(F, "dynamic update of a cache", lambda c, x, i: lax.dynamic_update_slice(c, x, (0, i, 0)),
    f32(8, 1024, 768), f32(8, 1, 768), i32())
add(F, "dynamic slice", lambda x, i: lax.dynamic_slice(x, (i, 0), (512, 512)) * 2, f32(1024, 512), i32())
add(F, "embedding", lambda e, y: e[y], f32(10000, 512), i32(1024))
add(F, "embedding, gradient", lambda e, y: jax.grad(lambda e: jnp.square(e[y]).sum())(e), f32(10000, 256), i32(1024))
add(F, "gather of elements", lambda x, y: jnp.take_along_axis(x, y, 1), f32(1024, 100), i32(1024, 64))
add(F, "gather of columns", lambda x, y: x[:, y], f32(1024, 512), i32(256))
add(F, "gather by two indices", lambda x, i, j: x[i, j], f32(512, 512), i32(1 << 16), i32(1 << 16))
add(F, "scatter of rows", lambda x, i, y: x.at[i].set(y), f32(10000, 256), i32(512), f32(512, 256), tolerance=10)
add(F, "segment sums over a graph", lambda x, i: jax.ops.segment_sum(x, i, 100), f32(20000, 64), i32(20000))
add(F, "segment maxima", lambda x, i: jax.ops.segment_max(x, i, 100), f32(20000, 16), i32(20000))
add(F, "histogram", lambda x: jnp.histogram(x, 64, (-2.0, 2.0))[0], f32(1 << 16))
add(F, "bincount", lambda x: jnp.bincount(x, length=100), i32(1 << 18))
add(F, "sort rows", lambda x: jnp.sort(x, 1), f32(256, 1024))
add(F, "sort all", jnp.sort, f32(1 << 17))
add(F, "argsort rows", lambda x: jnp.argsort(x, 1), f32(256, 512))
add(F, "top 16", lambda x: lax.top_k(x, 16), f32(256, 4096))
add(F, "sort integers", jnp.sort, i32(1 << 17, low=-(1 << 30), high=1 << 30))
add(F, "searchsorted", lambda x, y: jnp.searchsorted(jnp.sort(x), y), f32(4096), f32(1 << 15))
add(F, "im2col", lambda x: lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME"), f32(8, 16, 28, 28))
add(F, "upsample by nearest", lambda x: jax.image.resize(x, (8, 56, 56, 32), "nearest"), f32(8, 28, 28, 32))
add(F, "upsample bilinear", lambda x: jax.image.resize(x, (8, 56, 56, 32), "bilinear"), f32(8, 28, 28, 32))
add(F, "where with indices", lambda x: jnp.where(jnp.arange(1024)[:, None] >= jnp.arange(1024), x, -1e9), f32(1024,
    1024))
add(F, "masked mean", lambda x, m: (x * m).sum(1) / jnp.maximum(m.sum(1), 1), f32(512, 1024), flag(512, 1024))
add(F, "compress by cumulative sum", lambda x, m: jnp.zeros_like(x).at[jnp.cumsum(m) - 1].add(x * m),
    f32(1 << 15), flag(1 << 15))
