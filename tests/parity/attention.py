"""Multi-head attention, transformer layers, positions."""
import math

import torch
from torch import nn

from parity import File

f = File("attention")
T, S, B, E = 4, 5, 2, 6


def stir(m):
    with torch.no_grad():
        for p in m.parameters():
            if p.dim() == 1:
                p.uniform_(-0.5, 0.5)
    return m


q, kv, kv7 = torch.randn(T, B, E), torch.randn(S, B, E), torch.randn(S, B, 7)
f.run("self", lambda x: m(x, x, x), q, module=(m := stir(nn.MultiheadAttention(E, 2))))
f.run("cross", lambda x, y: m(x, y, y), q, kv, module=(m := stir(nn.MultiheadAttention(E, 3))))
f.run("widths", lambda x, k, v: m(x, k, v, need_weights=False)[0], q, kv7, kv,
      module=(m := nn.MultiheadAttention(E, 2, kdim=7, bias=False)))
f.run("first", lambda x: m(x, x, x, need_weights=False)[0], q.transpose(0, 1),
      module=(m := stir(nn.MultiheadAttention(E, 1, batch_first=True))))
f.run("lone", lambda x: m(x, x, x), q[:, 0], module=(m := stir(nn.MultiheadAttention(E, 2))))
causal = nn.Transformer.generate_square_subsequent_mask(T)
f.run("causal", lambda x: m(x, x, x, attn_mask=causal, need_weights=False)[0], q,
      module=(m := stir(nn.MultiheadAttention(E, 2))))
keys = torch.tensor([[False, False, True, False, False], [False, True, False, False, True]])
pairs = torch.zeros(T, S, dtype=torch.bool)
pairs[1, 0] = pairs[2, 3] = True
f.put("masks/keys", keys)
f.put("masks/pairs", pairs)
f.run("masks", lambda x, y: m(x, y, y, key_padding_mask=keys, attn_mask=pairs), q, kv,
      module=(m := stir(nn.MultiheadAttention(E, 2))))
bias = torch.randn(B * 2, T, S)
f.put("added/pairs", bias)
f.run("added", lambda x, y: m(x, y, y, attn_mask=bias, need_weights=False)[0], q, kv,
      module=(m := stir(nn.MultiheadAttention(E, 2))))

f.run("encoder", None, q, module=stir(nn.TransformerEncoderLayer(E, 2, 8, dropout=0)))
f.run("encoder_first", None, q.transpose(0, 1),
      module=stir(nn.TransformerEncoderLayer(E, 3, 8, dropout=0, norm_first=True, batch_first=True)))
f.run("encoder_gelu", None, q, module=stir(nn.TransformerEncoderLayer(E, 1, 8, dropout=0, activation="gelu")))
f.run("encoder_eval", lambda x: m(x, src_mask=causal, is_causal=True), q,
      module=(m := stir(nn.TransformerEncoderLayer(E, 2, 8)).eval()))
f.run("decoder", lambda x, y: m(x, y, tgt_mask=causal, memory_key_padding_mask=keys), q, kv,
      module=(m := stir(nn.TransformerDecoderLayer(E, 2, 8, dropout=0))))
f.run("decoder_first", None, q, kv, module=stir(nn.TransformerDecoderLayer(E, 2, 8, dropout=0, norm_first=True)))

t, i = torch.arange(7.0)[:, None], torch.arange(3.0)[None]
angle = t * torch.exp(-2 * i * math.log(10000) / 6)
f.put("sinusoidal/y0", torch.stack([angle.sin(), angle.cos()], 2).reshape(7, 6))


def rotary(x):
    a = torch.arange(x.shape[-2], dtype=torch.float64)[:,
                                                       None] / 100 ** (torch.arange(x.shape[-1] // 2,
                                                               dtype=torch.float64) * 2 / x.shape[-1])
    c, s = torch.cat([a, a], 1).cos().float(), torch.cat([a, a], 1).sin().float()
    lo, hi = x.chunk(2, -1)
    return x * c + torch.cat([-hi, lo], -1) * s


f.run("rotary", rotary, torch.randn(2, 3, 5, 4))
f.save()
