#!/bin/bash
# Runs the device kit (make device-kit) on the machine it was carried to: everything that is asked of a device, each
# step with a time limit and a log of its own, going on after failures; then a table as text and JSON.
#
#     tools/device_kit.sh [--device D] [--only GROUPS] [--limit S] [--out DIR] [--tiny] [--list]
#
#   --device D     CUDA (default), TPU, or the path of a PJRT plugin
#   --only GROUPS  with commas; of: doctor device examples fit checkpoints diagnostics bench peers
#   --limit S      seconds for all (570): a step that would begin later is told as not run
#   --out DIR      where summary.txt, summary.json and logs.tar.gz go (default $OUT, else ./device-kit-out)
#   --tiny         small sizes, to see that all steps run
#   --list         the steps, one a line
#
# From a bare machine: tar xf device-kit.tar.xz && device-kit/tools/device_kit.sh
# Exit code: 0 when no step failed.
set -u
self=$(realpath "$0")
root=$(cd "$(dirname "$self")/.." && pwd)
build=$root/build
if [ "${1:-}" = --do ]; then # one step, called by itself below, under `timeout`
    shift
else
    device=CUDA only='' limit=570 out=${OUT:-$PWD/device-kit-out} tiny='' list=''
    while [ $# -gt 0 ]; do
        case $1 in
        --device) device=$2 && shift 2 ;;
        --only) only=,$2, && shift 2 ;;
        --limit) limit=$2 && shift 2 ;;
        --out) out=$2 && shift 2 ;;
        --tiny) tiny=1 && shift ;;
        --list) list=1 && shift ;;
        *) sed -n '2,/^set -u/{/^#/!d;s/^# \{0,1\}//;p}' "$self" && exit 2 ;;
        esac
    done
    [[ $device != */* ]] || device=$(realpath "$device")
    export KIT_DEVICE=$device KIT_TINY=$tiny KIT_WORK KIT_LOGS KIT_PLATFORM='' KIT_PLUGIN=''
    KIT_WORK=$(mktemp -d)
    KIT_LOGS=$KIT_WORK/logs.d
    trap 'rm -rf "$KIT_WORK"' EXIT
fi
xtrain=$build/xtrain
peers=$root/bench/peers
export XT_DEVICE=$KIT_DEVICE XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM_DIR=$KIT_WORK XT_RUNS_DIR=$KIT_WORK/runs
export XT_STATUS_DIR=$KIT_WORK/status XT_CACHE_DIR=$KIT_WORK/cache XT_PLUGIN_DIR=$build
tiny() { [ -n "$KIT_TINY" ]; }
# pick TINY OTHERWISE
pick() { tiny && echo "$1" || echo "$2"; }
is_cuda() { [ "$KIT_PLATFORM" = cuda ]; }
# number KEY <JSON
number() { grep -oE "\"$1\": *(null|[-0-9.e+]+|NaN|Infinity)" | tail -n 1 | sed 's/.*: *//'; }
falls() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a + 0 == a && b + 0 == b && b < a)}'; }

