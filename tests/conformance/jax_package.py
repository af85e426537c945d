"""What the package xtrain-pjrt adds to JAX. usage: pip install the wheel beside JAX, then JAX_PLATFORMS=xtrain
CPU_NUM_DEVICES=4 python jax_package.py"""
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.experimental import io_callback
from jax.experimental.buffer_callback import buffer_callback
from jax.experimental.compilation_cache import compilation_cache
from jax.experimental.control_deps import schedule
from jax._src.lax import parallel
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

assert jax.devices()[0].platform == "xtrain" and len(jax.devices()) == 4, jax.devices()
failed = 0


def check(name, good):
    global failed
    print("ok  " if good else "FAIL", name)
    failed += not good


def close(a, b, tol=1e-5):
    return np.allclose(np.asarray(a), np.asarray(b), rtol=tol, atol=tol)


a = np.random.RandomState(0).randn(5, 5).astype(np.float32)
s = a @ a.T + np.eye(5, dtype=np.float32)
w, v = jnp.linalg.eigh(s)
check("eigh", close(v * w @ v.T, s, 1e-4))
u, d, vt = jnp.linalg.svd(a)
check("svd", close(u * d @ vt, a))
q, r = jnp.linalg.qr(a)
check("qr", close(q @ r, a) and close(q.T @ q, np.eye(5)))
check("lu", close(jnp.linalg.solve(s, a), np.linalg.solve(s, a), 1e-4))
masked = jax.jit(lambda x, p: x * p.astype(x.dtype))
check("a product with a mask is a choice", np.array_equal(
    masked(np.array([np.inf, np.nan, 2], np.float32), np.array([0, 0, 1], bool)), [0, 0, 2]))
check("cholesky", close(jnp.linalg.cholesky(s), np.linalg.cholesky(s)))

# imported when the backend is there already: its rule is found later
from jax.experimental.sparse.linalg import spsolve
sparse = np.array([4, 1, 1, 3], np.float32), np.array([0, 1, 0, 1], np.int32), np.array([0, 2, 4], np.int32)
check("spsolve", close(jax.jit(spsolve)(*sparse, np.array([1, 2], np.float32)),
                       np.linalg.solve([[4, 1], [1, 3]], [1, 2])))

check("pure_callback", close(jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype),
                                                                 x) * 2)(a), 2 * np.sin(a)))
seen = []
jax.jit(lambda x: jax.debug.callback(lambda y: seen.append(float(y)), x[0, 0]))(a)
jax.effects_barrier()
check("debug.callback", seen == [float(a[0, 0])])
ordered = []


@jax.jit
def twice(x):
    def body(c, v):
        r = io_callback(lambda y: (ordered.append(float(y)), np.float32(2 * y))[1],
                        jax.ShapeDtypeStruct((), np.float32), v, ordered=True)
        return c + r, r
    return lax.scan(body, 0.0, x)


check("io_callback in order", float(twice(jnp.arange(3.0))[0] + twice(jnp.arange(3.0, 5.0))[0]) == 20
      and ordered == [0, 1, 2, 3, 4])
check("DLPack", close(np.from_dlpack(jnp.asarray(a)), a)
      and next(iter(jnp.from_dlpack(a).devices())).platform == "xtrain")
try:
    jax.jit(lambda x: jax.pure_callback(lambda y: 1 // 0, jax.ShapeDtypeStruct((), np.float32),
                                        x))(1.0).block_until_ready()
    check("an error in a callback", False)
except Exception as e:
    check("an error in a callback", "ZeroDivisionError" in str(e))
try:
    jax.jit(lambda x: jax.ffi.ffi_call("nobody_knows", x)(x)).lower(a).compile()
    check("an unknown call is refused where it is compiled", False)
except Exception as e:
    check("an unknown call is refused where it is compiled", "nobody_knows" in str(e))


def fill(ctx, out, x):  # a result is the program's own memory, an argument too, but read-only
    assert np.asarray(out).flags.writeable and not np.asarray(x).flags.writeable
    np.asarray(out)[...] = np.asarray(x) + 1


check("buffer_callback", close(
    jax.jit(lambda x: buffer_callback(fill, jax.ShapeDtypeStruct(x.shape, x.dtype))(2 * x))(a), 2 * a + 1))


