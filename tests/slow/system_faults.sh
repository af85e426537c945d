#!/bin/bash
# A system that refuses the n-th open, read, mmap, thread, process or library (tests/slow/system_faults.c), for each n
# of each command: it ends by itself, with an error that gives a reason or with all it should have made; the checkpoint
# stays whole. SYSTEM_FAULTS_STRIDE=N tries every n-th (7), SYSTEM_FAULTS_CALLS and SYSTEM_FAULTS_COMMANDS these alone.
set -u
. "$(dirname "$0")/../examples/lib.sh"
[ -n "${ASAN_BUILD:-}" ] && { echo "the sanitizer wants to be preloaded first"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM_DIR=$tmp/crash XT_STATUS_DIR=$tmp/status XT_THREADS=2
"${CC:-cc}" -O1 -shared -fPIC "$root/tests/slow/system_faults.c" -o "$tmp/faults.so" -ldl || exit 1
cd "$tmp" || exit 1
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
gpt2="gpt2-tiny --data text.txt --layers 1 --width 16 --heads 2 --seq 8 --context 16 --sample 0"
# shellcheck disable=SC2086
"$XTRAIN" fit $gpt2 --steps 2 --ckpt kept >out 2>&1
check "a fit" [ $? = 0 -a -s kept/model.safetensors ]
"$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --no-pictures --epochs 1 --ckpt mnist >out 2>&1
check "and one for predictions" [ $? = 0 ]
cat >p.mlir <<'MLIR'
func.func @main() -> tensor<64xf32> {
  %0 = stablehlo.constant dense<0.5> : tensor<64xf32>
  %1 = stablehlo.exponential %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
MLIR
# A folder of Hugging Face's, to be trained further.
mkdir folder
"$XTRAIN" convert "$root/tests/parity/llama.safetensors" folder/model.safetensors --keep 'qwen2/w/*' \
    --rename 'qwen2/w/*=*' >out 2>&1
check "a folder" [ $? = 0 -a -s folder/model.safetensors ]
python3 - "$root/tests/parity/llama.json" <<'FILES'
import json, sys
config = json.load(open(sys.argv[1]))["qwen2"]
json.dump(config, open("folder/config.json", "w"))
vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open("folder/tokenizer.json", "w"))
open("letters.txt", "w").write("abcdefg" * 300)
FILES
saver="--callbacks model_checkpoint --callbacks.model_checkpoint.dirpath"
# What each command is, and the file that it makes.
declare -A command=(
    [fit]="fit $gpt2 --steps 4 --ckpt made/ckpt --resume kept --workers 1"
    [generate]="generate gpt2-tiny --ckpt kept --prompt line --tokens 20"
    [tokenize]="tokenize text.txt --output made/t.bin"
    [convert]="convert kept made/w.safetensors"
    [predict]="predict mnist --ckpt mnist/last.ckpt --limit-batches 1 --output made/p.npy"
    [plan]="plan p.mlir --html made/p.html"
    [run]="run p.mlir --output-dir made/out"
    [launch]="launch -n 2 $XTRAIN run p.mlir"
    [shards]="fit $gpt2 --devices 2 --mesh data=2 --fsdp --batch 2 --steps 2 $saver made/parts
        --callbacks.model_checkpoint.sharded on"
    [lora]="fit llama --init folder --data letters.txt --seq 8 --batch 2 --steps 2 --no-pictures --lora r=2
        --output made/adapter"
    [serve]="generate gpt2-tiny --ckpt kept --serve 0"
) makes=([fit]=ckpt/last.ckpt [tokenize]=t.bin [convert]=w.safetensors [predict]=p.npy [plan]=p.html [run]=out/out0.npy
    [shards]=parts/last.ckpt [lora]=adapter/adapter_model.safetensors [serve]=answer)
# serve COMMAND...: a server, one answer of it in made/answer, and its end by a signal; its exit code.
serve() {
    rm -f server
    "$@" >server 2>&1 & # "out" has what the client says too
    local server=$! port= code
    while kill -0 $server 2>/dev/null && [ -z "$port" ]; do
        port=$(sed -n 's/^listening on http:..127.0.0.1:\([0-9]*\).*/\1/p' server 2>/dev/null)
        sleep 0.05
    done
    [ -n "$port" ] && python3 - "$port" >>made/answer <<'ASK'
import sys, urllib.request
request = urllib.request.Request("http://127.0.0.1:%s/v1/completions" % sys.argv[1],
                                 b'{"prompt": "line", "max_tokens": 4}')
try:
    print(urllib.request.urlopen(request, timeout=60).read().decode())
except urllib.error.HTTPError as e:
    print(e.read().decode()) # which says what went wrong, and the server goes on
    print(urllib.request.urlopen(request, timeout=60).read().decode())
ASK
    kill -TERM $server 2>/dev/null
    wait $server
    code=$?
    cat server
    return $code
}
run() { # run VARIABLES...: of $name
    rm -rf made runs && mkdir made
    local by=
    [ "$name" = serve ] && by=serve
    # shellcheck disable=SC2086
    $by timeout -k 5 120 env "$@" LD_PRELOAD="$tmp/faults.so" "$XTRAIN" ${command[$name]} >out 2>&1
    rc=$?
}
reasons='memory|allocat|Input/output|Permission denied|Too many open files|temporarily unavailable|could not|cannot'
total_runs=0
for name in ${SYSTEM_FAULTS_COMMANDS:-${!command[@]}}; do
    ended=0 silent=0 lost=0
    for call in ${SYSTEM_FAULTS_CALLS:-open open64 openat openat64 fopen fopen64 read pread64 fread fstat stat pipe2 \
        memfd_create fork mmap mmap64 mprotect pthread_create dlopen}; do
        rm -f count
        run FAULT_CALL="$call" FAULT_COUNT="$tmp/count"
        check "$name without faults ($call)" [ $rc = 0 ]
        n=$(cat count 2>/dev/null || echo 0)
        for ((at = 1; at <= n; at += ${SYSTEM_FAULTS_STRIDE:-7})); do
            total_runs=$((total_runs + 1))
            run FAULT_CALL="$call" FAULT_AT=$at
            what="$name, $call $at of $n"
            if [ $rc -ge 124 ]; then
                ended=$((ended + 1))
                echo "$what: exit $rc: $(tail -n 2 out | tr '\n' ' ')"
            elif [ $rc != 0 ] && ! grep -qiE "$reasons" out; then
                silent=$((silent + 1))
                echo "$what: exit $rc without the reason: $(tail -n 2 out | tr '\n' ' ')"
            elif [ $rc = 0 ] && [ -n "${makes[$name]:-}" ] && [ ! -s "made/${makes[$name]}" ]; then
                lost=$((lost + 1))
                echo "$what: exit 0, and ${makes[$name]} is not there: $(tail -n 2 out | tr '\n' ' ')"
            fi
        done
    done
    check "$name: none crashed or hung" [ $ended = 0 ]
    check "$name: each error has its reason" [ $silent = 0 ]
    check "$name: what succeeded has made its file" [ $lost = 0 ]
    "$XTRAIN" convert kept "$tmp/read.safetensors" >out 2>&1
    check "$name: the checkpoint is whole" [ $? = 0 ]
done
check "there were faults" [ $total_runs -gt 0 ]
finish
