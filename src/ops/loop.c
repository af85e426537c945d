/* xt_scan: a function recorded once, as the body of a stablehlo.while.
 *
 * While it is recorded the builder stands in the body's block (lazy_loop_begin). The state of the loop is [i, carries,
 * stacks of outputs, stacks of what a backward pass will want]. Slices and stacks are read and written in place: row i,
 * or n-1-i in reverse. What is kept for a backward pass (carries before the step, products of the body) is always row
 * i; src/grad finds it by its form, so it needs no attribute, and what no gradient asks for is dead state that
 * compilers drop.
 *
 * Inputs and whatever else fn reads from outside are captured, not carried: their gradients are captured
 * values' gradients. */
#include "lazy/places.h"
#include "ops/ops.h"

#include <xtrain/loop.h>

typedef struct rows { /* states that take one row an iteration */
    ir_value **of, **args; /* in the body: what a row gets, the stack so far */
    const ir_type **types;
    ir_value *at; /* the row, i64 */
    size_t n;
} rows;

typedef struct scan {
    const xt_src *src;
    xt_scan_fn fn;
    xt_scan_opts o;
    int n_carry, n_x, n_y;
    ir_value **init, **xs, **next; /* [n_carry], [n_x], [n_carry] */
    xt_tensor *in, *state, *out; /* handles inside the body: slices, carries, outputs */
    rows y, kept;
    int64_t length;
    bool wants; /* something that comes in wants a gradient */
} scan;

static ir_value *number(ir_builder *b, int64_t v) {
    return ir_splat(b, ir_scalar(XT_I64), (double)v);
}

/* --- rows --- */
/* Row `at` of a stack as the box [1, ...] that begins at [at, 0, ...]. */
static bool row_box(ir_builder *b, ir_value *at, const ir_type *stack, ir_value **start, int64_t *dims) {
    for (size_t i = 1; i < stack->rank; i++) start[i] = number(b, 0);
    start[0] = at;
    memcpy(dims, stack->dims, stack->rank * sizeof *dims);
    dims[0] = 1;
    return !b->status;
}

static ir_value *row_of(ir_builder *b, ir_value *x, ir_value *at) {
    int64_t dims[XT_MAX_RANK];
    ir_value *start[XT_MAX_RANK];
    const ir_type *t = x->type;
    if (!row_box(b, at, t, start, dims)) return NULL;
    return ir_reshape(b, ir_dynamic_slice(b, x, t->rank, start, dims), t->rank - 1, t->dims + 1);
}

static ir_value *with_row(ir_builder *b, ir_value *stack, ir_value *x, ir_value *at) {
    int64_t dims[XT_MAX_RANK];
    ir_value *start[XT_MAX_RANK];
    const ir_type *t = stack->type;
    if (!row_box(b, at, t, start, dims)) return NULL;
    return ir_dynamic_update_slice(b, stack, ir_reshape(b, x, t->rank, dims), t->rank, start);
}

static const ir_type *stack_type(const scan *s, const ir_type *t) {
    int64_t dims[XT_MAX_RANK];
    if (t->rank + 1 > XT_MAX_RANK) return NULL;
    dims[0] = s->length;
    memcpy(dims + 1, t->dims, t->rank * sizeof *dims);
    return ir_tensor(t->dtype, t->rank + 1, dims);
}

static xt_status rows_new(rows *r, ir_module *m, size_t most) {
    r->of = arena_alloc(m->mem, (most + 1) * sizeof *r->of);
    r->args = arena_alloc(m->mem, (most + 1) * sizeof *r->args);
    r->types = arena_alloc(m->mem, (most + 1) * sizeof *r->types);
    return r->of && r->args && r->types ? NULL : status_oom(most * sizeof *r->of, "xt_scan");
}

/* A stack of x, which the body computes. */
static xt_status rows_add(rows *r, const scan *s, ir_module *m, ir_block *body, ir_value *x) {
    const ir_type *t = stack_type(s, x->type);
    if (!t)
        return status_new(XT_INVALID_ARGUMENT, s->src, "xt_scan: stacking a tensor of rank %d gives more than %d dims",
                          (int)x->type->rank, XT_MAX_RANK);
    r->of[r->n] = x;
    r->types[r->n] = t;
    r->args[r->n] = ir_block_arg(m, body, t);
    return r->args[r->n++] ? NULL : status_oom(sizeof *x, "xt_scan");
}

