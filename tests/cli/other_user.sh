#!/bin/bash
# What another user of the machine, or whoever may write the folder that a program runs in, can put in its way: crash
# folders, status folders, files to be written. Each is a folder or link of this user's first (no privileges needed),
# then one of uid 65534 where the test is root.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off XT_STATUS_DIR=$tmp/status
unset XT_POSTMORTEM_DIR
cat >"$tmp/waits.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
/* A step, then it says so and waits for a signal; with an argument it ends. */
int main(int argc, char **argv) {
    (void)argv;
    static float data[8];
    xt_when_ready(xt_sum(xt_from_array(data, XT_F32, 8)), NULL, NULL);
    xt_mark_step();
    if (argc > 1) return xt_finish();
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 2000; i++) usleep(10000);
    return xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$tmp/waits.c" -I"$root/include" -o "$tmp/waits" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
umask 022
here=$tmp/shared
start() { # start: the program in a folder that all may write
    rm -rf "$here" "$tmp/status"
    mkdir -p "$here"
    chmod 1777 "$here"
    echo precious >"$tmp/precious"
    : >"$tmp/said"
    (cd "$here" && exec "$tmp/waits") >"$tmp/said" 2>"$tmp/out" &
    pid=$!
    until grep -q ready "$tmp/said" || ! kill -0 $pid; do sleep 0.01; done
}
stop() {
    kill -"${1:-TERM}" $pid
    wait $pid 2>/dev/null
    check "$what: the file that was aimed at is as it was" [ "$(cat "$tmp/precious")" = precious ]
}
# The report is in a folder of another name, which is ours alone, and what stood in the way is as it was.
elsewhere() {
    stop
    local made
    made=$(sed -nE 's/.*xtrain postmortem (.*xt-crash-[0-9]+-[0-9a-f]{8}) explains.*/\1/p' "$tmp/out")
    check "$what: another name is used, and told" [ -n "$made" ]
    check "$what: only its owner enters it" [ "$(stat -c '%a %u' "$made" 2>/dev/null)" = "700 $(id -u)" ]
    check "$what: only its owner reads the report" \
        [ "$(stat -c '%a %u' "$made/report.txt" 2>/dev/null)" = "600 $(id -u)" ]
    check "$what: it is the report" grep -q SIGTERM "$made/report.txt"
    check "$what: what stood there got nothing" [ -z "$(find "$here/xt-crash-$pid/" -type f -size +0 2>/dev/null)" ]
    check "$what: postmortem reads it" "$BUILD/xtrain" postmortem "$made" >/dev/null
}

# --- of the same user
what="nothing in the way"
start
stop
check "$what: the folder's name" grep -q "xtrain postmortem .*/xt-crash-$pid explains" "$tmp/out"
check "$what: 0700" [ "$(stat -c %a "$here/xt-crash-$pid")" = 700 ]
check "$what: 0600" [ "$(stat -c %a "$here/xt-crash-$pid"/* | sort -u)" = 600 ]
check "$what: the status folder is 0700" [ "$(stat -c %a "$tmp/status")" = 700 ]

what="a folder that others may write"
start
mkdir "$here/xt-crash-$pid"
chmod 777 "$here/xt-crash-$pid"
ln -s "$tmp/precious" "$here/xt-crash-$pid/report.txt.new"
elsewhere
what="a link in the folder's place"
start
mkdir -m 700 "$tmp/aim"
ln -s "$tmp/aim" "$here/xt-crash-$pid"
elsewhere
check "$what: nothing is behind it" [ -z "$(ls "$tmp/aim")" ]
what="a file in the folder's place"
start
: >"$here/xt-crash-$pid"
elsewhere
what="links in the folder's files' place"
start
mkdir -m 700 "$here/xt-crash-$pid"
for f in report.txt report.txt.new state.xtbox state.xtbox.new; do ln -s "$tmp/precious" "$here/xt-crash-$pid/$f"; done
stop
check "$what: the report" [ -f "$here/xt-crash-$pid/report.txt" -a ! -L "$here/xt-crash-$pid/report.txt" ]
what="a folder in the report's place"
start
mkdir -m 700 "$here/xt-crash-$pid"
mkdir "$here/xt-crash-$pid/report.txt"
stop
check "$what: no report, with the reason" grep -q 'no report: .*Is a directory' "$tmp/out"

