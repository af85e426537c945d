"""REINFORCE on CartPole; examples/gallery/reinforce.c."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48

EPISODES, LONGEST = 16, 200


def push(s, right):
    force, sine, cosine = (10.0 if right else -10.0), math.sin(s[2]), math.cos(s[2])
    p = (force + 0.05 * s[3] * s[3] * sine) / 1.1
    turn = (9.8 * sine - cosine * p) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1))
    run = p - 0.05 * turn * cosine / 1.1
    s[:] = [a + 0.02 * b for a, b in zip(s, (s[1], run, s[3], turn))]
    return abs(s[0]) < 2.4 and abs(s[2]) < 0.2095


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def play(m, draw):
    state = [[0.1 * next(draw) - 0.05 for _ in range(4)] for _ in range(EPISODES)]
    up, seen, actions = [True] * EPISODES, [[] for _ in state], [[] for _ in state]
    for _ in range(LONGEST):
        x = torch.tensor(state)
        with torch.no_grad():
            right = torch.softmax(m(x), 1)[:, 1].tolist()
        for e in range(EPISODES):
            choice = next(draw) < right[e]
            if not up[e]:
                continue
            seen[e].append(x[e])
            actions[e].append(int(choice))
            up[e] = push(state[e], choice)
        if not any(up):
            break
    return seen, actions


def losses(weights, steps):
    m, draw = begin(Policy(), weights), drand48(1)
    adam = torch.optim.Adam(m.parameters(), lr=0.01)
    for _ in range(steps):
        seen, actions = play(m, draw)
        returns = []
        for a in actions:
            r, left = [], 0.0
            for _ in a:
                left = 1 + 0.98 * left
                r.append(left)
            returns += r[::-1]
        g = torch.tensor(returns, dtype=torch.float64)
        g = ((g - g.mean()) / (g.std(unbiased=False) + 1e-6) / len(g)).float()
        logits = m(torch.stack([x for s in seen for x in s]))
        loss = (F.cross_entropy(logits, torch.tensor([i for a in actions for i in a]), reduction="none") * g).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield "loss", loss.item()
        yield "length", len(returns) / EPISODES
