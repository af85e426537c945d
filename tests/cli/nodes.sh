#!/bin/bash
# xtrain launch --nnodes: hosts that come to node 0 without ssh. They are this machine's processes here (in
# slow/nodes.sh network namespaces); mpirun and its daemons are real ones, and an agent of ssh's kind is never called.
set -u
. "$(dirname "$0")/../examples/lib.sh"
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS XT_SECRET
unset NNODES NODE_RANK MASTER_ADDR MASTER_PORT SLURM_NODEID SLURM_NNODES JOB_COMPLETION_INDEX
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_odls_base_sigkill_timeout=0 XT_SUMMARY=off \
    OMPI_MCA_plm_rsh_agent=/bin/false XT_TIMEOUT=60 TMPDIR=$tmp/tmpdir
mkdir "$TMPDIR" "$tmp/kept"
head -c 32 /dev/urandom | base64 >"$tmp/secret"
echo another secret of enough letters >"$tmp/other"
chmod 600 "$tmp/secret" "$tmp/other"

# What the launchers believe, without them.
# shellcheck disable=SC2086
cc -g ${ASAN_BUILD:+-fsanitize=address,undefined} -std=gnu11 -D_GNU_SOURCE -I"$root/include" -I"$root" \
    "$root/tests/cli/nodes.c" "$root"/cli/nodes/{digest,link,orders}.c -o "$tmp/nodes" -L"$BUILD" -lxtrain -lsodium \
    -Wl,-rpath,"$BUILD" >"$out" 2>&1
check "the parts build" [ $? = 0 ]
touch "$tmp/kept/file"
"$tmp/nodes" "$tmp/kept" >"$out" 2>&1
check "digests, connections, orders, folders" [ "$?$(tail -n 1 "$out")" = "00 failures" ]

