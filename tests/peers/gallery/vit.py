"""A vision transformer; examples/gallery/vit.c, whose run has left drawn-cifar/ in this folder."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from gallery import batches, begin

BATCH, SIDE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 32, 32, 4, 48, 4, 3, 10


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.class_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.position = nn.Parameter(torch.zeros(1, 1 + (SIDE // PATCH) ** 2, WIDTH))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, activation="gelu", norm_first=True,
                                       batch_first=True) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def losses(weights, steps):
    m = begin(ViT(), weights)
    adamw = torch.optim.AdamW(m.parameters(), lr=1e-3, weight_decay=0.05)
    rows = np.concatenate([np.fromfile(f"drawn-cifar/data_batch_{k}.bin", np.uint8).reshape(-1, 1 + 3 * SIDE * SIDE)
                           for k in range(1, 6)])
    x = torch.from_numpy(rows[:, 1:].astype(np.float32) / 255).reshape(-1, 3, SIDE, SIDE)
    y = torch.from_numpy(rows[:, 0].astype(np.int64))
    for pick in batches(len(x), BATCH, steps):
        loss = F.cross_entropy(m(x[pick]), y[pick])
        adamw.zero_grad()
        loss.backward()
        adamw.step()
        yield "loss", loss.item()
