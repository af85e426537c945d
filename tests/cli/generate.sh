#!/bin/bash
# xtrain generate: several prompts at a time, words that end a text, log-probabilities, and what is refused.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
sizes=(--layers 2 --width 32 --heads 2 --context 96)
"$XTRAIN" fit gpt2-tiny --data text.txt "${sizes[@]}" --seq 32 --batch 8 --steps 60 --lr 0.01 --sample 0 --ckpt ours \
    >out 2>&1
check "a small model is trained" [ $? = 0 ]
say() { "$XTRAIN" generate gpt2-tiny --ckpt ours --tokens 30 "$@" 2>err; }
printf 'line 1\n\nline 22 of a\nx\nline 7 of a text, 4\n' >prompts
field() { python3 -c 'import json, sys
for line in open(sys.argv[1]):
    print(json.dumps(json.loads(line)[sys.argv[2]]))' "$@"; }

# Each of several as it is alone, greedy and drawn, whatever goes on beside it.
for how in "--temperature 0" "--temperature 0.9 --top-p 0.9 --seed 4" \
    "--top-k 20 --min-p 0.02 --repetition-penalty 1.1"; do
    # shellcheck disable=SC2086
    grep . prompts | while IFS= read -r prompt; do say --prompt "$prompt" $how --json; done >alone
    for batch in 1 3 8; do
        # shellcheck disable=SC2086
        say --prompts prompts --batch $batch $how --json >together
        check "four prompts, $batch at a time ($how)" [ "$(wc -l <together)" = 4 ]
        check "each has the text that it has alone" [ "$(field alone text)" = "$(field together text)" ]
    done
done
# A rate needs three tokens; the last output is of several, the next of one.
speeds() { python3 -c 'import json, sys
lines = [json.loads(line) for line in sys.stdin]
rate = lambda o: o["tokens_per_s"] is None if o["tokens"] < 3 else o["tokens_per_s"] > 0
sys.exit(not (lines and all(rate(o) and o["prompt_seconds"] > 0 for o in lines)))'; }
check "each of several has speeds of its own" speeds <together
check "and all together" grep -qE '^4 texts, 4 at a time: [0-9]+ tokens, [1-9][0-9.]* tokens/s; the prompt' err
say --prompt 'line 1' --json >one
check "one has its speeds" speeds <one
check "told on stderr, too" grep -qE '^[0-9]+ tokens, [1-9][0-9.]* tokens/s; the prompt' err
say --prompt 'line 1' --tokens 1 --json >one
check "one token has no rate" speeds <one
say --prompt 'line 1' --prompt x --temperature 0 >two
check "two prompts as text, in their order" [ "$(head -c 6 two)$(grep -o '^x' two | tail -n 1)" = "line 1x" ]

# A word ends the text in front of it, wherever tokens end.
say --prompt 'line 1' --temperature 0 --json >whole
text=$(python3 -c 'import json; print(json.load(open("whole"))["text"])')
word=${text:5:3} before=${text:0:5}
case $before in *"$word"*) before=${before%%"$word"*} ;; esac
say --prompt 'line 1' --temperature 0 --stop "$word" --json >stopped
check "the text ends in front of the word" [ "$(field stopped text)" = "\"$before\"" ]
check "and no more tokens are made" [ "$(field stopped tokens)" -lt 30 ]
say --prompt 'line 1' --temperature 0 --stop "$word" >printed
check "as it is printed" [ "$(cat printed)" = "line 1$before" ]
say --prompt 'line 1' --temperature 0 --stop "${word}#" >printed
check "what only began like it is there" [ "$(cat printed)" = "line 1$text" ]

# Narrower weights: near those of f32, as the log-probabilities of the same first token say.
for weights in f32 bf16 f16 int8 int4; do
    say --prompt 'line 1' --temperature 0 --tokens 5 --logprobs --weights $weights --json >$weights
    check "--weights $weights" [ $? = 0 ]
    check "near f32" python3 - f32 $weights <<'NEAR'
import json, sys
f32, narrow = (json.load(open(name))["logprobs"][0] for name in sys.argv[1:])
assert abs(f32 - narrow) < 0.3, (f32, narrow)
NEAR
done
for cache in f32 f16 bf16; do
    say --prompt 'line 1' --temperature 0 --tokens 5 --logprobs --kv-cache $cache --json >cache.$cache
    check "--kv-cache $cache" python3 - f32 cache.$cache <<'NEAR'
import json, sys
f32, narrow = (json.load(open(name))["logprobs"] for name in sys.argv[1:])
assert max(abs(a - b) for a, b in zip(f32, narrow)) < 0.03, (f32, narrow)
NEAR
done
check "f32 is the cache of such weights" [ "$(field cache.f32 logprobs)" = "$(field f32 logprobs)" ]
check "f16 are other numbers" [ "$(field cache.f16 logprobs)" != "$(field f32 logprobs)" ]
say --prompt 'line 1' --temperature 0 --tokens 5 --logprobs --weights int8 --kv-cache f16 --json >cache.int8
check "f16 is the cache of narrower weights" [ "$(field cache.int8 logprobs)" = "$(field int8 logprobs)" ]
check "int4 are other numbers" [ "$(field int4 logprobs)" != "$(field f32 logprobs)" ]

say --prompt 'line 1' --temperature 0 --tokens 5 --logprobs --json >probable
check "a log-probability for each token" \
    python3 -c 'import json; p = json.load(open("probable"))["logprobs"]; assert len(p) == 5 and max(p) <= 0'
refused() { # text arguments...
    local said=$1
    shift
    say "$@" >out
    check "$* is refused" [ "$?$(grep -c -- "$said" err)" = 21 ]
}
# The folder by itself is a model, as those of other families; an explicit 0 is 0.
say --prompt 'line 1' --temperature 0 >greedy
"$XTRAIN" generate ours --prompt 'line 1' --temperature 0 --tokens 30 >whole 2>err
check "a GPT-2's folder" cmp greedy whole
say --prompt 'line 1' --temperature 2 --top-p 0 >zero
check "--top-p 0 is the likeliest" cmp greedy zero
say --prompts prompts --tokens 2 >out
check "an empty line is no prompt, and told" grep -q '1 empty line of prompts is no prompt' err
"$XTRAIN" generate nothere >out 2>&1
check "a folder that is not there" [ "$?$(grep -c 'nothere is no text model and no folder' out)" = 21 ]
refused "repetition-penalty is above 0" --repetition-penalty 0
refused "top-p is from 0 to 1" --top-p 1.5
refused "kv-cache is f32, f16 or bf16" --kv-cache int8
refused "kv-cache is f32, f16 or bf16" --kv-cache f64
refused "min-p is from 0 to 1" --min-p 2
refused "f32, bf16, f16, int8 or int4" --weights int3
refused "--stop is empty" --stop ''
say --prompts none >out
check "a file that is not there is named" [ "$?$(grep -c none err)" = 11 ]
finish
