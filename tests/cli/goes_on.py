#!/usr/bin/env python3
"""`xtrain fit --resume` with other options than the fit had that wrote the checkpoint.

goes_on.py XTRAIN PARITY: in the working directory, with the folders of small_folders.py. Of each kind of model there is
a list of networks, by the options that say what the network is and what of it is trained. A fit of each of them is
stopped half way, and goes on with the options of each other: either what it ends with is, to the bit, what the first
fit ends with that was not stopped, or it is refused, with a word about what differs. With its own options, and with
--init alone, it must go on. Each option of `xtrain fit --help` is in one of the lists here, so that a new one is looked
at."""
import glob
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import zlib

xtrain, parity = sys.argv[1], sys.argv[2]
LORA = ["--lora", "r=2"]
SIZES = ["--layers", "1", "--width", "32", "--context", "32"]
OWN = SIZES + ["--heads", "4"]


def of_folder(kind):
    return {"whole": ["--init", kind], "lora": ["--init", kind] + LORA,
            "narrow": ["--init", kind, "--weights", "int8"] + LORA}


KINDS = {
    "llama": ("llama", ["--data", "notes.txt", "--seq", "16"], dict(
        of_folder("llama"), alpha=["--init", "llama", "--lora", "r=2,alpha=9"],
        all=["--init", "llama", "--lora-targets", "all-linear"] + LORA,
        kept=["--init", "llama-kept"] + LORA, adapter=["--init", "llama", "--adapter", "llama-adapter"])),
    "gpt2": ("gpt2", ["--data", "notes.txt", "--seq", "16"], of_folder("gpt2")),
    "own": ("gpt2", ["--data", "notes.txt", "--seq", "16", "--tokenizer", "gpt2"], {
        "sizes": OWN, "heads": SIZES + ["--heads", "2"], "loaded": OWN + ["--load", "own.safetensors"],
        "layers": ["--layers", "2"] + OWN[2:],
        "experts": OWN + ["--experts", "2"], "two": OWN + ["--experts", "2", "--experts-per-token", "2"],
        "folder": ["--init", "gpt2"], "lora": ["--init", "gpt2"] + LORA}),
    "t5": ("t5", ["--data", "pairs.jsonl"], of_folder("t5")),
    "bert": ("bert", ["--data", "texts.jsonl"], {"whole": ["--init", "texts"]}),
    "vit": ("vit", ["--data", "pictures"], {"whole": ["--init", "images"]}),
}
# What the run, its data and its machine are: of these the resumed fit has its own, and a difference is as it would be
# anywhere (the trainer tells batches, ranks and precision).
OTHERS = """--data --tokenizer --augment --epochs --steps --batch --lr --schedule --warmup --clip --device --devices
--strategy --mesh --fsdp --precision --accumulate --log-every --val-every --limit-val --ckpt --output --overwrite
--resume --packing --chat-template --sample --seed --limit-batches --workers --metrics --seq --microbatches --pipeline
--dropout --checkpoint --attention-tile --side --classes --small-stem --no-pictures --json --debug --profile
--max-compiles --explain --config --print-config --help""".split()
failed = 0


def wrong(text):
    global failed
    failed += 1
    print("not so:", text)


def run(arguments):
    r = subprocess.run([xtrain] + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout


def fit(command, data, options, *more):
    return run(["fit", command, "--batch", "4", "--schedule", "constant", "--warmup", "0", "--no-pictures", "--sample",
                "0"] + data + options + list(more))


def written(folder):
    files = sorted(glob.glob(folder + "/*.safetensors"))
    return [(os.path.basename(f), hashlib.sha256(open(f, "rb").read()).hexdigest()) for f in files]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def prepare():
    for name in "texts", "images":
        os.mkdir(name)
        run(["convert", parity + "/encoders.safetensors", name + "/model.safetensors", "--keep", name + "/w/*",
             "--rename", name + "/w/*=*"])
        json.dump(json.load(open(parity + "/encoders.json"))[name], open(name + "/config.json", "w"))
    words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"] + ["w%d" % i for i in range(14)]
    json.dump({"model": {"type": "WordPiece", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "[UNK]",
                         "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
               "pre_tokenizer": {"type": "Whitespace"},
               "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}},
              open("texts/tokenizer.json", "w"))
    with open("texts.jsonl", "w") as out:
        for i in range(40):
            out.write(json.dumps({"text": " ".join("w%d" % ((i + k) % 14) for k in range(6)), "label": i % 2}) + "\n")
    for k, name in enumerate(("blue", "red")):
        os.makedirs("pictures/" + name)
        for i in range(20):
            rows = b"".join(b"\0" + bytes((40 * k + i + 7 * p) % 256 for p in range(18)) for _ in range(6))
            open(f"pictures/{name}/{i}.png", "wb").write(
                b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 6, 6, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    for code, text in (run(["convert", "llama", "llama-kept", "--weights", "int8"]),
                       fit("llama", KINDS["llama"][1], KINDS["llama"][2]["lora"], "--steps", "1", "--output",
                           "llama-adapter"),
                       fit("gpt2", KINDS["own"][1], OWN, "--steps", "1", "--output", "own")):
        if code:
            wrong(text)
    os.rename("own/model.safetensors", "own.safetensors")


def every_option_is_looked_at():
    there = set(re.findall(r"^ +(--[a-z-]+)", run(["fit", "--help"])[1], re.M))
    of_networks = {word for _, _, networks in KINDS.values() for n in networks.values() for word in n
                   if word.startswith("--")}
    for option in sorted(there - of_networks - set(OTHERS)):
        wrong(f"{option} is new: does it say what the network is (KINDS), or is each run's its own (OTHERS)?")
    for option in sorted(of_networks & set(OTHERS) | (of_networks - there)):
        wrong(f"{option} is in both lists, or xtrain fit has it no more")


def goes_on(kind, was, now, options, whole):
    command, data, networks = KINDS[kind]
    out = f"ends/{kind}-{was}-{now}"
    code, text = fit(command, data, options, "--steps", "4", "--resume", f"ends/{kind}-{was}-ckpt", "--output", out)
    told = re.search(r"^xtrain fit: .*the checkpoint is of", text, re.M)
    must = now in (was, "init")
    if code == 0 and written(out) != whole:
        wrong(f"{kind}: {was} goes on as {now}, silently to another end\n{text}")
    elif code and (must or code != 2 or not told):
        wrong(f"{kind}: {was} as {now} ends with {code}\n{text}")
    return code == 0


def of_kind(kind):
    command, data, networks = KINDS[kind]
    went = tried = 0
    for was, options in networks.items():
        whole, half = f"ends/{kind}-{was}", f"ends/{kind}-{was}-ckpt"
        for more in (["--steps", "4", "--output", whole], ["--steps", "2", "--ckpt", half]):
            code, text = fit(command, data, options, *more)
            if code:
                return wrong(f"{kind}: {was} is not trained\n{text}")
        end = written(whole)
        if not end:
            wrong(f"{kind}: {was} wrote nothing")
        rows = dict(networks)
        if "--init" in options:
            rows["init"] = options[options.index("--init"):][:2]
        went += sum(goes_on(kind, was, now, rows[now], end) for now in rows)
        tried += len(rows)
    print(f"{kind}: {went} of {tried} go on, the others are refused")


every_option_is_looked_at()
prepare()
for each in KINDS:
    of_kind(each)
print(f"{failed} failed")
sys.exit(failed > 0)
