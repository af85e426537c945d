/* torch.special: Bessel functions, polynomials, the incomplete gamma function; PyTorch's digits, of which f64 has 10.
 */
#define DEGREES(fn)                                                           \
    xt_tensor p[5] = {fn(*x, 0), fn(*x, 1), fn(*x, 2), fn(*x, 5), fn(*x, 9)}; \
    y[0] = xt_stack(5, p, 0)

#define CASES "special.def"
#define PARITY "special"
/* f32: PyTorch's own numbers in f32 are as far from its f64 */
#define PARITY_TOLERANCE (strstr(r->name, "_f32") ? 2e-6 : 1e-10)
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
