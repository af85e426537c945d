"""Metrics over three batches, as torchmetrics (1.9) computes them after three updates. Cases are the metrics' names; inputs stand once."""
import torch
import torchmetrics as tm
from torchmetrics.text import Perplexity

from parity import File

f = File("metrics")
BATCHES, N, C = 3, 40, 5
scores = torch.rand(BATCHES, N, C)
label = torch.randint(0, C, (BATCHES, N))
for b in range(BATCHES):
    for i in range(0, N, 3):
        scores[b, i, label[b, i]] += 0.6
probability = torch.rand(BATCHES, N)
binary = (probability + 0.7 * torch.rand(BATCHES, N) > 0.8).long()
chance = torch.softmax(3 * scores, -1)
target = 3 * probability + 0.2 * scores[..., 0]
values, weights = torch.randn(BATCHES), torch.tensor([3.0, 5.0, 2.0])
for name in ("scores", "label", "probability", "binary", "chance", "target", "values", "weights"):
    f.put(name, globals()[name])


def keep(name, metric, *inputs):
    for b in range(BATCHES):
        metric.update(*(x[b] for x in inputs))
    f.put(name + "/y", metric.compute().double())


kind = dict(task="multiclass", num_classes=C)
keep("accuracy", tm.Accuracy(average="micro", **kind), scores, label)
keep("top2", tm.Accuracy(average="micro", top_k=2, **kind), scores, label)
keep("top3", tm.Accuracy(average="micro", top_k=3, **kind), scores, label)
for average in ("macro", "micro", "weighted"):
    for name, cls in (("precision", tm.Precision), ("recall", tm.Recall), ("f1", tm.F1Score), ("specificity", tm.Specificity)):
        keep(f"{name}_{average}", cls(average=average, **kind), scores, label)
for name, cls in (("precision", tm.Precision), ("recall", tm.Recall), ("f1", tm.F1Score)):
    keep(f"{name}_each", cls(average="none", **kind), scores, label)
keep("confusion", tm.ConfusionMatrix(**kind), scores, label)
keep("auroc", tm.AUROC(task="binary", thresholds=200), probability, binary)
keep("auroc30", tm.AUROC(task="binary", thresholds=30), probability, binary)
keep("auroc_classes", tm.AUROC(thresholds=50, average="macro", **kind), chance, label)
keep("auroc_exact", tm.AUROC(task="binary"), probability, binary)
keep("mse", tm.MeanSquaredError(), probability, target)
keep("mae", tm.MeanAbsoluteError(), probability, target)
keep("r2", tm.R2Score(), probability, target)
keep("perplexity", Perplexity(), 4 * scores[:, None], label[:, None])
keep("mean", tm.MeanMetric(), values, weights)
keep("sum", tm.SumMetric(), values)
keep("min", tm.MinMetric(), values)
keep("max", tm.MaxMetric(), values)
keep("running", tm.RunningMean(window=2), values)
f.save()