# --- the steps that are more than a command; their last line is what the table shows ---
do_doctor() {
    "$xtrain" doctor
    "$xtrain" doctor --json | tail -n 1
    "$xtrain" doctor --device "$KIT_DEVICE" || { tail -n 1; return 1; }
}
do_gpu() {
    command -v nvidia-smi >/dev/null || { echo "n/a: no nvidia-smi"; return 0; }
    nvidia-smi
    nvidia-smi -q -d ECC,MEMORY | head -n 60
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
}
do_part() { BUILD=$build XTRAIN=$xtrain bash "$root/tests/device.sh" "$KIT_PLUGIN" "$1"; }
do_mnist_single() {
    XT_SUMMARY=on "$build/mnist_single" 2>&1 | tee "$KIT_WORK/single"
    [ "${PIPESTATUS[0]}" = 0 ] && grep -aE '^ *(programs|executions) ' "$KIT_WORK/single" | tr -s ' ' | tr '\n' ';'
}
do_mnist_multi() { "$build/mnist_multi" 128 100; }
do_mesh() { CPU_NUM_DEVICES=1 "$build/mesh" 1 1; }
do_log_metrics() { "$build/log_metrics" --max_epochs 1 --limit_train_batches 50 --limit_val_batches 4 --run_name kit; }
do_throughput() { "$build/throughput" --max_epochs 1 --limit_train_batches 80; }
# fit MODEL ARGS...: the loss falls, and no program is compiled after the first epoch
fit() {
    "$xtrain" fit "$@" --no-pictures --json >"$KIT_WORK/fit.$$"
    local rc=$? first last
    tail -n 20 "$KIT_WORK/fit.$$"
    first=$(tail -n 1 "$KIT_WORK/fit.$$" | number loss_first) last=$(tail -n 1 "$KIT_WORK/fit.$$" | number loss_last)
    echo "loss $first -> $last, $(tail -n 1 "$KIT_WORK/fit.$$" | number samples_per_s) samples/s," \
        "$(tail -n 1 "$KIT_WORK/fit.$$" | number compiles) programs," \
        "$(tail -n 1 "$KIT_WORK/fit.$$" | number compile_ms) ms compiling"
    [ $rc = 0 ] && falls "$first" "$last"
}
do_fit_mnist() { fit mnist --epochs 1 --limit-batches "$(pick 60 400)"; }
do_fit_mnist_bf16() { fit mnist --precision bf16 --epochs 1 --limit-batches "$(pick 60 400)"; }
do_fit_mnist_f16() { fit mnist --precision 16-mixed --epochs 1 --limit-batches "$(pick 60 400)"; }
# one class: the loss falls within a few steps, whatever the pictures
do_fit_resnet18() { fit resnet18 --side "$(pick 32 128)" --batch "$(pick 4 64)" --steps "$(pick 6 60)" --warmup 0; }
do_fit_resnet18_bf16() {
    fit resnet18 --precision bf16 --side "$(pick 32 128)" --batch "$(pick 4 64)" --steps "$(pick 6 60)" --warmup 0
}
text() { [ -s "$KIT_WORK/text.txt" ] || yes 'a line of text, and another line of it, for a model to learn.' |
    head -n 4000 >"$KIT_WORK/text.txt"; }
gpt2_model() { pick gpt2-tiny gpt2; }
fit_gpt2() {
    text && fit "$(gpt2_model)" --data "$KIT_WORK/text.txt" --batch 8 --seq "$(pick 32 256)" --steps 20 --sample 0 "$@"
}
do_fit_gpt2() { fit_gpt2; }
do_fit_gpt2_bf16() { fit_gpt2 --precision bf16; }
do_fit_gpt2_f16() { fit_gpt2 --precision 16-mixed; }

