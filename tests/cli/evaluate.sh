#!/bin/bash
# xtrain evaluate: log-probabilities are those of the logits that transformers computed, perplexity by strides is what
# the log-probabilities of its windows come to, and questions are judged by them.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
mkdir folder
"$XTRAIN" convert "$here/../parity/llama.safetensors" folder/model.safetensors --keep 'mistral/w/*' \
    --rename 'mistral/w/*=*' >out 2>&1
check "a folder" [ $? = 0 ]
cat >files.py <<'FILES'
"""The folder's other files, a text, questions; what transformers' logits say of the texts they are of."""
import json
import math
import struct
import sys

parity = sys.argv[1]
config = json.load(open(parity + ".json"))["mistral"]
json.dump(config, open("folder/config.json", "w"))
V = config["vocab_size"]
vocab = {chr(0x4e00 + i): i for i in range(V)}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open("folder/tokenizer.json", "w"))
f = open(parity + ".safetensors", "rb")
head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
base = f.tell()


def read(name):
    begin, end = head[name]["data_offsets"]
    f.seek(base + begin)
    raw = f.read(end - begin)
    form = {"F32": "f", "I64": "q"}[head[name]["dtype"]]
    return struct.unpack("<%d%s" % (len(raw) // struct.calcsize(form), form), raw)


tokens, logits = read("mistral/x0"), read("mistral/y0")
rows, T = head["mistral/x0"]["shape"]
text = [[chr(0x4e00 + t) for t in tokens[r * T:(r + 1) * T]] for r in range(rows)]


def logprob(r, k):
    """of token k of row r"""
    row = logits[(r * T + k - 1) * V:(r * T + k) * V]
    most = max(row)
    return row[tokens[r * T + k]] - most - math.log(sum(math.exp(v - most) for v in row))


open("row.txt", "w").write("".join(text[0]))
with open("rows.jsonl", "w") as out:
    for r in range(rows):
        for k in (1, 4, T - 1):
            q, a = "".join(text[r][:k]), "".join(text[r][k:])
            out.write(json.dumps({"query": q, "choices": [a, a[:1]], "gold": 0}) + "\n")
sums = [[sum(logprob(r, i) for i in range(k, T)), logprob(r, k)] for r in range(rows) for k in (1, 4, T - 1)]
json.dump({"loss": -sum(logprob(0, k) for k in range(1, T)) / (T - 1), "rows": sums}, open("theirs.json", "w"))
# A longer text, and what each of its windows adds: 7 tokens, the next 3 on.
long = [chr(0x4e00 + (i * i + i // 3) % V) for i in range(40)]
open("long.txt", "w").write("".join(long))
with open("windows.jsonl", "w") as out:
    begin, done = 0, 1
    while done < len(long):
        end = min(begin + 7, len(long))
        out.write(json.dumps({"question": "".join(long[begin:done]), "choices": ["".join(long[done:end]), "丂"],
                              "answer": "丂"}) + "\n")
        begin, done = begin + 3, end
FILES
check "its files" python3 files.py "$here/../parity/llama"
judge() { "$XTRAIN" evaluate folder "$@" --json >out 2>&1; }
judge --perplexity row.txt --choices rows.jsonl --delimiter '' --log-samples rows.out
check "a text and questions" [ $? = 0 ]
check "have the log-probabilities of transformers' logits" python3 - <<'SAME'
import json
import math
ours, theirs = json.loads(open("out").readlines()[-1]), json.load(open("theirs.json"))
p = ours["perplexity"]
assert p["tokens"] == 13 and p["predicted"] == 12, p
assert abs(p["loss"] - theirs["loss"]) < 1e-5 and abs(p["perplexity"] - math.exp(theirs["loss"])) < 1e-4, p
assert abs(p["bits_per_byte"] - theirs["loss"] * 12 / 39 / math.log(2)) < 1e-5, p
assert abs(p["word_perplexity"] / math.exp(theirs["loss"] * 12) - 1) < 1e-4, p
samples = [json.loads(line) for line in open("rows.out")]
assert len(samples) == len(theirs["rows"]) == 6
for s, t in zip(samples, theirs["rows"]):
    assert all(abs(a - b) < 2e-5 for a, b in zip(s["logprobs"], t)), (s, t)
# The choices are the rest of a text and its first token.
lengths = [[n, 1] for n in (12, 9, 1)] * 2
right = [p[0] >= p[1] for p in theirs["rows"]]
right_norm = [p[0] / n[0] >= p[1] / n[1] for p, n in zip(theirs["rows"], lengths)]
for name, list in ("acc", right), ("acc_norm", right_norm):
    mean = sum(list) / 6
    assert abs(ours["choices"][name] - mean) < 1e-6, (name, list, ours)
    assert abs(ours["choices"][name + "_stderr"] - math.sqrt(mean * (1 - mean) / 5)) < 1e-6, ours
assert sum(right_norm) not in (0, 6) or sum(right) not in (0, 6)
SAME
for batch in 1 5; do
    judge --perplexity row.txt --choices rows.jsonl --delimiter '' --log-samples rows.$batch --batch $batch
    check "$batch at a time" python3 - rows.out rows.$batch <<'SAME'
import json, sys
a, b = ([json.loads(line)["logprobs"] for line in open(name)] for name in sys.argv[1:])
assert all(abs(p - q) < 1e-5 for x, y in zip(a, b) for p, q in zip(x, y)), (a, b)
SAME
done
judge --perplexity long.txt --seq 7 --stride 3
cp out strided
judge --choices windows.jsonl --delimiter '' --log-samples windows.out
check "perplexity by strides is what its windows come to" python3 - <<'SAME'
import json
p = json.loads(open("strided").readlines()[-1])["perplexity"]
nll = -sum(json.loads(line)["logprobs"][0] for line in open("windows.out"))
assert p["predicted"] == 39 and p["stride"] == 3 and abs(p["loss"] - nll / 39) < 1e-5, (p, nll / 39)
SAME
judge --perplexity long.txt --seq 8 --stride 8
check "windows side by side have no token before their first" grep -q '"predicted": 35' out
judge --perplexity long.txt
check "the whole text in one window is another number" \
    python3 -c 'import json
a, b = (json.loads(open(f).readlines()[-1])["perplexity"]["loss"] for f in ("out", "strided"))
assert abs(a - b) > 1e-4, (a, b)'
"$XTRAIN" evaluate folder --perplexity row.txt --choices rows.jsonl --limit 2 >out 2>&1
check "as text" [ "$(grep -cE '^(loss|acc) |13 tokens, 12 of them|: 2 questions, 4 choices' out)" = 4 ]
refused() { # code text arguments...
    local code=$1 said=$2
    shift 2
    "$XTRAIN" evaluate "$@" >out 2>err
    check "$* is refused" [ "$?$(grep -c -- "$said" err)" = "${code}1" ]
}
refused 2 'FILE.jsonl is needed' folder
refused 2 'nothing is no text model and no folder' nothing --perplexity row.txt
refused 2 'stride is for' folder --choices rows.jsonl --stride 4
refused 1 'stride 9; at most --seq' folder --perplexity row.txt --seq 8 --stride 9
refused 1 'as many tokens as the model sees' folder --perplexity row.txt --seq 1000000
refused 1 'none.txt' folder --perplexity none.txt
while read -r said line; do
    { head -n 1 rows.jsonl && echo "$line"; } >wrong.jsonl
    refused 1 "wrong.jsonl:2: .*$said" folder --choices wrong.jsonl
done <<'WRONG'
"query" {"choices": ["a", "b"], "gold": 0}
"choices" {"query": "a", "choices": ["a"], "gold": 0}
"query" [1
empty {"query": "a", "choices": ["a", ""], "gold": 0}
"gold" {"query": "a", "choices": ["a", "b"], "gold": 2}
"gold" {"query": "a", "choices": ["a", "b"], "gold": "c"}
"gold" {"query": "a", "choices": ["a", "b"]}
behind {"query": "一", "choices": ["zz", "丂"], "gold": 0}
WRONG
finish
