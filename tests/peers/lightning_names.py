#!/usr/bin/env python3
"""The names of Lightning's public classes, one class a line with its arguments or its own attributes:

lightning_names.py [FILE]        (by hand, with a Python that has lightning) writes tests/cli/lightning.txt, or FILE

tests/cli/lightning.sh looks for each of them in doc/from-lightning.md and in the headers. Loggers of hosted services
are left out."""
import inspect
import os
import sys
import warnings

warnings.filterwarnings("ignore")
import lightning.pytorch as pl
import torch
from lightning.pytorch import callbacks, loggers
from lightning.pytorch.cli import LightningCLI
from lightning.pytorch.tuner import Tuner
from lightning.pytorch.utilities import CombinedLoader


def arguments(fn):
    return [p.name for p in inspect.signature(fn).parameters.values()
            if p.name not in ("self", "cls") and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def attributes(cls, *without):
    return [n for n in dir(cls) if not n.startswith("_") and not any(hasattr(w, n) for w in without)]


lines = {"Trainer": arguments(pl.Trainer.__init__)}
for module, names in ((callbacks, callbacks.__all__), (loggers, ("CSVLogger", "TensorBoardLogger"))):
    lines.update({n: arguments(getattr(module, n).__init__) for n in names})
for cls in LightningCLI, CombinedLoader:
    lines[cls.__name__] = arguments(cls.__init__)
for name, fn in (("self.log", pl.LightningModule.log), ("self.log_dict", pl.LightningModule.log_dict),
                 ("all_gather", pl.LightningModule.all_gather), ("clip_gradients", pl.LightningModule.clip_gradients),
                 ("save_hyperparameters", pl.LightningModule.save_hyperparameters),
                 ("load_from_checkpoint", pl.LightningModule.load_from_checkpoint),
                 ("trainer.fit", pl.Trainer.fit), ("trainer.validate", pl.Trainer.validate),
                 ("trainer.test", pl.Trainer.test), ("trainer.predict", pl.Trainer.predict),
                 ("save_checkpoint", pl.Trainer.save_checkpoint), ("lr_find", Tuner.lr_find),
                 ("scale_batch_size", Tuner.scale_batch_size)):
    lines[name] = arguments(fn)
lines["of-trainer"] = attributes(pl.Trainer)
lines["of-module"] = attributes(pl.LightningModule, torch.nn.Module)
lines["of-data-module"] = attributes(pl.LightningDataModule)
lines["of-callback"] = attributes(pl.Callback)
here = os.path.dirname(os.path.abspath(__file__))
with open(sys.argv[1] if len(sys.argv) > 1 else here + "/../cli/lightning.txt", "w") as f:
    for name, words in lines.items():
        f.write(" ".join([name, *words]) + "\n")
