/* XT_DEBUG=nan: after each step its results are looked at; when one has NaN or Inf, the step is run again with a count
 * of such elements for every op, and the first op that has some although its inputs have none is named with its line
 * and the range of each input. The step is dropped: states keep the values they had. */
#include "coll/coll.h"
#include "lazy/core/ctx.h"
#include "lazy/core/layout.h"
#include "lazy/program/range.h"
#include "lazy/step/step.h"

static xt_status range_of_buffer(device_buffer *b, const lazy_layout *l, const ir_type *t, range *out) {
    size_t n = device_buffer_bytes(b);
    void *data = base_malloc(n ? n : 1);
    xt_status s = data ? device_read(b, data, n) : status_oom(n, "a value to look at");
    int64_t there = t->dtype != XT_DTYPE_NONE && xt_dtype_size(t->dtype) ? (int64_t)(n / xt_dtype_size(t->dtype)) : 0;
    ir_type part = *t; /* of a divided tensor this rank's part is looked at */
    if (!s && l) there = lazy_layout_pack(l, t, data);
    part.count = there < t->count ? there : t->count;
    if (!s) *out = range_of(data, &part);
    base_free(data);
    return s;
}

/* Runs a program for n values of this trace and gives their buffers. */
static xt_status run_values(lazy_ctx *c, size_t n, ir_value **values, const xt_src *src, device_buffer **out) {
    lazy_roots r = {.n = n, .cap = n, .values = values};
    r.alias_leaf = base_malloc((n + 1) * sizeof *r.alias_leaf);
    r.requesters = base_calloc(n + 1, sizeof *r.requesters);
    xt_status s = r.alias_leaf && r.requesters ? NULL : status_oom(n, "looking for NaN");
    for (size_t i = 0; !s && i < n; i++) {
        r.alias_leaf[i] = -1;
        r.requesters[i] = (lazy_requester){"XT_DEBUG=nan", src_intern(src)};
    }
    if (!s) s = lazy_run(c, &r, LAZY_READ, true, src, out);
    base_free(r.alias_leaf);
    base_free(r.requesters);
    return s;
}

typedef struct suspect {
    ir_op *op;
    ir_value *nan, *bad; /* how many elements of its first result are NaN; are NaN or Inf */
    float n_nan, n_bad;
} suspect;

static ir_value *count_true(ir_builder *b, ir_value *mask) {
    int64_t axes[IR_MAX_RANK]; /* values inside of an op may have more dims than tensors */
    ir_value *ones = mask ? ir_convert(b, mask, XT_F32) : NULL;
    if (!ones || ones->type->rank == 0) return ones;
    for (uint32_t i = 0; i < ones->type->rank; i++) axes[i] = i;
    return ir_reduce(b, OP_add, ones, ones->type->rank, axes);
}

/* Counts for each op that this step's program computed, appended to the trace, which ends with the step. */
static bool add_counts(lazy_ctx *c, suspect **out, size_t *out_n) {
    suspect *all = NULL;
    size_t n = 0, cap = 0;
    for (ir_op *op = c->b.block->first; op; op = op->next) {
        suspect s = {.op = op};
        if (!op->n_out || !op->out[0].mark || !ir_dtype_is_float(op->out[0].type->dtype) || op->out[0].type->count == 0)
            continue;
        if (!VEC_PUSH(all, n, cap, s)) {
            base_free(all);
            return false;
        }
    }
    xt_no_grad_begin();
    for (size_t i = 0; i < n; i++) {
        ir_builder *b = lazy_begin(src_get(all[i].op->src));
        ir_value *v = &all[i].op->out[0];
        all[i].nan = count_true(b, ir_compare(b, IR_NE, v, v));
        all[i].bad = count_true(b, ir_not(b, ir_is_finite(b, v)));
    }
    lazy_settle(c);
    xt_no_grad_end_at(NULL);
    xt_status_free(c->b.status); /* the caller says that there is no memory for it */
    c->b.status = NULL;
    *out = all;
    *out_n = n;
    for (size_t i = 0; i < n; i++)
        if (!all[i].bad || !all[i].nan) return false;
    return true;
}

