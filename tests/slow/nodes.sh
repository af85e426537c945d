#!/bin/bash
# xtrain launch --nnodes over network namespaces: hosts of their own names and addresses on one bridge, no ssh and no
# agent between them. Training as on one rank, restarts after a host or its network was lost, spare hosts, who may join
# late, and what is left.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
command -v ip >/dev/null || { echo "no ip command here: iproute2"; exit 77; }
hosts=8 id=$$
clean() {
    for k in $(seq 0 $hosts); do
        pids=$(ip netns pids xn$id.$k 2>/dev/null) && [ -n "$pids" ] && kill -9 $pids
        ip netns del xn$id.$k 2>/dev/null
    done
    rm -rf "$tmp"
}
trap clean EXIT
# The last one is the switch.
ip netns add xn$id.$hosts 2>"$out" && ip -n xn$id.$hosts link add name switch type bridge 2>>"$out" ||
    { echo "network namespaces are not permitted here: $(tail -n 1 "$out")"; exit 77; }
ip -n xn$id.$hosts link set switch up
for k in $(seq 0 $((hosts - 1))); do
    ip netns add xn$id.$k
    ip link add eth0 netns xn$id.$k type veth peer name p$k netns xn$id.$hosts
    ip -n xn$id.$k addr add 10.78.0.$((k + 1))/24 dev eth0
    for link in lo eth0; do ip -n xn$id.$k link set $link up; done
    ip -n xn$id.$hosts link set p$k master switch up
done
export XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$BUILD} XT_SUMMARY=off XT_CACHE=off LD_LIBRARY_PATH=$BUILD \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_plm_rsh_agent=/bin/false XT_TIMEOUT=120
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS XT_SECRET NNODES NODE_RANK MASTER_ADDR
head -c 32 /dev/urandom | base64 >"$tmp/secret"
chmod 600 "$tmp/secret"
here() { # here K COMMAND...: on host K, whose name is host-K
    local k=$1
    shift
    ip netns exec xn$id.$k unshare -u bash -c 'hostname "$0"; exec "$@"' "host-$k" "$@" </dev/null
}
node() { # node K ARGS
    local k=$1
    shift
    here "$k" timeout 300 "$XTRAIN" launch --node-rank "$k" --rendezvous 10.78.0.1:29500 --secret-file "$tmp/secret" \
        "$@" >"$tmp/node.$k" 2>&1
}
start() { # start N ARGS: launchers in pid[0..]
    local n=$1
    shift
    rm -f "$tmp"/node.*
    pid=()
    for k in $(seq 0 $((n - 1))); do node "$k" "$@" & pid[k]=$!; done
}
ended() { # the codes of those that were started
    codes=
    for p in "${pid[@]}"; do wait "$p"; codes+="$? "; done
    cp "$tmp/node.0" "$out"
}
says() { grep -qE -- "$2" "$tmp/node.$1"; }
until_so() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; return 1; }
launcher_of() { pgrep -o -f "^$XTRAIN launch --node-rank $1 --rendezvous 10.78.0.1"; }
nobody() { for k in $(seq 0 $((hosts - 1))); do [ -z "$(ip netns pids xn$id.$k)" ] || return 1; done; }
folders() { ls -d /dev/shm/xtrain-run-* 2>/dev/null; }
folders >"$tmp/before"
nothing_left() { nobody && [ -z "$(folders | grep -vxFf "$tmp/before")" ]; }

start 8 --nnodes 8 --nproc-per-node 2 -- sh -c 'echo "$OMPI_COMM_WORLD_RANK on $(hostname)"'
ended
check "eight hosts of two ranks" [ "$codes$(grep -c ' on host-[0-7]$' "$out")" = "0 0 0 0 0 0 0 0 16" ]
check "in the order of the nodes" [ "$(grep -E '^1?[0-9] on' "$out" | sort -n | sed 's/.*-//' | tr -d '\n')" = \
    0011223344556677 ]
