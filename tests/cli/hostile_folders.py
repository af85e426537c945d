#!/usr/bin/env python3
"""Folders of models that somebody damaged on purpose, and what commands say of them.

hostile_folders.py XTRAIN PARITY WORK FIRST COUNT: makes whole folders in WORK, then damages a copy of one by each
seed and runs a command over it. A command ends within its time, by itself, within little memory; one that refuses
names a file of the folder, or the folder, or says that tokenizer and model are of two. What does not is printed with
its seed, by which it is tried again.
"""
import json, os, random, resource, shutil, struct, subprocess, sys, time

xtrain, parity, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count = int(sys.argv[4]), int(sys.argv[5])
asan = bool(os.environ.get("ASAN_BUILD"))
SECONDS, MEGABYTES = (60, 3000) if asan else (10, 1200)
os.makedirs(work, exist_ok=True)
os.chdir(work)


def whole_run(*args):
    done = subprocess.run([xtrain, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(args), done.stdout.decode(errors="replace")))


def dump(value, path):
    with open(path, "w") as f:
        json.dump(value, f)


def make_llama():
    os.mkdir("llama")
    whole_run("convert", parity + "/llama.safetensors", "llama/model.safetensors", "--keep", "qwen2/w/*", "--rename",
              "qwen2/w/*=*", "--max-shard-size", "3KB")
    config = json.load(open(parity + "/llama.json"))["qwen2"]
    dump(dict(config, torch_dtype="float32"), "llama/config.json")
    dump({"eos_token_id": [3, 4], "bos_token_id": 1, "temperature": 0.7, "top_p": 0.9, "top_k": 5, "do_sample": True},
         "llama/generation_config.json")
    vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
    dump({"version": "1.0", "added_tokens": [{"id": 3, "content": "d", "special": True, "lstrip": False,
                                              "rstrip": False, "single_word": False, "normalized": False}],
          "normalizer": {"type": "NFC"}, "pre_tokenizer": None, "model": {"type": "BPE", "vocab": vocab, "merges": []},
          "decoder": {"type": "Fuse"}}, "llama/tokenizer.json")
    dump({"chat_template": "{{ '<<SYS>>' + bos_token }}", "bos_token": "b", "eos_token": {"content": "d"},
          "add_bos_token": True, "model_max_length": 64}, "llama/tokenizer_config.json")
    with open("text.txt", "w") as f:
        f.write("abcdefg" * 40)
    with open("chats.jsonl", "w") as f:
        for i in range(8):
            f.write(json.dumps({"messages": [{"role": "user", "content": "ab"},
                                             {"role": "assistant", "content": "cde"}]}) + "\n")
    whole_run("fit", "llama", "--init", "llama", "--data", "text.txt", "--seq", "4", "--steps", "1", "--lora", "r=2",
              "--output", "adapter", "--no-pictures")


