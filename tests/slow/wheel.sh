#!/bin/bash
# The Python package: what the wheel holds, and that its own check finds it working. JAX_PYTHON and TORCH_PYTHON name
# Pythons with JAX and with PyTorch/XLA; AUDITWHEEL names that tool. Each may be left out.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
command -v patchelf >/dev/null || { echo "patchelf is needed (Debian's package)"; exit 77; }
python3 "$root/tools/wheel.py" "$BUILD" "$tmp/wheel" >"$tmp/out" 2>&1
check "the wheel is packed" [ $? = 0 ]
wheel=$(ls "$tmp"/wheel/*.whl)
check "it is smaller than 20 MB" [ "$(stat -c %s "$wheel")" -lt 20000000 ]
# What the plugin asks of OpenBLAS is there, for each processor that the library has no kernels of its own for, too.
unzip -q -j -d "$tmp/blas" "$wheel" 'xtrain_pjrt/libs/*'
for core in Prescott Nehalem Sandybridge Haswell SkylakeX Barcelona Bulldozer; do
    check "factorisations and eigenvalues by its OpenBLAS as on $core" env LD_LIBRARY_PATH="$tmp/blas" \
        OPENBLAS_CORETYPE=$core bash -c '("$BUILD/test_cpu_linalg" && "$BUILD/test_cpu_eig") >/dev/null 2>&1'
done
python3 - "$wheel" >"$tmp/listed" <<'P'
import base64, hashlib, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
names = z.namelist()
record = [n for n in names if n.endswith("/RECORD")][0]
rows = dict(line.split(",", 1) for line in z.read(record).decode().splitlines())
for n in names:
    digest = base64.urlsafe_b64encode(hashlib.sha256(z.read(n)).digest()).rstrip(b"=").decode()
    if n != record and rows.get(n) != f"sha256={digest},{len(z.read(n))}":
        print("not as recorded:", n)
libraries = [n.split("/")[-1] for n in names if "/libs/" in n]
copyrights = [n for n in names if n.endswith(".copyright")]
print("libraries:", len(libraries), "licences of them:", len(copyrights))
if len(copyrights) < len(libraries):
    print("without a licence: some of", libraries, copyrights)
for needed in ("licenses/LICENSE", "licenses/THIRD_PARTY.md", "METADATA", "entry_points.txt", "__main__.py"):
    if not any(n.endswith(needed) for n in names):
        print("missing:", needed)
P
check "its files are recorded and licensed" [ "$(wc -l <"$tmp/listed")" = 1 ]
cat "$tmp/listed"
if [ -n "${AUDITWHEEL:-}" ]; then
    "$AUDITWHEEL" show "$wheel" >"$tmp/out" 2>&1
    tag=$(sed 's/.*-none-//; s/\.whl//' <<<"$wheel")
    check "auditwheel grants the wheel's own tag" grep -q "platform tag: \"$tag\"" "$tmp/out"
fi
for python in ${JAX_PYTHON:-} ${TORCH_PYTHON:-}; do
    venv=$tmp/venv.$((++n))
    "$python" -m venv "$venv"
    peers=$(ls -d "$venv"/lib/python3*/site-packages)/peers.pth
    "$python" -c 'import site; print(site.getsitepackages()[0])' >"$peers"
    "$venv/bin/pip" install -q --no-deps --no-index --disable-pip-version-check "$wheel" >"$tmp/out" 2>&1
    check "$python installs it" [ $? = 0 ]
    env -u PYTHONPATH -u XTRAIN_PJRT_LIBRARY "$venv/bin/python" -m xtrain_pjrt --seconds 0.2 >"$tmp/out" 2>&1
    check "$python -m xtrain_pjrt" [ $? = 0 ]
    check "finds the wheel's own plugin" grep -q "$venv/.*/pjrt_plugin_xtrain_cpu.so" "$tmp/out"
    check "and that it works" grep -q 'works: ' "$tmp/out"
    sed 's/^/    /' "$tmp/out"
done
finish
