#!/bin/bash
# A process that was forked from one that trains, and functions of the user's that end the thread that called them: said
# at once, never waited for.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 -pthread "$(dirname "$0")/forked.c" -I"$root/include" -I"$root/src" \
    -o "$tmp/forked" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
for what in steps reads fits loads nothing; do
    (cd "$tmp" && timeout 60 ./forked $what) >"$tmp/said" 2>"$tmp/out"
    check "$what in a forked process: ends by itself" [ $? = 0 ]
    check "$what: the parent goes on" grep -q '^parent 0$' "$tmp/said"
    if [ $what = nothing ]; then
        check "$what: is no error" grep -q '^child 0$' "$tmp/said"
        check "$what: and says nothing" [ -z "$(grep "that was forked" "$tmp/out")" ]
    else
        check "$what: is an error" grep -q '^child 1$' "$tmp/said"
        said=$(grep -c 'that was forked (from [0-9]*) after the device was opened' "$tmp/out")
        check "$what: says so, once" [ "$said" = 1 ]
    fi
done
# Whatever the parent has done: before it began and behind its xt_finish a child does all that a process does, and
# within it is told, once. Nothing waits for a thread that did not come along.
for state in before within after; do
    for use in wait read loop fit ready parents; do
        rm -rf "$tmp/runs"
        (cd "$tmp" && timeout 120 ./forked from $state $use) >"$tmp/said" 2>"$tmp/out"
        check "$use in a child, $state: ends by itself" [ $? = 0 ]
        case $state:$use in
        within:*) code=1 why='that was forked (from [0-9]*) after the device was opened' ;;
        after:parents) code=1 why='was freed by xt_finish' ;;
        *) code=0 why= ;;
        esac
        check "$use in a child, $state: $code" grep -q "^child $code\$" "$tmp/said"
        [ $code = 0 ] || check "$use in a child, $state: is told why" [ "$(grep -c "$why" "$tmp/out")" = 1 ]
    done
done
# In a child what its parent's threads hold looks lost, and nothing is taken apart.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
# What a child frees is not waited for, in whatever order, nor what is left to exit(): its threads are the parent's. One
# seed is drawn anew in each run.
for seed in 1 2 3 4 5 6 $RANDOM; do
    (cd "$tmp" && timeout 60 ./forked frees $seed) >"$tmp/said" 2>"$tmp/out"
    check "a child frees every kind of handle ($seed)" [ "$?$(grep -c '^child 0$' "$tmp/said")" = 01 ]
done
cat >"$tmp/destructors.cpp" <<'CPP'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <xtrain.hpp>
static float data[64][4];
static xt::module net([](xt::scope m, xt::tensor x) { return m.linear("fc", x, 3); });
static std::unique_ptr<xt::loader> loader;
int main() {
    loader.reset(new xt::loader(xt_loader_new(
        xt_array_dataset(data, (xt_spec{XT_F32, {4}}), nullptr, (xt_spec{}), 64), .batch = 8)));
    xt_batch b;
    for (int n = 0; xt_next(*loader, &b);) {
        net(b.x).sum().item();
        if (++n != 3) continue;
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30);
            std::exit(0);
        }
        waitpid(pid, &status, 0);
        std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 200);
    }
    return xt::finish();
}
CPP
c++ ${ASAN_BUILD:+-fsanitize=address,undefined} -std=c++20 -w "$tmp/destructors.cpp" -I"$root/include" \
    -o "$tmp/destructors" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
timeout 60 "$tmp/destructors" >"$tmp/said" 2>"$tmp/out"
check "destructors of static objects in a child" [ "$?$(cat "$tmp/said")" = "0child 0" ]
(cd "$tmp" && timeout 60 ./forked next) >"$tmp/said" 2>"$tmp/out"
check "xt_next inside a dataset's get: ends by itself" [ $? -lt 124 ]
check "says so" grep -q "xt_next inside a dataset's get" "$tmp/out"
(cd "$tmp" && timeout 60 ./forked exits) >"$tmp/said" 2>"$tmp/out"
check "pthread_exit inside one: ends by itself" [ $? = 1 ]
check "says so" grep -q "a function that reads samples has left by pthread_exit" "$tmp/out"
finish
