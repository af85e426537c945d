/* The key of a step: a structural hash of what its roots reach. Source lines, module paths and dead code never enter
 * it; the numbers of the arguments, the order of the roots and which buffers may be taken over do. Values are numbered
 * in the order of the trace, so two traces of the same code have the same key, and a hit costs no program text. */
#include "lazy/program/program.h"
#include "lazy/core/layout.h"

typedef struct walk {
    hash128 h;
    lazy_node *nodes;
    size_t n, cap;
    uint64_t next; /* number of the next value */
    bool tree; /* a result is marked with a hash of how it is made, not with a number */
    bool failed;
} walk;

static void feed(walk *w, const void *p, size_t n) {
    w->h = hash_bytes(p, n, w->h);
}
static void feed_u64(walk *w, uint64_t v) {
    w->h = hash_mix(w->h, (hash128){v, 0x9e3779b97f4a7c15u});
}

static void hash_attr(walk *w, const ir_attr *a) {
    feed_u64(w, (uint64_t)a->key << 32 | (uint64_t)a->kind << 16 | (uint64_t)a->dtype);
    if (a->key == IR_A_none && a->name) feed(w, a->name, strlen(a->name));
    switch (a->kind) {
    case IR_AK_INT:
    case IR_AK_ENUM: feed_u64(w, (uint64_t)a->v.i); break;
    case IR_AK_FLOAT: feed(w, &a->v.f, sizeof a->v.f); break;
    case IR_AK_BOOL: feed_u64(w, a->v.b); break;
    case IR_AK_STRING:
    case IR_AK_SYMBOL:
    case IR_AK_OPAQUE: feed(w, a->v.s, a->v.s ? strlen(a->v.s) : 0); break;
    case IR_AK_INTS:
    case IR_AK_BOOLS:
    case IR_AK_ENUMS:
        feed_u64(w, (uint64_t)a->n << 8 | a->rank2);
        feed(w, a->v.ints, a->n * sizeof *a->v.ints);
        break;
    case IR_AK_DENSE:
        feed_u64(w, a->v.dense.type->id);
        feed(w, a->v.dense.data,
             a->v.dense.splat ? xt_dtype_size(a->v.dense.type->dtype) : ir_type_bytes(a->v.dense.type));
        break;
    case IR_AK_TYPE: feed_u64(w, a->v.type->id); break;
    case IR_AK_ARRAY:
    case IR_AK_DICT:
        for (size_t i = 0; i < a->n; i++) hash_attr(w, &a->v.list[i]);
        break;
    case IR_AK_UNIT: break;
    }
}

static void hash_op(walk *w, ir_op *op, bool top);

static void hash_block(walk *w, ir_block *b) {
    for (size_t i = 0; i < b->n_args; i++) {
        b->args[i]->mark = ++w->next;
        feed_u64(w, b->args[i]->type->id);
    }
    for (ir_op *op = b->first; op; op = op->next) hash_op(w, op, false);
}

static const uint64_t INNER = (uint64_t)1 << 41; /* numbers of values in regions, where results outside are hashes */

/* Never 0, and never an epoch of ir_new_epoch. */
static uint64_t tree_mark(hash128 h, uint64_t k) {
    return hash_mix(h, (hash128){k, 0x74726565}).lo >> 1 | 1;
}

