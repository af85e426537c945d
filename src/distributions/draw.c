/* Random numbers for the samplers, and loops of rounds for those that reject. */
#include "distributions/dist.h"

/* The middle of one of 2^23 equal parts: never 0 or 1, so that logarithms and tangents are finite. */
static ir_value *fraction(ir_builder *b, ir_value *word, xt_dtype t) {
    ir_value *f = ir_convert(b, ir_shift_right_logical(b, word, ex_num(b, word, 9)), XT_F32);
    return f ? ir_convert(b, ex_times(b, ex_plus(b, f, 0.5), 0x1p-23), t) : NULL;
}

ir_value *dist_uniforms(dist_args *a) {
    ir_value *w = ops_random_words(a->src, ir_with_dtype(a->t, XT_U32));
    a->b = lazy_begin(a->src);
    return w ? fraction(a->b, w, a->t->dtype) : NULL;
}

static ir_value *box_muller(ir_builder *b, ir_value *u, ir_value *v) {
    ir_value *radius = ir_sqrt(b, ex_times(b, ir_log(b, u), -2));
    return ir_multiply(b, radius, ir_cosine(b, ex_times(b, v, 2 * M_PI)));
}

ir_value *dist_normals(dist_args *a) {
    int64_t dims[XT_MAX_RANK + 1] = {0};
    memcpy(dims, a->t->dims, a->t->rank * sizeof *dims);
    for (uint32_t i = 0; i < a->t->rank; i++)
        if (dims[i] == 0) return ex_num(a->b, a->p[0], 0); /* nothing to draw */
    xt_tensor t = xt_randn_at(a->src, a->t->dtype, dims);
    a->b = lazy_begin(a->src);
    return lazy_value(t);
}

/* --- rounds --- */
static ir_value *word(ir_builder *b, ir_value *words, int64_t k) {
    return words ? ops_squeeze(b, ops_part(b, words, 0, k, k + 1), 0) : NULL;
}
ir_value *dist_word_uniform(ir_builder *b, ir_value *words, int64_t k, xt_dtype t) {
    ir_value *w = word(b, words, k);
    return w ? fraction(b, w, t) : NULL;
}
ir_value *dist_word_normal(ir_builder *b, ir_value *words, int64_t k, xt_dtype t) {
    return box_muller(b, dist_word_uniform(b, words, k, t), dist_word_uniform(b, words, k + 1, t));
}

static ir_value *round_number(ir_builder *b, int64_t v) {
    return ir_splat(b, ir_scalar(XT_I32), (double)v);
}

/* A block whose arguments are the round and the state; NULL without memory. */
static ir_block *block_of_state(ir_module *m, int n, ir_value *const *state) {
    ir_block *block = ir_block_new(m);
    if (!block || !ir_block_arg(m, block, ir_scalar(XT_I32))) return NULL;
    for (int i = 0; i < n; i++)
        if (!ir_block_arg(m, block, state[i]->type)) return NULL;
    return block;
}
static ir_builder inside(const ir_builder *outer, ir_block *block) {
    ir_builder b = ir_at_end(outer->m, block);
    b.src = outer->src;
    b.path = outer->path;
    return b;
}

/* round < most, and not all elements are done. */
static ir_block *make_condition(ir_builder *outer, const dist_rounds *r) {
    ir_block *block = block_of_state(outer->m, r->n, r->state);
    if (!block) return NULL;
    ir_builder b = inside(outer, block);
    int64_t axes[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    ir_value *done = block->args[1];
    ir_value *all = done->type->rank ? ir_reduce(&b, OP_and, done, done->type->rank, axes) : done;
    ir_value *early = ir_compare(&b, IR_LT, block->args[0], round_number(&b, r->most));
    ir_value *more = ir_and(&b, early, ir_not(&b, all));
    ir_return(&b, 1, &more);
    outer->status = b.status;
    return b.status ? NULL : block;
}

static ir_block *make_round(ir_builder *outer, const dist_rounds *r, ir_value *key) {
    enum { MOST = 8 };
    ir_value *next[MOST + 1] = {NULL};
    ir_block *block = block_of_state(outer->m, r->n, r->state);
    if (!block || r->n > MOST) return NULL;
    ir_builder b = inside(outer, block);
    ir_value *words = key ? ops_random_words_of(&b, key, r->word_type, ir_convert(&b, block->args[0], XT_U32)) : NULL;
    next[0] = ir_add(&b, block->args[0], round_number(&b, 1));
    r->next(&b, words, block->args[0], block->args + 1, next + 1, r->user);
    ir_return(&b, (size_t)r->n + 1, next);
    outer->status = b.status;
    return b.status ? NULL : block;
}

bool dist_rounds_run(dist_args *a, dist_rounds *r) {
    ir_value *key = NULL, *all[9];
    if (r->word_type) {
        xt_tensor t = lazy_rng_key(a->src);
        a->b = lazy_begin(a->src);
        key = lazy_value(t);
        if (!key) return false;
    }
    for (int i = 0; i < r->n; i++)
        if (!(all[i + 1] = r->state[i])) return false;
    ir_builder *b = a->b;
    ir_block *round = make_round(b, r, key), *condition = round ? make_condition(b, r) : NULL;
    all[0] = round_number(b, 0);
    ir_op *op = condition && all[0] ? ir_build(b, OP_while, (size_t)r->n + 1, all, 0, NULL, 2,
                                               (ir_block *[]){condition, round}, 0, NULL)
                                    : NULL;
    for (int i = 0; i < r->n && op; i++) {
        r->state[i] = &op->out[i + 1];
        lazy_no_grad_value(r->state[i]);
    }
    return op != NULL;
}

ir_value *dist_with_slopes(ir_builder *b, ir_value *v, int n, ir_value *const *slope, ir_value *const *p) {
    v = ex_detach(b, v);
    for (int i = 0; i < n && v; i++) {
        ir_value *change = ir_subtract(b, p[i], ex_detach(b, p[i]));
        v = ir_add(b, v, ir_multiply(b, ex_detach(b, slope[i]), change));
    }
    return v;
}
