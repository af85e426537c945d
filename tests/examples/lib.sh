# What example tests share: check NAME CONDITION..., and the closing line.
# shellcheck shell=bash
passed=0 failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XT_RUNS_DIR=$tmp/runs XT_SUMMARY=on XT_CACHE=off
check() {
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not so: $name ($*)"
        [ -f "$tmp/out" ] && tail -n 30 "$tmp/out" | sed 's/^/    | /'
    fi
}
# The figure of a summary line: figure FILE 'programs +([0-9]+) compiled'
figure() { sed -nE "s/.*$2.*/\1/p" "$1" | head -n 1; }
finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
}