/* --- the body --- */
static xt_status wrong_type(const scan *s, int k, const ir_type *before, const ir_type *after) {
    str text = STR_INIT;
    str_printf(&text, "xt_scan: carry %d comes in as ", k);
    ir_type_print(before, &text);
    str_append(&text, " and goes out of the function as ");
    ir_type_print(after, &text);
    xt_status st =
        status_new(XT_INVALID_ARGUMENT, s->src,
                   "%s: a state must keep its shape and dtype (xt_cast, xt_reshape, or begin with the type it becomes)",
                   str_cstr(&text));
    str_free(&text);
    return st;
}

/* The outermost indices of ops in the body (XT_DEBUG=bounds) leave it as rows behind those of the user. */
static xt_status rows_of_bounds(scan *s, ir_module *m, ir_block *body) {
    size_t n = lazy_bounds_count(body);
    rows old = s->y;
    if (n == 0) return NULL;
    XT_TRY(rows_new(&s->y, m, old.n + n));
    memcpy(s->y.of, old.of, old.n * sizeof *old.of);
    memcpy(s->y.args, old.args, old.n * sizeof *old.args);
    memcpy(s->y.types, old.types, old.n * sizeof *old.types);
    for (size_t i = 0; i < n; i++) XT_TRY(rows_add(&s->y, s, m, body, *lazy_bounds_in(body, i)));
    return NULL;
}

/* Calls fn with handles for the state and the slices; takes values from what it gives. Pending errors are found
 * by the caller. */
static const char *const FN = "the function of xt_scan";
static xt_status call_fn(scan *s, ir_builder *b, ir_value *at) {
    for (int k = 0; k < s->n_x; k++) {
        lazy_begin(s->src);
        ir_value *x = row_of(b, s->xs[k], at);
        s->in[k] = lazy_wrap(x, "xt_scan");
    }
    for (int k = 0; k < s->n_y; k++) s->out[k] = (xt_tensor){0};
    if (lazy_pending()) return NULL;
    lazy_inside_fn call;
    lazy_enter(&call, FN, NULL);
    s->fn(s->state, s->in, s->out, s->o.user);
    lazy_leave(&call);
    lazy_begin(s->src);
    if (!lazy_pending() && lazy_places_kept(s->src, FN, "carry", "n_carry", s->n_carry, s->state))
        lazy_places_kept(s->src, FN, "y", "n_y", s->n_y, s->out);
    for (int k = 0; k < s->n_carry && !lazy_pending(); k++) {
        s->next[k] = lazy_value(s->state[k]);
        if (s->next[k] && s->next[k]->type != s->init[k]->type)
            return wrong_type(s, k, s->init[k]->type, s->next[k]->type);
    }
    for (int k = 0; k < s->n_y && !lazy_pending(); k++) {
        if (xt_is_none(s->out[k]))
            return status_new(XT_INVALID_ARGUMENT, s->src, "xt_scan: the function did not fill y[%d] of %d", k, s->n_y);
        ir_value *y = lazy_value(s->out[k]);
        if (y) XT_TRY(rows_add(&s->y, s, b->m, b->block, y));
    }
    return lazy_pending() ? NULL : rows_of_bounds(s, b->m, b->block);
}

static bool is_product(const ir_op *op) {
    return op->code == OP_dot_general || op->code == OP_convolution;
}

/* What a backward pass wants of each step: states before it, and what would be dear to compute again. */
static xt_status keep_for_backward(scan *s, ir_module *m, ir_block *body) {
    size_t n = (size_t)s->n_carry;
    bool wants = s->wants;
    for (const ir_op *op = body->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out && !wants; i++) wants = lazy_needs_grad(&op->out[i]);
        n += is_product(op);
    }
    XT_TRY(rows_new(&s->kept, m, n));
    if (!wants || !lazy_grad_enabled()) return NULL;
    const ir_op *last = body->last;
    for (int k = 0; k < s->n_carry; k++)
        if (body->args[1 + k]->type->rank < XT_MAX_RANK) XT_TRY(rows_add(&s->kept, s, m, body, body->args[1 + k]));
    for (ir_op *op = body->first; op && s->o.recompute != XT_ON; op = op->next) {
        if (is_product(op) && op->out[0].type->rank < XT_MAX_RANK) XT_TRY(rows_add(&s->kept, s, m, body, &op->out[0]));
        if (op == last) break;
    }
    return NULL;
}

