"""Learning rate schedules: the rates of two groups (and the first group's momentum) over 50 steps, in f64."""
import warnings

import torch
from torch.optim import lr_scheduler as L

from parity import File

warnings.simplefilter("ignore")
f = File("schedule")
N = 50


def optimizer(adam=False):
    a, b = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
    groups = [dict(params=[a]), dict(params=[b], lr=0.025)]
    return torch.optim.AdamW(groups, lr=0.1) if adam else torch.optim.SGD(groups, lr=0.1, momentum=0.5)


def run(case, make, adam=False, values=None):
    opt = optimizer(adam)
    s = make(opt)
    rows = []
    for t in range(N):
        g = opt.param_groups
        rows.append([g[0]["lr"], g[1]["lr"], g[0]["betas"][0] if adam else g[0]["momentum"]])
        opt.step()
        s.step(values[t]) if values is not None else s.step()
    f.put(case, torch.tensor(rows, dtype=torch.float64))


run("step", lambda o: L.StepLR(o, 7))
run("multistep", lambda o: L.MultiStepLR(o, [5, 12, 12, 30], gamma=0.3))
run("exponential", lambda o: L.ExponentialLR(o, 0.93))
run("linear", lambda o: L.LinearLR(o))
run("linear_down", lambda o: L.LinearLR(o, 1.0, 0.0, 20))
run("constant", lambda o: L.ConstantLR(o, 0.25, 10))
run("polynomial", lambda o: L.PolynomialLR(o, 40, 2.0))
run("cosine", lambda o: L.CosineAnnealingLR(o, 12, 1e-3))
run("restarts", lambda o: L.CosineAnnealingWarmRestarts(o, 5, 2, 1e-4))
run("restarts_1", lambda o: L.CosineAnnealingWarmRestarts(o, 7))
run("one_cycle", lambda o: L.OneCycleLR(o, [0.4, 0.1], total_steps=N))
run("one_cycle_adam", lambda o: L.OneCycleLR(o, [0.4, 0.1], total_steps=N), adam=True)
run("one_cycle_three", lambda o: L.OneCycleLR(o, [0.4, 0.1], total_steps=60, pct_start=0.2, anneal_strategy="linear",
                                              three_phase=True, div_factor=10,
                                              final_div_factor=100, base_momentum=0.7, max_momentum=0.9))
run("one_cycle_fixed", lambda o: L.OneCycleLR(o, [0.4, 0.1], total_steps=N, cycle_momentum=False))
run("cyclic", lambda o: L.CyclicLR(o, [0.1, 0.025], [0.4, 0.1], step_size_up=6, step_size_down=4))
run("cyclic_2", lambda o: L.CyclicLR(o, [0.1, 0.025], [0.4, 0.1], step_size_up=5, mode="triangular2", base_momentum=0.5,
                                     max_momentum=0.7))
run("cyclic_exp", lambda o: L.CyclicLR(o, [0.1, 0.025], [0.4, 0.1], step_size_up=8, mode="exp_range", gamma=0.97,
                                       cycle_momentum=False,
                                       scale_fn=None, scale_mode="iterations"))
run("lambda", lambda o: L.LambdaLR(o, lambda t: 1.0 / (1 + 0.1 * t)))
run("multiplicative", lambda o: L.MultiplicativeLR(o, lambda t: 0.99 - 0.001 * t))
run("sequential", lambda o: L.SequentialLR(o,
                                           [L.LinearLR(o, 0.1, total_iters=8), L.CosineAnnealingLR(o, 20),
                                            L.ExponentialLR(o, 0.9)], [8, 30]))
run("sequential_restarts", lambda o: L.SequentialLR(o,
                                                    [L.ConstantLR(o, 0.5, 100), L.CosineAnnealingWarmRestarts(o, 6),
                                                     L.StepLR(o, 3, 0.5)], [5, 25]))
run("sequential_one", lambda o: L.SequentialLR(o,
                                               [L.PolynomialLR(o, 10), L.MultiStepLR(o, [4, 9]),
                                                L.LambdaLR(o, lambda t: 0.9**t)], [10, 25]))
run("chained", lambda o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 4), L.ExponentialLR(o, 0.9)]))
run("chained_3", lambda o: L.ChainedScheduler([L.LinearLR(o, 0.5, total_iters=10), L.CosineAnnealingLR(o, 30, 1e-4),
                                               L.StepLR(o, 12, 0.5)]))
run("nested", lambda o: L.SequentialLR(o,
                                       [L.ChainedScheduler([L.ExponentialLR(o, 0.95), L.StepLR(o, 9)]),
                                        L.CosineAnnealingLR(o, 20)], [25]))
run("warmup", lambda o: L.SequentialLR(o, [L.LinearLR(o, 0.01, total_iters=10), L.CosineAnnealingLR(o, 40)], [10]))

v = torch.cat([torch.linspace(2, 1, 15), torch.full((20,), 0.99995), torch.linspace(1.0, 0.2, 15)]).double()
v = v + 0.01 * torch.randn(N, dtype=torch.float64)
f.put("values", v)
values = v.tolist()
P = L.ReduceLROnPlateau
run("plateau", lambda o: P(o), values=values)
run("plateau_rel", lambda o: P(o, factor=0.5, patience=2, threshold=0.05, cooldown=3, min_lr=0.004), values=values)
run("plateau_abs", lambda o: P(o, factor=0.5, patience=0, threshold=0.1, threshold_mode="abs", cooldown=1, eps=0.02),
    values=values)
run("plateau_max", lambda o: P(o, mode="max", factor=0.3, patience=4, threshold=0, cooldown=2), values=values)
f.save()
