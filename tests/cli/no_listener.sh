#!/bin/bash
# doc/security.md says who opens a socket: neither the library nor the plugin asks the C library for one, and of the
# command only what `launch --nnodes` needs (cli/nodes; cli/nodes.sh: without a secret that listens nowhere).
. "$(dirname "$0")/../examples/lib.sh"
words='socket|socketpair|bind|listen|accept|accept4|connect'
opens() { # FILE [-D]: of a shared object -D
    nm --undefined-only "${2:---undefined-only}" "$1" | sed 's/@.*//' | grep -qwE "$words"
}
printf '#include <sys/socket.h>\nint main(void) { return listen(socket(AF_INET, SOCK_STREAM, 0), 1); }\n' >"$tmp/s.c"
cc -o "$tmp/s" "$tmp/s.c"
check "one that listens is seen" opens "$tmp/s" -D
for f in libxtrain.so.0 pjrt_plugin_xtrain_cpu.so; do
    [ -f "$BUILD/$f" ] || continue
    check "$f opens no socket" [ "$(opens "$BUILD/$f" -D && echo yes)" = "" ]
done
for o in "$BUILD"/xtrain.p/*.o; do opens "$o" && echo "${o##*/}"; done >"$tmp/openers"
check "of the command only cli/nodes" [ "$(grep -vc '^cli_nodes_' "$tmp/openers")$(grep -c . "$tmp/openers")" = 05 ]
finish
