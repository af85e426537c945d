#!/bin/bash
# Functions called by name on other ranks, under mpirun: replies, the ranks chosen, each refusal, crashes and exits,
# time limits, large arguments, the example.
set -u
. "$(dirname "$0")/../examples/lib.sh"
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
unset XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
# Open MPI's components leave memory behind.
export LD_LIBRARY_PATH=$BUILD ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_abort=0
cat >"$tmp/work.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
int echo(const void *arg, size_t n) { return xt_remote_reply(arg, n); }
int nothing(const void *arg, size_t n) { return arg && n ? 0 : 0; }
int rank_code(const void *arg, size_t n) { return n && arg && xt_rank() == 1 ? 7 : 0; }
int total(const void *arg, size_t n) { /* a collective among all ranks, inside the call */
    float x = (float)(xt_rank() + 1);
    xt_status st = xt_host_all_reduce(&x, XT_F32, 1);
    if (st) return 1;
    char text[64];
    snprintf(text, sizeof text, "%.*s%g", (int)n, (const char *)arg, (double)x);
    return xt_remote_reply(text, strlen(text));
}
int shapes(const void *arg, size_t n) { /* an error of the library stays pending */
    xt_tensor a = xt_ones(XT_F32, 2), b = xt_ones(XT_F32, 3);
    return arg && n && xt_item(xt_sum(xt_matmul(a, b))) > 0 ? 0 : 0;
}
int loops(const void *arg, size_t n) { /* an error that the function does not look at ends the call with its step */
    for (int i = 0; i < 100; i++) {
        if (i == 3) xt_matmul(xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 2, 3));
        xt_mark_step();
        if (i == 50) fputs("loops goes on\n", stderr);
    }
    return arg && n ? 0 : 1;
}
int aborts(const void *arg, size_t n) { if (arg && n && xt_rank() == 1) abort(); return 0; }
static int deep(volatile char *p) { volatile char more[4096]; more[0] = p[0]; return deep(more) + more[0]; }
int overflows(const void *arg, size_t n) { char c = 1; return arg && n && xt_rank() == 1 ? deep(&c) : 0; }
static void *other(void *arg) { *(volatile char *)arg = 1; return arg; }
int thread_crash(const void *arg, size_t n) {
    pthread_t t;
    void *volatile nowhere = NULL;
    if (!arg || !n || xt_rank() != 1) return 0;
    pthread_create(&t, NULL, other, nowhere);
    return pthread_join(t, NULL);
}
int leaves(const void *arg, size_t n) { if (arg && n && xt_rank() == 1) exit(5); return 0; }
int sleeps(const void *arg, size_t n) { /* until the driver has given up */
    for (int i = 0; i < 6000 && arg && n && access("given_up", F_OK) != 0; i++) usleep(10000);
    return 0;
}
int large_reply(const void *arg, size_t n) {
    static char big[(65 << 20)];
    return arg && n ? xt_remote_reply(big, sizeof big) : 1;
}
static __attribute__((used)) int local(const void *arg, size_t n) { return arg && n ? 0 : 1; }
int outer(const void *arg, size_t n) {
    __attribute__((noinline, used)) int inner(int k) { return k + (int)n; }
    int (*volatile call)(int) = inner;
    return arg ? call(1) : 0;
}
C
# Clang has no nested functions.
sed -e '/arg ? call/d; s/__attribute__((noinline, used)) int inner.*/return arg \&\& n ? 0 : 1;/' \
    -e '/int (\*volatile call)/d' "$tmp/work.c" >"$tmp/flat.c"
