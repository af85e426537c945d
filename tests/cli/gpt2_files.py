"""GPT-2 as Hugging Face's library reads its files, in plain Python: logits of DIR/model.safetensors for a window of
bytes against rows that xtrain has predicted. Where transformers is installed, its own model is asked too.

usage: gpt2_files.py check DIR PREDICTIONS.npy TEXT     gpt2_files.py prefixed DIR OUT
       gpt2_files.py widened DIR OUT_DIR                  the model with a vocabulary of 300
"""
import ast
import json
import math
import struct
import sys


def read_safetensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header, data = json.loads(f.read(size)), f.read()
    meta = header.pop("__metadata__", {})
    tensors = {}
    for name, e in header.items():
        begin, end = e["data_offsets"]
        assert e["dtype"] == "F32", (name, e)
        tensors[name] = (e["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
    return meta, tensors


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read_npy(path):
    with open(path, "rb") as f:
        assert f.read(6) == b"\x93NUMPY"
        major = f.read(2)[0]
        size = struct.unpack("<H" if major == 1 else "<I", f.read(2 if major == 1 else 4))[0]
        header = ast.literal_eval(f.read(size).decode())
        raw = f.read()
    assert header["descr"] == "<f4" and not header["fortran_order"]
    return header["shape"], struct.unpack(f"<{len(raw) // 4}f", raw)


def conv1d(x, weight, bias):
    """Hugging Face's Conv1D: x W + b with W [in,out]."""
    (rows, columns), w = weight
    return [[bias[1][j] + sum(v[i] * w[i * columns + j] for i in range(rows)) for j in range(columns)] for v in x]


def layer_norm(x, weight, bias):
    out = []
    for v in x:
        mean = sum(v) / len(v)
        scale = 1 / math.sqrt(sum((e - mean) ** 2 for e in v) / len(v) + 1e-5)
        out.append([(e - mean) * scale * w + b for e, w, b in zip(v, weight[1], bias[1])])
    return out


def gelu_new(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def attention(x, t, h, heads):
    width = len(x[0])
    d = width // heads
    qkv = conv1d(x, t[h + "attn.c_attn.weight"], t[h + "attn.c_attn.bias"])
    out = [[0.0] * width for _ in x]
    for head in range(heads):
        for i in range(len(x)):
            q = qkv[i][head * d:(head + 1) * d]
            scores = [sum(a * b for a, b in zip(q, qkv[j][width + head * d:width + (head + 1) * d])) / math.sqrt(d)
                      for j in range(i + 1)]
            exps = [math.exp(s - max(scores)) for s in scores]
            for j, e in enumerate(exps):
                for k in range(d):
                    out[i][head * d + k] += e / sum(exps) * qkv[j][2 * width + head * d + k]
    return conv1d(out, t[h + "attn.c_proj.weight"], t[h + "attn.c_proj.bias"])


def logits(t, config, tokens):
    width = config["n_embd"]
    row = lambda name, i: t[name][1][i * width:(i + 1) * width]
    x = [[a + b for a, b in zip(row("wte.weight", token), row("wpe.weight", i))] for i, token in enumerate(tokens)]
    add = lambda a, b: [[p + q for p, q in zip(u, v)] for u, v in zip(a, b)]
    for layer in range(config["n_layer"]):
        h = f"h.{layer}."
        x = add(x, attention(layer_norm(x, t[h + "ln_1.weight"], t[h + "ln_1.bias"]), t, h, config["n_head"]))
        y = conv1d(layer_norm(x, t[h + "ln_2.weight"], t[h + "ln_2.bias"]), t[h + "mlp.c_fc.weight"],
                   t[h + "mlp.c_fc.bias"])
        y = [[gelu_new(e) for e in v] for v in y]
        x = add(x, conv1d(y, t[h + "mlp.c_proj.weight"], t[h + "mlp.c_proj.bias"]))
    x = layer_norm(x, t["ln_f.weight"], t["ln_f.bias"])
    return [[sum(a * b for a, b in zip(v, row("wte.weight", i))) for i in range(config["vocab_size"])] for v in x]


def theirs(folder, tokens):
    """None where transformers is not installed."""
    try:
        import torch
        import transformers
    except ImportError:
        return None
    with torch.no_grad():
        return transformers.GPT2LMHeadModel.from_pretrained(folder).eval()(torch.tensor([tokens])).logits[0].tolist()


def check(folder, predictions, text):
    config = json.load(open(folder + "/config.json"))
    meta, t = read_safetensors(folder + "/model.safetensors")
    width = config["n_embd"]
    assert meta.get("format") == "pt", meta
    assert config["architectures"] == ["GPT2LMHeadModel"], config
    assert t["h.0.attn.c_attn.weight"][0] == [width, 3 * width], t["h.0.attn.c_attn.weight"][0]
    assert t["h.0.mlp.c_proj.weight"][0] == [4 * width, width]
    shape, got = read_npy(predictions)
    samples, seq, vocab = shape
    data = open(text, "rb").read()
    tokens = list(data[len(data) // 10 * 9:][:seq])
    for want in (logits(t, config, tokens), theirs(folder, tokens)):
        if want is None:
            continue
        far = max(abs(got[i * vocab + j] - want[i][j]) for i in range(seq) for j in range(vocab))
        spread = max(map(max, want)) - min(map(min, want))
        print(f"logits differ by {far:.2g} at most, of a range of {spread:.2g}")
        assert far < 1e-4 and spread > 0.1, (far, spread)


def prefixed(folder, out):
    """As other programs of theirs write it: another prefix, the tied head and a mask beside it."""
    _, t = read_safetensors(folder + "/model.safetensors")
    more = {"transformer." + name: value for name, value in t.items()}
    more["lm_head.weight"] = t["wte.weight"]
    more["transformer.h.0.attn.bias"] = ([1, 1, 4, 4], [0.0] * 16)
    write_safetensors(out, more)


def widened(directory, out):
    _, tensors = read_safetensors(directory + "/model.safetensors")
    for name, ((rows, *others), values) in tensors.items():
        if rows == 256 and len(others) == 1 and name.endswith("wte.weight"):
            tensors[name] = ([300, *others], values + values[:44 * others[0]])
    write_safetensors(out + "/model.safetensors", tensors)
    with open(directory + "/config.json") as f:
        config = json.load(f)
    with open(out + "/config.json", "w") as f:
        json.dump(dict(config, vocab_size=300), f)


if __name__ == "__main__":
    {"check": check, "prefixed": prefixed, "widened": widened}[sys.argv[1]](*sys.argv[2:])
