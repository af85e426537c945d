#!/bin/bash
# Work that was cut off in its middle, by a kill or by a disk: what is there afterwards is one thing or the other, and
# what the disk has said is what is told.
set -u
. "$(dirname "$0")/../examples/lib.sh"
[ -n "${ASAN_BUILD:-}" ] && { echo "the sanitizer wants to be preloaded first"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
export XT_SUMMARY=off XT_PROGRESS=off XT_RUNS_DIR=$tmp/runs
# FAULT=CALL:N:HOW for files whose path ends in FAULT_FILE: from the N-th call on it is short, or fails once, or ever
# (an error number), or kills. Calls: pread, write, rename.
cat >fault.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char how[32];
static int meant(const char *call, int fd, const char *path) {
    static int calls;
    char what[32] = "", link[64], name[4096] = "";
    int n = 0;
    const char *fault = getenv("FAULT"), *file = getenv("FAULT_FILE");
    if (!fault || !file || sscanf(fault, "%31[^:]:%d:%31s", what, &n, how) != 3 || strcmp(what, call)) return 0;
    if (!path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t k = readlink(link, name, sizeof name - 1);
        name[k < 0 ? 0 : k] = 0;
    }
    const char *at = path ? path : name;
    size_t a = strlen(at), b = strlen(file);
    if (a < b || strcmp(at + a - b, file)) return 0;
    calls++;
    if (!strcmp(how, "short")) return 1;
    if (!strcmp(how, "kill") && calls == n) kill(getpid(), SIGKILL);
    return !strncmp(how, "once", 4) ? calls == n : calls >= n;
}
#define FAULTY(call, fd, path, brief, plain)                      \
    if (meant(call, fd, path)) {                                  \
        if (!strcmp(how, "short")) return brief;                  \
        if (strcmp(how, "kill")) {                                \
            errno = atoi(how + (strncmp(how, "once", 4) ? 0 : 4)); \
            return -1;                                            \
        }                                                         \
    }                                                             \
    return plain
#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
ssize_t pread64(int fd, void *p, size_t n, off_t at) {
    REAL(pread64);
    FAULTY("pread", fd, NULL, real(fd, p, n > 3 ? 3 : n, at), real(fd, p, n, at));
}
ssize_t pread(int fd, void *p, size_t n, off_t at) { return pread64(fd, p, n, at); }
ssize_t write(int fd, const void *p, size_t n) {
    REAL(write);
    static int cut; /* the first one is */
    if (cut) return real(fd, p, n);
    FAULTY("write", fd, NULL, (cut = 1, real(fd, p, n / 2)), real(fd, p, n));
}
int rename(const char *a, const char *b) {
    REAL(rename);
    FAULTY("rename", -1, b, -1, real(a, b));
}
/* FAULT=malloc:N: that call has no memory. */
extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t);
static int no_memory(void) {
    static int calls;
    const char *fault = getenv("FAULT");
    return fault && !strncmp(fault, "malloc:", 7) && ++calls == atoi(fault + 7);
}
void *malloc(size_t n) { return no_memory() ? (errno = ENOMEM, NULL) : __libc_malloc(n); }
void *realloc(void *p, size_t n) { return no_memory() ? (errno = ENOMEM, NULL) : __libc_realloc(p, n); }
C
cc -w -O1 -shared -fPIC fault.c -o fault.so -ldl || exit 1
faulty() { # faulty CALL:N:HOW FILE COMMAND...
    local fault=$1 file=$2
    shift 2
    timeout 120 env FAULT="$fault" FAULT_FILE="$file" LD_PRELOAD="$tmp/fault.so" "$@" >"$tmp/out" 2>&1
}
# Shards: whoever reads the folder of a conversion that was killed gets the one, or the other, or an error.
cat >weights.py <<'PY'
import json, struct, sys
def write(path, value):
    header, data = {}, b""
    for k in range(4):
        part = struct.pack("<f", value) * 1000
        header[f"w{k}"] = {"dtype": "F32", "shape": [1000], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {v for v in struct.unpack(f"<{4000}f", data[8 + n:8 + n + 16000])}
if sys.argv[1] == "write":
    write(sys.argv[2], float(sys.argv[3]))
else:
    print(*sorted(read(sys.argv[2])))
PY
python3 weights.py write a.safetensors 1 && python3 weights.py write b.safetensors 2
for n in 1 2 3 4; do
    rm -rf set whole.safetensors
    "$XTRAIN" convert a.safetensors set --max-shard-size 6KB >"$tmp/out" 2>&1
    check "a set of shards ($n)" [ $? = 0 ]
    faulty rename:$n:kill safetensors "$XTRAIN" convert b.safetensors set --max-shard-size 6KB
    check "is killed between its shards ($n)" [ $? = 137 ]
    "$XTRAIN" convert set whole.safetensors >"$tmp/out" 2>&1
    code=$?
    mixed=no
    [ $code = 0 ] && [ "$(python3 weights.py read whole.safetensors)" = "1.0 2.0" ] && mixed=yes
    check "what is left is no mixture ($n)" [ $mixed = no ]
    "$XTRAIN" convert b.safetensors set --max-shard-size 6KB >"$tmp/out" 2>&1 &&
        "$XTRAIN" convert set whole.safetensors >"$tmp/out" 2>&1
    check "done again it is whole ($n)" [ "$(python3 weights.py read whole.safetensors)" = 2.0 ]
done
# What a killed run left in the folder that this one goes on from.
fit() { timeout 120 "$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --no-pictures "$@" >"$tmp/out" 2>&1; }
fit --epochs 1
check "trains" [ $? = 0 ]
folder=runs/mnist/version_0/checkpoints
stem=last.ckpt-0123456789abcdef
touch $folder/$stem-0000{1,2}-of-00002.safetensors $folder/$stem.safetensors.index.json mine.safetensors
touch $folder/$stem-00001-of-00002.safetensors.tmp.999999999.1.0 $folder/$stem.safetensors.index.json.tmp.999999999.1.0
touch $folder/mine.safetensors
fit --epochs 2 --resume last
check "goes on" [ $? = 0 ]
check "nothing of the killed run is left" [ -z "$(ls $folder | grep "$stem")" ]
check "what is no shard stays" [ -f $folder/mine.safetensors ]
# A picture has all curves, or there is none and a reason.
"$XTRAIN" plot mnist --output good.png >"$tmp/out" 2>&1
check "draws" [ $? = 0 ]
other= silent=
for n in $(seq 40); do
    rm -f c.png
    faulty malloc:$n '' "$XTRAIN" plot mnist --output c.png
    case $? in
    0) cmp -s c.png good.png || other="$other $n" ;;
    *) grep -q "^xtrain plot: .*\(memory\|Cannot allocate\)" "$tmp/out" || silent="$silent $n" ;;
    esac
