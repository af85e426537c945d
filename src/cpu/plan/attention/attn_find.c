/* Finds the chains of attn.h: from a product that makes far more than it reads, the values of its size that hang
 * together are followed in both directions; then the numbers of rows between them, the places where the chain is left,
 * and in which order that happens. */
#include "cpu/plan/attention/attn.h"
#include "cpu/plan/build_int.h"
#include "cpu/plan/captured.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/fold.h"
#include "pass/pass.h"

/* Smaller matrices stay whole: they lie in the second-level cache anyway, and one thunk over all heads is cheaper than
 * many small ones. */
enum { LEAST_BYTES = 4 << 20, LEAST_SIDE = 128, SMALL_SIDE = 16, NARROW = 4 };

static bool push(attn_chain *c, const attn_value *v) {
    uint32_t id = (uint32_t)(v - c->values);
    if (!VEC_PUSH(c->stack, c->n_stack, c->cap_stack, id)) c->failed = true;
    return !c->failed;
}

static bool fold_of(const ir_op *op, fold_op *out) {
    return op->code == OP_reduce && op->n_in == 2 && op->n_out == 1 && cpu_fold_of(&op->regions[0], out) &&
           ir_dtype_is_float(op->in[0]->type->dtype) && op->in[1]->def && op->in[1]->def->code == OP_constant &&
           op->in[1]->type->dtype == op->in[0]->type->dtype;
}

/* The initial value changes nothing, as that of the reduction which a tile's function gets. */
static bool folds_neutral(const ir_op *op, fold_op f) {
    const ir_literal *l = ir_get_literal(op->in[1]->def);
    float v;
    if (!l || f == FOLD_PROD) return false;
    if (l->type->dtype == XT_F32)
        memcpy(&v, l->data, sizeof v);
    else if (l->type->dtype == XT_BF16) {
        uint32_t bits = (uint32_t) * (const uint16_t *)l->data << 16;
        memcpy(&v, &bits, sizeof v);
    } else
        return false;
    return v == cpu_fold_neutral(f);
}

static bool is_splat(const ir_op *op) {
    const ir_literal *l = op->code == OP_constant ? ir_get_literal(op) : NULL;
    return l && (l->splat || l->type->count == 1);
}

/* Ops that a tile's function can hold, by what they are. */
static bool is_simple(const ir_op *op) {
    if (op->n_out != 1 || op->n_regions || op->out[0].type->kind != IR_TENSOR || op->out[0].type->count <= 0)
        return false;
    return (ir_op_infos[op->code].flags & IR_ELEMENTWISE) || op->code == OP_broadcast_in_dim ||
           op->code == OP_transpose || op->code == OP_reshape || op->code == OP_concatenate || op->code == OP_iota ||
           is_splat(op);
}

static bool dot_type_ok(const ir_op *op) {
    xt_dtype t = op->in[0]->type->dtype;
    return (t == XT_F32 || t == XT_BF16) && op->in[1]->type->dtype == t;
}

static void add_full(attn_chain *c, ir_value *v, const attn_tags *g) {
    attn_value *i = attn_info(c, v);
    if (!i || v->type->rank > ATTN_RANK) {
        c->failed = true;
    } else if (i->kind != ATTN_OTHER) {
        c->failed |= !attn_tags_equal(v->type, &i->tags, g);
    } else {
        i->kind = ATTN_FULL;
        i->tags = *g;
        push(c, i);
    }
}

static void chain_up(attn_chain *c, attn_value *v) {
    if (v->chained) return;
    v->chained = true;
    push(c, v);
}

static int64_t product_of_dims(const ir_type *t, const int64_t *which, size_t n) {
    int64_t k = 1;
    for (size_t i = 0; i < n; i++) k *= t->dims[which[i]];
    return k;
}

/* A product with so many numbers a row costs little beside the large matrix, in memory and (when it is computed
 * again) in time. */
static bool is_narrow(const attn_chain *c, int64_t n) {
    return n * NARROW <= c->rows && n * NARROW <= c->cols;
}

static bool makes_of_narrow(const attn_chain *c, const ir_op *dot) {
    size_t n;
    const int64_t *contract = ir_get_ints(dot, IR_A_lhs_contracting_dimensions, &n);
    return is_narrow(c, product_of_dims(dot->in[0]->type, contract, n));
}

