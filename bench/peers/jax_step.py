"""Times one training step of xtrain's models in JAX under jit. The last line is a JSON object.

usage: jax_step.py jit mnist|resnet50|gpt2 --batch N [--side N] [--seq N] [--steps N] [--precision fp32|bf16]
                   [--device cpu|cuda] [--attention plain|cudnn] [--tiny]

Same shapes, optimizers and options as models/*.c. ms_median and ms_min are of steps that are waited for one by one,
ms_stream of steps that are not. --attention cudnn: jax.nn.dot_product_attention by cuDNN's fused kernel. --tiny: the
smallest network of its kind, to see that the script runs.
"""
import argparse
import json
import os
import resource
import time

began = time.time()
parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=["jit"])
parser.add_argument("model", choices=["mnist", "resnet50", "gpt2"])
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--side", type=int, default=224)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
parser.add_argument("--attention", choices=["plain", "cudnn"], default="plain")
parser.add_argument("--tiny", action="store_true")
args = parser.parse_args()

# looks for no other device: an installed libtpu would be asked first, for minutes
os.environ.setdefault("JAX_PLATFORMS", args.device)
import jax
import jax.numpy as jnp
import optax

VOCAB, CONTEXT, WIDTH, LAYERS, HEADS = (512, 1024, 64, 2, 2) if args.tiny else (50257, 1024, 768, 12, 12)
STAGES = (1, 1, 1, 1) if args.tiny else (3, 4, 6, 3)
compute = jnp.bfloat16 if args.precision == "bf16" else jnp.float32
keys = iter(jax.random.split(jax.random.PRNGKey(0), 300))


def matrix(rows, columns, scale=0.02):
    return scale * jax.random.normal(next(keys), (rows, columns))


def linear(rows, columns, scale=0.02):
    return {"weight": matrix(rows, columns, scale), "bias": jnp.zeros(columns)}


def norm(width):
    return {"weight": jnp.ones(width), "bias": jnp.zeros(width)}


def product(p, x):
    return (x.astype(compute) @ p["weight"].astype(compute)).astype(jnp.float32) + p["bias"]


# --- GPT-2 ---
def block():
    return {"norm1": norm(WIDTH), "qkv": linear(WIDTH, 3 * WIDTH), "merge": linear(WIDTH, WIDTH),
            "norm2": norm(WIDTH), "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH)}


def normalise(p, x):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * p["weight"] + p["bias"]


def attend(p, x):
    b, t, _ = x.shape
    q, k, v = (y.reshape(b, t, HEADS, -1).astype(compute) for y in jnp.split(product(p["qkv"], x), 3, axis=-1))
    if args.attention == "cudnn":
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    else:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (WIDTH // HEADS) ** 0.5
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf), axis=-1)
        y = jnp.einsum("bhqk,bkhd->bqhd", weights.astype(compute), v)
    return product(p["merge"], y.reshape(b, t, WIDTH))


def gpt2_loss(p, x, y):
    h = p["tokens"][x] + p["places"][: x.shape[1]]
    for b in p["blocks"]:
        h = h + attend(b, normalise(b["norm1"], h))
        h = h + product(b["down"], jax.nn.gelu(product(b["up"], normalise(b["norm2"], h))))
    logits = (normalise(p["norm"], h).astype(compute) @ p["tokens"].T.astype(compute)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), ()


def gpt2():
    params = {"tokens": matrix(VOCAB, WIDTH), "places": matrix(CONTEXT, WIDTH),
              "blocks": [block() for _ in range(LAYERS)], "norm": norm(WIDTH)}
    x, y = (jax.random.randint(next(keys), (args.batch, args.seq), 0, VOCAB) for _ in range(2))
    return params, (), gpt2_loss, optax.adamw(3e-4, weight_decay=0.1), x, y


# --- images, NHWC. Running means of a batch norm are its state and come back beside the loss. ---
def kernel(size, width_in, width):
    return (2 / (size * size * width)) ** 0.5 * jax.random.normal(next(keys), (size, size, width_in, width))


def conv(w, x, stride=1, padding="SAME"):
    return jax.lax.conv_general_dilated(x.astype(compute), w.astype(compute), (stride, stride), padding,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(p, x, running):
    x = x.astype(jnp.float32)
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    running.append((mean, var))
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["weight"] + p["bias"]


def pool(x, size, stride, padding):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)


def moved(state, running):
    return [(0.9 * m + 0.1 * a, 0.9 * v + 0.1 * b) for (m, v), (a, b) in zip(state, running)]


def bottleneck(width_in, width, stride):
    p = {"conv1": kernel(1, width_in, width), "bn1": norm(width), "conv2": kernel(3, width, width), "bn2": norm(width),
         "conv3": kernel(1, width, 4 * width), "bn3": norm(4 * width)}
    if stride != 1 or width_in != 4 * width:
        p |= {"down": kernel(1, width_in, 4 * width), "bn4": norm(4 * width)}
    return p


