/* Finds the chains of rowwise.h. From a reduction over the last dims, its operand's makers are marked; then the ops
 * behind are looked at in order: what the chain can hold and depends on none of its values by way of others joins, so a
 * chain can always be computed at one place. */
#include "cpu/plan/rowwise.h"
#include "cpu/plan/build_int.h"
#include "cpu/plan/captured.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/fold.h"
#include "pass/pass.h"

enum {
    LEAST_COLS = 16,
    MOST_COLS = 1 << 15, /* a row of f32 is an eighth of a megabyte */
    LEAST_BLOCKS = 8,
    BLOCK =
        1 << 15, /* elements: a thunk's own cost is small beside its work, and arrays stay in the second-level cache */
    LEAST = 1 << 17, /* smaller arrays are in the caches anyway */
    SMALL_BLOCK = 64, /* with XT_CPU_SMALL */
    MOST_WANTED = 48,
    WINDOW = 192, /* ops that are looked at, before the first reduction and behind the last op that joined */
    MOST_DEPTH = 24
};

/* --- what is known of values --- */
rowwise_value *rowwise_info(const rowwise_chain *c, const ir_value *v) {
    uint64_t number = v->mark & UINT32_MAX;
    return (v->mark & ~(uint64_t)UINT32_MAX) == c->epoch && number && number <= c->n ? &c->values[number - 1] : NULL;
}

static rowwise_value *note(rowwise_chain *c, ir_value *v) {
    rowwise_value *there = rowwise_info(c, v), one = {.value = v};
    if (there) return there;
    if (!VEC_PUSH(c->values, c->n, c->cap, one)) {
        c->failed = true;
        return NULL;
    }
    v->mark = c->epoch | c->n;
    return &c->values[c->n - 1];
}

bool rowwise_is_inside(const rowwise_chain *c, const ir_value *v) {
    const rowwise_value *i = rowwise_info(c, v);
    return i && !i->outside && !i->wanted && !i->source;
}
static bool is_outside(const rowwise_chain *c, const ir_value *v) {
    const rowwise_value *i = rowwise_info(c, v);
    return i && i->outside;
}

/* The first elements make up `rows`, the others `cols`. */
static bool splits(const ir_type *t, int64_t rows) {
    int64_t n = 1;
    for (uint32_t d = 0; d < t->rank && n < rows; d++) n *= t->dims[d];
    return n == rows;
}

static bool has_good_dtype(const ir_type *t) {
    switch ((int)t->dtype) {
    case XT_BOOL:
    case XT_I8:
    case XT_U8:
    case XT_I32:
    case XT_U32:
    case XT_I64:
    case XT_F64:
    case XT_F32:
    case XT_BF16: return true;
    default: return false;
    }
}

rowwise_kind rowwise_kind_of(const rowwise_chain *c, const ir_type *t) {
    if (t->kind != IR_TENSOR || !has_good_dtype(t)) return ROWWISE_NONE;
    if (t->count == c->rows * c->cols) return splits(t, c->rows) ? ROWWISE_FULL : ROWWISE_NONE;
    return t->count == c->rows ? ROWWISE_ROWS : ROWWISE_NONE;
}

bool rowwise_is_splat(const ir_value *v) {
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return l && (l->splat || l->type->count == 1);
}

bool rowwise_is_free(const ir_op *op) {
    return op->code == OP_broadcast_in_dim || op->code == OP_iota || rowwise_is_splat(&op->out[0]);
}

/* The dim from which on `t`'s dims are those of a row. */
static uint32_t first_of_row(const rowwise_chain *c, const ir_type *t) {
    int64_t n = 1;
    uint32_t d = 0;
    while (n < c->rows) n *= t->dims[d++];
    return d;
}

rowwise_kind rowwise_broadcast_of(const rowwise_chain *c, const ir_op *op) {
    const ir_type *from = op->in[0]->type, *to = op->out[0].type;
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    bool in_order = true, of_rows = true, of_cols = true;
    int64_t last = -1;
    if (!has_good_dtype(from)) return ROWWISE_NONE;
    if (from->count == 1) return ROWWISE_ONE;
    uint32_t row = rowwise_kind_of(c, to) == ROWWISE_FULL ? first_of_row(c, to) : to->rank;
    for (uint32_t d = 0; d < from->rank; d++) {
        if (from->dims[d] == 1) continue;
        in_order &= dims[d] > last;
        last = dims[d];
        of_rows &= dims[d] < row;
        of_cols &= dims[d] >= row;
    }
    if (!in_order) return ROWWISE_NONE;
    if (from->count == to->count) return rowwise_kind_of(c, to);
    if (from->count == c->rows && of_rows) return ROWWISE_ROWS;
    return from->count == c->cols && of_cols ? ROWWISE_COLS : ROWWISE_NONE;
}

