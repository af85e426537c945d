#!/bin/bash
# The benchmark's JAX programs give what they give on XLA's CPU compiler. How fast is `make bench-programs`'s business.
exec bench/programs/run.sh "$BUILD" --check
