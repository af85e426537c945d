/* What the tests of the partitioner share: shardings at random, parts of arrays, and one program partitioned, run by
 * the interpreter's grid of processes and put together again. Included once, by a test program. */
#ifndef TESTS_UNIT_SPMD_TEST_H
#define TESTS_UNIT_SPMD_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/host_function.h"
#include "ir/interp.h"
#include "ir/sharding.h"
#include "pass/pass.h"

static uint64_t seed;
static __attribute__((unused)) uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static __attribute__((unused)) void ok(xt_status s, const char *text) {
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
}

static __attribute__((unused)) ir_module *parsed(const char *text) {
    ir_module *m = NULL;
    ok(ir_parse(text, strlen(text), "test", &m), text);
    ok(ir_verify(m), text);
    return m;
}

/* --- shardings at random --- */
static __attribute__((unused)) ir_grid grid_of(int64_t devices) {
    ir_grid g = {.devices = devices};
    if (devices == 6)
        g.n_axes = 2, g.size[0] = 3, g.stride[0] = 2, g.size[1] = 2, g.stride[1] = 1;
    else if (devices == 4)
        g.n_axes = 2, g.size[0] = 2, g.stride[0] = 2, g.size[1] = 2, g.stride[1] = 1;
    else
        g.n_axes = 1, g.size[0] = devices, g.stride[0] = 1;
    return g;
}

static __attribute__((unused)) ir_sharding random_sharding(const ir_grid *g, const ir_type *t) {
    ir_sharding s = ir_sharding_none();
    int from = (int)draw(2), n = g->n_axes;
    for (int k = 0; k < n && t->rank; k++) {
        int a = from ? n - 1 - k : k;
        uint32_t d = draw(t->rank + 1);
        if (d < t->rank) ir_sharding_add(&s, a, (int)d);
    }
    return s;
}

/* Some axes that divide nothing become axes of summands. */
static __attribute__((unused)) void draw_summands(const ir_grid *g, const ir_type *t, ir_sharding *s) {
    for (int a = 0; a < g->n_axes && t->dtype != XT_BOOL; a++)
        if (s->dim[a] == -1 && draw(2)) s->dim[a] = IR_SHARD_SUMMANDS;
}

static __attribute__((unused)) const char *text_of(ir_module *m, const ir_grid *g, const ir_sharding *s, size_t rank) {
    str out = STR_INIT;
    ir_sharding_print(g, s, rank, &out);
    const char *copy = arena_strdup(m->mem, str_cstr(&out));
    str_free(&out);
    return copy;
}

/* The same text with its devices in another order, all of them named. */
static __attribute__((unused)) const char *reordered(ir_module *m, const ir_grid *g, const char *text,
                                                     const int64_t *order) {
    const char *list = strstr(text, "<=["), *tail = strstr(text, " last_");
    int64_t ids[8];
    if (!order || !list) return text;
    ok(ir_tiles_order(text, g->devices, ids), text);
    str out = STR_INIT;
    str_printf(&out, "%.*s", (int)(list - text), text);
    for (int64_t k = 0; k < g->devices; k++) str_printf(&out, k ? ",%d" : "%d", (int)order[ids[k]]);
    str_append(&out, tail ? tail : "}");
    const char *copy = arena_strdup(m->mem, str_cstr(&out));
    str_free(&out);
    return copy;
}

/* --- parts of arrays --- */
/* What fills up parts of dims that are not divided evenly may be anything, so it is what does most harm. */
static __attribute__((unused)) void poison(array *a) {
    bool floats = ir_dtype_is_float(a->type->dtype);
    for (int64_t i = 0; i < a->type->count; i++)
        array_set(a, i, floats ? draw(2) ? NAN : -INFINITY : a->type->dtype == XT_BOOL ? 1 : draw(2) ? 1000000 : 2);
}

