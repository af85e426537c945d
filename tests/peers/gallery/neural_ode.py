"""A neural ordinary differential equation; examples/gallery/neural_ode.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48

TIMES, WINDOW, BATCH, HIDDEN, DT = 200, 10, 32, 50, 0.125


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, HIDDEN), nn.Linear(HIDDEN, 2)

    def forward(self, y):
        return self.fc2(torch.tanh(self.fc1(y ** 3)))


def truth():
    y, out = [2.0, 0.0], []
    for _ in range(TIMES + 1):
        out.append(list(y))
        for _ in range(1000):
            a, b = y[0] ** 3, y[1] ** 3
            y = [y[0] + DT / 1000 * (-0.1 * a + 2 * b), y[1] + DT / 1000 * (-2 * a - 0.1 * b)]
    return torch.tensor(out)


def solve(f, y, steps):
    path = []
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + DT / 2 * k1)
        k3 = f(y + DT / 2 * k2)
        k4 = f(y + DT * k3)
        y = y + DT / 6 * k1 + DT / 3 * k2 + DT / 3 * k3 + DT / 6 * k4
        path.append(y)
    return torch.stack(path)


def losses(weights, steps):
    m, draw, points = begin(Field(), weights), drand48(1), truth()
    rms = torch.optim.RMSprop(m.parameters(), lr=1e-3)
    for _ in range(steps):
        at = torch.tensor([int(next(draw) * (TIMES - WINDOW)) for _ in range(BATCH)])
        target = torch.stack([points[at + 1 + t] for t in range(WINDOW)])
        loss = F.l1_loss(solve(m, points[at], WINDOW), target)
        rms.zero_grad()
        loss.backward()
        rms.step()
        yield "loss", loss.item()
