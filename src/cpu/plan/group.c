/* Which elementwise ops run as one loop. */
#include "cpu/plan/group_int.h"

/* --- joining --- */
/* The open group that makes v and that an op like `want` may join, or CPU_NONE. */
static uint32_t open_group(cpu_builder *b, const ir_value *v, const group *want) {
    value_info *i = build_info(b, v);
    if (!i || i->state != VALUE_MEMBER) return CPU_NONE;
    const group *h = &b->groups[group_find(b, i->group)];
    if (h->end != GROUP_OPEN || h->count != want->count || h->feature != want->feature) return CPU_NONE;
    if (h->feature && memcmp(h->like->dims, want->like->dims, 4 * sizeof *h->like->dims) != 0) return CPU_NONE;
    return group_find(b, i->group);
}

/* Makes what such a group reads from outside. */
static xt_status prepare(cpu_builder *b, const ir_value *v, const group *want) {
    cpu_ref ignored;
    return want->feature && layout_is_image(v, want->like) ? layout_blocked(b, v, &ignored)
                                                           : build_prepare(b, want->feature ? v : build_in_order(b, v));
}

static xt_status merge(cpu_builder *b, uint32_t into, uint32_t from) {
    group *g = &b->groups[into], *h = &b->groups[from];
    for (size_t i = 0; i < h->n; i++)
        if (!VEC_PUSH(g->ops, g->n, g->cap, h->ops[i])) return status_oom(0, "fusing ops");
    g->inputs += h->inputs;
    h->merged_into = into;
    base_free(h->ops);
    h->ops = NULL;
    h->n = h->cap = 0;
    return NULL;
}

static group group_for(cpu_builder *b, const ir_op *op) {
    if (group_is_turns(op))
        return (group){.count = op->in[0]->type->count, .merged_into = CPU_NONE, .like = op->in[0]->type};
    const ir_type *made = op->out[0].type;
    return (group){.count = made->count, .merged_into = CPU_NONE, .feature = layout_of_loop(b, op), .like = made};
}

static bool has_room(const cpu_builder *b, const group *h, const ir_op *op) {
    return b->fuse_on && h->n < GROUP_MAX_OPS && h->inputs + op->n_in <= GROUP_MAX_INPUTS;
}

bool group_takes_name(cpu_builder *b, const ir_op *op) {
    const group want = group_for(b, op);
    uint32_t g = open_group(b, op->in[0], &want);
    return g != CPU_NONE && has_room(b, &b->groups[g], op);
}

/* Long stretches of small arrays are copied from cache to cache by a thunk of their own faster than from registers; but
 * where each array is one stretch its elements are computed in their place. */
bool group_takes_turns(cpu_builder *b, const ir_op *op) {
    enum { LONG = 1024, SMALL = 1 << 16 };
    if (!group_is_turns(op) || op->n_in < 2 || op->n_in > VPROG_MOST_PARTS) return false;
    const group want = group_for(b, op);
    bool joins = false;
    int64_t width = 1;
    for (uint32_t i = (uint32_t)ir_get_int(op, IR_A_dimension, 0); i < want.like->rank; i++)
        width *= want.like->dims[i];
    if (width >= LONG && width < want.count && want.count < SMALL) return false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (op->in[i]->type->count != want.count || want.count <= 0) return false;
        uint32_t g = open_group(b, op->in[i], &want);
        joins = joins || (g != CPU_NONE && has_room(b, &b->groups[g], op));
    }
    return joins;
}

xt_status group_join(cpu_builder *b, const ir_op *op) {
    const group want = group_for(b, op);
    /* First what comes from outside: making it may close groups, also ones this op might have joined. */
    for (uint32_t i = 0; i < op->n_in; i++)
        if (open_group(b, op->in[i], &want) == CPU_NONE) XT_TRY(prepare(b, op->in[i], &want));
    uint32_t target = CPU_NONE;
    size_t outside = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        uint32_t g = open_group(b, op->in[i], &want);
        if (g == CPU_NONE) {
            XT_TRY(prepare(b, op->in[i], &want));
            outside++;
            continue;
        }
        if (g == target) continue;
        group *h = &b->groups[g];
        if (target == CPU_NONE) {
            if (!has_room(b, h, op)) {
                XT_TRY(group_close(b, g, b->fuse_on ? GROUP_FULL : GROUP_ALONE));
                outside++;
            } else {
                target = g;
            }
        } else if (h->n + b->groups[target].n >= GROUP_MAX_OPS ||
                   h->inputs + b->groups[target].inputs + op->n_in > GROUP_MAX_INPUTS) {
            XT_TRY(group_close(b, g, GROUP_FULL));
            outside++;
        } else {
            XT_TRY(merge(b, target, g));
        }
    }
    if (target == CPU_NONE) {
        group g = want;
        if (!VEC_PUSH(b->groups, b->n_groups, b->cap_groups, g)) return status_oom(sizeof g, "fusing ops");
        target = (uint32_t)b->n_groups - 1;
    }
    group *g = &b->groups[target];
    value_info *out = build_info(b, &op->out[0]);
    if (!out || !VEC_PUSH(g->ops, g->n, g->cap, op)) return status_oom(0, "fusing ops");
    g->inputs += outside;
    out->state = VALUE_MEMBER;
    out->grouped = true;
    out->group = target;
    for (uint32_t i = 0; i < op->n_in; i++) {
        value_info *in = build_info(b, op->in[i]);
        if (in && in->state == VALUE_MEMBER) in->inside++;
    }
    return NULL;
}
