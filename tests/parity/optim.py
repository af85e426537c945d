"""Optimizers: 20 steps with given gradients (the loss is sum(param * gradient)), parameters after steps 1, 5 and 20 and
every state at the end. Also the loss scaler with planted infinities, and gradient clipping."""
import sys

import torch

from parity import File

f = File("optim")
STEPS = 20
grads = torch.randn(STEPS, 15) * torch.logspace(0, -2, STEPS).unsqueeze(1)
grads[7, 3] = 0
grads[3, 4:8] = grads[9, :8] = grads[10, 4:12] = grads[10, 13] = 0  # rows of w that a step does not use
f.put("grads", grads)
w0, b0 = torch.randn(3, 4), torch.randn(3)
f.put("w", w0)
f.put("b", b0)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of arXiv 2302.06675."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                u = (b1 * m + (1 - b1) * p.grad).sign()
                p -= g["lr"] * (u + g["weight_decay"] * p)
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of arXiv 1904.00962, without a bound on the norms."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                s = self.state[p]
                s["step"] = s.get("step", 0) + 1
                m = s.setdefault("exp_avg", torch.zeros_like(p)).mul_(b1).add_(p.grad, alpha=1 - b1)
                v = s.setdefault("exp_avg_sq", torch.zeros_like(p)).mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                r = m / (1 - b1 ** s["step"]) / ((v / (1 - b2 ** s["step"])).sqrt() + g["eps"]) + g["weight_decay"] * p
                ratio = p.norm() / r.norm() if p.norm() > 0 and r.norm() > 0 else 1.0
                p -= g["lr"] * ratio * r


def fresh():
    return torch.nn.Parameter(w0.clone()), torch.nn.Parameter(b0.clone())


def set_grads(w, b, row):
    w.grad = row[:12].reshape(3, 4).clone()
    b.grad = row[12:].clone()


class Sparse(torch.optim.SparseAdam):
    """Of the rows that are not zero, as an embedding's gradient has them."""

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = p.grad.to_sparse(1)
        super().step()


class Muon:
    """torch.optim.Muon for matrices, its iteration in f32, and AdamW for what it refuses."""

    def __init__(self, params, lr=1e-3, weight_decay=0.1, **options):
        self.own = torch.optim.Muon([p for p in params if p.ndim == 2], lr=lr, weight_decay=weight_decay, **options)
        self.others = torch.optim.AdamW([p for p in params if p.ndim != 2], lr=lr, weight_decay=weight_decay)

    def step(self):
        self.own.step()
        self.others.step()

    @property
    def state(self):
        return {**self.own.state, **self.others.state}


def in_f32(grad, coefficients, steps, eps):
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


sys.modules["torch.optim._muon"]._zeropower_via_newtonschulz = in_f32


def run(case, make, clip=None, only_w_first=0, move=None):
    w, b = fresh()
    opt = make([w, b])
    for t in range(STEPS):
        set_grads(w, b, grads[t])
        if t < only_w_first:
            b.grad = None
        if clip:
            clip([w, b])
        if move:
            move(opt, t)
        opt.step()
        if t + 1 in (1, 5, STEPS):
            f.put(f"{case}/w{t + 1}", w)
            f.put(f"{case}/b{t + 1}", b)
    for name, p in (("w", w), ("b", b)):
        for k, v in opt.state[p].items():
            if k not in ("step", "eta", "mu") and v is not None:
                f.put(f"{case}/state/{name}.{k}", v)


o = torch.optim
K = dict(foreach=False)
run("sgd", lambda p: o.SGD(p, **K))
run("sgd_all", lambda p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05, **K))
run("sgd_nesterov", lambda p: o.SGD(p, lr=0.1, momentum=0.8, nesterov=True, maximize=True, **K))
run("adam", lambda p: o.Adam(p, **K))
run("adam_all", lambda p: o.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1, amsgrad=True, maximize=True,
                                 **K))
run("adamw", lambda p: o.AdamW(p, **K))
run("adamw_all", lambda p: o.AdamW(p, lr=0.05, betas=(0.7, 0.9), weight_decay=0.2, amsgrad=True, **K))
run("adagrad", lambda p: o.Adagrad(p, **K))
run("adagrad_all", lambda p: o.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5,
                                       maximize=True, **K))
