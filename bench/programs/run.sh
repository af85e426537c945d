#!/bin/bash
# Runs run.py with the package of BUILD_DIR (make wheel). usage: run.sh BUILD_DIR [options of run.py]; JAX_PYTHON: a
# Python with JAX (bench/peers/setup.sh makes one). Exit 77: there is none.
set -u
python=${JAX_PYTHON:-python3} wheel=$(ls "$1"/wheel/xtrain_pjrt-*.whl 2>/dev/null | tail -1)
shift
"$python" -c 'import jax, scipy' 2>/dev/null || { echo "no JAX in $python: JAX_PYTHON names one that has it"; exit 77; }
[ -n "$wheel" ] || { echo "there is no wheel: make wheel"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$python" -m zipfile -e "$wheel" "$tmp/site" || exit 1
PYTHONPATH=$tmp/site${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 "$python" "$(dirname "$0")/run.py" "$@"
