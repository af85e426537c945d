#!/bin/bash
# Compares the walk of doc/architecture.md with the tree: files under src/ that no name or pattern in backticks covers,
# and names there that no file has. A folder with rooms has an item for each, which begins with its name
# ("- `thread/`: ..."); the files of a room stand in its own item. Prints nothing when they agree.
set -u
cd "$(dirname "$0")/.."
words=$(grep -oE '`[^` ]+`' doc/architecture.md | tr -d '`' | sort -u)
# Lines "src/cpu/thread/ team.c": the words of each room's item.
rooms=$(awk '
    /^### / { folder = match($0, /`src\/[a-z_]+`/) ? substr($0, RSTART + 1, RLENGTH - 2) : ""; room = "" }
    /^- / { room = match($0, /^- `[a-z_\/]+\/`/) ? substr($0, 4, RLENGTH - 4) : "" }
    /^$/ { room = "" }
    room != "" && folder != "" {
        line = $0
        while (match(line, /`[^` ]+`/)) {
            print folder "/" room " " substr(line, RSTART + 1, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
        }
    }' doc/architecture.md)
covered() { # NAME WORD ...
    local name=$1 w
    shift
    for w in "$@"; do
        # shellcheck disable=SC2053  # words are patterns
        [[ $name == $w || ${name%.*}.c == $w ]] && return 0
    done
    return 1
}
for d in src/*/; do
    grep -q "\`${d%/}\`" doc/architecture.md || echo "folder without a place in the walk: ${d%/}"
    for f in "$d"*; do
        # shellcheck disable=SC2086
        [ -d "$f" ] || [ "$f" = "$d$(basename "$d").h" ] || covered "$(basename "$f")" $words ||
            echo "not in the walk: $f"
    done
done
while IFS= read -r f; do
    room=$(dirname "$f")/
    # shellcheck disable=SC2046
    covered "$(basename "$f")" $(awk -v r="$room" '$1 == r { print $2 }' <<<"$rooms") ||
        echo "not in the walk, in the item of its room: $f"
done < <(find src -mindepth 3 -type f | LC_ALL=C sort)
while read -r room; do
    [ -d "$room" ] || echo "no such room: $room"
done < <(cut -d' ' -f1 <<<"$rooms" | sort -u | grep .)
for w in $words; do
    case $w in
        ?*.c | ?*.h | *.def | *.inc | *.sh | *.py | *.map) compgen -G "$w" >/dev/null ||
            [ -n "$(find . -path ./build -prune -o -path "*/$w" -print -quit)" ] || echo "no such file: $w" ;;
    esac
done
