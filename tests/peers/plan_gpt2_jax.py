"""The memory of one AdamW step of GPT-2 124M (f32, full precision, one device), as JAX and libtpu state it: what
`xtrain plan gpt2` must come within 10 % of (tests/slow/plan.sh).

usage: plan_gpt2_jax.py TOPOLOGY BATCH SEQ [--full] [--bf16] [--fsdp DIM [--batch-divided]]     prints bytes

--bf16: products of bf16 values (parameters stay f32), as xt_autocast_begin(XT_BF16). --fsdp: over all devices of the
topology, BATCH samples each; matrices are divided along dim DIM where that is even, else along the other, and XLA's
partitioner does the rest; --batch-divided: what goes from block to block is said to be divided as batches are, by
with_sharding_constraint. --dump FOLDER keeps the compiler's files.

Memory is known after some 20 seconds, the code after many minutes: the compiler is ended between them, and the number
is the total of its own memory usage report. With --full it comes to its end, and the number is arguments + results -
results in place + temporaries, of memory_analysis().
"""
import glob
import os
import re
import signal
import sys
import tempfile
import time

for k, v in dict(TPU_SKIP_MDS_QUERY="1", TPU_WORKER_HOSTNAMES="localhost", TPU_WORKER_ID="0",
                 TPU_ACCELERATOR_TYPE="v5litepod-4", TPU_MIN_LOG_LEVEL="3", ALLOW_MULTIPLE_LIBTPU_LOAD="1",
                 JAX_PLATFORMS="cpu").items():
    os.environ.setdefault(k, v)
import jax
import numpy
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

BF16 = "--bf16" in sys.argv
VOCAB, CONTEXT, WIDTH, LAYERS, HEADS = 50257, 1024, 768, 12, 12


def normalise(p, x):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * p["weight"] + p["bias"]


def times(x, y):
    """Everything but products is f32, as under xtrain's autocast."""
    return (x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).astype(jnp.float32) if BF16 else x @ y


def product(p, x):
    return times(x, p["weight"]) + p["bias"]


def attend(p, x):
    b, t, _ = x.shape
    q, k, v = (y.reshape(b, t, HEADS, -1).transpose(0, 2, 1, 3) for y in jnp.split(product(p["qkv"], x), 3, axis=-1))
    scores = times(q, k.transpose(0, 1, 3, 2)) / (WIDTH // HEADS) ** 0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf), axis=-1)
    return product(p["merge"], times(weights, v).transpose(0, 2, 1, 3).reshape(b, t, WIDTH))


def by_sample(x):
    return jax.lax.with_sharding_constraint(x, placed(x.shape, 0)) if "--batch-divided" in sys.argv else x


def loss_of(p, x, y):
    h = by_sample(p["tokens"][x] + p["places"][: x.shape[1]])
    for b in p["blocks"]:
        h = by_sample(h + attend(b, normalise(b["norm1"], h)))
        h = by_sample(h + product(b["down"], jax.nn.gelu(product(b["up"], normalise(b["norm2"], h)), approximate=True)))
    logits = by_sample(times(normalise(p["norm"], h), p["tokens"].T))
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1))


def step(p, m, v, t, x, y):
    loss, g = jax.value_and_grad(loss_of)(p, x, y)
    t = t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p * (1 - 3e-5) - 3e-4 * (m / (1 - 0.9 ** t))
                     / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), p, m, v)
    return p, m, v, t, loss


topology, batch, seq = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
devices = topologies.get_topology_desc(topology, "tpu").devices
dim = int(sys.argv[sys.argv.index("--fsdp") + 1]) if "--fsdp" in sys.argv else -1
mesh = jax.sharding.Mesh(numpy.array(devices), ("data",))


def placed(shape, axis):
    spec = [None] * len(shape)
    if axis >= 0:
        spec[axis] = "data"
    return SingleDeviceSharding(devices[0]) if dim < 0 else NamedSharding(mesh, PartitionSpec(*spec))


def like(*shape, dtype=jnp.float32):
    even = [k for k in (dim, 1 - dim) if len(shape) == 2 and dim >= 0 and shape[k] % len(devices) == 0]
    return jax.ShapeDtypeStruct(shape, dtype, sharding=placed(shape, even[0] if even else -1))


def linear(rows, columns):
    return {"weight": like(rows, columns), "bias": like(columns)}


norm = {"weight": like(WIDTH), "bias": like(WIDTH)}
block = {"norm1": norm, "qkv": linear(WIDTH, 3 * WIDTH), "merge": linear(WIDTH, WIDTH), "norm2": norm,
         "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH)}
p = {"tokens": like(VOCAB, WIDTH), "places": like(CONTEXT, WIDTH), "blocks": [block] * LAYERS, "norm": norm}
whole = (batch * (len(devices) if dim >= 0 else 1), seq)
tokens = jax.ShapeDtypeStruct(whole, jnp.int32, sharding=placed(whole, 0))
folder = sys.argv[sys.argv.index("--dump") + 1] if "--dump" in sys.argv else tempfile.mkdtemp()
child = 0 if "--full" in sys.argv else os.fork()
if child == 0:
    options = {} if "--full" in sys.argv else {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
    with jax.default_matmul_precision("default" if BF16 else "highest"):
        m = jax.jit(step, donate_argnums=(0, 1, 2, 3)).lower(p, p, p, like(), tokens,
                                                             tokens).compile(compiler_options=options).memory_analysis()
    if "--full" in sys.argv:
        print(m.argument_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes + m.temp_size_in_bytes)
    sys.exit(0)
end = time.time() + 1200
while time.time() < end and not glob.glob(
    folder + "/*after_optimizations_after_buffer_assignment.txt") and os.waitpid(child, os.WNOHANG) == (0, 0):
    time.sleep(0.2)
time.sleep(0.5)
os.kill(child, signal.SIGKILL)
usage = max(glob.glob(folder + "/*memory-usage-report.txt"), key=os.path.getsize)
print(re.search(r"\(color=0\)\nTotal bytes: (\d+)", open(usage).read()).group(1))
