#!/bin/bash
# Folders that `xtrain fit --init` trains and writes, against transformers and peft: the same data, the same steps of
# AdamW in both, whole models and adapters; what is written here is read there with the logits of the model that was
# trained there, and what peft wrote is read here. HF_PYTHON names a Python with transformers, peft, torch.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$root/build} XT_SUMMARY=off HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
XTRAIN=${XTRAIN:-$BUILD/xtrain}
python_with HF_PYTHON torch transformers peft
cat >"$tmp/theirs.py" <<'P'
"""theirs.py make: of each kind a folder KIND of a small model with random weights, an adapter KIND-adapter of peft's;
records. theirs.py judge: trains as the command did and compares logits with those of the folders it wrote."""
import json
import random
import sys

import peft
import torch
import transformers
from tokenizers import Tokenizer, decoders, models

SIZES = dict(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, eos_token_id=0, bos_token_id=None)
KINDS = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)),
    "mistral": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(**SIZES, sliding_window=6)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZES, tie_word_embeddings=True)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, head_dim=8)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=40, n_positions=64, n_embd=32, n_layer=2, n_head=4, eos_token_id=0, bos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)),
}
STEPS, RATE, SEQ = 6, 1e-2, 12


def letters(text):
    return [ord(c) - 0x61 for c in text]


def make(kind):
    torch.manual_seed(5)
    model = KINDS[kind]()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.2 if p.dim() > 1 else 0.1) + (p.dim() == 1))
    model.save_pretrained(kind, max_shard_size="20KB")
    t = Tokenizer(models.BPE({chr(0x61 + i): i for i in range(40)}, []))
    t.decoder = decoders.Fuse()
    t.save(kind + "/tokenizer.json")
    a = peft.get_peft_model(model, peft.LoraConfig(
        r=4, lora_alpha=8, task_type="CAUSAL_LM",
        target_modules=["c_attn", "c_proj"] if kind == "gpt2" else ["q_proj", "v_proj", "down_proj"]))
    a.save_pretrained(kind + "-adapter")
    random.seed(7)
    with open("records.jsonl", "w") as out:
        for i in range(10):
            text = "".join(random.choice("bcdefgh") for _ in range(4 + i))
            out.write(json.dumps({"prompt": text[:3], "completion": text[3:]}) + "\n")


def batch():
    """What --packing pad makes of all records but the last, which is held out."""
    x, y = [], []
    for line in list(open("records.jsonl"))[:-1]:
        r = json.loads(line)
        ids = letters(r["prompt"]) + letters(r["completion"]) + [0]
        label = [-100] * len(r["prompt"]) + ids[len(r["prompt"]):]
        ids, label = ids[:SEQ + 1], label[:SEQ + 1]
        fill = SEQ + 1 - len(ids)
        x.append(ids + [0] * fill)
        y.append(label + [-100] * fill)
    return torch.tensor(x)[:, :-1], torch.tensor(y)[:, 1:]


def train(model):
    x, y = batch()
    model.train()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE,
                            weight_decay=0.1 if "GPT2" in repr(type(model.get_base_model() if hasattr(
                                model, "get_base_model") else model)) else 0.0)
    for step in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
    return loss.item()


def compare(theirs, ours):
    x, _ = batch()
    with torch.no_grad():
        a, b = theirs.eval()(x).logits, ours.eval()(x).logits
    far = (a - b).abs().max().item()
    print(f"logits differ by {far:.2g} at most, of a range of {(a.max() - a.min()).item():.3g}")
    assert far < 2e-3 and a.max() - a.min() > 1, far


def load(folder):
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info
    return model


def judge(kind):
    base = load(kind)
    before = [p.clone() for p in base.parameters()]
    print(f"{kind}: whole, loss {train(base):.5f}")
    assert any((p - q).abs().max() > 1e-2 for p, q in zip(base.parameters(), before))
    compare(base, load(kind + "-whole"))
    theirs = peft.PeftModel.from_pretrained(load(kind), kind + "-adapter", is_trainable=True)
    print(f"{kind}: an adapter, loss {train(theirs):.5f}")
    compare(theirs, peft.PeftModel.from_pretrained(load(kind), kind + "-lora"))
    compare(theirs, load(kind + "-merged"))


failed = 0
for kind in KINDS:
    try:
        make(kind) if sys.argv[1] == "make" else judge(kind)
    except Exception as e:
        print(f"{kind} FAILED: {type(e).__name__} {e}")
        failed += 1
sys.exit(bool(failed))
P
cd "$tmp" || exit 1
fit() {
    "$XTRAIN" fit "$@" --data records.jsonl --packing pad --seq 12 --batch 9 --steps 6 --epochs 6 --lr 0.01 \
        --schedule constant --warmup 0 >out 2>&1 || { tail -n 3 out; false; }
}
check "folders of transformers' and adapters of peft's" "$python" theirs.py make
for kind in llama mistral qwen2 qwen3 gpt2; do
    check "$kind: all of it is trained" fit $kind --init $kind --output $kind-whole
    check "$kind: peft's adapter is trained" fit $kind --init $kind --adapter $kind-adapter --output $kind-lora
    check "$kind: merged" "$XTRAIN" convert $kind $kind-merged --merge $kind-lora
done
"$python" theirs.py judge >judged 2>err
check "the same steps there give the same models, and what is written here is read there" [ $? = 0 ]
cat judged
tail -n 3 err | grep -i error
finish