/* --- what the chain can hold --- */
static bool is_elementwise(const ir_op *op) {
    if (!(ir_op_infos[op->code].flags & IR_ELEMENTWISE) || op->n_out != 1 || op->n_regions || op->n_in > 4)
        return false;
    const ir_type *t = op->out[0].type;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_type *from = op->in[i]->type;
        if (from->kind != IR_TENSOR || !has_good_dtype(from) || (from->rank && from->rank != t->rank)) return false;
        if (from->rank && from->count != t->count) return false;
    }
    return true;
}

static bool is_neutral(const ir_value *v, fold_op f) {
    float x;
    const ir_literal *l = rowwise_is_splat(v) ? ir_get_literal(v->def) : NULL;
    if (!l) return false;
    if (v->type->dtype == XT_F32) {
        memcpy(&x, l->data, sizeof x);
    } else if (v->type->dtype == XT_BF16) {
        uint16_t half;
        memcpy(&half, l->data, sizeof half);
        uint32_t bits = (uint32_t)half << 16;
        memcpy(&x, &bits, sizeof x);
    } else {
        return false;
    }
    return x == cpu_fold_neutral(f);
}

/* A reduction of the last dims of an array: how many elements each result is of; 0: it is none. */
static int64_t reduced_row(const ir_op *op) {
    size_t n;
    fold_op f;
    if (op->code != OP_reduce || op->n_in != 2 || op->n_out != 1 || op->in[0]->type->kind != IR_TENSOR) return 0;
    const ir_type *t = op->in[0]->type;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    if (!cpu_fold_of(&op->regions[0], &f) || !is_neutral(op->in[1], f) || t->count <= 0) return 0;
    int64_t row = 1, first = t->rank;
    for (size_t i = 0; i < n; i++) {
        row *= t->dims[dims[i]];
        if (t->dims[dims[i]] > 1 && dims[i] < first) first = dims[i];
    }
    for (uint32_t d = (uint32_t)first; d < t->rank; d++) {
        bool reduced = t->dims[d] == 1;
        for (size_t i = 0; i < n; i++) reduced |= dims[i] == d;
        if (!reduced) return 0;
    }
    return row;
}

static bool can_give(rowwise_chain *c, ir_value *v, int depth);

static bool is_apart(const rowwise_chain *c, const ir_value *v) {
    return !is_outside(c, v) && !rowwise_is_inside(c, v);
}

/* An op that joins. */
static bool can_hold(rowwise_chain *c, const ir_op *op, int depth) {
    rowwise_kind kind = op->n_out == 1 ? rowwise_kind_of(c, op->out[0].type) : ROWWISE_NONE;
    if (kind == ROWWISE_NONE || depth > MOST_DEPTH) return false;
    switch ((int)op->code) {
    case OP_reduce: { /* of rows' numbers: dims of one element */
        int64_t row = reduced_row(op);
        rowwise_kind from = rowwise_kind_of(c, op->in[0]->type);
        return ((from == ROWWISE_FULL && row == c->cols) || (from == ROWWISE_ROWS && row == 1)) &&
               can_give(c, op->in[0], depth + 1);
    }
    case OP_broadcast_in_dim: kind = rowwise_broadcast_of(c, op); break;
    case OP_reshape: break;
    default:
        if (!is_elementwise(op)) return false;
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i]->type->rank ? !can_give(c, op->in[i], depth + 1) : !is_apart(c, op->in[i])) return false;
        return true;
    }
    return (kind == ROWWISE_FULL || kind == ROWWISE_ROWS) && can_give(c, op->in[0], depth + 1);
}

/* v as an operand of the chain: one of its values, one that a block makes anew, or an array in memory. */
static bool can_give(rowwise_chain *c, ir_value *v, int depth) {
    const ir_op *def = v->def;
    if (rowwise_is_inside(c, v)) return true;
    rowwise_kind kind = rowwise_kind_of(c, v->type);
    if (kind == ROWWISE_NONE || is_outside(c, v) || depth > MOST_DEPTH) return false;
    if (!def || kind == ROWWISE_ROWS) return true;
    switch ((int)def->code) {
    case OP_iota:
        return first_of_row(c, v->type) + 1 == v->type->rank &&
               ir_get_int(def, IR_A_iota_dimension, 0) == v->type->rank - 1;
    case OP_broadcast_in_dim:
        switch (rowwise_broadcast_of(c, def)) {
        case ROWWISE_FULL:
        case ROWWISE_ROWS: return is_apart(c, def->in[0]) && can_give(c, def->in[0], depth + 1);
        case ROWWISE_COLS:
        case ROWWISE_ONE: return is_apart(c, def->in[0]);
        default: return false;
        }
    case OP_reshape: return is_apart(c, def->in[0]) && can_give(c, def->in[0], depth + 1);
    case OP_broadcast:
    case OP_slice:
    case OP_reverse:
    case OP_transpose: return false; /* read in place by a loop of their own */
    case OP_convolution:
    case OP_reduce_window:
    case OP_select_and_scatter: c->images |= v->type->rank >= 4; return true;
    default: return true;
    }
}

