"""A deep convolutional GAN; examples/gallery/dcgan.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import Draws, batches, begin, drawn_digits

BATCH, NOISE, WIDTH = 32, 32, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.ConvTranspose2d(NOISE, 4 * WIDTH, 7, bias=False)
        self.bn1 = nn.BatchNorm2d(4 * WIDTH)
        self.conv2 = nn.ConvTranspose2d(4 * WIDTH, 2 * WIDTH, 4, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * WIDTH)
        self.conv3 = nn.ConvTranspose2d(2 * WIDTH, 1, 4, stride=2, padding=1)

    def forward(self, z):
        x = F.relu(self.bn1(self.conv1(z)))
        x = F.relu(self.bn2(self.conv2(x)))
        return torch.tanh(self.conv3(x))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2 * WIDTH, 4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(2 * WIDTH, 4 * WIDTH, 4, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(4 * WIDTH)
        self.conv3 = nn.Conv2d(4 * WIDTH, 1, 7)

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.2)
        x = F.leaky_relu(self.bn2(self.conv2(x)), 0.2)
        return self.conv3(x).flatten()


def judged(d, x, real):
    logits = d(x)
    return F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits) if real else torch.zeros_like(logits))


def losses(weights, steps):
    g, d, draws = begin(Generator(), weights), begin(Discriminator(), weights + ".1"), Draws()
    of_g = torch.optim.Adam(g.parameters(), lr=4e-4, betas=(0.5, 0.999))
    of_d = torch.optim.Adam(d.parameters(), lr=2e-4, betas=(0.5, 0.999))
    digits = (drawn_digits(2048)[0] * 0.3081 + 0.1307).clamp(0, 1) * 2 - 1
    for rows in batches(2048, BATCH, steps):
        fake = g(draws.randn(BATCH, NOISE, 1, 1))
        loss_d = judged(d, digits[rows], True) + judged(d, fake.detach(), False)
        of_d.zero_grad()
        loss_d.backward()
        of_d.step()
        loss_g = judged(d, fake, True)
        of_g.zero_grad()
        loss_g.backward()
        of_g.step()
        draws.updated(2)
        yield "loss_d", loss_d.item()
        yield "loss_g", loss_g.item()