done
check "without memory: no other picture" [ -z "$other" ]
check "without memory: says so" [ -z "$silent" ]
# A line of which the system has taken a part goes on behind that part.
faulty write:1:short ev.json env XT_EVENTS=ev.json "$XTRAIN" fit mnist --limit-batches 1 --limit-val 1 --no-pictures
check "all lines are whole" python3 -c 'import json; [json.loads(line) for line in open("ev.json")]'
# Reads that a signal ends, or that bring less than was asked for, go on; one that fails says what the system said.
cat >rows.c <<'C'
#include <stdio.h>
#include <xtrain/xtrain.h>
int main(void) {
    double sum = 0;
    xt_loader *l = xt_loader_new(xt_csv_dataset("d.csv", .x = "a,b", .y = "c"), .batch = 10);
    for (xt_batch b; l && xt_next(l, &b);) sum += xt_item(xt_sum(b.x));
    printf("sum %g\n", sum);
    return xt_finish();
}
C
cc -O1 rows.c -I"$root/include" -o rows -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
{ echo a,b,c; for i in $(seq 100); do echo "$i,$((2 * i)),1"; done; } >d.csv
for fault in pread:1:short pread:2:once4; do
    faulty $fault d.csv ./rows
    check "$fault: all rows are read" grep -q '^sum 15150$' "$tmp/out"
done
faulty pread:20:5 d.csv ./rows
check "a disk that fails: is an error" [ $? = 1 ]
check "a disk that fails: is told" grep -q "d.csv.*Input/output error" "$tmp/out"
check "a disk that fails: no other reason" [ "$(grep -c shorter "$tmp/out")" = 0 ]
finish