/* Columns of the product's operand i beside the chain's. */
static bool leaves_narrow(const attn_chain *c, const ir_op *dot, int i) {
    size_t n, n_batch;
    const int64_t *contract =
        ir_get_ints(dot, i ? IR_A_rhs_contracting_dimensions : IR_A_lhs_contracting_dimensions, &n);
    const int64_t *batch = ir_get_ints(dot, i ? IR_A_rhs_batching_dimensions : IR_A_lhs_batching_dimensions, &n_batch);
    const ir_type *t = dot->in[i]->type;
    return is_narrow(c, t->count / product_of_dims(t, contract, n) / product_of_dims(t, batch, n_batch));
}

/* What `v` is made of. */
static void look_back(attn_chain *c, attn_value *v) {
    const ir_op *op = v->value->def;
    attn_tags g;
    bool product = op && op->code == OP_dot_general && dot_type_ok(op) && makes_of_narrow(c, op),
         known = op && (is_simple(op) || product);
    for (uint32_t i = 0; known && i < op->n_in; i++) {
        known = attn_tags_back(op, i, &v->tags, &g);
        if (product && known) known = !attn_tags_full(op->in[i]->type, &g);
    }
    if (!known) {
        v->kind = ATTN_GIVEN;
        return;
    }
    for (uint32_t i = 0; i < op->n_in && !product; i++) {
        attn_tags_back(op, i, &v->tags, &g);
        if (!attn_tags_full(op->in[i]->type, &g)) continue;
        add_full(c, op->in[i], &g);
        if (!c->failed && attn_info(c, op->in[i])->chained) chain_up(c, v);
    }
    if (product) chain_up(c, v);
}

/* Who reads `v`, which depends on a product. */
static void look_on(attn_chain *c, const attn_value *v) {
    attn_tags g;
    for (size_t k = 0; k < v->n_users && !c->failed; k++) {
        ir_op *op = c->users[v->first_user + k];
        if (!is_simple(op)) continue;
        uint32_t i = 0;
        while (op->in[i] != v->value) i++;
        if (!attn_tags_on(op, i, &v->tags, &g)) continue;
        add_full(c, &op->out[0], &g);
        if (!c->failed && attn_kind_of(c, &op->out[0]) == ATTN_FULL) chain_up(c, attn_info(c, &op->out[0]));
    }
}

static void close_over(attn_chain *c) {
    while (c->n_stack && !c->failed) {
        attn_value *v = &c->values[c->stack[--c->n_stack]];
        if (v->kind == ATTN_FULL) look_back(c, v);
        if (v->kind == ATTN_FULL && v->chained && !c->failed) look_on(c, v);
    }
}

/* Each batch element has a place of its own there. */
static bool covers(const attn_chain *c, const ir_type *t, const attn_tags *g) {
    int64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        if (g->at[d] > 0) n *= t->dims[d];
    return n == c->batch;
}

/* Which operand of the product is of the chain, where the chain is left by it; -1: it is not. */
static int leaves_by(const attn_chain *c, const ir_op *op, bool *out_summed) {
    attn_tags g;
    if (op->code != OP_dot_general || attn_kind_of(c, &op->out[0]) != ATTN_OTHER || !dot_type_ok(op)) return -1;
    bool l = attn_kind_of(c, op->in[0]) == ATTN_FULL, r = attn_kind_of(c, op->in[1]) == ATTN_FULL;
    if (l == r || attn_kind_of(c, op->in[l ? 1 : 0]) == ATTN_GIVEN || !leaves_narrow(c, op, l ? 1 : 0)) return -1;
    const attn_value *v = attn_info(c, op->in[l ? 0 : 1]);
    const ir_type *t = op->out[0].type;
    if (!attn_tags_on(op, l ? 0 : 1, &v->tags, &g) || attn_tags_full(t, &g)) return -1;
    *out_summed = !attn_tags_have(t, &g, ATTN_ROW);
    return covers(c, v->value->type, &v->tags) && (*out_summed || covers(c, t, &g)) ? (l ? 0 : 1) : -1;
}

