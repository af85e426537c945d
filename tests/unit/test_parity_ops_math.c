/* Elementwise functions and activations of elementwise.h against PyTorch, with gradients. */
#define CASES "ops_math.def"
#define PARITY "ops_math"
#define PARITY_TOLERANCE 0
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
