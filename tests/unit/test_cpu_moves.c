/* Random programs of element moves, interpreter against compiler: strided slices, reversals, concatenations along every
 * dim, pads with negative edges and between elements, transposes, broadcasts, reshapes and gathers by pairs of indices,
 * with some arithmetic between them, in several types and of sizes that no vector and no block divides. Everything
 * follows from the seed: XT_TEST_SEED and XT_TEST_COUNT choose others than the usual ones; a seed that fails is told
 * with its program. */
#include "cpu_differential.h"
#include "cpu_levels.h"

#include "base/base.h"
#include "ir/ir.h"

enum { MOST_VALUES = 40, MOST_ELEMENTS = 40000, MOST_RANK = 5 };

typedef struct drawn {
    ir_builder b;
    ir_func *f;
    uint64_t seed, at;
    xt_dtype type;
    ir_value *made[MOST_VALUES];
    size_t n;
} drawn;

static int64_t draw(drawn *g, int64_t n) {
    return (int64_t)(rng_bits(g->seed, 29, g->at++) % (uint64_t)n);
}

static ir_value *any(drawn *g) {
    return g->made[draw(g, 3) ? (int64_t)g->n - 1 - draw(g, (int64_t)g->n < 3 ? (int64_t)g->n : 3)
                              : draw(g, (int64_t)g->n)];
}

static ir_value *argument(drawn *g, xt_dtype type) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 65, 96, 130, 257};
    int64_t dims[MOST_RANK], count = 1;
    const uint32_t rank = 1 + (uint32_t)draw(g, 4);
    for (uint32_t i = rank; i-- > 0; count *= dims[i]) {
        dims[i] = sizes[draw(g, BASE_COUNT(sizes))];
        if (count * dims[i] > MOST_ELEMENTS / 2) dims[i] = 1 + draw(g, 2);
    }
    return ir_func_arg(g->f, ir_tensor(type, rank, dims));
}

static ir_value *slice(drawn *g, ir_value *x) {
    int64_t start[MOST_RANK], limit[MOST_RANK], stride[MOST_RANK];
    for (uint32_t i = 0; i < x->type->rank; i++) {
        const int64_t d = x->type->dims[i];
        start[i] = draw(g, 3) ? 0 : draw(g, d < 4 ? d : 4);
        limit[i] = draw(g, 3) ? d : start[i] + 1 + draw(g, d - start[i]);
        stride[i] = draw(g, 3) ? 1 : 1 + draw(g, 4);
    }
    return ir_slice(&g->b, x, start, limit, stride);
}

static ir_value *reverse(drawn *g, ir_value *x) {
    int64_t dims[MOST_RANK];
    size_t n = 0;
    for (uint32_t i = 0; i < x->type->rank; i++)
        if (draw(g, 2)) dims[n++] = i;
    return ir_reverse(&g->b, x, n, dims);
}

static ir_value *transpose(drawn *g, ir_value *x) {
    int64_t to[MOST_RANK];
    for (uint32_t i = 0; i < x->type->rank; i++) {
        const int64_t k = draw(g, i + 1);
        to[i] = to[k], to[k] = i;
    }
    return ir_transpose(&g->b, x, x->type->rank, to);
}

static ir_value *arithmetic(drawn *g, ir_value *x) {
    const int64_t kind = draw(g, 4);
    if (kind == 0) return ir_add(&g->b, x, x);
    for (int tries = 0; tries < 6 && kind > 1; tries++) {
        ir_value *y = any(g);
        if (y != x && y->type == x->type) return kind == 2 ? ir_subtract(&g->b, x, y) : ir_add(&g->b, y, x);
    }
    return ir_negate(&g->b, x);
}

