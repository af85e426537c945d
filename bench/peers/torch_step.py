"""Times one training step of xtrain's models in PyTorch. The last line is a JSON object.

usage: torch_step.py eager|compile|xla mnist|resnet18|gpt2 --batch N [--side N] [--seq N] [--steps N]
                     [--precision fp32|bf16]

Same shapes, optimizers and options as models/*.c; channels-last images and fused AdamW, which are PyTorch's fastest
here.
"""
import argparse
import json
import os
import resource
import time

began = time.time()
parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=["eager", "compile", "xla"])
parser.add_argument("model", choices=["mnist", "resnet18", "gpt2"])
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--side", type=int, default=224)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
args = parser.parse_args()

if args.mode == "xla":
    os.environ["PJRT_DEVICE"] = "CPU"
import torch
from torch import nn
from torch.nn import functional

if args.mode == "xla":
    import torch_xla
    from torch_xla.core import xla_model

device = torch_xla.device() if args.mode == "xla" else torch.device("cpu")
torch.manual_seed(0)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.BatchNorm2d(10),
                                      nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.BatchNorm2d(20))
        self.classes = nn.Sequential(nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))

    def forward(self, x):
        return self.classes(self.features(x))


class Residual(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (self.down(x) if self.down else x))


def resnet18(classes):
    """He et al. 2015, as torchvision has it."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for stage in range(4):
        for k in range(2):
            layers.append(Residual(width, 64 << stage, 2 if stage and not k else 1))
            width = 64 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(c, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.merge(y)
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocab=50257, context=1024, width=768, layers=12, heads=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, x):
        y = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return self.norm(self.blocks(y)) @ self.tokens.weight.T


if args.model == "gpt2":
    net, classes = Gpt2(), 50257
    x, y = (torch.randint(0, classes, (args.batch, args.seq)) for _ in range(2))
elif args.model == "resnet18":
    net, classes = resnet18(1000), 1000
    x, y = torch.rand(args.batch, 3, args.side, args.side), torch.randint(0, classes, (args.batch,))
else:
    net, classes = Digits(), 10
    x, y = torch.rand(args.batch, 1, 28, 28), torch.randint(0, classes, (args.batch,))
net, x, y = net.to(device).train(), x.to(device), y.to(device)
if args.mode != "xla" and args.model == "resnet18":
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
if args.model == "gpt2":
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.1, fused=args.mode != "xla")
else:
    rate, decay = (0.1, 1e-4) if args.model == "resnet18" else (0.05, 5e-4)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, weight_decay=decay)


def loss_of(x, y):
    with torch.autocast("xla" if args.mode == "xla" else "cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        out = net(x)
    return functional.cross_entropy(out.float().reshape(-1, classes), y.reshape(-1))


forward = torch.compile(loss_of) if args.mode == "compile" else loss_of


def step():
    optimizer.zero_grad()
    loss = forward(x, y)
    loss.backward()
    optimizer.step()
    if args.mode == "xla":
        torch_xla.sync()
        xla_model.wait_device_ops()
    return loss


first_loss = step().item()
first = time.time() - began
for _ in range(2):
    step()
times = []
for _ in range(args.steps):
    at = time.perf_counter()
    loss = step()
    times.append((time.perf_counter() - at) * 1e3)
print(json.dumps({"framework": "torch-" + args.mode, "model": args.model, "batch": args.batch,
                  "precision": args.precision,
                  "ms_median": sorted(times)[len(times) // 2], "ms_min": min(times),
                  "start_to_first_step_ms": first * 1e3,
                  "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "loss_first": first_loss,
                  "loss_last": loss.item()}))
