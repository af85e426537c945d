#!/bin/bash
# File systems that are full, or fill up during a run: training goes on or ends with a sentence, never by a signal.
# Where a file system of a few hundred kilobytes can be mounted (root, or a user with namespaces of its own).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
unset XT_POSTMORTEM_DIR
cat >"$tmp/steps.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
/* steps N FILE [abort]: half of N steps, then it waits until FILE is there, then the others. Each step is of a line and
 * an op of its own for the events. */
int main(int argc, char **v) {
    static float data[64];
    int n = atoi(v[1]);
    for (int i = 0; i < n; i++) {
        for (int k = 0; i == n / 2 && k < 1000 && access(v[2], F_OK) != 0; k++) usleep(10000);
        if (i == n / 2) puts("half"), fflush(stdout);
        xt_tensor x = xt_from_array(data, XT_F32, 8 + i % 24);
        xt_when_ready(xt_sum(xt_exp(x)), NULL, NULL);
        xt_item(xt_sum(x));
        xt_mark_step();
    }
    if (argc > 3) abort();
    puts("through");
    return xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$tmp/steps.c" -I"$root/include" -o "$tmp/steps" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1

# --- files that may not grow (ulimit -f, in KiB): no file system is needed for it. What is said goes through a pipe,
# which has no limit.
limited() { # limited KIB COMMAND...
    local kib=$1
    shift
    ( ( ulimit -f "$kib"; "$@" 2>&1; echo "rc $?" ) | cat >"$tmp/out" )
    rc=$(sed -n 's/^rc //p' "$tmp/out")
}
cat >"$tmp/asks.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <xtrain/xtrain.h>
int main(void) {
    struct sigaction now;
    sigaction(SIGXFSZ, NULL, &now);
    return now.sa_handler == SIG_IGN ? 0 : 1 + xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$tmp/asks.c" -I"$root/include" -o "$tmp/asks" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
check "SIGXFSZ is off as soon as the library is there" "$tmp/asks"
for box in on off; do
    for kib in 0 8 64 300 2000; do
        what="ulimit -f $kib, XT_POSTMORTEM=$box"
        d=$tmp/limit/$box$kib
        mkdir -p "$d/s" && chmod 700 "$d/s"
        export XT_POSTMORTEM=$box XT_STATUS_DIR=$d/s
        export XT_CACHE=on XT_CACHE_DIR=$d/cache XT_EVENTS=$d/events XT_RUNS_DIR=$d/runs
        limited $kib timeout 60 "$tmp/steps" 40 /
        check "$what: a program runs through" grep -q '^through' "$tmp/out"
        limited $kib timeout 60 "$XTRAIN" fit mnist --limit-batches 3 --limit-val 1 --epochs 1 --no-pictures
        check "$what: a fit ends by itself" [ "$rc" = 0 -o "$rc" = 1 ]
        [ "$rc" = 0 ] || check "$what: with a sentence" grep -q 'File too large' "$tmp/out"
        if [ $kib = 0 ]; then
            check "$what: nothing could be kept" [ "$rc" = 1 ]
            check "$what: no file is left half made" \
                [ -z "$(find "$d" -name '*.ckpt*' -o -name '*.xtc*' -o -name '*.xtbox*')" ]
        fi
    done
done
unset XT_POSTMORTEM XT_CACHE_DIR XT_EVENTS XT_RUNS_DIR XT_STATUS_DIR
export XT_CACHE=off

small=$tmp/small
mkdir "$small"
# on SIZE COMMAND: in a mount namespace with a file system of SIZE at $small
on() {
    local size=$1 unshare=(unshare -m)
    shift
    [ "$(id -u)" = 0 ] || unshare=(unshare -Urm)
    "${unshare[@]}" sh -c 'mount -t tmpfs -o "size=$1,mode=0755" tmpfs "$2" && shift 2 && exec "$@"' \
        sh "$size" "$small" "$@"
}
on 100k true 2>"$tmp/out" || { echo "no small file system can be mounted here: $(tail -n 1 "$tmp/out")"; exit 77; }
export small tmp
cat >"$tmp/fill" <<'S'
#!/bin/sh
dd if=/dev/zero of="$small/filler" bs=1k 2>/dev/null
[ "$(df --output=avail "$small" | tail -n 1)" -lt 4 ] || { echo "$small is not full" >&2; exit 1; }
S
# One run of the program in $small, which fills up before it ($when = before), at its half, or not at all ($when =
# never).
cat >"$tmp/run" <<'S'
#!/bin/bash
cd "$small" && mkdir -m 700 s && rm -f "$tmp/go"
[ "$when" = before ] && sh "$tmp/fill"
"$tmp/steps" 400 "$tmp/go" $how >"$tmp/said" 2>"$tmp/out" &
pid=$!
if [ "$when" = half ]; then
    until compgen -G "s/*-$pid.xtbox" >/dev/null || ! kill -0 $pid; do sleep 0.01; done
    sh "$tmp/fill"
fi
: >"$tmp/go"
wait $pid
echo $? >"$tmp/rc"
ls s >"$tmp/files"
ls -d xt-crash* >"$tmp/crashes" 2>/dev/null
true
S
through() { check "$1" grep -q '^through' "$tmp/said"; check "$1: without a signal" [ "$(cat "$tmp/rc")" = 0 ]; }

# --- the status folder
export when how
when=half how= XT_STATUS_DIR=$small/s on 300k bash "$tmp/run"
through "the status folder fills up during the run"
when=never how= XT_STATUS_DIR=$small/s on 100k bash "$tmp/run"
through "there is no room for the status file"
check "it is said once" [ "$(grep -c 'No space left on device; the run goes on without a status file' "$tmp/out")" = 1 ]
check "and nothing half made stays" [ ! -s "$tmp/files" ]
when=before how= XT_STATUS_DIR=$small/s on 300k bash "$tmp/run"
through "the file system is full from the start"

# --- the crash folder
mkdir -m 700 "$tmp/status"
export XT_STATUS_DIR=$tmp/status
when=before how=abort on 100k bash "$tmp/run"
check "a crash whose folder has no room ends as the crash" [ "$(cat "$tmp/rc")" = 134 ]
check "it says where the run was" grep -q 'xtrain: SIGABRT in step' "$tmp/out"
check "and that there is no report, with the reason" grep -q 'no report: .*No space left on device' "$tmp/out"
check "and leaves no empty folder" [ ! -s "$tmp/crashes" ]

# --- the cache, events, checkpoints and logs
when=before how= XT_CACHE=on XT_CACHE_DIR=$small/cache on 100k bash "$tmp/run"
through "no room for the compile cache"
check "it is said once" [ "$(grep -c 'compile cache' "$tmp/out")" = 1 ]
when=before how= XT_EVENTS=$small/events on 100k bash "$tmp/run"
through "no room for events"
check "it is said once" [ "$(grep -c 'XT_EVENTS=.* cannot be written' "$tmp/out")" = 1 ]
fit='cd "$small"
timeout 60 "$XTRAIN" fit mnist --limit-batches 30 --epochs 1 --log-every 1 --no-pictures $how >"$tmp/said" 2>"$tmp/out"
echo $? >"$tmp/rc"'
export XT_RUNS_DIR=$small/runs
how= on 120k bash -c "$fit"
check "a fit whose folder fills up ends with a sentence" [ "$(cat "$tmp/rc")" = 1 ]
check "which is that the file system is full" grep -q 'No space left on device' "$tmp/out"
how="--trainer.checkpointing=off" on 16k bash -c "$fit"
check "one without checkpoints trains on without its logs" [ "$(cat "$tmp/rc")" = 0 ]
check "and says so" grep -qE 'logger [a-z]+: .*No space left on device; it writes nothing from here on' "$tmp/out"

# --- files that a command makes by the user's name for them: whole, or not at all
new='cd "$small"
[ "$how" = there ] && mkdir project
"$XTRAIN" new project >"$tmp/said" 2>"$tmp/out"
echo $? >"$tmp/rc"
ls -A . project 2>/dev/null | sort >"$tmp/files"'
for how in none there; do
    whole=0 refused=0
    for kib in 4 8 12 16 20 24 32 48 64 96; do
        on ${kib}k bash -c "$new"
        what="a new project (folder: $how) where $kib KiB are"
        if [ "$(cat "$tmp/rc")" = 0 ]; then
            whole=$((whole + 1))
            check "$what: all of it" [ "$(grep -cxE 'project|project.c|main.c|Makefile|README.md|.gitignore' \
                "$tmp/files")" = 6 ]
        else
            refused=$((refused + 1))
            check "$what: the reason" grep -q 'No space left on device' "$tmp/out"
            check "$what: nothing is left" [ -z "$(grep -vxE "${how/#there/project}|\.:|project:|" "$tmp/files")" ]
        fi
    done
    check "new project (folder: $how): both were seen" [ $whole -gt 0 -a $refused -gt 2 ]
done
page='cd "$small"
echo precious >page.html
sh "$tmp/fill"
"$XTRAIN" plan mnist --html page.html >"$tmp/said" 2>"$tmp/out"
echo $? >"$tmp/rc"
cp page.html "$tmp/page"
ls -A >"$tmp/files"'
on 16k bash -c "$page"
check "a page without room is an error" [ "$(cat "$tmp/rc")" = 1 ]
check "with its reason" grep -q 'No space left on device' "$tmp/out"
check "and the page before stays" [ "$(cat "$tmp/page")" = precious ]
check "alone" [ "$(grep -vx filler "$tmp/files")" = page.html ]

# --- ranks that meet by a word in /dev/shm
if [ "$(id -u)" = 0 ]; then
    unshare -m sh -c '
        mount -t tmpfs -o size=1m tmpfs /dev/shm &&
            XT_WORLD_SIZE=2 XT_RANK=0 XT_RENDEZVOUS=full timeout 60 "$tmp/steps" 4 /
        echo $? >"$tmp/rc"
        ls /dev/shm >"$tmp/files"' >"$tmp/said" 2>"$tmp/out"
    check "a full /dev/shm is an error" \
        grep -q "the ranks' shared memory needs .* MiB: No space left on device" "$tmp/out"
    check "no signal" [ "$(cat "$tmp/rc")" -lt 124 ]
    check "and nothing is left there" [ ! -s "$tmp/files" ]
else
    echo "skip a full /dev/shm: only root mounts one"
fi
# What a command prints is its result.
for command in "explain XT101" --help "fit mnist --epochs 1 --limit-batches 3 --json"; do
    # shellcheck disable=SC2086  # words
    "$BUILD/xtrain" $command >/dev/full 2>"$tmp/err"
    check "xtrain $command into a full disk fails" [ $? = 1 ]
    check "xtrain $command into a full disk says so" grep -q "what was printed is lost" "$tmp/err"
done
finish
