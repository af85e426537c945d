#!/bin/bash
# Each call of each command that changes a file fails once; the unit test tries every third (some ten minutes).
DISK_FAULTS_STRIDE=${DISK_FAULTS_STRIDE:-1} exec bash "$(dirname "$0")/../cli/disk_faults.sh"
