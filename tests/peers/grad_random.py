#!/usr/bin/env python3
"""Random compositions of JAX functions, with the gradients that jax.grad gives them, as files for the test program
test_grad_jax.

usage: grad_random.py OUT_DIR [COUNT [SEED]]        (by hand, with a Python that has JAX; then: XT_GRAD_JAX=OUT_DIR
build/test_grad_jax)

A file is the StableHLO text that JAX lowers the forward function to (f64 numbers in, one f64 number out), preceded by
comment lines with the inputs, the expected gradients, and the gradients of these times cos(0, 1, 2, ...): `// input 0:
0.5 ...`, `// grad 0: ...`, `// hvp 0: ...`. Programs whose value or gradient is not finite, or which JAX lowers to
calls of its own libraries (LU, QR), are left out. tests/grad_jax holds a few, chosen to be small and to hold different
ops.
"""
import os
import random
import re
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # each program runs once
import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax, nn

rnd = random.Random()


def pick(xs):
    return rnd.choice(list(xs))


def axis_of(x):
    return rnd.randrange(x.ndim)


def safe(x):
    """Near zero and bounded, so that compositions stay finite."""
    return jnp.tanh(x)


UNARY = [
    jnp.sin, jnp.cos, jnp.tanh, lambda x: jnp.exp(safe(x)), lambda x: jnp.log1p(x * x),
    lambda x: jnp.sqrt(jnp.abs(x) + 0.1), lambda x: jnp.cbrt(x + 3),
    nn.sigmoid, lambda x: jsp.special.erf(x), lambda x: jsp.special.erfc(x),
    lambda x: jsp.special.gammaln(jnp.abs(x) + 0.5),
    lambda x: jsp.special.digamma(jnp.abs(x) + 0.5), jnp.arctan, jnp.arcsinh, nn.relu, nn.gelu,
    lambda x: nn.gelu(x, approximate=False), nn.softplus, jnp.abs,
    jnp.square, lambda x: 1 / (1 + x * x), jnp.expm1, lambda x: lax.rsqrt(x * x + 0.5), lambda x: jnp.tan(safe(x)),
    lambda x: lax.erf_inv(0.9 * safe(x)),
    lambda x: jnp.arcsin(0.9 * safe(x)), lambda x: jnp.arccos(0.9 * safe(x)), lambda x: jnp.arctanh(0.9 * safe(x)),
    lambda x: jnp.arccosh(1.5 + x * x),
    lambda x: jnp.sinh(safe(x)), lambda x: jnp.cosh(safe(x)), nn.silu, nn.elu, nn.selu, nn.hard_tanh,
    lambda x: nn.leaky_relu(x, 0.2), jnp.sinc, nn.mish,
    lambda x: x - jnp.floor(x), lambda x: jnp.clip(x, -0.7, 0.6), lambda x: jnp.where(x > 0.2, x, x * x),
    lambda x: x**3, lambda x: (jnp.abs(x) + 0.1) ** 1.7,
    lambda x: jsp.special.polygamma(1, jnp.abs(x) + 1), nn.log_sigmoid, lambda x: jnp.nan_to_num(x),
    lambda x: x * 1.5, lambda x: jsp.special.entr(jnp.abs(x) + 0.1), jsp.special.expit,
    lambda x: jsp.special.logit(0.5 + 0.4 * safe(x)), lambda x: jsp.special.ndtr(x), lambda x: jsp.special.log_ndtr(x),
]
BINARY = [
    jnp.add, jnp.subtract, jnp.multiply, lambda x, y: x / (y * y + 0.5), jnp.maximum, jnp.minimum,
    lambda x, y: jnp.power(jnp.abs(x) + 0.5, safe(y)),
    jnp.arctan2, jnp.logaddexp, lambda x, y: jnp.hypot(x, y + 2), lambda x, y: jnp.where(x > y, x * y, y),
    lambda x, y: jnp.fmod(x, jnp.abs(y) + 0.7),
    lambda x, y: jnp.remainder(x, jnp.abs(y) + 0.7),
    lambda x, y: lax.cond(jnp.sum(x) > 0, lambda a, b: a * b, lambda a, b: jnp.sin(a) + b, x, y),
    lambda x, y: jsp.special.xlogy(x, jnp.abs(y) + 0.5), lambda x, y: lax.select(y > x, x, 2 * y),
]