/* A fold over S, whose result is a number for each row. */
static bool folds_rows(const attn_chain *c, const ir_op *op, attn_tags *out) {
    fold_op f;
    if (!fold_of(op, &f) || !folds_neutral(op, f) || attn_kind_of(c, op->in[0]) != ATTN_FULL) return false;
    const attn_value *v = attn_info(c, op->in[0]);
    if (!v->chained || !attn_tags_on(op, 0, &v->tags, out) || attn_tags_have(op->out[0].type, out, ATTN_COL))
        return false;
    return covers(c, op->out[0].type, out) && attn_tags_have(op->out[0].type, out, ATTN_ROW);
}

/* An op on numbers of rows that gives such numbers. */
static bool goes_on_in_rows(const attn_chain *c, const ir_op *op, attn_tags *out) {
    fold_op f;
    attn_tags g;
    bool fold = fold_of(op, &f) && folds_neutral(op, f) && op->in[0]->type->count == op->out[0].type->count,
         found = false;
    if ((!fold && !is_simple(op)) || attn_kind_of(c, &op->out[0]) != ATTN_OTHER || op->out[0].type->rank > ATTN_RANK)
        return false;
    for (uint32_t i = 0; i < op->n_in && !found; i++)
        found = attn_kind_of(c, op->in[i]) == ATTN_ROWS && attn_tags_on(op, i, &attn_info(c, op->in[i])->tags, out);
    for (uint32_t i = 0; i < op->n_in && found && !fold; i++) {
        found = attn_tags_back(op, i, out, &g);
        if (found && attn_kind_of(c, op->in[i]) != ATTN_OTHER)
            found = attn_kind_of(c, op->in[i]) == ATTN_ROWS &&
                    attn_tags_equal(op->in[i]->type, &g, &attn_info(c, op->in[i])->tags);
    }
    return found;
}

static bool is_fold_of_full(const attn_chain *c, const ir_op *op) {
    return op->code == OP_reduce && attn_kind_of(c, op->in[0]) == ATTN_FULL;
}

static void find_rows(attn_chain *c) {
    attn_tags g;
    for (ir_op *op = c->body->first; op; op = op->next) {
        if (op->n_out != 1) continue;
        attn_value *v = attn_info(c, &op->out[0]);
        if (!folds_rows(c, op, &g) && !goes_on_in_rows(c, op, &g)) continue;
        v->kind = ATTN_ROWS;
        v->tags = g;
    }
    for (ir_op *op = c->body->last; op; op = op->prev) {
        /* numbers of rows that do not come back into the chain are made outside */
        attn_value *v = op->n_out == 1 ? attn_info(c, &op->out[0]) : NULL;
        if (!v || v->kind != ATTN_ROWS || is_fold_of_full(c, op)) continue;
        bool back = false;
        for (size_t k = 0; k < v->n_users && !back; k++) {
            attn_kind kind = c->users[v->first_user + k]->n_out == 1
                                 ? attn_kind_of(c, &c->users[v->first_user + k]->out[0])
                                 : ATTN_OTHER;
            back = kind == ATTN_FULL || kind == ATTN_ROWS;
        }
        if (!back) v->kind = ATTN_OTHER;
    }
}

static bool in_chain(const attn_chain *c, const ir_op *op) {
    if (op->n_out != 1) return false;
    attn_kind k = attn_kind_of(c, &op->out[0]);
    return k == ATTN_FULL || k == ATTN_ROWS || attn_info(c, &op->out[0])->exits;
}

/* Marks where the chain is left; false when something else reads a value that is not to be in memory. */
static bool find_exits(attn_chain *c) {
    bool any = false, summed;
    for (ir_op *op = c->body->first; op; op = op->next)
        if (op->n_out == 1 && leaves_by(c, op, &summed) >= 0) any = attn_info(c, &op->out[0])->exits = true;
    for (size_t i = 0; i < c->n_values && any; i++) {
        const attn_value *v = &c->values[i];
        if (v->kind == ATTN_GIVEN && v->chained) return false;
        if (v->kind != ATTN_FULL || !v->chained) continue;
        if (v->n_users != v->value->uses) return false; /* a region reads it */
        for (size_t k = 0; k < v->n_users; k++)
            if (!in_chain(c, c->users[v->first_user + k])) return false;
    }
    return any;
}