static void describe_value(str *t, const lazy_ctx *c, const ir_value *v) {
    char at[256];
    if (v->def) {
        str_printf(t, "%s ", ir_op_infos[v->def->code].name);
        ir_type_print(v->type, t);
        str_printf(t, " at %s", src_text(v->def->src, at, sizeof at));
        if (v->def->path) str_printf(t, " (%s)", intern_text(v->def->path));
        return;
    }
    const lazy_buf *b = v->index < c->n_leaves ? c->leaves[v->index].buf : NULL;
    const char *role = b ? lazy_role_name(b->info.role) : "number of the step",
               *name = b && b->info.path ? intern_text(b->info.path) : "";
    if (strncmp(name, role, strlen(role)) != 0) str_printf(t, "%s ", role); /* "log accumulators" says what it is */
    if (*name) str_printf(t, "%s ", name);
    ir_type_print(v->type, t);
    if (b) str_printf(t, " at %s", src_text(b->info.src, at, sizeof at));
}

/* The compare `labels >= C` in the condition of a select, that a loss over C classes has for labels that name
 * none of them. */
static ir_op *class_check(ir_value *v, int depth) {
    ir_op *op = v->def, *found = NULL;
    if (!op || depth == 0) return NULL;
    if (op->code == OP_compare && ir_get_int(op, IR_A_comparison_direction, IR_EQ) == IR_GE &&
        ir_dtype_is_int(op->in[0]->type->dtype) && op->in[1]->def && op->in[1]->def->code == OP_constant)
        return op;
    for (uint32_t i = 0; (op->code == OP_or || op->code == OP_and) && i < op->n_in && !found; i++)
        found = class_check(op->in[i], depth - 1);
    return found;
}

static xt_status read_value(const lazy_ctx *c, const ir_value *v, device_buffer *computed, void **out,
                            int64_t *out_count) {
    device_buffer *b = v->def                                              ? computed
                       : v->index < c->n_leaves && c->leaves[v->index].buf ? c->leaves[v->index].buf->dev
                                                                           : NULL;
    size_t n = b ? device_buffer_bytes(b) : 0;
    *out_count = (int64_t)(n / xt_dtype_size(v->type->dtype));
    *out = n ? base_malloc(n) : NULL;
    return *out ? device_read(b, *out, n) : NULL;
}

/* ": label 5 (element 2) is outside 0..1" when that is what the select says with NaN; else nothing. */
static xt_status describe_label(lazy_ctx *c, const ir_op *op, const xt_src *src, str *t) {
    ir_op *check = op->code == OP_select ? class_check(op->in[0], 3) : NULL;
    if (!check || !op->in[0]->def || op->in[0]->type->count != check->in[0]->type->count) return NULL;
    ir_value *values[3] = {op->in[0], check->in[1], check->in[0]};
    device_buffer *bufs[3] = {0};
    void *wrong = NULL, *classes = NULL, *labels = NULL;
    int64_t n, n_classes, n_labels;
    xt_dtype type = check->in[0]->type->dtype;
    xt_status s = run_values(c, check->in[0]->def ? 3 : 2, values, src, bufs);
    if (!s) s = read_value(c, values[0], bufs[0], &wrong, &n);
    if (!s) s = read_value(c, values[1], bufs[1], &classes, &n_classes);
    if (!s) s = read_value(c, values[2], bufs[2], &labels, &n_labels);
    for (int64_t i = 0; !s && wrong && classes && labels && i < n && i < n_labels; i++)
        if (((const unsigned char *)wrong)[i]) {
            str_printf(t, ": label %.0f (element %lld) is outside 0..%.0f",
                       lazy_as_double((const char *)labels + (size_t)i * xt_dtype_size(type), type), (long long)i,
                       lazy_as_double(classes, type) - 1);
            break;
        }
    for (size_t i = 0; i < 3; i++) device_buffer_release(bufs[i]);
    base_free(wrong);
    base_free(classes);
    base_free(labels);
    return s;
}

