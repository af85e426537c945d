/* The partitioner against the interpreter: a table of small programs, each partitioned over 2, 4 and 6 devices under
 * many shardings of its arguments, results and intermediate values, run by the interpreter's grid of processes, and put
 * together again: what comes out must be what one device computes, and values that are whole must be the same
 * everywhere. Then what the partitioner is expected to choose, counted in collectives. */
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
static uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void ok(xt_status s, const char *text) {
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
}

static ir_module *parsed(const char *text) {
    ir_module *m = NULL;
    ok(ir_parse(text, strlen(text), "test", &m), text);
    ok(ir_verify(m), text);
    return m;
}

/* --- shardings at random --- */
static ir_grid grid_of(int64_t devices) {
    ir_grid g = {.devices = devices};
    if (devices == 6)
        g.n_axes = 2, g.size[0] = 3, g.stride[0] = 2, g.size[1] = 2, g.stride[1] = 1;
    else if (devices == 4)
        g.n_axes = 2, g.size[0] = 2, g.stride[0] = 2, g.size[1] = 2, g.stride[1] = 1;
    else
        g.n_axes = 1, g.size[0] = devices, g.stride[0] = 1;
    return g;
}

static ir_sharding random_sharding(const ir_grid *g, const ir_type *t) {
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
static void draw_summands(const ir_grid *g, const ir_type *t, ir_sharding *s) {
    for (int a = 0; a < g->n_axes && t->dtype != XT_BOOL; a++)
        if (s->dim[a] == -1 && draw(2)) s->dim[a] = IR_SHARD_SUMMANDS;
}

static const char *text_of(ir_module *m, const ir_grid *g, const ir_sharding *s, size_t rank) {
    str out = STR_INIT;
    ir_sharding_print(g, s, rank, &out);
    const char *copy = arena_strdup(m->mem, str_cstr(&out));
    str_free(&out);
    return copy;
}

/* The same text with its devices in another order, all of them named. */
static const char *reordered(ir_module *m, const ir_grid *g, const char *text, const int64_t *order) {
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
static void poison(array *a) {
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

static void fill(array *a) {
    for (int64_t i = 0; i < a->type->count; i++) {
        double v = ir_dtype_is_float(a->type->dtype) ? (double)draw(2000) / 1000 - 1 : (double)draw(7);
        if (a->type->dtype == XT_BOOL) v = draw(2);
        array_set(a, i, v);
    }
}

/* A main that runs @part on every device. */
static void add_main(ir_module *m, run *r) {
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

static void check_parts(ir_module *m, run *r, const char *text) {
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
static void annotate(ir_module *m, run *r, ir_block *block, bool summands) {
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

static void partition(ir_module *m, run *r, const char *text) {
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

static void prepare(run *r, const char *text, int64_t devices) {
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

static void finish(run *r) {
    for (size_t i = 0; i < r->n_in; i++) array_free(&r->in[i]);
    for (size_t i = 0; i < r->n_out; i++) array_free(&r->want[i]);
}

/* --- the table --- */
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
static const char side_by_side[] = SIDE_BY_SIDE(", mhlo.frontend_attributes = {num_batch_dims = \"1\"}");
static const char nothing_said[] = SIDE_BY_SIDE("");
static const struct {
    const char *name, *text;
} programs[] = {
    {"elementwise", F("%a: " T ", %b: " T, T ", " T,
                      "%0 = stablehlo.add %a, %b : " T "\n%1 = stablehlo.tanh %0 : " T
                      "\n%2 = stablehlo.multiply %1, %a : " T "\nreturn %2, %0 : " T ", " T)},
    {"broadcasts",
     F("%a: " T ", %b: tensor<8xf32>, %c: tensor<f32>", T,
       "%0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> " T "\n%1 = stablehlo.add %a, %0 : " T "\n"
       "%2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> " T "\n%3 = stablehlo.multiply %1, %2 : " T
       "\n%4 = stablehlo.constant dense<2.0> : " T "\n%5 = stablehlo.maximum %3, %4 : " T "\nreturn %5 : " T)},
    {"shapes", F("%a: tensor<4x6x8xf32>", "tensor<8x24xf32>, tensor<24x8xf32>, tensor<4x2x3x8xf32>",
                 "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<4x6x8xf32>) -> tensor<8x4x6xf32>\n"
                 "%1 = stablehlo.reshape %0 : (tensor<8x4x6xf32>) -> tensor<8x24xf32>\n"
                 "%2 = stablehlo.reshape %a : (tensor<4x6x8xf32>) -> tensor<24x8xf32>\n"
                 "%3 = stablehlo.reshape %2 : (tensor<24x8xf32>) -> tensor<4x2x3x8xf32>\n"
                 "return %1, %2, %3 : tensor<8x24xf32>, tensor<24x8xf32>, tensor<4x2x3x8xf32>")},
    {"odd reshape", F("%a: tensor<6x4xf32>", "tensor<4x6xf32>, tensor<24xf32>",
                      "%0 = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<4x6xf32>\n"
                      "%1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>\n"
                      "return %0, %1 : tensor<4x6xf32>, tensor<24xf32>")},
    {"product", F("%a: tensor<12x8xf32>, %b: tensor<8x4xf32>", "tensor<12x4xf32>",
                  "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<12x8xf32>, "
                  "tensor<8x4xf32>) -> tensor<12x4xf32>\n"
                  "return %0 : tensor<12x4xf32>")},
    {"batched product", F("%a: tensor<4x6x8xf32>, %b: tensor<4x8x12xf32>", "tensor<4x6x12xf32>",
                          "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] "
                          ": (tensor<4x6x8xf32>, tensor<4x8x12xf32>) -> tensor<4x6x12xf32>\n"
                          "return %0 : tensor<4x6x12xf32>")},
    {"mlp and its gradient",
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
         "return %2, %6, %7, %8 : tensor<12x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<f32>")},
    {"reductions", F("%a: " T, "tensor<8xf32>, tensor<12xf32>, tensor<f32>, tensor<f32>",
                     Z "%n = stablehlo.constant dense<-1.0> : tensor<f32>\n"
                       "%0 = \"stablehlo.reduce\"(%a, %z) " ADD " {dimensions = array<i64: 0>} : (" T
                       ", tensor<f32>) -> tensor<8xf32>\n"
                       "%1 = \"stablehlo.reduce\"(%a, %n) " MAX " {dimensions = array<i64: 1>} : (" T
                       ", tensor<f32>) -> tensor<12xf32>\n"
                       "%2 = \"stablehlo.reduce\"(%a, %z) " MAX " {dimensions = array<i64: 0, 1>} : (" T
                       ", tensor<f32>) -> tensor<f32>\n"
                       "%3 = \"stablehlo.reduce\"(%a, %n) " ADD " {dimensions = array<i64: 0, 1>} : (" T
                       ", tensor<f32>) -> tensor<f32>\n"
                       "return %0, %1, %2, %3 : tensor<8xf32>, tensor<12xf32>, tensor<f32>, tensor<f32>")},
    {"softmax", F("%a: " T, T,
                  Z "%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                    "%0 = \"stablehlo.reduce\"(%a, %n) " MAX " {dimensions = array<i64: 1>} : (" T
                    ", tensor<f32>) -> tensor<12xf32>\n"
                    "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<12xf32>) -> " T
                    "\n%2 = stablehlo.subtract %a, %1 : " T "\n%3 = stablehlo.exponential %2 : " T "\n"
                    "%4 = \"stablehlo.reduce\"(%3, %z) " ADD " {dimensions = array<i64: 1>} : (" T
                    ", tensor<f32>) -> tensor<12xf32>\n"
                    "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<12xf32>) -> " T
                    "\n%6 = stablehlo.divide %3, %5 : " T "\nreturn %6 : " T)},
    {"slices and joins",
     F("%a: " T ", %b: tensor<12x4xf32>", "tensor<12x12xf32>, tensor<6x8xf32>, tensor<12x4xf32>, tensor<14x8xf32>",
       Z "%0 = stablehlo.concatenate %a, %b, dim = 1 : (" T ", tensor<12x4xf32>) -> tensor<12x12xf32>\n"
         "%1 = stablehlo.slice %a [2:8, 0:8] : (" T ") -> tensor<6x8xf32>\n"
         "%2 = stablehlo.slice %a [0:12, 0:8:2] : (" T ") -> tensor<12x4xf32>\n"
         "%3 = stablehlo.pad %a, %z, low = [1, 0], high = [1, 0], interior = [0, 0] : (" T
         ", tensor<f32>) -> tensor<14x8xf32>\n"
         "return %0, %1, %2, %3 : tensor<12x12xf32>, tensor<6x8xf32>, tensor<12x4xf32>, tensor<14x8xf32>")},
    {"counting", F("%a: " T, T ", tensor<12x8xi32>",
                   "%0 = stablehlo.iota dim = 0 : " T "\n"
                   "%1 = stablehlo.iota dim = 1 : tensor<12x8xi32>\n"
                   "%2 = stablehlo.convert %1 : (tensor<12x8xi32>) -> " T "\n"
                   "%3 = stablehlo.multiply %0, %2 : " T "\n%4 = stablehlo.add %3, %a : " T "\nreturn %4, %1 : " T
                   ", tensor<12x8xi32>")},
    {"constants",
     F("%a: tensor<4x2xf32>", "tensor<4x2xf32>",
       "%0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>\n"
       "%1 = stablehlo.add %a, %0 : tensor<4x2xf32>\n"
       "return %1 : tensor<4x2xf32>")},
    {"embedding",
     F("%t: tensor<8x6xf32>, %i: tensor<4x12xi32>, %d: tensor<4x12x6xf32>", "tensor<4x12x6xf32>, tensor<8x6xf32>",
       "%0 = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<8x6xf32>, tensor<4x12xi32>) -> tensor<4x12x6xf32>\n"
       "%1 = stablehlo.constant dense<0.0> : tensor<8x6xf32>\n"
       "%2 = \"stablehlo.scatter\"(%1, %i, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 2>} : "
       "(tensor<8x6xf32>, tensor<4x12xi32>, tensor<4x12x6xf32>) -> tensor<8x6xf32>\n"
       "return %0, %2 : tensor<4x12x6xf32>, tensor<8x6xf32>")},
    {"scatter into values",
     F("%t: tensor<8x6xf32>, %i: tensor<12xi32>, %d: tensor<12x6xf32>", "tensor<8x6xf32>",
       "%2 = \"stablehlo.scatter\"(%t, %i, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<8x6xf32>, tensor<12xi32>, tensor<12x6xf32>) -> tensor<8x6xf32>\n"
       "return %2 : tensor<8x6xf32>")},
    {"large table",
     F("%t: tensor<24x6xf32>, %i: tensor<6x1xi32>, %d: tensor<6x6xf32>, %u: tensor<6xui32>",
       "tensor<6x6xf32>, tensor<24x6xf32>, tensor<6x6xf32>, tensor<24x6xf32>",
       "%g = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>) -> tensor<6x6xf32>\n"
       "%z = stablehlo.constant dense<0.0> : tensor<24x6xf32>\n"
       "%c = stablehlo.constant dense<5> : tensor<6x1xi32>\n"
       "%k = stablehlo.multiply %i, %c : tensor<6x1xi32>\n"
       "%o = stablehlo.constant dense<7> : tensor<6x1xi32>\n"
       "%j = stablehlo.subtract %k, %o : tensor<6x1xi32>\n" /* some lie outside the table */
       "%2 = \"stablehlo.scatter\"(%z, %j, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>, tensor<6x6xf32>) -> tensor<24x6xf32>\n"
       "%3 = \"stablehlo.gather\"(%t, %j) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>) -> tensor<6x6xf32>\n"
       "%4 = stablehlo.add %g, %3 : tensor<6x6xf32>\n"
       "%5 = \"stablehlo.scatter\"(%t, %u, %d) " MAX
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<24x6xf32>, tensor<6xui32>, tensor<6x6xf32>) -> tensor<24x6xf32>\n"
       "return %4, %2, %3, %5 : tensor<6x6xf32>, tensor<24x6xf32>, tensor<6x6xf32>, tensor<24x6xf32>")},
    {"convolution", F("%x: tensor<4x4x6x6xf32>, %w: tensor<8x4x3x3xf32>", "tensor<4x8x4x4xf32>, tensor<8x4x3x3xf32>",
                      "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], "
                      "window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
                      "(tensor<4x4x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<4x8x4x4xf32>\n"
                      "%1 = stablehlo.convolution(%x, %0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], "
                      "window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
                      "(tensor<4x4x6x6xf32>, tensor<4x8x4x4xf32>) -> tensor<8x4x3x3xf32>\n"
                      "return %0, %1 : tensor<4x8x4x4xf32>, tensor<8x4x3x3xf32>")},
    {"pooling", F("%x: tensor<4x2x4x4xf32>, %d: tensor<4x2x2x2xf32>", "tensor<4x2x2x2xf32>, tensor<4x2x4x4xf32>",
                  Z "%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                    "%0 = \"stablehlo.reduce_window\"(%x, %n) " MAX
                    " {window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>} : "
                    "(tensor<4x2x4x4xf32>, tensor<f32>) -> tensor<4x2x2x2xf32>\n"
                    "%1 = \"stablehlo.select_and_scatter\"(%x, %d, %z) ({\n"
                    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                    "%s = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                    "stablehlo.return %s : tensor<i1>\n"
                    "}, " ADDS ") {window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, "
                    "2>} : (tensor<4x2x4x4xf32>, tensor<4x2x2x2xf32>, tensor<f32>) -> tensor<4x2x4x4xf32>\n"
                    "return %0, %1 : tensor<4x2x2x2xf32>, tensor<4x2x4x4xf32>")},
    {"batch norm",
     F("%x: tensor<12x4x2xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>, %d: tensor<12x4x2xf32>",
       "tensor<12x4x2xf32>, tensor<4xf32>, tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>",
       "%0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} : "
       "(tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>)\n"
       "%1:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %0#1, %0#2, %d) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} "
       ": (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>) -> "
       "(tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>)\n"
       "%2 = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %0#1, %0#2) {epsilon = 1.0e-5 : f32, feature_index = 1 : "
       "i64} : (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12x4x2xf32>\n"
       "return %0#0, %0#2, %1#0, %1#1, %1#2, %2 : tensor<12x4x2xf32>, tensor<4xf32>, tensor<12x4x2xf32>, "
       "tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>")},
    {"moving windows", F("%a: " T ", %u: tensor<3x8xf32>, %i: tensor<i32>", "tensor<4x8xf32>, " T,
                         "%c = stablehlo.constant dense<0> : tensor<i32>\n"
                         "%0 = stablehlo.dynamic_slice %a, %i, %c, sizes = [4, 8] : (" T
                         ", tensor<i32>, tensor<i32>) -> tensor<4x8xf32>\n"
                         "%1 = stablehlo.dynamic_update_slice %a, %u, %i, %c : (" T
                         ", tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> " T "\nreturn %0, %1 : tensor<4x8xf32>, " T)},
    {"sorting, turning", F("%a: " T, T ", " T,
                           "%0 = \"stablehlo.sort\"(%a) ({\n"
                           "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                           "%s = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                           "stablehlo.return %s : tensor<i1>\n"
                           "}) {dimension = 1 : i64, is_stable = true} : (" T ") -> " T
                           "\n%1 = stablehlo.reverse %0, dims = [0] : " T "\nreturn %0, %1 : " T ", " T)},
    {"turning round", F("%a: " T ", %b: " T, T ", " T ", tensor<4x8xf32>",
                        "%0 = stablehlo.slice %a [10:12, 0:8] : (" T ") -> tensor<2x8xf32>\n"
                        "%1 = stablehlo.slice %a [0:10, 0:8] : (" T ") -> tensor<10x8xf32>\n"
                        "%2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x8xf32>, tensor<10x8xf32>) -> " T "\n"
                        "%3 = stablehlo.add %2, %b : " T "\n"
                        "%4 = stablehlo.slice %3 [0:12, 4:8] : (" T ") -> tensor<12x4xf32>\n"
                        "%5 = stablehlo.slice %3 [0:12, 0:4] : (" T ") -> tensor<12x4xf32>\n"
                        "%6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<12x4xf32>, tensor<12x4xf32>) -> " T "\n"
                        /* one slice is read elsewhere too, and two that are no turn */
                        "%7 = stablehlo.slice %b [8:12, 0:8] : (" T ") -> tensor<4x8xf32>\n"
                        "%8 = stablehlo.slice %b [0:8, 0:8] : (" T ") -> tensor<8x8xf32>\n"
                        "%9 = stablehlo.concatenate %7, %8, dim = 0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> " T "\n"
                        "%10 = stablehlo.slice %9 [0:4, 0:8] : (" T ") -> tensor<4x8xf32>\n"
                        "%11 = stablehlo.slice %6 [4:12, 0:8] : (" T ") -> tensor<8x8xf32>\n"
                        "%12 = stablehlo.concatenate %10, %11, dim = 0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> " T
                        "\nreturn %6, %12, %7 : " T ", " T ", tensor<4x8xf32>")},
    {"a loop", F("%a: " T ", %b: " T, T,
                 "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                 "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                 "%n = stablehlo.constant dense<3> : tensor<i32>\n"
                 "%0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, " T "\n"
                 "cond {\n"
                 "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                 "stablehlo.return %c : tensor<i1>\n"
                 "} do {\n"
                 "%j = stablehlo.add %i, %o : tensor<i32>\n"
                 "%w = stablehlo.add %v, %b : " T "\nstablehlo.return %j, %w : tensor<i32>, " T
                 "\n}\n%1 = stablehlo.add %0#1, %a : " T "\nreturn %1 : " T)},
    {"a scan",
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
         "return %0#2, %0#3, %0#1 : tensor<6x12x8xf32>, tensor<8x8xf32>, " T)},
    {"branches in a loop",
     F("%a: " T ", %b: " T, T ", tensor<8xf32>",
       Z
       "%zi = stablehlo.constant dense<0> : tensor<i32>\n"
       "%o = stablehlo.constant dense<1> : tensor<i32>\n"
       "%n = stablehlo.constant dense<4> : tensor<i32>\n"
       "%k = stablehlo.constant dense<0.0> : tensor<8xf32>\n"
       "%0:3 = stablehlo.while(%i = %zi, %v = %a, %t = %k) : tensor<i32>, " T ", tensor<8xf32>\n"
       "cond {\n"
       "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
       "stablehlo.return %c : tensor<i1>\n"
       "} do {\n"
       "%j = stablehlo.add %i, %o : tensor<i32>\n"
       "%r = \"stablehlo.reduce\"(%v, %z) " ADD " {dimensions = array<i64: 0, 1>} : (" T
       ", tensor<f32>) -> tensor<f32>\n"
       "%up = stablehlo.compare GT, %r, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
       "%w = \"stablehlo.if\"(%up) ({\n"
       "%x = stablehlo.subtract %v, %b : " T "\nstablehlo.return %x : " T "\n}, {\n%x = stablehlo.multiply %v, %b : " T
       "\n%q = stablehlo.add %x, %a : " T "\nstablehlo.return %q : " T "\n}) : (tensor<i1>) -> " T "\n"
       "%u = \"stablehlo.reduce\"(%w, %z) " ADD " {dimensions = array<i64: 0>} : (" T
       ", tensor<f32>) -> tensor<8xf32>\n"
       "%m = stablehlo.add %t, %u : tensor<8xf32>\n"
       "stablehlo.return %j, %w, %m : tensor<i32>, " T ", tensor<8xf32>\n}\nreturn %0#1, %0#2 : " T ", tensor<8xf32>")},
    {"sums passed on",
     F("%a: " T ", %b: tensor<12x8xf32>, %i: tensor<2xi32>",
       "tensor<4x24xf32>, tensor<20x8xf32>, tensor<8xbf16>, tensor<2x8xf32>, " T,
       Z "%0 = stablehlo.add %a, %b : " T "\n%1 = stablehlo.negate %0 : " T
         "\n%2 = stablehlo.transpose %1, dims = [1, 0] : (" T ") -> tensor<8x12xf32>\n"
         "%3 = stablehlo.reshape %2 : (tensor<8x12xf32>) -> tensor<4x24xf32>\n"
         "%4 = stablehlo.slice %a [2:10, 0:8] : (" T ") -> tensor<8x8xf32>\n"
         "%5 = stablehlo.concatenate %4, %b, dim = 0 : (tensor<8x8xf32>, " T ") -> tensor<20x8xf32>\n"
         "%6 = \"stablehlo.reduce\"(%5, %z) " ADD
         " {dimensions = array<i64: 0>} : (tensor<20x8xf32>, tensor<f32>) -> tensor<8xf32>\n"
         "%h = stablehlo.constant dense<4.0> : tensor<8xf32>\n"
         "%7 = stablehlo.divide %6, %h : tensor<8xf32>\n"
         "%8 = stablehlo.convert %7 : (tensor<8xf32>) -> tensor<8xbf16>\n"
         "%9 = stablehlo.constant dense<2.0> : tensor<8xbf16>\n"
         "%10 = stablehlo.maximum %8, %9 : tensor<8xbf16>\n"
         "%11 = \"stablehlo.gather\"(%1, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : "
         "(" T ", tensor<2xi32>) -> tensor<2x8xf32>\n"
         "%12 = stablehlo.multiply %0, %1 : " T "\n%13 = stablehlo.multiply %12, %a : " T "\n"
         "return %3, %5, %10, %11, %13 : tensor<4x24xf32>, tensor<20x8xf32>, tensor<8xbf16>, tensor<2x8xf32>, " T)},
    {"problems side by side", side_by_side},
    {"a triangle", F("%a: tensor<4x4xf32>", "tensor<4x4xf32>",
                     "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x4xf32>, "
                     "tensor<4x4xf32>) -> tensor<4x4xf32>\n"
                     "%i = stablehlo.iota dim = 0 : tensor<4x4xi32>\n"
                     "%j = stablehlo.iota dim = 1 : tensor<4x4xi32>\n"
                     "%e = stablehlo.compare EQ, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>\n"
                     "%f = stablehlo.convert %e : (tensor<4x4xi1>) -> tensor<4x4xf32>\n"
                     "%g = stablehlo.add %0, %f : tensor<4x4xf32>\n"
                     "%1 = stablehlo.cholesky %g, lower = true : tensor<4x4xf32>\n"
                     "return %1 : tensor<4x4xf32>")},
    {"choices", F("%c: tensor<12x8xi1>, %a: " T ", %p: tensor<i1>", T,
                  Z "%o = stablehlo.constant dense<0.5> : tensor<f32>\n"
                    "%0 = stablehlo.negate %a : " T "\n%1 = stablehlo.select %c, %a, %0 : tensor<12x8xi1>, " T "\n"
                    "%2 = stablehlo.select %p, %1, %a : tensor<i1>, " T
                    "\n%3 = stablehlo.clamp %z, %2, %o : (tensor<f32>, " T ", tensor<f32>) -> " T
                    "\n%4, %5 = stablehlo.optimization_barrier %3, %c : " T ", tensor<12x8xi1>\nreturn %4 : " T)},
};

static void differential(void **state) {
    (void)state;
    static const int64_t devices[] = {2, 4, 6, 3, 8};
    const char *more = getenv("XT_TEST_ROUNDS");
    int rounds = more ? atoi(more) : 40;
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        for (int round = 0; round < rounds; round++) {
            run r;
            seed = p * 1000000 + (uint64_t)round;
            prepare(&r, programs[p].text, devices[round % 5]);
            ir_module *m = parsed(programs[p].text);
            ir_func *f = ir_func_find(m, "main");
            for (size_t i = 0; i < r.n_in; i++) r.in_form[i] = random_sharding(&r.grid, f->body->args[i]->type);
            for (size_t i = 0; i < r.n_out; i++) r.out_form[i] = random_sharding(&r.grid, f->result_types[i]);
            if (round >= 15) annotate(m, &r, f->body, round % 10 >= 5);
            partition(m, &r, programs[p].text);
            ir_module_free(m);
            finish(&r);
        }
}

/* Devices in an order that is no mesh: one order for the whole program, and one for some arguments and results only. */
static void orders(void **state) {
    (void)state;
    static const int64_t turned[] = {3, 2, 1, 0}, mixed[] = {2, 0, 3, 1};
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        for (int round = 0; round < 6; round++) {
            run r;
            seed = p * 100 + (uint64_t)round;
            prepare(&r, programs[p].text, 4);
            ir_module *m = parsed(programs[p].text);
            ir_func *f = ir_func_find(m, "main");
            for (size_t i = 0; i < r.n_in; i++) r.in_form[i] = random_sharding(&r.grid, f->body->args[i]->type);
            for (size_t i = 0; i < r.n_out; i++) r.out_form[i] = random_sharding(&r.grid, f->result_types[i]);
            for (size_t i = 0; i < r.n_in; i++) r.in_order[i] = round < 3 || draw(2) ? mixed : draw(2) ? turned : NULL;
            for (size_t i = 0; i < r.n_out; i++) r.out_order[i] = round < 3 || draw(2) ? mixed : NULL;
            partition(m, &r, programs[p].text);
            ir_module_free(m);
            finish(&r);
        }
}

/* --- what is chosen --- */
static const char *mlp(void) {
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        if (strstr(programs[p].name, "mlp")) return programs[p].text;
    return NULL;
}

static void divide(run *r, ir_sharding *s, int dim) {
    for (int a = 0; a < r->grid.n_axes; a++) ir_sharding_add(s, a, dim);
}

/* The meshes of what follows: one that divides the dims, and two that do not, which change nothing. */
static const int64_t meshes[] = {4, 6, 8};

/* Data parallel: two gradients and a loss are summed in one meeting; nothing else moves. */
static void data_parallel_over(int64_t devices) {
    run r;
    prepare(&r, mlp(), devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(mlp());
    partition(m, &r, mlp());
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void data_parallel(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) data_parallel_over(meshes[i]);
}

/* Tensor parallel, Megatron's way: the first layer by outputs, the second by inputs: one sum forward for the result,
 * none for the gradients of the weights. */
static void tensor_parallel_over(int64_t devices) {
    run r;
    prepare(&r, mlp(), devices);
    divide(&r, &r.in_form[1], 0);
    divide(&r, &r.in_form[2], 1);
    divide(&r, &r.out_form[1], 0);
    divide(&r, &r.out_form[2], 1);
    ir_module *m = parsed(mlp());
    partition(m, &r, mlp());
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void tensor_parallel(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) tensor_parallel_over(meshes[i]);
}

/* Each device factorises its own matrices and nothing moves; a call that does not say which dims count matrices gets
 * all of them. */
static void matrices_stay_divided(void **state) {
    (void)state;
    for (int said = 0; said < 2; said++) {
        const char *text = said ? side_by_side : nothing_said;
        run r;
        prepare(&r, text, 4);
        for (size_t i = 0; i < r.n_in; i++) divide(&r, &r.in_form[i], 0);
        for (size_t i = 0; i < r.n_out; i++) divide(&r, &r.out_form[i], 0);
        ir_module *m = parsed(text);
        partition(m, &r, text);
        assert_int_equal(r.stats.all_gather, said ? 0 : 1);
        assert_int_equal(r.stats.whole, said ? 0 : 1);
        assert_int_equal(r.stats.all_reduce + r.stats.reduce_scatter + r.stats.all_to_all, 0);
        ir_module_free(m);
        finish(&r);
    }
}

/* One matrix is factorised as a whole on every device, which is counted and named. */
static void one_matrix_is_whole(void **state) {
    (void)state;
    static const char text[] =
        F("%x: tensor<8x8xf32>", "tensor<8x8xf32>",
          "%0 = \"stablehlo.cholesky\"(%x) {lower = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
          "return %0 : tensor<8x8xf32>");
    run r;
    prepare(&r, text, 4);
    divide(&r, &r.in_form[0], 0), divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(text);
    partition(m, &r, text);
    assert_int_equal(r.stats.all_gather, 1);
    assert_int_equal(r.stats.whole, 1);
    ir_module_free(m);
    finish(&r);
}

/* Fully sharded: weights are joined where they are used, gradients are summed into parts. */
static const char wide[] = F("%x: tensor<64x8xf32>, %w: tensor<12x8xf32>", "tensor<12x8xf32>",
                             "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x8xf32>, "
                             "tensor<12x8xf32>) -> tensor<64x12xf32>\n"
                             "%1 = stablehlo.tanh %0 : tensor<64x12xf32>\n"
                             "%5 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<64x12xf32>, "
                             "tensor<64x8xf32>) -> tensor<12x8xf32>\n"
                             "%6 = stablehlo.subtract %w, %5 : tensor<12x8xf32>\n"
                             "return %6 : tensor<12x8xf32>");
static void fully_sharded_over(int64_t devices) {
    run r;
    prepare(&r, wide, devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.in_form[1], 0);
    divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(wide);
    partition(m, &r, wide);
    assert_int_equal(r.stats.all_gather, 1);
    assert_int_equal(r.stats.reduce_scatter, 1);
    assert_int_equal(r.stats.all_reduce + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void fully_sharded(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) fully_sharded_over(meshes[i]);
}

/* A table divided by rows stays where it is: each device looks up what it has, and the rows are summed; its gradient
 * needs nothing. */
static void divided_table_over(int64_t devices) {
    static const char text[] =
        F("%t: tensor<64x8xf32>, %i: tensor<8xi32>, %d: tensor<8x8xf32>", "tensor<8x8xf32>, tensor<64x8xf32>",
          "%0 = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
          "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : "
          "(tensor<64x8xf32>, tensor<8xi32>) -> tensor<8x8xf32>\n"
          "%z = stablehlo.constant dense<0.0> : tensor<64x8xf32>\n"
          "%1 = \"stablehlo.scatter\"(%z, %i, %d) " ADD
          " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
          "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
          "(tensor<64x8xf32>, tensor<8xi32>, tensor<8x8xf32>) -> tensor<64x8xf32>\n"
          "return %0, %1 : tensor<8x8xf32>, tensor<64x8xf32>");
    run r;
    prepare(&r, text, devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.out_form[1], 0);
    ir_module *m = parsed(text);
    partition(m, &r, text);
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void divided_table(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) divided_table_over(meshes[i]);
}

/* A dim that is turned by whole parts is sent on from device to device; by less, it is joined. */
static void sent_on(void **state) {
    (void)state;
    static const struct { int by, permutes, gathers; } rows[] = {{3, 1, 0}, {6, 1, 0}, {9, 1, 0}, {2, 0, 1}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[600];
        int by = rows[i].by;
        snprintf(text, sizeof text,
                 F("%%a: " T, T,
                   "%%0 = stablehlo.slice %%a [%d:12, 0:8] : (" T ") -> tensor<%dx8xf32>\n"
                   "%%1 = stablehlo.slice %%a [0:%d, 0:8] : (" T ") -> tensor<%dx8xf32>\n"
                   "%%2 = stablehlo.concatenate %%0, %%1, dim = 0 : (tensor<%dx8xf32>, tensor<%dx8xf32>) -> " T
                   "\nreturn %%2 : " T),
                 12 - by, by, 12 - by, 12 - by, by, 12 - by);
        run r;
        prepare(&r, text, 4);
        divide(&r, &r.in_form[0], 0);
        divide(&r, &r.out_form[0], 0);
        ir_module *m = parsed(text);
        partition(m, &r, text);
        int permutes = 0;
        for (const ir_func *f = m->funcs; f; f = f->next)
            for (const ir_op *op = f->body->first; op; op = op->next) permutes += op->code == OP_collective_permute;
        assert_int_equal(permutes, rows[i].permutes);
        assert_int_equal(r.stats.all_gather, rows[i].gathers);
        assert_int_equal(r.stats.all_reduce + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
        ir_module_free(m);
        finish(&r);
    }
}

/* A region partitioned by hand, as JAX's shard_map sends it, inside a program that is partitioned by us. */
static void by_hand(void **state) {
    (void)state;
    static const char whole[] =
        F("%a: tensor<8x2xf32>", "tensor<8x2xf32>",
          "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "%0 = stablehlo.multiply %a, %a : tensor<8x2xf32>\n"
          "%1 = stablehlo.reshape %0 : (tensor<8x2xf32>) -> tensor<4x2x2xf32>\n"
          "%2 = \"stablehlo.reduce\"(%1, %z) " ADD
          " {dimensions = array<i64: 0>} : (tensor<4x2x2xf32>, tensor<f32>) -> tensor<2x2xf32>\n"
          "%3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<2x2xf32>) -> tensor<4x2x2xf32>\n"
          "%4 = stablehlo.subtract %1, %3 : tensor<4x2x2xf32>\n"
          "%5 = stablehlo.reshape %4 : (tensor<4x2x2xf32>) -> tensor<8x2xf32>\n"
          "%6 = stablehlo.tanh %5 : tensor<8x2xf32>\n"
          "return %6 : tensor<8x2xf32>");
    static const char parts[] = F(
        "%a: tensor<8x2xf32>", "tensor<8x2xf32>",
        "%0 = stablehlo.multiply %a, %a : tensor<8x2xf32>\n"
        "%1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = \"{devices=[4,1]<=[4]}\"} : (tensor<8x2xf32>) -> "
        "tensor<8x2xf32>\n"
        "%2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = \"{manual}\"} : (tensor<8x2xf32>) -> "
        "tensor<2x2xf32>\n"
        "%3 = \"stablehlo.all_reduce\"(%2) " ADD
        " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle "
        "= 1, type = 1>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
        "%4 = stablehlo.subtract %2, %3 : tensor<2x2xf32>\n"
        "%5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = \"{manual}\"} : (tensor<2x2xf32>) -> "
        "tensor<2x2xf32>\n"
        "%6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = \"{devices=[4,1]<=[4]}\"} : "
        "(tensor<2x2xf32>) -> tensor<8x2xf32>\n"
        "%7 = stablehlo.tanh %6 : tensor<8x2xf32>\nreturn %7 : tensor<8x2xf32>");
    for (int round = 0; round < 6; round++) {
        run r;
        seed = (uint64_t)round;
        prepare(&r, whole, 4);
        r.in_form[0] = random_sharding(&r.grid, r.in[0].type);
        r.out_form[0] = random_sharding(&r.grid, r.in[0].type);
        ir_module *m = parsed(parts);
        partition(m, &r, parts);
        ir_module_free(m);
        finish(&r);
    }
}

/* What a loop carries stays divided: a scan over the batch's parts needs no exchange but the sum of the weights'
 * gradient, wherever it is made. */
static void divided_loop(void **state) {
    (void)state;
    const char *text = NULL;
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        if (strcmp(programs[p].name, "a scan") == 0) text = programs[p].text;
    for (int summands = 0; summands < 2; summands++) {
        run r;
        prepare(&r, text, 4);
        divide(&r, &r.in_form[0], 1);
        divide(&r, &r.in_form[2], 0);
        divide(&r, &r.out_form[0], 1);
        divide(&r, &r.out_form[2], 0);
        ir_module *m = parsed(text);
        ir_func *f = ir_func_find(m, "main");
        for (ir_op *op = f->body->first; op && summands; op = op->next) {
            /* the gradient is wanted as summands: it is added up once, behind the loop */
            if (op->code != OP_while) continue;
            ir_builder b = ir_before(m, op->next);
            ir_value *v = ir_annotate_sharding(&b, &op->out[3], "{unreduced}");
            ir_replace_uses(m, &op->out[3], v);
            ir_set_operand(v->def, 0, &op->out[3]);
            op = v->def;
        }
        partition(m, &r, text);
        assert_int_equal(r.stats.all_reduce, 1);
        assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
        f = ir_func_find(m, "main");
        size_t outside = 0;
        for (const ir_func *g = m->funcs; g; g = g->next)
            for (const ir_op *op = g->body ? g->body->first : NULL; op; op = op->next)
                outside += op->code == OP_all_reduce;
        assert_int_equal(outside, summands);
        ir_module_free(m);
        finish(&r);
    }
}

/* Parts and copies become summands: the part in its place, the copy on the first device, zeros elsewhere; and what
 * enters as summands may leave so. */
static void summands(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        double want[2][4];
    } rows[] = {{"{replicated}", "{unreduced}", {{1, 2, 3, 4}, {0, 0, 0, 0}}},
                {"{devices=[2]<=[2]}", "{devices=[1,2]<=[2] last_tile_dims={unreduced}}", {{1, 2, 0, 0}, {0, 0, 3, 4}}},
                {"{unreduced}", "{unreduced}", {{1, 2, 3, 4}, {5, 6, 7, 8}}},
                {"{unreduced}", "{replicated}", {{6, 8, 10, 12}, {6, 8, 10, 12}}},
                {"{unreduced}", "{devices=[2]<=[2]}", {{6, 8}, {10, 12}}}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 F("%%a: tensor<4xf32> {mhlo.sharding = \"%s\"}", "tensor<4xf32> {mhlo.sharding = \"%s\"}",
                   "return %%a : tensor<4xf32>"),
                 rows[i].from, rows[i].to);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 2};
        ok(pass_lower_spmd(&c, m), text);
        run r = {.grid = grid_of(2), .n_in = 1, .n_out = 1};
        ir_func *part = ir_func_find(m, "main");
        const ir_type *in_type = part->body->args[0]->type;
        add_main(m, &r);
        ok(ir_verify(m), text);
        array in[2], out[2];
        for (int k = 0; k < 2; k++) {
            ok(array_new(in_type, &in[k]), text);
            for (int64_t e = 0; e < in_type->count; e++)
                array_set(&in[k], e, (double)(e + 1 + (rows[i].from[1] == 'r' ? 0 : k * in_type->count)));
        }
        ok(interp_run(m, "main", NULL, 2, in, 2, out), text);
        for (int k = 0; k < 2; k++) {
            for (int64_t e = 0; e < out[k].type->count; e++) assert_true(array_get(&out[k], e) == rows[i].want[k][e]);
            array_free(&in[k]);
            array_free(&out[k]);
        }
        ir_module_free(m);
    }
}

/* Dims that the devices do not divide are filled up at the border: 5 rows over 4 devices are 2, 2, 1 and 0 of them. */
static void uneven(void **state) {
    (void)state;
    static const char text[] = F("%a: tensor<5x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"}",
                                 "tensor<2x5xf32> {mhlo.sharding = \"{devices=[1,4]<=[4]}\"}, tensor<f32>",
                                 Z "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<5x2xf32>) -> tensor<2x5xf32>\n"
                                   "%1 = \"stablehlo.reduce\"(%a, %z) " ADD
                                   " {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>\n"
                                   "return %0, %1 : tensor<2x5xf32>, tensor<f32>");
    ir_module *m = parsed(text);
    pass_ctx c = {.partitions = 4};
    ok(pass_lower_spmd(&c, m), text);
    run r = {.grid = grid_of(4), .n_in = 1, .n_out = 2};
    array in[4], out[8];
    const ir_type *t = ir_func_find(m, "main")->body->args[0]->type;
    assert_int_equal(t->dims[0], 2);
    add_main(m, &r);
    ok(ir_verify(m), text);
    for (int64_t k = 0; k < 4; k++) {
        ok(array_new(t, &in[k]), text);
        /* what fills up may be anything */
        for (int64_t e = 0; e < 4; e++) array_set(&in[k], e, 4 * k + e < 10 ? (double)(4 * k + e) : 1e6);
    }
    ok(interp_run(m, "main", NULL, 4, in, 8, out), text);
    for (int64_t k = 0; k < 4; k++) {
        assert_int_equal(out[2 * k].type->dims[1], 2);
        for (int64_t e = 0; e < 2 && 2 * k + e < 5; e++) /* column 2 k + e of the transpose is that row */
            for (int64_t row = 0; row < 2; row++)
                assert_true(array_get(&out[2 * k], 2 * row + e) == (double)(2 * (2 * k + e) + row));
        assert_true(array_get(&out[2 * k + 1], 0) == 45);
        array_free(&in[k]);
        array_free(&out[2 * k]);
        array_free(&out[2 * k + 1]);
    }
    ir_module_free(m);
}

/* What is said of a result that may stay divided: in the words of the program, and in the order of its devices. */
static void kept_divided(void **state) {
    (void)state;
    static const struct {
        const char *arg, *result;
    } rows[] = {
        {"{devices=[1,4]<=[4]}", "{devices=[1,4]<=[4]}"},
        {"{devices=[1,4]0,1,2,3}", "{devices=[1,4]0,1,2,3}"},
        {"{devices=[1,4]3,0,2,1}", "{devices=[1,4]3,0,2,1}"},
        {"{devices=[2,1,2]3,0,2,1 last_tile_dim_replicate}", "{devices=[2,1,2]3,0,2,1 last_tile_dim_replicate}"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 F("%%a: tensor<4x8xf32> {mhlo.sharding = \"%s\"}", "tensor<4x8xf32>",
                   "%%0 = stablehlo.negate %%a : tensor<4x8xf32>\n"
                   "return %%0 : tensor<4x8xf32>"),
                 rows[i].arg);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4, .keep_divided = true};
        ok(pass_lower_spmd(&c, m), text);
        ir_func *f = ir_func_find(m, "main");
        assert_string_equal(ir_sharding_text(f->n_result_attrs[0], f->result_attrs[0]), rows[i].result);
        ir_module_free(m);
    }
}

static void one_device(void **state) {
    (void)state;
    ir_module *m = parsed(F("%a: tensor<4xf32> {mhlo.sharding = \"{replicated}\"}", "tensor<4xf32>",
                            "%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"{replicated}\"} : "
                            "(tensor<4xf32>) -> tensor<4xf32>\n"
                            "return %0 : tensor<4xf32>"));
    pass_ctx c = {0};
    ok(pass_lower_spmd(&c, m), "one device");
    ir_op *first = ir_func_find(m, "main")->body->first;
    assert_int_equal(first->code, OP_func_return);
    ir_module_free(m);
}

static char told[2][64];
static int tell(int64_t id, const char *sharding, char *error, size_t error_size) {
    if (id == 2) {
        snprintf(error, error_size, "said no");
        return 1;
    }
    snprintf(told[id], sizeof told[id], "%s", sharding);
    return 0;
}

/* A program asks how a value is divided: the function is told, and the op is gone. On devices that all do the whole it
 * is told so; its failure is an error. */
static void inspected(void **state) {
    (void)state;
    char text[1200];
    const char *call =
        "stablehlo.custom_call @xtrain_inspect_sharding(%%%s) {api_version = 4 : i32, has_side_effect = true, "
        "mhlo.backend_config = {function = %llu : i64, id = %d : i64}} : (tensor<4x8xf32>) -> ()\n";
    for (int round = -1; round < 3; round++) { /* -1: nobody has named the function */
        char one[400], two[400];
        unsigned long long f = (unsigned long long)(uintptr_t)tell;
        if (round == 0) assert_int_equal(xtrain_allow_host_function((void *)(uintptr_t)tell), 0);
        snprintf(one, sizeof one, call, "a", f, 0);
        snprintf(two, sizeof two, call, "n", f, round == 2 ? 2 : 1);
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<4x8xf32> %s) -> (tensor<4x8xf32>) {\n"
                 "%s%%n = stablehlo.negate %%a : tensor<4x8xf32>\n"
                 "%sreturn %%n : tensor<4x8xf32>\n"
                 "}\n",
                 round == 1 ? "" : "{mhlo.sharding = \"{devices=[1,4]<=[4]}\"}", one, two);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4};
        memset(told, 0, sizeof told);
        xt_status s = pass_lower_spmd(&c, m);
        if (round == -1 || round == 2) {
            assert_true(s &&
                        strstr(xt_status_message(s), round == 2 ? "said no" : "its function is none of this process"));
            assert_true(round == 2 || !told[0][0]);
            xt_status_free(s);
        } else {
            ok(s, text);
            for (int k = 0; k < 2; k++) assert_string_equal(told[k], round ? "{replicated}" : "{devices=[1,4]<=[4]}");
            assert_int_equal(ir_func_find(m, "main")->body->first->code, OP_negate);
        }
        ir_module_free(m);
    }
}

/* A callback that each device makes with its own parts gets what there is of the value, others the whole. */
static void told_in_parts(void **state) {
    (void)state;
    for (int partitioned = 0; partitioned < 2; partitioned++) {
        char text[700];
        snprintf(
            text, sizeof text,
            "func.func @main(%%a: tensor<4x8xf32> {mhlo.sharding = \"{devices=[1,4]<=[4]}\"}) -> (tensor<4x8xf32>) {\n"
            "%%n = stablehlo.negate %%a : tensor<4x8xf32>\n"
            "stablehlo.custom_call @xtrain_host_callback(%%n) {api_version = 4 : i32, has_side_effect = true, "
            "mhlo.backend_config = {function = 0 : i64, id = 1 : i64, partitioned = %d : i64}} : (tensor<4x8xf32>) -> "
            "()\n"
            "return %%n : tensor<4x8xf32>\n}\n",
            partitioned);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4, .keep_divided = true};
        ok(pass_lower_spmd(&c, m), text);
        const ir_op *call = ir_func_find(m, "main")->body->first;
        while (call->code != OP_custom_call) call = call->next;
        assert_int_equal(call->in[0]->type->dims[1], partitioned ? 2 : 8);
        assert_int_equal(c.spmd.all_gather, !partitioned);
        ir_module_free(m);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}", "tensor<8xf32>", "return %a : tensor<8xf32>"),
         "is no sharding"},
        {F("%a: tensor<8x2xf32> {mhlo.sharding = \"{devices=[4]<=[4]}\"}", "tensor<8x2xf32>",
           "return %a : tensor<8x2xf32>"),
         "speaks of 1 dims"},
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[4]0,3,1,1}\"}", "tensor<8xf32>",
           "return %a : tensor<8xf32>"),
         "is no sharding"},
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[4]<=[4]}\"}", "tensor<4xf32>",
           "%0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = \"{manual}\"} : (tensor<8xf32>) -> "
           "tensor<4xf32>\n"
           "return %0 : tensor<4xf32>"),
         "not the whole and the part"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_module *m = parsed(rows[i].text);
        pass_ctx c = {.partitions = 4};
        xt_status s = pass_lower_spmd(&c, m);
        if (!s || !strstr(xt_status_message(s), rows[i].words))
            fail_msg("\"%s\" has no \"%s\"", xt_status_message(s), rows[i].words);
        xt_status_free(s);
        ir_module_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(differential),
                                       cmocka_unit_test(orders),
                                       cmocka_unit_test(divided_loop),
                                       cmocka_unit_test(summands),
                                       cmocka_unit_test(uneven),
                                       cmocka_unit_test(kept_divided),
                                       cmocka_unit_test(data_parallel),
                                       cmocka_unit_test(tensor_parallel),
                                       cmocka_unit_test(matrices_stay_divided),
                                       cmocka_unit_test(one_matrix_is_whole),
                                       cmocka_unit_test(fully_sharded),
                                       cmocka_unit_test(divided_table),
                                       cmocka_unit_test(sent_on),
                                       cmocka_unit_test(by_hand),
                                       cmocka_unit_test(one_device),
                                       cmocka_unit_test(inspected),
                                       cmocka_unit_test(told_in_parts),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
