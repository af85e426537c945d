#!/bin/bash
# The public functions in random order with random arguments (tests/api_caller.c): sequences that once broke something,
# and the first of those that tests/slow/api_caller.sh makes for ten minutes.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/api_caller_build.sh"
./api_caller --file "$root/tests/api_caller.txt" >out 2>err
check "none of those that were found breaks anything" [ $? = 0 ]
./api_caller --number 40 1 >out 2>err
check "nor do the first forty" [ $? = 0 ]
finish