static void copy_part(const ir_grid *g, const ir_sharding *s, int64_t device, const array *whole, const array *part,
                      bool into_whole, bool check, const char *text) {
    const ir_type *t = whole->type, *l = part->type;
    size_t elem = xt_dtype_size(t->dtype);
    for (int64_t i = 0; i < l->count; i++) {
        int64_t rest = i, at = 0, stride = 1;
        bool there = true;
        for (uint32_t d = t->rank; d-- > 0;) {
            int8_t axes[IR_SHARD_AXES];
            int n = ir_sharding_axes(s, (int)d, axes);
            int64_t index = 0;
            for (int k = 0; k < n; k++)
                index = index * g->size[axes[k]] + device / g->stride[axes[k]] % g->size[axes[k]];
            at += (index * l->dims[d] + rest % l->dims[d]) * stride;
            there = there && index * l->dims[d] + rest % l->dims[d] < t->dims[d];
            rest /= l->dims[d];
            stride *= t->dims[d];
        }
        if (!there) continue;
        char *w = (char *)whole->data + (size_t)at * elem, *p = (char *)part->data + (size_t)i * elem;
        if (check) {
            double want = array_get(whole, at), got = array_get(part, i), scale = fabs(want) > 1 ? fabs(want) : 1;
            if (!(fabs(want - got) <= 2e-5 * scale) && !(isnan(want) && isnan(got)))
                fail_msg("device %lld has %.9g at element %lld, one device computes %.9g\n"
                         "%s",
                         (long long)device, got, (long long)at, want, text);
        } else if (into_whole)
            memcpy(w, p, elem);
        else
            memcpy(p, w, elem);
    }
}

/* --- one program --- */
enum { MOST = 8 };
typedef struct run {
    ir_grid grid;
    size_t n_in, n_out;
    array in[MOST], want[MOST];
    ir_sharding in_form[MOST], out_form[MOST];
    const int64_t *in_order[MOST], *out_order[MOST]; /* the device at each place; NULL: 0, 1, ... */
    pass_spmd_stats stats;
} run;

static __attribute__((unused)) void fill(array *a) {
    for (int64_t i = 0; i < a->type->count; i++) {
        double v = ir_dtype_is_float(a->type->dtype) ? (double)draw(2000) / 1000 - 1 : (double)draw(7);
        if (a->type->dtype == XT_BOOL) v = draw(2);
        array_set(a, i, v);
    }
}

/* A main that runs @part on every device. */
static __attribute__((unused)) void add_main(ir_module *m, run *r) {
    ir_func *part = ir_func_find(m, "main");
    ir_func_rename(part, "part");
    ir_func *f = ir_func_new(m, "main", true);
    size_t n = (size_t)r->grid.devices;
    ir_value **args = arena_alloc(m->mem, (n * r->n_in + 1) * sizeof *args);
    const ir_type **types = arena_alloc(m->mem, (n * r->n_out + 1) * sizeof *types);
    ir_attr *row = arena_alloc(m->mem, n * sizeof *row), *rows = arena_alloc(m->mem, sizeof *rows);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < r->n_in; i++) args[k * r->n_in + i] = ir_func_arg(f, part->body->args[i]->type);
        for (size_t i = 0; i < r->n_out; i++) types[k * r->n_out + i] = part->result_types[i];
        row[k] = (ir_attr){.kind = IR_AK_SYMBOL, .n = 4, .v.s = "part"};
    }
    *rows = (ir_attr){.kind = IR_AK_ARRAY, .n = n, .v.list = row};
    ir_attr programs = {.key = IR_A_programs, .kind = IR_AK_ARRAY, .name = "programs", .n = 1, .v.list = rows};
    ir_builder b = ir_at_end(m, ir_func_block(f));
    ir_op *op =
        ir_build(&b, OP_interpreter_run_parallel, n * r->n_in, args, 1, &programs, 0, NULL, n * r->n_out, types);
    ir_value **out = arena_alloc(m->mem, (n * r->n_out + 1) * sizeof *out);
    for (size_t i = 0; op && i < n * r->n_out; i++) out[i] = &op->out[i];
    if (op) ir_return(&b, n * r->n_out, out);
    ok(b.status, "run_parallel");
}

