"""Metrics over nine batches of unequal sizes, as torchmetrics (1.9) computes them after nine updates. Cases are the
metrics' names; inputs stand once. The C test logs the same batches by one process, and by four ranks of which the first
has three batches and the others two each. What torchmetrics does over ranks is to add its states, which is what more
updates of one process do; only a running mean has other states on each rank, so it stands twice."""
import torch
import torchmetrics as tm
from torchmetrics.text import Perplexity

from parity import File

f = File("metrics")
SIZES, C = [40, 24, 40, 33, 24, 40, 24, 24, 33], 5
RANKS = [range(0, 3), range(3, 5), range(5, 7), range(7, 9)]
BATCHES, ALL = len(SIZES), sum(SIZES)
cuts = torch.tensor([0] + SIZES).cumsum(0)
scores = torch.rand(ALL, C)
label = torch.randint(0, C, (ALL,))
for i in range(0, ALL, 3):
    scores[i, label[i]] += 0.6
probability = torch.rand(ALL)
binary = (probability + 0.7 * torch.rand(ALL) > 0.8).long()
chance = torch.softmax(3 * scores, -1)
target = 3 * probability + 0.2 * scores[:, 0]
values, weights = torch.randn(BATCHES), torch.tensor([3.0, 5.0, 2.0, 1.0, 4.0, 4.0, 7.0, 2.0, 6.0])
padded, padded_binary = label.clone(), binary.clone()  # some are no class at all
padded[::7] = -100
padded_binary[::5] = -1
for name in ("cuts", "scores", "label", "padded", "probability", "binary", "padded_binary", "chance", "target",
             "values", "weights"):
    f.put(name, globals()[name])


def batch(x, b):
    return x[b] if x.shape[0] == BATCHES else x[cuts[b] : cuts[b + 1]]


def keep(name, metric, *inputs):
    for b in range(BATCHES):
        metric.update(*(batch(x, b) for x in inputs))
    f.put(name + "/y", metric.compute().double())


def classes(prefix, label, ignore_index):
    kind = dict(task="multiclass", num_classes=C, ignore_index=ignore_index)
    there = torch.ones_like(label, dtype=torch.bool) if ignore_index is None else label != ignore_index
    # Top-k accuracy and perplexity know one ignored value or none as they should; what they are given is what is left.
    keep(prefix + "accuracy", tm.Accuracy(average="micro", **kind), scores, label)
    for k in (2, 3):
        top = tm.Accuracy(average="micro", top_k=k, task="multiclass", num_classes=C)
        top.update(scores[there], label[there])
        f.put(f"{prefix}top{k}/y", top.compute().double())
    for average in ("macro", "micro", "weighted"):
        for name, cls in (("precision", tm.Precision), ("recall", tm.Recall), ("f1", tm.F1Score),
                          ("specificity", tm.Specificity)):
            keep(f"{prefix}{name}_{average}", cls(average=average, **kind), scores, label)
    for name, cls in (("precision", tm.Precision), ("recall", tm.Recall), ("f1", tm.F1Score)):
        keep(f"{prefix}{name}_each", cls(average="none", **kind), scores, label)
    keep(prefix + "confusion", tm.ConfusionMatrix(**kind), scores, label)
    for how in ("true", "pred", "all"):
        keep(f"{prefix}confusion_{how}", tm.ConfusionMatrix(normalize=how, **kind), scores, label)
    keep(prefix + "perplexity", Perplexity(ignore_index=ignore_index), 4 * scores[:, None], label[:, None])
    # Of a class that no label is, torchmetrics takes 0 into the mean, with a warning; ours is the mean over the classes
    # that have an area.
    area = tm.AUROC(thresholds=50, average="none", **kind)
    area.update(chance, label)
    f.put(prefix + "auroc_classes/y",
          area.compute()[torch.arange(C) != (C if ignore_index is None else ignore_index)].mean().double())


classes("", label, None)
classes("padded_", padded, -100)
classes("without1_", label, 1)
classes("without0_", label, 0)
keep("auroc", tm.AUROC(task="binary", thresholds=200), probability, binary)
keep("auroc30", tm.AUROC(task="binary", thresholds=30), probability, binary)
keep("padded_auroc", tm.AUROC(task="binary", thresholds=200, ignore_index=-1), probability, padded_binary)
keep("auroc_exact", tm.AUROC(task="binary"), probability, binary)
keep("mse", tm.MeanSquaredError(), probability, target)
keep("mae", tm.MeanAbsoluteError(), probability, target)
keep("r2", tm.R2Score(), probability, target)
keep("mean", tm.MeanMetric(), values, weights)
keep("sum", tm.SumMetric(), values)
keep("min", tm.MinMetric(), values)
keep("max", tm.MaxMetric(), values)
keep("running", tm.RunningMean(window=2), values)
merged, ranks = tm.RunningMean(window=2), [tm.RunningMean(window=2) for _ in RANKS]
for metric, own in zip(ranks, RANKS):
    for b in own:
        metric.update(values[b])
merged._num_vals_seen = 2
for state, reduce in merged._reductions.items():
    setattr(merged, state, reduce(torch.stack([getattr(m, state) for m in ranks])))
f.put("running_ranks/y", merged.compute().double())
f.save()
