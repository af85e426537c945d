#!/bin/bash
# The device plugin to start from (examples/device/skeleton.c): the first programs on it, and with JAX for $JAX_PYTHON
# where that is given.
set -u
build=${BUILD:-build}
export XT_CACHE=off XT_SUMMARY=off XT_PROGRESS=off XT_DEVICE=$PWD/$build/skeleton_plugin.so
case $build in /*) XT_DEVICE=$build/skeleton_plugin.so ;; esac
fail=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >/tmp/skeleton.$$ 2>&1; then echo "ok   $name"; else echo "FAIL $name"; tail -5 /tmp/skeleton.$$; fail=1; fi
    rm -f /tmp/skeleton.$$
}
check "hello" "$build/hello"
cat >/tmp/skeleton.$$.mlir <<'MLIR'
func.func public @main() -> tensor<2x2xf32> {
%x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
%0 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] :
  (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
return %0 : tensor<2x2xf32>
}
MLIR
check "a StableHLO program" "$build/xtrain" run /tmp/skeleton.$$.mlir --output-dir /tmp/skeleton.$$.out
rm -rf /tmp/skeleton.$$.mlir /tmp/skeleton.$$.out
refused() {
    printf 'func.func public @main() {\n' >/tmp/skeleton.$$.mlir
    ! "$build/xtrain" run /tmp/skeleton.$$.mlir
    local rc=$?
    rm -f /tmp/skeleton.$$.mlir
    return $rc
}
check "a bad program is an error" refused
(cd /tmp && check "two steps of the MNIST net" "$(cd - >/dev/null && cd "$build" && pwd)/xtrain" bench mnist --batch 2 \
    --steps 2) || fail=1
if [ -n "${JAX_PYTHON:-}" ]; then
    check "JAX: value_and_grad" \
        env PJRT_NAMES_AND_LIBRARY_PATHS=skeleton:"$XT_DEVICE" JAX_PLATFORMS=skeleton "$JAX_PYTHON" -c "
import jax, jax.numpy as jnp, numpy as np
f = jax.jit(jax.value_and_grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)))
v, g = f(jnp.ones((3, 2)), jnp.arange(6.).reshape(2, 3))
assert abs(float(v) - 0.9950657) < 1e-5 and g.shape == (3, 2), v
assert np.asarray(jax.jit(lambda x: x.T + 1)(np.arange(6.)[::-2])).tolist() == [6, 4, 2]"
fi
exit $fail
