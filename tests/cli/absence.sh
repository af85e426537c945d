#!/bin/bash
# What cannot be looked at is told by its name and its reason, and is never taken for absent: a link that leads to
# itself stands for a folder that may not be looked into, as nobody may look behind it, root included.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
export XT_SUMMARY=off XT_PROGRESS=off XT_RUNS_DIR=$tmp/runs
why="Too many levels of symbolic links"
fit() { timeout 120 "$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --no-pictures "$@" >"$tmp/out" 2>&1; }
hides() { rm -rf "$1" && ln -s "${1##*/}" "$1"; }
refuses() { # refuses WHAT HIDDEN PATH GIVEN: to go on from GIVEN, as what is HIDDEN cannot be looked at
    local what=$1 path=$3
    hides "$2"
    fit --epochs 2 --resume "$4"
    check "$what: is an error" [ $? = 1 ]
    check "$what: is told" grep -q "$path.*$why" "$tmp/out"
    said=$(grep -c "no checkpoint yet\|without a checkpoint\|begins anew" "$tmp/out")
    check "$what: is not called absent" [ "$said" = 0 ]
}
fit --epochs 1
check "trains" [ $? = 0 ]
version=runs/mnist/version_0
check "has a checkpoint" [ -f $version/checkpoints/last.ckpt ]
cp -r $version/checkpoints kept
refuses "a folder of checkpoints" $version/checkpoints checkpoints/last.ckpt last
refuses "a version's folder" $version version_0/checkpoints/last.ckpt last
refuses "a run's folder" runs/mnist runs/mnist last
rm runs/mnist
fit --epochs 1 --resume last
check "without any training begins anew" [ $? = 0 ]
check "says so" grep -q "no checkpoint yet" "$tmp/out"
mkdir given
refuses "a last.ckpt" given/last.ckpt given/last.ckpt given
refuses "a folder that is given" given given given
# One way to look, which tells the two apart. What is left of the system's own ways is where that makes no difference.
cat >allowed <<'END'
src/train/checkpoint_shards.c fstatat 2
src/train/checkpoint_claim.c fstatat 1
src/train/checkpoint_folder.c opendir 1
src/train/checkpoint_folder.c file_exists 1
src/train/checkpoint_load.c file_exists 1
src/train/checkpoint_listed.c faccessat 2
src/train/checkpoint_listed.c stat 2
src/train/model_checkpoint.c stat 2
src/train/prediction_writer.c stat 1
src/train/run_dir.c opendir 1
src/train/run_dir.c stat 1
src/train/throughput_peak.c opendir 1
src/format/idx.c stat 1
END
(cd "$root" && grep -roE --include='*.c' '\b(stat|lstat|fstatat|opendir|access|faccessat|file_exists)\(' src/train \
    src/data src/format src/metrics) | sed 's/:\(.*\)(/ \1/' | sort | uniq -c | awk '{ print $2, $3, $1 }' >found
sort allowed >want
check "nothing else looks by itself" diff want found
finish
