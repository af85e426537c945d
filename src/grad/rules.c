/* The derivative of every op, found by its opcode: a rule, zero, or the reason why there is none. From the column
 * `derivative` of ops.def; reasons that several ops share stand here under the name they have there. */
#include "grad/grad_int.h"

static const char flat[] = "constant between jumps";
static const char discrete[] = "integers and truth values carry no gradient";
static const char no_operands[] = "depends on nothing that could want a gradient";
static const char dynamic[] = "what it gives has a shape that is known only when running; differentiate the program "
                              "for given inputs (pass_refine makes shapes static)";
static const char quantized[] = "quantized tensors are for inference; differentiate the program on floats";
static const char effects[] = "what happens outside the program has no derivative";
static const char no_flow[] = "it computes no value";

#define GRAD(function, formula) \
    { .fn = grad_##function, .why = formula }
#define ZERO(reason) \
    { .why = reason, .zero = true }
#define NO_GRAD(reason) \
    { .why = reason }
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, derivative, ...) [OP_##name] = derivative,
#define UNARY_OP(name, dialect, rule, flags, derivative, ...) [OP_##name] = derivative,
#define BINARY_OP(name, dialect, rule, flags, derivative, ...) [OP_##name] = derivative,
const grad_rule grad_rules[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP
