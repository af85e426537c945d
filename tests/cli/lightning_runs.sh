#!/bin/bash
# The edges of a fit beside Lightning 2.6's: what is the same there, and the rows of doc/from-lightning.md.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$root/tests/cli/lightning_runs.c" -I"$root/include" -o "$tmp/runs" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
cd "$tmp" || exit 1
export XT_SUMMARY=off XT_CACHE=off XT_POSTMORTEM=off
# runs WHAT EXPECTED [options]
runs() {
    local what=$1 expected=$2
    shift 2
    ./runs "$what" --runs_dir "$tmp/$what" "$@" >out 2>err
    rc=$?
    check "$what $*: $expected" [ "$(sed 's/ ends.*//' out)" = "$expected" ]
}
runs none "rc 0 calls 0 validations 0 step 0 epoch 0" --limit_train_batches 0
check "and says so" grep -q "limit_train_batches = 0: nothing to train on" err
runs monitor "rc 0 calls 22 validations 0 step 22 epoch 2" --limit_val_batches 0
check "it is told" \
    grep -q "watches val/loss, but this fit does not validate: limit_val_batches = 0 leaves validations out" err
check "and what is kept" grep -q "val/loss was not logged; .*does not validate, .*last.ckpt alone is kept" err
check "and the last checkpoint is there" [ -n "$(find monitor -name last.ckpt)" ]
check "alone" [ "$(find monitor -name '*.ckpt' | wc -l)" = 1 ]
# Rows of the document, where Lightning has 5 0, 6 0 and 9 4.
runs steps "rc 0 calls 5 validations 3 step 5 epoch 0" --max_steps 5
runs rest "rc 0 calls 6 validations 6 step 6 epoch 2"
runs stop "rc 0 calls 10 validations 3 step 5 epoch 0" --accumulate_grad_batches 2
# Ctrl-C: hooks and teardown come, and the step under way is saved.
runs interrupt "rc 130 calls 5 validations 0 step 5 epoch 0"
check "its hooks are called" grep -q "ends 1 teardowns 1" out
check "it says that a second one ends it" grep -q "Ctrl-C: the fit ends after the step .* a second Ctrl-C" err
check "and how to go on" grep -qE "stopped by SIGINT at step 5; --resume .*last.ckpt goes on" err
runs twice "" # at once
check "the second ends the process by the signal" [ $rc = 130 ]
runs interrupt "" --signals TERM
check "and the first one where the fit takes none" [ $rc = 130 ]
runs own "rc 0 calls 22 validations 6 step 22 epoch 2"
# Lightning refuses a plateau in an epoch without a validation; here such epochs are passed over.
runs plateau "rc 0 calls 22 validations 4 step 22 epoch 2" --val_every 2epochs --num_sanity_val_steps 1
# A value that a validation logs later is not proposed for itself.
runs early "rc 1 calls 11 validations 1 step 11 epoch 0" --val_every 2epochs --num_sanity_val_steps 1
check "what it says of the value" grep -q "monitor = val/loss has no value yet: it is logged by the validation" err
check "no other name is proposed" sh -c '! grep -q "did you mean" err'
finish
