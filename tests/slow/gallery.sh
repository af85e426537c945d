#!/bin/bash
# The PyTorch originals of the gallery beside its programs, ten steps of each: the same losses. TORCH_PYTHON is a
# Python with PyTorch and safetensors.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${TORCH_PYTHON:-python3}
"$python" -c 'import torch, safetensors' 2>/dev/null || {
    echo "needs PyTorch and safetensors: TORCH_PYTHON names a Python that has them"
    exit 77
}
export XT_SUMMARY=off
"$python" "$root/tests/peers/gallery/compare.py" >"$tmp/out" 2>&1
check "the losses are PyTorch's" [ $? = 0 ]
cat "$tmp/out"
finish