cat >"$tmp/driver.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
static const char *opt(const char *name) { const char *v = getenv(name); return v && *v ? v : NULL; }
static void call(const char *module, const char *symbol, const char *text, size_t n) {
    xt_remote_results r;
    xt_status st = xt_remote_call(module, symbol, text, n, &r, .ranks = opt("RANKS"), .hosts = opt("HOSTS"),
                                  .timeout = opt("LIMIT") ? atof(opt("LIMIT")) : -1);
    printf("status %s\n", st ? xt_status_message(st) : "ok");
    for (size_t i = 0; i < r.n; i++)
        printf("row %d code %d reply '%.*s' of %zu error %s\n", r.rows[i].rank, r.rows[i].code,
               r.rows[i].size < 100 ? (int)r.rows[i].size : 0, r.rows[i].data ? (const char *)r.rows[i].data : "",
               r.rows[i].size, r.rows[i].error ? r.rows[i].error : "none");
    xt_remote_results_free(&r);
    xt_status_free(st);
}
static int drive(void *user) {
    char **argv = user;
    size_t large = opt("BYTES") ? (size_t)atol(opt("BYTES")) : 0;
    char *bytes = large ? calloc(large, 1) : NULL;
    for (char **symbol = argv + 3; *symbol; symbol++)
        call(argv[1], *symbol, large ? bytes : argv[2], large ? large : strlen(argv[2]));
    free(bytes);
    if (opt("LIMIT")) fclose(fopen("given_up", "w"));
    if (opt("HANDLES")) printf("live %lld\n", (long long)xt_live_objects("status"));
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 3 && opt("OUTSIDE")) call(argv[1], argv[3], argv[2], 1);
    return xt_remote_run(drive, argv);
}
C
module() { cc $asan -w -I"$root/include" -shared -fPIC "$@" -L"$BUILD" -lxtrain -Wl,--build-id; }
nested=1
module "$tmp/work.c" -o "$tmp/work.so" 2>/dev/null || { nested=; module "$tmp/flat.c" -o "$tmp/work.so"; }
check "the module builds" [ -e "$tmp/work.so" ]
check "the program builds" cc $asan -I"$root/include" "$tmp/driver.c" -o "$tmp/driver" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
cd "$tmp" || exit 1
remote() { timeout 200 mpirun --allow-run-as-root --oversubscribe "$@" >"$out" 2>&1 </dev/null; }
says() { grep -qF -- "$1" "$out"; }

HANDLES=1 remote -np 4 ./driver ./work.so "a b" echo nothing total
check "the run's code" [ $? = 0 ]
check "all ranks reply" [ "$(grep -c "^row [0-3] code 0 reply 'a b' of 3 error none$" "$out")" = 4 ]
check "or not" [ "$(grep -c "reply '' of 0 error none" "$out")" = 4 ]
check "collectives work inside" [ "$(grep -c "reply 'a b10' of" "$out")" = 4 ]
check "nothing is left" says "live 0"
RANKS=1,3 remote -np 4 ./driver ./work.so x echo
check "ranks are chosen" [ "$(sed -n 's/^row \([0-9]\) .*/\1/p' "$out" | tr -d '\n')" = 13 ]
HOSTS=$(hostname) RANKS=0-1 remote -np 3 ./driver ./work.so x echo
check "on hosts" [ "$(grep -c '^row [01] code 0' "$out")" = 2 ]
HOSTS=elsewhere remote -np 2 ./driver ./work.so x echo
check "an unknown host has its neighbours" says ".hosts: no rank runs on 'elsewhere'; the run's hosts: $(hostname)"
RANKS=1-9 remote -np 2 ./driver ./work.so x echo
check "ranks that are not there" says '.ranks is "1-9": this run has the ranks 0 to 1'
BYTES=60000000 remote -np 2 ./driver ./work.so x echo
check "60 MB there and back" [ "$(grep -c 'of 60000000 error none' "$out")" = 2 ]
BYTES=70000000 remote -np 2 ./driver ./work.so x echo
check "an argument that is too large" \
    says "the argument has 70000000 bytes, at most 67108864 (64 MiB) can be sent: write it to a file"
remote -np 2 ./driver ./work.so x large_reply echo
check "so is a reply" [ "$(grep -c 'xt_remote_reply: 68157440 bytes; at most 67108864 are possible' "$out")" = 2 ]
check "which is that function's failure" says "large_reply of ./work.so returned 1 (2 of 2 ranks failed)"
check "after which calls go on" [ "$(grep -c "reply 'x' of 1 error none" "$out")" = 2 ]

remote -np 2 ./driver ./work.so x local ecko nothere
want="driver.c:8: xt_remote_call: 'local' in ./work.so is static, or hidden by -fvisibility=hidden: other processes "
want+="cannot reach it by name; remove \`static\`"
check "a static function" says "$want"
check "a misspelt one" says "./work.so exports no function 'ecko'; did you mean echo? it exports "
check "an absent one" says "No function of its own has that name, static or not"
if [ -n "$nested" ]; then
    remote -np 2 ./driver ./work.so x inner
    check "a nested one" says "'inner' in ./work.so is a nested function or one the compiler made local ("
fi
cp work.so bare.so && strip bare.so
remote -np 2 ./driver ./bare.so x local echo
want="The module is stripped, which hides whether the function is static (then remove \`static\`, or move a nested "
want+="one to file scope) or absent (then the name is misspelt"
check "a stripped module cannot tell" says "$want"
check "but works" [ "$(grep -c "reply 'x' of 1 error none" "$out")" = 2 ]
remote -np 2 ./driver ./no.so x echo
check "no module here" says "there is no module ./no.so"

mkdir -p other none &&
    sed 's/char text\[64\]/char text[65]/' "$tmp/$([ -n "$nested" ] && echo work || echo flat).c" >other.c &&
    module other.c -o other/work.so
