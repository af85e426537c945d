"""What transformers' processors make of logits, in the order its generate has them: rows of tests/unit/sampling.def.

usage: sampling.py >../unit/sampling.def
"""
import torch
import transformers
from transformers.generation import logits_process as p

N = 24
torch.manual_seed(5)
LOGITS = (torch.randn(N) * 3).round(decimals=2)
LOGITS[7] = LOGITS[3]  # equal ones
SEEN = [3, 5, 5, 11, 0]
ROWS = [dict(temperature=1.0), dict(temperature=0.7), dict(temperature=1.0, top_k=3), dict(temperature=2.5, top_k=5),
        dict(temperature=1.0, top_p=0.9), dict(temperature=1.5, top_p=0.5), dict(temperature=1.0, top_p=0.01),
        dict(temperature=1.0, min_p=0.05), dict(temperature=0.5, min_p=0.3), dict(repetition_penalty=1.3),
        dict(temperature=0.8, repetition_penalty=0.7), dict(temperature=1.2, top_k=12, top_p=0.95, min_p=0.02,
                                                            repetition_penalty=1.1)]

print("/* Written by tests/parity/sampling.py, transformers %s. LOGITS(numbers), SEEN(tokens), then a row each:\n"
      " * ROW(temperature, top-k, top-p, min-p, repetition penalty, the scores). */" % transformers.__version__)


def number(v):
    return "-INFINITY" if v == float("-inf") else f"{v:.9g}" + ("" if "." in f"{v:.9g}" or "e" in f"{v:.9g}" else ".0")


def numbers(v):
    lines, line = [], "   "
    for x in v:
        text = " " + number(x) + "f," if x != float("-inf") else " -INFINITY,"
        if len(line) + len(text) > 118:
            lines.append(line)
            line = "   "
        line += text
    return "\n".join(lines + [line])[:-1]


print("LOGITS(\n%s)" % numbers(LOGITS.tolist()))
print("SEEN(%s)" % ", ".join(map(str, SEEN)))
for r in ROWS:
    scores, ids = LOGITS[None].clone(), torch.tensor([SEEN])
    steps = []
    if "repetition_penalty" in r:
        steps.append(p.RepetitionPenaltyLogitsProcessor(r["repetition_penalty"]))
    if "temperature" in r:
        steps.append(p.TemperatureLogitsWarper(r["temperature"]))
    if "top_k" in r:
        steps.append(p.TopKLogitsWarper(r["top_k"]))
    if "top_p" in r:
        steps.append(p.TopPLogitsWarper(r["top_p"]))
    if "min_p" in r:
        steps.append(p.MinPLogitsWarper(r["min_p"]))
    for s in steps:
        scores = s(ids, scores)
    print("ROW(%s, %d, %s, %s, %s,\n%s)" % (
          number(r.get("temperature", 0)), r.get("top_k", 0), number(r.get("top_p", 0)),
          number(r.get("min_p", 0)), number(r.get("repetition_penalty", 0)), numbers(scores[0].tolist())))
