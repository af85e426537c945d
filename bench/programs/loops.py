"""Loops: recurrences over time, solvers, small steps many times, maps over a batch."""
import jax
import jax.numpy as jnp
from jax import lax

from suite import add, f32, f64, i32, u32

F = "loops"


def rnn(w, u, xs):
    return lax.scan(lambda h, x: (jnp.tanh(h @ w + x @ u),) * 2, jnp.zeros((xs.shape[1], w.shape[0])), xs)[1]


def lstm(w, xs):
    n = w.shape[1] // 4

    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ w, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((xs.shape[1], n))
    return lax.scan(step, (zero, zero), xs)[1]


def loss_gradient(f):
    return lambda *args: jax.grad(lambda *a: jnp.square(f(*a)).mean(), tuple(range(len(args))))(*args)


add(F, "RNN", lambda w, u, xs: rnn(w / 16, u / 16, xs), f32(128, 128), f32(64, 128), f32(64, 32, 64))
add(F, "RNN, gradient", loss_gradient(lambda w, u, xs: rnn(w / 16, u / 16, xs)), f32(128, 128), f32(64, 128), f32(64,
    32, 64))
add(F, "LSTM", lambda w, xs: lstm(w / 16, xs), f32(192, 512), f32(64, 32, 64))
add(F, "LSTM, gradient", loss_gradient(lambda w, xs: lstm(w / 16, xs)), f32(192, 512), f32(64, 32, 64))
add(F, "scan of matrix-vector products", lambda a, x: lax.scan(lambda v, _: (jnp.tanh(a @ v / 16), None), x, None,
    200)[0],
    f32(256, 256), f32(256), tolerance=1e-3)
add(F, "1000 steps on 64 numbers", lambda x: lax.fori_loop(0, 1000, lambda i, v: 0.99 * v + 0.01 * jnp.sin(v), x),
    f32(64))
add(F, "1000 steps on a scalar", lambda x: lax.fori_loop(0, 1000, lambda i, v: v + 0.001 * (1 - v * v), x), f32())
add(F, "while, Newton's square roots", lambda x: lax.while_loop(
    lambda s: s[0] < 20, lambda s: (s[0] + 1, 0.5 * (s[1] + x / s[1])), (0, x))[1], f32(4096, low=0.5))
add(F, "ODE by Runge-Kutta over 4096 points", lambda y: lax.fori_loop(0, 100, lambda i, y: _rk4(y, 0.01), y), f32(2,
    4096), tolerance=1e-4)


def _rk4(y, h):
    def f(y):
        return jnp.stack([y[1], (1 - y[0] * y[0]) * y[1] - y[0]])
    a = f(y)
    b = f(y + h / 2 * a)
    c = f(y + h / 2 * b)
    d = f(y + h * c)
    return y + h / 6 * (a + 2 * b + 2 * c + d)


add(F, "heat equation, 200 steps", lambda x: lax.fori_loop(0, 200, lambda i, u: u.at[1:-1, 1:-1].add(
    0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])), x), f32(128, 128))
add(F, "power iteration", lambda a, v: lax.fori_loop(0, 100, lambda i, v: (a @ v) / jnp.linalg.norm(a @ v), v),
    f32(256, 256, low=0.0), f32(256, low=0.0), tolerance=1e-3)
add(F, "conjugate gradients", lambda a, b: jax.scipy.sparse.linalg.cg(
    lambda v: a.T @ (a @ v) + 10 * v, b, maxiter=50)[0], f32(256, 256), f32(256), tolerance=1e-1)
add(F, "gradient descent, 200 steps", lambda w, x, y: lax.fori_loop(
    0, 200, lambda i, w: w - 1e-4 * x.T @ (x @ w - y), w), f32(64), f32(512, 64), f32(512), tolerance=1e-3)
add(F, "k-means, 10 steps", lambda c, x: lax.fori_loop(0, 10, lambda i, c: _kmeans(c, x), c), f32(16, 8), f32(4096,
    8), tolerance=1e-2)


def _kmeans(c, x):
    near = jax.nn.one_hot(jnp.argmin(jnp.square(x[:, None] - c).sum(-1), 1), c.shape[0])
    return near.T @ x / jnp.maximum(near.sum(0)[:, None], 1)


add(F, "forward algorithm of an HMM", lambda t, e: lax.scan(
    lambda a, o: (jax.nn.logsumexp(a[:, None] + t, 0) + o, None), e[0], e[1:])[0], f32(32, 32), f32(200, 32),
    tolerance=1e-4)
add(F, "Kalman filter, 100 steps", lambda a, z: lax.scan(lambda s, o: _kalman(a, s, o), (
    jnp.zeros(8), jnp.eye(8)), z)[1], f32(8, 8), f32(100, 8), tolerance=1e-2)


def _kalman(a, state, z):
    a = 0.1 * a
    x, p = a @ state[0], a @ state[1] @ a.T + jnp.eye(8)
    gain = jnp.linalg.solve(p + jnp.eye(8), p).T
    x = x + gain @ (z - x)
    return (x, p - gain @ p), x


add(F, "mapped conditionals", lambda x: jax.vmap(lambda v: lax.cond(v > 0, jnp.sin, jnp.exp, v))(x), f32(1 << 16))
add(F, "conditional on a scalar", lambda p, x: lax.cond(p > 0, lambda x: x @ x, lambda x: x + 1, x), f32(), f32(256,
    256))
add(F, "switch of eight", lambda i, x: lax.switch(i % 8, [lambda x, k=k: x * k for k in range(8)], x), i32(),
    f32(512, 512))
add(F, "vmap of a small network", lambda w, v, x: jax.vmap(lambda x: jnp.tanh(x @ w) @ v)(x), f32(64, 64), f32(64,
    8), f32(2048, 64))
add(F, "gradients for each example", lambda w, x, y: jax.vmap(jax.grad(
    lambda w, x, y: jnp.square(jnp.tanh(x @ w) - y).sum()), (None, 0, 0))(w, x, y), f32(64, 16), f32(256, 64),
    f32(256, 16))
add(F, "Hessian", lambda x, a: jax.hessian(lambda x: jnp.log(jnp.cosh(a @ x)).sum())(x), f32(64), f32(256, 64),
    tolerance=1e-4)
add(F, "Jacobian forward", lambda x, a: jax.jacfwd(lambda x: jnp.tanh(a @ x))(x), f32(128), f32(128, 128))
add(F, "ten layers in a scan, gradient", loss_gradient(lambda w, x: lax.scan(
    lambda h, w: (jnp.tanh(h @ w / 11), None), x, w)[0]), f32(10, 128, 128), f32(64, 128))
add(F, "map over matrices", lambda x: lax.map(lambda m: (m @ m).sum(0), x), f32(64, 64, 64))
add(F, "random normal", lambda s: jax.random.normal(jax.random.wrap_key_data(s), (256, 1024)), u32(2), tolerance=1e-4)
add(F, "random uniform", lambda s: jax.random.uniform(jax.random.wrap_key_data(s), (1 << 18,)), u32(2))
add(F, "random permutation", lambda s: jax.random.permutation(jax.random.wrap_key_data(s), 1 << 14), u32(2))
add(F, "random categories", lambda s, x: jax.random.categorical(jax.random.wrap_key_data(s), x), u32(2), f32(512,
    256))
add(F, "dropout", lambda s, x: jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(s), 0.9, x.shape), x / 0.9, 0),
    u32(2), f32(256, 1024))
add(F, "random walk", lambda s: jnp.cumsum(jax.random.normal(jax.random.wrap_key_data(s), (512, 256)), 0), u32(2),
    tolerance=1e-4)