static __attribute__((unused)) void check_parts(ir_module *m, run *r, const char *text) {
    ir_func *part = ir_func_find(m, "main");
    size_t n = (size_t)r->grid.devices;
    array *in = base_calloc(n * r->n_in + 1, sizeof *in), *out = base_calloc(n * r->n_out + 1, sizeof *out);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < r->n_in; i++) {
            size_t device = r->in_order[i] ? (size_t)r->in_order[i][k] : k;
            ok(array_new(part->body->args[i]->type, &in[device * r->n_in + i]), text);
            poison(&in[device * r->n_in + i]);
            copy_part(&r->grid, &r->in_form[i], (int64_t)k, &r->in[i], &in[device * r->n_in + i], false, false, text);
        }
    add_main(m, r);
    ok(interp_run(m, "main", NULL, n * r->n_in, in, n * r->n_out, out), text);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < r->n_out; i++) {
            size_t device = r->out_order[i] ? (size_t)r->out_order[i][k] : k;
            copy_part(&r->grid, &r->out_form[i], (int64_t)k, &r->want[i], &out[device * r->n_out + i], false, true,
                      text);
        }
    for (size_t i = 0; i < n * r->n_in; i++) array_free(&in[i]);
    for (size_t i = 0; i < n * r->n_out; i++) array_free(&out[i]);
    base_free(in);
    base_free(out);
}

/* In main, its loops and branches. `summands`: and half of the free axes hold summands. */
static __attribute__((unused)) void annotate(ir_module *m, run *r, ir_block *block, bool summands) {
    for (ir_op *op = block->first; op->next; op = op->next) {
        bool control = op->code == OP_while || op->code == OP_if || op->code == OP_case;
        for (uint32_t k = 0; control && k < op->n_regions; k++) annotate(m, r, op->regions[k].block, summands);
        if (draw(summands ? 2 : 5) || ir_is_sharding(op) || !op->n_out || op->out[0].type->kind != IR_TENSOR) continue;
        ir_sharding s = random_sharding(&r->grid, op->out[0].type);
        if (summands) draw_summands(&r->grid, op->out[0].type, &s);
        ir_builder b = ir_before(m, op->next);
        ir_value *v = ir_annotate_sharding_open(&b, &op->out[0], text_of(m, &r->grid, &s, op->out[0].type->rank),
                                                draw(3) ? 0 : draw(4));
        ok(b.status, "annotation");
        ir_op *made = v->def;
        ir_replace_uses(m, &op->out[0], v);
        ir_set_operand(made, 0, &op->out[0]);
        op = made;
    }
}

static __attribute__((unused)) void partition(ir_module *m, run *r, const char *text) {
    ir_func *f = ir_func_find(m, "main");
    for (size_t i = 0; i < r->n_in; i++)
        ir_func_set_arg_attr(
            f, i,
            ir_attr_named_string(m, IR_SHARDING_ATTR,
                                 reordered(m, &r->grid,
                                           text_of(m, &r->grid, &r->in_form[i], f->body->args[i]->type->rank),
                                           r->in_order[i])));
    for (size_t i = 0; i < r->n_out; i++)
        ir_func_set_result_attr(
            f, i,
            ir_attr_named_string(m, IR_SHARDING_ATTR,
                                 reordered(m, &r->grid, text_of(m, &r->grid, &r->out_form[i], f->result_types[i]->rank),
                                           r->out_order[i])));
    str before = STR_INIT, after = STR_INIT;
    ok(ir_print(m, 0, &before), text);
    pass_ctx c = {.partitions = (int)r->grid.devices};
    xt_status s = pass_lower_spmd(&c, m);
    if (!s) s = ir_verify(m);
    ok(s, str_cstr(&before));
    ok(ir_print(m, 0, &after), text);
    r->stats = c.spmd;
    str_printf(&before, "%s", str_cstr(&after));
    check_parts(m, r, str_cstr(&before));
    str_free(&before);
    str_free(&after);
}

