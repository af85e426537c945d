# What the tests of commands share: the command, a scratch folder, counts. Source it.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
xtrain=$(realpath "${XTRAIN:-build/xtrain}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# expect NAME CODE PATTERN COMMAND...: exit code, and a line of the output that matches
expect() {
    local name=$1 code=$2 pattern=$3 out rc
    shift 3
    out=$("$@" 2>&1 | tr -d '\0'; exit "${PIPESTATUS[0]}")
    rc=$?
    if [ $rc = "$code" ] && grep -aqE -- "$pattern" <<<"$out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: exit %d (expected %d), no line like "%s" in:\n%s\n' "$name" $rc "$code" "$pattern" "$out"
    fi
}
