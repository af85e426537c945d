#!/bin/sh
# Makes DIR/torch (PyTorch, torchvision, PyTorch/XLA) and DIR/jax (JAX, Optax) for `xtrain_bench --peers DIR`: pinned versions, about 8 GB, from the
# package index that pip is configured for.
# usage: bench/peers/setup.sh DIR
set -eu
dir=${1:?usage: bench/peers/setup.sh DIR}
python3 -m venv "$dir/torch"
"$dir/torch/bin/pip" install -q torch==2.9.0 torchvision==0.24.0 torch_xla==2.9.0 numpy
python3 -m venv "$dir/jax"
"$dir/jax/bin/pip" install -q jax==0.10.2 jaxlib==0.10.2 optax numpy
echo "ready: build/xtrain_bench --peers $dir"
