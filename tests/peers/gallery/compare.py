#!/usr/bin/env python3
"""The losses of examples/gallery/ beside those of their PyTorch originals, which stand beside this script.

usage: BUILD=build python3 tests/peers/gallery/compare.py [NAME ...]    runs both (needs PyTorch, safetensors)
       ... compare.py --write [NAME ...]     and keeps PyTorch's losses in losses.txt
       ... compare.py --kept NAME STEPS <OUTPUT    only looks at what a program printed in its first steps, and at
                                                   losses.txt: needs no PyTorch

A line of losses.txt: program, what is printed, step, PyTorch's number."""
import importlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
KEPT = os.path.join(HERE, "losses.txt")
STEPS = 10
READERS = ("nanogpt", "lstm_text", "llama_lora")  # of a text
# Sums in other orders differ in the last bits of f32, and ten steps of Adam let that grow.
CLOSE = 2e-4


def read_kept():
    out = {}
    with open(KEPT) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, what, step, value = line.split()
                out.setdefault(name, {})[what, int(step)] = float(value)
    return out


def printed(text):
    """{(what, step): number} of lines such as 'loss 3 0.25'."""
    out = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and int(words[1]) < STEPS:
            try:
                out[words[0], int(words[1])] = float(words[2])
            except ValueError:
                pass
    return out


def differences(name, got, want):
    """How many are missing or apart, each named."""
    bad = 0
    for key, w in want.items():
        g = got.get(key)
        if g is None or not abs(g - w) <= CLOSE * max(1.0, abs(w)):
            print(f"{name}: {key[0]} of step {key[1]} is {g}, PyTorch has {w}")
            bad += 1
    return bad


def run_c(name, folder):
    """The program's numbers; its first weights are in folder/init."""
    data = ["--data", os.path.join(ROOT, "LICENSE")] if name in READERS else []
    command = [os.path.join(os.environ["BUILD"], name), "--steps", str(STEPS), "--save", "init", *data]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return printed(done.stdout)


def run_torch(name, folder):
    import torch
    torch.manual_seed(1)
    here, out, count = os.getcwd(), {}, {}
    os.chdir(folder)
    try:
        for what, value in importlib.import_module(name).losses("init", STEPS):
            out[what, count.get(what, 0)] = value
            count[what] = count.get(what, 0) + 1
    finally:
        os.chdir(here)
    return out


def main():
    args = sys.argv[1:]
    if args[:1] == ["--kept"]:
        want = {k: v for k, v in read_kept().get(args[1], {}).items() if k[1] < int(args[2])}
        if not want:
            sys.exit(f"{args[1]}: losses.txt has no line of it")
        sys.exit(1 if differences(args[1], printed(sys.stdin.read()), want) else 0)
    write = "--write" in args
    sys.path.insert(0, HERE)
    os.environ["BUILD"] = os.path.abspath(os.environ.get("BUILD", "build"))
    os.environ["GALLERY_TEXT"] = os.path.join(ROOT, "LICENSE")
    all_names = sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f not in ("gallery.py", "compare.py"))
    names, bad = [a for a in args if not a.startswith("-")] or all_names, 0
    kept = read_kept() if os.path.exists(KEPT) else {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            got, want = run_c(name, folder), run_torch(name, folder)
        wrong = differences(name, got, want)
        far = max((abs(got.get(k, float("inf")) - v) / max(1.0, abs(v)) for k, v in want.items()), default=0)
        print(f"{name}: {len(want)} numbers, differ by {far:.2g} at most")
        bad += wrong + (not want)
        kept[name] = want
    if write and not bad:
        with open(KEPT, "w") as f:
            f.write("# PyTorch's numbers of the first steps; written by compare.py --write.\n")
            for name in sorted(kept):
                for (what, step), value in kept[name].items():
                    f.write(f"{name} {what} {step} {value:.9g}\n")
    sys.exit(1 if bad else 0)


main()
