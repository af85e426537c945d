#!/bin/bash
# tests/cli/ranks_options.sh with more seeds.
RANKS_OPTIONS=${RANKS_OPTIONS:-300} RANKS_OPTIONS_FIRST=${RANKS_OPTIONS_FIRST:-100} \
    bash "$(dirname "$0")/../cli/ranks_options.sh"
