/* Reductions, scans and sorting of reductions.h against PyTorch, with gradients. */
#define CASES "ops_reduce.def"
#define PARITY "ops_reduce"
#define PARITY_TOLERANCE 0
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
