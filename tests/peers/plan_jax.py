"""The memory of one training step of an MLP, as JAX and libtpu state it: what xtrain plan must come within 10 % of
(tests/slow/plan.sh). usage: plan_jax.py TOPOLOGY"""
import os, sys
for k, v in dict(TPU_SKIP_MDS_QUERY="1", TPU_WORKER_HOSTNAMES="localhost", TPU_WORKER_ID="0",
                 TPU_ACCELERATOR_TYPE="v5litepod-4", TPU_MIN_LOG_LEVEL="3", ALLOW_MULTIPLE_LIBTPU_LOAD="1",
                 JAX_PLATFORMS="cpu").items():
    os.environ.setdefault(k, v)
import jax, jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

def loss(p, x, y):
    for w, b in p[:-1]:
        x = jax.nn.relu(jnp.matmul(x, w.T, precision="highest") + b)
    w, b = p[-1]
    z = jnp.matmul(x, w.T, precision="highest") + b
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1))

def step(p, m, v, t, x, y):
    g = jax.grad(loss)(p, x, y)
    t = t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), p, m, v)
    return p, m, v, t

device = topologies.get_topology_desc(sys.argv[1], "tpu").devices[0]
one = SingleDeviceSharding(device)
like = lambda *s, t=jnp.float32: jax.ShapeDtypeStruct(s, t, sharding=one)
p = [(like(512, 256), like(512))] + [(like(512, 512), like(512)) for _ in range(2)] + [(like(10, 512), like(10))]
m = jax.jit(step, donate_argnums=(0, 1, 2, 3)).lower(p, p, p, like(), like(65536, 256),
                                                     like(65536, t=jnp.int32)).compile().memory_analysis()
print(m.argument_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes + m.temp_size_in_bytes)
