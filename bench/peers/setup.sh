#!/bin/sh
# Makes DIR/torch (PyTorch, PyTorch/XLA) and DIR/jax (JAX, Optax) for `xtrain_bench --peers DIR`: pinned versions, about
# 8 GB, from the package index that pip is configured for. An environment that is there and can import what the scripts
# need is left as it is.
# usage: bench/peers/setup.sh DIR
set -eu
dir=${1:?usage: bench/peers/setup.sh DIR}
has() { "$dir/$1/bin/python" -c "import $2" 2>/dev/null; }
make() {
    name=$1
    shift
    echo "installing $* into $dir/$name: some GB, and minutes" >&2
    python3 -m venv "$dir/$name"
    "$dir/$name/bin/pip" install -q "$@"
}
mkdir -p "$dir"
has torch "torch, numpy" || make torch torch==2.9.0 torch_xla==2.9.0 numpy
has jax "jax, optax" || make jax jax==0.10.2 jaxlib==0.10.2 optax numpy
echo "ready: build/xtrain_bench --peers $dir"
