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
        [ -s "$tmp/err" ] && tail -n 30 "$tmp/err" | sed 's/^/    ! /'
    fi
}
# What stands in /dev/shm under our names that nobody alive uses: what other tests run beside this one is not meant.
shm_left() {
    local f
    for f in /dev/shm/xtrain-*; do
        [ -e "$f" ] || continue
        if [ -d "$f" ]; then
            [ -e "$f/lock" ] && ! flock -n "$f/lock" true && continue
        else
            grep -lqs -- "$f" /proc/[0-9]*/maps && continue
        fi
        [ -e "$f" ] && echo "${f#/dev/shm/}"
    done
}
# $python: one that has some modules, by a variable or from PATH; without them the test is skipped:
# python_with HF_PYTHON torch transformers
python_with() {
    local variable=$1 names
    shift
    python=${!variable:-python3}
    names=$(printf ', %s' "$@")
    "$python" -c "import ${names#, }" >"$tmp/out" 2>&1 && return
    echo "${names#, } are needed: $variable names a Python with them ($(tail -n 1 "$tmp/out"))"
    exit 77
}
# The figure of a summary line: figure FILE 'programs +([0-9]+) compiled'
figure() { sed -nE "s/.*$2.*/\1/p" "$1" | head -n 1; }
finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
}
# Builds tests/examples/NAME.c as $tmp/ranks.
ranks_program() {
    cc ${ASAN_BUILD:+-fsanitize=address,undefined} -std=c11 -D_GNU_SOURCE -I"$root/include" \
        "$root/tests/examples/$1.c" -o "$tmp/ranks" -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
    check "the program builds" [ $? = 0 ]
}
