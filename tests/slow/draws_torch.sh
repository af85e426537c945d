#!/bin/bash
# Drawn calls of tensor functions, losses, pools, transforms and distributions have PyTorch's values, gradients, dtypes
# and refusals (tests/peers/draws_torch.py). TORCH_PYTHON names a Python with PyTorch; DRAWS_FIRST and DRAWS say which
# seeds.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python_with TORCH_PYTHON torch
BUILD=$BUILD "$python" -W ignore "$root/tests/peers/draws_torch.py" --first "${DRAWS_FIRST:-1}" --seeds "${DRAWS:-1}" \
    --each 40 >"$tmp/out" 2>&1
check "drawn calls are PyTorch's" [ $? = 0 ]
cat "$tmp/out"
finish
