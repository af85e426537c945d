#!/bin/bash
# The table of launches (doc/launch.md) with a program of its own: nprocs of 0, 1, 2, 8 and -1 with and without each
# device's variable, in a started rank, in a process with threads, after a device was opened, after MPI_Init; ranks from
# a pod's variables; and what a TPU rank's plugin finds in its environment.
set -u
. "$(dirname "$0")/../examples/lib.sh"
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS TPU_NUM_DEVICES CUDA_VISIBLE_DEVICES \
    XT_SUMMARY
export XT_SUMMARY=off
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out err=$tmp/err
cat >"$tmp/t.c" <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static void *idle(void *arg) { for (;;) pause(); return arg; }
static int hello(int rank, void *arg) {
    printf("rank %d of %d\n", rank, xt_world_size());
    if (*(int *)arg) xt_item(xt_sum(xt_ones(XT_F32, 4)));
    /* the first to end with an error would end the others before they have opened */
    for (int r = 0; *(int *)arg && r < xt_world_size(); r++) {
        char path[600];
        snprintf(path, sizeof path, "%s.%d", getenv("RECORD_TO"), r);
        for (int i = 0; i < 2000 && access(path, R_OK) != 0; i++) usleep(10000);
    }
    return xt_finish();
}
static int start_mpi(void) {
    void *lib = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(int *, char ***);
    if (!lib) return 0;
    *(void **)&init = dlsym(lib, "MPI_Init");
    return init(NULL, NULL) == 0;
}
int main(int argc, char **argv) { /* t NPROCS [thread|device|mpi|open] */
    const char *how = argc > 2 ? argv[2] : "";
    int opens = strcmp(how, "open") == 0;
    pthread_t t;
    if (strcmp(how, "thread") == 0) pthread_create(&t, NULL, idle, NULL);
    if (strcmp(how, "device") == 0) xt_item(xt_ones(XT_F32, 1));
    if (strcmp(how, "mpi") == 0 && !start_mpi()) return 77;
    return xt_launch(hello, &opens, .nprocs = atoi(argv[1]));
}
C
launch_line=$(grep -n 'xt_launch(' "$tmp/t.c" | cut -d: -f1) open_line=$(grep -n 'xt_ones(XT_F32, 1)' "$tmp/t.c" |
    cut -d: -f1)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
check "the program builds" cc $asan -I"$root/include" "$tmp/t.c" -o "$tmp/t" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -pthread -ldl
# runs N VARIABLES NPROCS [HOW]: exit code 0, and N ranks spoke
runs() {
    local n=$1 v=$2 want='' r
    shift 2
    env $v "$tmp/t" "$@" >"$out" 2>"$err" </dev/null || { cat "$err"; return 1; }
    for ((r = 0; r < n; r++)); do
        [ "$n" = 1 ] && want="rank 0 of 1"$'\n' || want+="[rank $r] rank $r of $n"$'\n'
    done
    [ "$(sort "$out")"$'\n' = "$want" ]
}
# refuses TEXT VARIABLES NPROCS [HOW]: exit code 1, one message, which begins with the line and has TEXT; no rank was
# started
refuses() {
    local text=$1 v=$2
    shift 2
    env $v "$tmp/t" "$@" >"$out" 2>"$err" </dev/null
    [ $? = 1 ] && [ ! -s "$out" ] && [ "$(grep -c "t.c:$launch_line: xt_launch: " "$err")" = 1 ] &&
        grep -qF -- "$text" "$err" || {
        cat "$err"
        return 1
    }
}

