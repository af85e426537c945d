"""Training loops of flax and optax on the plugin beside JAX's own CPU, in one process. usage: JAX_PLATFORMS=xtrain,cpu
python flax_losses.py [NAME ...] (needs flax and optax, and the wheel). A row passes when all losses agree: 2e-5
relative in f32, where orders of summation differ and some steps amplify that; 1e-2 in bf16, whose unit is 4e-3."""
import functools
import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import lax

rng = np.random.default_rng(0)
x, y = rng.normal(size=(32, 20)).astype(np.float32), rng.integers(0, 10, 32)
images, labels = rng.normal(size=(16, 16, 16, 3)).astype(np.float32), rng.integers(0, 10, 16)
tokens = rng.integers(0, 50, (4, 24))
series = rng.normal(size=(16, 12, 5)).astype(np.float32)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), labels).mean()


class MLP(nn.Module):
    dtype: type = jnp.float32

    @nn.compact
    def __call__(self, x):
        for width in (64, 64):
            x = nn.gelu(nn.Dense(width, dtype=self.dtype)(x))
        return nn.Dense(10, dtype=self.dtype)(x)


class CNN(nn.Module):
    dtype: type = jnp.float32

    @nn.compact
    def __call__(self, x):
        for width in (8, 16):
            x = nn.GroupNorm(num_groups=4, dtype=self.dtype)(nn.Conv(width, (3, 3), dtype=self.dtype)(x))
            x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.max_pool(nn.Conv(16, (3, 3), feature_group_count=16, dtype=self.dtype)(x), (2, 2), (2, 2))
        return nn.Dense(10, dtype=self.dtype)(x.reshape(x.shape[0], -1))


class Block(nn.Module):
    dtype: type = jnp.float32

    @nn.compact
    def __call__(self, x, _=None):
        mask = nn.make_causal_mask(x[..., 0])
        x = x + nn.MultiHeadDotProductAttention(4, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x), mask=mask)
        h = nn.gelu(nn.Dense(128, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x)))
        return x + nn.Dense(32, dtype=self.dtype)(h), None


class GPT(nn.Module):
    remat: bool = False
    scan: bool = False
    dtype: type = jnp.float32

    @nn.compact
    def __call__(self, t):
        x = nn.Embed(50, 32, dtype=self.dtype)(t) + nn.Embed(64, 32, dtype=self.dtype)(jnp.arange(t.shape[1]))
        block = nn.remat(Block) if self.remat else Block
        if self.scan:
            x, _ = nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True}, length=2)(self.dtype)(x,
                    None)
        else:
            for _ in range(2):
                x, _ = block(self.dtype)(x)
        return nn.Dense(50, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x))


class Recurrent(nn.Module):
    cell: type

    @nn.compact
    def __call__(self, x):
        return nn.Dense(10)(nn.RNN(self.cell(16))(x)[:, -1])


def train(model, tx, x=x, y=y, steps=5):
    params = model.init(jax.random.key(0), x[:2])
    state = tx.init(params)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state):
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(model.apply(p, x), y))(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss
    losses = []
    for _ in range(steps):
        params, state, loss = step(params, state)
        losses.append(float(loss))
    return losses


def train_in_scan():
    model, tx = MLP(), optax.adam(1e-2)

    def step(carry, _):
        params, state = carry
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(model.apply(p, x), y))(params)
        updates, state = tx.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), loss
    params = model.init(jax.random.key(0), x)
    return list(jax.jit(lambda c: lax.scan(step, c, None, length=10)[1])((params, tx.init(params))))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a, self.norm, self.drop, self.b = nnx.Linear(20, 32, rngs=rngs), nnx.BatchNorm(32,
                rngs=rngs), nnx.Dropout(0.1, rngs=rngs), nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        return self.b(self.drop(nnx.relu(self.norm(self.a(x)))))


def train_nnx():
    net = Net(nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.adamw(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(net, opt):
        loss, grads = nnx.value_and_grad(lambda n: cross_entropy(n(x), y))(net)
        opt.update(net, grads)
        return loss
    return [float(step(net, opt)) for _ in range(5)]


def per_example():
    model = MLP()
    params = model.init(jax.random.key(0), x)
    grads = jax.jit(jax.vmap(jax.grad(lambda p, x, y: cross_entropy(model.apply(p, x[None]), y[None])),
                             (None, 0, 0)))(params, x, y)
    return [float(optax.global_norm(g)) for g in jax.tree.leaves(grads)]


clipped = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-2, 3, 20)))
gpt = dict(x=tokens, y=np.roll(tokens, -1, 1))
rows = {
    "sgd": lambda: train(MLP(), optax.sgd(0.1, momentum=0.9, nesterov=True)),
    "adamw, clipped, scheduled": lambda: train(MLP(), clipped),
    **{name: functools.partial(lambda name: train(MLP(), getattr(optax, name)(1e-3)), name)
       for name in "lion lamb adafactor rmsprop adagrad adadelta nadam radam yogi novograd adamax".split()},
    "accumulated": lambda: train(MLP(), optax.MultiSteps(optax.adam(1e-2), 2)),
    "bf16": lambda: train(MLP(jnp.bfloat16), optax.adam(1e-2)),
    "cnn": lambda: train(CNN(), optax.adam(3e-3), images, labels),
    "cnn bf16": lambda: train(CNN(jnp.bfloat16), optax.adam(3e-3), images, labels),
    "gpt": lambda: train(GPT(), optax.adamw(3e-3), **gpt),
    "gpt, checkpoints in a scan": lambda: train(GPT(remat=True, scan=True), optax.adamw(3e-3), **gpt),
    "gpt bf16": lambda: train(GPT(dtype=jnp.bfloat16), optax.adamw(3e-3), **gpt),
    "lstm": lambda: train(Recurrent(nn.OptimizedLSTMCell), optax.adam(1e-2), series, labels),
    "gru": lambda: train(Recurrent(nn.GRUCell), optax.adam(1e-2), series, labels),
    "all steps in one scan": train_in_scan,
    "nnx, batch norm, dropout": train_nnx,
    "gradients by example": per_example,
}
assert jax.devices()[0].platform == "xtrain", jax.devices()
failed = 0
for name in sys.argv[1:] or rows:
    ours = rows[name]()
    with jax.default_device(jax.devices("cpu")[0]):
        theirs = rows[name]()
    good = np.allclose(ours, theirs, rtol=1e-2 if "bf16" in name else 2e-5, atol=1e-6)
    print("ok  " if good else "FAIL", name, *("%.6f" % v for v in ours),
          *([] if good else ["; JAX's CPU:", *("%.6f" % v for v in theirs)]), flush=True)
    failed += not good
print(f"{len(sys.argv[1:] or rows) - failed} passed, {failed} failed")
raise SystemExit(failed > 0)
