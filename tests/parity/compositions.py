"""Random compositions: a list of instructions on registers, their value and its gradients by JAX in f64. Run with a
Python that has jax and numpy:
python3 tests/parity/compositions.py [SEED [COUNT]] writes compositions.safetensors beside this file (or where OUT
says). tests/unit/test_parity_compositions.c runs the same instructions; CODES here and there stand in the same
order."""
import json
import os
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

jax.config.update("jax_enable_x64", True)
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 60
R, C, INPUTS, LENGTH = 3, 4, 3, 12

shift = lambda x: jnp.concatenate([x[1:], x[:1]], 0)
CODES = [
    lambda x, y, z: jnp.sin(x) + y,
    lambda x, y, z: jnp.cos(x * y),
    lambda x, y, z: jnp.tanh(x - y),
    lambda x, y, z: jnp.exp(-x * x) * z,
    lambda x, y, z: nn.sigmoid(x) * y,
    lambda x, y, z: jnp.sqrt(1 + x * x),
    lambda x, y, z: x / (2 + y * y),
    lambda x, y, z: jnp.maximum(x, y) - jnp.minimum(y, z),
    lambda x, y, z: (x @ y.T) @ z / 4,
    lambda x, y, z: nn.softmax(x, 1) * y,
    lambda x, y, z: jax.scipy.special.logsumexp(x, 0)[None, :] - y,
    lambda x, y, z: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 0.1),
    lambda x, y, z: jnp.cumsum(x, 1) / 3 + shift(y),
    lambda x, y, z: jnp.where(x > y, z, jnp.sin(y)),
    lambda x, y, z: jnp.concatenate([x[:, 2:], y[:, :2]], 1),
    lambda x, y, z: jnp.take(x, jnp.array([2, 0, 2]), 0) + z,
    lambda x, y, z: jnp.log1p(x * x) - nn.softplus(y),
    lambda x, y, z: jnp.einsum("ij,kj->ki", x, y) @ z / 5,
    lambda x, y, z: jnp.sort(x, 1) * z,
    lambda x, y, z: jnp.abs(x) ** 1.5 / (1 + jnp.abs(y)),
    lambda x, y, z: x.sum(0)[None, :] * jnp.max(y, 1)[:, None] / 4,
    lambda x, y, z: jnp.reshape(x.T, (R, C)) - jnp.prod(1 + 0.1 * y, 1)[:, None],
    lambda x, y, z: jnp.pad(x, ((0, 0), (1, 1)))[:, :C] + jnp.flip(y, 1),
    lambda x, y, z: jnp.arctan2(x, 1.5 + y * y) + jax.scipy.special.erf(z),
]


def run(code, inputs):
    regs = list(inputs)
    for op, a, b, c in code:
        regs.append(CODES[op](regs[a], regs[b], regs[c]))
    return sum(jnp.mean(r * r) for r in regs[-3:])


tensors = {}
rng = np.random.default_rng(SEED)
k = 0
while k < COUNT:
    code = [[rng.integers(len(CODES)), *rng.integers(max(0, INPUTS + i - 5), INPUTS + i, 3)] for i in range(LENGTH)]
    inputs = [rng.standard_normal((R, C)) for _ in range(INPUTS)]
    value, grads = jax.value_and_grad(lambda v: run(code, v))(inputs)
    again = jax.grad(lambda v: sum(jnp.sum(g * g) for g in jax.grad(lambda u: run(code, u))(v)))(inputs)
    if not all(np.isfinite(t).all() for t in [value, *grads, *again]):
        continue  # a root or a power at 0
    tensors[f"{k}/code"] = np.array(code, np.int64)
    tensors[f"{k}/x"] = np.stack(inputs)
    tensors[f"{k}/value"] = np.array(value)
    tensors[f"{k}/grad"] = np.stack(grads)
    tensors[f"{k}/second"] = np.stack(again)  # of the sum of squares of the gradients
    k += 1

header, data = {}, b""
for name, t in tensors.items():
    raw = np.ascontiguousarray(t).tobytes()
    header[name] = {"dtype": {"float64": "F64", "int64": "I64"}[str(t.dtype)], "shape": list(t.shape),
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
path = os.environ.get("OUT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "compositions.safetensors"))
with open(path, "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
print(path, len(tensors), len(data))
