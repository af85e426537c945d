"""The MNIST network on real digits, 100 steps, from the same weights and batches: xtrain, PyTorch f32 with and without
its oneDNN kernels, PyTorch f64.

usage: python3 tests/peers/mnist_digits.py BUILD_DIR IDX_DIR      (by hand; needs torch, safetensors, a C compiler)

A max pooling whose two largest inputs are within rounding of each other sends its gradient elsewhere in one program
than in another, and from there on two correct programs drift apart. So this prints how far each pair is and where it
first left 1e-5 and 1e-4: what PyTorch differs from itself by is what can be asked."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

STEPS, BATCH = 100, 128


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 10, 5), nn.BatchNorm2d(10)
        self.conv2, self.bn2 = nn.Conv2d(10, 20, 5), nn.BatchNorm2d(20)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = self.bn1(F.relu(F.max_pool2d(self.conv1(x), 2)))
        x = self.bn2(F.relu(F.max_pool2d(self.conv2(x), 2)))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x.flatten(1)))), 1)


def one_ulp(state, seed):
    """The weights, each moved to the next float above or below."""
    g = torch.Generator().manual_seed(seed)
    far = {k: torch.where(torch.rand(v.shape, generator=g) < 0.5, 9.0, -9.0) for k, v in state.items()
           if k.endswith("weight") and not k.startswith("bn")}
    return {k: torch.nextafter(v, far[k]) if k in far else v for k, v in state.items()}


def pytorch(folder, dtype, mkldnn, seed=None):
    torch.backends.mkldnn.enabled = mkldnn
    x = torch.from_numpy(np.fromfile(folder + "/x.bin", np.float32).reshape(-1, BATCH, 1, 28, 28)).to(dtype)
    y = torch.from_numpy(np.fromfile(folder + "/y.bin", np.int64).reshape(-1, BATCH))
    net = Net()
    state = load_file(folder + "/init.safetensors")
    net.load_state_dict(state if seed is None else one_ulp(state, seed))
    net.to(dtype)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
    losses = []
    for step in range(STEPS):
        loss = F.nll_loss(net(x[step % len(x)]), y[step % len(x)])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return np.array(losses)


def compare(name, got, want):
    error = np.abs(got - want) / np.abs(want)
    first = [str(int(np.argmax(error > limit))) if (error > limit).any() else "never" for limit in (1e-5, 1e-4)]
    print(
        f"{name:44s} largest {error.max():.1e} at step {error.argmax()}; above 1e-5 first at {first[0]}, above 1e-4 "
        f"at {first[1]}")


build, digits = (os.path.abspath(p) for p in sys.argv[1:3])
root = os.path.abspath(os.path.dirname(__file__) + "/../..")
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["cc", "-I" + root + "/include", root + "/tests/peers/mnist_digits.c", "-L" + build, "-lxtrain",
                    "-Wl,-rpath," + build, "-o", folder + "/run"], check=True)
    out = subprocess.run(["./run", digits], cwd=folder, check=True, capture_output=True, text=True,
                         env=dict(os.environ, XT_SUMMARY="off")).stdout
    ours = np.array([float(v) for v in out.split()])
    plain, without, exact = pytorch(folder, torch.float32, True), pytorch(folder, torch.float32, False), pytorch(folder,
            torch.float64, True)
    moved = [pytorch(folder, torch.float32, True, seed) for seed in range(4)]
compare("xtrain, PyTorch", ours, plain)
compare("PyTorch, PyTorch without oneDNN", plain, without)
compare("PyTorch, PyTorch f64", plain, exact)
compare("xtrain, PyTorch f64", ours, exact)
for m in moved:
    compare("PyTorch, weights moved by one ulp; PyTorch f64", m, exact)
