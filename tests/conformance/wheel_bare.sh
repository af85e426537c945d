#!/bin/bash
# The wheel where nothing of this project's packages is installed: a root folder with the C library, libstdc++, a Python
# and its packages, and no LLVM, oneDNN, OpenBLAS, libgomp or libdw. usage: BUILD=build JAX_PYTHON=... TORCH_PYTHON=...
# tests/conformance/wheel_bare.sh JAX_PYTHON: a Python with JAX (runs jax_package.py on 4 devices); TORCH_PYTHON: one
# with PyTorch/XLA (a training step beside PyTorch's own, and torch_launch.py on 2 devices); either may be left out.
# Needs a kernel that lets this user make namespaces (unshare). Prints the wheel's size, packed and installed.
set -u
build=${BUILD:-build} here=$(cd "$(dirname "$0")" && pwd)
wheel=$(ls "$build"/wheel/xtrain_pjrt-*.whl 2>/dev/null | tail -1)
[ -n "$wheel" ] || { echo "no wheel in $build/wheel: make wheel"; exit 2; }
foreign='LLVM|dnnl|openblas|gomp|libdw|libelf|libgfortran|libquadmath|libz3'
passed=0 failed=0
tell() { # NAME STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)) && echo "ok   $1"; else failed=$((failed + 1)) && echo "FAIL $1"; fi
}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The system's libraries that Python and its packages need, without what the wheel must bring itself.
add_libraries() { # PYTHON: where the interpreter and its packages are
    local file
    find "$@" -name '*.so*' -type f -print0 2>/dev/null | xargs -0 ldd 2>/dev/null |
        awk '$2 == "=>" && $3 ~ /^\/(usr\/)?lib/ { print $3 } $1 ~ /^\/lib.*ld-linux/ { print $1 }' |
        sort -u | grep -vE "$foreign" | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp -Ln "$file" "$root$file"
    done
}

# run NAME PYTHON COMMAND...: in the root, with the interpreter, its packages and this folder mounted at their own
# places.
run() {
    local name=$1 python=$2 home prefix
    shift 2
    prefix=$("$python" -c 'import sys; print(sys.prefix)') home=$("$python" -c 'import sys; print(sys.base_prefix)')
    [ -d "$root$prefix" ] || add_libraries "$prefix" "$home"
    find "$home/bin" -type f -name 'python3*' -print0 | xargs -0 ldd 2>/dev/null | awk '$2 == "=>" { print $3 }' |
        while read -r f; do
        mkdir -p "$root$(dirname "$f")" && cp -Ln "$f" "$root$f"
    done
    for d in "$prefix" "$home" "$here" /proc /dev /sys; do mkdir -p "$root$d"; done
    mkdir -p "$root/tmp" "$root/root" "$root/site" "$root/etc"
    echo "127.0.0.1 localhost" >"$root/etc/hosts" # PyTorch/XLA's coordinator has that name
    find "$root" -xdev -name '*.so*' | grep -v '/site/' | grep -qE "$foreign" && {
        echo "the root has $(find "$root" -xdev -name '*.so*' | grep -E "$foreign" | head -1)"
        tell "$name" 1
        return
    }
    unshare --user --map-root-user --mount bash -c '
        for d in "$2" "$3" "$4" /proc /dev /sys; do mount --rbind "$d" "$1$d" || exit 3; done
        exec chroot "$1" "${@:5}"' - "$root" "$prefix" "$home" "$here" \
        "$prefix/bin/$(basename "$python")" -c 'import os, sys
os.environ.clear()
os.environ.update(a.split("=", 1) for a in sys.argv[1].split(",") if a)
os.environ.update(HOME="/root", USER="root", PATH="/nowhere", PYTHONPATH="/site", TMPDIR="/tmp")
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])' "$@"
    tell "$name" $?
}

for python in ${JAX_PYTHON:-} ${TORCH_PYTHON:-}; do
    [ -d "$root/site" ] && continue
    cp "$wheel" "$root/"
    run "pip install" "$python" "" -m pip install -q --no-index --no-deps --disable-pip-version-check --target /site \
        "/$(basename "$wheel")"
    echo "the wheel: $(stat -c %s "$wheel" | awk '{printf "%.1f", $1 / 1e6}') MB packed, $(du -sb "$root/site" |
        awk '{printf "%.1f", $1 / 1e6}') MB installed"
done
[ -z "${JAX_PYTHON:-}" ] ||
    run "jax_package.py" "$JAX_PYTHON" "JAX_PLATFORMS=xtrain,CPU_NUM_DEVICES=4" "$here/jax_package.py"
[ -z "${TORCH_PYTHON:-}" ] || run "PyTorch/XLA" "$TORCH_PYTHON" "PJRT_DEVICE=XTRAIN" -c '
import torch, torch_xla
def train(device):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(4 * 36, 5)).to(device)
    x, y = torch.randn(6, 1, 8, 8).to(device), torch.arange(6).remainder(5).to(device)
    opt, losses = torch.optim.Adam(net.parameters(), 1e-2), []
    for _ in range(4):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses
ours, theirs = train(torch_xla.device()), train("cpu")
print(ours, theirs)
assert any("pjrt_plugin_xtrain_cpu.so" in line for line in open("/proc/self/maps"))
assert all(abs(a - b) < 1e-4 for a, b in zip(ours, theirs))'
[ -z "${TORCH_PYTHON:-}" ] ||
    run "torch_launch.py" "$TORCH_PYTHON" "PJRT_DEVICE=XTRAIN,CPU_NUM_DEVICES=2" "$here/torch_launch.py"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
