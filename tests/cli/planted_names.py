#!/usr/bin/env python3
"""make DIR: files with names that a terminal or a page would act on. text|json|jsonl|html|event FILE...: says which of
them hold such a thing (or are not of that kind) and exits 1."""
import json
import os
import re
import struct
import sys

# As a file name has it, so without '/': a raw C1 byte, and U+009B in UTF-8.
NAME = (b"a\x1b]0;t\x07\x1b[2Jb\rc\x08\xe2\x80\xaed\xe2\x81\xa6e\xc2\x9b1mf\x9b1mg\nh\x7f"
        b"<script>alert(1)<script>")
TEXT = NAME.replace(b"f\x9b1m", b"f").decode()  # what JSON can say
ESCAPED = "".join("\\%02X" % b if not 32 < b < 127 else chr(b) for b in NAME)  # MLIR's


def safetensors(path, names):
    head = {n: {"dtype": "F32", "shape": [2], "data_offsets": [8 * i, 8 * i + 8]} for i, n in enumerate(names)}
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(8 * len(names)))


def make(folder):
    os.chdir(folder)
    write = lambda name, text: open(name, "wb").write(text if isinstance(text, bytes) else text.encode())
    write("name", NAME.replace(b"\n", b""))
    write("metric", TEXT.replace("\n", "").replace("\r", ""))
    body = """ {
  func.func public @main(%%arg0: tensor<4xf32> {jax.arg_info = "%s"}) -> (tensor<4xf32> {jax.result_info = "%s"}) {
    %%0 = stablehlo.%s %%arg0, %%arg0 : tensor<4xf32> loc("%s"("%s":3:1))
    return %%0 : tensor<4xf32> loc("%s")
  }
}
"""
    for name, op in (("program", "add"), ("wrong", ESCAPED)):
        write(name + ".mlir", 'module @"../../%s"' % ESCAPED + body % (ESCAPED, ESCAPED, op, *3 * [ESCAPED]))
    header = b"{'descr': '" + NAME.replace(b"\n", b"") + b"', 'fortran_order': False, 'shape': (4,)}\n"
    write("odd.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))
    safetensors("weights.safetensors", [TEXT, TEXT + "2"])
    write("shards.safetensors.index.json", json.dumps({"weight_map": {TEXT: TEXT + ".safetensors"}}))
    write("config.json", json.dumps({"trainer": {TEXT: TEXT}, "model": {TEXT: 1}}))
    os.makedirs("llama")
    write("llama/config.json", json.dumps({"model_type": TEXT, "architectures": [TEXT]}))
    safetensors("llama/model.safetensors", [TEXT])
    os.makedirs("run")
    rows = b"step,epoch,batch,samples,wall,stage,level,name,value\n"
    for i in range(3):
        rows += b"%d,0,%d,1,0.1,train,step,\"%s\",%d\n" % (i, i, TEXT.replace("\n", "").replace("\r", "").encode(), i)
    write("run/metrics.csv", rows)


def odd(data):
    """What of it is no text for a terminal."""
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        return str(e)
    bad = re.search("[^\t\n -~\u00a0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\U0010ffff]", text)
    return bad and "%r in %r" % (bad[0], text[max(0, bad.start() - 40):bad.end() + 20])


def strings(data):
    """The texts in a serialised protocol buffer, as far as they can be told from messages."""
    at = 0
    while at < len(data):
        def varint():
            nonlocal at
            v = shift = 0
            while True:
                v |= (data[at] & 127) << shift
                shift += 7
                at += 1
                if data[at - 1] < 128:
                    return v
        wire = varint() & 7
        if wire == 0:
            varint()
        elif wire == 2:
            n = varint()
            piece, at = data[at:at + n], at + n
            if b"alert" in piece:
                try:
                    yield from strings(piece)
                except IndexError:
                    yield piece
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise IndexError


def events(data):
    at, found = 0, []
    while at < len(data):
        n, = struct.unpack_from("<Q", data, at)
        found += strings(data[at + 12:at + 12 + n])
        at += 16 + n
    return found


def wrong(kind, path):
    data = open(path, "rb").read()
    if kind == "event":
        found = events(data)
        return "no name is in it" if not found else next(filter(None, map(odd, found)), None)
    if odd(data):
        return odd(data)
    try:
        for line in data.splitlines() if kind == "jsonl" else [data] if kind == "json" else []:
            json.loads(line)
    except ValueError as e:
        return "%s: %s" % (e, line[:200])
    if kind == "html" and b"<script>alert" in data:
        return "a script of the name's"
    return None


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    faults = [(p, wrong(sys.argv[1], p)) for p in sys.argv[2:]]
    for path, fault in faults:
        if fault:
            print("%s: %s" % (os.path.basename(path).encode("unicode_escape").decode(), fault))
    sys.exit(any(f for _, f in faults))
