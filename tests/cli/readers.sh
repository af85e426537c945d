#!/bin/bash
# Functions of the user's that a loader's threads call, and that end the run, free or move their loader, end the thread,
# or give numbers that are none: an error that says so. Nothing waits for itself, and nothing is freed that is in use.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 "$root/tests/cli/readers.c" -I"$root/include" -o "$tmp/readers" \
    -L"$BUILD" -lxtrain -lpthread -Wl,-rpath,"$BUILD" || exit 1
says() { # says WHERE HOW PATTERN
    timeout 30 "$tmp/readers" "$1" "$2" >"$tmp/out" 2>&1
    check "$1, $2: ends as an error" [ $? = 1 ]
    check "$1, $2: says so" grep -q -- "$3" "$tmp/out"
}
for where in get:a\ dataset order:a\ sampler bound:a\ sampler open:a\ stream next:a\ stream close:a\ stream; do
    what="${where#*:}'s ${where%%:*}"
    where=${where%%:*}
    says $where finish "xt_finish inside $what: it would end what is under way"
    says $where set "xt_loader_set_epoch inside $what: it would end what is under way"
    says $where reinit "xt_reinitialize inside $what: it would end what is under way"
    says $where free "xt_loader_free: the loader is in use\|xt_loader_free inside $what"
    [ $where = close ] || says $where exit "thread ended while it made a batch: .* has left by pthread_exit"
done
# An error that one leaves pending is the batch's.
says get error 'readers.c:[0-9]*: samples: sample 5: xt_add: x \[2\] and y \[3\] do not broadcast'
says order error 'readers.c:[0-9]*: the sampler of samples, epoch 0: xt_add: x'
says open error 'readers.c:[0-9]*: samples: opening epoch 0: xt_add: x'
says next error 'readers.c:[0-9]*: sample 5 of the epoch: samples: xt_add: x'
says order negative 'place 3 of 64 in epoch 0 is sample -7; the dataset has 64'
says order out 'place 3 of 64 in epoch 0 is sample 9223372036854775807; the dataset has 64'
says order huge 'samples: no memory for the order of an epoch of 2305843009213693952 samples'
says get huge 'samples: no memory for the order of an epoch of 2305843009213693952 samples'
finish
