"""A graph convolutional network; examples/gallery/gcn.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48

NODES, CLASSES, LABELLED, FEATURES, HIDDEN = 120, 3, 4, 16, 16


def graph():
    draw = drand48(1)
    x, edges = torch.zeros(NODES, FEATURES), torch.eye(NODES)
    label = torch.arange(NODES) % CLASSES
    for i in range(NODES):
        for k in range(FEATURES):
            x[i, k] = next(draw) + 0.2 * (k % CLASSES == int(label[i]))
        for j in range(i):
            if next(draw) < (0.12 if label[i] == label[j] else 0.01):
                edges[i, j] = edges[j, i] = 1
    degree = edges.sum(1)
    return x, edges / (degree[:, None] * degree[None]).sqrt(), label


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x, edges):
        return edges @ self.conv2(F.relu(edges @ self.conv1(x)))


def losses(weights, steps):
    m = begin(GCN(), weights)
    adam = torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4)
    x, edges, label = graph()
    known = torch.arange(NODES) < CLASSES * LABELLED
    for _ in range(steps):
        loss = F.cross_entropy(m(x, edges)[known], label[known])
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield "loss", loss.item()
