#!/bin/bash
# xtrain generate --serve: completions over HTTP, a hundred clients at a time, clients that are slow, gone or hostile,
# and its end by a signal. Skipped where libmicrohttpd is not there.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
# What the address sanitizer keeps of freed memory looks like growth.
export ASAN_OPTIONS=quarantine_size_mb=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}
cd "$tmp" || exit 1
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
"$XTRAIN" fit gpt2-tiny --data text.txt --layers 2 --width 32 --heads 2 --context 96 --seq 32 --batch 8 --steps 40 \
    --lr 0.01 --sample 0 --ckpt ours >out 2>&1
check "a small model is trained" [ $? = 0 ]
begin() { # its port is $port
    : >log # what the server before said is not read as this one's
    "$XTRAIN" generate gpt2-tiny --ckpt ours --serve 0 --batch 6 "$@" >log 2>err &
    pid=$!
    port=
    for _ in $(seq 300); do
        port=$(sed -n 's/^listening on http:..127.0.0.1:\([0-9]*\).*/\1/p' log)
        [ -z "$port" ] && kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
}
begin --chat-template chatml
if [ -z "$port" ] && grep -q libmicrohttpd err; then
    wait $pid
    check "it says what is missing" [ $? = 1 ]
    [ $failed = 0 ] || finish
    echo "libmicrohttpd is not there"
    exit 77
fi
check "it listens" [ -n "$port" ]
for prompt in 'line 1' 'line 22 of a text' x 'line 7 of'; do
    "$XTRAIN" generate gpt2-tiny --ckpt ours --prompt "$prompt" --tokens 30 --temperature 0 --json
done >want 2>out
chat=$'<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nline 1<|im_end|>\n<|im_start|>assistant\n'
"$XTRAIN" generate gpt2-tiny --ckpt ours --prompt "$chat" --tokens 20 --temperature 0 --stop '<|im_end|>' --json \
    >want_chat 2>out
check "what a conversation comes to" [ $? = 0 ]
"$XTRAIN" generate gpt2-tiny --ckpt ours --serve "$port" >out 2>&1
check "a port that is taken is an error" [ "$?$(grep -c "port $port of 127.0.0.1 cannot be had" out)" = 11 ]
python3 "$here/serve.py" "$port" $pid want want_chat >out 2>&1
check "clients of all kinds" [ $? = 0 ]
grep -q Traceback out && kill $pid # which nobody else does then
wait $pid
check "it ended well, by SIGTERM" [ $? = 0 ]
cat err >>out
check "and said nothing" [ ! -s err ]
begin
kill -INT $pid
wait $pid
check "with nobody there, by SIGINT" [ $? = 0 ]
finish