static __attribute__((unused)) void prepare(run *r, const char *text, int64_t devices) {
    ir_module *m = parsed(text);
    ir_func *f = ir_func_find(m, "main");
    *r = (run){.grid = grid_of(devices), .n_in = f->body->n_args, .n_out = f->n_results};
    for (size_t i = 0; i < r->n_in; i++) {
        ok(array_new(f->body->args[i]->type, &r->in[i]), text);
        fill(&r->in[i]);
        r->in_form[i] = ir_sharding_none();
    }
    for (size_t i = 0; i < r->n_out; i++) r->out_form[i] = ir_sharding_none();
    ok(interp_run(m, "main", NULL, r->n_in, r->in, r->n_out, r->want), text);
    ir_module_free(m);
}

static __attribute__((unused)) void finish(run *r) {
    for (size_t i = 0; i < r->n_in; i++) array_free(&r->in[i]);
    for (size_t i = 0; i < r->n_out; i++) array_free(&r->want[i]);
}

/* --- spellings of programs --- */
#define F(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "\n}\n"
#define T "tensor<12x8xf32>"
#define ADDS                                    \
    "{\n"                                       \
    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n" \
    "%s = stablehlo.add %p, %q : tensor<f32>\n" \
    "stablehlo.return %s : tensor<f32>\n"       \
    "}"
#define ADD "(" ADDS ")"
#define MAX                                         \
    "({\n"                                          \
    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"     \
    "%s = stablehlo.maximum %p, %q : tensor<f32>\n" \
    "stablehlo.return %s : tensor<f32>\n"           \
    "})"
#define Z "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
#define MATS "tensor<12x4x4xf32>"
/* Problems side by side: factorisations by op and by call, solutions, transforms. */
#define SIDE_BY_SIDE(attrs)                                                                                           \
    F("%a: " MATS ", %b: " MATS, MATS ", " MATS ", tensor<12xi32>, tensor<12x4x3xcomplex<f32>>",                      \
      "%0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (" MATS ", " MATS \
      ") -> " MATS "\n"                                                                                               \
      "%i = stablehlo.iota dim = 1 : tensor<12x4x4xi32>\n%j = stablehlo.iota dim = 2 : tensor<12x4x4xi32>\n"          \
      "%e = stablehlo.compare EQ, %i, %j : (tensor<12x4x4xi32>, tensor<12x4x4xi32>) -> tensor<12x4x4xi1>\n"           \
      "%f = stablehlo.convert %e : (tensor<12x4x4xi1>) -> " MATS "\n"                                                 \
      "%g = stablehlo.add %0, %f : " MATS "\n%1 = stablehlo.cholesky %g, lower = true : " MATS "\n"                   \
      "%2 = \"stablehlo.triangular_solve\"(%1, %b) {left_side = true, lower = true, unit_diagonal = false, "          \
      "transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (" MATS ", " MATS ") -> " MATS "\n"                        \
      "%3:2 = stablehlo.custom_call @lapack_spotrf_ffi(%g) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 " \
      ": ui8}" attrs "} : (" MATS ") -> (" MATS ", tensor<12xi32>)\n"                                                 \
      "%4 = stablehlo.fft %b, type = RFFT, length = [4] : (" MATS ") -> tensor<12x4x3xcomplex<f32>>\n"                \
      "return %2, %3#0, %3#1, %4 : " MATS ", " MATS ", tensor<12xi32>, tensor<12x4x3xcomplex<f32>>")
static __attribute__((unused)) const char side_by_side[] =
    SIDE_BY_SIDE(", mhlo.frontend_attributes = {num_batch_dims = \"1\"}");
static __attribute__((unused)) const char nothing_said[] = SIDE_BY_SIDE("");

