#!/bin/bash
# doc/security.md says that nothing of xtrain opens a socket: no file that is installed asks the C library for one.
. "$(dirname "$0")/../examples/lib.sh"
words='socket|socketpair|bind|listen|accept|accept4|connect'
opens() { nm -D --undefined-only "$1" | sed 's/@.*//' | grep -qwE "$words"; }
printf '#include <sys/socket.h>\nint main(void) { return listen(socket(AF_INET, SOCK_STREAM, 0), 1); }\n' >"$tmp/s.c"
cc -o "$tmp/s" "$tmp/s.c"
check "one that listens is seen" opens "$tmp/s"
for f in libxtrain.so.0 pjrt_plugin_xtrain_cpu.so xtrain; do
    [ -f "$BUILD/$f" ] || continue
    check "$f opens no socket" [ "$(opens "$BUILD/$f" && echo yes)" = "" ]
done
finish
