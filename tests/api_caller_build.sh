# Makes ./api_caller in $tmp, against the library in $BUILD, and cannot use the caller's own folders.
# shellcheck shell=bash
cd "$tmp" || exit 1
export XT_POSTMORTEM=off XT_PROGRESS=off XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_CACHE=on \
    XT_CACHE_DIR=$tmp/cache XT_THREADS=1 HOME=$tmp TMPDIR=$tmp XT_PLUGIN_DIR=$BUILD XT_RUNS_DIR=runs
# A size beyond all memory is refused at once.
[ -z "${ASAN_BUILD:-}" ] || export ASAN_OPTIONS=$ASAN_OPTIONS:max_allocation_size_mb=2048:detect_leaks=1
"$root/tools/entries.py" table "$root/include/xtrain" "$root/src/api/exceptions.txt" "$root/src/base/handle.def" \
    "$root/src/api/unread.txt" \
    >table && python3 "$root/tests/api_caller.py" "$root/include/xtrain" <table >calls.inc
sed -n 's/^HANDLE(\([a-z_]*\),.*/KIND(\1)/p' "$root/src/base/handle.def" >kinds.inc
cp "$root/src/base/live.def" live.inc
"${CC:-cc}" -std=gnu11 -w -g1 ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" -I. \
    "$root/tests/api_caller.c" -o api_caller -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -lm -lpthread
check "the program that calls can be made" [ -x api_caller ]