what="a status folder that others may write"
mkdir -m 700 "$tmp/open"
mkdir "$tmp/open/status"
chmod 777 "$tmp/open/status"
XT_STATUS_DIR=$tmp/open/status "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
check "$what: the program runs" [ $? = 0 ]
check "$what: it is not used, and that is told once" \
    [ "$(grep -c 'others may write it; chmod 700 it; the run goes on without' "$tmp/out")" = 1 ]
check "$what: nothing is in it" [ -z "$(ls "$tmp/open/status")" ]
chmod 700 "$tmp/open/status"
chmod 777 "$tmp/open"
XT_STATUS_DIR=$tmp/open/status "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
check "one in a folder that others may write" \
    grep -q 'others may write a parent folder; the run goes on without' "$tmp/out"
what="a link in the status folder's place"
mkdir -m 700 "$tmp/real"
ln -s "$tmp/real" "$tmp/linked"
XT_STATUS_DIR=$tmp/linked "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
check "$what: it is not used" grep -q 'linked: it is a symbolic link; the run goes on without' "$tmp/out"
what="a killed run"
start
mkdir "$here/xt-crash-$pid"
chmod 777 "$here/xt-crash-$pid"
ln -s "$tmp/precious" "$here/xt-crash-$pid/report.txt"
stop KILL
: >"$tmp/said" # what the one before said is not this one's
(cd "$here" && timeout 20 "$tmp/waits" >"$tmp/said" 2>"$tmp/out" & p=$!; until grep -q ready "$tmp/said" ||
    ! kill -0 $p; do sleep 0.05; done; kill $p)
check "$what: the next start saves its state under another name" \
    grep -qE "xtrain postmortem .*xt-crash-$pid-[0-9a-f]{8} explains" "$tmp/out"
check "$what: the file that was aimed at is as it was" [ "$(cat "$tmp/precious")" = precious ]

what="what a box shows"
start
stop
printf '\033[2J' |
    dd of="$(ls -d "$here/xt-crash-$pid")/state.xtbox" bs=1 \
    seek="$(grep -abo "$tmp/waits" "$here/xt-crash-$pid/state.xtbox" | head -n 1 | cut -d: -f1)" conv=notrunc \
    2>/dev/null
"$BUILD/xtrain" postmortem "$here/xt-crash-$pid" >"$tmp/said" 2>&1
check "$what: no control characters" [ -s "$tmp/said" -a -z "$(grep -aP '[\x00-\x08\x0b-\x1f\x7f]' "$tmp/said")" ]

