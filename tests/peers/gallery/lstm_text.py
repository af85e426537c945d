"""A language model of LSTM layers; examples/gallery/lstm_text.c."""
import os

import torch
from torch import nn
from torch.nn import functional as F

from gallery import begin, text

STREAMS, WINDOW, VOCAB, WIDTH, HIDDEN, LAYERS = 8, 32, 128, 32, 96, 2


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, num_layers=LAYERS, batch_first=True)
        self.head = nn.Linear(HIDDEN, VOCAB)

    def forward(self, tokens, state):
        y, state = self.lstm(self.embed(tokens), state)
        return self.head(y), state


def losses(weights, steps):
    m = begin(Reader(), weights)
    adam = torch.optim.Adam(m.parameters(), lr=3e-3)
    tokens = text(os.environ["GALLERY_TEXT"])
    part = len(tokens) // STREAMS
    tokens = torch.stack([tokens[s * part:] [:part + 1] for s in range(STREAMS - 1)] +
                         [F.pad(tokens[(STREAMS - 1) * part:], (0, 1))[:part + 1]])
    state = (torch.zeros(LAYERS, STREAMS, HIDDEN), torch.zeros(LAYERS, STREAMS, HIDDEN))
    at = 0
    for _ in range(steps):
        if at + WINDOW >= part:
            at = 0
        logits, state = m(tokens[:, at:at + WINDOW], state)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, at + 1:at + 1 + WINDOW].flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        adam.step()
        state = tuple(s.detach() for s in state)
        at += WINDOW
        yield "loss", loss.item()