for row in "1|A=|1 CPU device (the default; CPU_NUM_DEVICES is not set)|CPU_NUM_DEVICES=" \
    "2|CPU_NUM_DEVICES=2|2 CPU devices (CPU_NUM_DEVICES=2)|CPU_NUM_DEVICES=" \
    "8|CPU_NUM_DEVICES=8|8 CPU devices (CPU_NUM_DEVICES=8)|CPU_NUM_DEVICES=" \
    "4|XT_DEVICE=TPU TPU_NUM_DEVICES=4|4 TPU devices (TPU_NUM_DEVICES=4)|TPU_NUM_DEVICES=" \
    "2|XT_DEVICE=CUDA CUDA_VISIBLE_DEVICES=3,5|2 CUDA devices (CUDA_VISIBLE_DEVICES=3,5)|CUDA_VISIBLE_DEVICES=0,1"; do
    IFS='|' read -r n vars found set <<<"$row"
    check "$vars: 0 means all $n" runs "$n" "$vars" 0
    check "$vars: 1 is one, in this process" runs 1 "$vars" 1
    for k in 2 8; do
        if [ $k = "$n" ]; then
            check "$vars: $k is what there is" runs "$k" "$vars" $k
            check "$vars: which is said" \
                grep -qE "nprocs = $k need not be given: it is the number of (CPU|CUDA|TPU) devices found" "$err"
        else
            expected="nprocs is $k, but this host offers $found. Leave nprocs unset for one rank per device, set it "
            expected+="to 1 to debug in this process, or set $set"
            check "$vars: $k is refused" refuses "$expected" "$vars" $k
        fi
    done
    check "$vars: -1 is refused" refuses \
        "nprocs is -1: a number of ranks from 1 on is expected; this host offers $found" "$vars" -1
