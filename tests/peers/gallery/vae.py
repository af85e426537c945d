"""A variational autoencoder; examples/gallery/vae.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import Draws, batches, begin, drawn_digits

BATCH, HIDDEN, LATENT = 64, 128, 8


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(784, HIDDEN)
        self.mean = nn.Linear(HIDDEN, LATENT)
        self.log_var = nn.Linear(HIDDEN, LATENT)
        self.dec1 = nn.Linear(LATENT, HIDDEN)
        self.dec2 = nn.Linear(HIDDEN, 784)

    def forward(self, x, draws):
        h = F.relu(self.enc(x.flatten(1)))
        mean, log_var = self.mean(h), self.log_var(h)
        std = torch.exp(0.5 * log_var)
        z = mean + std * draws.randn(*std.shape)
        return self.dec2(F.relu(self.dec1(z))), mean, log_var


def losses(weights, steps):
    m, draws = begin(VAE(), weights), Draws()
    adam = torch.optim.Adam(m.parameters(), lr=1e-3)
    digits = (drawn_digits(2048)[0] * 0.3081 + 0.1307).clamp(0, 1)
    for rows in batches(2048, BATCH, steps):
        x = digits[rows]
        logits, mean, log_var = m(x, draws)
        pixels = F.binary_cross_entropy_with_logits(logits, x.flatten(1), reduction="sum")
        kl = 0.5 * torch.sum(log_var.exp() + mean ** 2 - (log_var + 1))
        loss = (pixels + kl) / BATCH
        adam.zero_grad()
        loss.backward()
        adam.step()
        draws.updated()
        yield "loss", loss.item()
