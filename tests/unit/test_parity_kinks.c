/* Losses, distances and reductions where they have no slope, their gradients against PyTorch's. */
#define CASES "kinks.def"
#define PARITY "kinks"
#define PARITY_TOLERANCE 1e-12
#define PARITY_ABSOLUTE 1e-15
#include "parity_table.h"
