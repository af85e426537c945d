#!/bin/bash
# xtrain generate --serve among hostile clients (serve_abuse.py): changed and cut requests, a thousand connections,
# clients that go in the middle of an answer, and a SIGTERM with all of it under way. SERVE_SECONDS: how long.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off ASAN_OPTIONS=quarantine_size_mb=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}
cd "$tmp" || exit 1
ulimit -n "$(ulimit -Hn)"
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
"$XTRAIN" fit gpt2-tiny --data text.txt --layers 2 --width 32 --heads 2 --context 96 --seq 32 --batch 8 --steps 40 \
    --lr 0.01 --sample 0 --ckpt ours >out 2>&1
check "a small model is trained" [ $? = 0 ]
"$XTRAIN" generate gpt2-tiny --ckpt ours --prompt "line 1" --tokens 30 --temperature 0 --json >want 2>out
check "what is to be said" [ $? = 0 ]
"$XTRAIN" generate gpt2-tiny --ckpt ours --serve 0 --batch 6 --chat-template chatml >log 2>err &
pid=$!
port=
for _ in $(seq 300); do
    port=$(sed -n 's/^listening on http:..127.0.0.1:\([0-9]*\).*/\1/p' log)
    [ -z "$port" ] && kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
if [ -z "$port" ] && grep -q libmicrohttpd err; then
    echo "libmicrohttpd is not there"
    exit 77
fi
timeout 300 python3 "$here/serve_abuse.py" "$port" $pid "${SERVE_SECONDS:-15}" want >out 2>&1
check "hostile clients" [ $? = 0 ]
grep '^answers' out
kill $pid 2>/dev/null
wait $pid
check "it ended well" [ $? = 0 ]
cat err >>out
check "and said nothing" [ ! -s err ]
finish
