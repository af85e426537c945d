"""A mixture of experts; examples/gallery/moe.c."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48

BATCH, EXPERTS, CHOSEN, HIDDEN = 128, 4, 2, 32


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, HIDDEN), nn.Linear(HIDDEN, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(2, EXPERTS)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        scores = self.gate(x)
        best, which = scores.topk(CHOSEN, 1)
        share = torch.full_like(scores, -math.inf).scatter(1, which, best).softmax(1)
        y = torch.einsum("be,beo->bo", share, torch.stack([e(x) for e in self.experts], 1))
        load = ((share > 0).float().mean(0) * scores.softmax(1).mean(0)).sum() * EXPERTS / CHOSEN
        return y, share, load


def points(draw):
    x, label = torch.zeros(BATCH, 2), torch.arange(BATCH) % 2
    for i in range(BATCH):
        t = next(draw)
        angle = 9.4 * t + 3.14159265358979 * int(label[i])
        x[i, 0] = t * math.cos(angle) + 0.06 * (next(draw) - 0.5)
        x[i, 1] = t * math.sin(angle) + 0.06 * (next(draw) - 0.5)
    return x, label


def losses(weights, steps):
    m, draw = begin(Mixture(), weights), drand48(1)
    adam = torch.optim.Adam(m.parameters(), lr=3e-3)
    for _ in range(steps):
        x, label = points(draw)
        y, _, load = m(x)
        loss = F.cross_entropy(y, label)
        adam.zero_grad()
        (loss + 0.01 * load).backward()
        adam.step()
        yield "loss", loss.item()
        yield "load", load.item()
