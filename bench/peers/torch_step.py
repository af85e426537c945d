"""Times one training step of xtrain's models in PyTorch. The last line is a JSON object.

usage: torch_step.py eager|compile|xla mnist|resnet18|resnet50|gpt2 --batch N [--side N] [--seq N] [--steps N]
                     [--precision fp32|bf16] [--device cpu|cuda] [--tiny]

Same shapes, optimizers and options as models/*.c; channels-last images and fused AdamW, which are PyTorch's fastest
here. ms_median and ms_min are of steps that are waited for one by one, ms_stream of steps that are not. --tiny: the
smallest network of its kind, to see that the script runs.
"""
import argparse
import json
import os
import resource
import time

began = time.time()
parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=["eager", "compile", "xla"])
parser.add_argument("model", choices=["mnist", "resnet18", "resnet50", "gpt2"])
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--side", type=int, default=224)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
parser.add_argument("--tiny", action="store_true")
args = parser.parse_args()

if args.mode == "xla":
    os.environ["PJRT_DEVICE"] = "CPU"
import torch
from torch import nn
from torch.nn import functional

if args.mode == "xla":
    import torch_xla
    from torch_xla.core import xla_model

device = torch_xla.device() if args.mode == "xla" else torch.device(args.device)
torch.manual_seed(0)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.BatchNorm2d(10),
                                      nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.BatchNorm2d(20))
        self.classes = nn.Sequential(nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))

    def forward(self, x):
        return self.classes(self.features(x))


class Bottleneck(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or width_in != 4 * width:
            self.down = nn.Sequential(nn.Conv2d(width_in, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + (self.down(x) if self.down else x))


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


def resnet(classes, deep):
    """He et al. 2015, as torchvision has it: 18 layers, or 50."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for stage in range(4):
        for k in range((1, 1, 1, 1)[stage] if args.tiny else (3, 4, 6, 3)[stage] if deep else 2):
            layers.append((Bottleneck if deep else Residual)(width, 64 << stage, 2 if stage and not k else 1))
            width = (64 << stage) * (4 if deep else 1)
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
    net, classes = (Gpt2(vocab=512, width=64, layers=2, heads=2), 512) if args.tiny else (Gpt2(), 50257)
    x, y = (torch.randint(0, classes, (args.batch, args.seq)) for _ in range(2))
elif args.model.startswith("resnet"):
    net, classes = resnet(1000, args.model == "resnet50"), 1000
    x, y = torch.rand(args.batch, 3, args.side, args.side), torch.randint(0, classes, (args.batch,))
else:
    net, classes = Digits(), 10
    x, y = torch.rand(args.batch, 1, 28, 28), torch.randint(0, classes, (args.batch,))
net, x, y = net.to(device).train(), x.to(device), y.to(device)
if args.mode != "xla" and args.model.startswith("resnet"):
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
if args.model == "gpt2":
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.1, fused=args.mode != "xla")
else:
    rate, decay = (0.1, 1e-4) if args.model.startswith("resnet") else (0.05, 5e-4)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, weight_decay=decay)


def loss_of(x, y):
    with torch.autocast("xla" if args.mode == "xla" else args.device, dtype=torch.bfloat16,
                        enabled=args.precision == "bf16"):
        out = net(x)
    return functional.cross_entropy(out.float().reshape(-1, classes), y.reshape(-1))


forward = torch.compile(loss_of) if args.mode == "compile" else loss_of


def wait():
    if args.mode == "xla":
        xla_model.wait_device_ops()
    elif args.device == "cuda":
        torch.cuda.synchronize()


def step():
    optimizer.zero_grad()
    loss = forward(x, y)
    loss.backward()
    optimizer.step()
    if args.mode == "xla":
        torch_xla.sync()
    return loss


first_loss = step().item()
first = time.time() - began
for _ in range(2):
    step()
wait()
times = []
for _ in range(args.steps):
    at = time.perf_counter()
    loss = step()
    wait()
    times.append((time.perf_counter() - at) * 1e3)
at = time.perf_counter()
for _ in range(args.steps):
    loss = step()
wait()
stream = (time.perf_counter() - at) * 1e3 / args.steps
peak = torch.cuda.max_memory_allocated() if args.device == "cuda" else -1
print(json.dumps({"framework": "torch-" + args.mode, "model": args.model, "batch": args.batch,
                  "precision": args.precision, "device": args.device, "ms_stream": stream, "peak_device_bytes": peak,
                  "ms_median": sorted(times)[len(times) // 2], "ms_min": min(times),
                  "start_to_first_step_ms": first * 1e3,
                  "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "loss_first": first_loss,
                  "loss_last": loss.item()}))
