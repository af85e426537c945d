/* Reading and writing at indices against PyTorch, with gradients. */
#define CASES "ops_index.def"
#define PARITY "ops_index"
#define PARITY_TOLERANCE 0
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
