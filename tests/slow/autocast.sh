#!/bin/bash
# tests/cli/autocast.sh with more seeds.
AUTOCAST=${AUTOCAST:-200} AUTOCAST_FIRST=${AUTOCAST_FIRST:-100} bash "$(dirname "$0")/../cli/autocast.sh"
