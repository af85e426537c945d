"""Fast style transfer; examples/gallery/style.c."""
import torch
from torch import nn
from torch.nn import functional as F

from gallery import batches, begin, drawn_digits

BATCH, SIDE = 8, 28


class Conv(nn.Module):
    def __init__(self, seen, out, kernel, stride):
        super().__init__()
        self.pad, self.conv2d = nn.ReflectionPad2d(kernel // 2), nn.Conv2d(seen, out, kernel, stride)

    def forward(self, x):
        return self.conv2d(self.pad(x))


def norm(channels):
    return nn.InstanceNorm2d(channels, affine=True)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1, self.conv2, self.in2 = Conv(16, 16, 3, 1), norm(16), Conv(16, 16, 3, 1), norm(16)

    def forward(self, x):
        return x + self.in2(self.conv2(F.relu(self.in1(self.conv1(x)))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1, self.conv2, self.in2 = Conv(1, 8, 9, 1), norm(8), Conv(8, 16, 3, 2), norm(16)
        self.res1, self.res2 = Residual(), Residual()
        self.deconv1, self.in3, self.deconv2 = Conv(16, 8, 3, 1), norm(8), Conv(8, 1, 9, 1)

    def forward(self, x):
        x = F.relu(self.in2(self.conv2(F.relu(self.in1(self.conv1(x))))))
        x = F.interpolate(self.res2(self.res1(x)), mode="nearest", scale_factor=2)
        return torch.sigmoid(self.deconv2(F.relu(self.in3(self.deconv1(x)))))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.slice1, self.slice2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.slice3 = nn.Conv2d(16, 32, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.slice1(x))
        b = F.relu(self.slice2(F.max_pool2d(a, 2)))
        return a, b, F.relu(self.slice3(F.max_pool2d(b, 2)))


def gram(y):
    b, c, h, w = y.shape
    f = y.view(b, c, h * w)
    return f.bmm(f.transpose(1, 2)) / (c * h * w)


def losses(weights, steps):
    m, features = begin(Transformer(), weights), begin(Vgg(), weights + ".1").requires_grad_(False)
    adam = torch.optim.Adam(m.parameters(), lr=1e-3)
    at = torch.arange(SIDE)
    stripes = torch.where((at[:, None] + at) // 3 % 2 == 1, 0.9, 0.1).expand(BATCH, 1, SIDE, SIDE)
    digits, _ = drawn_digits(1024)
    for rows in batches(1024, BATCH, steps):
        x = (digits[rows] * 0.3081 + 0.1307).clamp(0, 1)
        of_style, of_x, of_y = features(stripes), features(x), features(m(x))
        loss = F.mse_loss(of_y[1], of_x[1])
        for a, b in zip(of_y, of_style):
            loss = loss + 1e3 * F.mse_loss(gram(a), gram(b))
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield "loss", loss.item()
