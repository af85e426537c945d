#!/bin/bash
# Each PJRT call of a training loop fails once: the unit test with every seventh, here all (a process each, half a
# minute).
FAULT_EVERY=1 exec "$BUILD/test_device_fault_steps"
