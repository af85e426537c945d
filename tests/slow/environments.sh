#!/bin/bash
# Every unit test in every environment of tests/environments.txt.
set -u
names=$(sed -n 's/^\([a-z][^ ]*\) .*/environment:\1/p' tests/environments.txt)
tests/run.sh "$BUILD" $names
