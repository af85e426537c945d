#!/bin/bash
# Peers of xtrain launch --nnodes that mean no good (nodes_abuse.py): who does not know the secret has no effect,
# however often it comes; who knows it and sends what no launcher sends is let go or told why; a false node 0 is left in
# time. And the run that all this happens to goes on as if nothing had.
set -u
. "$(dirname "$0")/../examples/lib.sh"
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS XT_SECRET
unset NNODES NODE_RANK MASTER_ADDR MASTER_PORT SLURM_NODEID SLURM_NNODES JOB_COMPLETION_INDEX
here=$(cd "$(dirname "$0")" && pwd)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 XT_SUMMARY=off OMPI_MCA_plm_rsh_agent=/bin/false \
    XT_TIMEOUT=60 TMPDIR=$tmp/tmpdir
mkdir "$TMPDIR"
cd "$tmp" || exit 1
head -c 32 /dev/urandom | base64 >secret
chmod 600 secret
version=$("$XTRAIN" version | sed -nE '1s/^[^0-9]*([0-9][^ ]*).*/\1/p')
until_so() { for _ in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
port_of() { awk -v n="$(printf '%04X' "$1")" '$2 ~ ":" n "$" { found = 1 } END { exit !found }' /proc/net/tcp; }
port=$((11000 + $$ % 8000))
another_port() { until port=$((port + 1)) && ! port_of $port; do :; done; }
node() { # node K ARGS: its launcher, whose output goes to node.K
    timeout 100 "$XTRAIN" launch --node-rank "$1" --rendezvous "127.0.0.1:$port" --secret-file secret "${@:2}" \
        >"node.$1" 2>&1 </dev/null
}
abuse=(timeout 100 python3 "$here/nodes_abuse.py")
descriptors() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }

# --- at node 0's place, while it waits for two others
another_port
node 0 --nnodes 3 --nproc-per-node 1 -- true & lead=$!
until_so port_of $port
leader=$(pgrep -o -f "^$XTRAIN launch --node-rank 0 --rendezvous 127.0.0.1:$port")
before=$(descriptors "$leader")
"${abuse[@]}" strangers 127.0.0.1 $port >out 2>&1
check "what does not know the secret" [ $? = 0 ]
"${abuse[@]}" members 127.0.0.1 $port secret "$tmp" "$version" >out 2>&1
check "what knows it and sends what no launcher does" [ $? = 0 ]
same() { [ "$(descriptors "$leader")" = "$before" ]; }
check "no connection of theirs is left open" until_so same
check "node 0 waits still" kill -0 "$leader"
cp node.0 out
check "nothing that they said reaches a terminal as it is" [ -z "$(tr -d '\n\t -~' <node.0)" ]
check "of strangers a few are told" [ "$(grep -c 'was refused: ' node.0)" -le 10 ]
# Connections that say nothing, as many as are looked at in the ten seconds that each of them has, and then far more,
# keep no node out, before the run and while it goes.
crowd() {
    "${abuse[@]}" flood 127.0.0.1 $port "$1" 60 >/dev/null 2>&1 &
    held+=($!)
}
held=()
crowd 70
sleep 1
says() { grep -q "$2" "node.$1"; }
began=$(date +%s%N)
node 1 --nnodes 3 --nproc-per-node 1 -- true & one=$!
until_so says 1 'has come to node 0'
took=$((($(date +%s%N) - began) / 1000000))
cat node.? >out
check "a node comes in through a crowd, in 6 s, not $took ms" [ $took -lt 6000 ]
for _ in 1 2 3; do crowd 200; done
node 2 --nnodes 3 --nproc-per-node 1 -- true & two=$!
wait $lead; codes=$?
for p in $one $two; do wait $p; codes+=" $?"; done
cat node.? >out
check "the run goes on among them" [ "$codes" = "0 0 0" ]
kill "${held[@]}" 2>/dev/null
wait "${held[@]}" 2>/dev/null

# --- a false node 0
another_port
"${abuse[@]}" false $port >/dev/null 2>&1 & liar=$!
until_so port_of $port
XT_TIMEOUT=4 node 1 --nnodes 2 -- true
code=$?
cp node.1 out
check "a false node 0 ends the waiting in time" [ "$code$(grep -cE \
    'node 0 has not answered|does not know the secret|node 0 has another secret' node.1)" = 11 ]
kill $liar
wait $liar 2>/dev/null
check "nothing is left" [ -z "$(ls "$TMPDIR")" ]
finish
