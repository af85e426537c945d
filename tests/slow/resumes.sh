#!/bin/bash
# tests/cli/resumes.sh with more seeds.
RESUMES=${RESUMES:-300} RESUMES_FIRST=${RESUMES_FIRST:-100} bash "$(dirname "$0")/../cli/resumes.sh"