# A checkpoint of step 10 goes on to step 20 here and there: the same losses to 1e-4, f32 products at full precision.
losses() { awk -F, '$8 == "train/loss" {print $1, $9}' "$1"/*/version_0/metrics.csv; }
part() { # part DEVICE FOLDER STEPS ARGS...
    local on=$1 folder=$2 steps=$3
    shift 3
    XT_DEVICE=$on XT_RUNS_DIR=$KIT_WORK/$folder.runs "$xtrain" fit mnist --steps "$steps" --log-every 1 --no-pictures \
        --limit-val 1 --val-every 10steps --ckpt "$KIT_WORK/$folder" "$@" >/dev/null
}
compare() { # compare A B: losses of steps 11 to 20
    awk 'NR == FNR {a[$1] = $2; next} ($1 > 10) && ($1 in a) {d = $2 - a[$1]; if (d < 0) d = -d
            d /= 1 + (a[$1] < 0 ? -a[$1] : a[$1]); if (d > most) most = d; n++}
        END {printf "%d losses, at most %.2g apart\n", n, most; exit !(n >= 9 && most <= 1e-4)}' \
        <(losses "$KIT_WORK/$1.runs") <(losses "$KIT_WORK/$2.runs")
}
there_and_back() { # there_and_back FROM TO
    rm -rf "$KIT_WORK"/ck.*
    part "$1" ck.a 10 || return 1
    part "$1" ck.here 20 --resume "$KIT_WORK/ck.a/last.ckpt" || return 1
    part "$2" ck.there 20 --resume "$KIT_WORK/ck.a/last.ckpt" || return 1
    compare ck.here ck.there
}
no_cpu() { [ ! -e "$build/pjrt_plugin_xtrain_cpu.so" ] && echo "n/a: the kit has no CPU compiler"; }
do_to_cpu() { no_cpu || NVIDIA_TF32_OVERRIDE=0 there_and_back "$KIT_DEVICE" CPU; }
do_from_cpu() { no_cpu || NVIDIA_TF32_OVERRIDE=0 there_and_back CPU "$KIT_DEVICE"; }

do_profile() {
    local ops
    "$xtrain" fit mnist --steps 20 --no-pictures --profile "$KIT_LOGS/profile.json" 2>&1 | tee "$KIT_WORK/profile"
    [ "${PIPESTATUS[0]}" = 0 ] || return 1
    if ! is_cuda && grep -q 'told of no ops' "$KIT_WORK/profile"; then
        echo "n/a: this plugin has no profile"
        return 0
    fi
    # the dearest lines: microseconds of device ops by file and line
    ops=$(sed -nE 's/.*"dur": ([0-9.]+),.*"file": "([^"]+)", "line": ([0-9]+).*/\2:\3 \1/p' "$KIT_LOGS/profile.json" |
        awk '{us[$1] += $2} END {for (line in us) printf "%.1f us %s\n", us[line], line}' | sort -rn | head -n 12)
    echo "$ops"
    [ -n "$ops" ] && echo "dearest: $(head -n 1 <<<"$ops")"
}
do_top() {
    "$xtrain" fit mnist --epochs 1000 --no-pictures >/dev/null 2>&1 &
    local pid=$! seen='' i
    for ((i = 0; i < 60; i++)); do
        sleep 0.5
        seen=$("$xtrain" top --json)
        grep -q "\"pid\": $pid" <<<"$seen" && [ "$(number step <<<"$seen")" -gt 5 ] && break
        seen=''
    done
    "$xtrain" top --once
    kill "$pid"
    wait "$pid" 2>/dev/null
    echo "${seen:0:1500}"
    [ -n "$seen" ]
}
do_nan() { # the first NaN is named with its line
    XT_DEBUG=nan "$xtrain" fit mnist --steps 4 --limit-val 1 --lr 1e6 --no-pictures 2>&1 |
        tail -n 5 | tee "$KIT_WORK/nan"
    grep -qE '\.c:[0-9]+' "$KIT_WORK/nan"
}
do_memory() { "$build/test_lazy_device_memory"; }
do_oom() { # the command's error: not a crash, with lines
    is_cuda || { echo "n/a: this device has no limit"; return 0; }
    "$xtrain" bench gpt2 --seq 1024 --batch 4096 --steps 1 2>&1 | tee "$KIT_WORK/oom" | tail -n 40
    [ "${PIPESTATUS[0]}" = 1 ] && grep -qiE 'out of memory|RESOURCE_EXHAUSTED' "$KIT_WORK/oom" &&
        grep -oE '[a-z0-9_]+\.c:[0-9]+' "$KIT_WORK/oom" | sort | uniq -c | sort -rn | head -n 3 | tr '\n' ' '
}
do_failed_plugin() { # what a lost device says, with the true plugin behind
    local out
    out=$(FAULT_OF=$KIT_PLUGIN \
        FAULT=LoadedExecutable_Execute FAULT_SAYS='INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error' \
        XT_DEVICE=$build/fault_plugin.so "$xtrain" bench mnist --steps 2 2>&1)
    echo "$out" | tail -n 3
    grep -q 'nvidia-smi -q -d ECC' <<<"$out"
}

