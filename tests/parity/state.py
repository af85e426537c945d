"""A state dict as PyTorch saves it (state.safetensors: safetensors.torch.save_file(model.state_dict())), and what the
model gives (state_io). With a file name, checks a file that xtrain wrote of the same model: python state.py FILE."""
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from parity import File


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                      nn.ConvTranspose2d(4, 2, 2, bias=False))
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(6, 2, 8, dropout=0, batch_first=True)
                                     for _ in range(2)])
        self.rnn = nn.LSTM(6, 5, bidirectional=True, batch_first=True)
        self.heads = nn.ModuleDict({"class": nn.Linear(10, 3), "value": nn.Linear(10, 1)})
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):  # [N,1,4,5]
        x = self.features(x).flatten(1, 2)  # [N,10,6]
        for b in self.blocks:
            x = b(x)
        x = self.rnn(x)[0][:, -1]
        return self.heads["class"](x) * self.scale, self.heads["value"](x)


torch.manual_seed(3)
net = Net()
if len(sys.argv) > 1:
    theirs = load_file(sys.argv[1])
    net.load_state_dict(theirs, strict=True)
    io = load_file(sys.argv[0].replace("state.py", "state_io.safetensors"))
    for i, y in enumerate(net.eval()(io["net/x0"])):
        assert torch.allclose(y, io[f"net/y{i}"], rtol=1e-5, atol=1e-6), i
    print(f"{sys.argv[1]}: {len(theirs)} tensors, loaded by PyTorch with strict=True; the outputs agree")
    sys.exit()
with torch.no_grad():
    net(torch.randn(5, 1, 4, 5))  # moves the running statistics
f = File("state_io")
x = torch.randn(3, 1, 4, 5)
net.eval()
f.put("net/x0", x)
for i, y in enumerate(net(x)):
    f.put(f"net/y{i}", y)
f.save()
save_file(net.state_dict(), f.path.replace("state_io", "state"))
