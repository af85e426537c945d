/* Products of sparse matrices beside torch.sparse.mm, with gradients; f64 to 12 digits. */
#define CASES "sparse.def"
#define PARITY "sparse"
#define PARITY_TOLERANCE (strstr(r->name, "_f32") ? 1e-6 : 1e-12)
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