def shape_op(x):
    n, a = x.ndim, axis_of(x)
    size = x.shape[a]
    kind = rnd.randrange(26)
    if kind == 0: return x.reshape(-1)
    if kind == 1: return jnp.transpose(x, rnd.sample(range(n), n))
    if kind == 2: return jnp.flip(x, a)
    if kind == 3: return jnp.roll(x, rnd.randint(-3, 3), a)
    if kind == 4:
        cfg = [(rnd.randint(-1, 2) if d > 1 else rnd.randint(0, 2), rnd.randint(0, 2), rnd.randint(0, 2))
               for d in x.shape]
        return lax.pad(x, 0.3, cfg)
    if kind == 5:
        return jnp.concatenate([x, x * 0.5, x[tuple(slice(0, 1) if i == a else slice(None) for i in range(n))]], a)
    if kind == 6: return jnp.stack([x, jnp.sin(x)], rnd.randint(0, n))
    if kind == 7:
        s = rnd.randrange(size)
        return lax.slice_in_dim(x, s, size, rnd.randint(1, 2), a)
    if kind == 8: return jnp.broadcast_to(x, (rnd.randint(1, 3),) + x.shape)
    if kind == 9: return jnp.tile(x, tuple(rnd.randint(1, 2) for _ in x.shape))
    if kind == 10: return jnp.repeat(x, rnd.randint(1, 3), a)
    if kind == 11: return jnp.take(x, jnp.array([rnd.randrange(size) for _ in range(rnd.randint(1, 4))]), axis=a)
    if kind == 12: return jnp.take_along_axis(x, jnp.argsort(jnp.cos(3 * x), axis=a), a)
    if kind == 13:
        i = jnp.array([rnd.randrange(x.shape[0]) for _ in range(3)])
        return pick([lambda: x.at[i].add(jnp.cos(x[i])), lambda: x.at[i[0]].set(x[i[1]] * 2),
                     lambda: x.at[i].multiply(2.0)])()
    if kind == 14:
        i = rnd.randrange(size)
        return lax.dynamic_slice_in_dim(x, jnp.int32(i) + jnp.int32(jnp.sum(x) > 1e9), max(1, size // 2), a)
    if kind == 15:
        return lax.dynamic_update_slice_in_dim(x, lax.slice_in_dim(jnp.sin(x), 0, max(1, size // 2), axis=a),
                                               jnp.int32(rnd.randrange(size)), a)
    if kind == 16: return jnp.sort(x, axis=a)
    if kind == 17:
        return pick([jnp.cumsum, jnp.cumprod, lambda v, axis: lax.cummax(v, axis), lambda v, axis: lax.cummin(v, axis),
                     lambda v, axis: lax.cumlogsumexp(v, axis)])(x, axis=a)
    if kind == 18: return nn.softmax(x, axis=a)
    if kind == 19: return nn.log_softmax(x, axis=a)
    if kind == 20:
        return nn.standardize(x + jnp.arange(size).reshape([-1 if i == a else 1 for i in range(n)]), axis=a,
                              epsilon=0.1)
    if kind == 21: return jnp.tril(x) if n >= 2 else x
    if kind == 22: return jnp.diff(x, axis=a) if size > 1 else x
    if kind == 23: return lax.top_k(x, rnd.randint(1, x.shape[-1]))[0]
    if kind == 24: return jnp.expand_dims(x, rnd.randint(0, n))
    return lax.associative_scan(jnp.multiply, x, axis=a)


def reduce_op(x):
    a = axis_of(x)
    return pick([
        lambda: jnp.sum(x, a), lambda: jnp.mean(x, a), lambda: jnp.prod(x, a), lambda: jnp.max(x, a),
        lambda: jnp.min(x, a),
        lambda: jsp.special.logsumexp(x, a), lambda: jnp.var(x, a),
        lambda: jnp.std(x + jnp.arange(x.shape[a]).reshape([-1 if i == a else 1 for i in range(x.ndim)]), a),
        lambda: jnp.sqrt(jnp.sum(x * x, a) + 0.1), lambda: jnp.sum(x), lambda: jnp.max(x), lambda: jnp.median(x, a),
        lambda: jnp.average(x, a),
        lambda: jnp.sum(x * nn.one_hot(jnp.argmax(x, a), x.shape[a], axis=a), a), lambda: jnp.ptp(x, a),
        lambda: jnp.trapezoid(x, axis=a),
    ])()


def windows(x):
    n = x.ndim
    size = tuple(rnd.randint(1, min(3, d)) for d in x.shape)
    strides = tuple(rnd.randint(1, 2) for _ in x.shape)
    pad = [(rnd.randint(0, 1), rnd.randint(0, 1)) if s > 1 else (0, 0) for s in size]
    kind = rnd.randrange(3)
    if kind == 0:
        return lax.reduce_window(x, 0.0, lax.add, size, strides, pad,
                                 window_dilation=tuple(rnd.randint(1, 2) if s > 1 and d > 3 else 1
                                                       for s, d in zip(size, x.shape)))
    if kind == 1: return lax.reduce_window(x, -jnp.inf, lax.max, size, strides, [(0, 0)] * n)
    return lax.reduce_window(x, jnp.inf, lax.min, size, strides, [(0, 0)] * n)


def conv(x):
    flat = x.reshape(-1)
    groups, batch_groups = pick([(1, 1), (2, 1), (1, 2)])
    c = groups * rnd.randint(1, 2)
    b = batch_groups * rnd.randint(1, 2)
    h, w = rnd.randint(3, 5), rnd.randint(3, 5)
    need = b * c * h * w
    img = jnp.resize(flat, (b, c, h, w)) if need else flat
    kh, kw = rnd.randint(1, 3), rnd.randint(1, 3)
    out = groups * batch_groups * rnd.randint(1, 2)
    ker = jnp.resize(jnp.sin(2 * flat + 1), (out, c // groups, kh, kw))
    nhwc = rnd.random() < 0.3
    names = ("NHWC", "HWIO", "NHWC") if nhwc else ("NCHW", "OIHW", "NCHW")
    if nhwc:
        img, ker = img.transpose(0, 2, 3, 1), ker.transpose(2, 3, 1, 0)
    return lax.conv_general_dilated(img, ker, (rnd.randint(1, 2), rnd.randint(1, 2)),
                                    [(rnd.randint(0, 2), rnd.randint(-1, 2)), (rnd.randint(0, 1), rnd.randint(0, 2))],
                                    lhs_dilation=(rnd.randint(1, 2), 1),
                                    rhs_dilation=(1, rnd.randint(1, 2)) if w > 3 else (1, 1), dimension_numbers=names,
                                    feature_group_count=groups, batch_group_count=batch_groups, precision="highest")


def matrices(x):
    n = rnd.randint(2, 4)
    a = jnp.resize(x.reshape(-1), (n, n))
    spd = a @ a.T + 2 * jnp.eye(n)
    kind = rnd.randrange(9)
    if kind == 0: return jnp.linalg.cholesky(spd)
    if kind == 1:
        return jsp.linalg.solve_triangular(jnp.tril(a) + 3 * jnp.eye(n), a, lower=True, trans=rnd.randrange(2))
    if kind == 2: return jnp.einsum("ij,kj->ik", a, jnp.sin(a))
    if kind == 3: return jnp.einsum("ij,ij,jk->k", a, a, jnp.cos(a))
    if kind == 4:
        y = jnp.resize(x.reshape(-1), (2, n, 3))
        return jnp.einsum("bij,bkj->bik", y, jnp.tanh(y))
    if kind == 5: return jsp.linalg.cho_solve((jnp.linalg.cholesky(spd), True), a)
    if kind == 6: return jnp.matmul(a, a[0])
    if kind == 7: return jnp.tensordot(a, jnp.resize(x.reshape(-1), (n, n, 2)), axes=([0, 1], [1, 0]))
    return jnp.linalg.matrix_power(a * 0.3, 3)


def spectra(x):
    kind = rnd.randrange(5)
    if kind == 0: return jnp.abs(jnp.fft.fft(x) + 0.5)
    if kind == 1: return jnp.real(jnp.fft.rfft(x) * (1 + 2j))
    if kind == 2: return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(0.5j), n=x.shape[-1]) if x.shape[-1] > 1 else x
    if kind == 3:
        z = lax.complex(safe(x), jnp.sin(x))
        return jnp.real(jnp.exp(z) / (z + 3)) + jnp.imag(jnp.sin(z) * jnp.conj(z))
    z = lax.complex(x, 0.5 * x + 1)
    return jnp.abs(jnp.sqrt(z) + jnp.log(z) * 1j)


def loops(x):
    kind = rnd.randrange(8)
    k = rnd.randint(1, 4)
    if kind == 0: return lax.fori_loop(0, k, lambda i, v: jnp.sin(v) + i * 0.1, x)
    if kind == 1: return lax.scan(lambda c, v: (jnp.tanh(c * v), c + v), x[0], x)[1]
    if kind == 2: return lax.scan(lambda c, v: (c * 0.5 + v, None), jnp.zeros(x.shape[1:]), x, reverse=True)[0]
    if kind == 3: return lax.map(lambda v: jnp.cos(v) * jnp.sum(v), x)
    if kind == 4:
        return lax.switch(jnp.int32(rnd.randrange(3)) + jnp.int32(jnp.sum(x) > 1e9),
                          [jnp.sin, lambda v: v * v, jnp.negative], x)
    if kind == 5: return lax.fori_loop(0, k, lambda i, v: lax.cond(i % 2 == 0, jnp.cos, lambda u: u * 1.5, v), x)
    if kind == 6: return jax.checkpoint(lambda v: jnp.sin(jnp.cos(v)))(x)
    w = x.reshape(-1)[0]
    return lax.fori_loop(0, k, lambda i, v: lax.fori_loop(0, 2, lambda j, u: jnp.sin(u * w), v) + v, x)


def vmapped(x):
    f = pick([lambda v: jnp.dot(v.reshape(-1), v.reshape(-1)) * v, lambda v: jnp.sort(v, axis=None),
              lambda v: v.reshape(-1)[jnp.argmax(v)] + v, lambda v: lax.cumsum(v.reshape(-1)),
              lambda v: v.reshape(-1).at[jnp.argmin(v)].add(1.5)])
    return jax.vmap(f)(x)


KINDS = [(12, lambda p: pick(UNARY)(pick(p))), (6, None), (9, lambda p: shape_op(pick(p))),
         (4, lambda p: reduce_op(pick(p))), (2, lambda p: windows(pick(p))), (2, lambda p: conv(pick(p))),
         (2, lambda p: matrices(pick(p))), (2, lambda p: spectra(pick(p))), (3, lambda p: loops(pick(p))),
         (1, lambda p: vmapped(pick(p)))]


def binary(pool):
    x = pick(pool)
    same = [y for y in pool if y.shape == x.shape]
    y = pick(same)
    if rnd.random() < 0.3:
        y = jnp.mean(pick(pool))
    return pick(BINARY)(x, jnp.broadcast_to(y, x.shape))


def program(seed, steps):
    def f(*inputs):
        rnd.seed(seed)
        pool = list(inputs)
        for _ in range(steps):
            make = rnd.choices([k for _, k in KINDS], [w for w, _ in KINDS])[0]
            usable = [p for p in pool if p.ndim >= 1]
            v = binary(pool) if make is None else make(usable)
            if v.size == 0 or v.size > 600 or v.ndim > 5:
                continue
            pool.append(v)
        return sum(jnp.sum(jnp.sin(v + 0.3 * i)) / v.size
                   for i, v in enumerate(pool[len(inputs):])) + sum(jnp.sum(x * x) for x in inputs)
    return f


def numbers(a):
    return " ".join(repr(float(v)) for v in np.asarray(a).reshape(-1))


def write(path, seed):
    gen = np.random.default_rng(seed)
    r = random.Random(seed)
    shapes = [tuple(r.randint(1, 4) for _ in range(r.randint(1, 3))) for _ in range(r.randint(1, 3))]
    inputs = [gen.uniform(-1.5, 1.5, s) for s in shapes]
    f = program(seed, r.randint(2, 7))
    every = tuple(range(len(inputs)))

    def slope(*xs):  # along fixed directions, so that its gradient is a product with the Hessian
        return sum(jnp.sum(g.reshape(-1) * jnp.cos(jnp.arange(g.size))) for g in jax.grad(f, argnums=every)(*xs))
    value, grads = jax.jit(jax.value_and_grad(f, argnums=every))(*inputs)
    hvps = jax.jit(jax.grad(slope, argnums=every))(*inputs)
    if not all(np.isfinite(np.asarray(g)).all() for g in [value, *grads, *hvps]):
        return False
    text = jax.jit(f).lower(*inputs).as_text()
    if re.search(r"custom_call @(lapack|Lu|Qr|cu|__)", text) or len(text) > 60000:
        return False
    with open(path, "w") as out:
        for i, (x, g, h) in enumerate(zip(inputs, grads, hvps)):
            out.write(f"// input {i}: {numbers(x)}\n// grad {i}: {numbers(g)}\n// hvp {i}: {numbers(h)}\n")
        out.write(f"// value: {numbers(value)}\n" + text)
    return True


def main():
    out, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300, int(
        sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(out, exist_ok=True)
    made = failed = 0
    while made < count:
        try:
            made += write(os.path.join(out, f"r{seed:05d}.mlir"), seed)
        except Exception as e:  # a composition that JAX itself refuses
            failed += 1
            print(f"seed {seed}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
        seed += 1
    print(f"{made} programs, {failed} refused by JAX")


if __name__ == "__main__":
    main()
