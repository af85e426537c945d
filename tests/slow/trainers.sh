#!/bin/bash
# tests/cli/trainers.sh with more seeds.
TRAINERS=${TRAINERS:-400} TRAINERS_FIRST=${TRAINERS_FIRST:-100} bash "$(dirname "$0")/../cli/trainers.sh"