def share(ctx, out, x):
    assert np.asarray(out).ctypes.data == np.asarray(x).ctypes.data


check("buffer_callback in place",
      close(buffer_callback(share, jax.ShapeDtypeStruct(a.shape, a.dtype), input_output_aliases={0: 0})(a), a))
check("platform_dependent: the branch for JAX's CPU",
      close(jax.jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos))(a), np.sin(a)))
check("platform_dependent: the default before it",
      close(jax.jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos))(a), np.cos(a)))
# JAX's own compilation cache; a program with a callback is left out without a word
with tempfile.TemporaryDirectory() as folder:
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_raise_persistent_cache_errors", True)
    compilation_cache.reset_cache()
    jax.jit(lambda x: x @ x + 3)(a)
    kept = len([f for f in os.listdir(folder) if f.endswith("-cache")])
    called = jax.jit(lambda x: jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(a)
    jax.clear_caches()
    check("a compiled program is kept and found again",
          kept > 0 and close(jax.jit(lambda x: x @ x + 3)(a), a @ a + 3) and close(called, np.cos(a)))
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
x = jnp.ones(4)
jax.jit(lambda x: x * 2, donate_argnums=0)(x)
check("donation", x.is_deleted())

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
h = np.arange(32, dtype=np.float32).reshape(8, 4)
x = jax.device_put(h, NamedSharding(mesh, P("a", "b")))
check("partitioned product", close(jax.jit(lambda x: jnp.sin(x) @ x.T)(x), np.sin(h) @ h.T, 1e-4))
check("out_shardings", close(jax.jit(lambda x: x * 2, out_shardings=NamedSharding(mesh, P("b")))(x), h * 2))
check("shard_map", close(jax.jit(shard_map(lambda x: lax.psum(x, ("a", "b")), mesh=mesh, in_specs=P("a", "b"),
                                           out_specs=P()))(x), h.reshape(2, 4, 2, 2).sum((0, 2))))


def callers(make, **where):
    """What a callback in the function saw, sorted: `make` gives the function its callback, `where` says that it is in a
    shard_map."""
    seen = []
    function = make(lambda v: seen.append(float(v)))
    jax.jit(shard_map(function, mesh=mesh, **where) if where else function)(x)
    jax.effects_barrier()
    return sorted(seen)


def debugged(see):
    return lambda x: (jax.debug.callback(see, x[0, 0]), x)[1]


def of_parts(see):
    return lambda x: (jax.debug.callback(lambda v: see(v[0, 0]), x * 1, partitioned=True), x)[1]


def informed(see):
    return lambda x: (io_callback(see, None, x[0, 0]), x)[1]


parts = {"in_specs": P("a", "b"), "out_specs": P("a", "b")}
corners = sorted(h[::4, ::2].ravel().tolist())
for shardy in (True, False):
    jax.config.update("jax_use_shardy_partitioner", shardy)
    how = "" if shardy else " without Shardy"
    check("debug.callback in shard_map: each device" + how, callers(debugged, **parts) == corners)
    check("io_callback in shard_map: each device" + how, callers(informed, **parts) == corners)
    check("debug.callback of a divided array: once" + how, callers(debugged) == [0])
    check("io_callback of a divided array: once" + how, callers(informed) == [0])
    check("debug.callback, partitioned, of a divided array: each device with its part" + how,
          callers(of_parts) == corners)
jax.config.update("jax_use_shardy_partitioner", True)
check("debug.callback where one axis is manual: each part",
      callers(debugged, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}) == [0, 16])


def begin(x):
    whole = parallel.all_gather_start(x, "a", tiled=True)
    other = x * 2
    gathered = whole.done()
    schedule([other, gathered])
    return gathered + other.sum()


check("all_gather begun and awaited",
      close(jax.jit(shard_map(begin, mesh=mesh, in_specs=P("a", "b"), out_specs=P(None, "b"), check_vma=False))(x)[0,
              0], h[0, 0] + 2 * h[:4, :2].sum()))
check("pmap", close(jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(np.arange(4, dtype=np.float32)),
                    [6, 7, 8, 9]))
raise SystemExit(failed > 0)