static void hash_op(walk *w, ir_op *op, bool top) {
    hash128 before = w->h;
    if (top) w->h = (hash128){1, 2}; /* a node's own hash first, so that reports can compare nodes one by one */
    if (top && w->tree) w->next = INNER;
    feed_u64(w, (uint64_t)op->code << 32 | op->n_in);
    for (uint32_t i = 0; i < op->n_in; i++) feed_u64(w, op->in[i]->mark);
    for (uint32_t i = 0; i < op->n_out; i++) {
        op->out[i].mark = ++w->next;
        feed_u64(w, op->out[i].type->id);
    }
    for (uint32_t i = 0; i < op->n_attrs; i++) hash_attr(w, &op->attrs[i]);
    for (uint32_t i = 0; i < op->n_regions; i++)
        if (op->regions[i].block) hash_block(w, op->regions[i].block);
    if (!top) return;
    if (w->tree) {
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = tree_mark(w->h, i);
        w->h = before;
        return;
    }
    lazy_node node = {op->code, op->src, op->path, op->n_out ? op->out[0].type : NULL, w->h.lo, LAZY_ACTIVATION, 0,
                      0,        0,       0};
    if (!VEC_PUSH(w->nodes, w->n, w->cap, node)) w->failed = true;
    w->h = hash_mix(before, w->h);
}

/* Regions may read values of the main block: those are operands too. */
typedef struct reach {
    ir_op **stack;
    size_t n, cap;
    uint64_t args; /* met so far: an argument's mark is its number in this order */
} reach;

static bool push_value(ir_value *v, reach *s) {
    if (!v->def) {
        if (!v->mark) v->mark = ++s->args;
        return true;
    }
    if (v->def->out[0].mark) return true;
    v->def->out[0].mark = 1;
    return VEC_PUSH(s->stack, s->n, s->cap, v->def);
}

static bool push_region_uses(const ir_op *op, reach *s) {
    for (uint32_t r = 0; r < op->n_regions; r++) {
        if (!op->regions[r].block) continue;
        for (ir_op *in = op->regions[r].block->first; in; in = in->next) {
            for (uint32_t i = 0; i < in->n_in; i++) {
                ir_block *home = in->in[i]->def ? in->in[i]->def->block : in->in[i]->block;
                if (home && !home->owner && !push_value(in->in[i], s)) return false;
            }
            if (!push_region_uses(in, s)) return false;
        }
    }
    return true;
}

