#!/bin/bash
# GPT-2's files and Hugging Face's own library, both ways and in each precision: its model takes every tensor of a
# folder that `xtrain fit --ckpt` wrote, under its name and the right way round, gives the same logits and the same
# text, and what it saves again is read here with the same outputs. HF_PYTHON names a Python with transformers, torch.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$root/build} XT_SUMMARY=off HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
XTRAIN=${XTRAIN:-$BUILD/xtrain}
python_with HF_PYTHON torch transformers numpy
cat >"$tmp/theirs.py" <<'P'
"""theirs.py FOLDER PREDICTIONS TEXT SEQ PROMPT TOKENS DTYPE: fails where the library's model differs; prints its text;
saves the model anew in FOLDER-again."""
import sys

import numpy
import torch
import transformers

folder, predictions, text, seq, prompt, tokens, dtype = sys.argv[1:]
model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
assert type(model).__name__ == "GPT2LMHeadModel", type(model)
assert not any(info.values()), info  # no key is missing, left over or of another shape
assert str(model.dtype) == "torch." + dtype, model.dtype
model.eval().float()
data = open(text, "rb").read()
rows = numpy.load(predictions)
first = len(data) // 10 * 9
windows = [list(data[first + i * int(seq):][:int(seq)]) for i in range(4)]
with torch.no_grad():
    logits = model(torch.tensor(windows)).logits.numpy()
    far = numpy.abs(logits - rows[:4]).max()
    print(f"logits differ by {far:.2g} at most, of a range of {numpy.ptp(logits):.3g}", file=sys.stderr)
    assert far < 1e-4 and numpy.ptp(logits) > 1, far
    out = model.generate(torch.tensor([list(prompt.encode())]), max_new_tokens=int(tokens), do_sample=False,
                         eos_token_id=None, pad_token_id=0)
print(bytes(out[0].tolist()).decode())
model.save_pretrained(folder + "-again")
P
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >"$tmp/text.txt"
cd "$tmp" || exit 1
for precision in fp32:float32 bf16-mixed:float32 bf16-true:bfloat16; do
    p=${precision%:*}
    "$XTRAIN" fit gpt2-tiny --data text.txt --layers 2 --width 16 --heads 2 --seq 8 --context 32 --batch 8 --steps 60 \
        --lr 0.03 --sample 0 --precision "$p" --ckpt "$p" >"$tmp/out" 2>&1
    check "$p: a small model is trained" [ $? = 0 ]
    "$XTRAIN" predict gpt2-tiny --data text.txt --ckpt "$p" --output "$p.npy" >"$tmp/out" 2>&1
    check "$p: its outputs" [ $? = 0 ]
    "$XTRAIN" generate gpt2-tiny --ckpt "$p" --prompt 'line 1' --tokens 20 --temperature 0 >"$tmp/ours" 2>"$tmp/out"
    check "$p: its text" [ $? = 0 ]
    "$python" theirs.py "$p" "$p.npy" text.txt 8 'line 1' 20 "${precision#*:}" >"$tmp/theirs" 2>"$tmp/out"
    check "$p: the library's model has all tensors and our logits" [ $? = 0 ]
    check "$p: and writes our text" [ -s "$tmp/theirs" -a "$(cat "$tmp/theirs")" = "$(cat "$tmp/ours")" ]
    "$XTRAIN" predict gpt2-tiny --data text.txt --ckpt "$p-again" --output again.npy >"$tmp/out" 2>&1
    check "$p: what it saves is read here, with the same outputs" cmp "$p.npy" again.npy
done
finish
