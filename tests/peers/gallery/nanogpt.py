"""nanoGPT; examples/gallery/nanogpt.c."""
import os

import torch
from torch import nn
from torch.nn import functional as F

from gallery import batches, begin, text, windows

BATCH, WINDOW, VOCAB, WIDTH, HEADS, LAYERS = 16, 64, 128, 64, 4, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (p.view(B, T, HEADS, C // HEADS).transpose(1, 2) for p in self.c_attn(x).split(C, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(WIDTH, 4 * WIDTH), "c_proj": nn.Linear(4 * WIDTH, WIDTH)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, WIDTH), nn.Embedding(WINDOW, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def losses(weights, steps):
    m = begin(GPT(), weights)
    adamw = torch.optim.AdamW(m.parameters(), lr=3e-3, weight_decay=0.1)
    x, y = windows(text(os.environ["GALLERY_TEXT"]), WINDOW, 16)
    for rows in batches(len(x), BATCH, steps):
        loss = F.cross_entropy(m(x[rows]).flatten(0, 1), y[rows].flatten())
        adamw.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        adamw.step()
        yield "loss", loss.item()