left() { ls -d /dev/shm/xtrain-run-"$(id -u)"-* "$TMPDIR"/* 2>/dev/null; }
left >"$tmp/left" # of others
nothing_left() { [ -z "$(left | grep -vxFf "$tmp/left")" ]; }
until_so() { for _ in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
port_of() { awk -v n="$(printf '%04X' "$1")" '$2 ~ ":" n "$" { found = 1 } END { exit !found }' /proc/net/tcp; }
port=$((20000 + $$ % 9000))
another_port() { until port=$((port + 1)) && ! port_of $port; do :; done; place=127.0.0.1:$port; }
# node K ARGS: its launcher, whose output goes to $tmp/node.K
node() {
    local k=$1
    shift
    timeout 100 "$XTRAIN" launch --node-rank "$k" --rendezvous "$place" "$@" >"$tmp/node.$k" 2>&1 </dev/null
}
# nodes N ARGS: N of them; their exit codes, from node 0 on, in $codes
nodes() {
    local n=$1 pids=() k
    shift
    another_port
    rm -f "$tmp"/node.*
    for k in $(seq 0 $((n - 1))); do node "$k" --nnodes "$n" "$@" & pids+=($!); done
    codes=
    for k in "${pids[@]}"; do wait "$k"; codes+="$? "; done
    cat "$tmp"/node.* >"$out"
}
says() { grep -qE -- "$2" "$tmp/node.$1"; }
lines() { grep -E '^[0-9]+ of' "$tmp/node.0" | sort | tr '\n' '|'; }
# shellcheck disable=SC2016
who=(sh -c 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on ${HERE:-the first}${XT_SECRET:+, secret}"')
secret=(--secret-file "$tmp/secret")

# --- runs
nodes 3 --nproc-per-node 2 "${secret[@]}" -- "${who[@]}"
check "three nodes of two ranks" [ "$codes$(lines | tr '|' '\n' | cut -d' ' -f1-3 | tr '\n' ' ')" = \
    "0 0 0 0 of 6 1 of 6 2 of 6 3 of 6 4 of 6 5 of 6 " ]
check "who has come is said" says 0 '3 nodes have come in .* s: node 0 \(.*, 127.0.0.1\), node 1 \(.*\), node 2 \('
check "nothing is left" until_so nothing_left
nodes 2 -n 3 "${secret[@]}" -- "${who[@]}"
check "-n is shared out" [ "$codes$(lines | tr '|' '\n' | wc -l)" = "0 0 3" ]
another_port
HERE=a NNODES=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port JOB_COMPLETION_INDEX=2 XT_SECRET=$(cat "$tmp/secret") \
    timeout 100 "$XTRAIN" launch --nnodes 3 -- "${who[@]}" >"$tmp/node.2" 2>&1 </dev/null &
SLURM_NNODES=3 SLURM_NODEID=1 SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_STEP_ID=0 HERE=b \
    node 1 --nnodes 3 "${secret[@]}" -- "${who[@]}" &
HERE=c MASTER_ADDR=127.0.0.1 MASTER_PORT=$port NODE_RANK=0 XT_SECRET=$(cat "$tmp/secret") \
    SLURM_NNODES=3 SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=3 \
    SLURM_STEP_ID=0 timeout 100 "$XTRAIN" launch --rendezvous "$place" -- "${who[@]}" >"$tmp/node.0" 2>&1 </dev/null
check "schedulers' variables, and no rank gets the secret" \
    [ "$?$(lines)" = "00 of 3 on c|1 of 3 on b|2 of 3 on a|" ]
wait
NNODES=1 timeout 100 "$XTRAIN" launch --nproc-per-node 1 --node-rank 0 -- echo alone >"$out" 2>&1
check "one node needs neither place nor secret" [ "$?$(cat "$out")" = 0alone ]

# --- endings
# shellcheck disable=SC2016
nodes 3 "${secret[@]}" -- sh -c '[ $OMPI_COMM_WORLD_RANK = 2 ] && exit 9; sleep 60'
check "a failed rank's code is that of all nodes" [ "$codes" = "9 9 9 " ]
check "which they say" says 1 'node 1: the run has ended with exit code 9'
another_port
program=$BUILD/mnist_multi
start_two() {
    rm -f "$tmp"/node.*
    node 0 --nnodes 2 "${secret[@]}" "$@" & lead=$!
    node 1 --nnodes 2 "${secret[@]}" "$@" & joined=$!
}
launcher_of() { pgrep -o -f "^$XTRAIN launch --node-rank $1 --rendezvous $place"; } # neither timeout nor its child
start_two -- "$program" 8 1000000
until_so says 0 'step [1-9]'
kill -TERM "$(launcher_of 1)"
wait $lead; code=$?
wait $joined
check "a signal of any node ends the run" [ "$code $?" = "143 143" ]
check "which node 0 says" says 0 'Terminated on node 1 \('
another_port
start_two -- "$program" 8 1000000
until_so says 0 'step [1-9]'
kill -9 "$(launcher_of 0)"
wait $joined
check "a killed node 0 ends the others" [ $? = 1 ]
check "which say so" says 1 'node 1 has lost node 0 \(.* it has closed the connection; its ranks are ended'
wait $lead
no_rank() { ! pgrep -f "^$program 8 1000000" >"$tmp/ranks"; }
check "nor does a rank stay" until_so no_rank
"$XTRAIN" launch --host localhost:1 -- true >/dev/null 2>&1 # sweeps, as after any launcher that was killed
check "nor a file" until_so nothing_left

# --- restarts: a node is killed, and its launcher started again
another_port
# shellcheck disable=SC2016
flaky=(--max-restarts 2 -- sh -c 'echo "$OMPI_COMM_WORLD_RANK in $XT_RESTARTS"; [ $XT_RESTARTS = 0 ] && sleep 60; :')
start_two "${flaky[@]}"
until_so says 0 '^1 in 0'
kill -9 "$(launcher_of 1)"
wait $joined
node 1 --nnodes 2 "${secret[@]}" "${flaky[@]}" & joined=$!
wait $lead; code=$?
wait $joined
check "a node that is started again joins the next start" [ "$code $?$(grep -c 'in 1' "$tmp/node.0")" = "0 02" ]
check "which node 0 says" says 0 'node 1 \(.*\) is back'
check "nothing is left of that" until_so nothing_left

# --- refusals
refuse() { # NAME PATTERN ARGS: of one launcher alone, at once
    another_port
    timeout 20 "$XTRAIN" launch --rendezvous "$place" "${@:3}" >"$out" 2>&1 </dev/null
    check "$1" [ "$?$(grep -cE -- "$2" "$out")" = "$want" ]
}
want=11
refuse "no secret" 'a secret, and none is given: .* chmod 600 secret`.* Without one nothing listens' \
    --nnodes 2 --node-rank 0 -- true
XT_SECRET=short refuse "a short one" 'XT_SECRET has a secret of 5 letters, which can be guessed; 16' \
    --nnodes 2 --node-rank 0 -- true
chmod 640 "$tmp/other"
refuse "one that others may read" 'secret-file .*other: others may read it; chmod 600' \
    --nnodes 2 --node-rank 0 --secret-file "$tmp/other" -- true
chmod 600 "$tmp/other"
refuse "none there" 'secret-file.*none: No such file' --nnodes 2 --node-rank 0 --secret-file "$tmp/none" -- true
refuse "another's address" 'listening at 192.0.2.77 port 29500: .* no address of this machine' \
    --nnodes 2 --node-rank 0 "${secret[@]}" --rendezvous 192.0.2.77 -- true
refuse "no program" "running '$tmp/none': No such file" --nnodes 2 --node-rank 0 "${secret[@]}" -- "$tmp/none"
want=21
refuse "a node too many" 'node-rank 2: a number from 0 to 1' --nnodes 2 --node-rank 2 -- true
refuse "no node" 'node-rank: which of the hosts this is' --nnodes 2 -- true
NODE_RANK=x refuse "a variable that is none" 'NODE_RANK x: a number from 0 to 1' --nnodes 2 -- true
refuse "no count" 'nnodes: how many hosts' --node-rank 0 -- true
refuse "a range backwards" 'nnodes 4:2: a number of hosts' --nnodes 4:2 --node-rank 0 -- true
refuse "a port that is none" 'port 0: HOST:PORT' --nnodes 2 --node-rank 0 --rendezvous 127.0.0.1:0 -- true
refuse "two lists" 'say who comes; no list of hosts' --nnodes 2 --host a -- true
timeout 20 "$XTRAIN" launch --secret-file "$tmp/secret" -- true >"$out" 2>&1
check "a secret of nothing" [ "$?$(grep -c 'secret-file goes with --nnodes' "$out")" = 21 ]

# --- what does not belong to the run
another_port
node 0 --nnodes 3 "${secret[@]}" -- true & lead=$!
until_so port_of $port
listens() { awk -v n=":$(printf '%04X' $port)$" '$2 ~ n && $4 == "0A" { print $2 }' /proc/net/tcp | cut -d: -f1; }
check "node 0 listens at its own address alone" [ "$(listens)" = 0100007F ]
{ echo "GET / HTTP/1.0"; head -c 200 /dev/urandom; } 2>/dev/null >"/dev/tcp/127.0.0.1/$port"
node 2 --nnodes 3 --secret-file "$tmp/other" -- true
check "another secret" [ "$?$(grep -c 'node 2: node 0 has another secret' "$tmp/node.2")" = 11 ]
node 2 --nnodes 4 "${secret[@]}" -- true
check "another number of nodes" says 2 'refuses this node: it was started with --nnodes 4:4, node 0 with 3:3'
node 2 --nnodes 3 "${secret[@]}" -- false
check "another program" says 2 "refuses this node: it is to run 'false', node 0 'true'"
(cd "$tmp" && node 2 --nnodes 3 "${secret[@]}" -- true)
check "another folder" says 2 "refuses this node: it was started in $tmp, node 0 in "
node 2 --nnodes 3 -n 6 "${secret[@]}" -- true
check "another way to count ranks" says 2 'refuses this node: it has 0 ranks and node 0 1'
check "noise and a wrong secret are told" says 0 '127.0.0.1 was refused: it does not know the secret'
kill -TERM "$(launcher_of 0)"
wait $lead
check "a signal ends the waiting" [ "$?$(grep -c 'Terminated while it waited for nodes' "$tmp/node.0")" = 1431 ]
another_port
node 1 --nnodes 3 "${secret[@]}" -- true & joined=$! # it waits for node 0
XT_TIMEOUT=5 node 0 --nnodes 3 "${secret[@]}" -- true
code=$?
want="after 5 s \(XT_TIMEOUT\) 2 of 3 nodes have come: node 0 .*node 1 \(.*\); not yet: node 2. On each of them "
check "who has not come is named in time" [ "$code$(grep -cE "${want}the same command" "$tmp/node.0")" = 11 ]
wait $joined
check "and so do those that came" [ "$?$(grep -c 'not all nodes came in time; node 0 says which' "$tmp/node.1")" = 11 ]
another_port
export XT_TIMEOUT=1
node 1 --nnodes 2 "${secret[@]}" -- true
check "nobody at the place is an error in time" \
    [ "$?$(grep -c 'after 1 s (XT_TIMEOUT) node 0 has not answered at 127.0.0.1 .*: Connection refused' \
    "$tmp/node.1")" = 11 ]
check "nothing is left at all" until_so nothing_left
finish