/* What does not depend on a product and is no larger than what it is made of stays outside: a mask made of random
 * numbers is one byte an element. */
static void leave_outside(attn_chain *c) {
    for (ir_op *op = c->body->first; op; op = op->next) {
        attn_value *v = op->n_out == 1 ? attn_info(c, &op->out[0]) : NULL;
        if (!v || v->kind != ATTN_FULL || v->chained) continue;
        size_t given = 0;
        bool other = false;
        for (uint32_t i = 0; i < op->n_in; i++) {
            attn_kind k = attn_kind_of(c, op->in[i]);
            if (k == ATTN_GIVEN) given += ir_type_bytes(op->in[i]->type);
            other |= k == ATTN_FULL && !is_splat(op->in[i]->def) &&
                     !(op->in[i]->def->code == OP_broadcast_in_dim && op->in[i]->def->in[0]->type->count == 1);
        }
        if (given && !other && ir_type_bytes(v->value->type) <= given) v->kind = ATTN_GIVEN;
    }
}

static uint32_t level_of(const attn_chain *c, const ir_value *v, bool inside) {
    const attn_value *i = attn_info(c, v);
    if (!i) return 0;
    return i->kind == ATTN_FULL || (i->kind == ATTN_ROWS && inside) ? i->inner : i->level;
}

static bool find_levels(attn_chain *c) {
    captured read = {0};
    bool ok = true;
    for (ir_op *op = c->body->first; op && ok; op = op->next) {
        bool inside = in_chain(c, op);
        uint32_t level = 0;
        for (uint32_t i = 0; i < op->n_in; i++)
            if (level_of(c, op->in[i], inside) > level) level = level_of(c, op->in[i], inside);
        read.n = 0;
        if (op->n_regions) ok = captured_collect(op, &read);
        for (size_t i = 0; i < read.n; i++)
            if (level_of(c, read.values[i], false) > level) level = level_of(c, read.values[i], false);
        for (uint32_t i = 0; i < op->n_out; i++) {
            attn_value *v = attn_info(c, &op->out[i]);
            bool leaves = v->exits || v->kind == ATTN_ROWS;
            v->inner = level;
            v->level = leaves ? level + 1 : level;
            if (leaves && level > c->most_level) c->most_level = level;
        }
    }
    base_free(read.values);
    return ok;
}

/* --- the seed --- */
/* A product [batch..., T, K] x [batch..., K, S] that makes a large matrix of narrow ones; gives its result's tags, T on
 * the left or (swapped) on the right. */
static bool is_seed(const ir_op *op, bool swapped, attn_chain *c, attn_tags *out) {
    if (op->code != OP_dot_general || !dot_type_ok(op)) return false;
    const ir_type *t = op->out[0].type, *l = op->in[0]->type;
    size_t n_batch, n;
    const int64_t *contract = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &n);
    ir_get_ints(op, IR_A_lhs_batching_dimensions, &n_batch);
    bool small = env_flag("XT_CPU_SMALL", false);
    if (t->rank > ATTN_RANK || t->rank < n_batch + 2 || (t->count * 4 < LEAST_BYTES && !small)) return false;
    int64_t k = 1, by = 1, side[2] = {1, 1};
    for (size_t i = 0; i < n; i++) k *= l->dims[contract[i]];
    *out = (attn_tags){0};
    for (size_t i = n_batch; i-- > 0; by *= t->dims[i]) out->at[i] = t->dims[i] == 1 ? ATTN_ALL : by;
    uint32_t left = l->rank - (uint32_t)n_batch - (uint32_t)n, at[2] = {0, 0};
    for (uint32_t d = (uint32_t)n_batch; d < t->rank; d++) {
        int s = d < n_batch + left ? 0 : 1;
        if (t->dims[d] > side[s]) side[s] = t->dims[d], at[s] = d;
    }
    for (uint32_t d = t->rank; d-- > n_batch;) {
        /* the largest free dim of a side is T or S; others, of query heads that share keys, count as batch */
        int s = d < n_batch + left ? 0 : 1;
        if (d == at[s]) {
            out->at[d] = (s == 1) == swapped ? ATTN_ROW : ATTN_COL;
        } else if (t->dims[d] > 1) {
            out->at[d] = by;
            by *= t->dims[d];
        }
    }
    c->batch = out->batch = by;
    c->rows = side[swapped ? 1 : 0];
    c->cols = side[swapped ? 0 : 1];
    int64_t least = small ? SMALL_SIDE : LEAST_SIDE;
    return side[0] >= least && side[1] >= least && k * NARROW <= side[0] && k * NARROW <= side[1];
}