remote -np 1 ./driver ./work.so x echo : -np 1 -wdir "$tmp/other" "$tmp/driver" ./work.so x echo
want="status .*xt_remote_call: rank 1 \(host [^ ]+, pid [0-9]+\): module './work.so' is another build here: build id "
want+="[0-9a-f]{16,}, the caller's is [0-9a-f]{16,}; give all hosts the same file"
check "another build" grep -qE "$want" "$out"
check "the caller's own rank did its part" says "row 0 code 0 reply 'x'"
remote -np 1 ./driver ./work.so x echo : -np 1 -wdir "$tmp/none" "$tmp/driver" ./work.so x echo
check "no module there" grep -qE "rank 1 \(host [^ ]+, pid [0-9]+\): there is no module ./work.so" "$out"
cp work.so plain.so && objcopy --remove-section .note.gnu.build-id plain.so && cp plain.so other/plain.so &&
    printf x >>other/plain.so
remote -np 1 ./driver ./plain.so x echo : -np 1 -wdir "$tmp/other" "$tmp/driver" ./plain.so x echo
check "another build without build ids" \
    grep -qE "is another build here: build id hash-[0-9a-f]{32}, the caller's is hash-" "$out"

remote -np 3 ./driver ./work.so x rank_code
check "a code that is not 0" \
    grep -qE "status .*rank 1 \(host [^ ]+, pid [0-9]+\): rank_code of ./work.so returned 7$" "$out"
check "is in its row" says "row 1 code 7"
remote -np 2 ./driver ./work.so x shapes echo
check "a pending error goes along" grep -qE "shapes of ./work.so returned 0; its pending error: .*matmul" "$out"
check "and is over" [ "$(grep -c "reply 'x' of 1 error none" "$out")" = 2 ]
remote -np 2 ./driver ./work.so x loops echo
check "an error in a loop ends the call" \
    grep -qE "loops of ./work.so was ended, as its step had an error: .*matmul" "$out"
check "which does not go on" [ "$(grep -c 'loops goes on' "$out")" = 0 ]
check "the rank stays usable" [ "$(grep -c "reply 'x' of 1 error none" "$out")" = 2 ]
for crash in 'aborts 6 Aborted' 'overflows 11 Segmentation fault' 'thread_crash 11 Segmentation fault'; do
    [ -n "${ASAN_BUILD:-}" ] && continue # its own handlers come first
    read -r name number text <<<"$crash"
    remote -np 2 ./driver ./work.so x "$name" echo
    check "$name: the run fails" [ $? != 0 ]
    check "$name is reported" \
        grep -qE \
        "status .*rank 1 \(host [^ ]+, pid [0-9]+\): $name of ./work.so was ended by signal $number \($text\)" "$out"
    check "$name: the rank is out of use" \
        says "this rank is out of use: an earlier call, of $name, was ended by signal $number"
    check "$name: the other goes on" [ "$(grep -c "^row 0 code 0 reply 'x' of 1 error none" "$out")" = 1 ]
done
remote -np 2 ./driver ./work.so x leaves echo
code=$?
check "exit is reported" says "the function called exit(5) instead of returning"
check "exit: the rank is out of use" says "this rank is out of use: an earlier call called exit(5)"
check "exit's code is the run's" [ $code = 5 ]
RANKS=1 LIMIT=0.5 remote -np 2 ./driver ./work.so x sleeps
check "a time limit" \
    grep -qE "no answer within 0.5 s from rank 1 \(host [^ ]+, pid [0-9]+\): sleeps still runs there" "$out"

./driver ./work.so x echo >"$out" 2>&1
check "without mpirun" \
    [ \
    "$?$(grep -c 'xt_remote_run: a remote call goes over MPI, and this process was not started by mpirun: start it by' \
    "$out")" = 11 ]
"$XTRAIN" launch -n 2 -- ./driver ./work.so x echo >"$out" 2>&1
check "under another launcher" says "was not started by mpirun but by the launcher of XT_RANK"
OUTSIDE=1 remote -np 2 ./driver ./work.so x echo
check "on rank 0 only" says "remote calls are made on rank 0; this is rank 1"
check "inside xt_remote_run only" says "remote calls are made inside the function given to xt_remote_run"
XT_TIMEOUT=2 remote -np 1 ./driver ./work.so x echo : -np 1 sleep 20
check "a rank that does not come is no hang" \
    says "MPI_Init has not returned within 2 s on rank 0 of 2: it waits until every rank has called it"

remote -np 4 "$BUILD/remote" "$BUILD/remote_module.so" 1000000
check "the example" says "pi is 3.14159"
finish