/* Parts of x's dims up to `dim`, some computed, some seen through windows. */
static ir_value *concatenate(drawn *g, ir_value *x) {
    const int64_t dim = draw(g, x->type->rank);
    const size_t n = 2 + (size_t)draw(g, 3);
    ir_value *parts[4];
    for (size_t k = 0; k < n; k++) {
        ir_value *p = draw(g, 3) ? x : any(g);
        if (p->type != x->type) p = x;
        switch (draw(g, 5)) {
        case 0: p = ir_reverse(&g->b, p, 1, (int64_t[]){draw(g, p->type->rank)}); break;
        case 1: {
            int64_t start[MOST_RANK] = {0}, limit[MOST_RANK];
            for (uint32_t i = 0; i < p->type->rank; i++) limit[i] = p->type->dims[i];
            start[dim] = draw(g, limit[dim]);
            limit[dim] = start[dim] + 1 + draw(g, limit[dim] - start[dim]);
            p = ir_slice(&g->b, p, start, limit, NULL);
            break;
        }
        case 2:
        case 3: p = arithmetic(g, p); break;
        default: break;
        }
        parts[k] = p;
    }
    return ir_concatenate(&g->b, n, parts, dim);
}

/* Computed values side by side along a new last dim, as jax.numpy.stack has them. */
static ir_value *stack(drawn *g, ir_value *x) {
    int64_t dims[MOST_RANK + 1], where[MOST_RANK];
    const uint32_t rank = x->type->rank;
    const size_t n = 2 + (size_t)draw(g, 3);
    ir_value *parts[4];
    if (rank == MOST_RANK) return x;
    for (uint32_t i = 0; i < rank; i++) dims[i] = x->type->dims[i], where[i] = i;
    dims[rank] = 1;
    for (size_t k = 0; k < n; k++)
        parts[k] = ir_broadcast_in_dim(&g->b, draw(g, 4) ? arithmetic(g, x) : x,
                                       ir_tensor(x->type->dtype, rank + 1, dims), rank, where);
    return ir_concatenate(&g->b, n, parts, rank);
}

static ir_value *pad(drawn *g, ir_value *x) {
    int64_t low[MOST_RANK], high[MOST_RANK], between[MOST_RANK];
    for (uint32_t i = 0; i < x->type->rank; i++) {
        const int64_t d = x->type->dims[i];
        between[i] = draw(g, 4) || d > 70 ? 0 : 1 + draw(g, 2);
        low[i] = draw(g, 3) ? draw(g, 4) : -draw(g, d < 3 ? d : 3);
        high[i] = draw(g, 3) ? draw(g, 4) : -draw(g, d < 3 ? 1 : d - 2 < 3 ? 1 : 3);
    }
    ir_value *value = ir_splat(&g->b, ir_tensor(x->type->dtype, 0, NULL), draw(g, 2) ? 0 : 3);
    return ir_pad(&g->b, x, value, low, high, between);
}

static ir_value *broadcast(drawn *g, ir_value *x) {
    int64_t dims[MOST_RANK], where[MOST_RANK];
    const uint32_t rank = x->type->rank, at = (uint32_t)draw(g, rank + 1);
    if (rank == MOST_RANK) return x;
    for (uint32_t i = 0; i < rank; i++) where[i] = i + (i >= at), dims[where[i]] = x->type->dims[i];
    dims[at] = 1 + draw(g, 4);
    return ir_broadcast_in_dim(&g->b, x, ir_tensor(x->type->dtype, rank + 1, dims), rank, where);
}

static ir_value *flat(drawn *g, ir_value *x) {
    const int64_t c = x->type->count, by[] = {2, 3, 4, 5, 8};
    const int64_t k = by[draw(g, BASE_COUNT(by))];
    return c % k == 0 ? ir_reshape(&g->b, x, 2, (int64_t[]){c / k, k}) : ir_reshape(&g->b, x, 1, &c);
}

