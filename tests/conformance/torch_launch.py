"""Processes that PyTorch/XLA starts, one a device. usage: pip install the wheel, then PJRT_DEVICE=XTRAIN
CPU_NUM_DEVICES=2 python torch_launch.py Collectives and data-parallel gradients among them are compared with what one
process computes; a process that makes its group again and again, as a test under torchrun does, ends without waiting
for itself."""
import os
import subprocess
import sys

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr


def net():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 3)


def batch(rank):
    return torch.randn(5, 4, generator=torch.Generator().manual_seed(1 + rank))


def grads_of(model, data):
    model(data).square().mean().backward()
    return [p.grad for p in model.parameters()]


def check(name, got, expected):
    if not torch.allclose(torch.as_tensor(got, dtype=torch.float32), torch.as_tensor(expected, dtype=torch.float32),
                          rtol=1e-5, atol=1e-6):
        raise SystemExit(f"FAIL {name}: found {got}, expected {expected}")


def one(index, size):
    check("the number of ranks", xr.world_size(), size)
    check("the rank", xr.global_ordinal(), index)
    device = torch_xla.device()
    mine = torch.tensor([1.0 + index], device=device)
    check("all_reduce", xm.all_reduce(xm.REDUCE_SUM, mine).cpu(), [size * (size + 1) / 2])
    check("all_gather", xm.all_gather(mine).cpu(), torch.arange(size) + 1)
    check("reduce_scatter", xm.reduce_scatter(xm.REDUCE_SUM, torch.arange(size, device=device, dtype=torch.float32),
                                              1.0, 0, size).cpu(), [size * index])
    model = net().to(device)
    grads_of(model, batch(index).to(device))
    xm.reduce_gradients(torch.optim.SGD(model.parameters(), 0.1))
    whole = net()
    grads_of(whole, torch.cat([batch(r) for r in range(size)]))
    for p, q in zip(model.parameters(), whole.parameters()):
        check("gradients", p.grad.cpu(), q.grad)
    print(f"ok   rank {index} of {size}", flush=True)


def ends_at_once():
    program = ("import torch_xla\nfrom xtrain_pjrt import torch_plugin\n"
               "for i in range(4): torch_plugin.end_together(0)\nprint('told')\n")
    try:
        out = subprocess.run([sys.executable, "-c", program], env={**os.environ, "XLA_COORDINATOR_PORT": "again"},
                             capture_output=True, text=True, timeout=100).stdout
    except subprocess.TimeoutExpired:
        raise SystemExit("FAIL a group that is made again: rank 0 waits for itself") from None
    if "told" not in out:
        raise SystemExit("FAIL a group that is made again: the process told nothing")
    print("ok   a group that is made again", flush=True)


if __name__ == "__main__":
    ends_at_once()
    torch_xla.launch(one, args=(int(os.environ["CPU_NUM_DEVICES"]),))
