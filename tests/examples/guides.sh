#!/bin/bash
# The guides say what is true: each ```c block is part of a program under examples/, which is run here or in its own
# test; each ```console block is run as it stands, and the lines under a command appear in its output in that order
# (numbers aside; "..." stands for anything). Both languages show the same blocks.
set -u
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${ASAN_BUILD:-}" ] && { echo "the plain build has run the guides' commands"; exit 77; }
export XT_SUMMARY=on
unset XT_RUNS_DIR XT_POSTMORTEM_DIR

# blocks FILE LANGUAGE DIR: each fenced block of that language as a file of its own
blocks() {
    mkdir -p "$3" &&
        awk -v open='```'"$2" -v dir="$3" \
        '$0 == open {on = 1; n++; next} /^```/ {on = 0} on {print > (dir "/" sprintf("%03d", n))}' "$1"
}
# without margins and empty lines, on one line
flat() { sed -E 's/^[[:space:]]+//; /^$/d' "$1" | tr '\n' '\001'; }
# Which phases of a compilation are told depends on how long each took; whether two ranks say the same before the first
# of them ends, on which is quicker.
normal() {
    sed -E 's#[^ "(]*/([a-z_]+\.c:)#\1#g; s/[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/#/g; s/[[:space:]]+/ /g; s/^ //; s/ $//
        s/compile # \([^)]*\)/compile # (phases)/; s/\[ranks #(-#|, #)*\]/[rank #]/g' "$@"
}
programs=$(for f in "$root"/examples/*.c "$root"/examples/guides/*.c "$root"/examples/ray/*.c; do flat "$f"; done)

# session BLOCK: runs its commands in the order given and compares
session() {
    local command='' line ok=1
    : >"$tmp/want"
    compare() {
        [ -n "$command" ] || return 0
        (cd "$work" && timeout 400 bash -c "$command") >"$tmp/out" 2>&1
        normal "$tmp/out" >"$tmp/got"
        normal "$tmp/want" | awk -v got="$tmp/got" -v command="$command" '
            BEGIN {while ((getline line < got) > 0) have[++n] = line}
            $0 == "..." {next}
            {
                open = sub(/ ?\.\.\.$/, "")
                for (i = at + 1; i <= n; i++) if (have[i] == $0 || (open && index(have[i], $0) == 1)) break
                if (i > n) {print "`" command "` does not print: " $0; bad = 1} else at = i
            }
            END {exit bad}' || ok=0
    }
    while IFS= read -r line; do
        case $line in
            '$ '*) compare; command=${line#\$ }; : >"$tmp/want" ;;
            *) printf '%s\n' "$line" >>"$tmp/want" ;;
        esac
    done <"$1"
    compare
    [ $ok = 1 ]
}

work=$tmp/work
mkdir -p "$work"
for f in "$root"/examples/*.c "$root"/examples/guides/*.c; do ln -s "$BUILD/$(basename "$f" .c)" "$work/"; done
ln -s "$BUILD/train_module.so" "$BUILD/remote_module.so" "$work/"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for guide in logging launch memory mesh training throughput; do
    for file in $guide.md $guide.zh-CN.md; do
        for language in c console; do blocks "$root/doc/$file" $language "$tmp/$file/$language"; done
        check "$file starts with what the reader sees go wrong" grep -qE '^## (You see|你看到的)' "$root/doc/$file"
    done
    check "$guide has programs" [ -e "$tmp/$guide.md/c/001" ]
    check "$guide: both languages show the same programs and sessions" diff -r "$tmp/$guide.md" "$tmp/$guide.zh-CN.md"
    for b in "$tmp/$guide.md"/c/*; do
        wanted=$(flat "$b")
        [[ $programs == *"$wanted"* ]]
        check "$guide.md: '$(head -n 1 "$b")' is part of a tested program" [ $? = 0 ]
    done
    for b in "$tmp/$guide.md"/console/*; do
        if grep -q '^\$ mpirun' "$b" && ! command -v mpirun >/dev/null; then
            echo "skip $guide.md: no mpirun here: openmpi-bin"
            continue
        fi
        check "$guide.md: $(head -n 1 "$b")" session "$b"
    done
done
for p in own_loop train_eval; do
    (cd "$work" && "./$p") >"$tmp/out" 2>&1
    check "$p runs" [ $? = 0 ]
done
finish
