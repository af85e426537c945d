#!/bin/bash
# xtrain bench: the keys of its JSON, the roofline, the profile, a loader beside the steps, and what is refused. No
# figure is judged.
set -u
. "$(dirname "$0")/expect.sh"
# keys FILE KEY...: the last line is a JSON object with these
keys() {
    local file=$1 key line
    shift
    line=$(tail -n 1 "$file")
    for key in "$@"; do
        if [[ $line == "{"*"\"$key\":"*"}" ]]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL no key $key in: $line"
        fi
    done
}

"$xtrain" bench mnist --batch 8 --steps 5 --json >"$tmp/plain" 2>&1
keys "$tmp/plain" model batch precision device loader ms_median ms_p99 ms_min samples_per_s tokens_per_s \
    start_to_first_step_ms compile_ms compiles peak_rss_mib device_peak_mib temp_mib loss_first loss_last
"$xtrain" bench gpt2-tiny --layers 1 --width 32 --heads 2 --batch 2 --seq 16 --steps 5 --hottest 3 \
    --json >"$tmp/hot" 2>&1
keys "$tmp/hot" roofline f32_gflops bf16_gflops triad thunks_ms thunks us \
    share gflops gbs roofline_percent kernel op result
expect context-as-vocabulary 0 '"loss_last": [0-9.]+' "$xtrain" bench gpt2-tiny --layers 1 --width 16 --heads 2 \
    --batch 1 --context 256 --seq 256 --steps 1 --json
expect three 0 '^3$' grep -o '"roofline_percent"' -c <(grep -o '"roofline_percent"' "$tmp/hot")
expect loader 0 '"loader": true' "$xtrain" bench mnist --batch 8 --steps 5 --loader --json
expect table 0 'GB/s over .* MiB$' "$xtrain" bench mnist --batch 8 --steps 2 --roofline
expect dearest 0 'the dearest:' "$xtrain" bench mnist --batch 8 --steps 2 --hottest 2
expect side 0 'resnet18, batch 4' "$xtrain" bench resnet18 --side 32 --batch 4 --steps 1
expect help 0 'xtrain bench gpt2 --hottest 10' "$xtrain" bench --help
expect sweep 0 '"fastest_batch": (8|16), .*"batch": 8, "ran": true.*"batch": 16, "ran": true' "$xtrain" bench mnist \
    --sweep batch=8,16 --steps 2 --json
# Doubling says why it ended: at a batch that does not fit, or because two in a row were slower.
expect doubling 0 '^stopped: (batch [0-9]+ did not run|two sizes in a row are slower than batch [0-9]+)' \
    env XT_MEMORY_LIMIT=20M "$xtrain" bench mnist --sweep batch= --steps 2
# A batch that does not fit is a row, and leaves nothing where the command runs (a run of its own leaves its report).
mkdir "$tmp/fits"
for one in "--sweep batch=8,8192" "--batch 8192"; do
    expect "no room: $one" "$([[ $one == --sweep* ]] && echo 0 || echo 1)" '8192  did not run|out of device memory' \
        env -u XT_POSTMORTEM_DIR -u XT_POSTMORTEM XT_MEMORY_LIMIT=30M \
        bash -c 'cd "$1" && shift && exec "$@"' - "$tmp/fits" "$(realpath "$xtrain")" bench mnist $one --steps 2
    expect "left by $one" 0 "$([[ $one == --sweep* ]] && echo '^0$' || echo '^1$')" \
        bash -c 'ls "$1" | grep -c xt-crash || true' - "$tmp/fits"
done
expect sweep-of-what 2 '--sweep is batch=8,16,32' "$xtrain" bench mnist --sweep depth=3
expect model 2 'a model .* needed' "$xtrain" bench gpt5
expect option 2 'mnist has no option layers' "$xtrain" bench mnist --layers 2

# The program that runs them all.
all=$(dirname "$xtrain")/xtrain_bench
"$all" --only start,dispatch --rows mnist-128 --quick --json - >"$tmp/all" 2>&1
keys "$tmp/all" processor processors xtrain start row empty_ms second_ms second_compile_ms dispatch what median_us \
    p99_us
expect no-peers 0 '"eager":null.*"ratio":null' "$all" --only steps --rows mnist-32 --rounds 1 --peers "$tmp" --json -
expect usage 2 'usage: xtrain_bench' "$all" --nothing

# Tables and picture of doc/benchmarks.md are those of the figures that it names.
chart=$(dirname "$xtrain")/steps_chart
figures=doc/$(grep -oE 'measurements/[0-9-]+-steps\.json' doc/benchmarks.md | head -n 1)
expect picture 0 '' "$chart" "$figures" --same doc/pictures/steps.png
sed 's/"ms_median": 5/"ms_median": 7/' "$figures" >"$tmp/other.json"
expect another-picture 1 'steps.png is not of these figures' "$chart" "$tmp/other.json" --same doc/pictures/steps.png
expect table 0 '^\| GPT-2 124M, 4 x 64, f32 \|' "$chart" "$figures" --table
"$chart" "$figures" --table >"$tmp/tables"
while IFS= read -r row; do
    for document in doc/benchmarks.md doc/benchmarks.zh-CN.md; do
        expect "$document has the row of $figures" 0 '' grep -xF -- "$row" "$document"
    done
done < <(grep -E '^\| [^|]*, (f32|bf16) \|' "$tmp/tables")
expect rows-of-tables 0 '^[1-9][0-9]$' grep -cE '^\| [^|]*, (f32|bf16) \|' "$tmp/tables"
"$all" --only steps --rows mnist-32 --rounds 1 --json "$tmp/alone.json" >"$tmp/out" 2>&1
keys "$tmp/alone.json" label commit date
expect nothing-beside 1 'no row has a step of xtrain and one of a peer' "$chart" "$tmp/alone.json" --png "$tmp/x.png"
expect own-row 0 '^\| MNIST net, 32, f32 \| [0-9.]+ \([0-9.]+\)( \| -){5} \|$' "$chart" "$tmp/alone.json" --table
echo '{"steps": 3' >"$tmp/cut.json"
expect cut 1 'has no steps; wanted: the figures of' "$chart" "$tmp/cut.json" --table
expect absent 1 'nowhere.json' "$chart" "$tmp/nowhere.json" --table
expect chart-usage 2 'usage: steps_chart' "$chart" "$figures" --pdf

echo "$passed passed, $failed failed"
[ $failed = 0 ]