/* --- the chain --- */
static void join(rowwise_chain *c, ir_op *op);

/* What an op that joins reads: an array that nobody else reads, and that the chain can make, is made there. */
static void take_operand(rowwise_chain *c, ir_value *v) {
    ir_op *def = v->def;
    if (c->failed || rowwise_is_inside(c, v) || rowwise_kind_of(c, v->type) != ROWWISE_FULL) return;
    if (def && rowwise_is_free(def)) return;
    if (def && v->uses == 1 && def->block == c->e->main->body && (is_elementwise(def) || def->code == OP_reshape) &&
        can_hold(c, def, 1)) {
        join(c, def);
        return;
    }
    rowwise_value *known = note(c, v);
    if (known) known->wanted = false, known->source = true;
}

static bool reads_deep(const rowwise_chain *c, const ir_value *v) {
    const rowwise_value *i = rowwise_info(c, v);
    return i && i->deep;
}

static void join(rowwise_chain *c, ir_op *op) {
    uint32_t n = op->code == OP_reduce ? 1 : op->n_in;
    bool deep = op->code == OP_reduce && rowwise_kind_of(c, op->in[0]->type) == ROWWISE_FULL;
    for (uint32_t i = 0; i < n; i++) {
        if (op->in[i]->type->rank) take_operand(c, op->in[i]);
        deep |= reads_deep(c, op->in[i]);
    }
    rowwise_value *v = note(c, &op->out[0]);
    if (!v || c->failed) return;
    v->wanted = v->source = false;
    v->deep = deep;
    if (!VEC_PUSH(c->ops, c->n_ops, c->cap_ops, op)) c->failed = true;
}

static void leave_outside(rowwise_chain *c, ir_op *op) {
    for (uint32_t i = 0; i < op->n_out; i++) {
        rowwise_value *v = note(c, &op->out[i]);
        if (v) v->outside = true, v->wanted = v->source = false;
    }
    c->images |= op->n_in && op->in[0]->type->kind == IR_TENSOR && op->in[0]->type->rank >= 4 &&
                 (op->code == OP_convolution || op->code == OP_reduce_window || op->code == OP_select_and_scatter);
}

/* What an op's operand, or a value that its regions read, is to the chain. */
typedef struct reads {
    bool inside, outside, source;
} reads;
static void note_read(const rowwise_chain *c, const ir_value *v, reads *r) {
    const rowwise_value *i = rowwise_info(c, v);
    r->inside |= rowwise_is_inside(c, v);
    r->outside |= i && i->outside;
    r->source |= i && i->source;
}

/* An op's turn; true: it joined. */
static bool look_at(rowwise_chain *c, ir_op *op, captured *read) {
    reads r = {0};
    const rowwise_value *own = op->n_out == 1 ? rowwise_info(c, &op->out[0]) : NULL;
    if (rowwise_is_inside(c, &op->out[0])) return false; /* its reader took it in */
    for (uint32_t i = 0; i < op->n_in; i++) note_read(c, op->in[i], &r);
    read->n = 0;
    if (op->n_regions && !captured_collect(op, read)) c->failed = true;
    for (size_t i = 0; i < read->n; i++) note_read(c, read->values[i], &r);
    bool wanted = own && own->wanted, free = op->n_out == 1 && rowwise_is_free(op);
    if (!r.outside && (r.inside || ((r.source || wanted) && !free)) && can_hold(c, op, 0)) {
        join(c, op);
        return !c->failed;
    }
    if (r.outside || r.inside) leave_outside(c, op);
    return false;
}

/* Marks what the seed's operand is made of; gives the first op of it. */
static ir_op *find_wanted(rowwise_chain *c, ir_op *seed) {
    ir_value *stack[MOST_WANTED];
    int n = 0, marked = 0;
    ir_op *first = seed;
    stack[n++] = seed->in[0];
    while (n > 0 && !c->failed) {
        ir_value *v = stack[--n];
        ir_op *def = v->def;
        if (!def || def->block != c->e->main->body || rowwise_info(c, v) || marked == MOST_WANTED ||
            rowwise_kind_of(c, v->type) != ROWWISE_FULL || !(is_elementwise(def) || def->code == OP_reshape))
            continue;
        rowwise_value *i = note(c, v);
        if (i) i->wanted = true, marked++;
        for (uint32_t k = 0; k < def->n_in && n < MOST_WANTED; k++) stack[n++] = def->in[k];
    }
    ir_op *op = seed->prev;
    for (int k = 0; op && k < WINDOW && marked > 0; k++, op = op->prev)
        if (op->n_out == 1 && rowwise_info(c, &op->out[0])) first = op, marked--;
    return first;
}

