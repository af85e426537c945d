"""The MNIST network (models/mnist.c, SGD lr 0.01 momentum 0.5, batch 128) for 100 steps from weights and batches that
an integer formula gives, so that only the losses need keeping. tests/unit/test_parity_mnist.c has the same formula.

A ReLU whose input is within rounding of 0, or a pooling window whose two largest values are, passes its gradient
elsewhere in one program than in another, and from there on the two drift apart, correct as both are. Dense images have
such windows: with noise PyTorch in f32 leaves PyTorch in f64 by 5e-4 within 100 steps, and xtrain leaves PyTorch by
1e-4 to 2e-4; with real digits see tests/peers/mnist_digits.py, which compares PyTorch with itself too. So the images
here are bright points six rows and columns apart, of which no pooling window of the first layer sees two, and there are
only KINDS different ones, so that few such windows come up: this test shows that the network is the same, not that
near-ties fall alike."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from parity import File

STEPS, BATCH, KINDS = 100, 128, 20


def mixed(n, salt):
    """n numbers in [0,1) with 24 bits: a multiplicative hash of index and salt, modulo 2^32."""
    h = (np.arange(1, n + 1, dtype=np.uint64) * 2654435761 + int(salt) * 40503) % 2**32
    h = (h ^ (h >> np.uint64(15))) * 2246822519 % 2**32
    h = h ^ (h >> np.uint64(13))
    return ((h >> np.uint64(8)).astype(np.float64) * 2.0**-24).astype(np.float32)


def image(kind):
    """Points of random brightness, six apart, shifted by kind."""
    x = np.zeros((1, 28, 28), np.float32)
    points = mixed(25, 1000 + kind).reshape(5, 5)
    x[0, kind % 4 : kind % 4 + 25 : 6, kind % 3 : kind % 3 + 25 : 6] = points
    return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 10, 5), nn.BatchNorm2d(10)
        self.conv2, self.bn2 = nn.Conv2d(10, 20, 5), nn.BatchNorm2d(20)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = self.bn1(F.relu(F.max_pool2d(self.conv1(x), 2)))
        x = self.bn2(F.relu(F.max_pool2d(self.conv2(x), 2)))
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), 1)


f = File("mnist")
net = Net()
with torch.no_grad():
    for salt, (name, p) in enumerate(n for n in net.named_parameters() if not n[0].startswith("bn")):
        fan_in = {"conv1": 25, "conv2": 250, "fc1": 320, "fc2": 50}[name.split(".")[0]]
        p.copy_(torch.from_numpy((2 * mixed(p.numel(), salt) - 1) / np.float32(fan_in**0.5)).view_as(p))
sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
losses = []
for step in range(STEPS):
    kinds = (mixed(BATCH, 2000 + step) * np.float32(KINDS)).astype(np.int64)
    x = torch.from_numpy(np.stack([image(k) for k in kinds]))
    labels = torch.from_numpy(kinds % 10)
    loss = F.nll_loss(net(x), labels)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    losses.append(loss.item())
print(losses[0], losses[10], losses[50], losses[-1])
f.put("mnist/losses", torch.tensor(losses, dtype=torch.float32))
f.put("mnist/bn1.running_mean", net.bn1.running_mean)
f.put("mnist/bn2.running_var", net.bn2.running_var)
f.save()
