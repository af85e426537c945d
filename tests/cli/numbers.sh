#!/bin/bash
# What a stranger types: each option that takes a number, of each command, refuses what is none of its numbers with its
# name, what was found and what is expected; and commands without their arguments say which one is missing.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
# refused TEXT ARGUMENTS...: exit code 2 and one line with the text, before anything is made
refused() {
    local want=$1
    shift
    timeout 60 "$XTRAIN" "$@" >"$tmp/out" 2>&1 </dev/null
    check "xtrain $*: '$want'" [ "$? $(grep -cF -- "$want" "$tmp/out") $(wc -l <"$tmp/out")" = "2 1 1" ]
}
kinds=0
for command in fit validate test predict generate bench plan run launch cache top roofline plot doctor; do
    # "--name N" and the like, from the help: those whose value is a number say so when it is none
    for option in $("$XTRAIN" $command --help 2>/dev/null | sed -nE 's/^  (-[-a-z]+) [A-Z]+ .*/\1/p'); do
        said=$(timeout 60 "$XTRAIN" $command $option no-number 2>&1 </dev/null | grep -F 'is expected;')
        case $said in *"'no-number' is no value for $option:"*) ;; *) continue ;; esac
        kinds=$((kinds + 1))
        values=(-1 nan 1e999 '' 7x)
        case $said in *': a whole number'*) values+=(1.5 99999999999999999999999) ;; esac
        [ -n "${ASAN_BUILD:-}" ] && values=(-1) # one reader has them all; the plain build tries the others
        for value in "${values[@]}"; do
            refused "'$value' is no value for $option: a " $command $option "$value"
        done
    done
done
check "numbers of many options were tried" [ $kinds -gt 60 ]
refused "'0' is no value for --tokens: a whole number from 1 on is expected" generate gpt2-tiny --ckpt x --tokens 0
refused "'-2' is no value for --top-k: a whole number from 0 on is expected" generate gpt2-tiny --ckpt x --top-k -2
refused "'nan' is no value for --temperature: a number from 0 on" generate gpt2-tiny --ckpt x --temperature nan
refused "--prompt is empty" generate gpt2-tiny --ckpt x --prompt ''
refused "--ckpt is needed" generate gpt2-tiny
refused "mnist makes no text" generate mnist --ckpt x
refused "xtrain predict: which model?; mnist, resnet18" predict
refused "xtrain predict: mnits is no model; did you mean mnist?" predict mnits --ckpt x
refused "xtrain predict: --ckpt is needed" predict mnist
refused "--devices is 99999999999; at most 4096" predict mnist --ckpt x --devices 99999999999
refused "'b' is one argument too many" postmortem a b
refused "there is no option --fo" postmortem --fo
finish