bench() { # bench MODEL ARGS...
    "$xtrain" bench "$@" --device "$KIT_DEVICE" --json >"$KIT_WORK/bench.$$" || return 1
    cat "$KIT_WORK/bench.$$"
    local json
    json=$(tail -n 1 "$KIT_WORK/bench.$$")
    echo "xtrain $*: $(number ms_median <<<"$json") ms, $(number samples_per_s <<<"$json") samples/s, first step" \
        "$(number start_to_first_step_ms <<<"$json") ms, peak $(number device_peak_mib <<<"$json") MiB"
}
gpt2_size() { pick "--batch 2 --seq 32" "--batch 8 --seq 1024"; }
image_size() { pick "--batch 2 --side 32" "--batch 128 --side 224"; }
few() { pick 3 "$1"; }
do_bench_mnist() { bench mnist --batch 128 --steps "$(few 300)"; }
do_bench_resnet50() { bench resnet50 $(image_size) --precision bf16 --steps "$(few 40)"; }
do_bench_resnet18() { bench resnet18 $(image_size) --precision bf16 --steps "$(few 40)"; }
do_bench_gpt2() { bench "$(gpt2_model)" $(gpt2_size) --precision bf16 --steps "$(few 40)"; }
do_bench_gpt2_again() { bench "$(gpt2_model)" $(gpt2_size) --precision bf16 --steps "$(few 10)"; } # from the cache
do_bench_cold() { # autotuning kept: no program on disk, what was measured is
    rm -f "$KIT_WORK"/cache/*.xtc
    ls "$KIT_WORK/cache/autotune" 2>/dev/null | wc -l
    bench "$(gpt2_model)" $(gpt2_size) --precision bf16 --steps "$(few 10)"
}
do_plan() {
    is_cuda && "$xtrain" plan gpt2 --batch 8 --seq 1024 --precision bf16 --topology cuda:h100 | tail -n 30 && return
    echo "n/a: for cuda"
}
do_dispatch() { "$build/dispatch_bench" "$(pick 2000 20000)" && echo "us a step of ten ops: see above"; }

python() { # the first Python that has the module
    local p
    for p in ${KIT_PYTHON:-} python3 /opt/*/.venv/bin/python3 /opt/*/bin/python3; do
        command -v "$p" >/dev/null && "$p" -c "import $1" 2>/dev/null && echo "$p" && return
    done
    return 1
}
peer() { # peer MODULE SCRIPT ARGS...: the same sizes in another framework
    local module=$1 python='' json on=cpu
    shift
    python=$(python "$module") || { echo "n/a: no Python here has $module"; return 0; }
    is_cuda && on=cuda
    json=$("$python" "$peers/$1" "${@:2}" --device $on $(tiny && echo --tiny) | tail -n 1)
    echo "$json"
    [ -n "$json" ] && echo "${*:2}: $(number ms_median <<<"$json") ms, $(number ms_stream <<<"$json") ms in a stream," \
        "first step $(number start_to_first_step_ms <<<"$json") ms, peak $(number peak_device_bytes <<<"$json") B"
}
bf16="--precision bf16"
do_jax_mnist() { peer jax,optax jax_step.py jit mnist --batch 128 --steps "$(few 300)"; }
do_jax_resnet50() { peer jax,optax jax_step.py jit resnet50 $(image_size) $bf16 --steps "$(few 40)"; }
do_jax_gpt2() { peer jax,optax jax_step.py jit gpt2 $(gpt2_size) $bf16 --steps "$(few 40)"; }
do_jax_gpt2_cudnn() {
    is_cuda || { echo "n/a: for cuda"; return 0; }
    peer jax,optax jax_step.py jit gpt2 $(gpt2_size) $bf16 --attention cudnn --steps "$(few 40)"
}
do_torch_mnist() { peer torch torch_step.py eager mnist --batch 128 --steps "$(few 300)"; }
do_torch_resnet50() { peer torch torch_step.py eager resnet50 $(image_size) $bf16 --steps "$(few 40)"; }
do_torch_gpt2() { peer torch torch_step.py eager gpt2 $(gpt2_size) $bf16 --steps "$(few 40)"; }
do_compile_mnist() { peer torch torch_step.py compile mnist --batch 128 --steps "$(few 300)"; }
do_compile_resnet50() { peer torch torch_step.py compile resnet50 $(image_size) $bf16 --steps "$(few 40)"; }
do_compile_gpt2() { peer torch torch_step.py compile gpt2 $(gpt2_size) $bf16 --steps "$(few 40)"; }

if [ "${list+set}" != set ]; then # --do NAME
    cd "$KIT_WORK" || exit 1
    "do_$@"
    exit
fi

# GROUP NAME LIMIT COMMAND...
steps="
doctor      doctor           100 --do doctor
doctor      gpu               20 --do gpu
device      client           120 --do part client
device      program          120 --do part program
$(for t in "$build"/test_lazy_*; do echo "device ${t##*/test_} 150 --do part ${t##*/}"; done)
device      conformance      240 --do part conformance
examples    hello             60 $build/hello
examples    mnist_single     120 --do mnist_single
examples    mnist_multi      120 --do mnist_multi
examples    log_metrics      120 --do log_metrics
examples    mesh             120 --do mesh
examples    throughput       120 --do throughput
fit         fit_mnist        120 --do fit_mnist
fit         fit_mnist_bf16   120 --do fit_mnist_bf16
fit         fit_mnist_f16    120 --do fit_mnist_f16
fit         fit_resnet18     180 --do fit_resnet18
fit         fit_resnet18_bf16 180 --do fit_resnet18_bf16
fit         fit_gpt2         240 --do fit_gpt2
fit         fit_gpt2_bf16    240 --do fit_gpt2_bf16
fit         fit_gpt2_f16     240 --do fit_gpt2_f16
checkpoints to_cpu           180 --do to_cpu
checkpoints from_cpu         180 --do from_cpu
diagnostics memory           120 --do memory
diagnostics oom              180 --do oom
diagnostics profile          120 --do profile
diagnostics top               90 --do top
diagnostics nan              120 --do nan
diagnostics lost_device       60 --do failed_plugin
bench       dispatch          90 --do dispatch
bench       bench_mnist      120 --do bench_mnist
bench       bench_resnet18   180 --do bench_resnet18
bench       bench_resnet50   240 --do bench_resnet50
bench       bench_gpt2       240 --do bench_gpt2
bench       bench_gpt2_again 120 --do bench_gpt2_again
bench       bench_gpt2_cold  180 --do bench_cold
bench       plan             120 --do plan
peers       jax_mnist        120 --do jax_mnist
peers       jax_resnet50     240 --do jax_resnet50
peers       jax_gpt2         240 --do jax_gpt2
peers       jax_gpt2_cudnn   240 --do jax_gpt2_cudnn
peers       torch_mnist      120 --do torch_mnist
peers       torch_resnet50   180 --do torch_resnet50
peers       torch_gpt2       180 --do torch_gpt2
peers       compile_mnist    180 --do compile_mnist
peers       compile_resnet50 240 --do compile_resnet50
peers       compile_gpt2     240 --do compile_gpt2
"
if [ -n "$list" ]; then
    awk 'NF {print $1, $2}' <<<"$steps"
    exit 0
fi
mkdir -p "$KIT_LOGS" "$out"
told=$("$xtrain" doctor --device "$KIT_DEVICE" --json 2>/dev/null | tail -n 1)
text_of() { grep -oE "\"$1\": \"[^\"]*" <<<"$told" | head -n 1 | cut -d'"' -f4; }
KIT_PLATFORM=$(text_of platform) KIT_PLUGIN=$(text_of path)
started=$SECONDS failed=0 passed=0 rows=''
quote() { printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }
tell() { # the table as it stands; whoever stops this has what was done so far
    printf '%s' "$rows" | awk -F'\t' '{printf "%-12s %-18s %-8s %7s s  %s\n", $1, $2, $3, $4, $5}' >"$out/summary.txt"
    echo "$passed passed, $failed failed, of $(awk 'NF' <<<"$steps" | wc -l) steps; $((SECONDS - started)) s" \
        >>"$out/summary.txt"
    {
        printf '{"version": "%s", "device": "%s", "steps": [' "$(cat "$root/VERSION")" "$(quote "$KIT_DEVICE")"
        local first=1 group name state seconds note
        while IFS=$'\t' read -r group name state seconds note; do
            [ -n "$group" ] || continue
            [ $first = 1 ] || printf ','
            first=0
            printf '\n {"group": "%s", "name": "%s", "state": "%s", "seconds": %s, "note": "%s", "json": %s}' "$group" \
                "$name" "$state" "$seconds" "$(quote "$note")" \
                "$(grep -aE '^\{.*\}$' "$KIT_LOGS/$name.log" 2>/dev/null | tail -n 1 | grep . || echo null)"
        done <<<"$rows"
        printf '\n]}\n'
    } >"$out/summary.json"
    tar -C "$KIT_WORK" -czf "$out/logs.tar.gz" logs.d 2>/dev/null
}
trap 'tell; exit 143' TERM INT
cd "$KIT_WORK" || exit 1
while read -r group name most command; do
    [ -n "$group" ] && { [ -z "$only" ] || [[ $only == *,$group,* || $only == *,$name,* ]]; } || continue
    left=$((limit - (SECONDS - started)))
    [ "$left" -lt "$most" ] && most=$left
    if [ "$left" -lt 5 ]; then
        rows+="$group"$'\t'"$name"$'\t'"not run"$'\t'0$'\t'"no time is left of $limit s"$'\n'
        continue
    fi
    began=$(date +%s%N)
    # shellcheck disable=SC2086
    if [ "${command#--do}" != "$command" ]; then
        timeout -k 5 "$most" bash "$self" $command >"$KIT_LOGS/$name.log" 2>&1 </dev/null
    else
        timeout -k 5 "$most" $command >"$KIT_LOGS/$name.log" 2>&1 </dev/null
    fi
    rc=$?
    seconds=$(awk -v a="$began" -v b="$(date +%s%N)" 'BEGIN {printf "%.1f", (b - a) / 1e9}')
    note=$(grep -av '^ *$' "$KIT_LOGS/$name.log" | tail -n 1 | tr '\t' ' ' | cut -c1-200)
    state=ok
    [[ $note == n/a:* ]] && state=n/a
    [ $rc = 77 ] && state=n/a
    [ $rc = 0 ] || [ $rc = 77 ] || state=FAILED
    [ $rc = 124 ] || [ $rc = 137 ] && state=FAILED note="stopped after $most s; $note"
    [ $state = FAILED ] && failed=$((failed + 1)) || passed=$((passed + 1))
    rows+="$group"$'\t'"$name"$'\t'"$state"$'\t'"$seconds"$'\t'"$note"$'\n'
    printf '%-12s %-18s %-8s %7s s  %s\n' "$group" "$name" "$state" "$seconds" "$note"
    tell
done <<<"$steps"
tell
tail -n 1 "$out/summary.txt"
[ $failed = 0 ]
