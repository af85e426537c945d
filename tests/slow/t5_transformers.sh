#!/bin/bash
# Folders of T5's that `xtrain generate` says texts from and `xtrain fit --init` trains and writes, against transformers
# and peft: greedy texts of 200 tokens; the same pairs, the same steps of AdamW in both; what is written here is read
# there with the logits of the model that was trained there. HF_PYTHON names a Python with transformers, peft, torch.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$root/build} XT_SUMMARY=off HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
XTRAIN=${XTRAIN:-$BUILD/xtrain}
python_with HF_PYTHON torch transformers peft
cat >"$tmp/theirs.py" <<'P'
"""theirs.py make: of each kind a folder KIND with random weights, an adapter KIND-adapter of peft's; pairs.jsonl, and
prompts with the texts that transformers says. theirs.py judge: trains as the command did and compares logits with those
of the folders it wrote; and the texts."""
import json
import random
import sys

import peft
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, processors

SIZES = dict(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0,
             dropout_rate=0.0)
KINDS = {"t5": dict(), "v1_1": dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
         "deep": dict(feed_forward_proj="gated-gelu", num_decoder_layers=3, relative_attention_num_buckets=16,
                      relative_attention_max_distance=40)}
STEPS, RATE, TOKENS = 6, 1e-4, 200


torch.set_num_threads(1)


def letters(text):
    return [ord(c) - 0x4e00 for c in text] + [1]


def text(n):
    return "".join(chr(0x4e00 + random.randrange(2, 50)) for _ in range(n))


def make(kind):
    torch.manual_seed(5)
    random.seed(7)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**dict(SIZES, **KINDS[kind])))
    if kind == "v1_1":
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.4 if p.dim() > 1 else 0.1) + (p.dim() == 1))
    model.save_pretrained(kind, max_shard_size="20KB")
    t = Tokenizer(models.BPE({chr(0x4e00 + i): i for i in range(60)}, []))
    t.add_special_tokens([chr(0x4e01)])
    t.post_processor = processors.TemplateProcessing(single="$A " + chr(0x4e01), special_tokens=[(chr(0x4e01), 1)])
    t.decoder = decoders.Fuse()
    t.save(kind + "/tokenizer.json")
    peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=8, task_type="SEQ_2_SEQ_LM",
                                               target_modules=["q", "v", "wo"])).save_pretrained(kind + "-adapter")
    with open("pairs.jsonl", "w") as out:
        for i in range(10):
            out.write(json.dumps({"input": text(3 + i), "target": text(2 + i % 4)}) + "\n")
    with open("prompts", "w") as out:
        for n in (1, 7, 40, 150, 260):
            out.write(text(n) + "\n")


def batch():
    rows = [json.loads(line) for line in list(open("pairs.jsonl"))]
    read, said = [letters(r["input"]) for r in rows], [letters(r["target"]) for r in rows]
    fill = lambda rows, with_: torch.tensor([r + [with_] * (max(map(len, rows)) - len(r)) for r in rows])[:-1]
    x, y = fill(read, -1), fill(said, -100)
    start = torch.cat([torch.zeros(len(y), 1, dtype=torch.long), y[:, :-1].clamp(min=0)], 1)
    return dict(input_ids=x.clamp(min=0), attention_mask=(x >= 0).long(), decoder_input_ids=start), y


def train(model):
    x, y = batch()
    model.train()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0)
    for step in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(**x).logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
    return loss.item()


def compare(theirs, exact, ours):
    """Adam's first steps take the sign of a gradient, rounded or not: f32 and f64 part there, by more the deeper the
    model is. Ours may be three times as far from f64 as theirs in f32 is."""
    x, _ = batch()
    with torch.no_grad():
        e, a, b = (m.eval()(**x).logits.double() for m in (exact, theirs, ours))
    rounding, far, wide = (a - e).abs().max().item(), (b - e).abs().max().item(), (e.max() - e.min()).item()
    print(f"    logits differ by {far:.2g} from f64's, theirs by {rounding:.2g}, of a range of {wide:.3g}")
    assert far < 3 * rounding + 1e-5 * wide and wide > 1, (far, rounding, wide)


def load(folder):
    model, info = transformers.T5ForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info
    return model


def judge(kind):
    base = load(kind)
    for line, said in zip(open("prompts"), open(kind + "-said")):
        x = torch.tensor([letters(line.rstrip("\n"))])
        # the layers of a decoder that is deeper than its encoder are missing in the library's cache
        made = base.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=TOKENS, min_new_tokens=TOKENS,
                             do_sample=False, num_beams=1, eos_token_id=None, use_cache=kind != "deep")[0, 1:].tolist()
        ours = [ord(c) - 0x4e00 for c in json.loads(said)["text"]]
        assert len(made) == TOKENS and [t for t in made if t != 1] == ours, (len(line), made, ours)
    before = [p.clone() for p in base.parameters()]
    exact = load(kind).double()
    print(f"{kind}: whole, loss {train(base):.5f}, in f64 {train(exact):.5f}")
    assert any((p - q).abs().max() > 3e-4 for p, q in zip(base.parameters(), before))
    compare(base, exact, load(kind + "-whole"))
    theirs, exact = (peft.PeftModel.from_pretrained(m, kind + "-adapter", is_trainable=True)
                     for m in (load(kind), load(kind).double()))
    print(f"{kind}: an adapter, loss {train(theirs):.5f}, in f64 {train(exact.double()):.5f}")
    compare(theirs, exact, peft.PeftModel.from_pretrained(load(kind), kind + "-lora"))
    compare(theirs, exact, load(kind + "-merged"))


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
    "$XTRAIN" fit "$@" --data pairs.jsonl --batch 9 --steps 6 --epochs 6 --lr 0.0001 --schedule constant --warmup 0 \
        >out 2>&1 || { tail -n 3 out; false; }
}
check "folders of transformers' and adapters of peft's" "$python" theirs.py make
for kind in t5 v1_1 deep; do
    "$XTRAIN" generate $kind --prompts prompts --batch 3 --tokens 200 --temperature 0 --ignore-eos --json \
        >$kind-said 2>out
    check "$kind: texts of 200 tokens" [ $? = 0 ]
    check "$kind: all of it is trained" fit t5 --init $kind --output $kind-whole
    check "$kind: peft's adapter is trained" fit t5 --init $kind --adapter $kind-adapter --output $kind-lora
    check "$kind: merged" "$XTRAIN" convert $kind $kind-merged --merge $kind-lora
done
"$python" theirs.py judge >judged 2>err
check "texts and steps are those there, and what is written here is read there" [ $? = 0 ]
cat judged
tail -n 3 err | grep -i error
finish