/* Programs that both tests use. */
static __attribute__((unused)) const char mlp[] =
    F("%x: tensor<12x8xf32>, %w: tensor<16x8xf32>, %v: tensor<8x16xf32>",
      "tensor<12x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<f32>",
      Z "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<12x8xf32>, tensor<16x8xf32>) -> "
        "tensor<12x16xf32>\n"
        "%1 = stablehlo.tanh %0 : tensor<12x16xf32>\n"
        "%2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [1] : (tensor<12x16xf32>, tensor<8x16xf32>) -> "
        "tensor<12x8xf32>\n"
        "%3 = stablehlo.dot_general %2, %1, contracting_dims = [0] x [0] : (tensor<12x8xf32>, tensor<12x16xf32>) -> "
        "tensor<8x16xf32>\n"
        "%4 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0] : (tensor<12x8xf32>, tensor<8x16xf32>) -> "
        "tensor<12x16xf32>\n"
        "%5 = stablehlo.dot_general %4, %x, contracting_dims = [0] x [0] : (tensor<12x16xf32>, tensor<12x8xf32>) -> "
        "tensor<16x8xf32>\n"
        "%6 = stablehlo.subtract %w, %5 : tensor<16x8xf32>\n"
        "%7 = stablehlo.subtract %v, %3 : tensor<8x16xf32>\n"
        "%8 = \"stablehlo.reduce\"(%2, %z) " ADD
        " {dimensions = array<i64: 0, 1>} : (tensor<12x8xf32>, tensor<f32>) -> tensor<f32>\n"
        "return %2, %6, %7, %8 : tensor<12x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<f32>");
static __attribute__((unused)) const char a_scan[] =
    F("%xs: tensor<6x12x8xf32>, %w: tensor<8x8xf32>, %a: " T, "tensor<6x12x8xf32>, tensor<8x8xf32>, " T,
      Z "%zi = stablehlo.constant dense<0> : tensor<i32>\n"
        "%o = stablehlo.constant dense<1> : tensor<i32>\n"
        "%n = stablehlo.constant dense<6> : tensor<i32>\n"
        "%ys = stablehlo.constant dense<0.0> : tensor<6x12x8xf32>\n"
        "%g = stablehlo.constant dense<0.0> : tensor<8x8xf32>\n"
        "%0:4 = stablehlo.while(%i = %zi, %h = %a, %y = %ys, %d = %g) : tensor<i32>, " T
        ", tensor<6x12x8xf32>, tensor<8x8xf32>\ncond {\n"
        "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n"
        "} do {\n"
        "%1 = stablehlo.dynamic_slice %xs, %i, %zi, %zi, sizes = [1, 12, 8] : (tensor<6x12x8xf32>, tensor<i32>, "
        "tensor<i32>, tensor<i32>) -> tensor<1x12x8xf32>\n"
        "%2 = stablehlo.reshape %1 : (tensor<1x12x8xf32>) -> " T "\n"
        "%3 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (" T ", tensor<8x8xf32>) -> " T
        "\n%4 = stablehlo.add %3, %2 : " T "\n%5 = stablehlo.tanh %4 : " T "\n"
        "%6 = stablehlo.reshape %5 : (" T ") -> tensor<1x12x8xf32>\n"
        "%7 = stablehlo.dynamic_update_slice %y, %6, %i, %zi, %zi : (tensor<6x12x8xf32>, tensor<1x12x8xf32>, "
        "tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x12x8xf32>\n"
        "%8 = stablehlo.dot_general %2, %5, contracting_dims = [0] x [0] : (" T ", " T ") -> tensor<8x8xf32>\n"
        "%9 = stablehlo.add %d, %8 : tensor<8x8xf32>\n"
        "%j = stablehlo.add %i, %o : tensor<i32>\n"
        "stablehlo.return %j, %5, %7, %9 : tensor<i32>, " T ", tensor<6x12x8xf32>, tensor<8x8xf32>\n}\n"
        "return %0#2, %0#3, %0#1 : tensor<6x12x8xf32>, tensor<8x8xf32>, " T);

#endif
