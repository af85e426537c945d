#!/bin/bash
# Compares the walk of doc/architecture.md with the tree: files under src/ that no name or pattern in backticks covers, and names there that no file has. Prints nothing when they agree.
set -u
cd "$(dirname "$0")/.."
words=$(grep -oE '`[^` ]+`' doc/architecture.md | tr -d '`' | sort -u)
covered() {
    local w
    for w in $words; do
        # shellcheck disable=SC2053  # words are patterns
        [[ $1 == $w || ${1%.*}.c == $w ]] && return 0
    done
    return 1
}
for d in src/*/; do
    grep -q "\`${d%/}\`" doc/architecture.md || echo "folder without a place in the walk: ${d%/}"
    for f in "$d"*; do
        [ "$f" = "$d$(basename "$d").h" ] || covered "$(basename "$f")" || echo "not in the walk: $f"
    done
done
for w in $words; do
    case $w in
        ?*.c | ?*.h | *.def | *.inc | *.sh | *.py | *.map) compgen -G "$w" >/dev/null || [ -n "$(find . -path ./build -prune -o -path "*/$w" -print -quit)" ] || echo "no such file: $w" ;;
    esac
done
