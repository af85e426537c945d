"""What programs need that are carried over whole: L-BFGS, derivatives of functions, packed sequences, unpooling,
positions, adaptive softmax, spectral norm, results whose size depends on values."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import rnn

from parity import File

f = File("porting")

# --- packed sequences: what lies behind an end is NaN, and PyTorch never sees it ---
B, I, H = 3, 3, 4
for T, lengths in ((4, (2, 4, 1)), (11, (11, 5, 8))):
    x = torch.randn(T, B, I)
    for b, n in enumerate(lengths):
        x[n:, b] = float("nan")
    for name, make, states in (("rnn", nn.RNN, 1), ("lstm", nn.LSTM, 2), ("gru", nn.GRU, 1)):
        for first in (False, True):
            if first and name != "lstm":
                continue
            m = make(I, H, num_layers=2, bidirectional=True, batch_first=first)

            def run(x, n, *state, m=m, first=first, T=T):
                p = rnn.pack_padded_sequence(x, n, batch_first=first, enforce_sorted=False)
                y, h = m(p, state if len(state) == 2 else state[0])
                y, _ = rnn.pad_packed_sequence(y, batch_first=first, total_length=T)
                return (y, *h) if isinstance(h, tuple) else (y, h)

            f.run(f"{name}_{T}" + ("_first" if first else ""), run, x.transpose(0, 1) if first else x,
                  torch.tensor(lengths), *(torch.randn(4, B, H) for _ in range(states)), module=m)
parts = [torch.randn(n, 2) for n in (3, 1, 4)]
f.run("pad_sequence", lambda *p: rnn.pad_sequence(list(p), padding_value=-1.5), *parts)
f.run("pad_sequence_first", lambda *p: rnn.pad_sequence(list(p), batch_first=True), *parts)


# --- positions ---
def rotary(x, positions, interleaved=False, base=10000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float32) / d)
    a = positions[..., None].float() * rate
    if interleaved:
        x0, x1 = x[..., ::2], x[..., 1::2]
        return torch.stack((x0 * a.cos() - x1 * a.sin(), x1 * a.cos() + x0 * a.sin()), -1).flatten(-2)
    cos, sin = torch.cat((a, a), -1).cos(), torch.cat((a, a), -1).sin()
    return x * cos + torch.cat((-x[..., d // 2:], x[..., :d // 2]), -1) * sin


q = torch.randn(2, 3, 5, 8)
f.run("rotary_offset", lambda x: rotary(x, torch.arange(5) + 7), q)
f.run("rotary_positions", rotary, q, torch.tensor([[[0, 1, 2, 3, 4]], [[2, 2, 9, 0, 1]]]))
f.run("rotary_interleaved", lambda x: rotary(x, torch.arange(5), True), q)


def timestep_embedding(t, dim, flip=False, shift=1.0, scale=1.0, period=10000.0):
    half = dim // 2
    e = t[:, None].float() * torch.exp(-torch.log(torch.tensor(period)) * torch.arange(half) / (half - shift))[None]
    e = scale * e
    e = torch.cat([e.cos(), e.sin()] if flip else [e.sin(), e.cos()], -1)
    return F.pad(e, (0, 1)) if dim % 2 else e


t = torch.tensor([0.0, 1.0, 17.5, 999.0])
f.run("timesteps", lambda t: timestep_embedding(t, 8), t, grads=False)
f.run("timesteps_flip", lambda t: timestep_embedding(t, 7, True, 0.0, 0.5, 100.0), t, grads=False)

# --- pooling with indices, and back ---
for name, n, size, kw in (("1d", 1, (2, 3, 9), dict(kernel_size=2, stride=2)),
                          ("2d", 2, (2, 2, 6, 5), dict(kernel_size=(2, 3), stride=(2, 1), padding=(1, 0))),
                          ("2d_dilated", 2, (1, 2, 7, 8), dict(kernel_size=2, stride=2, dilation=2, ceil_mode=True)),
                          ("3d", 3, (1, 2, 4, 4, 4), dict(kernel_size=2))):
    pool = getattr(F, f"max_pool{n}d")
    f.run(f"max_pool_{name}", lambda x: pool(x, return_indices=True, **kw), torch.randn(size).round(decimals=1))
for n, size in ((1, (2, 3, 8)), (2, (2, 3, 4, 6)), (3, (1, 2, 4, 4, 2))):
    y, i = getattr(F, f"max_pool{n}d")(torch.randn(size), 2, return_indices=True)
    f.run(f"max_unpool_{n}d", lambda y, i: getattr(F, f"max_unpool{n}d")(y, i, 2), y, i)
y, i = F.max_pool2d(torch.randn(1, 2, 5, 7), 2, return_indices=True)
f.run("max_unpool_sizes", lambda y, i: F.max_unpool2d(y, i, 2, output_size=(5, 7)), y, i)

# --- adaptive softmax, spectral norm ---
m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 9, 15], div_value=2.0)
f.run("adaptive", lambda x, y: tuple(m(x, y)), torch.randn(6, 16), torch.tensor([0, 3, 4, 8, 14, 19]), module=m)
m = nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3], head_bias=True)
f.run("adaptive_log_prob", m.log_prob, torch.randn(5, 8), module=m)
spectral = nn.utils.parametrizations.spectral_norm
f.run("spectral_linear", None, torch.randn(4, 5), module=spectral(nn.Linear(5, 3)))
f.run("spectral_conv", None, torch.randn(2, 3, 6), module=spectral(nn.Conv1d(3, 4, 3), n_power_iterations=3))
f.run("spectral_transposed", None, torch.randn(2, 3, 6), module=spectral(nn.ConvTranspose1d(3, 4, 3)))
f.run("spectral_eval", None, torch.randn(4, 5), module=spectral(nn.Linear(5, 3)).eval())

# --- sizes that depend on values ---
x = torch.randn(3, 4).round(decimals=1)
f.run("masked_select", lambda x: torch.masked_select(x, x > 0), x)
f.run("masked_select_row", lambda x, m: F.pad(torch.masked_select(x, m), (0, 12 - int(m.sum()) * 3)), x,
      torch.tensor([True, False, True, True]))
whole = torch.randint(-2, 3, (4, 5))
f.run("nonzero", lambda x: torch.nonzero(x), whole, grads=False)
f.run("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), whole, grads=False)
f.run("unique_consecutive", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
      torch.tensor([1, 1, 2, 2, 3, 1, 1, 2]), grads=False)
f.run("unique_floats", lambda x: F.pad(torch.unique(x), (0, 3)), torch.tensor([2.5, -1.0, 2.5, 0.0, -1.0]), grads=False)


# --- derivatives of functions ---
def net(x, w, v):
    return torch.tanh(x @ w) @ v


x, w, v = (torch.randn(*s, dtype=torch.float64) for s in ((3,), (3, 4), (4, 2)))
f.run("jacobian", lambda x, w, v: torch.func.jacrev(net, (0, 1))(x, w, v), x, w, v, grads=False)


def loss(x, w, v):
    return (net(x, w, v) ** 2).sum() + torch.softmax(x, 0)[0]


f.run("hessian", lambda x, w, v: torch.func.hessian(loss)(x, w, v), x, w, v, grads=False)
f.run("hvp", lambda x, w, v, d: torch.func.jvp(torch.func.grad(lambda x: loss(x, w, v)), (x,), (d,))[1], x, w, v,
      torch.randn(3, dtype=torch.float64), grads=False)
f.run("jvp", lambda x, w, v, d: torch.func.jvp(lambda x: net(x, w, v), (x,), (d,))[1], x, w, v,
      torch.randn(3, dtype=torch.float64), grads=False)
f.run("per_example", lambda x, w, v: torch.vmap(torch.func.grad(loss, (1, 2)), (0, None, None))(x, w, v),
      torch.randn(5, 3, dtype=torch.float64), w, v, grads=False)


# --- L-BFGS: parameters after each step, and the loss before it ---
def lbfgs(case, params, closure, steps, **kw):
    o = torch.optim.LBFGS(params, **kw)
    for i, p in enumerate(params):
        f.put(f"{case}/p{i}", p)
    rows, losses = [], []

    def step():
        o.zero_grad()
        out = closure()
        out.backward()
        return out

    for _ in range(steps):
        losses.append(float(o.step(step).detach()))
        rows.append(torch.cat([p.detach().reshape(-1) for p in params]))
    f.put(f"{case}/rows", torch.stack(rows))
    f.put(f"{case}/losses", torch.tensor(losses, dtype=torch.float64))


for case, kw in (("lbfgs_wolfe", dict(line_search_fn="strong_wolfe", max_iter=4)),
                 ("lbfgs_rate", dict(lr=0.1, max_iter=3, history_size=2)),
                 ("lbfgs_evals", dict(line_search_fn="strong_wolfe", max_iter=10, max_eval=7, history_size=3))):
    p = torch.tensor([-1.2, 1.0, 0.5, -0.7], dtype=torch.float64, requires_grad=True)
    lbfgs(case, [p], lambda: (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum(), 6, **kw)
x, y = torch.randn(8, 3, dtype=torch.float64), torch.randn(8, 2, dtype=torch.float64)
f.put("lbfgs_net/x", x)
f.put("lbfgs_net/y", y)
w, v = (torch.randn(*s, dtype=torch.float64).mul(0.5).requires_grad_() for s in ((3, 5), (5, 2)))
lbfgs("lbfgs_net", [w, v], lambda: F.mse_loss(torch.tanh(x @ w) @ v, y), 5, line_search_fn="strong_wolfe", max_iter=6,
      tolerance_change=0.0)
f.save()