static xt_status record_body(scan *s, ir_builder *b, ir_block *body) {
    ir_value *i = body->args[0];
    ir_value *at = s->o.reverse == XT_ON ? ir_subtract(b, number(b, s->length - 1), i) : i;
    XT_TRY(call_fn(s, b, at));
    if (lazy_pending()) return NULL;
    XT_TRY(keep_for_backward(s, b->m, body));
    lazy_begin(s->src);
    s->y.at = at;
    s->kept.at = i;
    size_t n = 1 + (size_t)s->n_carry + s->y.n + s->kept.n, k = 0;
    ir_value **next = arena_alloc(b->m->mem, n * sizeof *next);
    if (!next) return status_oom(n * sizeof *next, "xt_scan");
    next[k++] = ir_add(b, i, number(b, 1));
    for (int j = 0; j < s->n_carry; j++) next[k++] = s->next[j];
    const rows *all[] = {&s->y, &s->kept};
    for (size_t r = 0; r < 2; r++)
        for (size_t j = 0; j < all[r]->n; j++) next[k++] = with_row(b, all[r]->args[j], all[r]->of[j], all[r]->at);
    ir_return(b, n, next);
    return NULL;
}

static void erase_all(ir_block *body) {
    while (body->last) ir_erase(body->last);
}

/* The carries as arguments of the body, and handles for them. */
static xt_status take_carries(scan *s, ir_builder *b, ir_block *body) {
    XT_TRY(rows_new(&s->y, b->m, (size_t)s->n_y));
    for (int k = 0; k < s->n_carry; k++) {
        ir_value *arg = ir_block_arg(b->m, body, s->init[k]->type);
        if (!arg) return status_oom(sizeof *arg, "xt_scan");
        if (s->wants) lazy_want_grad(arg);
    }
    for (int k = 0; k < s->n_carry; k++) {
        lazy_begin(s->src);
        s->state[k] = lazy_wrap(body->args[1 + k], "xt_scan");
    }
    return NULL;
}

/* Records the body in a block of its own; whatever happens, the builder is back where it was. NULL with an
 * error pending. */
static ir_block *make_body(scan *s, ir_builder *b) {
    lazy_loop loop;
    xt_status st = lazy_loop_begin(&loop, "xt_scan", s->src, s->length);
    if (!st) {
        st = take_carries(s, b, loop.body);
        if (!st) st = record_body(s, b, loop.body);
        xt_status recorded = lazy_loop_end(&loop);
        if (!st)
            st = recorded;
        else
            xt_status_free(recorded);
    }
    if (!st && !lazy_pending()) return loop.body;
    lazy_bounds_forget(loop.body);
    if (loop.body) erase_all(loop.body);
    if (st) lazy_fail(status_at(st, s->src));
    return NULL;
}

static ir_block *make_cond(const scan *s, ir_builder *outer, size_t n, ir_value *const *state) {
    ir_block *block = ir_block_new(outer->m);
    if (!block) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!ir_block_arg(outer->m, block, state[i]->type)) return NULL;
    ir_builder b = ir_at_end(outer->m, block);
    b.src = outer->src;
    b.path = outer->path;
    ir_value *more = ir_compare(&b, IR_LT, block->args[0], number(&b, s->length));
    ir_return(&b, 1, &more);
    outer->status = b.status;
    return b.status ? NULL : block;
}

