"""What the scripts of this folder share. A script NAME.py makes NAME.safetensors beside itself; run it by hand with a
Python that has PyTorch:
    python tests/parity/NAME.py
The tensors of a case (read by tests/unit/parity.h):
    case/x0, x1, ...   inputs                        case/y0, y1, ...  outputs
    case/r0, r1, ...   what the outputs are weighted with: the loss is sum(r0*y0) + sum(r1*y1) + ...
    case/dx0, ...      gradients of the float inputs
    case/w/NAME        parameters and buffers before   case/g/NAME       gradients of parameters
    case/b/NAME        buffers after                   case/train        [1] i32: 1 in training mode, 0 in eval mode
The weights are PyTorch's own initial values; the inputs are normal with standard deviation 1."""
import os
import sys

import torch
from safetensors.torch import save_file

LIMIT = 150_000


class File:
    def __init__(self, name):
        self.path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".safetensors")
        self.tensors = {}
        torch.manual_seed(1)
        torch.set_num_threads(1)

    def put(self, name, tensor):
        assert name not in self.tensors, name
        self.tensors[name] = torch.as_tensor(tensor).detach().clone().contiguous()

    def weights(self, case, state):
        """state: name -> tensor, as it is before the case runs."""
        for name, t in state.items():
            self.put(f"{case}/w/{name}", t)

    def run(self, case, fn, *inputs, module=None, grads=True, skip_grad=()):
        """Runs fn(*inputs) (the module when fn is None) and keeps all there is to compare. Inputs in skip_grad (by
        index) need no gradient."""
        fn = fn or module
        leaves = []
        for i, x in enumerate(inputs):
            self.put(f"{case}/x{i}", x)
            x = x.detach().clone()
            if grads and x.is_floating_point() and i not in skip_grad:
                x.requires_grad_()
            leaves.append(x)
        if module is not None:
            self.weights(case, module.state_dict())
            self.put(f"{case}/train", torch.tensor([int(module.training)], dtype=torch.int32))
        ys = fn(*leaves)
        ys = [y for y in (ys if isinstance(ys, (tuple, list)) else [ys]) if y is not None]
        loss = 0
        for i, y in enumerate(ys):
            self.put(f"{case}/y{i}", y)
            if y.is_floating_point() and grads:
                r = torch.randn(y.shape, generator=torch.Generator().manual_seed(100 + i)).to(y.dtype)
                self.put(f"{case}/r{i}", r)
                loss = loss + (r * y).sum()
        if grads:
            loss.backward()
            for i, x in enumerate(leaves):
                if x.grad is not None:
                    self.put(f"{case}/dx{i}", x.grad)
        if module is not None:
            for name, p in module.named_parameters():
                if grads and p.grad is not None:
                    self.put(f"{case}/g/{name}", p.grad)
            for name, b in module.named_buffers():
                self.put(f"{case}/b/{name}", b)
            module.zero_grad()
        return ys

    def save(self):
        save_file(self.tensors, self.path)
        size = os.path.getsize(self.path)
        print(f"{self.path}: {len(self.tensors)} tensors, {size} bytes")
        if size > LIMIT:
            sys.exit(f"more than {LIMIT} bytes: make the cases smaller")
