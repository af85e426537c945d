"""Parts of networks and small whole ones: convolutions, attention, mixers; forward alone and with gradients."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from suite import add, bf16, f32, gradient, i32

F = "networks"


def conv(x, w, stride=1, groups=1, padding="SAME", form="NHWC"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, feature_group_count=groups,
                                    dimension_numbers=(form, "HWIO" if form == "NHWC" else "OIHW", form))


for dtype, text in ((f32, ""), (bf16, ", bf16")):
    add(F, "convolution 3x3" + text, conv, dtype(8, 28, 28, 64), dtype(3, 3, 64, 64),
    tolerance=None if not text else 5e-2)
    add(F, "convolution 3x3, gradient" + text, gradient(lambda x, w: conv(x, w / 24)), dtype(8, 28, 28, 64),
        dtype(3, 3, 64, 64), tolerance=1e-4 if not text else 5e-2)
add(F, "convolution 1x1", conv, f32(8, 28, 28, 256), f32(1, 1, 256, 64))
add(F, "convolution 7x7, stride 2", lambda x, w: conv(x, w, 2), f32(4, 112, 112, 3), f32(7, 7, 3, 64))
add(F, "convolution, NCHW", lambda x, w: conv(x, w, form="NCHW"), f32(8, 64, 28, 28), f32(64, 64, 3, 3))
add(F, "depthwise convolution", lambda x, w: conv(x, w, groups=128), f32(8, 28, 28, 128), f32(3, 3, 1, 128))
add(F, "depthwise convolution, gradient", gradient(lambda x, w: conv(x, w, groups=64)), f32(8, 28, 28, 64), f32(3, 3,
    1, 64))
add(F, "grouped convolution", lambda x, w: conv(x, w, groups=8), f32(8, 28, 28, 128), f32(3, 3, 16, 128))
add(F, "transposed convolution", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), f32(8, 14, 14, 128), f32(3,
    3, 128, 64))
add(F, "convolution over time", lambda x, w: lax.conv_general_dilated(
    x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), f32(16, 512, 64), f32(5, 64, 64))
add(F, "dilated causal convolution", lambda x, w: lax.conv_general_dilated(
    x, w, (1,), [(8, 0)], rhs_dilation=(4,), dimension_numbers=("NWC", "WIO", "NWC")), f32(8, 1024, 32), f32(3, 32,
    32))


def attention(q, k, v, causal=True):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    if causal:
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(s.astype(jnp.float32), -1).astype(q.dtype), v)


for t, b in ((128, 8), (512, 2)):
    for dtype, text in ((f32, ""), (bf16, ", bf16")):
        q = dtype(b, 12, t, 64)
        add(F, f"attention {t}{text}", attention, q, q, q, tolerance=None if not text else 5e-2)
        add(F, f"attention {t}, gradient{text}", gradient(attention), q, q, q, tolerance=1e-4 if not text else 1e-1)
add(F, "attention, one query", lambda q, k, v: attention(q, k, v, False), f32(8, 12, 1, 64), f32(8, 12, 512, 64),
    f32(8, 12, 512, 64))


def block(x, wq, wo, w1, w2):
    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    b, t, c = x.shape
    q, k, v = (y.reshape(b, t, -1, 32).transpose(0, 2, 1, 3) for y in jnp.split(norm(x) @ (wq / 16), 3, -1))
    x = x + attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, t, c) @ (wo / 16)
    return x + nn.gelu(norm(x) @ (w1 / 16)) @ (w2 / 32)


weights = (f32(256, 768), f32(256, 256), f32(256, 1024), f32(1024, 256))
add(F, "transformer block", block, f32(8, 128, 256), *weights, tolerance=1e-4)
add(F, "transformer block, gradient", gradient(block), f32(8, 128, 256), *weights, tolerance=1e-3)
for b in (1, 32, 256, 4096):
    add(F, f"MLP, batch {b}", lambda x, w, v: nn.softmax(nn.relu(x @ w / 28) @ v / 16), f32(b, 784), f32(784, 256),
    f32(256, 10), tolerance=1e-4)
    add(F, f"MLP, batch {b}, gradient", gradient(lambda x, w, v: nn.softmax(nn.relu(x @ w / 28) @ v / 16), 1, 2),
        f32(b, 784), f32(784, 256), f32(256, 10), tolerance=1e-3)


def residual(x, w, v):
    def norm(x):
        return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)
    return nn.relu(x + norm(conv(nn.relu(norm(conv(x, w))), v)))


add(F, "residual block", residual, f32(8, 28, 28, 64), f32(3, 3, 64, 64), f32(3, 3, 64, 64), tolerance=1e-4)
add(F, "residual block, gradient", gradient(residual), f32(8, 28, 28, 64), f32(3, 3, 64, 64), f32(3, 3, 64, 64),
    tolerance=1e-2)
add(F, "squeeze and excite", lambda x, w, v: x * nn.sigmoid(nn.relu(x.mean((1, 2)) @ w) @ v)[:, None, None],
    f32(16, 28, 28, 64), f32(64, 16), f32(16, 64))
add(F, "group norm", lambda x: ((y := x.reshape(8, 28, 28, 8, 8)) - y.mean((1, 2, 4),
    keepdims=True)).reshape(x.shape) *
    jnp.repeat(lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5).reshape(8, 1, 1, 8), 8, -1), f32(8, 28, 28, 64))
add(F, "mixture of four experts", lambda x, g, w: jnp.einsum("bef,be->bf", nn.relu(jnp.einsum("bd,edf->bef", x, w)),
                                                          nn.softmax(x @ g)), f32(256, 128), f32(128, 4), f32(4, 128,
    256), tolerance=1e-4)
add(F, "graph convolution", lambda x, w, i, j: nn.relu(jnp.zeros((100, 64)).at[j].add((x @ w)[i])),
    f32(100, 64), f32(64, 64), i32(4096), i32(4096), tolerance=1e-4)
add(F, "contrastive loss, gradient", lambda x, y: jax.grad(lambda x, y: -jnp.diagonal(nn.log_softmax(
    (x / jnp.linalg.norm(x, axis=1, keepdims=True)) @ (y / jnp.linalg.norm(y, axis=1, keepdims=True)).T * 10)).mean(),
    (0, 1))(x, y), f32(256, 128), f32(256, 128), tolerance=1e-3)
add(F, "CTC-like dynamic programme", lambda x: lax.scan(lambda a, e: (jnp.logaddexp(a, jnp.pad(
    a, ((0, 0), (1, 0)), constant_values=-1e9)[:, :-1]) + e, None), x[0], x[1:])[0], f32(100, 16, 64), tolerance=1e-4)
