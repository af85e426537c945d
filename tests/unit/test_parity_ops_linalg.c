/* Linear algebra, attention, complex numbers and Fourier transforms against PyTorch, with gradients. */
#define CASES "ops_linalg.def"
#define PARITY "ops_linalg"
#define PARITY_TOLERANCE 0
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
