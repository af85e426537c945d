#!/bin/bash
# Two network namespaces as two hosts, two ranks on each, by mpirun: training as on one rank, what goes over the wire,
# the key-value store of a multi-process PJRT client, remote calls, a rank that does not come, one that fails, one that
# is killed, a network that breaks.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
command -v ip >/dev/null || { echo "no ip command here: iproute2"; exit 77; }
a=xt$$a b=xt$$b
clean() {
    for n in $a $b; do
        pids=$(ip netns pids $n 2>/dev/null) && [ -n "$pids" ] && kill -9 $pids
        ip netns del $n 2>/dev/null
    done
    rm -rf "$tmp"
}
trap clean EXIT
ip netns add $a 2>"$out" && ip netns add $b 2>>"$out" &&
    ip link add v$$a netns $a type veth peer name v$$b netns $b 2>>"$out" ||
    { echo "network namespaces are not permitted here: $(tail -n 1 "$out")"; exit 77; }
ip -n $a addr add 10.77.0.1/24 dev v$$a && ip -n $b addr add 10.77.0.2/24 dev v$$b
for n in $a $b; do ip -n $n link set lo up; done
ip -n $a link set v$$a up && ip -n $b link set v$$b up
# mpirun's way to the other host: agent HOST COMMAND
cat >"$tmp/agent" <<E2
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
shift
exec ip netns exec $b unshare -u bash -c 'hostname host-b; exec bash -c "\$0"' "\$*"
E2
chmod +x "$tmp/agent"
export XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$BUILD} XT_SUMMARY=off XT_CACHE=off LD_LIBRARY_PATH=$BUILD \
    OMPI_MCA_plm_rsh_agent=$tmp/agent OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 RECORD_OF=${XT_PLUGIN_DIR:-$BUILD}/pjrt_plugin_xtrain_cpu.so RECORD_TO=$tmp/rec
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS
on_a() { timeout 120 ip netns exec $a unshare -u bash -c 'hostname host-a; exec "$@"' _ "$@" </dev/null; }
hosts() { # hosts RANKS_ON_A:RANKS_ON_B ARGS
    local n=$1
    shift
    on_a mpirun --host 10.77.0.1:${n%:*},10.77.0.2:${n#*:} -np $((${n%:*} + ${n#*:})) -x XT_PLUGIN_DIR -x XT_SUMMARY \
        -x XT_CACHE -x LD_LIBRARY_PATH "$@" >"$out" 2>&1
}
says() { grep -qE -- "$1" "$out"; }
sent() { ip netns exec $a cat /sys/class/net/v$$a/statistics/tx_bytes; }

cat >"$tmp/p.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static int fails(xt_status st) {
    if (st) fprintf(stderr, "rank %d: %s\n", xt_rank(), xt_status_message(st));
    return st != NULL;
}
static int reduce(size_t n, int times) { /* sums of whole numbers: exact in any order */
    float *x = malloc(n * 4);
    for (int k = 0; k < times; k++) {
        for (size_t i = 0; i < n; i++) x[i] = (float)(i % 1000 + (size_t)xt_rank());
        if (fails(xt_host_all_reduce(x, XT_F32, n))) return 1;
        for (size_t i = 0; i < n; i++)
            if (x[i] !=
                (float)(i % 1000 * (size_t)xt_world_size() + (size_t)(xt_world_size() * (xt_world_size() - 1) / 2)))
                return fprintf(stderr, "wrong at %zu\n", i), 1;
    }
    printf("rank %d sums\n", xt_rank());
    return 0;
}
/* n numbers for each rank: each gets its part of the sum, then all get all parts. */
static int scatter(size_t n, int times) {
    size_t ranks = (size_t)xt_world_size();
    float *x = malloc(n * ranks * 4), *part = malloc(n * 4);
    for (int k = 0; k < times; k++) {
        for (size_t i = 0; i < n * ranks; i++) x[i] = (float)(i % 1000 + (size_t)xt_rank());
        if (fails(xt_host_reduce_scatter(x, XT_F32, n, part))) return 1;
        if (getenv("GATHER") && fails(xt_host_all_gather(part, n * 4, x))) return 1;
        for (size_t i = 0; i < n; i++)
            if (part[i] != (float)((i + n * (size_t)xt_rank()) % 1000 * ranks + ranks * (ranks - 1) / 2))
                return fprintf(stderr, "wrong at %zu\n", i), 1;
        for (size_t i = 0; i < n * ranks && getenv("GATHER"); i++)
            if (x[i] != (float)(i % 1000 * ranks + ranks * (ranks - 1) / 2))
                return fprintf(stderr, "part at %zu\n", i), 1;
    }
    printf("rank %d parts\n", xt_rank());
    return 0;
}
/* Four ranks in groups: inside the hosts, across them, and the tensors' own collectives. */
static int groups(size_t n) {
    static const char *const how[] = {"0,1;2,3", "0,2;1,3", "3,0;2,1"};
    static const int other[][4] = {{1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    float *x = malloc(n * 4), *y = malloc(n * 8);
    for (int k = 0; k < 9; k++) {
        int with = other[k % 3][xt_rank()], first = k % 3 == 2 ? (xt_rank() == 3 || xt_rank() == 2) : xt_rank() < with;
        for (size_t i = 0; i < n; i++) x[i] = (float)(i % 1000 + (size_t)xt_rank());
        if (fails(xt_host_all_gather(x, n * 4, y, .groups = how[k % 3]))) return 1;
        for (size_t i = 0; i < n; i++)
            if (y[first ? i : n + i] != x[i] || y[first ? n + i : i] != (float)(i % 1000 + (size_t)with))
                return fprintf(stderr, "gather %d wrong at %zu\n", k, i), 1;
        if (fails(xt_host_all_reduce(x, XT_F32, n, .groups = how[k % 3]))) return 1;
        for (size_t i = 0; i < n; i++)
            if (x[i] != (float)(2 * (i % 1000) + (size_t)(xt_rank() + with)))
                return fprintf(stderr, "sum %d wrong at %zu\n", k, i), 1;
        xt_tensor t = xt_full(xt_rank() + 1, XT_F32, 8, 4), s = xt_all_reduce(t, .groups = how[k % 3]),
                  c = xt_reduce_scatter(t, 1, .groups = how[k % 3]), p = xt_collective_permute(t, .shift = 1);
        float got[3] = {(float)xt_item(xt_mean(s)), (float)xt_item(xt_mean(c)), (float)xt_item(xt_mean(p))};
        if (got[0] != (float)(xt_rank() + with + 2) || got[1] != got[0] || got[2] != (float)((xt_rank() + 3) % 4 + 1))
            return fprintf(stderr, "tensors %d: %g %g %g\n", k, got[0], got[1], got[2]), 1;
    }
    printf("rank %d groups\n", xt_rank());
    free(x);
    free(y);
    return xt_finish();
}
static int run(int rank, void *arg) {
    char **argv = arg;
    const char *what = argv[1];
    char host[64];
    gethostname(host, sizeof host);
    if (strcmp(what, "who") == 0)
        return printf("rank %d of %d, %d here, on %s\n", rank, xt_world_size(), xt_local_rank(), host) < 0;
    if (strcmp(what, "reduce") == 0) return reduce((size_t)atol(argv[2]), atoi(argv[3]));
    if (strcmp(what, "scatter") == 0) return scatter((size_t)atol(argv[2]), atoi(argv[3]));
    if (strcmp(what, "groups") == 0) return groups((size_t)atol(argv[2]));
    if (strcmp(what, "open") == 0) return xt_item(xt_sum(xt_ones(XT_F32, 4))) == 4 ? xt_finish() : 1;
    if (fails(xt_barrier(100))) return 1;
    if (getenv("LIMIT"))
        setenv("XT_TIMEOUT", getenv("LIMIT"), 1); /* not for joining, which takes longer on a loaded machine */
    printf("ready %d\n", rank);
    fflush(stdout);
    if (strcmp(what, "late") == 0) {
        if (rank != 2 && fails(xt_barrier(3))) sleep(3);
        else sleep(12);
        return 4;
    }
    if (strcmp(what, "code") == 0 && rank == 3) return 9;
    for (int i = 0; i < 100000; i++) {
        float x = 1;
        if (fails(xt_host_all_reduce(&x, XT_F32, 1))) return 5;
        usleep(1000);
    }
    return 0;
}
int main(int argc, char **argv) { return argc > 1 ? xt_launch(run, argv) : 2; }
C
check "the program builds" cc -I"$root/include" "$tmp/p.c" -o "$tmp/p" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"

hosts 2:2 "$tmp/p" who
near="rank 0 of 4, 0 here, on host-a|rank 1 of 4, 1 here, on host-a|rank 2 of 4, 0 here, on host-b|rank 3 of 4, 1 "
near+="here, on host-b|"
check "two hosts, two ranks on each" [ "$(sort "$out" | tr '\n' '|')" = "$near" ]
for shape in 1:1 2:2 3:1 1:3; do
    for n in 1 1000 3000001; do
        hosts $shape "$tmp/p" reduce $n 3
        check "$shape ranks add up $n numbers" [ "$?$(grep -c sums "$out")" = "0$((${shape%:*} + ${shape#*:}))" ]
    done
done
for n in 1 1200003; do
    hosts 2:2 "$tmp/p" groups $n
    check "groups inside hosts and across them, $n numbers" [ "$?$(grep -c groups "$out")" = 04 ]
done
# A host sends its ranks' sum, not each rank's numbers: as much for two ranks as for one.
before=$(sent) && hosts 2:2 "$tmp/p" reduce 4000000 5 && bytes=$(($(sent) - before))
echo "all-reduce of 16 MB, 5 times, 2 ranks on each of 2 hosts: $((bytes / 1000000)) MB sent by a host"
check "the sum goes over the wire once" [ $bytes -gt 79000000 -a $bytes -lt 96000000 ]

# Of a reduce_scatter a host gets what its ranks keep, of an all_gather it sends what they give: half each.
before=$(sent) && hosts 2:2 "$tmp/p" scatter 1000000 5 && bytes=$(($(sent) - before))
echo "reduce_scatter of 16 MB, 5 times: $((bytes / 1000000)) MB sent by a host"
check "parts go where they are kept" [ "$(grep -c parts "$out")" = 4 -a $bytes -gt 39000000 -a $bytes -lt 48000000 ]
before=$(sent) && hosts 2:2 -x GATHER=1 "$tmp/p" scatter 1000000 5 && bytes=$(($(sent) - before))
echo "and all_gather: $((bytes / 1000000)) MB"
check "parts are sent once to a host" [ "$(grep -c parts "$out")" = 4 -a $bytes -gt 78000000 -a $bytes -lt 96000000 ]

losses() { sed -nE 's/.*step ([0-9]+) of .* loss ([-0-9.e+]+)$/\1 \2/p' "$1"; }
CPU_NUM_DEVICES=1 "$BUILD/mnist_multi" 128 60 >"$tmp/one" 2>&1
hosts 2:2 "$BUILD/mnist_multi" 32 60
check "training over both hosts" [ $? = 0 ]
near='NR == FNR {a[$1] = $2; next} {d = $2 - a[$1]; if (d < 0) d = -d; if (!($1 in a) || d > 1e-5 * (a[$1] + 1)) bad '
near+='= 1} END {exit bad || FNR != 2}'
check "has the losses of one rank to 1e-5" awk "$near" <(losses "$tmp/one") <(losses "$out")
on_a "$XTRAIN" launch -n 4 --host 10.77.0.1,10.77.0.2 -- "$tmp/p" who >"$out" 2>&1
check "xtrain launch --host" [ "$(grep -c 'here, on host-[ab]' "$out")" = 4 ]

on_a "$XTRAIN" launch -n 4 --host 10.77.0.1,10.77.0.2 --log-dir "$tmp/logs" -- sh -c '
    [ $OMPI_COMM_WORLD_RANK = 3 ] && sleep 3
    echo "[rank $OMPI_COMM_WORLD_RANK] a warning of all" >&2' >"$out" 2>&1
check "a warning of all ranks is shown once" [ "$(grep -c '^\[rank.*\] a warning of all$' "$out")" = 1 ]
check "with those that it came from" says '^\[ranks 0-2\] a warning of all$'
check "and who was late" says '^\[rank 3\] said so too, later: a warning of all$'
check "each rank has its own log" [ "$(find "$tmp/logs" -name stderr -size +0 | wc -l)" = 4 ]

# A PJRT client of four processes on two hosts: what each puts, all get; over MPI.
hosts 2:2 -x RECORD_OF -x RECORD_TO -x XT_DEVICE="$BUILD/record_plugin.so" "$tmp/p" open
check "a plugin's client spans the hosts" [ $? = 0 ]
for r in 0 1 2 3; do
    check "rank $r: its options" grep -qx "option node_id=$r" "$tmp/rec.$r"
    check "rank $r: everybody's values" [ "$(grep -cE "^get record/([0-3]): 'said by [0-3]'" "$tmp/rec.$r")" = 4 ]
    check "rank $r: nothing of what nobody put" grep -qx "try_get of nothing: code 5" "$tmp/rec.$r"
done

cd "$BUILD" || exit 1
hosts 2:2 ./remote ./remote_module.so 100000
check "remote calls over hosts" says '^rank 3 on host-b added its part'
hosts 1:1 ./remote ./remote_module.so 1000 crash
check "a crash on the other host" \
    says 'rank 1 \(host host-b, pid [0-9]+\): crash of ./remote_module.so was ended by signal 11'

hosts 2:2 "$tmp/p" late
near='rank 0: .*xt_barrier at .*p.c:[0-9]+: did not come: rank 2, last seen at xt_barrier at .*p.c:[0-9]+; waiting: '
near+='rank 0 in xt_barrier at .*p.c:[0-9]+; rank 1 in xt_barrier at .*; rank 3 in '
check "who did not come, and where it is" says "$near"
hosts 2:2 "$tmp/p" code
check "a failed rank's code is the run's" [ $? = 9 ]
hosts 2:2 "$tmp/p" loop &
running=$!
for _ in $(seq 300); do [ "$(grep -c ready "$out")" = 4 ] && break; sleep 0.1; done
victim=$(ip netns pids $b | while read -r p; do
    tr '\0' ' ' </proc/"$p"/cmdline | grep -q "^$tmp/p loop" && echo "$p"; done | head -n 1)
began=$(date +%s%N)
kill -9 "$victim"
wait $running
check "a killed rank ends the run" [ $? != 0 ]
sleep 0.2
check "soon" [ $((($(date +%s%N) - began) / 1000000)) -lt 60000 ] # mpirun's own pace
check "everywhere" [ -z "$(ip netns pids $a)$(ip netns pids $b)" ]
# A rank dies on the other host: all start again, from the last checkpoint, with the undisturbed run's bits
# (running statistics of batch norm are each rank's own: the checkpoint has rank 0's, and what came before it has faded
# at the end).
check "the run to be killed builds" cc -D_GNU_SOURCE -I"$root/include" "$root/tests/examples/killed.c" \
    -o "$tmp/killed" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
cd "$tmp" || exit 1
elastic() {
    on_a "$XTRAIN" launch -n 2 --host 10.77.0.1,10.77.0.2 --max-restarts 3 -- env KILLED_DIR="$tmp/$1" "$tmp/killed" \
        --run_name "$1" >"$out.$1" 2>&1
}
elastic whole
check "the undisturbed run ends" [ "$?$(grep -c '^weights' "$out.whole")$(grep -c restart "$out.whole")" = 020 ]
elastic cut &
running=$!
while kill -0 $running 2>/dev/null && [ ! -e "$tmp/cut/last.ckpt" ]; do sleep 0.01; done
victim=$(ip netns pids $b | while read -r p; do
    [ "$(readlink "/proc/$p/exe")" = "$tmp/killed" ] && echo "$p"; done | head -n 1)
check "a rank on the other host is there to be killed" kill -9 "$victim"
wait $running
check "the run ends well all the same" [ $? = 0 ]
cp "$out.cut" "$out"
check "started again from a checkpoint" says "xtrain launch: restart 1 of 3, from $tmp/cut/last.ckpt"
check "with the same weights" [ "$(grep '^weights' "$out.cut" | sort)" = "$(grep '^weights' "$out.whole" | sort)" ]
check "and leaves no note behind" [ -z "$(ls "$tmp"/.xtrain-restart-* 2>/dev/null)" ]
# xtrain launch --host: a signal lets the trainer save, a failure or a lost host ends the run soon.
on_hosts() { on_a "$XTRAIN" launch -n 4 --host 10.77.0.1,10.77.0.2 "$@" >"$out" 2>&1; }
are_ready() { for _ in $(seq 300); do [ "$(grep -c ready "$out")" = 4 ] && return; sleep 0.1; done; return 1; }
on_hosts -- env KILLED_DIR="$tmp/told" "$tmp/killed" --run_name told &
while kill -0 $! 2>/dev/null && [ ! -e "$tmp/told/last.ckpt" ]; do sleep 0.01; done
pkill -TERM -P $! timeout # which passes it on to the launcher
wait $!
check "a run on two hosts that is told to stop" [ $? = 143 ]
check "saves first" says 'stopped by SIGTERM at step [0-9]+; --resume .*last.ckpt goes on from here'
on_hosts -- "$tmp/p" code
check "a failed rank's code is the launcher's" [ $? = 9 ]
on_hosts -- "$tmp/p" loop &
are_ready
began=$(date +%s%N)
ip -n $b link set v$$b down
wait $!
check "a lost network ends the launcher's run" [ $? != 0 ]
check "soon" [ $((($(date +%s%N) - began) / 1000000)) -lt 30000 ] # about 10 s on an idle machine
ip -n $b link set v$$b up
sleep 1
hosts 2:2 -x LIMIT=3 "$tmp/p" loop &
running=$!
for _ in $(seq 300); do [ "$(grep -c ready "$out")" = 4 ] && break; sleep 0.1; done
ip -n $b link set v$$b down
sleep 6
ip -n $b link set v$$b up
wait $running
check "a broken network is an error in time" [ $? != 0 ]
check "that says who waits in what" \
    says 'rank 0: .*(not all ranks came within the time limit|did not come|has given up)'
check "nothing is left running" [ -z "$(ip netns pids $a)$(ip netns pids $b)" ]
check "nor in shared memory" [ -z "$(ls /dev/shm | grep "^xtrain-.*host[0-9]" )" ]
finish
