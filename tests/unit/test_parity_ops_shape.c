/* Functions of shapes.h that cut, join, repeat, turn and pad, against PyTorch, with gradients. */
#define CASES "ops_shape.def"
#define PARITY "ops_shape"
#define PARITY_TOLERANCE 0
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
