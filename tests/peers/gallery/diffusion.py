"""A denoising diffusion model; examples/gallery/diffusion.c."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from gallery import Draws, batches, begin, drawn_digits

BATCH, WIDTH, TIMES = 32, 16, 100


class Block(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.time = nn.Linear(4 * WIDTH, channels)
        self.conv1, self.norm1 = nn.Conv2d(inputs, channels, 3, padding=1), nn.GroupNorm(4, channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels)

    def forward(self, x, time):
        h = F.silu(self.norm1(self.conv1(x)))
        return F.silu(self.norm2(self.conv2(h + self.time(time)[:, :, None, None])))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(2 * WIDTH, 4 * WIDTH)
        self.down1, self.down2 = Block(1, WIDTH), Block(WIDTH, 2 * WIDTH)
        self.middle = Block(2 * WIDTH, 4 * WIDTH)
        self.up2, self.up1 = Block(6 * WIDTH, 2 * WIDTH), Block(3 * WIDTH, WIDTH)
        self.out = nn.Conv2d(WIDTH, 1, 1)

    def forward(self, x, t):
        rate = torch.exp(-math.log(10000) * torch.arange(WIDTH) / (WIDTH - 1))
        angle = t[:, None] * rate
        time = F.silu(self.time(torch.cat([angle.sin(), angle.cos()], 1)))
        a = self.down1(x, time)
        b = self.down2(F.max_pool2d(a, 2), time)
        x = self.middle(F.max_pool2d(b, 2), time)
        x = self.up2(torch.cat([F.interpolate(x, scale_factor=2), b], 1), time)
        x = self.up1(torch.cat([F.interpolate(x, scale_factor=2), a], 1), time)
        return self.out(x)


def losses(weights, steps):
    m, draws = begin(UNet(), weights), Draws()
    adam = torch.optim.Adam(m.parameters(), lr=2e-3)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.1, TIMES, dtype=torch.float64), 0).float()
    digits = (drawn_digits(2048)[0] * 0.3081 + 0.1307).clamp(0, 1) * 2 - 1
    for rows in batches(2048, BATCH, steps):
        x = digits[rows]
        t = torch.floor(draws.rand(BATCH) * TIMES)
        noise = draws.randn(*x.shape)
        left = kept[t.long()][:, None, None, None]
        loss = F.mse_loss(m(left.sqrt() * x + (1 - left).sqrt() * noise, t), noise)
        adam.zero_grad()
        loss.backward()
        adam.step()
        draws.updated()
        yield "loss", loss.item()
