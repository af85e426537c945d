#!/bin/bash
# Folders of BERT's and ViT's that `xtrain fit --init` trains and writes, against transformers: the same samples, the
# same steps of AdamW in both; what is written here is read there with the logits of the model that was trained there.
# HF_PYTHON names a Python with transformers, tokenizers, torch and PIL.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$root/build} XT_SUMMARY=off HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
XTRAIN=${XTRAIN:-$BUILD/xtrain}
python_with HF_PYTHON torch transformers tokenizers PIL
cat >"$tmp/theirs.py" <<'P'
"""theirs.py make: folders masked, texts, images with random weights, a tokenizer, labelled texts, pictures.
theirs.py judge KIND: trains as the command did and compares logits with those of the folder it wrote."""
import json
import os
import random
import sys

import numpy
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

STEPS, RATE, SEQ = 6, 1e-2, 12
SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"] + ["w%d" % i for i in range(30)]
NAMES = ["bad", "fair", "good"]
TEXT = dict(vocab_size=len(WORDS), max_position_embeddings=32, **SIZES)
NAMED = dict(id2label=dict(enumerate(NAMES)), label2id={n: i for i, n in enumerate(NAMES)})
KINDS = {
    "masked": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**TEXT)),
    "texts": lambda: transformers.BertForSequenceClassification(transformers.BertConfig(**TEXT, **NAMED)),
    "images": lambda: transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=12, patch_size=4, **SIZES, **NAMED)),
}
CLASS = {"masked": transformers.AutoModelForMaskedLM, "texts": transformers.AutoModelForSequenceClassification,
         "images": transformers.AutoModelForImageClassification}


def make():
    random.seed(7)
    for kind, new in KINDS.items():
        torch.manual_seed(5)
        model = new()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn_like(p) * (0.2 if p.dim() > 1 else 0.1) + (p.dim() == 1))
        model.save_pretrained(kind)
        t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
        t.pre_tokenizer = pre_tokenizers.Whitespace()
        t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                         special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
        t.save(kind + "/tokenizer.json")
    with open("texts.jsonl", "w") as out:
        for i in range(10):
            r = dict(text=" ".join(random.choice(WORDS[5:]) for _ in range(3 + i)), label=NAMES[i % 3])
            if i % 2:
                r["text_pair"] = " ".join(random.choice(WORDS[5:]) for _ in range(2 + i % 4))
            out.write(json.dumps(r) + "\n")
    for split, n in ("train", 9), ("val", 3):
        for i in range(n):
            os.makedirs(f"pictures/{split}/{NAMES[i % 3]}", exist_ok=True)
            a = numpy.array([random.randrange(256) for _ in range(12 * 12 * 3)], dtype=numpy.uint8)
            Image.fromarray(a.reshape(12, 12, 3)).save(f"pictures/{split}/{NAMES[i % 3]}/{i}.png")


def texts():
    """All but the last tenth."""
    t = transformers.PreTrainedTokenizerFast(tokenizer_file="texts/tokenizer.json", pad_token="[PAD]")
    rows = [json.loads(line) for line in open("texts.jsonl")][:-1]
    batch = [t(r["text"], r.get("text_pair"), truncation="longest_first", max_length=SEQ, padding="max_length",
               return_token_type_ids=True) for r in rows]
    x = {k: torch.tensor([b[k] for b in batch]) for k in ("input_ids", "attention_mask", "token_type_ids")}
    assert x["token_type_ids"].max() == 1
    return x, torch.tensor([NAMES.index(r["label"]) for r in rows])


def images():
    x, y = [], []
    for k, name in enumerate(NAMES):
        for f in sorted(os.listdir(f"pictures/train/{name}")):
            a = numpy.asarray(Image.open(f"pictures/train/{name}/{f}"), dtype=numpy.float32)
            x.append((torch.tensor(a).permute(2, 0, 1) / 255 - 0.5) / 0.5)
            y.append(k)
    return {"pixel_values": torch.stack(x)}, torch.tensor(y)


def train(model, x, y):
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0)
    for step in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(**x).logits, y)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return loss.item()


def load(kind, folder):
    model, info = CLASS[kind].from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info
    return model


def judge(kind):
    if kind == "fresh":  # a classifier of a masked language model's folder
        model = load("texts", "fresh-tuned")
        assert model.config.id2label == dict(enumerate(NAMES)), model.config.id2label
        x, y = texts()
        with torch.no_grad():
            right = (model.eval()(**x).logits.argmax(-1) == y).sum().item()
        print(f"fresh: {right} of {len(y)} texts it was trained on are right")
        assert right == len(y)
        return
    ours = load(kind, kind + "-tuned").eval()
    if kind == "masked":
        base = load(kind, kind)
        ids = torch.arange(5, 15)[None]
        loss = lambda m: torch.nn.functional.cross_entropy(m.eval()(ids).logits[0], ids[0]).item()
        print(f"masked: tokens of the text have a loss of {loss(ours):.4f}, {loss(base):.4f} before")
        assert loss(ours) < loss(base)
        return
    theirs = load(kind, kind)
    x, y = (texts if kind == "texts" else images)()
    loss = train(theirs, x, y)
    with torch.no_grad():
        a, b = theirs.eval()(**x).logits, ours(**x).logits
    far = (a - b).abs().max().item()
    wide = (a.max() - a.min()).item()
    print(f"{kind}: loss {loss:.5f}, logits differ by {far:.2g} at most, of a range of {wide:.3g}")
    assert ours.config.id2label == dict(enumerate(NAMES)), ours.config.id2label
    assert far < 2e-3 and wide > 0.1, far


make() if sys.argv[1] == "make" else judge(sys.argv[2])
P
cd "$tmp" || exit 1
fit() {
    "$XTRAIN" fit "$@" --schedule constant --warmup 0 >out 2>&1 || { tail -n 3 out; false; }
}
check "folders of transformers', texts and pictures" "$python" theirs.py make
same="--batch 9 --steps 6 --epochs 6 --lr 0.01"
# shellcheck disable=SC2086
check "texts are classified" fit bert --init texts --data texts.jsonl --seq 12 $same --output texts-tuned
# shellcheck disable=SC2086
check "pictures are classified" fit vit --init images --data pictures $same --output images-tuned
mkdir plain && for i in $(seq 20); do echo w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 >plain/$i.txt; done
check "masked tokens are found" fit bert --init masked --data plain --seq 12 --batch 4 --steps 60 --lr 0.01 \
    --output masked-tuned
check "a classifier that is new" fit bert --init masked --data texts.jsonl --seq 12 --batch 9 --steps 60 --lr 0.003 \
    --output fresh-tuned
for kind in texts images masked fresh; do
    "$python" theirs.py judge $kind >judged 2>out
    check "$kind: what is written here is read there, and is what is trained there" [ $? = 0 ]
    cat judged
done
finish