static ir_op *make_loop(scan *s, ir_block *body) {
    ir_builder *b = lazy_begin(s->src);
    size_t n = body->n_args, k = 0;
    ir_value **state = arena_alloc(b->m->mem, n * sizeof *state);
    if (!state) return NULL;
    state[k++] = number(b, 0);
    for (int j = 0; j < s->n_carry; j++) state[k++] = s->init[j];
    for (size_t j = 0; j < s->y.n; j++) state[k++] = ir_splat(b, s->y.types[j], 0);
    for (size_t j = 0; j < s->kept.n; j++) state[k++] = ir_splat(b, s->kept.types[j], 0);
    for (size_t j = 0; j < n; j++)
        if (!state[j]) return NULL;
    ir_block *cond = make_cond(s, b, n, state);
    return cond ? ir_build(b, OP_while, n, state, 0, NULL, 2, (ir_block *[]){cond, body}, 0, NULL) : NULL;
}

/* The outermost of all iterations' rows, [length, 2], take the place of those of one: they are values of what is around
 * the loop now. */
static void outermost_bounds(const scan *s, ir_builder *b, const ir_block *body, const ir_op *loop) {
    int64_t rows_axis = 0, from[2] = {0, 1}, to[2] = {1, 2};
    for (size_t k = (size_t)s->n_y; loop && k < s->y.n; k++) {
        ir_value *all = &loop->out[1 + (size_t)s->n_carry + k], *ends[2];
        for (int i = 0; i < 2; i++) {
            ir_value *end = ir_reduce(b, i ? OP_maximum : OP_minimum, all, 1, &rows_axis);
            ends[i] = end ? ir_slice(b, end, &from[i], &to[i], NULL) : NULL;
        }
        ir_value *both = ends[0] && ends[1] ? ir_concatenate(b, 2, ends, 0) : NULL;
        if (!both) break;
        *lazy_bounds_in(body, 0) = both;
    }
    lazy_bounds_forget(body);
}

/* --- what comes in --- */
static bool read_operands(scan *s, const xt_tensor *carry, const xt_tensor *xs) {
    ops_text buf;
    lazy_begin(s->src);
    for (int k = 0; k < s->n_carry; k++)
        if (!(s->init[k] = lazy_value(carry[k]))) return false;
    s->length = s->o.length;
    for (int k = 0; k < s->n_x; k++) {
        ir_value *x = s->xs[k] = lazy_value(xs[k]);
        if (!x) return false;
        bool known = k > 0 || s->o.length >= 0;
        if (x->type->rank == 0 || (known && x->type->dims[0] != s->length)) {
            if (k > 0)
                lazy_error(
                    s->src, XT_INVALID_ARGUMENT,
                    "xt_scan: input %d is %s, but input 0 has %lld steps: the first dims of all inputs must be equal",
                    k, ops_shape(x->type, &buf), (long long)s->length);
            else if (known)
                lazy_error(s->src, XT_INVALID_ARGUMENT, "xt_scan: input 0 is %s, but .length is %lld",
                           ops_shape(x->type, &buf), (long long)s->length);
            else
                lazy_error(s->src, XT_INVALID_ARGUMENT, "xt_scan: input 0 is a scalar; inputs are [steps,...]");
            return false;
        }
        s->length = x->type->dims[0];
    }
    for (int k = 0; k < s->n_carry; k++) s->wants |= lazy_needs_grad(s->init[k]);
    for (int k = 0; k < s->n_x; k++) s->wants |= lazy_needs_grad(s->xs[k]);
    return true;
}

/* Of no steps at all: what one would give says the types. The loop itself is read by nobody. */
static bool stand_in(scan *s, ir_builder *b) {
    int64_t dims[XT_MAX_RANK];
    s->length = 1;
    for (int k = 0; k < s->n_x; k++) {
        const ir_type *t = s->xs[k]->type;
        memcpy(dims, t->dims, t->rank * sizeof *dims);
        dims[0] = 1;
        if (!(s->xs[k] = ir_splat(b, ir_tensor(t->dtype, t->rank, dims), 0))) return false;
    }
    return true;
}

static void give_nothing(const scan *s, const ir_op *loop, xt_tensor *carry, xt_tensor *ys) {
    for (int k = 0; k < s->n_carry; k++) {
        ir_builder *b = lazy_begin(s->src);
        carry[k] = lazy_wrap(ops_copy(b, s->init[k]), "xt_scan");
    }
    for (int k = 0; k < s->n_y; k++) {
        int64_t dims[XT_MAX_RANK];
        const ir_type *t = loop->out[1 + s->n_carry + k].type;
        ir_builder *b = lazy_begin(s->src);
        memcpy(dims, t->dims, t->rank * sizeof *dims);
        dims[0] = 0;
        ys[k] = lazy_wrap(ir_splat(b, ir_tensor(t->dtype, t->rank, dims), 0), "xt_scan");
    }
}

