#!/bin/bash
# xtrain launch over several hosts: lists of hosts, hosts that do not answer, spare ones, restarts on others, folders
# that hosts do not share, and nothing left behind whatever is killed. The hosts are this machine, reached by an agent
# in place of ssh; mpirun and its daemons are real ones.
set -u
. "$(dirname "$0")/../examples/lib.sh"
command -v mpirun >/dev/null || { echo "no mpirun here: openmpi-bin"; exit 77; }
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$tmp/out err=$tmp/err
cat >"$tmp/agent" <<A
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
host=\$1
shift
[ -e "$tmp/dead.\$host" ] && { echo "ssh: connect to host \$host port 22: No route to host" >&2; exit 255; }
[ -e "$tmp/mute.\$host" ] && sleep 100
AGENT_HOST=\$host exec bash -c "\$*"
A
chmod +x "$tmp/agent"
export OMPI_MCA_plm_rsh_agent=$tmp/agent OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_odls_base_sigkill_timeout=0 XT_SUMMARY=off
say() { timeout 100 "$@" >"$out" 2>"$err" </dev/null; }
# shellcheck disable=SC2016
who=(sh -c 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $AGENT_HOST"')
lines() { sort "$1" | tr '\n' '|'; }
# until_so CONDITION...: at most half a minute
until_so() { for _ in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
says() { grep -qE -- "$1" "$err"; }
# Before something is started in the background: what the one before said must not be taken for its words.
nothing_said() { : >"$out"; : >"$err"; }
export TMPDIR=$tmp/tmpdir # where Open MPI has its sessions, unless it is told better
mkdir "$TMPDIR"
left() { ls -d /dev/shm/xtrain-run-"$(id -u)"-* "$TMPDIR"/* 2>/dev/null; }
left >"$tmp/left" # of others
nothing_left() { [ -z "$(left | grep -vxFf "$tmp/left")" ]; }

# --- lists
launch_file() { printf -- "$1" >"$tmp/hosts" && say "$XTRAIN" launch "${@:2}" --hostfile "$tmp/hosts" -- "${who[@]}"; }
want="0 of 3 on h1|1 of 3 on h1|2 of 3 on h2|"
launch_file '# two hosts\n\nh1 slots=2 max_slots=4 # the first\n\th2 slots = 1\r\n'
check "Open MPI's host file" [ "$(lines "$out")" = "$want" ]
launch_file 'h1:2\nh2:1\n'
check "MPICH's" [ "$(lines "$out")" = "$want" ]
launch_file 'h1\nh2\nh1'
check "a line a slot, as PBS writes it" [ "$(lines "$out")" = "$want" ]
launch_file 'h1\nh2\n' -n 2
check "a plain list" [ "$(lines "$out")" = "0 of 2 on h1|1 of 2 on h2|" ]
say "$XTRAIN" launch -n 3 --host h1,h2 -- "${who[@]}"
check "--host with -n alone: an even share" [ "$(lines "$out")" = "$want" ]
refused() { # refused NAME FILE PATTERN ARGS
    launch_file "$2" "${@:4}"
    check "$1" [ "$?$(grep -cE -- "$3" "$err")$(wc -c <"$out")" = 110 ]
}
refused "no slots and no -n" 'h1\nh2\n' 'how many ranks h1 has room for is not said; -n N, h1:N, or slots=N'
refused "slots that are no number" 'h1 slots=many\n' "hosts:1: 'many' is no number of ranks; 1 to 4096 are expected"
refused "what is not understood" '\nh1 color=red\n' "hosts:2: 'color' is not understood; a host, and slots=N behind it"
refused "an option of the agent's" '-oProxyCommand=x slots=1\n' "hosts:1: '-oProxyCommand=x' is no host"
refused "another" '-F:1\n' "hosts:1: '-F' is no name of a host; letters, digits"
refused "a user" 'me@h1 slots=1\n' "hosts:1: 'me@h1': .* without a user; ~/.ssh/config"
refused "a list in a line" 'h1,h2\n' "hosts:1: 'h1,h2' is no host; a host a line is expected"
refused "a byte of 0" 'h1 slots=1\n\0h2 slots=1\n' 'hosts: byte 11 is 0; a text with a host a line'
refused "control characters" 'h1\033[2J slots=1\n' "hosts:1: 'h1.x1b\[2J' is no name of a host"
refused "one host's slots, line by line" "$(yes 'h1:4000' | head -n 2)\n" 'h1 has 8000 slots with those of the lines be'
refused "the same in two words" 'h1:4096 slots=4096\n' 'hosts:1: h1 has 8192 slots with those of the lines before'
refused "no host" '# none\n' "hosts names no host"
refused "more ranks than room" 'h1 slots=2\n' '-n 3, and the 1 host of the list has room for 2' -n 3
refused "more hosts than there are" 'h1 slots=2\n' '--hosts asks for 2 hosts, and the list has 1' --hosts 2:3
say "$XTRAIN" launch --hostfile "$tmp/none" -- true
check "a file that is not there" [ "$?$(grep -c "hostfile: .*$tmp/none.*No such file" "$err")" = 11 ]
say "$XTRAIN" launch --hostfile "$tmp/hosts" --host h1 -- true
check "two lists" [ "$?$(grep -c 'are both given' "$err")" = 11 ]
for range in 0 4:2 2: x 1:2:3; do
    say "$XTRAIN" launch --host h1:1 --hosts $range -- true
    check "--hosts $range" [ "$?$(grep -c "hosts $range: MIN:MAX is expected" "$err")" = 21 ]
done

# --- hosts that do not answer
printf 'h1 slots=1\nh2 slots=1\nh3 slots=1\nh4 slots=1\n' >"$tmp/hosts"
elastic() { say "$XTRAIN" launch --hostfile "$tmp/hosts" --hosts "$@"; }
touch "$tmp/dead.h1"
elastic 1:2 -- "${who[@]}"
check "goes on with the hosts that answer" [ "$?$(lines "$out")" = "00 of 2 on h2|1 of 2 on h3|" ]
check "and says which" says '2 hosts, 2 ranks: h2, h3; spare: h4; no answer: h1 \(ssh: connect to host h1 .*No route'
say "$XTRAIN" launch --hostfile "$tmp/hosts" -- "${who[@]}"
check "without --hosts all must" [ "$?$(wc -c <"$out")" = 10 ]
check "who does not is named" \
    says '3 of 4 hosts answer, and the run needs 4; no answer: h1 \(.*; with --hosts MIN:MAX it goes on'
touch "$tmp/dead.h2" "$tmp/dead.h3"
XT_TIMEOUT=1 elastic 2:4 -- "${who[@]}"
check "too few" [ "$?$(wc -c <"$out")" = 10 ]
check "after the time limit" says 'after 1 s: 1 of 4 hosts answer, and the run needs 2; no answer: h1 .*h2 .*h3 '
nothing_said
{ until_so says 'waiting for them'; rm "$tmp/dead.h3"; } &
elastic 2:4 -- "${who[@]}"
check "a host that comes is waited for" [ "$?$(lines "$out")" = "00 of 2 on h3|1 of 2 on h4|" ]
touch "$tmp/dead.h3"
nothing_said
timeout 100 "$XTRAIN" launch --hostfile "$tmp/hosts" --hosts 2:4 -- "${who[@]}" >"$out" 2>"$err" </dev/null &
until_so says 'waiting for them'
kill -TERM $! # timeout passes it on
wait $!
check "a signal ends the waiting" [ "$?$(wc -c <"$out")" = 1430 ]
rm "$tmp"/dead.*

# --- restarts on other hosts
# shellcheck disable=SC2016
elastic 2:2 --max-restarts 2 -- sh -c 'echo "$OMPI_COMM_WORLD_RANK on $AGENT_HOST in $XT_RESTARTS" >>"$0/who"
    [ $XT_RESTARTS$AGENT_HOST = 0h2 ] &&
        { until grep -q h1 "$0/who"; do sleep 0.1; done; touch "$0/dead.h2"; kill -9 $$; }
    [ $XT_RESTARTS = 0 ] && sleep 50; :' "$tmp"
check "a spare host takes the place of one that is lost" \
    [ "$?$(lines "$tmp/who" | tr '|' ' ' | sed 's/in 2/in 1/g')" = \
    "00 on h1 in 0 0 on h1 in 1 1 on h2 in 0 1 on h3 in 1 " ] # mpirun itself may need another go
check "which is said" says '2 hosts, 2 ranks: h1, h3; spare: h4; no answer: h2'
rm "$tmp/dead.h2"

# --- mpirun's own end, and a rank's
say "$XTRAIN" launch --host h1:1 -- sh -c 'exit 7'
check "a rank's code is the run's" [ $? = 7 ]
check "and not taken for mpirun's" eval '! says "xtrain launch: mpirun "'
mkdir "$tmp/bin"
broken() { # broken SCRIPT: the run with it as mpirun
    printf '#!/bin/sh\n%s\n' "$1" >"$tmp/bin/mpirun" && chmod +x "$tmp/bin/mpirun"
    PATH=$tmp/bin:$PATH say "$XTRAIN" launch --host h1:1 -- true
}
broken 'echo no daemon >&2; exit 213'
check "mpirun's code is the run's" [ $? = 213 ]
check "and is told as its own" says '^xtrain launch: mpirun ended with exit code 213 and names no rank that failed'
broken 'printf "proc" >&2; sleep 0.2; echo "ess rank 0 with PID 0 on node h1 exited on signal 9" >&2; exit 137'
check "a rank that it names is one" eval '! says "xtrain launch: mpirun "'
broken 'kill -SEGV $$'
check "a signal ends it" [ $? = 139 ]
check "and is told" says '^xtrain launch: mpirun was ended by signal 11 \(Segmentation fault\)'

# --- who stops reading
"$XTRAIN" launch --host h1:1,h2:1 -- sh -c 'for i in $(seq 2000); do echo line $i; done
    echo done >"'"$tmp"'/read.$OMPI_COMM_WORLD_RANK"' 2>"$err" </dev/null | head -n 1 >"$out"
check "who stops reading ends no run" [ "$(cat "$tmp/read.0" "$tmp/read.1" 2>&1 | tr '\n' ' ')" = "done done " ]

# --- nothing is left
check "nothing is left of all this" until_so nothing_left
program=$BUILD/mnist_multi
# The processes of a launch whose name is $2, by the folder of their run that is in their environment.
find_processes() { # LAUNCHER NAME
    for p in $(pgrep -x "$2"); do
        cat "/proc/$p/environ" 2>/dev/null | tr '\0' '\n' | grep -q "^XT_HOSTS_TEST=$1$" && echo "$p"
    done
}
for victim in orted mpirun; do
    export XT_HOSTS_TEST=$victim$$
    nothing_said
    timeout 100 "$XTRAIN" launch --host h1:1,h2:1 -- "$program" 8 1000000 >"$out" 2>"$err" </dev/null &
    until_so grep -q 'step [1-9]' "$out"
    find_processes "$XT_HOSTS_TEST" $victim | head -n 1 | xargs -r kill -9
    wait $!
    check "a killed $victim ends the run" [ $? != 0 ]
    [ $victim = orted ] ||
        check "a killed mpirun is told" says '^xtrain launch: mpirun was killed by SIGKILL: by somebody, .*restarts N'
    for _ in $(seq 100); do [ -z "$(find_processes "$XT_HOSTS_TEST" orted)" ] && break; sleep 0.1; done
    check "killed $victim: no daemon stays" [ -z "$(find_processes "$XT_HOSTS_TEST" orted)" ]
    check "killed $victim: no file stays" until_so nothing_left
done
# The launcher itself, and all with it: the next launch cleans up.
export XT_HOSTS_TEST=all$$
nothing_said
"$XTRAIN" launch --host h1:1,h2:1 -- "$program" 8 1000000 >"$out" 2>"$err" </dev/null &
until_so grep -q 'step [1-9]' "$out"
{ kill -9 $! && find_processes "$XT_HOSTS_TEST" mpirun && find_processes "$XT_HOSTS_TEST" orted; } |
    xargs -r kill -9 2>/dev/null
wait $! 2>/dev/null
for _ in $(seq 100); do [ -z "$(find_processes "$XT_HOSTS_TEST" mnist_multi)" ] && break; sleep 0.1; done
say "$XTRAIN" launch --host h1:1 -- true
check "what a killed launcher left goes with the next" until_so nothing_left
unset XT_HOSTS_TEST

# --- a checkpoint that only one host has
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -std=c11 -D_GNU_SOURCE -I"$root/include" \
    "$root/tests/examples/killed.c" -o "$tmp/killed" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$out" 2>&1
check "the run to be resumed builds" [ $? = 0 ]
mkdir -p "$tmp/h1" "$tmp/h2"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # Open MPI's modules leak, and are unloaded by then
on_both() { # each host in a folder of its own, where the checkpoint has the same name
    # shellcheck disable=SC2016
    KILLED_DIR=files say "$XTRAIN" launch --host h1:1,h2:1 -- sh -c 'cd "$0/$AGENT_HOST" && exec "$@"' "$tmp" \
        "$tmp/killed" "$@"
}
export XT_CACHE=on XT_CACHE_DIR=$tmp/cache
on_both --run_name whole
check "a run on two hosts" [ $? = 0 ]
want=$(grep -o 'weights .*' "$out" | sort)
rm -rf "$tmp"/h?/files
on_both --run_name half --max_steps 140
check "the first half" [ "$?" = 0 -a -e "$tmp/h1/files/last.ckpt" -a ! -e "$tmp/h2/files" ]
cp "$tmp/h1/files/last.ckpt" "$tmp/half"
on_both --run_name half --resume files/last.ckpt
check "the host without the file gets it from the other" \
    says '1 of 2 ranks do not have files/last.ckpt \(rank 1 on host .*; rank 0 on host .* passes it on'
check "and the weights are those of the whole run" [ -n "$want" -a "$(grep -o 'weights .*' "$out" | sort)" = "$want" ]
check "without a trace" [ ! -e "$tmp/h2/files" ]
check "in TMPDIR either" nothing_left
mkdir "$tmp/h2/files"
rm "$tmp/h1/files/last.ckpt"
mv "$tmp/half" "$tmp/h2/files/last.ckpt"
on_both --run_name half --resume files/last.ckpt
check "also where it is rank 0's" [ "$(grep -o 'weights .*' "$out" | sort)" = "$want" ]
rm "$tmp"/h?/files/last.ckpt
on_both --run_name half --resume files/last.ckpt
check "a file that no host has is an error" [ "$?$(grep -c 'No such file' "$err")" -ge 11 ]
finish
