"""Deep Q-learning on CartPole, as in PyTorch's tutorial; examples/gallery/dqn.c."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, drand48
from reinforce import push

BATCH, LONGEST = 128, 200


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = nn.Linear(4, 128), nn.Linear(128, 128), nn.Linear(128, 2)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


def losses(weights, steps):
    draw, policy, target = drand48(1), begin(DQN(), weights), begin(DQN(), weights)
    adam = torch.optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
    state, length, memory = [0.0] * 4, 0, []

    def play(at_random):
        nonlocal state, length
        seen = torch.tensor(state)
        if next(draw) < at_random:
            action = int(next(draw) < 0.5)
        else:
            with torch.no_grad():
                action = int(policy(seen[None]).max(1).indices)
        up = push(state, action)
        length += up
        memory.append((seen, action, torch.tensor(state) if up else None))
        if not up or length == LONGEST:
            state, length = [0.1 * next(draw) - 0.05 for _ in range(4)], 0

    while len(memory) < BATCH:
        play(1)
    for k in range(steps):
        play(0.05 + 0.85 * math.exp(-k / 1000))
        batch = [memory[int(next(draw) * len(memory))] for _ in range(BATCH)]
        goes_on = torch.tensor([b[2] is not None for b in batch])
        value = torch.zeros(BATCH)
        with torch.no_grad():
            value[goes_on] = target(torch.stack([b[2] for b in batch if b[2] is not None])).max(1).values
        is_ = policy(torch.stack([b[0] for b in batch])).gather(1, torch.tensor([b[1] for b in batch])[:, None])
        loss = nn.SmoothL1Loss()(is_, (value * 0.99 + 1)[:, None])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        adam.step()
        follows, leads = target.state_dict(), policy.state_dict()
        for key in leads:
            follows[key] = leads[key] * 0.005 + follows[key] * 0.995
        target.load_state_dict(follows)
        yield "loss", loss.item()
