#!/bin/sh
# Lists the C sources of the folders given, sorted: the build takes every file that is there, so a new component needs
# no list edited.
# usage: tools/sources.sh FOLDER ...
set -eu
cd "$(dirname "$0")/.."
for d in "$@"; do [ -d "$d" ] && find "$d" -name '*.c' ; done | LC_ALL=C sort
