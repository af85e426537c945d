"""What the PyTorch originals of examples/gallery/ share: each NAME.py begins with the weights that `NAME --save` wrote,
sees the same samples in the same order and the same random numbers, and gives the losses of ten steps.

A program of the gallery draws by Philox (src/base/rng.c): a number depends on the seed, on how many optimizer steps
were taken, on which draw since then it is, and on its place. So the same numbers can be had here."""
import ctypes
import math
import os

import numpy as np
import torch
from safetensors.torch import load_file

SEED = 1
BUILD = os.environ.get("BUILD", "build")


def philox(key, low, high):
    """Philox 4x32-10 of arrays of 64-bit counters: [n, 4] words."""
    mask = np.uint64(0xFFFFFFFF)
    low, high = np.broadcast_arrays(np.asarray(low, np.uint64), np.asarray(high, np.uint64))
    c = [low & mask, low >> np.uint64(32), high & mask, high >> np.uint64(32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), q & mask,
             (p >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, -1)


class Draws:
    """xt_rand and xt_randn of a program that has called xt_seed(1)."""

    def __init__(self):
        self.updates = self.draws = 0

    def updated(self, times=1):
        self.updates, self.draws = self.updates + times, 0

    def _words(self, n):
        stream = self.draws | self.updates << 32
        self.draws += 1
        return philox(SEED, np.arange((n + 3) // 4), stream).reshape(-1, 4)

    def rand(self, *shape):
        n = math.prod(shape)
        return torch.from_numpy(((self._words(n) >> np.uint64(8)).astype(np.float64) * 2.0 ** -24).reshape(-1)[:n]
                                .astype(np.float32).reshape(shape))

    def randn(self, *shape):
        n = math.prod(shape)
        w = self._words(n).astype(np.float64).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * np.log((w[:, 0] + 0.5) * 2.0 ** -32)), 2 * np.pi * w[:, 1] * 2.0 ** -32
        both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
        return torch.from_numpy(both.reshape(-1)[:n].astype(np.float32).reshape(shape))


def shuffled(n, epoch):
    """A loader's order of n samples in an epoch, with .shuffle."""
    order = np.arange(n)
    w = philox(SEED, np.arange((n + 1) // 2), 0x73687566 + epoch)
    bits = np.stack([w[:, 1] << np.uint64(32) | w[:, 0], w[:, 3] << np.uint64(32) | w[:, 2]], -1).reshape(-1)
    for i in range(n - 1, 0, -1):
        j = int(bits[i] % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return order


def batches(n, size, steps):
    """The numbers of the samples in each of a shuffling loader's first batches."""
    out, epoch = [], 0
    while len(out) < steps:
        order = shuffled(n, epoch)
        out += [order[i * size:(i + 1) * size] for i in range(n // size)]
        epoch += 1
    return out[:steps]


def drawn_digits(count, seed=1):
    """xt_drawn_digits: pictures [count,1,28,28] as MNIST is normalised, and labels."""
    lib = ctypes.CDLL(os.path.join(BUILD, "libxtrain.so"))
    lib.xt_drawn_digits_at.restype = ctypes.c_void_p
    lib.xt_drawn_digits_at.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64]
    lib.xt_dataset_get.restype = ctypes.c_void_p
    lib.xt_dataset_get.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    d = lib.xt_drawn_digits_at(None, count, seed)
    x, y = np.zeros((count, 1, 28, 28), np.float32), np.zeros(count, np.int64)
    for i in range(count):
        assert not lib.xt_dataset_get(d, i, x[i:].ctypes.data, y[i:].ctypes.data)
    return torch.from_numpy(x), torch.from_numpy(y)


def text(path):
    with open(path, "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=torch.uint8).long()


def windows(tokens, seq, stride=0):
    """xt_text_dataset: x and y [count,seq]."""
    stride = stride or seq
    at = torch.arange((len(tokens) - seq - 1) // stride + 1)[:, None] * stride + torch.arange(seq)
    return tokens[at], tokens[at + 1]


def drand48(seed):
    """The C library's drand48 after srand48(seed)."""
    x = seed << 16 | 0x330E
    while True:
        x = (0x5DEECE66D * x + 0xB) & (1 << 48) - 1
        yield x / 2.0 ** 48


def begin(module, path):
    module.load_state_dict(load_file(path), strict=True)
    return module
