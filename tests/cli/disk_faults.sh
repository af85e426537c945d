#!/bin/bash
# A disk that fails at the n-th call, for each n until nothing fails any more: the run says so, the checkpoint before
# stays, whatever is there can be gone on from, and nothing ends by a signal. DISK_FAULTS_STRIDE=1 tries every n
# (tests/slow/disk_faults.sh).
set -u
. "$(dirname "$0")/../examples/lib.sh"
[ -n "${ASAN_BUILD:-}" ] && { echo "the sanitizer wants to be preloaded first"; exit 77; }
export XT_SUMMARY=off XT_PROGRESS=off XT_STATUS_DIR=$tmp/status
unset XT_CACHE_DIR
cc -O1 -shared -fPIC "$(dirname "$0")/disk_faults.c" -o "$tmp/faults.so" -ldl || exit 1
disk=$tmp/disk
errors=(28 122 5 30 27) # ENOSPC, EDQUOT, EIO, EROFS, EFBIG
said=("No space left on device" "Disk quota exceeded" "Input/output error" "Read-only file system" "File too large")
fit="$XTRAIN fit mnist --limit-batches 4 --limit-val 1 --log-every 2 --no-pictures --ckpt $disk/ckpt"
faulty() { # faulty N ERROR COMMAND...: rc, what was said in $tmp/out
    local n=$1 error=$2
    shift 2
    timeout 60 env XT_CACHE=on XT_CACHE_DIR="$disk/cache" XT_RUNS_DIR="$disk/runs" FAULT_FOLDER="$disk" FAULT_AT="$n" \
        FAULT_ERROR="$error" FAULT_COUNT="$tmp/count" LD_PRELOAD="$tmp/faults.so" "$@" >"$tmp/out" 2>&1
    rc=$?
}
whole() { # whole ROUND: its results are those of a run without faults
    case $1 in
    fit) ! cmp -s "$tmp/good/last.ckpt" "$disk/ckpt/last.ckpt" &&
        grep -q ',validate,' "$disk"/runs/mnist/version_*/metrics.csv ;;
    predict) [ "$(stat -c %s "$disk/p.npy")" = "$(stat -c %s "$tmp/whole")" ] ;;
    new) [ "$(ls -A "$disk/project" | wc -l)" = 5 ] ;;
    logs) grep -q ',validate,' "$disk"/runs/mnist/version_*/metrics.csv && [ -s "$disk/trace.json" ] &&
        [ "$(head -c 1 "$disk/trace.json")" = '{' ] && [ -s "$(ls "$disk"/runs/mnist/*/events.out.*)" ] ;;
    emit) cmp -s "$tmp/whole" "$disk/p.bc" ;;
    outputs) cmp -s "$tmp/whole" "$disk/out/out0.npy" ;;
    page) [ "$(tail -c 8 "$disk/p.html")" = "$(tail -c 8 "$tmp/whole")" ] ;;
    plot) cmp -s "$tmp/whole" "$disk/c.png" ;;
    esac
}
made() { # made ROUND: the file that a round makes
    case $1 in
    emit) echo "$disk/p.bc" ;;
    outputs) echo "$disk/out/out0.npy" ;;
    page) echo "$disk/p.html" ;;
    plot) echo "$disk/c.png" ;;
    predict) echo "$disk/p.npy" ;;
    esac
}
nothing_half() {
    case $1 in
    fit) [ -z "$(find "$disk/ckpt" -type f ! -name '*.ckpt')" ] ;;
    predict) [ -z "$(find "$disk" -name 'p.npy*')" ] ;;
    new) [ -z "$(find "$disk" -name 'project*')" ] ;;
    logs) [ -z "$(find "$disk" -name '*.tmp.*')" ] ;;
    *) [ -z "$(find "$disk" -name '*.tmp.*')" ] && { [ ! -e "$(made "$1")" ] || whole "$1"; } ;;
    esac
}
# The good checkpoint that each round begins with.
mkdir "$disk"
faulty 0 0 $fit --epochs 1
check "without faults it trains" [ $rc = 0 ]
cp -r "$disk/ckpt" "$tmp/good"
cp -r "$disk"/runs/mnist/version_0 "$tmp/curves"
cat >"$tmp/p.mlir" <<'MLIR'
func.func @main() -> tensor<64xf32> {
  %0 = stablehlo.constant dense<0.5> : tensor<64xf32>
  %1 = stablehlo.exponential %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
MLIR
round() { # round NAME STAYS COMMAND...
    local name=$1 stays=$2 n=1 stride=${DISK_FAULTS_STRIDE:-3} total
    shift 2
    told=0
    rm -rf "$disk" && mkdir "$disk" && cp -r "$tmp/good" "$disk/ckpt"
    faulty 0 0 "$@"
    total=$(cat "$tmp/count")
    rm -f "$tmp/whole"
    [ -n "$(made "$name")" ] && cp "$(made "$name")" "$tmp/whole"
    check "$name: files are written" [ "$total" -gt 3 ]
    for ((n = 1; n <= total; n += stride)); do
        local e=$((n % 5))
        rm -rf "$disk" && mkdir "$disk" && cp -r "$tmp/good" "$disk/ckpt"
        [ "$stays" = stays ] && export FAULT_STAYS=1
        faulty $n "${errors[e]}" "$@"
        unset FAULT_STAYS
        what="$name, call $n of $total fails with ${said[e]}${stays:+, all behind it too}"
        check "$what: ends by itself ($rc)" [ $rc = 0 -o $rc = 1 ]
        if grep -q "${said[e]}" "$tmp/out"; then
            told=$((told + 1))
        else # what nobody would miss may fail without a word: a second try that went well
            check "$what: not said, so it is no error" [ $rc = 0 ]
            check "$what: not said, so all is there" whole "$name"
        fi
        [ $rc = 0 -a "$name" != fit ] || check "$what: nothing half made is left" nothing_half "$name"
        if [ "$name" = fit ]; then
            cp "$tmp/out" "$tmp/first"
            XT_CACHE=off XT_RUNS_DIR=$tmp/after timeout 60 $fit --epochs 2 --resume "$disk/ckpt" >"$tmp/out" 2>&1
            check "$what: it can be resumed" [ $? = 0 ]
            check "$what: and nothing half made is a checkpoint" [ -z "$(find "$disk/ckpt" -size 0 -name '*.ckpt')" ]
        fi
    done
    check "$name: some were told" [ $told -gt 0 ]
}
round fit "" $fit --epochs 2 --resume "$disk/ckpt"
DISK_FAULTS_STRIDE=$((3 * ${DISK_FAULTS_STRIDE:-3})) round fit stays $fit --epochs 2 --resume "$disk/ckpt"
round predict "" "$XTRAIN" predict mnist --limit-batches 2 --ckpt "$disk/ckpt/last.ckpt" --output "$disk/p.npy"
round new "" sh -c "cd '$disk' && exec '$XTRAIN' new project"
round emit "" "$XTRAIN" run "$tmp/p.mlir" --emit "$disk/p.bc"
round outputs "" "$XTRAIN" run "$tmp/p.mlir" --output-dir "$disk/out" --dump "$disk/dump"
round page "" "$XTRAIN" plan "$tmp/p.mlir" --html "$disk/p.html"
round plot "" "$XTRAIN" plot "$tmp/curves" --output "$disk/c.png"
rm -rf "$disk" && mkdir "$disk"
FAULT_TRACE=$tmp/trace faulty 0 0 "$XTRAIN" run "$tmp/p.mlir" --emit "$disk/p.bc"
last=$(sed -n 's/^[0-9]* \([0-9]*\) fsync$/\1/p' "$tmp/trace" | tail -n 1)
faulty "$last" 5 "$XTRAIN" run "$tmp/p.mlir" --emit "$disk/p.bc"
check "a folder that cannot be synced is told, and the file is there" \
    [ "$rc$(grep -c 'p.bc is written, but may be gone after a power cut.*Input/output error' "$tmp/out")" = 01 ]
DISK_FAULTS_STRIDE=$((5 * ${DISK_FAULTS_STRIDE:-3})) round logs "" $fit --epochs 1 --ckpt "$disk/new" \
    --trainer.loggers tensorboard,csv,jsonl --profile "$disk/trace.json"
finish
