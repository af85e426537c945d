"""Recurrent layers and cells."""
import torch
from torch import nn

from parity import File

f = File("rnn")
T, B, I, H = 4, 2, 3, 4
x = torch.randn(T, B, I)


def flat(r):
    out, h = r
    return (out, *h) if isinstance(h, tuple) else (out, h)


def run(case, m, *inputs):
    state = inputs[1:]
    fn = lambda x, *s: flat(m(x, (s if len(s) == 2 else s[0]) if s else None))
    f.run(case, fn, *inputs, module=m)


run("rnn", nn.RNN(I, H), x)
run("rnn_relu", nn.RNN(I, H, nonlinearity="relu", bias=False, num_layers=2), x)
run("lstm", nn.LSTM(I, H), x)
run("lstm_all", nn.LSTM(I, H, num_layers=2, bidirectional=True, batch_first=True), x.transpose(0, 1),
    torch.randn(4, B, H), torch.randn(4, B, H))
run("lstm_lone", nn.LSTM(I, H), x[:, 0])
run("lstm_eval", nn.LSTM(I, H, num_layers=2, dropout=0.5).eval(), x)
run("gru", nn.GRU(I, H), x)
run("gru_all", nn.GRU(I, H, num_layers=2, bidirectional=True), x, torch.randn(4, B, H))
run("gru_nobias", nn.GRU(I, H, bias=False), x)
f.run("rnn_cell", None, x[0], torch.randn(B, H), module=nn.RNNCell(I, H))
f.run("lstm_cell", lambda x, h, c: m(x, (h, c)), x[0], torch.randn(B, H), torch.randn(B, H),
      module=(m := nn.LSTMCell(I, H)))
f.run("gru_cell", lambda x, h: m(x[1], m(x[0], h)), x, torch.randn(B, H), module=(m := nn.GRUCell(I, H)))
f.run("lstm_cell_lone", None, x[0, 0], module=nn.LSTMCell(I, H))
run("lstm_proj", nn.LSTM(I, H, proj_size=2), x)
run("lstm_proj_all", nn.LSTM(I, H, num_layers=2, bidirectional=True, proj_size=3), x, torch.randn(4, B, 3),
    torch.randn(4, B, H))
long = torch.randn(120, 2, 3)
run("rnn_long", nn.RNN(I, 6), long)
run("lstm_long", nn.LSTM(I, 6, bidirectional=True), long)
run("gru_long", nn.GRU(I, 6, num_layers=2), long)
f.save()
