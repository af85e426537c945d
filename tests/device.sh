#!/bin/bash
# The device suite: what xtrain needs of a device, asked of one named by its argument or in XT_TEST_PLUGIN (TPU, CUDA or
# the path of a PJRT plugin): `tests/device.sh PLUGIN`, or `make test-device DEVICE=...`, which builds first. The
# client's own tests first: if those fail, nothing after them says more. `tests/device.sh PLUGIN PART ...` runs only
# these parts: client, test_lazy_..., program, conformance.
. "$(dirname "$0")/examples/lib.sh"
root=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-$root/build}
device=${1:-${XT_TEST_PLUGIN:?the device to test: make test-device DEVICE=/path/plugin.so}}
[[ $device != */* ]] || device=$(realpath "$device") # as a path it is read from other folders too
export XT_TEST_PLUGIN=$device
shift
parts=" $* "
wanted() { [ "$parts" = "  " ] || [[ $parts == *" $1 "* ]]; }
out=$tmp/out
if [ $# = 0 ] && ! "$BUILD/xtrain" doctor --device "$device" >"$out" 2>&1; then
    echo "no such device: $device: $(grep -vE "^$device" "$out" | head -n 2 | tr -s ' \n' ' ')"
    exit 77
fi
quietly() { "$@" >"$out" 2>&1; }
wanted client && check "the client's tests" quietly env XT_PLUGIN_DIR="$BUILD" "$BUILD/test_device_exec"
export XT_DEVICE=$device
for t in "$BUILD"/test_lazy_*; do
    [ -f "$t" ] && [ -x "$t" ] && wanted "$(basename "$t")" && check "$(basename "$t")" quietly "$t"
done
if wanted program; then
    check "program 1 runs" quietly "$BUILD/mnist_single"
    check "program 1 compiles once" [ "$(figure "$out" 'programs +([0-9]+) compiled')" = 1 ]
    check "program 1 executes 468 times" [ "$(figure "$out" 'executions +([0-9]+) ')" = 468 ]
fi
wanted conformance && check "conformance" quietly env XTRAIN="$BUILD/xtrain" \
    bash "$root/tests/conformance/run.sh" "$root/tests/conformance/programs" "$device"
finish