static _Thread_local bool together;
/* Ranks whose step has collectives search together, for the search runs programs with them too. */
static xt_status least_of(bool ranks, int64_t mine, int64_t *out, int *out_rank) {
    coll_group *g;
    int n = world_get()->size;
    *out = mine;
    *out_rank = -1;
    if (!ranks) return NULL;
    int64_t *all = base_malloc((size_t)n * sizeof *all);
    if (!all) return status_oom((size_t)n * sizeof *all, "what the ranks found");
    xt_status s = coll_run_group(&g);
    if (!s) s = coll_all_gather(g, &mine, sizeof mine, all);
    for (int r = 0; !s && r < n; r++)
        if (*out_rank < 0 || all[r] < *out) {
            *out = all[r];
            *out_rank = r;
        }
    base_free(all);
    return s;
}

static xt_status least_of_ranks(int64_t mine, int64_t *out, int *out_rank) {
    return least_of(together, mine, out, out_rank);
}

xt_status lazy_least_of_ranks(int64_t mine, int64_t *out, int *out_rank) {
    return least_of(world_get()->size > 1 && lazy_ran_together(), mine, out, out_rank);
}

/* What is under way, in the words of the user's rows: a pass of a trainer has no step of its own. */
const char *lazy_under_way(const lazy_ctx *c, char *out, size_t n) {
    const lazy_position *at = lazy_position_of_thread();
    char after[48] = "";
    if (at->step) snprintf(after, sizeof after, " after step %lld", (long long)at->step);
    if (at->pass)
        snprintf(out, n, "batch index %lld of the %s%s", (long long)at->batch, at->pass, after);
    else
        snprintf(out, n, "step %lld", (long long)lazy_shown_step(c->step));
    return out;
}

/* The op and the ranges of what went in and came out. `rank`: whose it is; -1 = of all. */
static xt_status describe_culprit(lazy_ctx *c, ir_op *op, const xt_src *src, int rank) {
    ir_value *values[16];
    device_buffer *bufs[16] = {0};
    size_t n = 0;
    str t = STR_INIT;
    char when[128];
    values[n++] = &op->out[0];
    for (uint32_t i = 0; i < op->n_in && n < BASE_COUNT(values); i++)
        if (op->in[i]->def && ir_dtype_is_float(op->in[i]->type->dtype)) values[n++] = op->in[i];
    xt_status s = run_values(c, n, values, src, bufs);
    range r;
    describe_value(&t, c, &op->out[0]);
    str_printf(&t, " makes the first NaN or Inf of %s", lazy_under_way(c, when, sizeof when));
    if (rank >= 0) str_printf(&t, " on rank %d", rank);
    if (rank >= 0 && rank != world_get()->rank) str_printf(&t, "; on rank %d", world_get()->rank);
    if (!s) s = describe_label(c, op, src, &t);
    if (!s) s = range_of_buffer(bufs[0], NULL, values[0]->type, &r);
    if (!s) {
        str_printf(&t, ": %lld of %lld elements (", (long long)(r.nan + r.inf), (long long)r.count);
        range_print(&t, &r);
        str_append(&t, "). Its inputs:");
    }
    size_t k = 1;
    for (uint32_t i = 0; !s && i < op->n_in && i < 15; i++) {
        ir_value *v = op->in[i];
        if (!ir_dtype_is_float(v->type->dtype)) continue;
        if (v->def)
            s = k < n ? range_of_buffer(bufs[k++], NULL, v->type, &r) : NULL;
        else if (v->index < c->n_leaves && c->leaves[v->index].buf)
            s = range_of_buffer(c->leaves[v->index].buf->dev, c->leaves[v->index].layout, v->type, &r);
        else
            continue;
        if (s) break;
        str_append(&t, "\n  ");
        describe_value(&t, c, v);
        str_append(&t, ": ");
        range_print(&t, &r);
    }
    for (size_t i = 0; i < n; i++) device_buffer_release(bufs[i]);
    str_append(&t, "\nthe step is dropped, states keep the values they had [XT401]");
    if (!s) s = status_new(XT_OUT_OF_RANGE, src_get(op->src), "%s", str_cstr(&t));
    str_free(&t);
    return s;
}