run("rmsprop", lambda p: o.RMSprop(p, **K))
run("rmsprop_all", lambda p: o.RMSprop(p, lr=0.02, alpha=0.9, weight_decay=0.1, momentum=0.5, centered=True, **K))
run("adadelta", lambda p: o.Adadelta(p, **K))
run("adadelta_all", lambda p: o.Adadelta(p, lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True, **K))
run("adamax", lambda p: o.Adamax(p, **K))
run("adamax_all", lambda p: o.Adamax(p, lr=0.05, betas=(0.8, 0.9), weight_decay=0.1, **K))
run("nadam", lambda p: o.NAdam(p, **K))
run("nadam_all", lambda p: o.NAdam(p, lr=0.05, weight_decay=0.1, momentum_decay=0.1, decoupled_weight_decay=True, **K))
run("radam", lambda p: o.RAdam(p, **K))
run("radam_all", lambda p: o.RAdam(p, lr=0.05, betas=(0.8, 0.99), weight_decay=0.1, decoupled_weight_decay=True, **K))
run("lion", lambda p: Lion(p))
run("lion_all", lambda p: Lion(p, lr=0.01, betas=(0.8, 0.95), weight_decay=0.1))
run("lamb", lambda p: Lamb(p))
run("lamb_all", lambda p: Lamb(p, lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.0))
run("adafactor", lambda p: o.Adafactor(p, **K))
run("adafactor_all", lambda p: o.Adafactor(p, lr=0.1, beta2_decay=-0.5, eps=(1e-5, 1e-2), d=2.0, weight_decay=0.1,
                                           maximize=True, **K))
run("rprop", lambda p: o.Rprop(p, **K))
run("rprop_all", lambda p: o.Rprop(p, lr=0.05, etas=(0.4, 1.5), step_sizes=(0.01, 0.2), maximize=True, **K))
run("asgd", lambda p: o.ASGD(p, **K))
run("asgd_all", lambda p: o.ASGD(p, lr=0.1, lambd=0.2, alpha=0.6, t0=4, weight_decay=0.1, **K))
run("sparse_adam", lambda p: Sparse(p))
run("sparse_adam_all", lambda p: Sparse(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4, maximize=True))
run("muon", lambda p: Muon(p))
run("muon_all", lambda p: Muon(p, lr=0.02, momentum=0.8, weight_decay=0.2, nesterov=False, ns_steps=3,
                               adjust_lr_fn="match_rms_adamw"))
run("groups", lambda p: o.AdamW([dict(params=p[:1]), dict(params=p[1:], lr=0.005, weight_decay=0.0)], lr=0.05, **K))
# one parameter without a gradient in the first four steps: counts of its own
run("late", lambda p: o.Adam(p, lr=0.05, **K), only_w_first=4)


def momentum_moves(opt, t):
    for g in opt.param_groups:
        g["betas"] = (0.95 - 0.02 * t, g["betas"][1])
        g["lr"] = 0.01 * (t + 1)


run("moving", lambda p: o.Adam(p, lr=0.01, **K), move=momentum_moves)
clip = torch.nn.utils.clip_grad_norm_
run("clip_2", lambda p: o.SGD(p, lr=0.1, **K), clip=lambda p: clip(p, 0.5))
run("clip_1", lambda p: o.SGD(p, lr=0.1, **K), clip=lambda p: clip(p, 0.5, norm_type=1))
run("clip_3", lambda p: o.SGD(p, lr=0.1, **K), clip=lambda p: clip(p, 0.5, norm_type=3))
run("clip_inf", lambda p: o.SGD(p, lr=0.1, **K), clip=lambda p: clip(p, 0.5, norm_type=float("inf")))
run("clip_value", lambda p: o.SGD(p, lr=0.1, **K), clip=lambda p: torch.nn.utils.clip_grad_value_(p, 0.2))
norms = []
for p in (1.0, 2.0, 3.0, float("inf")):
    w, b = fresh()
    set_grads(w, b, grads[0])
    norms.append(clip([w, b], float("inf"), norm_type=p))
f.put("norms", torch.stack(norms))

# the scaler: infinities at some steps, growth every 3 good ones
bad = [2, 3, 9, 15]
f.put("scaler/bad", torch.tensor(bad))
w, b = fresh()
opt = o.Adam([w, b], lr=0.05, **K)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
scales = []
for t in range(STEPS):
    row = grads[t].clone()
    if t in bad:
        row[t % 15] = float("inf") if t % 2 else float("nan")
    opt.zero_grad()
    loss = (w * row[:12].reshape(3, 4)).sum() + (b * row[12:]).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_([w, b], 1.5)
    scaler.step(opt)
    scaler.update()
    scales.append(scaler.get_scale())
f.put("scaler/scales", torch.tensor(scales))
f.put("scaler/w20", w)
f.put("scaler/b20", b)
f.save()
