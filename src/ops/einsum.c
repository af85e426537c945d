/* einsum: operands are contracted from left to right, two at a time. Each operand first takes the diagonal of labels it
 * repeats and sums those that nobody else reads; a pair then becomes one dot_general: labels that both have and someone
 * still needs are batch dims, labels that both have and nobody needs are contracted. Labels are letters; those of an
 * ellipsis are numbered from the right, so that they broadcast. */
#include <ctype.h>

#include "ops/expr.h"

enum { LABELS = 52 + XT_MAX_RANK, MAX_OPERANDS = 16, MAX_TERM = 2 * XT_MAX_RANK };
typedef struct term {
    int label[MAX_TERM];
    int n;
} term;
typedef struct part { /* an operand: one axis for each label */
    ir_value *v;
    term t;
} part;
typedef struct einsum {
    const xt_src *src;
    const char *spec;
    ir_builder *b;
    term in[MAX_OPERANDS], out;
    /* where an ellipsis stands in the term; -1: nowhere. The last is the result's. */
    int n, ellipsis[MAX_OPERANDS + 1];
    int64_t size[LABELS];
    xt_tensor failed;
} einsum;

static int label_of(char c) {
    return islower((unsigned char)c) ? c - 'a' : 26 + c - 'A';
}
static int find(const term *t, int label) {
    for (int i = 0; i < t->n; i++)
        if (t->label[i] == label) return i;
    return -1;
}
static void drop(term *t, int at) {
    memmove(t->label + at, t->label + at + 1, (size_t)(t->n - at - 1) * sizeof *t->label);
    t->n--;
}

static bool refuse(einsum *e, const char *why) {
    e->failed = lazy_error(e->src, XT_INVALID_ARGUMENT, "xt_einsum: \"%s\": %s", e->spec, why);
    return false;
}

/* --- reading the spec --- */
static bool read_term(einsum *e, const char **at, term *t, int *ellipsis) {
    *ellipsis = -1;
    for (const char *s = *at;; s++) {
        if (*s == ' ') continue;
        if (s[0] == '.' && s[1] == '.' && s[2] == '.') {
            if (*ellipsis >= 0) return refuse(e, "an operand has two ellipses");
            *ellipsis = t->n;
            s += 2;
        } else if (isalpha((unsigned char)*s)) {
            if (t->n == XT_MAX_RANK) return refuse(e, "an operand has more labels than a tensor has dims");
            t->label[t->n++] = label_of(*s);
        } else {
            *at = s;
            return true;
        }
    }
}

/* Without an arrow: the ellipsis, then every label that stands once, in the order of the alphabet (capitals first). */
static void implicit_output(einsum *e) {
    e->ellipsis[e->n] = 0;
    for (int k = 0; k < 52; k++) {
        int label = (k + 26) % 52, count = 0;
        for (int i = 0; i < e->n; i++)
            for (int j = 0; j < e->in[i].n; j++) count += e->in[i].label[j] == label;
        if (count == 1 && e->out.n < MAX_TERM) e->out.label[e->out.n++] = label;
    }
}

static bool read_spec(einsum *e, int operands) {
    const char *s = e->spec;
    for (;;) {
        if (e->n == MAX_OPERANDS) return refuse(e, "more than 16 operands");
        if (!read_term(e, &s, &e->in[e->n], &e->ellipsis[e->n])) return false;
        e->n++;
        if (*s != ',') break;
        s++;
    }
    if (e->n != operands) {
        e->failed = lazy_error(e->src, XT_INVALID_ARGUMENT, "xt_einsum: \"%s\" describes %d operands, %d were given",
                               e->spec, e->n, operands);
        return false;
    }
    if (s[0] == '-' && s[1] == '>') {
        s += 2;
        if (!read_term(e, &s, &e->out, &e->ellipsis[e->n])) return false;
        for (int i = 0; i < e->out.n; i++) {
            bool known = false;
            for (int k = 0; k < e->n; k++) known |= find(&e->in[k], e->out.label[i]) >= 0;
            if (!known) return refuse(e, "the result has a label that no operand has");
            for (int k = 0; k < i; k++)
                if (e->out.label[k] == e->out.label[i]) return refuse(e, "the result has a label twice");
        }
    } else
        implicit_output(e);
    return *s ? refuse(e, "letters, ..., commas and one -> are understood") : true;
}

/* Puts the numbered labels in an ellipsis' place: of `covers` dims, the last is number 0. */
static bool expand_ellipsis(einsum *e, term *t, int at, int covers) {
    if (at < 0 || covers <= 0) return true;
    if (t->n + covers > MAX_TERM) return refuse(e, "too many dims");
    memmove(t->label + at + covers, t->label + at, (size_t)(t->n - at) * sizeof *t->label);
    for (int i = 0; i < covers; i++) t->label[at + i] = 52 + covers - 1 - i;
    t->n += covers;
    return true;
}