/* The library's own accumulators may hold Inf: a smallest value starts with it. */
static const lazy_buf *own_accumulator(const lazy_ctx *c, const ir_value *v) {
    const lazy_buf *b = v && !v->def && v->index < c->n_leaves ? c->leaves[v->index].buf : NULL;
    return b && b->info.role == LAZY_LOG ? b : NULL;
}

/* NULL when no input of the step has NaN or Inf. */
static xt_status bad_input(lazy_ctx *c) {
    for (size_t i = 0; i < c->n_leaves; i++) {
        const lazy_buf *b = c->leaves[i].buf;
        range r;
        if (!b || !b->info.type || b->info.role == LAZY_LOG || !ir_dtype_is_float(b->info.type->dtype) ||
            !c->b.block->args[i]->mark || device_buffer_deleted(b->dev))
            continue;
        XT_TRY(range_of_buffer(b->dev, c->leaves[i].layout, b->info.type, &r));
        if (!r.nan && !r.inf) continue;
        str t = STR_INIT;
        char when[128];
        describe_value(&t, c, c->b.block->args[i]);
        str_printf(&t, " has NaN or Inf when %s begins: ", lazy_under_way(c, when, sizeof when));
        range_print(&t, &r);
        xt_status s = status_new(XT_OUT_OF_RANGE, src_get(b->info.src), "%s", str_cstr(&t));
        str_free(&t);
        return s;
    }
    return NULL;
}

/* NaN that a select takes from a constant: how an op says in its result that it was given something wrong, a label that
 * is no class. */
static bool puts_nan_in(const suspect *all, size_t k) {
    const ir_op *op = all[k].op;
    bool from_constant = false;
    if (op->code != OP_select || all[k].n_nan == 0) return false;
    for (size_t j = 0; j < k; j++)
        if (all[j].n_nan > 0 && (op->in[1]->def == all[j].op || op->in[2]->def == all[j].op)) {
            if (all[j].op->code != OP_constant) return false;
            from_constant = true;
        }
    return from_constant;
}

/* NaN from inputs without NaN (of constants, those that a select puts in), or Inf from inputs that are all finite. */
static bool guilty(const lazy_ctx *c, const suspect *all, size_t k) {
    const ir_op *op = all[k].op;
    float nan = 0, bad = 0;
    if (all[k].n_bad == 0) return false;
    if (puts_nan_in(all, k)) return true;
    if (range_only_moves(op)) return false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (own_accumulator(c, op->in[i])) return false;
        for (size_t j = 0; j < k; j++)
            if (op->in[i]->def == all[j].op && op->in[i]->def->code != OP_constant) {
                nan += all[j].n_nan;
                bad += all[j].n_bad;
            }
    }
    return all[k].n_nan > 0 ? nan == 0 : bad == 0;
}