static void clear_marks(const lazy_ctx *c) {
    for (size_t i = 0; i < c->b.block->n_args; i++) c->b.block->args[i]->mark = 0;
    for (ir_op *op = c->b.block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = 0;
}

/* What s->stack leads to. */
static bool follow(reach *s) {
    bool ok = true;
    while (s->n && ok) {
        ir_op *op = s->stack[--s->n];
        for (uint32_t i = 0; i < op->n_in && ok; i++) ok = push_value(op->in[i], s);
        ok = ok && push_region_uses(op, s);
    }
    return ok;
}

xt_status lazy_mark_reachable(lazy_ctx *c, const lazy_roots *r, size_t *out_n_args) {
    clear_marks(c);
    reach s = {0};
    bool ok = true;
    for (size_t i = 0; i < r->n && ok; i++) ok = push_value(r->values[i], &s);
    ok = ok && follow(&s);
    base_free(s.stack);
    if (out_n_args) *out_n_args = s.args;
    return ok ? NULL : status_oom(s.cap * sizeof *s.stack, "the key of a step");
}

/* Marks for the key of r, whose arguments are then those at argument_at(c, r, 0 .. *out_n - 1). */
static xt_status mark_for_key(lazy_ctx *c, const lazy_roots *r, size_t *out_n) {
    const ir_block *b = c->b.block;
    size_t met;
    XT_TRY(lazy_mark_reachable(c, r, &met));
    *out_n = r->numbered ? met : b->n_args;
    if (!r->numbered) return NULL;
    r->numbered->n = met;
    for (size_t i = 0; i < b->n_args; i++)
        if (b->args[i]->mark) r->numbered->places[b->args[i]->mark - 1] = (uint32_t)i;
    return NULL;
}

static size_t argument_at(const lazy_roots *r, size_t number) {
    return r->numbered ? r->numbered->places[number] : number;
}

/* One root after the other, so that the order in which arguments are met depends on the first roots alone as far
 * as these go. */
static bool reach_in_order(reach *s, size_t n, ir_value *const *roots) {
    for (size_t i = 0; i < n; i++)
        if (!push_value(roots[i], s) || !follow(s)) return false;
    return true;
}

static void flag_base(const lazy_ctx *c, bool on) {
    const ir_block *b = c->b.block;
    for (size_t i = 0; i < b->n_args; i++)
        b->args[i]->user = (b->args[i]->user & ~(uint64_t)LAZY_V_BASE) | (on && b->args[i]->mark ? LAZY_V_BASE : 0);
    for (ir_op *op = b->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++)
            op->out[i].user = (op->out[i].user & ~(uint64_t)LAZY_V_BASE) | (on && op->out[0].mark ? LAZY_V_BASE : 0);
}

xt_status lazy_key_tree(lazy_ctx *c, size_t n_base, size_t n, ir_value *const *roots,
                        uint64_t (*leaf_id)(const lazy_ctx *c, uint32_t place), uint32_t *out_numbers,
                        uint32_t *out_in_base) {
    clear_marks(c);
    const ir_block *b = c->b.block;
    reach s = {0};
    bool ok = reach_in_order(&s, n_base, roots);
    *out_in_base = (uint32_t)s.args;
    flag_base(c, true);
    ok = ok && reach_in_order(&s, n - n_base, roots + n_base);
    base_free(s.stack);
    if (!ok) return status_oom(s.cap * sizeof *s.stack, "the key of a step");
    for (size_t i = 0; i < b->n_args; i++) {
        ir_value *v = b->args[i];
        uint64_t own = v->mark > *out_in_base ? leaf_id(c, (uint32_t)i) : 0;
        out_numbers[i] = (uint32_t)v->mark;
        if (v->mark)
            v->mark = tree_mark((hash128){own ? own : v->mark, v->type->id},
                                c->leaves[i].layout ? c->leaves[i].layout->text : 0);
    }
    walk w = {.tree = true};
    for (ir_op *op = b->first; op; op = op->next)
        if (op->n_out && op->out[0].mark) hash_op(&w, op, true);
    return NULL;
}

void lazy_key_tree_done(const lazy_ctx *c) {
    flag_base(c, false);
}

/* That of another module has the same name, and another slot. */
static bool is_state(const lazy_buf *b) {
    return b && (b->info.role == LAZY_PARAMETER || b->info.role == LAZY_BUFFER);
}

xt_status lazy_key(lazy_ctx *c, const lazy_roots *r, hash128 *out_key, lazy_node **out_nodes, size_t *out_n) {
    size_t n_args;
    XT_TRY(mark_for_key(c, r, &n_args));
    walk w = {.h = {0x7874, 1}, .next = 1};
    ir_block *b = c->b.block;
    for (size_t i = 0; i < n_args; i++) { /* numbered by their place, used or not, where they have no own numbers */
        size_t place = argument_at(r, i);
        if (!b->args[place]->mark) continue;
        b->args[place]->mark = ((uint64_t)1 << 40) + i;
        const lazy_leaf *leaf = &c->leaves[place];
        const lazy_buf *buf = leaf->buf;
        if (!buf && leaf->pack < 0) {
            base_free(w.nodes);
            return lazy_leaf_gone();
        }
        lazy_node node = {OP_COUNT,
                          buf ? buf->info.src : 0,
                          buf ? buf->info.path : 0,
                          b->args[place]->type,
                          ((uint64_t)b->args[place]->type->id << 20) + i,
                          buf ? buf->info.role : LAZY_VALUE,
                          buf ? buf->info.kept : 0,
                          is_state(buf) ? leaf->slot
                          : buf         ? buf->which
                                        : 0,
                          is_state(buf) ? c->slots[leaf->slot].step : 0,
                          0};
        if (leaf->layout) node.hash ^= (uint64_t)leaf->layout->text << 44;
        if (!VEC_PUSH(w.nodes, w.n, w.cap, node)) w.failed = true;
        feed_u64(&w, node.hash);
    }
    for (ir_op *op = b->first; op; op = op->next)
        if (op->n_out && op->out[0].mark) hash_op(&w, op, true);
    for (size_t i = 0; i < r->n; i++) {
        feed_u64(&w, r->values[i]->mark << 20 | (uint64_t)(uint32_t)(r->alias_leaf[i] + 1));
        if (r->layouts && r->layouts[i]) feed_u64(&w, r->layouts[i]->text);
    }
    if (lazy_spmd()) feed_u64(&w, (uint64_t)lazy_partitions());
    if (w.failed) {
        base_free(w.nodes);
        return status_oom(w.cap * sizeof *w.nodes, "the key of a step");
    }
    *out_key = w.h;
    *out_nodes = w.nodes;
    *out_n = w.n;
    return NULL;
}

enum { LONGEST_TEXT = 160 };

static bool is_assigned(const lazy_ctx *c, const lazy_roots *r, const ir_value *v) {
    for (size_t i = 0; i < r->n_assigned; i++)
        if (r->assigned[i].slot < c->n_slots && c->slots[r->assigned[i].slot].value == v) return true;
    return false;
}

/* Flags what the step's own states and gradients are made of: what is logged, asked for or assigned comes and goes with
 * its line. */
static xt_status flag_own(lazy_ctx *c, const lazy_roots *r) {
    uint32_t log = intern("log");
    reach s = {0};
    bool ok = true;
    clear_marks(c);
    for (size_t i = 0; i < r->n && ok; i++) {
        ir_value *v = r->values[i];
        bool own = !r->requesters[i].what && !(v->def && v->def->path == log) && !is_assigned(c, r, v);
        ok = !own || (push_value(v, &s) && follow(&s));
    }
    base_free(s.stack);
    flag_base(c, true);
    return ok ? NULL : status_oom(s.cap * sizeof *s.stack, "the report of a program");
}

/* Of a trace that is marked. Numbers in packs are of the library's making. */
static src_id needless_line(const lazy_ctx *c) {
    const ir_block *b = c->b.block;
    size_t met = 0; /* arguments before this one came in for ops before */
    for (const ir_op *op = b->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_in; i++) {
            const ir_value *v = op->in[i];
            if (v->def || v->block != b || v->index < met) continue;
            met = v->index + 1;
            if (op->n_out && !op->out[0].mark && c->leaves[v->index].pack < 0) return op->src;
        }
    return 0;
}

xt_status lazy_describe_nodes(lazy_ctx *c, const lazy_roots *r, lazy_node *nodes, size_t n, src_id *out_needless) {
    const ir_block *b = c->b.block;
    size_t k = 0, n_args;
    XT_TRY(flag_own(c, r));
    /* the nodes are of what it marks, and others mark the trace too (lazy_key_tree) */
    XT_TRY(mark_for_key(c, r, &n_args));
    *out_needless = needless_line(c);
    for (size_t i = 0; i < n_args; i++) {
        size_t at = argument_at(r, i);
        if (!b->args[at]->mark || k >= n) continue;
        if (c->leaves[at].layout) nodes[k].text = c->leaves[at].layout->text;
        k++;
    }
    str text = STR_INIT;
    for (ir_op *op = b->first; op && k < n; op = op->next) {
        if (!op->n_out || !op->out[0].mark) continue;
        str_clear(&text);
        ir_op_attrs_print(op, &text);
        if (text.len && text.len < LONGEST_TEXT && !text.failed) nodes[k].text = intern(text.data);
        const ir_value *from = op->n_in ? op->in[0] : NULL;
        nodes[k].is_number = op->out[0].user & LAZY_V_NUMBER || (op->code == OP_slice && !from->def &&
                                                                 from->block == b && c->leaves[from->index].pack >= 0);
        nodes[k].derived = op->out[0].user & LAZY_V_DERIVED;
        nodes[k].of_step = op->out[0].user & LAZY_V_BASE;
        k++;
    }
    flag_base(c, false);
    str_free(&text);
    return NULL;
}