done
for v in XT_DEVICE=TPU XT_DEVICE=CUDA; do
    ls /dev/accel* /dev/vfio/[0-9]* /proc/driver/nvidia/gpus/* >/dev/null 2>&1 && break
    check "$v: none found" refuses "this host offers no ${v#*=} device (" $v 0
    expected='(TPU_NUM_DEVICES|CUDA_VISIBLE_DEVICES) is not set\); set XT_DEVICE=CPU to run on the CPU, or, .* set '
    expected+='(TPU_NUM_DEVICES=1|CUDA_VISIBLE_DEVICES=0)'
    check "$v: and where to say so" grep -qE "$expected" "$err"
    check "$v: 8 of none" refuses "nprocs is 8, but this host offers 0 " $v 8
    check "$v: 1 always runs" runs 1 $v 1
done
check "a count of nothing" refuses "CPU_NUM_DEVICES is '0': expected a number of devices from 1 to 4096" \
    CPU_NUM_DEVICES=0 0
check "a count that is none" refuses "CPU_NUM_DEVICES is 'two': expected a number" CPU_NUM_DEVICES=two 2
check "chips that form no box" refuses \
    "3 TPU chips do not form a box of one host's mesh; 1, 2, 4, 8 or 16 do: set TPU_NUM_DEVICES" \
    "XT_DEVICE=TPU TPU_NUM_DEVICES=3" 0

for n in 0 1 2 8 -1; do # in a started rank the number means nothing any more
    "$XTRAIN" launch -n 2 -- "$tmp/t" $n >"$out" 2>"$err"
    check "in a started rank, nprocs $n" \
        [ "$(sort "$out" | tr '\n' '|')" = "[rank 0] rank 0 of 2|[rank 1] rank 1 of 2|" ]
done
for how in "thread|it has 1 other thread (t)" "device|its device is open since $tmp/t.c:$open_line" \
    "mpi|MPI_Init was called in it, which a fork breaks"; do
    IFS='|' read -r how why <<<"$how"
    [ "$how" = mpi ] && {
        [ -n "${ASAN_BUILD:-}" ] || ! "$tmp/t" 1 mpi >/dev/null 2>&1
    } && {
        echo "skip: no libmpi here, or its leaks"
        continue
    }
    check "$how: one rank needs no fork" runs 1 CPU_NUM_DEVICES=2 1 "$how"
    for n in 0 2; do
        check "$how: $n ranks are refused" refuses "2 ranks cannot be forked from this process: $why" \
            CPU_NUM_DEVICES=2 $n "$how"
    done
    check "$how: a wrong number first" refuses "nprocs is 8, but this host offers 2 CPU devices (CPU_NUM_DEVICES=2)" \
        CPU_NUM_DEVICES=2 8 "$how"
    check "$how: so -1" refuses "nprocs is -1" CPU_NUM_DEVICES=2 -1 "$how"
done

# A pod's own variables, and Cloud TPU's for a process per host.
pod() { env "$@" "$tmp/t" 0 >"$out" 2>"$err"; }
pod CLOUD_TPU_TASK_ID=2 TPU_PROCESS_ADDRESSES=a:8476,a:8477,b:8476,b:8477
check "a pod's process" [ "$(cat "$out")" = "rank 2 of 4" ]
pod TPU_WORKER_ID=1 TPU_WORKER_HOSTNAMES=t0,t1
check "a pod's host" [ "$(cat "$out")" = "rank 1 of 2" ]
pod TPU_WORKER_ID=5 TPU_WORKER_HOSTNAMES=t0,t1
rc=$?
expected="t.c:$launch_line: xt_launch: TPU_WORKER_ID=5, but TPU_WORKER_HOSTNAMES has 2 entries: "
expected+="expected a rank from 0 to 1"
check "a pod that contradicts itself" [ "$rc$(grep -c "$expected" "$err")" = 11 ]
pod XT_RANK=1
check "half a launcher" grep -q "t.c:$launch_line: xt_launch: XT_RANK is set but XT_WORLD_SIZE is not" "$err"

# What a TPU's plugin finds in its process. The plugin is the CPU's, which writes it down before it opens.
cp "$BUILD/record_plugin.so" "$tmp/libtpu.so"
plugin=${XT_PLUGIN_DIR:-$BUILD}/pjrt_plugin_xtrain_cpu.so
tpu() {
    env XT_DEVICE=TPU TPU_LIBRARY_PATH="$tmp/libtpu.so" RECORD_OF="$plugin" RECORD_TO="$tmp/rec" "$@" >"$out" 2>"$err"
}
# What tells libtpu not to look for a chip's host where there is no chip (device_quiet_tpu) is not the launcher's.
quiet='TPU_(LIBRARY_PATH|ACCELERATOR_TYPE|MIN_LOG_LEVEL|SKIP_MDS_QUERY|WORKER_HOSTNAMES|WORKER_ID)='
recorded() {
    diff <(sed -n 's/^env \(.*TPU.*\)/\1/p' "$tmp/rec.$1" | grep -vE "$quiet" | sort) <(printf '%s\n' "${@:2}" | sort)
}
tpu TPU_NUM_DEVICES=1 "$tmp/t" 0 open
check "one chip is opened" [ "$(cat "$out")" = "rank 0 of 1" ]
check "and left as it is" recorded 0 TPU_NUM_DEVICES=1
rm -f "$tmp"/rec.*
tpu TPU_NUM_DEVICES=2 "$tmp/t" 0 open # an error follows: this stand-in does not join processes
all=(TPU_CHIPS_PER_PROCESS_BOUNDS=1,1,1 TPU_PROCESS_BOUNDS=1,2,1 TPU_PROCESS_ADDRESSES=localhost:8476,localhost:8477 \
    TPU_NUM_DEVICES=1)
for r in 0 1; do
    check "rank $r of 2 is told its chip" recorded $r "${all[@]}" TPU_VISIBLE_CHIPS=$r CLOUD_TPU_TASK_ID=$r \
        TPU_PROCESS_PORT=$((8476 + r))
done
rm -f "$tmp"/rec.*
tpu TPU_NUM_DEVICES=2 TPU_VISIBLE_CHIPS=1,3 "$tmp/t" 0 open
check "of the visible ones" grep -qx 'env TPU_VISIBLE_CHIPS=3' "$tmp/rec.1"

# Under plain mpirun nobody else divides the chips; what a pod or the user has divided stays.
if command -v mpirun >/dev/null && [ -z "${ASAN_BUILD:-}" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    rm -f "$tmp"/rec.*
    tpu mpirun -np 2 "$tmp/t" 0 open
    for r in 0 1; do
        check "rank $r of 2 under mpirun is told its chip" recorded $r "${all[@]}" TPU_VISIBLE_CHIPS=$r \
            CLOUD_TPU_TASK_ID=$r TPU_PROCESS_PORT=$((8476 + r))
    done
    rm -f "$tmp"/rec.*
    tpu mpirun -np 2 -x TPU_PROCESS_BOUNDS=2,1,1 "$tmp/t" 0 open
    check "what is divided stays" recorded 0 TPU_PROCESS_BOUNDS=2,1,1
    XT_DEVICE=TPU mpirun -np 3 "$tmp/t" 0 >"$out" 2>"$err"
    check "3 chips form no box there either" grep -q '3 TPU chips do not form a box' "$err"
fi
finish
