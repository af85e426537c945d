#!/bin/bash
# xtrain evaluate against transformers: perplexity by strides as its documentation computes it (each token counted
# once), log-probabilities of choices as lm-evaluation-harness tokenizes them, of small models of each kind with random
# weights. HF_PYTHON names a Python with transformers, tokenizers and torch.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$root/build} XT_SUMMARY=off HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
XTRAIN=${XTRAIN:-$BUILD/xtrain}
python_with HF_PYTHON torch transformers tokenizers
cat >"$tmp/theirs.py" <<'P'
"""theirs.py make: folders with random weights and a tokenizer that puts <s> in front; a text; questions.
theirs.py judge KIND: the same figures by transformers."""
import json
import random
import sys

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

KINDS = ("llama", "mistral", "qwen3", "gpt2")
SEQ, STRIDE = 48, 16
SIZES = dict(vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1)


def model_of(kind):
    if kind == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=300, n_positions=64, n_embd=64,
                                                                    n_layer=2, n_head=4, bos_token_id=0,
                                                                    eos_token_id=1))
    config = transformers.AutoConfig.for_model(kind, **SIZES)
    if kind == "mistral":
        config.sliding_window = 20
    return transformers.AutoModelForCausalLM.from_config(config)


def make():
    random.seed(3)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "is", "not", "the", "a", "of", "what", "where"]
    text = " ".join(random.choice(words) + random.choice(["", "", ",", ".\n"]) for _ in range(400))
    open("text.txt", "w").write(text)
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator([text], trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=
                                                      pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    with open("questions.jsonl", "w") as out:
        for i in range(20):
            ask = " ".join(random.choice(words) for _ in range(2 + i * 3)) + (" " if i % 4 == 0 else "")
            choices = [" ".join(random.choice(words) for _ in range(random.randint(1, 6))) for _ in range(2 + i % 3)]
            out.write(json.dumps({"query": ask, "choices": choices, "gold": i % 2}) + "\n")
    for kind in KINDS:
        torch.manual_seed(5)
        model = model_of(kind)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn_like(p) * (0.15 if p.dim() > 1 else 0.1) + (p.dim() == 1))
        model.save_pretrained(kind)
        t.save(kind + "/tokenizer.json")
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"},
                  open(kind + "/tokenizer_config.json", "w"))


def perplexity(model, ids):
    nll, count, done = 0.0, 0, 0
    for begin in range(0, len(ids), STRIDE):
        end = min(begin + SEQ, len(ids))
        window = torch.tensor([ids[begin:end]])
        target = window.clone()
        target[:, :done - begin] = -100
        with torch.no_grad():
            logits = model(window).logits
        nll += torch.nn.functional.cross_entropy(logits[0, :-1].double(), target[0, 1:], reduction="sum").item()
        count += (target[0, 1:] != -100).sum().item()
        done = end
        if end == len(ids):
            break
    return nll / count, count


def choices(model, encode, q):
    context, out = q["query"], []
    spaces = len(context) - len(context.rstrip())
    for choice in q["choices"]:
        continuation = (context[len(context) - spaces:] if spaces else "") + " " + choice
        whole = encode(context.rstrip() + continuation)
        own = whole[len(encode(context.rstrip())):]
        ids = (whole)[-(SEQ + 1):]
        with torch.no_grad():
            logp = model(torch.tensor([ids[:-1]])).logits[0].double().log_softmax(-1)
        out.append(sum(logp[len(ids) - 1 - len(own) + i, t].item() for i, t in enumerate(own)))
    return out


def judge(kind):
    model = transformers.AutoModelForCausalLM.from_pretrained(kind).eval()
    encode = transformers.PreTrainedTokenizerFast(tokenizer_file=kind + "/tokenizer.json").encode
    ours = json.loads(open("ours").readlines()[-1])
    loss, count = perplexity(model, encode(open("text.txt").read()))
    print(f"{kind}: loss {loss:.7f} of {count} tokens, here {ours['perplexity']['loss']:.7f}")
    assert count == ours["perplexity"]["predicted"] and abs(loss - ours["perplexity"]["loss"]) < 1e-5
    right = right_norm = 0
    far = 0.0
    for q, s in zip([json.loads(line) for line in open("questions.jsonl")],
                    [json.loads(line) for line in open("samples")]):
        p = choices(model, encode, q)
        far = max(far, max(abs(a - b) / max(1, abs(a)) for a, b in zip(p, s["logprobs"])))
        norm = [a / len(c) for a, c in zip(p, q["choices"])]
        right += p.index(max(p)) == q["gold"]
        right_norm += norm.index(max(norm)) == q["gold"]
    print(f"{kind}: {right} and {right_norm} of 20 are right, log-probabilities differ by {far:.2g} at most")
    assert far < 1e-5 and abs(ours["choices"]["acc"] - right / 20) < 1e-9, (far, ours)
    assert abs(ours["choices"]["acc_norm"] - right_norm / 20) < 1e-9, ours


make() if sys.argv[1] == "make" else judge(sys.argv[2])
P
cd "$tmp" || exit 1
check "folders, a text and questions" "$python" theirs.py make
for kind in llama mistral qwen3 gpt2; do
    "$XTRAIN" evaluate ./$kind --perplexity text.txt --choices questions.jsonl --seq 48 --stride 16 \
        --log-samples samples --json >ours 2>out
    check "$kind is judged" [ $? = 0 ]
    check "$kind: the figures are transformers'" "$python" theirs.py judge $kind
done
finish
