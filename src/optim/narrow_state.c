/* Moments as integers of 8 bits with a factor for each block of 256 (Dettmers et al. 2022, arXiv 2110.02861: "8-bit
 * Optimizers via Block-wise Quantization", which the library bitsandbytes computes by tables).
 *
 * The map is another one: of a block's largest size a, a mean of gradients x is q = round(127 sqrt(|x| / a)) with x's
 * sign, and x = q |q| / 127^2 a; a second moment is the same of its root, in 255 steps. Steps are narrow for small
 * numbers, as those of the tables are, and it is two square roots and no look-up. What is not 0 is no less than the
 * first step in the second moment, so that nothing is divided by a root that was rounded away. */
#include "optim/optim.h"

enum { BLOCK = 256, FEWEST = 4096 };
static const double MEAN_STEPS = 127, ROOT_STEPS = 255, NOTHING = 1e-30; /* blocks below that are zeros */

static int64_t blocks_of(const ir_type *param) {
    return (param->count + BLOCK - 1) / BLOCK;
}

bool narrow_state_fits(const ir_type *param) {
    return param->count >= FEWEST && ir_dtype_is_float(param->dtype) && param->dtype != XT_F64;
}

const ir_type *narrow_state_type(const ir_type *param, narrow_moment which) {
    return ir_tensor(which == NARROW_MEAN ? XT_I8 : XT_U8, 2, (int64_t[]){blocks_of(param), BLOCK});
}

const ir_type *narrow_state_factors(const ir_type *param) {
    return ir_tensor(XT_F32, 1, (int64_t[]){blocks_of(param)});
}

static ir_value *of_blocks(ir_builder *b, ir_value *factors, const ir_type *to) {
    return factors ? ir_broadcast_in_dim(b, factors, to, 1, (int64_t[]){0}) : NULL;
}

/* x as [blocks, 256], filled up with zeros */
static ir_value *to_blocks(ir_builder *b, ir_value *x) {
    int64_t n = x->type->count, blocks = blocks_of(x->type), low = 0, high = blocks * BLOCK - n;
    x = ir_reshape(b, x, 1, &n);
    if (high) x = ir_pad(b, x, ir_splat(b, ir_scalar(XT_F32), 0), &low, &high, &low);
    return x ? ir_reshape(b, x, 2, (int64_t[]){blocks, BLOCK}) : NULL;
}

static ir_value *from_blocks(ir_builder *b, ir_value *x, const ir_type *to) {
    int64_t n = x->type->count, begin = 0, one = 1;
    x = ir_reshape(b, x, 1, &n);
    if (n > to->count) x = ir_slice(b, x, &begin, &to->count, &one);
    return x ? ir_reshape(b, x, to->rank, to->dims) : NULL;
}

ir_value *narrow_state_read(ir_builder *b, ir_value *integers, ir_value *factors, const ir_type *to,
                            narrow_moment which) {
    if (!integers || !factors) return NULL;
    bool mean = which == NARROW_MEAN;
    ir_value *q = optim_times(b, ir_convert(b, integers, XT_F32), 1 / (mean ? MEAN_STEPS : ROOT_STEPS));
    ir_value *x = q ? ir_multiply(b, q, mean ? ir_abs(b, q) : q) : NULL;
    x = x ? ir_multiply(b, x, of_blocks(b, factors, x->type)) : NULL;
    if (x && !mean) x = ir_multiply(b, x, x);
    return x ? from_blocks(b, x, ir_with_dtype(to, XT_F32)) : NULL;
}

ir_value *narrow_state_write(ir_builder *b, ir_value *x, narrow_moment which, ir_value **out_factors) {
    bool mean = which == NARROW_MEAN;
    int64_t last = 1;
    *out_factors = NULL;
    if (!x || !(x = to_blocks(b, mean ? x : ir_sqrt(b, x)))) return NULL;
    ir_value *size = mean ? ir_abs(b, x) : x, *most = ir_reduce(b, OP_maximum, size, 1, &last);
    if (!most) return NULL;
    /* NaN stays what it is: a comparison with it is false. */
    ir_value *nothing = ir_compare(b, IR_LT, most, ir_splat(b, most->type, NOTHING)),
             *zero = ir_splat(b, most->type, 0);
    ir_value *inverse = ir_select(b, nothing, zero, ir_divide(b, ir_splat(b, most->type, 1), most));
    *out_factors = ir_select(b, nothing, zero, most);
    ir_value *part = ir_multiply(b, size, of_blocks(b, inverse, x->type));
    ir_value *q = ir_round_nearest_even(b, optim_times(b, ir_sqrt(b, part), mean ? MEAN_STEPS : ROOT_STEPS));
    if (!q) return NULL;
    ir_value *none = ir_splat(b, x->type, 0);
    if (mean)
        q = ir_select(b, ir_compare(b, IR_LT, x, none), ir_negate(b, q), q);
    else
        q = ir_select(b, ir_compare(b, IR_GT, part, none), ir_maximum(b, q, ir_splat(b, x->type, 1)), q);
    return q ? ir_convert(b, q, mean ? XT_I8 : XT_U8) : NULL;
}
