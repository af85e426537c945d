#!/bin/sh
# Configures (when needed) and builds. Sources are found by folder, so a changed list of files means configuring again.
# usage: [TARGETS="NAME ..."] tools/build.sh BUILD_DIR [meson options]    options stay until others are given
set -eu
cd "$(dirname "$0")/.."
dir=$1
shift
for tool in meson ninja cc; do
    command -v $tool >/dev/null 2>&1 || {
        echo "$tool is missing: run 'make deps' (YES=1 make deps installs without asking)" >&2
        exit 1
    }
done
list=$(tools/sources.sh src cli models examples bench tests 2>/dev/null | cksum)
if [ ! -f "$dir/build.ninja" ]; then
    meson setup "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log" >&2; rm -f "$dir.log"; exit 1; }
    mv "$dir.log" "$dir/setup.log"
elif [ $# -gt 0 ] && [ "$*" != "$(cat "$dir/.options" 2>/dev/null)" ]; then
    meson setup --reconfigure "$dir" "$@" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; exit 1; }
elif [ "$list" != "$(cat "$dir/.sources" 2>/dev/null)" ]; then
    meson setup --reconfigure "$dir" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; exit 1; }
fi
echo "$list" >"$dir/.sources"
[ $# = 0 ] || echo "$*" >"$dir/.options"
[ -x "$dir/xtrain" ] || echo "building library, command, examples and tests into $dir/: one to two minutes on two cores"
# shellcheck disable=SC2086
[ -t 1 ] && exec ninja -C "$dir" ${TARGETS:-} # one line that counts
# Elsewhere a line for each tenth of it; what is said besides progress is said there too.
rc=$dir/.failed
rm -f "$rc"
{ NINJA_STATUS='[%f/%t] ' ninja -C "$dir" ${TARGETS:-} 2>&1 || echo $? >"$rc"; } | {
    tenth=0
    while IFS= read -r line; do
        case $line in
        '['*/*'] '*)
            counts=${line%%]*}
            n=${counts%/*} all=${counts#*/}
            n=${n#[}
            if [ "$all" -ge 50 ] && [ $((n * 10 / all)) -gt $tenth ]; then
                tenth=$((n * 10 / all))
                echo "built $n of $all"
            fi
            ;;
        'ninja: '[En]*) ;; # entering a directory, no work to do
        *) printf '%s\n' "$line" ;;
        esac
    done
}
[ ! -f "$rc" ] || exit "$(cat "$rc")"