check "each by its address" says 0 'node 7 \(host-7, 10.78.0.8\)'
check "nothing is left" until_so nothing_left

losses() { sed -nE 's/.*step ([0-9]+) of .* loss ([-0-9.e+]+)$/\1 \2/p' "$1"; }
CPU_NUM_DEVICES=1 "$BUILD/mnist_multi" 128 30 >"$tmp/one" 2>&1
start 4 --nnodes 4 -- "$BUILD/mnist_multi" 32 30
ended
near='NR == FNR {a[$1] = $2; next} {d = $2 - a[$1]; if (d < 0) d = -d; if (!($1 in a) || d > 1e-5 * (a[$1] + 1)) bad '
near+='= 1} END {exit bad || FNR != 2}'
check "training over four hosts" [ "$codes" = "0 0 0 0 " ]
losses "$tmp/one" >"$tmp/one.losses"
losses "$out" >"$tmp/four.losses"
check "has the losses of one rank to 1e-5" awk "$near" "$tmp/one.losses" "$tmp/four.losses"

# A host is lost, and another launcher started in its place; then its network; each time all go on from a checkpoint,
# with the undisturbed run's weights (running statistics are rank 0's, and what came before has faded at the end).
check "the run to be killed builds" cc -D_GNU_SOURCE -I"$root/include" "$root/tests/examples/killed.c" \
    -o "$tmp/killed" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
cd "$tmp" || exit 1
train() { start 2 --nnodes 2 --max-restarts 3 -- env KILLED_DIR="$tmp/$1" "$tmp/killed" --run_name "$1"; }
weights() { grep '^weights' "$tmp/node.0" | sort -u; } # a rank that had ended when its host was lost ends again
train whole
ended
check "the undisturbed run ends" [ "$codes$(grep -c '^weights' "$out")" = "0 0 2" ]
want=$(weights)
train cut
until_so [ -e "$tmp/cut/last.ckpt" ]
kill -9 "$(launcher_of 1)"
wait "${pid[1]}"
node 1 --nnodes 2 --max-restarts 3 -- env KILLED_DIR="$tmp/cut" "$tmp/killed" --run_name cut & pid[1]=$!
ended
check "a host that was lost and came again" [ "$codes$(weights)" = "0 0 $want" ]
check "after a restart from the checkpoint" says 0 "restart 1 of 3, from $tmp/cut/last.ckpt"
train dark
until_so [ -e "$tmp/dark/last.ckpt" ]
ip -n xn$id.$hosts link set p1 down
began=$SECONDS
until_so says 0 'xtrain launch: restart 1 of 3'
check "a lost network ends the group soon" [ $((SECONDS - began)) -lt 40 ] # about 10 s on an idle machine
ip -n xn$id.$hosts link set p1 up
ended
check "a network that was lost and came again" [ "$codes$(weights)" = "0 0 $want" ]
check "the launcher came by itself" says 1 'node 1 has lost node 0 \(host-0 .* its ranks are ended, and it comes again'
check "nothing is left of that" until_so nothing_left

# From two to three nodes: the third is late, the second is lost.
# shellcheck disable=SC2016
some=(--nnodes 2:3 --max-restarts 2 -- sh -c 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname) in
$XT_RESTARTS" | tr "\n" " "; echo; [ $XT_RESTARTS = 0 ] && sleep 300; :')
start 2 "${some[@]}"
until_so says 0 '1 of 2 on host-1 in 0'
check "two of three begin without the third" says 0 'node 0 \(host-0, 10.78.0.1\), node 1 \(host-1, 10.78.0.2\)$'
node 2 "${some[@]}" & pid[2]=$!
until_so says 2 'node 2 has come to node 0 \(host-0\)'
kill -9 "$(launcher_of 1)"
ended
again=$(grep -o '[01] of 2 on host-[02] in 1' "$out" | wc -l) # on one line, where they write at once
check "the third takes the place of the second" [ "$codes$again" = "0 137 0 2" ]
check "nothing is left of that either" until_so nothing_left
finish
