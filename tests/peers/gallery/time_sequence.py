"""Two LSTM cells on sine waves, by L-BFGS in f64; examples/gallery/time_sequence.c.

Its later steps are as far from these as these are from themselves when the weights begin 1e-15 of their size elsewhere:
1e-9 of the loss in step 5, 1e-4 in step 8."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin

WAVES, SEEN, HIDDEN = 6, 20, 51


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2 = nn.LSTMCell(1, HIDDEN), nn.LSTMCell(HIDDEN, HIDDEN)
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        first = second = None
        out = []
        for part in x.split(1, dim=1):
            first = self.lstm1(part, first)
            second = self.lstm2(first[0], second)
            out.append(self.linear(second[0]))
        return torch.cat(out, dim=1)


def losses(weights, steps):
    m = begin(Sequence().double(), weights)
    waves = torch.tensor([[math.sin((t + 3 * i) / 4) for t in range(SEEN + 1)] for i in range(WAVES)],
                         dtype=torch.float64)
    lbfgs = torch.optim.LBFGS(m.parameters(), lr=0.8)

    def closure():
        lbfgs.zero_grad()
        loss = F.mse_loss(m(waves[:, :-1]), waves[:, 1:])
        loss.backward()
        return loss

    for _ in range(steps):
        yield "loss", lbfgs.step(closure).item()