def make_encoder():
    os.mkdir("bert")
    whole_run("convert", parity + "/encoders.safetensors", "bert/model.safetensors", "--keep", "texts/w/*", "--rename",
              "texts/w/*=*")
    dump(json.load(open(parity + "/encoders.json"))["texts"], "bert/config.json")
    words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"] + ["w%d" % i for i in range(14)]
    dump({"model": {"type": "WordPiece", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
          "pre_tokenizer": {"type": "Whitespace"},
          "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}},
         "bert/tokenizer.json")
    with open("texts.jsonl", "w") as f:
        for i in range(16):
            f.write(json.dumps({"text": "w1 w2 w%d" % i, "label": i % 2}) + "\n")


FIT = ["--steps", "1", "--batch", "2", "--seq", "4", "--no-pictures", "--limit-val", "1"]
COMMANDS = {
    "llama": [["generate", "llama", "--prompt", "abc", "--tokens", "2"],
              ["evaluate", "llama", "--perplexity", "text.txt", "--seq", "8"],
              ["fit", "llama", "--init", "llama", "--data", "chats.jsonl", "--output", "out", *FIT],
              ["tokenize", "text.txt", "--tokenizer", "llama", "--output", "tokens.bin"],
              ["convert", "llama", "out", "--dtype", "bf16"]],
    "adapter": [["fit", "llama", "--init", "llama", "--adapter", "adapter", "--data", "text.txt", *FIT],
                ["convert", "llama", "out", "--merge", "adapter"]],
    "bert": [["fit", "bert", "--init", "bert", "--data", "texts.jsonl", "--output", "out", *FIT]],
}
VALUES = [None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1000, 2**24, 2**31 - 1, 2**31, 2**32 + 1, 2**53 + 1, 2**63,
          1e30, 1e308, -1e308, "", "x", "\0", "a\0b", "../../etc/passwd", "/etc/passwd", "llama", "\ud800", "%s%n",
          "A" * 5000, [], [[]], {}, [0], [1, 2, 3], [None], ["x"], {"a": 1}, {"type": "Sequence"}]


def places(value, path=()):
    yield path
    for k, v in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(v, path + (k,))


def change_json(text, r):
    value = json.loads(text)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        path = r.choice(list(places(value)))
        if not path:
            return json.dumps(r.choice(VALUES))
        at = value
        for k in path[:-1]:
            at = at[k]
        how = r.randrange(8)
        if how == 0:
            del at[path[-1]]
        elif how == 1 and isinstance(at, dict):
            at[path[-1] + r.choice(("", "\0", "x", "/../y"))] = at.pop(path[-1])
        elif how == 2 and isinstance(at, list):
            at.append(at[path[-1]])
        elif how == 3 and isinstance(at[path[-1]], (int, float)):
            at[path[-1]] = r.choice((at[path[-1]] * 2, at[path[-1]] + 1, -at[path[-1]], at[path[-1]] * 1000003))
        else:
            at[path[-1]] = r.choice(VALUES)
    return json.dumps(value)


def change_text(text, r):
    """The same JSON as text: what no JSON library would write."""
    at = r.randrange(len(text) + 1)
    how = r.randrange(7)
    if how == 0:
        return text[:at]
    if how == 1:
        return text[:at] + r.choice(("[", '{"a":')) * 100000 + text[at:]
    if how == 2:
        return "\ufeff" + text
    if how == 3:
        return text.replace("{", "{" + text[1:].split(",")[0] + ",", 1)
    if how == 4:
        return text[:at] + r.choice(("\0", "NaN", "1e999", "-", "\\u0000", "\\ud800", '"')) + text[at:]
    if how == 5:
        return text + text
    digits = [i for i, c in enumerate(text) if c.isdigit()]
    at = r.choice(digits) if digits else 0
    return text[:at] + "9" * r.choice((1, 20, 400)) + text[at:]


def change_bytes(data, r):
    data = bytearray(data)
    for _ in range(r.choice((1, 3, 20))):
        if data:
            data[r.randrange(len(data))] = r.choice((0, 0xff, 0x80, r.randrange(256)))
    return bytes(data[: r.randrange(len(data) + 1)] if r.randrange(3) == 0 else data)


def change_tensors(data, r):
    (n,) = struct.unpack("<Q", data[:8])
    head, rest = data[8:8 + n].decode(), data[8 + n:]
    how = r.randrange(8)
    if how == 0:
        return struct.pack("<Q", r.choice((0, 1, n - 1, n + 1, 2**31, 2**63, 2**64 - 1))) + data[8:]
    if how == 1:
        return data[: r.randrange(len(data))]
    if how == 2:
        return change_bytes(data, r)
    head = (change_text if how == 3 else change_json)(head, r).encode("utf-8", "surrogatepass")
    if r.randrange(2):  # checksums that are none of this header's end a look at it early
        value = json.loads(head) if how != 3 else None
        if isinstance(value, dict):
            value.pop("__metadata__", None)
            head = json.dumps(value).encode()
    return struct.pack("<Q", len(head)) + head + rest


def change_file(path, r):
    os.remove(path)
    how = r.randrange(7)
    if how == 0:
        os.symlink(os.path.basename(path), path)
    elif how == 1:
        os.symlink("/etc/passwd", path)
    elif how == 2:
        os.mkfifo(path)
    elif how == 3:
        os.mkdir(path)
    elif how == 4:
        os.symlink("/dev/zero", path)
    elif how == 5:
        open(path, "w").close()


def damage(folder, r):
    name = r.choice(sorted(os.listdir(folder)))
    path = os.path.join(folder, name)
    if r.randrange(12) == 0:
        change_file(path, r)
        return name
    with open(path, "rb") as f:
        data = f.read()
    if name.endswith(".safetensors"):
        data = change_tensors(data, r)
    else:
        text = (change_text if r.randrange(4) == 0 else change_json)(data.decode(), r)
        data = text.encode("utf-8", "surrogatepass")
        if r.randrange(10) == 0:
            data = change_bytes(data, r)
    with open(path, "wb") as f:
        f.write(data)
    return name


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))


def problem_of(command, folder, name):
    """None, or what is wrong with how the command ended."""
    began = time.monotonic()
    with open("said", "wb") as out:
        child = subprocess.Popen([xtrain, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=limit)
        pid, status, used = 0, 0, None
        while not pid and time.monotonic() - began < SECONDS:
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if not pid:
                time.sleep(0.01)
        if not pid:
            child.kill()
            child.wait()
            return "no end within %d s" % SECONDS
        child.returncode = os.waitstatus_to_exitcode(status)
    said = open("said", "rb").read()
    code = child.returncode
    peak = used.ru_maxrss / 1024
    if code not in (0, 1, 2) or b"Sanitizer" in said or b"runtime error" in said:
        return "ended with %d" % code
    if peak > MEGABYTES:
        return "took %d MB" % peak
    named = folder.encode() in said or name.encode() in said or b"are they of one model?" in said
    if code and not named and b"are model and tokenizer of one folder?" not in said:
        return "no file or folder is named"
    return None


os.environ.update(XT_SUMMARY="off", XT_CACHE="off", XT_PROGRESS="off", XT_POSTMORTEM="off", XT_DEVICE="CPU",
                  XT_STATUS_DIR=work + "/status", XT_RUNS_DIR=work + "/runs")
if not os.path.isdir("whole"):
    make_llama()
    make_encoder()
    os.mkdir("whole")
    for folder in COMMANDS:
        shutil.move(folder, "whole/" + folder)
wrong = refused = 0
for seed in range(first, first + count):
    r = random.Random(seed)
    for folder in list(COMMANDS) + ["out"]:
        shutil.rmtree(folder, ignore_errors=True)
    for folder in COMMANDS:
        shutil.copytree("whole/" + folder, folder)
    folder = r.choice(("llama", "llama", "adapter", "bert"))
    name = damage(folder, r)
    command = r.choice(COMMANDS[folder])
    problem = problem_of(command, folder, name)
    if problem:
        wrong += 1
        print("seed %d: %s of %s, %s: %s" % (seed, name, folder, command[0], problem))
        print("    " + open("said", "rb").read()[-600:].decode(errors="replace").strip().replace("\n", "\n    "))
        sys.stdout.flush()
print("%d folders, %d of them wrong" % (count, wrong))
sys.exit(wrong > 0)
