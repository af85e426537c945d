#!/bin/bash
# The project cross-built for aarch64 (tools/cross.sh), warnings as errors, and what it builds under qemu-user: the unit
# tests, the conformance programs and the example programs. Skipped where the cross compiler, qemu or Debian's packages
# for arm64 are not to be had. AARCH64_TESTS="test_cpu_simd ...": these unit tests alone, and nothing else;
# AARCH64_BUILD: the folder (build-aarch64).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
dir=${AARCH64_BUILD:-build-aarch64}
for tool in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64:qemu-user; do
    command -v "${tool%:*}" >"$tmp/out" 2>&1 || {
        echo "${tool%:*} is not installed (Debian's package ${tool#*:})"
        exit 77
    }
done
sysroot=$(tools/cross.sh --sysroot aarch64 2>"$tmp/out") || {
    tail -n 1 "$tmp/out"
    exit 77
}
tools/cross.sh aarch64 "$dir" -Dwerror=true >"$tmp/out" 2>&1
check "the build" [ $? = 0 ]

# qemu emulates each instruction, so whatever a test takes here says nothing of the processor.
export XT_PLUGIN_DIR=$root/$dir XT_SUMMARY=off XT_CACHE=off XT_POSTMORTEM_DIR=$tmp/crash XT_STATUS_DIR=$tmp/status
qemu=(qemu-aarch64 -L "$sysroot")
printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s" "$@"\n' "$sysroot" "$root/$dir/xtrain" >"$tmp/xtrain"
chmod +x "$tmp/xtrain"

# Tests of processes that start programs of the build: the system has to know how to run them (Debian's
# qemu-user-binfmt).
starts_programs=' test_coll_mpi test_dist_launch test_diag_debug_runs '
# qemu 7 makes up when a process began, as that process reads it, so ranks take one another for dead, or their memory
# for what a killed run left.
left_out=' test_coll_group test_coll_reduce '
can_start() { "$dir/xtrain" version >"$tmp/out" 2>&1; }
can_start && starts_programs=

for t in ${AARCH64_TESTS:-$(cd "$dir" && for t in test_*; do [ -f "$t" ] && [ -x "$t" ] && echo "$t"; done)}; do
    if [[ $starts_programs == *" $t "* ]]; then
        echo "skip $t starts programs of aarch64, which this system cannot (qemu-user-binfmt)"
        continue
    fi
    if [[ $left_out == *" $t "* ]]; then
        echo "skip $t looks at when processes began, which qemu does not tell"
        continue
    fi
    timeout 3600 "${qemu[@]}" "$dir/$t" >"$tmp/out" 2>&1
    rc=$?
    [ $rc = 77 ] || check "$t (exit $rc)" [ $rc = 0 ]
done
[ -z "${AARCH64_TESTS:-}" ] || { finish; exit; }

XTRAIN=$tmp/xtrain tests/conformance/run.sh tests/conformance/programs >"$tmp/out" 2>&1
check "the conformance programs" [ $? = 0 ]

# The example programs, a few steps of each.
cd "$tmp" || exit 1
example() {
    local name=$1
    shift
    "${qemu[@]}" "$root/$dir/$name" "$@" >"$tmp/out" 2>&1
    check "$name" [ $? = 0 ]
}
example hello
example mnist_single 32
example log_metrics
example throughput
example mnist_multi 32
finish