what="a cache folder behind a link that is turned elsewhere"
cat >"$tmp/twice.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
/* A program is compiled, then the command runs, then another program is. */
int main(int argc, char **argv) {
    static float data[8];
    printf("%g\n", xt_item(xt_sum(xt_from_array(data, XT_F32, 8))));
    if (argc < 2 || system(argv[1]) != 0) return 1;
    printf("%g\n", xt_item(xt_sum(xt_exp(xt_from_array(data, XT_F32, 7)))));
    return xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$tmp/twice.c" -I"$root/include" -o "$tmp/twice" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
mkdir -m 700 "$tmp/cache1" "$tmp/cache2"
ln -s "$tmp/cache1" "$tmp/cache"
XT_CACHE=on XT_CACHE_DIR=$tmp/cache "$tmp/twice" "ln -sfn '$tmp/cache2' '$tmp/cache'" >"$tmp/said" 2>"$tmp/out"
check "$what: the program runs" [ $? = 0 ]
check "$what: both programs are where the link led at first" [ "$(ls "$tmp/cache1" | wc -l)" -ge 2 ]
check "$what: nothing is where it leads now" [ -z "$(ls "$tmp/cache2")" ]

# --- outputs that are no regular files: a device stays one, a FIFO that nobody reads is not waited for
unset XT_RUNS_DIR
fit="$BUILD/xtrain fit mnist --limit-batches 3 --limit-val 1 --epochs 1 --no-pictures"
(cd "$tmp" && XT_RUNS_DIR=$tmp/runs $fit --ckpt "$tmp/own-ckpt") >/dev/null 2>&1
predict() {
    XT_RUNS_DIR=$tmp/runs timeout 60 "$BUILD/xtrain" predict mnist --limit-batches 1 --ckpt "$tmp/own-ckpt/last.ckpt" \
        --output "$1" >"$tmp/said" 2>"$tmp/out"
}
mkfifo "$tmp/fifo"
mkdir "$tmp/folder"
predict "$tmp/fifo"
check "predictions into a FIFO are an error" grep -q 'fifo: it is a FIFO; they need a regular file' "$tmp/out"
check "and it is still one" [ -p "$tmp/fifo" ]
predict "$tmp/folder"
check "predictions into a folder are an error" \
    grep -q 'folder is a folder; a file, which may be new, is expected' "$tmp/out"
ln -s "$tmp/target.npy" "$tmp/own.npy"
predict "$tmp/own.npy"
check "predictions go through one's own link" [ -L "$tmp/own.npy" -a -s "$tmp/target.npy" ]
if mknod -m 600 "$tmp/device" c 1 7 2>/dev/null; then
    predict "$tmp/device"
    check "predictions into a device are an error" grep -q 'device: it is a device; they need a regular file' "$tmp/out"
    check "and it is still one" [ -c "$tmp/device" ]
fi
timeout 30 "$BUILD/xtrain" plan mnist --html "$tmp/fifo" >"$tmp/said" 2>"$tmp/out"
check "plan --html into a FIFO that nobody reads: is told" grep -q 'it is a FIFO or socket that nobody reads' "$tmp/out"
for name in XT_EVENTS XT_METRICS; do
    env $name="$tmp/fifo" timeout 20 "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
    check "$name into a FIFO that nobody reads: the program runs through" [ $? = 0 ]
    check "$name: it is told once" [ "$(grep -c 'fifo: it is a FIFO or socket that nobody reads' "$tmp/out")" = 1 ]
    timeout 20 cat "$tmp/fifo" >"$tmp/read" &
    reader=$!
    env $name="$tmp/fifo" timeout 20 "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
    wait $reader
    check "$name into one that somebody reads: is read" [ -s "$tmp/read" ]
done

# --- of another user
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
if [ "$(id -u)" != 0 ] || ! other true 2>/dev/null; then
    echo "skip folders of another user: root and setpriv are needed to be two users"
    finish
    exit
fi
chmod 711 "$tmp"
what="another user's folder"
start
chmod 600 "$tmp/precious"
taken=$here/xt-crash-$pid
other sh -c "mkdir '$taken' && chmod 777 '$taken' && ln -s '$tmp/precious' '$taken/report.txt.new'"
elsewhere
check "$what: the other cannot read the report" eval '! other ls "$(ls -d $here/xt-crash-$pid-*)" 2>/dev/null'
what="another user's link"
start
rm -rf "$tmp/aim"
mkdir "$tmp/aim"
other ln -s "$tmp/aim" "$here/xt-crash-$pid"
elsewhere

what="a report that another user left"
rm -rf "$here"/xt-crash-*
start
stop
cp -r "$here/xt-crash-$pid" "$here/xt-crash-1"
rm -rf "$here/xt-crash-$pid"
chown -R 65534 "$here/xt-crash-1"
"$BUILD/xtrain" postmortem "$here" >"$tmp/out" 2>&1
check "$what: is not taken for one's own" grep -q 'holds no state of a dead program' "$tmp/out"

what="another user's status folder"
other mkdir -m 700 "$here/theirs"
XT_STATUS_DIR=$here/theirs "$tmp/waits" once >"$tmp/said" 2>"$tmp/out"
check "$what: is not used" grep -q 'theirs: it belongs to another user; the run goes on without' "$tmp/out"
check "$what: and is empty" [ -z "$(ls "$here/theirs")" ]
what="another user's link where a log goes"
echo precious >"$tmp/precious"
other ln -s "$tmp/precious" "$here/events"
(cd "$here" && XT_EVENTS=$here/events XT_DEBUG=exec "$tmp/waits" once >"$tmp/said" 2>"$tmp/out")
check "$what: is told" \
    grep -q "XT_EVENTS=.* cannot be written: .*it is a symbolic link that another user (uid 65534) made" "$tmp/out"
check "$what: and not followed" [ "$(cat "$tmp/precious")" = precious ]
what="another user's link where a whole file goes"
echo precious >"$tmp/precious"
other ln -s "$tmp/precious" "$here/metrics"
(cd "$here" && XT_METRICS=$here/metrics "$tmp/waits" once >"$tmp/said" 2>"$tmp/out")
check "$what: is told" grep -q "it is a symbolic link that another user (uid 65534) made" "$tmp/out"
check "$what: and not followed" [ "$(cat "$tmp/precious")" = precious ]
(cd "$here" && "$BUILD/xtrain" plan mnist --html metrics >"$tmp/said" 2>"$tmp/out")
check "$what, plan --html: is told" grep -q "it is a symbolic link that another user (uid 65534) made" "$tmp/out"
check "$what, plan --html: and not followed" [ "$(cat "$tmp/precious")" = precious ]
ln -s "$tmp/own" "$here/mine"
(cd "$here" && XT_METRICS=$here/mine "$tmp/waits" once >"$tmp/said" 2>"$tmp/out")
check "one's own link is" [ -s "$tmp/own" -a -L "$here/mine" ]

what="another user's link to a folder"
mkdir "$tmp/good"
other ln -s "$tmp/good" "$here/out"
fit="$BUILD/xtrain fit mnist --limit-batches 3 --limit-val 1 --epochs 1 --no-pictures"
refused() { # refused NAME COMMAND...: the message names the link, and the folder behind it stays empty
    local name=$1
    shift
    (cd "$here" && timeout 60 "$@") >"$tmp/said" 2>&1
    want='out is a symbolic link that another user (uid 65534) made\|it is a symbolic link that another user (uid '
    want+='65534) made'
    check "$what, $name: is told" grep -q "$want" "$tmp/said"
    check "$what, $name: and not followed" [ -z "$(ls -A "$tmp/good")" ]
    rm -rf "$tmp/good"/*
}
refused --ckpt env XT_RUNS_DIR="$tmp/runs" $fit --ckpt out
refused "below --ckpt" env XT_RUNS_DIR="$tmp/runs" $fit --ckpt out/sub
refused runs env XT_RUNS_DIR=out $fit
refused XT_EVENTS env XT_EVENTS=out/ev "$tmp/waits" once
refused XT_METRICS env XT_METRICS=out/me "$tmp/waits" once
refused XT_DUMP env XT_DUMP=out/dump "$tmp/waits" once
refused XT_CACHE_DIR env XT_CACHE=on XT_CACHE_DIR=out/cache "$tmp/waits" once
refused "plan --html" "$BUILD/xtrain" plan mnist --html out/page.html
refused new "$BUILD/xtrain" new out/project
(cd "$tmp" && XT_RUNS_DIR=$tmp/runs $fit --ckpt "$tmp/own-ckpt") >/dev/null 2>&1
refused predict \
    env XT_RUNS_DIR="$tmp/runs" "$BUILD/xtrain" predict mnist --limit-batches 1 --ckpt "$tmp/own-ckpt/last.ckpt" \
    --output out/p.npy
# What works on folders of models, and whatever else is given a place.
mkdir "$tmp/model"
"$BUILD/xtrain" convert "$root/tests/parity/llama.safetensors" "$tmp/model/model.safetensors" --keep 'qwen2/w/*' \
    --rename 'qwen2/w/*=*' >"$tmp/said" 2>&1
check "a folder of a model" [ $? = 0 -a -s "$tmp/model/model.safetensors" ]
python3 - "$root/tests/parity/llama.json" "$tmp/model" <<'FILES'
import json, sys
config = json.load(open(sys.argv[1]))["qwen2"]
json.dump(config, open(sys.argv[2] + "/config.json", "w"))
vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open(sys.argv[2] + "/tokenizer.json", "w"))
FILES
printf 'abcdefg%.0s' $(seq 200) >"$tmp/text.txt"
echo '{"query": "ab", "choices": ["c", "d"], "gold": 0}' >"$tmp/choices.jsonl"
echo 'func.func @main() -> tensor<f32> { %0 = stablehlo.constant dense<1.0> : tensor<f32> return %0 : tensor<f32> }' \
    >"$tmp/one.mlir"
tune="$BUILD/xtrain fit llama --init $tmp/model --data $tmp/text.txt --seq 4 --batch 2 --steps 1 --no-pictures"
small="$BUILD/xtrain fit gpt2-tiny --data $tmp/text.txt --seq 4 --batch 2 --steps 1 --layers 1 --width 8 --heads 1"
for place in out out/sub; do
    refused "convert, $place" "$BUILD/xtrain" convert "$tmp/model" $place
    refused "convert to a file, $place" "$BUILD/xtrain" convert "$tmp/model" $place/one.safetensors
    refused "run, $place" "$BUILD/xtrain" run "$tmp/one.mlir" --output-dir $place
    for into in --output --ckpt; do
        refused "fit --init $into, $place" env XT_RUNS_DIR="$tmp/runs" $tune $into $place
        refused "fit --init --lora $into, $place" env XT_RUNS_DIR="$tmp/runs" $tune --lora r=2 $into $place
        refused "fit $into, $place" env XT_RUNS_DIR="$tmp/runs" $small --no-pictures $into $place
    done
    refused "tokenize, $place" "$BUILD/xtrain" tokenize "$tmp/text.txt" --tokenizer "$tmp/model" --output $place/t.bin
    refused "evaluate, $place" "$BUILD/xtrain" evaluate "$tmp/model" --choices "$tmp/choices.jsonl" \
        --log-samples $place/samples.jsonl
done
# A link of the other's in the place of a file that a folder gets.
mkdir -m 1777 "$here/mixed"
echo precious >"$tmp/precious"
for name in config.json tokenizer.json model.safetensors out0.npy; do
    other ln -s "$tmp/precious" "$here/mixed/$name"
done
told() { grep -q 'symbolic link that another user (uid 65534)' "$tmp/said"; }
for command in "convert $tmp/model mixed" "run $tmp/one.mlir --output-dir mixed"; do
    (cd "$here" && timeout 60 "$BUILD/xtrain" $command) >"$tmp/said" 2>&1
    check "a link among the files, ${command%% *}: is told" told
done
(cd "$here" && XT_RUNS_DIR=$tmp/runs timeout 60 $tune --output mixed) >"$tmp/said" 2>&1
check "a link among the files, fit: is told" told
check "and not followed" [ "$(cat "$tmp/precious")" = precious ]
# One's own links are followed.
ln -s "$tmp/good" "$here/own"
(cd "$here" && "$BUILD/xtrain" convert "$tmp/model" own/sub) >"$tmp/said" 2>&1
check "one's own link to a folder is followed" [ $? = 0 -a -s "$tmp/good/sub/model.safetensors" -a -L "$here/own" ]
finish
