#!/bin/bash
# What a program waits for and nobody ends is told: a function given to xt_when_ready that does not return, and a main
# thread that has left by pthread_exit. A function that asks for values itself is fine; one that ends its thread is an
# error, and holds nobody up.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off
cat >"$tmp/waits.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static float data[8] = {1};
static void never(void *user, const void *v, size_t n, xt_dtype t) {
    (void)user, (void)v, (void)n, (void)t;
    for (;;) pause();
}
static void asks(void *user, const void *v, size_t n, xt_dtype t) {
    (void)user, (void)v, (void)n, (void)t;
    printf("asked %g\n", xt_item(xt_sum(xt_from_array(data, XT_F32, 8))));
    fflush(stdout);
}
static void slow(void *user, const void *v, size_t n, xt_dtype t) {
    (void)user, (void)v, (void)n, (void)t;
    usleep(300000);
}
static void leaves(void *user, const void *v, size_t n, xt_dtype t) {
    (void)user, (void)v, (void)n, (void)t;
    pthread_exit(NULL);
}
static void heard(xt_status s, void *user) {
    (void)user;
    printf("heard %s\n", xt_status_message(s));
}
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "leaves on") == 0) xt_on_error(heard, NULL);
    xt_tensor s = xt_sum(xt_from_array(data, XT_F32, 8));
    for (int i = 0; strcmp(how, "slow") == 0 && i < 5; i++) xt_when_ready(s, slow, NULL);
    for (int i = 0; strncmp(how, "leaves", 6) == 0 && i < 3; i++) xt_when_ready(s, leaves, NULL);
    xt_when_ready(s, strcmp(how, "never") == 0 ? never : asks, NULL); /* line 34 */
    xt_mark_step();
    if (strcmp(how, "exit") == 0) pthread_exit(NULL);
    return xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 "$tmp/waits.c" -I"$root/include" -o "$tmp/waits" -L"$BUILD" \
    -lxtrain -lpthread -Wl,-rpath,"$BUILD" || exit 1
# hangs WHAT PATTERN: the program waits, and what for is told; then it is ended
hangs() {
    "$tmp/waits" "$1" >"$tmp/out" 2>&1 &
    local pid=$!
    for ((i = 0; i < 600; i++)); do
        grep -qE "$2" "$tmp/out" && break
        sleep 0.1
    done
    check "$1: it is told" grep -qE "$2" "$tmp/out"
    check "$1: it waits" kill -KILL $pid
    wait $pid 2>/dev/null
}
XT_WATCHDOG=0.5 hangs never 'waits.c:34: the function given to xt_when_ready has not returned for 0.5 s'
hangs exit 'the main thread has left by pthread_exit'
"$tmp/waits" asks >"$tmp/out" 2>&1
check "one that asks" [ "$? $(cat "$tmp/out")" = "0 asked 1" ]
timeout 60 "$tmp/waits" leaves >"$tmp/out" 2>&1
check "one that ends its thread: exit code 1" [ $? = 1 ]
check "it says so" grep -q 'waits.c:33: the function given to xt_when_ready has left by pthread_exit' "$tmp/out"
check "what ends the program has a line" grep -q 'waits.c:33: .* ends the program with exit code 1' "$tmp/out"
timeout 60 "$tmp/waits" "leaves on" >"$tmp/out" 2>&1
check "a program that goes on after errors gets what is behind it" grep -q '^asked 1$' "$tmp/out"
check "and is told each time" [ "$(grep -c '^heard .* has left by pthread_exit' "$tmp/out")" = 3 ]
XT_WATCHDOG=1 "$tmp/waits" slow >"$tmp/out" 2>&1
check "several that are slow are not told" [ "$?$(grep -c 'has not returned' "$tmp/out")" = 00 ]
finish