/* Names and copies of rows' numbers that only others read stay with these. */
static void trim(rowwise_chain *c) {
    for (size_t i = 0; i < c->n_ops; i++)
        for (uint32_t k = 0; k < c->ops[i]->n_in; k++)
            if (rowwise_is_inside(c, c->ops[i]->in[k])) rowwise_info(c, c->ops[i]->in[k])->inside++;
    for (size_t i = c->n_ops; i-- > 0;) {
        const ir_op *op = c->ops[i];
        rowwise_value *v = rowwise_info(c, &op->out[0]);
        if (v->inside || (op->code != OP_broadcast_in_dim && op->code != OP_reshape)) continue;
        v->outside = true;
        if (rowwise_is_inside(c, op->in[0])) rowwise_info(c, op->in[0])->inside--;
        memmove(c->ops + i, c->ops + i + 1, (--c->n_ops - i) * sizeof(ir_op *));
    }
}

/* What is expensive, or reduced again, is made once and read back from the caches. A sum that a loop over the same
 * array follows is as quick thunk by thunk. */
static bool is_worth_it(const rowwise_chain *c) {
    size_t folds = 0, functions = 0, deep = 0;
    for (size_t i = 0; i < c->n_ops && !c->images; i++) {
        const ir_op *op = c->ops[i];
        if (op->code == OP_reduce) folds += rowwise_kind_of(c, op->in[0]->type) == ROWWISE_FULL;
        if (rowwise_kind_of(c, op->out[0].type) != ROWWISE_FULL || op->code == OP_broadcast_in_dim) continue;
        functions += cpu_op_transcendentals(op) > 0;
        deep += rowwise_info(c, &op->out[0])->deep;
    }
    return deep > 0 && (folds > 1 || functions > 0);
}

static void grow(rowwise_chain *c, ir_op *seed) {
    captured read = {0};
    ir_op *op = find_wanted(c, seed);
    int left = WINDOW;
    bool behind = false;
    for (; op && (!behind || left-- > 0) && !c->failed; op = op->next) {
        behind |= op == seed;
        if (ir_op_infos[op->code].flags & IR_TERMINATOR) break;
        bool joined = op == seed && can_hold(c, op, 0);
        if (joined)
            join(c, op);
        else
            joined = look_at(c, op, &read);
        if (joined) left = WINDOW;
    }
    base_free(read.values);
}

/* --- from chain to chain --- */
static bool set_sizes(rowwise_chain *c, const ir_op *seed) {
    bool small = env_flag("XT_CPU_SMALL", false);
    int64_t block = small ? SMALL_BLOCK : BLOCK;
    c->cols = reduced_row(seed);
    if (c->cols < (small ? 2 : LEAST_COLS) || c->cols > MOST_COLS) return false;
    c->rows = seed->in[0]->type->count / c->cols;
    if (c->rows < LEAST_BLOCKS || (!small && c->rows * c->cols < LEAST)) return false;
    c->block = block / c->cols;
    if (c->block < 1) c->block = 1;
    if (c->block > c->rows / LEAST_BLOCKS) c->block = c->rows / LEAST_BLOCKS;
    for (int64_t b = c->block; b > c->block / 2; b--)
        if (c->rows % b == 0) {
            c->block = b;
            break;
        }
    return rowwise_kind_of(c, seed->in[0]->type) == ROWWISE_FULL &&
           rowwise_kind_of(c, seed->out[0].type) == ROWWISE_ROWS;
}

/* The chain around the reduction `seed`, taken out where there is one; *out_call: what took its place. */
static xt_status try_seed(cpu_exec *e, ir_op *seed, ir_op **out_call) {
    rowwise_chain c = {.e = e, .epoch = ir_new_epoch()};
    xt_status s = NULL;
    if (!set_sizes(&c, seed)) return NULL;
    grow(&c, seed);
    if (!c.failed) trim(&c);
    if (!c.failed && is_worth_it(&c)) s = rowwise_build(&c, out_call);
    if (!s && c.failed) s = status_oom(0, "chains over rows");
    base_free(c.values);
    base_free(c.ops);
    base_free(c.given);
    return s;
}

xt_status cpu_stage_rowwise(cpu_builder *b) {
    cpu_exec *e = b->exec;
    for (ir_op *op = e->main->body->first, *next; op; op = next) {
        ir_op *call = NULL;
        next = op->next;
        if (op->code == OP_reduce) XT_TRY(try_seed(e, op, &call));
        if (!call) continue;
        next = call->next;
        e->passes->changed = true;
    }
    return NULL;
}
