#!/bin/bash
# What a training step of two hosts takes over a slow cable, beside its computing alone and its bytes alone: two network
# namespaces, one rank of one thread in each, build/slow_link between them. As root, with mpirun, on a machine with at
# least two idle cores (the cable's own work takes a tenth of one).
# usage: overlap.sh BUILD [MODEL [BATCHES [STRATEGIES]]]
# DELAY and RATE: the cable's, in ms and Mbit/s (1, 1000). STEPS: of each run (14).
set -u
BUILD=$(cd "$1" && pwd) model=${2:-gpt2-mini} batches=${3:-8 16 32} strategies=${4:-ddp fsdp} rate=${RATE:-1000}
tmp=$(mktemp -d)
a=xo$$a b=xo$$b
clean() {
    kill "$cable" 2>/dev/null
    ip netns del $a
    ip netns del $b
    rm -rf "$tmp"
} 2>/dev/null
trap clean EXIT
ip netns add $a && ip netns add $b || { echo "network namespaces are not permitted here"; exit 77; }
"$BUILD/slow_link" $a $b --delay "${DELAY:-1}" --rate "$rate" >"$tmp/cable" &
cable=$!
until grep -q ready "$tmp/cable"; do kill -0 $cable 2>/dev/null || exit 77; sleep 0.05; done
ip -n $a addr add 10.88.0.1/24 dev link0 && ip -n $b addr add 10.88.0.2/24 dev link0 || exit 1
for n in $a $b; do ip -n $n link set lo up && ip -n $n link set link0 up mtu 65000 txqueuelen 10000; done
cat >"$tmp/agent" <<E2
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
shift
exec ip netns exec $b unshare -u bash -c 'hostname host-b; exec bash -c "\$0"' "\$*"
E2
chmod +x "$tmp/agent"
export XT_PLUGIN_DIR=$BUILD LD_LIBRARY_PATH=$BUILD XT_THREADS=1 XT_CACHE=off OMPI_MCA_plm_rsh_agent=$tmp/agent \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_tcp_if_include=link0 \
    OMPI_MCA_oob_tcp_if_include=link0
cd "$tmp" || exit 1
fit=("$BUILD/xtrain" fit "$model" --steps "${STEPS:-14}")
ms() { sed -nE 's/.*throughput of the last .*\(p50 ([0-9.]+),.*/\1/p' "$1" | head -n 1; }
sent() { ip netns exec $a cat /proc/net/dev | awk '/link0/ { print $10 }'; }
printf '%-8s %6s %12s %14s %12s %8s\n' strategy batch "step, ms" "computing, ms" "cable, ms" "of more"
for batch in $batches; do
    for core in 0 1; do # both at once: they share the memory as the ranks do
        taskset -c $core "${fit[@]}" --batch "$batch" >"$tmp/alone$core" 2>&1 &
        alone[core]=$!
    done
    wait "${alone[@]}"
    for strategy in $strategies; do
        before=$(sent)
        ip netns exec $a unshare -u bash -c 'hostname host-a; exec "$@"' _ \
            mpirun --bind-to none --host 10.88.0.1:1,10.88.0.2:1 -np 2 -x XT_PLUGIN_DIR -x LD_LIBRARY_PATH \
            -x XT_THREADS -x XT_CACHE "${fit[@]}" --batch "$batch" --strategy "$strategy" </dev/null >"$tmp/out" 2>&1 ||
            { tail -n 5 "$tmp/out"; exit 1; }
        awk -v step="$(ms "$tmp/out")" -v x="$(ms "$tmp/alone0")" -v y="$(ms "$tmp/alone1")" -v rate="$rate" \
            -v bytes=$(($(sent) - before)) -v steps="${STEPS:-14}" -v s="$strategy" -v batch="$batch" 'BEGIN {
                computing = x > y ? x : y
                cable = bytes * 8 / steps / rate / 1000
                more = computing > cable ? computing : cable
                printf "%-8s %6d %12.0f %14.0f %12.0f %8.2f\n", s, batch, step, computing, cable, step / more
            }'
    done
done