def resnet_loss(p, state, x, y):
    running = []
    x = jax.nn.relu(batch_norm(p["bn1"], conv(p["conv1"], x, 2, ((3, 3), (3, 3))), running))
    x = pool(x, 3, 2, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i, b in enumerate(p["blocks"]):
        stride = 2 if i in (sum(STAGES[:k]) for k in range(1, 4)) else 1
        h = jax.nn.relu(batch_norm(b["bn1"], conv(b["conv1"], x), running))
        h = jax.nn.relu(batch_norm(b["bn2"], conv(b["conv2"], h, stride, ((1, 1), (1, 1))), running))
        h = batch_norm(b["bn3"], conv(b["conv3"], h), running)
        x = jax.nn.relu(h + (batch_norm(b["bn4"], conv(b["down"], x, stride), running) if "down" in b else x))
    logits = product(p["fc"], x.mean((1, 2)))
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), moved(state, running)


def resnet50():
    blocks, width = [], 64
    for stage, n in enumerate(STAGES):
        for k in range(n):
            blocks.append(bottleneck(width, 64 << stage, 2 if stage and not k else 1))
            width = 4 * (64 << stage)
    params = {"conv1": kernel(7, 3, 64), "bn1": norm(64), "blocks": blocks, "fc": linear(width, 1000)}
    widths = [64] + [b["bn" + k]["bias"].size for b in blocks for k in "1234" if "bn" + k in b]
    x = jax.random.uniform(next(keys), (args.batch, args.side, args.side, 3))
    y = jax.random.randint(next(keys), (args.batch,), 0, 1000)
    optimizer = optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1, momentum=0.9))
    return params, [(jnp.zeros(w), jnp.ones(w)) for w in widths], resnet_loss, optimizer, x, y


def mnist_loss(p, state, x, y):
    running = []
    for k in "12":
        x = jax.nn.relu(pool(conv(p["conv" + k], x, 1, "VALID") + p["bias" + k], 2, 2, "VALID"))
        x = batch_norm(p["bn" + k], x, running)
    x = x.reshape(x.shape[0], -1)
    logits = product(p["fc2"], jax.nn.relu(product(p["fc1"], x)))
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), moved(state, running)


def mnist():
    params = {"conv1": kernel(5, 1, 10), "bias1": jnp.zeros(10), "bn1": norm(10), "conv2": kernel(5, 10, 20),
              "bias2": jnp.zeros(20), "bn2": norm(20), "fc1": linear(320, 50, 0.06), "fc2": linear(50, 10, 0.1)}
    x = jax.random.uniform(next(keys), (args.batch, 28, 28, 1))
    y = jax.random.randint(next(keys), (args.batch,), 0, 10)
    optimizer = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(0.05, momentum=0.9))
    return params, [(jnp.zeros(w), jnp.ones(w)) for w in (10, 20)], mnist_loss, optimizer, x, y


params, state, loss_of, optimizer, x, y = {"gpt2": gpt2, "resnet50": resnet50, "mnist": mnist}[args.model]()


def update(p, state, moments, x, y):
    def with_state(p):
        return loss_of(p, x, y) if args.model == "gpt2" else loss_of(p, state, x, y)
    (loss, state), gradients = jax.value_and_grad(with_state, has_aux=True)(p)
    change, moments = optimizer.update(gradients, moments, p)
    return optax.apply_updates(p, change), state, moments, loss


step = jax.jit(update, donate_argnums=(0, 1, 2))
moments = optimizer.init(params)
params, state, moments, loss = step(params, state, moments, x, y)
first_loss = float(loss)
first = time.time() - began
times = []
for i in range(args.steps + 2):
    at = time.perf_counter()
    params, state, moments, loss = step(params, state, moments, x, y)
    loss.block_until_ready()
    if i >= 2:
        times.append((time.perf_counter() - at) * 1e3)
at = time.perf_counter()
for i in range(args.steps):
    params, state, moments, loss = step(params, state, moments, x, y)
loss.block_until_ready()
stream = (time.perf_counter() - at) * 1e3 / args.steps
memory = jax.devices()[0].memory_stats() or {}
print(json.dumps({"framework": "jax" if args.attention == "plain" else "jax-cudnn", "model": args.model,
                  "batch": args.batch, "precision": args.precision, "device": args.device, "ms_stream": stream,
                  "ms_median": sorted(times)[len(times) // 2],
                  "ms_min": min(times), "start_to_first_step_ms": first * 1e3,
                  "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "peak_device_bytes": memory.get("peak_bytes_in_use", -1),
                  "loss_first": first_loss, "loss_last": float(loss)}))
