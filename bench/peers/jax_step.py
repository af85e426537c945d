"""Times one training step of GPT-2 (124M, AdamW) in JAX under jit. The last line is a JSON object.

usage: jax_step.py jit gpt2 --batch N [--seq N] [--steps N] [--precision fp32|bf16]
"""
import argparse
import json
import os
import resource
import time

began = time.time()
parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=["jit"])
parser.add_argument("model", choices=["gpt2"])
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
args = parser.parse_args()

# looks for no other device: an installed libtpu would be asked first, for minutes
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import optax

VOCAB, CONTEXT, WIDTH, LAYERS, HEADS = 50257, 1024, 768, 12, 12
compute = jnp.bfloat16 if args.precision == "bf16" else jnp.float32
keys = iter(jax.random.split(jax.random.PRNGKey(0), 4 * LAYERS + 4))


def matrix(rows, columns):
    return 0.02 * jax.random.normal(next(keys), (rows, columns))


def linear(rows, columns):
    return {"weight": matrix(rows, columns), "bias": jnp.zeros(columns)}


def norm():
    return {"weight": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}


def block():
    return {"norm1": norm(), "qkv": linear(WIDTH, 3 * WIDTH), "merge": linear(WIDTH, WIDTH),
            "norm2": norm(), "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH)}


def normalise(p, x):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * p["weight"] + p["bias"]


def product(p, x):
    return (x.astype(compute) @ p["weight"].astype(compute)).astype(jnp.float32) + p["bias"]


def attend(p, x):
    b, t, _ = x.shape
    q, k, v = (y.reshape(b, t, HEADS, -1).astype(compute) for y in jnp.split(product(p["qkv"], x), 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (WIDTH // HEADS) ** 0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf), axis=-1)
    return product(p["merge"], jnp.einsum("bhqk,bkhd->bqhd", weights.astype(compute), v).reshape(b, t, WIDTH))


def loss_of(p, x, y):
    h = p["tokens"][x] + p["places"][: x.shape[1]]
    for b in p["blocks"]:
        h = h + attend(b, normalise(b["norm1"], h))
        h = h + product(b["down"], jax.nn.gelu(product(b["up"], normalise(b["norm2"], h))))
    logits = (normalise(p["norm"], h).astype(compute) @ p["tokens"].T.astype(compute)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


optimizer = optax.adamw(3e-4, weight_decay=0.1)


def update(p, state, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(p, x, y)
    change, state = optimizer.update(gradients, state, p)
    return optax.apply_updates(p, change), state, loss


step = jax.jit(update, donate_argnums=(0, 1))
params = {"tokens": matrix(VOCAB, WIDTH), "places": matrix(CONTEXT, WIDTH), "blocks": [block() for _ in range(LAYERS)],
          "norm": norm()}
state = optimizer.init(params)
x, y = (jax.random.randint(next(keys), (args.batch, args.seq), 0, VOCAB) for _ in range(2))
params, state, loss = step(params, state, x, y)
first_loss = float(loss)
first = time.time() - began
times = []
for i in range(args.steps + 2):
    at = time.perf_counter()
    params, state, loss = step(params, state, x, y)
    loss.block_until_ready()
    if i >= 2:
        times.append((time.perf_counter() - at) * 1e3)
print(json.dumps({"framework": "jax", "model": "gpt2", "batch": args.batch, "precision": args.precision,
                  "ms_median": sorted(times)[len(times) // 2],
                  "ms_min": min(times), "start_to_first_step_ms": first * 1e3,
                  "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "loss_first": first_loss, "loss_last": float(loss)}))
