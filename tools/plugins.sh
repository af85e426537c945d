#!/bin/sh
# Fetches foreign PJRT plugins from PyPI into a folder, for the tests that run xtrain's programs on other people's
# compilers. Prints the paths.
# usage: tools/plugins.sh DIR
set -eu
dir=${1:?usage: tools/plugins.sh DIR}
mkdir -p "$dir"
if ! python3 -m pip --version >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] && [ -n "${YES:-}${CI:-}" ] && command -v apt-get >/dev/null &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-pip unzip >/dev/null 2>&1 || true
fi
python3 -m pip --version >/dev/null 2>&1 || {
    echo "python3 with pip is needed to fetch plugins (Debian: python3-pip)" >&2
    exit 1
}
# fetch NAME VERSION FILE
fetch() {
    if [ ! -f "$dir/$1/$3" ]; then
        rm -rf "$dir/$1" "$dir/$1.tmp"
        python3 -m pip download -q --no-deps --only-binary :all: --dest "$dir/$1.tmp" "$1==$2" >&2
        python3 -m zipfile -e "$dir/$1.tmp"/*.whl "$dir/$1"
        rm -rf "$dir/$1.tmp"
    fi
    [ -f "$dir/$1/$3" ] && (cd "$dir/$1" && echo "$PWD/$3")
}
fetch xla-cpu-pjrt 0.0.1 xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so
fetch lammps-jax-pjrt-cpu 0.11.2 lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so
