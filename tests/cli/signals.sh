#!/bin/bash
# Ctrl-C, a TERM or a closed terminal while a command writes: it ends by that signal, what it was writing goes with it,
# and what stood there is as it was.
set -u
. "$(dirname "$0")/../examples/lib.sh"
cd "$tmp" || exit 1
export XT_SUMMARY=off
python3 - <<'FILES'
import json, struct
n = 192 << 20  # zeros that take no room
head = json.dumps({"a": {"dtype": "F32", "shape": [n // 4], "data_offsets": [0, n]}}).encode()
with open("large.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head)
    f.truncate(8 + len(head) + n)
FILES
# ends_by SIGNAL TARGET COMMAND...: the signal comes when the file is being written
ends_by() {
    local sig=$1 target=$2 pid rc
    shift 2
    mkdir -p there
    echo before >"there/$target"
    # In the background of a script SIGINT is ignored; python gives the default back.
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@" >out 2>&1 &
    pid=$!
    until compgen -G "there/$target.tmp.*" >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
    kill -"$sig" $pid 2>/dev/null
    wait $pid 2>/dev/null
    rc=$?
    check "$2 $3, $sig: it ends by the signal" [ $rc = $((128 + $(kill -l "$sig"))) ]
    check "$2 $3, $sig: nothing is left, and the file is as it was" \
        [ "$(ls there) $(cat "there/$target")" = "$target before" ]
    rm -rf there
}
for sig in INT TERM HUP; do
    ends_by $sig weights.safetensors "$XTRAIN" convert large.safetensors there/weights.safetensors --dtype bf16
done
# Folders for what is planned, of a compilation and of a program's rehearsal.
mkdir folders
export TMPDIR=$tmp/folders
ends_with() { # ends_with SIGNAL COMMAND...: when there is a folder
    local sig=$1 pid rc
    shift
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@" >out 2>&1 &
    pid=$!
    until compgen -G "folders/xtrain-*" >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
    kill -"$sig" $pid 2>/dev/null
    wait $pid 2>/dev/null
    rc=$?
    check "$2 $3, $sig: it ends by the signal" [ $rc = $((128 + $(kill -l "$sig"))) ]
    check "$2 $3, $sig: no folder is left" [ -z "$(ls folders)" ]
    rm -rf folders/*
}
for sig in INT TERM HUP; do
    ends_with $sig "$XTRAIN" plan gpt2 --batch 1
    ends_with $sig "$XTRAIN" plan -- sleep 60
done
# Commands at any moment: by the signal and with nothing made, or done and with all of it.
for i in $(seq 20000); do echo "line $i of a text, $((i * i))"; done >text.txt
"$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --no-pictures --epochs 1 --ckpt mnist >out 2>&1
"$XTRAIN" fit gpt2-tiny --data text.txt --layers 1 --width 16 --heads 2 --seq 8 --context 16 --sample 0 --steps 2 \
    --ckpt gpt2 >out 2>&1
check "fits to go on from" [ -s mnist/last.ckpt -a -s gpt2/model.safetensors ]
export XT_POSTMORTEM_DIR=$tmp/crash # what a killed run was doing stays, by intention
at_moment() { # at_moment SIGNAL SECONDS FILE COMMAND...: FILE is what it makes, - for nothing
    local sig=$1 seconds=$2 made=$3 pid rc
    shift 3
    rm -rf there folders && mkdir there folders
    python3 -c 'import os, signal, sys
for s in signal.SIGINT, signal.SIGPIPE: signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@" >out 2>&1 &
    pid=$!
    # Until then SIGINT is ignored.
    until [[ $(readlink /proc/$pid/exe) == *xtrain ]] || ! kill -0 $pid 2>/dev/null; do sleep 0.005; done
    sleep "$seconds"
    kill -"$sig" $pid 2>/dev/null
    wait $pid 2>/dev/null
    rc=$?
    if [ $rc = 0 ]; then
        check "$2 $3, done before $sig: all is there" [ "$made" = - -o -s "there/$made" ]
    else
        check "$2 $3, $sig after $seconds s: it ends by the signal" [ $rc = $((128 + $(kill -l "$sig"))) ]
        check "$2 $3, $sig after $seconds s: nothing is made by half" \
            [ -z "$(ls folders; find there -name '*.tmp.*' -o -size 0)" ]
    fi
}
n=0
for sig in INT TERM HUP PIPE; do
    seconds=$(awk -v n=$((n++)) 'BEGIN {print 0.03 + 0.05 * n}') # each command is young, at work, nearly done
    at_moment $sig "$seconds" t.bin "$XTRAIN" tokenize text.txt --output there/t.bin
    at_moment $sig "$seconds" p.npy "$XTRAIN" predict mnist --ckpt mnist/last.ckpt --output there/p.npy
    at_moment $sig "$seconds" - "$XTRAIN" validate mnist --ckpt mnist/last.ckpt
    at_moment $sig "$seconds" - "$XTRAIN" bench mnist --steps 20000
    at_moment $sig "$seconds" - "$XTRAIN" generate gpt2-tiny --ckpt gpt2 --prompt line --tokens 20000
    at_moment $sig "$seconds" - "$XTRAIN" evaluate gpt2-tiny --ckpt gpt2 --perplexity text.txt
done
check "nor the program" [ -z "$(pgrep -P $$ -x sleep)" ]
finish
