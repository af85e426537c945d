"""JAX's meshes on 4 devices of the plugin, through Shardy (and through mhlo.sharding with
JAX_USE_SHARDY_PARTITIONER=0), beside one device.
usage: pip install the wheel beside JAX, then JAX_PLATFORMS=xtrain CPU_NUM_DEVICES=4 python jax_mesh.py"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.experimental.shard_alike import shard_alike
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

assert len(jax.devices()) == 4, jax.devices()
failed = 0
rng = np.random.RandomState(0)
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
line = Mesh(np.array(jax.devices()), ("i",))


def check(name, function):
    global failed
    try:
        good = function()
        what = "" if good else ": differs"
    except Exception as e:
        good, what = False, f": {type(e).__name__}: {str(e)[:600]}"
    print("ok  " if good else "FAIL", name + what, flush=True)
    failed += not good


def close(a, b, tol=1e-5):
    a, b = ([v] if isinstance(v, list) else jax.tree.leaves(v) for v in (a, b))
    return len(a) == len(b) and all(np.allclose(np.asarray(x), np.asarray(y), rtol=tol, atol=tol) for x, y in zip(a, b))


def put(x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


h = rng.randn(8, 4).astype(np.float32)
w = rng.randn(4, 8).astype(np.float32)

check("product of divided operands",
      lambda: close(jax.jit(lambda x, w: jnp.tanh(x @ w))(put(h, "a", "b"), put(w, "b")), np.tanh(h @ w)))
check("both axes on one dim", lambda: close(jax.jit(lambda x: jnp.cumsum(x * 2, 0))(put(h, ("b", "a"))),
                                            np.cumsum(h * 2, 0)))
check("with_sharding_constraint",
      lambda: close(jax.jit(lambda x: lax.with_sharding_constraint(jnp.sin(x) @ x.T,
                                                                   NamedSharding(mesh, P("a", "b"))) + 1)(h),
                                                                   np.sin(h) @ h.T + 1))


def output_sharding():
    y = jax.jit(lambda x: x + 1)(put(h, "a", "b"))
    return close(y, h + 1) and y.sharding.is_equivalent_to(NamedSharding(mesh, P("a", "b")), 2)


check("sharding of an output nobody names", output_sharding)
check("out_shardings", lambda: close(jax.jit(lambda x: x * 2,
                                             out_shardings=NamedSharding(mesh, P(None, "b")))(put(h, "a")), h * 2))


if jax.config.jax_use_shardy_partitioner:
    check("shard_alike", lambda: jax.jit(lambda x: shard_alike(x, jnp.arange(32.0).reshape(8, 4))[1])(put(h, "a",
            "b")).sharding.is_equivalent_to(NamedSharding(mesh, P("a", "b")), 2))


def manual(f, ins, outs, **more):
    return jax.jit(shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **more))


check("psum", lambda: close(manual(lambda x: lax.psum(x, ("a", "b")), P("a", "b"), P())(h),
                            h.reshape(2, 4, 2, 2).sum((0, 2))))
check("psum over one axis", lambda: close(manual(lambda x: lax.psum(x, "a"), P("a", "b"), P(None, "b"))(h),
                                          h.reshape(2, 4, 4).sum(0)))
check("all_gather", lambda: close(manual(lambda x: lax.all_gather(x, "a", tiled=True) * 1.0, P("a", "b"), P(None, "b"),
                                         check_vma=False)(h), h))
check("ppermute", lambda: close(manual(lambda x: lax.ppermute(x, "a", [(0, 1), (1, 0)]), P("a", "b"), P("a", "b"))(h),
                                np.roll(h, 4, 0)))
check("psum_scatter", lambda: close(manual(lambda x: lax.psum_scatter(x, "a", tiled=True), P(None, "b"),
                                           P("a", "b"))(h), 2 * h))
check("all_to_all", lambda: close(manual(lambda x: lax.all_to_all(x, "a", 1, 0, tiled=True), P("a", "b"),
                                         P("a", "b"))(h).sum(), h.sum(), 1e-4))
check("axis_index", lambda: close(manual(lambda x: x + lax.axis_index("a") * 10 + lax.axis_index("b"), P("a", "b"),
                                         P("a", "b"))(h),
                                  h + np.repeat([0, 10], 4)[:, None] + np.repeat([0, 1], 2)[None]))
check("an axis left to the compiler",
      lambda: close(jax.jit(shard_map(lambda x: lax.psum(jnp.sin(x), "a"), mesh=mesh, in_specs=P("a"), out_specs=P(),
                                      axis_names={"a"}))(put(h, "a", "b")),
                                                    np.sin(h).reshape(2, 4, 4).sum(0)))
check("no operand", lambda: close(
    jax.jit(shard_map(lambda: lax.axis_index("a").reshape(1).astype(jnp.float32), mesh=mesh, in_specs=(),
                      out_specs=P("a")))(), [0., 1.]))


def loop(x):
    ring = shard_map(lambda x: lax.ppermute(x, "a", [(0, 1), (1, 0)]) + 1, mesh=mesh, in_specs=P("a", "b"),
                     out_specs=P("a", "b"))
    return lax.scan(lambda c, _: (ring(c), c.sum()), x, None, length=3)


check("shard_map in a scan", lambda: close(jax.jit(loop)(put(h, "a", "b")),
                                           jax.jit(lambda x: lax.scan(lambda c, _: (jnp.roll(c, 4, 0) + 1, c.sum()), x,
                                                                      None, length=3))(h)))
check("scan in a shard_map", lambda: close(
    manual(lambda x: lax.scan(lambda c, _: (lax.psum(c, "a") / 2 + lax.ppermute(c, "b", [(0, 1), (1, 0)]), None), x,
                              None, length=3)[0],
                                                  P("a", "b"), P("a", "b"), check_vma=False)(h).shape, h.shape))
check("gradient of a shard_map",
      lambda: close(jax.jit(jax.grad(lambda x: shard_map(lambda x: lax.psum(jnp.sum(x ** 3), ("a", "b")), mesh=mesh,
                                                         in_specs=P("a", "b"), out_specs=P())(x)))(h), 3 * h * h, 1e-4))
check("one in another", lambda: close(jax.jit(shard_map(
    lambda x: shard_map(lambda y: y * lax.psum(1, "b") + lax.axis_index("b"), in_specs=P(None, "b"),
                        out_specs=P(None, "b"), axis_names={"b"})(x) + lax.axis_index("a"),
    mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}))(h),
    h * 2 + np.repeat([0, 1], 4)[:, None] + np.repeat([0, 1], 2)[None]))
check("random numbers, divided",
      lambda: close(jax.jit(lambda k: jax.random.normal(k, (8, 8)),
                            out_shardings=NamedSharding(mesh, P("a", "b")))(jax.random.key(0)),
                                              jax.random.normal(jax.random.key(0), (8, 8))))
check("devices in another order", lambda: close(jax.jit(lambda x, y: x @ y)(
    *[jax.device_put(x, NamedSharding(Mesh(np.array(jax.devices())[[0, 2, 1, 3]].reshape(2, 2), ("a", "b")),
                                      P("a", "b"))) for x in (h, w)]), h @ w))
check("pmap", lambda: close(jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(np.arange(4, dtype=np.float32)),
                            [6, 7, 8, 9]))
check("pmap with ppermute and axis_index",
      lambda: close(jax.pmap(lambda x: lax.ppermute(x, "i",
                                                    [(k, (k + 1) % 4) for k in range(4)]) * (1 + lax.axis_index("i")),
                                                    axis_name="i")(
    np.arange(4, dtype=np.float32)), [3, 0, 3, 8]))


# --- training: the losses of one device
# -----------------------------------------------------------------------------------------------------------
def start():
    r = np.random.RandomState(1)
    return {"w1": r.randn(16, 32).astype(np.float32) * 0.2, "b1": np.zeros(32, np.float32),
            "w2": r.randn(32, 4).astype(np.float32) * 0.2}


images, labels = rng.randn(16, 16).astype(np.float32), rng.randint(0, 4, 16)


def loss_of(p, x, y):
    z = jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1))


def step(p, x, y):
    loss, g = jax.value_and_grad(loss_of)(p, x, y)
    return jax.tree.map(lambda p, g: p - 0.5 * g, p, g), loss


def losses(step, p, x, y, n=10):
    out = []
    for _ in range(n):
        p, loss = step(p, x, y)
        out.append(float(np.mean(loss)))
    return out


want = losses(jax.jit(step), start(), images, labels)
specs = {"w1": P(None, "b"), "b1": P("b"), "w2": P("b")}
check("training, data and tensor parallel",
      lambda: close(losses(jax.jit(step), {k: put(v, *specs[k]) for k, v in start().items()}, put(images, "a"),
                           put(labels, "a")), want))


def parallel_step(p, x, y):
    loss, g = jax.value_and_grad(loss_of)(p, x, y)
    g = jax.tree.map(lambda g: lax.pmean(g, "i"), g)
    return jax.tree.map(lambda p, g: p - 0.5 * g, p, g), lax.pmean(loss, "i")


check("training by shard_map",
      lambda: close(losses(jax.jit(shard_map(parallel_step, mesh=line, in_specs=(P(), P("i"), P("i")),
                                             out_specs=(P(), P()), check_vma=False)), start(), images, labels), want))
check("training by pmap", lambda: close(losses(jax.pmap(parallel_step, axis_name="i"),
                                               jax.tree.map(lambda v: np.stack([v] * 4), start()),
                                               images.reshape(4, 4, 16), labels.reshape(4, 4)), want))
raise SystemExit(failed > 0)
