#!/bin/bash
# What functions of the program's may not do while the library calls them: in each that the public headers declare,
# xt_finish, frees of what is in use, the next batch, another sink (inside.c, with what tests/inside.py writes).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
export XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM=off XT_RUNS_DIR= XT_CACHE=on XT_CACHE_DIR=$tmp/cache
"$root/tests/inside.py" "$root/include" >inside.inc
check "a function of each kind can be written" [ -s inside.inc ]
check "it compiles" "${CC:-cc}" -std=gnu11 -g -w ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" -I. \
    "$root/tests/cli/inside.c" -o inside -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
mkdir shard && for i in 0 1 2 3; do echo $i >shard/$i.cls; done && tar -C shard -cf shard.tar 0.cls 1.cls 2.cls 3.cls
echo '{"trainer": {"max_epochs": 1}}' >config.json
./inside >out 2>err
check "none ends in a signal, hangs, or ends the run" [ $? = 0 ]
check "there are many" [ "$(awk '{print $1}' <(tail -n 1 out))" -gt 100 ]
finish