/* Sizes of labels, with a 1 giving way to any size. */
static bool read_sizes(einsum *e, part *p) {
    int widest = 0;
    for (int i = 0; i < e->n; i++) {
        const ir_type *t = p[i].v->type;
        int covers = (int)t->rank - e->in[i].n;
        ops_text shape;
        if (covers < 0 || (covers > 0 && e->ellipsis[i] < 0)) {
            e->failed =
                lazy_error(e->src, XT_INVALID_ARGUMENT, "xt_einsum: \"%s\": operand %d is %s, its term names %d dims",
                           e->spec, i, ops_shape(t, &shape), e->in[i].n);
            return false;
        }
        if (!expand_ellipsis(e, &e->in[i], e->ellipsis[i], covers)) return false;
        if (covers > widest) widest = covers;
        for (int j = 0; j < e->in[i].n; j++) {
            int64_t *size = &e->size[e->in[i].label[j]], own = t->dims[j];
            if (*size == 0 || *size == 1 || (*size < 0 && own != 1))
                *size = own == 0 ? -1 : own;
            else if (own != 1 && own != *size && !(own == 0 && *size < 0)) {
                e->failed =
                    lazy_error(e->src, XT_INVALID_ARGUMENT,
                               "xt_einsum: \"%s\": a label is %lld elsewhere, and %lld in dim %d of operand %d %s",
                               e->spec, (long long)*size, (long long)own, j, i, ops_shape(t, &shape));
                return false;
            }
        }
    }
    return expand_ellipsis(e, &e->out, e->ellipsis[e->n], widest);
}

/* --- contracting --- */
/* Dims of 1 stretched to their label's size, diagonals taken: every label once. */
static void tidy(einsum *e, part *p) {
    int64_t dims[MAX_TERM];
    for (int j = 0; j < p->t.n; j++) dims[j] = e->size[p->t.label[j]] < 0 ? 0 : e->size[p->t.label[j]];
    p->v = ops_broadcast(e->b, p->v, (size_t)p->t.n, dims);
    for (int i = 0; i < p->t.n; i++)
        for (int j = i + 1; j < p->t.n; j++) {
            if (p->t.label[i] != p->t.label[j]) continue;
            int label = p->t.label[i];
            p->v = ops_diagonal(e->b, p->v, i, j, 0);
            drop(&p->t, j);
            drop(&p->t, i);
            p->t.label[p->t.n++] = label;
            i = -1;
            break;
        }
}

static void sum_away(einsum *e, part *p, const bool *needed) {
    int64_t axes[MAX_TERM];
    size_t n = 0;
    term kept = {.n = 0};
    for (int i = 0; i < p->t.n; i++) {
        if (needed[p->t.label[i]])
            kept.label[kept.n++] = p->t.label[i];
        else
            axes[n++] = i;
    }
    if (n) p->v = p->v ? ops_sum(e->b, p->v, n, axes) : NULL;
    p->t = kept;
}

static void contract(einsum *e, part *x, const part *y, const bool *needed) {
    int64_t bx[MAX_TERM], by[MAX_TERM], cx[MAX_TERM], cy[MAX_TERM];
    size_t nb = 0, nc = 0;
    term result = {.n = 0};
    for (int i = 0; i < x->t.n; i++) {
        int j = find(&y->t, x->t.label[i]);
        if (j < 0) continue;
        if (needed[x->t.label[i]]) {
            bx[nb] = i;
            by[nb++] = j;
            result.label[result.n++] = x->t.label[i];
        } else {
            cx[nc] = i;
            cy[nc++] = j;
        }
    }
    for (int i = 0; i < x->t.n; i++)
        if (find(&y->t, x->t.label[i]) < 0) result.label[result.n++] = x->t.label[i];
    for (int i = 0; i < y->t.n; i++)
        if (find(&x->t, y->t.label[i]) < 0) result.label[result.n++] = y->t.label[i];
    if (x->v && y->v) x->v = ir_dot_general(e->b, x->v, y->v, nb, bx, by, nc, cx, cy, ops_precision(x->v->type->dtype));
    x->t = result;
}

/* What later operands or the result still read. */
static void mark_needed(const einsum *e, const part *p, int from, bool *needed) {
    memset(needed, 0, LABELS * sizeof *needed);
    for (int i = 0; i < e->out.n; i++) needed[e->out.label[i]] = true;
    for (int k = from; k < e->n; k++)
        for (int i = 0; i < p[k].t.n; i++) needed[p[k].t.label[i]] = true;
}