/* As x[i, j] is: indices of two arrays, made positive, side by side. */
static ir_value *gather(drawn *g, ir_value *x) {
    const int64_t n = 1 + draw(g, 5000), r = x->type->rank;
    if (r < 2) return x;
    ir_value *pair[2];
    for (int k = 0; k < 2; k++) {
        ir_value *i = ir_func_arg(g->f, ir_tensor(XT_I32, 1, &n));
        ir_value *limit = ir_splat(&g->b, i->type, (double)x->type->dims[k] - 3);
        i = draw(g, 3) ? ir_subtract(&g->b, limit, i) : i;
        pair[k] = ir_broadcast_in_dim(&g->b, i, ir_tensor(XT_I32, 2, (int64_t[]){n, 1}), 1, (int64_t[]){0});
    }
    int64_t sizes[MOST_RANK] = {1, 1}, offset[MOST_RANK];
    for (int64_t i = 2; i < r; i++) sizes[i] = x->type->dims[i], offset[i - 2] = i - 1;
    int64_t each = n;
    for (int64_t i = 2; i < r; i++) each *= sizes[i];
    if (each > MOST_ELEMENTS) return x;
    const int64_t two[2] = {0, 1};
    const ir_gather_dims d = {.n_offset = (size_t)r - 2,
                              .n_collapsed = 2,
                              .n_index_map = 2,
                              .offset = offset,
                              .collapsed = two,
                              .index_map = two,
                              .index_vector_dim = 1};
    return ir_gather(&g->b, x, ir_concatenate(&g->b, 2, pair, 1), &d, sizes, false);
}

static ir_value *(*const kinds[])(drawn *, ir_value *) = {
    slice, reverse, concatenate, pad, transpose, arithmetic, stack, broadcast, flat, gather, concatenate, arithmetic};

/* Complex numbers are told by their parts. */
static size_t results_of(drawn *g, ir_value **out) {
    size_t n = 0;
    for (size_t i = g->n; i-- > 0 && n < 6;) {
        if (i + 3 < g->n && draw(g, 3)) continue;
        ir_value *v = g->made[i];
        const bool pairs = v->type->dtype == XT_C64;
        out[n++] = pairs ? ir_unary(&g->b, OP_real, v) : v;
        if (pairs) out[n++] = ir_unary(&g->b, OP_imag, v);
    }
    return n;
}

static void one_agrees(uint64_t seed) {
    static const xt_dtype types[] = {XT_F32, XT_BF16, XT_F32, XT_F64, XT_I32, XT_C64, XT_U8, XT_F16};
    drawn g = {.seed = seed, .type = types[seed % BASE_COUNT(types)]};
    ir_module *m = ir_module_new();
    ir_value *results[8];
    str text = STR_INIT, name = STR_INIT;
    assert_non_null(m);
    g.f = ir_func_new(m, "main", true);
    g.b = ir_at_end(m, ir_func_block(g.f));
    const bool pairs = g.type == XT_C64;
    g.made[g.n++] = argument(&g, pairs ? XT_F32 : g.type);
    if (pairs || draw(&g, 2)) g.made[g.n++] = ir_func_arg(g.f, g.made[0]->type);
    if (pairs) g.made[0] = ir_binary(&g.b, OP_complex, g.made[0], g.made[1]), g.n = 1;
    for (int64_t k = 4 + draw(&g, 12); k > 0; k--) {
        ir_value *v = kinds[draw(&g, BASE_COUNT(kinds))](&g, any(&g));
        expect_ok(g.b.status, "a drawn op");
        assert_non_null(v);
        if (v->type->count <= MOST_ELEMENTS && v->type->count > 0) g.made[g.n++] = v;
    }
    const size_t n = results_of(&g, results);
    ir_return(&g.b, n, results);
    expect_ok(g.b.status, "a drawn program");
    expect_ok(ir_print(m, 0, &text), "a drawn program");
    str_printf(&name, "seed %llu", (unsigned long long)seed);
    if (getenv("XT_TEST_SEED")) print_message("%s\n%s\n", str_cstr(&name), str_cstr(&text));
    differ(str_cstr(&name), str_cstr(&text), 0, 1 + (int)(seed % 3), false);
    str_free(&text);
    str_free(&name);
    ir_module_free(m);
}

static void moves_agree(void **state) {
    (void)state;
    const char *first = getenv("XT_TEST_SEED"), *count = getenv("XT_TEST_COUNT");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1, n = count ? strtoull(count, NULL, 10) : 400;
    for (uint64_t i = 0; i < n; i++) one_agrees(from + i);
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_agree), cmocka_unit_test(other_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
