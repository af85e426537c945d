"""A graph attention network over a list of edges; examples/gallery/gat.c. Layers as PyTorch Geometric's GATConv."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48

NODES, CLASSES, LABELLED, FEATURES, HEADS, HIDDEN = 120, 3, 4, 16, 4, 8


def graph():
    draw = drand48(1)
    x, edges = torch.zeros(NODES, FEATURES), []
    label = torch.arange(NODES) % CLASSES
    for i in range(NODES):
        edges.append((i, i))
        for k in range(FEATURES):
            x[i, k] = next(draw) + 0.2 * (k % CLASSES == int(label[i]))
        for j in range(i):
            if next(draw) < (0.12 if label[i] == label[j] else 0.01):
                edges += [(i, j), (j, i)]
    return x, torch.tensor(edges).T, label


class GATConv(nn.Module):
    def __init__(self, seen, heads, out):
        super().__init__()
        self.heads, self.out = heads, out
        self.lin = nn.Linear(seen, heads * out, bias=False)
        self.att_src, self.att_dst = nn.Parameter(torch.empty(heads, out)), nn.Parameter(torch.empty(heads, out))

    def forward(self, x, edges):
        source, target = edges
        h = self.lin(x).view(-1, self.heads, self.out)
        score = (h * self.att_src).sum(2)[source] + (h * self.att_dst).sum(2)[target]
        score = F.leaky_relu(score, 0.2).exp()
        share = score / torch.zeros(len(x), self.heads).index_add(0, target, score)[target]
        return torch.zeros_like(h).index_add(0, target, h[source] * share[:, :, None])


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GATConv(FEATURES, HEADS, HIDDEN), GATConv(HEADS * HIDDEN, 1, CLASSES)

    def forward(self, x, edges):
        return self.conv2(F.elu(self.conv1(x, edges).flatten(1)), edges).mean(1)


def losses(weights, steps):
    m = begin(GAT(), weights)
    adam = torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4)
    x, edges, label = graph()
    known = torch.arange(NODES) < CLASSES * LABELLED
    for _ in range(steps):
        loss = F.cross_entropy(m(x, edges)[known], label[known])
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield "loss", loss.item()
