"""A small Llama and its LoRA adapters; examples/gallery/llama_lora.c."""
import os

import torch
from torch import nn
from torch.nn import functional as F

from gallery import batches, begin, text, windows

BATCH, WINDOW, VOCAB, WIDTH, HEADS, GROUPS, LAYERS, RANK, SCALE = 16, 64, 128, 64, 4, 2, 2, 4, 2.0
HEAD = WIDTH // HEADS


def rotary(x):
    rate = 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    angle = torch.arange(x.shape[-2])[:, None] * rate
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Adapter(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.A, self.B = linear(WIDTH, RANK), linear(RANK, outputs)

    def forward(self, x):
        return SCALE * self.B(self.A(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj = linear(WIDTH, WIDTH), linear(WIDTH, GROUPS * HEAD)
        self.v_proj = linear(WIDTH, GROUPS * HEAD)
        self.o_proj = linear(WIDTH, WIDTH)
        self.lora = nn.ModuleDict({"q_proj": Adapter(WIDTH), "v_proj": Adapter(GROUPS * HEAD)})

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = ((y.view(B, T, -1, HEAD).transpose(1, 2)) for y in
                   (self.q_proj(x) + self.lora["q_proj"](x), self.k_proj(x), self.v_proj(x) + self.lora["v_proj"](x)))
        k, v = (y.repeat_interleave(HEADS // GROUPS, 1) for y in (rotary(k), v))
        y = F.scaled_dot_product_attention(rotary(q), k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(B, T, C))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = linear(WIDTH, 2 * WIDTH), linear(WIDTH, 2 * WIDTH)
        self.down_proj = linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(WIDTH, 1e-6), nn.RMSNorm(WIDTH, 1e-6)
        self.self_attn, self.mlp = Attention(), MLP()

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.lm_head = nn.RMSNorm(WIDTH, 1e-6), linear(WIDTH, VOCAB)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def train(m, what, tokens, lr, adapters, steps):
    for name, p in m.named_parameters():
        p.requires_grad_((".lora." in name) == adapters)
    params = [p for p in m.parameters() if p.requires_grad]
    adamw = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    x, y = windows(tokens, WINDOW, 16)
    for rows in batches(len(x), BATCH, steps):
        loss = F.cross_entropy(m(x[rows]).flatten(0, 1), y[rows].flatten())
        adamw.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        adamw.step()
        yield what, loss.item()


def losses(weights, steps):
    m, tokens = begin(Llama(), weights), text(os.environ["GALLERY_TEXT"])
    yield from train(m, "base", tokens, 3e-3, False, steps)
    small = (tokens >= ord("a")) & (tokens <= ord("z"))
    yield from train(m, "lora", torch.where(small, tokens - 32, tokens), 1e-2, True, steps)
