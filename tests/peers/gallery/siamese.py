"""A siamese network; examples/gallery/siamese.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import batches, begin, drawn_digits

PAIRS, CODE = 32, 8


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 5), nn.Conv2d(8, 16, 5)
        self.fc1, self.fc2 = nn.Linear(256, 64), nn.Linear(64, CODE)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def losses(weights, steps):
    m = begin(Embed(), weights)
    adam = torch.optim.Adam(m.parameters(), lr=1e-3)
    x, y = drawn_digits(4096)
    x, y = x[y < 5], y[y < 5]
    for rows in batches(len(x), 2 * PAIRS, steps):
        left, right = x[rows].chunk(2)
        same = (y[rows][:PAIRS] == y[rows][PAIRS:]).float()
        d = F.pairwise_distance(m(left), m(right))
        loss = (same * d ** 2 + (1 - same) * F.relu(1 - d) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield "loss", loss.item()