static ir_value *evaluate(einsum *e, part *p) {
    bool needed[LABELS];
    for (int i = 0; i < e->n; i++) tidy(e, &p[i]);
    for (int i = 0; i < e->n; i++) { /* labels of one operand only */
        mark_needed(e, p, 0, needed);
        for (int j = 0; j < p[i].t.n; j++) {
            bool elsewhere = find(&e->out, p[i].t.label[j]) >= 0;
            for (int k = 0; k < e->n; k++) elsewhere |= k != i && find(&p[k].t, p[i].t.label[j]) >= 0;
            needed[p[i].t.label[j]] = elsewhere;
        }
        sum_away(e, &p[i], needed);
    }
    for (int i = 1; i < e->n; i++) {
        mark_needed(e, p, i + 1, needed);
        contract(e, &p[0], &p[i], needed);
    }
    int64_t perm[MAX_TERM];
    bool moved = false;
    for (int i = 0; i < e->out.n; i++) {
        perm[i] = find(&p[0].t, e->out.label[i]);
        moved |= perm[i] != i;
    }
    if (!p[0].v) return NULL;
    return moved ? ir_transpose(e->b, p[0].v, (size_t)e->out.n, perm) : e->n == 1 ? ops_copy(e->b, p[0].v) : p[0].v;
}

xt_tensor xt_einsum_at(const xt_src *src, const char *spec, int n, const xt_tensor *operands) {
    einsum e = {.src = src, .spec = spec};
    part p[MAX_OPERANDS];
    e.b = lazy_begin(src);
    memset(p, 0, sizeof p);
    if (!read_spec(&e, n)) return e.failed;
    xt_dtype t = XT_DTYPE_NONE;
    for (int i = 0; i < n; i++) {
        p[i].v = lazy_value(operands[i]);
        if (!p[i].v) return lazy_wrap(NULL, "xt_einsum");
        const ir_type *one = ir_tensor(p[i].v->type->dtype, 1, (int64_t[]){1});
        t = i ? ops_promote(ir_with_dtype(one, t), one) : one->dtype;
    }
    if (t == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_einsum: the operands are bool, numbers are needed; xt_cast them first");
    if (!read_sizes(&e, p)) return e.failed;
    xt_dtype cast = lazy_autocast() && t == XT_F32 && n > 1 ? lazy_autocast() : t;
    for (int i = 0; i < n; i++) {
        p[i].v = ir_convert(e.b, p[i].v, cast);
        p[i].t = e.in[i];
    }
    if (e.out.n > XT_MAX_RANK) return refuse(&e, "the result would have more than 8 dims"), e.failed;
    ir_value *r = evaluate(&e, p);
    return lazy_wrap(r ? ir_convert(e.b, r, t) : NULL, "xt_einsum");
}

/* --- its relatives --- */
/* Sums over axes of x paired with axes of y. */
xt_tensor xt_tensordot_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_list x_axes, xt_list y_axes) {
    const char *what = "xt_tensordot";
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    int64_t cx[XT_MAX_RANK], cy[XT_MAX_RANK];
    size_t nx = 0, ny = 0;
    xt_tensor failed;
    ops_text sx, sy;
    if (!vx || !vy) return lazy_wrap(NULL, what);
    const ir_type *tx = vx->type, *ty = vy->type;
    if (x_axes.n && !ops_axes(src, what, tx, x_axes, &nx, cx, &failed)) return failed;
    if (y_axes.n && !ops_axes(src, what, ty, y_axes, &ny, cy, &failed)) return failed;
    bool fits = nx == ny && tx->rank + ty->rank - 2 * nx <= XT_MAX_RANK;
    for (size_t i = 0; i < nx && fits; i++) fits = tx->dims[cx[i]] == ty->dims[cy[i]];
    if (!fits)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s and y %s: as many axes of each, of equal sizes in pairs, and at most %d dims in the result", what,
            ops_shape(tx, &sx), ops_shape(ty, &sy), XT_MAX_RANK);
    xt_dtype t = ops_promote(ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), tx->dtype),
                             ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), ty->dtype));
    if (t == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x and y are bool, numbers are needed; xt_cast one of them first", what);
    vx = ir_convert(b, vx, t);
    vy = ir_convert(b, vy, t);
    if (!vx || !vy) return lazy_wrap(NULL, what);
    xt_dtype result = ops_autocast(b, &vx, &vy);
    if (!vx || !vy) return lazy_wrap(NULL, what);
    ir_value *r = ir_dot_general(b, vx, vy, 0, NULL, NULL, nx, cx, cy, ops_precision(vx->type->dtype));
    return lazy_wrap(r ? ir_convert(b, r, result) : NULL, what);
}
