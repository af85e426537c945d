/* Strided windows: composition through shape ops, and normal forms. */
#include "cpu/vector/view.h"

bool view_dense(const ir_type *t, view *out) {
    if (t->kind != IR_TENSOR || t->rank > VIEW_MAX || t->count < 0) return false;
    out->n = (int)t->rank;
    out->offset = 0;
    int64_t s = 1;
    for (int i = out->n - 1; i >= 0; i--) {
        out->dims[i] = t->dims[i];
        out->strides[i] = s;
        s *= t->dims[i];
    }
    return true;
}

void view_rows(view *v) {
    int64_t s = 1;
    v->offset = 0;
    for (int i = v->n - 1; i >= 0; i--) {
        v->strides[i] = s;
        s *= v->dims[i];
    }
}

int64_t view_count(const view *v) {
    int64_t n = 1;
    for (int i = 0; i < v->n; i++) n *= v->dims[i];
    return n;
}

bool view_is_dense(const view *v) {
    int64_t s = 1;
    for (int i = v->n - 1; i >= 0; i--) {
        if (v->dims[i] != 1 && v->strides[i] != s) return false;
        s *= v->dims[i];
    }
    return true;
}

void view_collapse(view *v) {
    view copy = *v;
    view_collapse2(v, &copy);
}

void view_collapse2(view *a, view *b) {
    int m = 0; /* dims kept so far; the last of them may still grow */
    for (int i = 0; i < a->n; i++) {
        if (a->dims[i] == 1) continue;
        if (m > 0 && a->strides[m - 1] == a->strides[i] * a->dims[i] &&
            b->strides[m - 1] == b->strides[i] * b->dims[i]) {
            a->dims[m - 1] = b->dims[m - 1] = a->dims[m - 1] * a->dims[i];
            a->strides[m - 1] = a->strides[i];
            b->strides[m - 1] = b->strides[i];
            continue;
        }
        a->dims[m] = b->dims[m] = a->dims[i];
        a->strides[m] = a->strides[i];
        b->strides[m] = b->strides[i];
        m++;
    }
    a->n = b->n = m;
}

static void through_broadcast(const int64_t *where, const ir_type *to, const view *v, view *out) {
    *out = (view){.n = (int)to->rank, .offset = v->offset};
    for (int i = 0; i < out->n; i++) out->dims[i] = to->dims[i];
    for (int i = 0; i < v->n; i++) /* else size 1, repeated: stride 0 */
        if (v->dims[i] == to->dims[where[i]]) out->strides[where[i]] = v->strides[i];
}

bool view_through(const ir_op *op, const view *v, view *out) {
    const ir_type *to = op->out[0].type;
    if (to->rank > VIEW_MAX || to->count < 0) return false;
    size_t n;
    switch ((int)op->code) {
    case OP_broadcast_in_dim:
        through_broadcast(ir_get_ints(op, IR_A_broadcast_dimensions, &n), to, v, out);
        return true;
    case OP_broadcast: {
        int64_t where[VIEW_MAX];
        for (int i = 0; i < v->n; i++) where[i] = (int64_t)to->rank - v->n + i;
        through_broadcast(where, to, v, out);
        return true;
    }
    case OP_slice: {
        const int64_t *start = ir_get_ints(op, IR_A_start_indices, &n), *stride = ir_get_ints(op, IR_A_strides, &n);
        *out = *v;
        for (int i = 0; i < v->n; i++) {
            int64_t step = stride ? stride[i] : 1;
            out->offset += start[i] * v->strides[i];
            out->strides[i] = v->strides[i] * step;
            out->dims[i] = to->dims[i];
        }
        return true;
    }
    case OP_reverse: {
        const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
        *out = *v;
        for (size_t i = 0; i < n; i++) {
            int64_t d = dims[i];
            if (v->dims[d] == 0) continue;
            out->offset += (v->dims[d] - 1) * v->strides[d];
            out->strides[d] = -v->strides[d];
        }
        return true;
    }
    case OP_transpose: {
        const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
        *out = *v;
        for (int i = 0; i < v->n; i++) {
            out->dims[i] = v->dims[perm[i]];
            out->strides[i] = v->strides[perm[i]];
        }
        return true;
    }
    default: return false;
    }
}