static xt_status locate(lazy_ctx *c, const xt_src *src) {
    suspect *all = NULL;
    size_t n = 0;
    int64_t first;
    int rank;
    char when[128];
    xt_status at_begin = bad_input(c), agreed = least_of_ranks(at_begin ? 0 : 1, &first, &rank);
    if (agreed) {
        xt_status_free(at_begin);
        return agreed;
    }
    if (at_begin) return at_begin;
    if (first == 0)
        return status_new(XT_OUT_OF_RANGE, src,
                          "rank %d has NaN or Inf in what %s begins with, its message says where; the step is dropped "
                          "on all ranks, states keep the values they had [XT401]",
                          rank, lazy_under_way(c, when, sizeof when));
    xt_status s = add_counts(c, &all, &n) ? NULL : status_oom(n, "looking for NaN");
    ir_value **values = base_malloc((2 * n + 1) * sizeof *values);
    device_buffer **bufs = base_calloc(2 * n + 1, sizeof *bufs);
    if (!s && (!values || !bufs)) s = status_oom(n, "looking for NaN");
    for (size_t i = 0; !s && i < n; i++) {
        values[2 * i] = all[i].nan;
        values[2 * i + 1] = all[i].bad;
    }
    if (!s && n) s = run_values(c, 2 * n, values, src, bufs);
    size_t found = n;
    for (size_t i = 0; !s && i < n && found == n; i++) {
        s = device_read(bufs[2 * i], &all[i].n_nan, sizeof all[i].n_nan);
        if (!s) s = device_read(bufs[2 * i + 1], &all[i].n_bad, sizeof all[i].n_bad);
        if (!s && guilty(c, all, i)) found = i;
    }
    if (!s) s = least_of_ranks((int64_t)found, &first, &rank);
    ir_op *culprit = !s && first < (int64_t)n ? all[first].op : NULL;
    for (size_t i = 0; bufs && i < 2 * n; i++) device_buffer_release(bufs[i]);
    base_free(values);
    base_free(bufs);
    base_free(all);
    /* with a mesh counts are of whole tensors */
    if (!s && culprit) s = describe_culprit(c, culprit, src, lazy_spmd() ? -1 : rank);
    return s;
}

/* The slot of the library's accumulator that becomes v with this step. */
static const lazy_slot *accumulator_of(const lazy_ctx *c, const ir_value *v) {
    for (size_t k = 0; k < c->n_persistent; k++) {
        const lazy_slot *s = &c->slots[c->persistent[k]];
        if (s->role == LAZY_LOG && s->value == v) return s;
    }
    return NULL;
}

/* NaN or Inf in a result; of an accumulator, more of them than it had: a logged loss is looked at, the Inf that a
 * smallest value starts with is not. */
static xt_status is_bad(const lazy_ctx *c, const ir_value *v, const lazy_layout *l, device_buffer *result, bool *out) {
    range now, before = {0};
    *out = false;
    if (!ir_dtype_is_float(v->type->dtype) || own_accumulator(c, v)) return NULL;
    XT_TRY(range_of_buffer(result, l, v->type, &now));
    if (!now.nan && !now.inf) return NULL;
    const lazy_slot *s = accumulator_of(c, v);
    const lazy_buf *old = s && s->leaf ? own_accumulator(c, s->leaf) : NULL;
    if (old && !device_buffer_deleted(old->dev)) XT_TRY(range_of_buffer(old->dev, old->layout, v->type, &before));
    *out = now.nan > before.nan || now.inf > before.inf;
    return NULL;
}

xt_status lazy_look_for_nan(lazy_ctx *c, const lazy_roots *r, device_buffer **out, bool read, const xt_src *src) {
    if (c->in_debug_run) return NULL;
    bool bad = false;
    together = !read && world_get()->size > 1 && lazy_ran_together(); /* one rank may read alone */
    for (size_t i = 0; i < r->n && !bad; i++)
        XT_TRY(is_bad(c, r->values[i], r->layouts ? r->layouts[i] : NULL, out[i], &bad));
    int64_t anywhere;
    int rank;
    XT_TRY(least_of_ranks(bad ? 0 : 1, &anywhere, &rank));
    if (anywhere) return NULL;
    c->in_debug_run = true;
    xt_status s = locate(c, src);
    c->in_debug_run = false;
    return s;
}
