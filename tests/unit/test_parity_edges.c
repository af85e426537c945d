/* Functions of each element, pools, medians and factors at the points where their formulas change, against PyTorch. */
#define CASES "edges.def"
#define PARITY "edges"
/* f32: an ulp or two of the largest */
#define PARITY_TOLERANCE (strstr(r->name, "_f32") ? 5e-7 : 1e-12)
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
