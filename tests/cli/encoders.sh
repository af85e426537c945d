#!/bin/bash
# xtrain fit --init with folders of BERT's and ViT's: texts with labels, masked tokens, pictures; folders written back
# and judged; a classifier that is new; and what does not fit.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
for kind in masked texts images; do
    mkdir $kind
    run convert "$here/../parity/encoders.safetensors" $kind/model.safetensors --keep "$kind/w/*" --rename "$kind/w/*=*"
    check "$kind: a folder" [ $? = 0 ]
done
python3 - "$here/../parity/encoders.json" <<'FILES'
import json, os, random, struct, sys, zlib
configs = json.load(open(sys.argv[1]))
random.seed(3)
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"] + ["w%d" % i for i in range(14)]
for kind in "masked", "texts", "images":
    json.dump(configs[kind], open(kind + "/config.json", "w"))
    json.dump({"model": {"type": "WordPiece", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "[UNK]",
                         "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
               "pre_tokenizer": {"type": "Whitespace"},
               "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}},
              open(kind + "/tokenizer.json", "w"))
with open("texts.jsonl", "w") as out, open("named.jsonl", "w") as named:
    for i in range(40):
        k = i % 2
        r = {"text": " ".join(["w%d" % (k * 7 + random.randrange(7)) for _ in range(6)]), "text_pair": "w3 w4"}
        out.write(json.dumps(dict(r, label=k)) + "\n")
        named.write(json.dumps(dict(r, label=["no", "yes"][k])) + "\n")
os.mkdir("plain")
for i in range(12):
    open(f"plain/{i}.txt", "w").write("w1 w2 w3 w4 w5 w6 w7 w8 " * 3)


def png(path, colour):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(min(255, max(0, c + random.randrange(-20, 20))) for _ in range(6) for c in colour)
                    for _ in range(6))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 6, 6, 8, 2, 0, 0, 0)) +
                           chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


for name, colour in ("blue", (30, 30, 220)), ("red", (220, 30, 30)):
    os.makedirs("pictures/" + name)
    for i in range(20):
        png(f"pictures/{name}/{i}.png", colour)
FILES
loss() { grep -o 'val/loss=* *[0-9.]*' "$tmp/out" | tail -n 1 | grep -o '[0-9.]*$'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
same() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && d < 2e-3 && d > -2e-3) }'; }
has() { python3 -c 'import json, sys
config = json.load(open(sys.argv[1]))
assert all(config[k] == v for k, v in json.loads(sys.argv[2]).items()), config' "$@"; }

judged() { # name kind folder data more...
    local name=$1 kind=$2 folder=$3 data=$4
    shift 4
    run validate $kind --init $folder --data $data --batch 4 "$@"
    first=$(loss)
    run fit $kind --init $folder --data $data --batch 4 --steps 60 --lr 0.01 --no-pictures --output $name "$@"
    check "$name: trained" [ $? = 0 ]
    run validate $kind --ckpt $name --data $data --batch 4 "$@"
    check "$name: judged" [ $? = 0 ]
    check "$name: better, $(loss) after $first" less "$(loss)" "$first"
}
judged tuned bert texts texts.jsonl --seq 12
check "its config.json is the same model's" has tuned/config.json \
    '{"architectures": ["BertForSequenceClassification"], "model_type": "bert"}'
check "and so are its other files" cmp texts/tokenizer.json tuned/tokenizer.json
judged found bert masked plain --seq 12 --checkpoint
check "masked tokens: the architecture" has found/config.json '{"architectures": ["BertForMaskedLM"]}'
run fit bert --init masked --data named.jsonl --seq 12 --batch 4 --steps 160 --lr 0.003 --output fresh
check "a masked language model becomes a classifier" [ $? = 0 ]
check "which is said" grep -q '2 classes, no to yes' out
check "its classes are the data's" has fresh/config.json \
    '{"architectures": ["BertForSequenceClassification"], "id2label": {"0": "no", "1": "yes"}}'
check "both ways" has fresh/config.json '{"label2id": {"no": 0, "yes": 1}}'
run validate bert --ckpt fresh --data named.jsonl --seq 12 --batch 4
check "and it has learnt them" grep -q 'val/acc *1$' out
run fit vit --init images --data pictures --batch 4 --steps 60 --lr 0.01 --no-pictures --output seen
check "pictures of other classes" [ $? = 0 ]
check "get a classifier of their own" grep -q '2 classes that the model does not have' out
check "which config.json has" has seen/config.json '{"id2label": {"0": "blue", "1": "red"}}'
judged again vit seen pictures
check "the same pictures later keep it" [ "$(grep -c 'does not have' out)" = 0 ]

refused() { # code text arguments...
    local code=$1 said=$2
    shift 2
    run "$@"
    check "$* is refused" [ "$?$(grep -c -- "$said" out)" = "${code}1" ]
}
refused 2 'an encoder is trained whole' fit bert --init texts --data texts.jsonl --lora r=2
refused 1 'packing is not for encoders' fit bert --init texts --data texts.jsonl --packing pad
refused 1 'has no labels' fit bert --init texts --data plain
refused 1 'has the label no' fit bert --init texts --data named.jsonl --seq 12
refused 1 'sees 16 tokens at most' fit bert --init texts --data texts.jsonl --seq 17
refused 1 'no room for a text' fit bert --init texts --data texts.jsonl --seq 3
refused 1 'sees images of 6 pixels' fit vit --init images --data pictures --side 12
refused 1 'is of the model type bert' fit vit --init texts --data pictures
echo '{"text": "w1"}' >>texts.jsonl
refused 1 'texts.jsonl:41: .*"label"' fit bert --init texts --data texts.jsonl --seq 12
finish