/* Numbers the values of the block and notes who reads each. */
static xt_status index_values(attn_chain *c) {
    size_t n = c->body->n_args, reads = 0, at = 0;
    uint32_t order = 0;
    for (ir_op *op = c->body->first; op; op = op->next) n += op->n_out, reads += op->n_in;
    c->values = base_calloc(n + 1, sizeof *c->values);
    c->users = base_calloc(reads + 1, sizeof(ir_op *));
    if (!c->values || !c->users) return status_oom(n * sizeof *c->values, "attention");
    for (size_t i = 0; i < c->body->n_args; i++) c->values[c->n_values++].value = c->body->args[i];
    for (ir_op *op = c->body->first; op; op = op->next, order++)
        for (uint32_t i = 0; i < op->n_out; i++) {
            c->values[c->n_values] = (attn_value){.value = &op->out[i], .order = order + 1};
            c->n_values++;
        }
    for (size_t i = 0; i < c->n_values; i++) c->values[i].value->user = i + 1;
    for (ir_op *op = c->body->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_in; i++)
            if (attn_info(c, op->in[i])) attn_info(c, op->in[i])->n_users++;
    for (size_t i = 0; i < c->n_values; i++) {
        c->values[i].first_user = at;
        at += c->values[i].n_users;
        c->values[i].n_users = 0;
    }
    for (ir_op *op = c->body->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_in; i++) {
            attn_value *v = attn_info(c, op->in[i]);
            if (v) c->users[v->first_user + v->n_users++] = op;
        }
    return NULL;
}

/* The chain that starts at `seed`, cut out where it can be. */
static xt_status try_seed(cpu_exec *e, ir_op *seed, bool swapped, bool *out_done) {
    attn_chain c = {.e = e, .body = e->main->body};
    attn_tags g;
    xt_status s = NULL;
    if (!is_seed(seed, swapped, &c, &g)) return NULL;
    if ((s = index_values(&c))) goto done;
    add_full(&c, &seed->out[0], &g);
    close_over(&c);
    if (c.failed) goto done;
    find_rows(&c);
    leave_outside(&c);
    if (!find_exits(&c) || !find_levels(&c)) goto done;
    *out_done = true;
    c.tile_rows = attn_tile_rows(&c);
    if (pass_is_on("tile_cut")) attn_find_skips(&c);
    s = attn_build(&c);
done:
    base_free(c.values);
    base_free(c.users);
    base_free(c.stack);
    return s;
}

/* Barriers keep a compiler from using an earlier copy of what is computed again; here they have done their work, and
 * would hide chains. */
static void drop_barriers(cpu_exec *e) {
    for (ir_op *op = e->main->body->first, *next; op; op = next) {
        next = op->next;
        if (op->code != OP_optimization_barrier) continue;
        for (uint32_t i = 0; i < op->n_out; i++) ir_replace_uses(e->module, &op->out[i], op->in[i]);
        ir_erase(op);
    }
}

static xt_status cut_out_chains(cpu_exec *e) {
    ir_block *body = e->main->body;
    drop_barriers(e);
    for (ir_op *op = body->first; op; op = op->next) op->user = 0;
    for (ir_op *op = body->first; op;) {
        bool done = false;
        ir_op *next = op->next;
        for (int swapped = 0; swapped < 2 && !done && !op->user; swapped++) XT_TRY(try_seed(e, op, swapped, &done));
        op->user = 1; /* tried; the planner numbers ops anew */
        op = done ? body->first : next;
    }
    return NULL;
}

xt_status cpu_stage_tile(cpu_builder *b) {
    XT_TRY(cut_out_chains(b->exec));
    b->exec->passes->changed = b->exec->tiles != NULL;
    return NULL;
}
