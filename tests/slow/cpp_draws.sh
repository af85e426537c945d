#!/bin/bash
# tests/cli/cpp_draws.sh with more programs.
DRAWS=${DRAWS:-12} DRAWS_FIRST=${DRAWS_FIRST:-100} bash "$(dirname "$0")/../cli/cpp_draws.sh"
