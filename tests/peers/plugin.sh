#!/bin/bash
# The training scripts of JAX and PyTorch/XLA, unchanged, on xtrain's plugin and on XLA's CPU compiler, one after the
# other in one run.
# usage: JAX_PYTHON=... TORCH_PYTHON=... XLA_PLUGIN=... tests/peers/plugin.sh SCRIPTS    (SCRIPTS: the folder with
# mnist_jax.py, gpt2_jax.py, mnist_torch.py, resnet_torch.py, gpt2_torch.py) XLA_PLUGIN: XLA's CPU compiler as a PJRT
# plugin for JAX (PyPI lammps-jax-pjrt-cpu); PyTorch/XLA brings its own. The wheel of $BUILD is unpacked and used. The
# PyTorch scripts ask for XLA's CPU themselves, so the device is opened before they start.
set -u
scripts=$(cd "${1:?usage: plugin.sh SCRIPTS}" && pwd) build=${BUILD:-build} tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"${JAX_PYTHON:-python3}" -m zipfile -e "$(ls "$build"/wheel/xtrain_pjrt-*.whl | tail -1)" "$tmp"
export XT_CACHE=off XT_SUMMARY=off
open_first='import sys, runpy, torch_xla
torch_xla.device()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")'
jax() {
    (cd "$tmp" && PYTHONPATH=$tmp JAX_PLATFORMS=xtrain "$JAX_PYTHON" "$scripts/$1" "${@:2}" 2>&1 | grep ms/step |
        sed 's/^/xtrain  /')
    (cd "$tmp" && PYTHONPATH='' PJRT_NAMES_AND_LIBRARY_PATHS=other:$XLA_PLUGIN JAX_PLATFORMS=other,cpu "$JAX_PYTHON" \
        "$scripts/$1" "${@:2}" 2>&1 | grep ms/step | sed 's/^/XLA     /')
}
torch() {
    (cd "$tmp" && PYTHONPATH=$tmp PJRT_DEVICE=XTRAIN "$TORCH_PYTHON" -c "$open_first" "$scripts/$1" "${@:2}" 2>&1 |
        grep ms/step | sed 's/^/xtrain  /')
    (cd "$tmp" && PYTHONPATH='' PJRT_DEVICE=CPU "$TORCH_PYTHON" -c "$open_first" "$scripts/$1" "${@:2}" 2>&1 |
        grep ms/step | sed 's/^/XLA     /')
}
if [ -n "${JAX_PYTHON:-}" ]; then
    jax mnist_jax.py 128 200
    jax gpt2_jax.py 4 64 5 fp32
fi
if [ -n "${TORCH_PYTHON:-}" ]; then
    torch mnist_torch.py xla 128 100
    torch resnet_torch.py xla 16 224 5 fp32
    torch gpt2_torch.py xla 4 64 5 fp32
fi