static bool arguments_fit(const xt_src *src, xt_scan_fn fn, int n_carry, const xt_tensor *carry, int n_x,
                          const xt_tensor *xs, int n_y, const xt_tensor *ys, const xt_scan_opts *o) {
    if (!fn)
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_scan: the function `fn` is NULL; expected the address of a function");
    else if (n_carry < 0 || n_x < 0 || n_y < 0 || (n_carry && !carry) || (n_x && !xs) || (n_y && !ys))
        lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_scan: %d carries, %d inputs, %d outputs: counts are at least 0, and what they count must be there",
            n_carry, n_x, n_y);
    else if (o->length < -1 || o->length > INT32_MAX || (!n_x && o->length < 0))
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_scan: .length = %lld is out of range: expected 0 to %d%s",
                   (long long)o->length, INT32_MAX, n_x ? " (-1: that of the inputs)" : ", as there are no inputs");
    else
        return true;
    return false;
}

enum { FEW = 32 };
bool xt_scan_at(const xt_src *src, xt_scan_fn fn, int n_carry, xt_tensor *carry, int n_x, const xt_tensor *xs, int n_y,
                xt_tensor *ys, xt_scan_opts o) {
    ir_builder *b = lazy_begin(src);
    if (!b->m) return false; /* no memory for anything */
    bool ok = arguments_fit(src, fn, n_carry, carry, n_x, xs, n_y, ys, &o);
    if (!ok) n_carry = n_carry > 0 && carry ? n_carry : 0, n_y = n_y > 0 && ys ? n_y : 0, n_x = 0;
    size_t nc = (size_t)n_carry, nx = (size_t)n_x, ny = (size_t)n_y;
    size_t n_values = 2 * nc + nx + 1, n_handles = nc + nx + ny + 2 * LAZY_SPARE; /* behind carry and y */
    /* fn may leave by longjmp or an exception: what lies on the stack goes with it. */
    ir_value *few_values[FEW] = {0}, **values = few_values;
    xt_tensor few_handles[FEW + 2 * LAZY_SPARE] = {0}, *handles = few_handles;
    if (n_values > BASE_COUNT(few_values)) values = base_calloc(n_values, sizeof *values);
    if (n_handles > BASE_COUNT(few_handles)) handles = base_calloc(n_handles, sizeof *handles);
    scan s = {.src = src,
              .fn = fn,
              .o = o,
              .n_carry = n_carry,
              .n_x = n_x,
              .n_y = n_y,
              .init = values,
              .next = values + nc,
              .xs = values + 2 * nc,
              .state = handles,
              .in = handles + nc + LAZY_SPARE,
              .out = handles + nc + LAZY_SPARE + nx};
    ir_op *loop = NULL;
    bool none = false; /* no steps */
    if (ok && (!values || !handles))
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_scan: no memory for %d tensors", n_carry + n_x + n_y);
    else if (ok && read_operands(&s, carry, xs) && (!(none = s.length == 0) || stand_in(&s, lazy_begin(src)))) {
        ir_block *body = make_body(&s, b);
        loop = body ? make_loop(&s, body) : NULL;
        if (body) outermost_bounds(&s, b, body, none ? NULL : loop);
        if (body && !loop) erase_all(body);
    }
    lazy_begin(src);
    if (loop && none) {
        give_nothing(&s, loop, carry, ys);
        n_carry = n_y = 0;
    }
    for (int k = 0; k < n_carry; k++) carry[k] = lazy_wrap(loop ? &loop->out[1 + k] : NULL, "xt_scan");
    for (int k = 0; k < n_y; k++) ys[k] = lazy_wrap(loop ? &loop->out[1 + n_carry + k] : NULL, "xt_scan");
    if (values != few_values) base_free(values);
    if (handles != few_handles) base_free(handles);
    return loop != NULL;
}
