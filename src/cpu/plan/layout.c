/* Which values lie blocked, by connected region, and which ops become part of a batch norm's thunk.
 *
 * Ops that can work on blocked images (convolutions, batch norms, pooling, elementwise ops on whole images) connect the
 * images they touch. A region is laid out blocked when what its ops save is more than the copies at its edges cost; the
 * estimate looks at shapes only, so a program always gets the same layouts. */
#include "cpu/plan/layout.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/blk.h"

#define NOTHING UINT32_MAX
#define FEATURE_DIMS (1u << 1 | 1u << 3) /* NCHW or NHWC */
#define BYTES_PER_SECOND 10e9 /* of a copy between layouts, one read and one write counted as one */
#define DIRECT_FLOPS 400e9
#define WINOGRAD_FLOPS 750e9

typedef struct use {
    const ir_op *op;
    uint32_t next;
} use;
typedef struct image { /* by value number */
    uint32_t parent, first_use;
    unsigned features; /* at the root: bit per dim that may be the feature */
    bool member;
    uint32_t known_uses; /* in main's own ops */
    bool captured; /* regions read it, too */
    double gain; /* at the root, seconds */
} image;
typedef struct layout {
    cpu_builder *b;
    image *images;
    use *uses;
    size_t n_uses;
} layout;

static uint32_t number_of(const ir_value *v) {
    return (uint32_t)v->user - 1;
}
static uint32_t root(layout *l, uint32_t i) {
    while (l->images[i].parent != i) i = l->images[i].parent = l->images[l->images[i].parent].parent;
    return i;
}

int64_t layout_block(void) {
    return blk_get()->features;
}

/* --- what ops can do --- */
static unsigned features_of(const ir_type *t) {
    if (t->kind != IR_TENSOR || t->rank != 4 || t->count <= 0) return 0;
    size_t e = xt_dtype_size(t->dtype);
    if (e != 1 && e != 2 && e != 4) return 0;
    return (t->dims[1] % layout_block() == 0 ? 1u << 1 : 0) | (t->dims[3] % layout_block() == 0 ? 1u << 3 : 0);
}
static bool same_dims(const ir_type *a, const ir_type *b) {
    return a->kind == IR_TENSOR && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}
static bool is_splat(const ir_value *v) {
    while (v->def &&
           (v->def->code == OP_broadcast_in_dim || v->def->code == OP_broadcast || v->def->code == OP_reshape))
        v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return l && (l->splat || l->type->count == 1);
}
static bool is_window(const ir_value *v) {
    return v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_broadcast || v->def->code == OP_slice ||
                      v->def->code == OP_reverse);
}

#define MOST_IMAGES 8
typedef struct touch { /* the images of one op */
    const ir_value *v[MOST_IMAGES];
    size_t n;
    unsigned features;
    double gain; /* seconds saved by blocked images */
} touch;

static void add(touch *t, const ir_value *v) {
    if (t->n < MOST_IMAGES) t->v[t->n++] = v;
}

static void touch_convolution(const cpu_lowering *k, const ir_op *op, touch *t) {
    int feature[3];
    double winograd;
    const ir_value *v[3] = {op->in[0], op->in[1], &op->out[0]};
    if (!k->blocked.conv_images(op, feature, &winograd)) return;
    bool mixed = false;
    t->features = 0;
    for (int i = 0; i < 3; i++) {
        unsigned bit = feature[i] ? 1u << (feature[i] - 1) : 0;
        if (!(bit & features_of(v[i]->type))) continue; /* stays as it is: an image of few features, or the kernel */
        mixed = mixed || (t->features && t->features != bit);
        t->features = bit;
        /* oneDNN would make a copy itself */
        if (bit == 1u << 1) t->gain += (double)ir_type_bytes(v[i]->type) / BYTES_PER_SECOND;
        add(t, v[i]);
    }
    if (mixed) t->n = 0;
    t->gain += winograd / DIRECT_FLOPS - winograd / WINOGRAD_FLOPS;
}

static void touch_elementwise(const ir_op *op, touch *t) {
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_value *v = op->in[i];
        if (is_splat(v)) continue;
        if (!same_dims(v->type, op->out[0].type) || (v->def && v->def->code == OP_iota)) {
            t->n = 0;
            return;
        }
        if (!is_window(v)) add(t, v);
    }
    if (t->n) add(t, &op->out[0]);
}

/* No images: the op works on dense arrays only. */
static touch touched(const cpu_lowering *k, const ir_op *op) {
    touch t = {.features = FEATURE_DIMS};
    double bytes = op->n_in ? (double)ir_type_bytes(op->in[0]->type) : 0;
    switch ((int)op->code) {
    case OP_convolution: touch_convolution(k, op, &t); break;
    case OP_batch_norm_grad: add(&t, op->in[4]); /* fall through */
    case OP_batch_norm_training:
        add(&t, op->in[0]);
        add(&t, &op->out[0]);
        t.features = 1u << ir_get_int(op, IR_A_feature_index, 0);
        t.gain = bytes / BYTES_PER_SECOND;
        if (op->in[0]->type->dtype != XT_F32) t.n = 0;
        break;
    case OP_reduce_window:
    case OP_select_and_scatter:
        t.features = (k->blocked.takes_window(op, 1) ? 1u << 1 : 0) | (k->blocked.takes_window(op, 3) ? 1u << 3 : 0);
        add(&t, op->in[0]);
        if (op->code == OP_select_and_scatter) add(&t, op->in[1]);
        add(&t, &op->out[0]);
        t.gain = bytes / BYTES_PER_SECOND;
        break;
    default:
        if (vprog_takes(op)) touch_elementwise(op, &t);
    }
    for (size_t i = 0; i < t.n; i++)
        if (!(t.features &= features_of(t.v[i]->type))) t.n = 0;
    return t;
}

/* --- regions --- */
static xt_status list_uses(layout *l, const ir_block *body) {
    size_t n = 0;
    for (size_t i = 0; i < body->n_args; i++)
        if (!build_info(l->b, body->args[i])) return status_oom(0, "a plan");
    for (const ir_op *op = body->first; op; op = op->next) {
        n += op->n_in;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!build_info(l->b, &op->out[i])) return status_oom(0, "a plan");
    }
    l->images = base_calloc(l->b->n_values + 1, sizeof *l->images);
    l->uses = base_malloc((n + 1) * sizeof *l->uses);
    if (!l->images || !l->uses) return status_oom(n * sizeof *l->uses, "a plan");
    for (uint32_t i = 0; i < l->b->n_values; i++)
        l->images[i] = (image){.parent = i, .first_use = NOTHING, .features = FEATURE_DIMS};
    for (const ir_op *op = body->last; op; op = op->prev) /* backwards: lists come out in the program's order */
        for (uint32_t i = op->n_in; i-- > 0;) {
            image *m = &l->images[number_of(op->in[i])];
            m->known_uses++;
            l->uses[l->n_uses] = (use){op, m->first_use};
            m->first_use = (uint32_t)l->n_uses++;
        }
    for (uint32_t i = 0; i < l->b->n_values; i++)
        l->images[i].captured = l->images[i].known_uses != l->b->values[i].value->uses;
    return NULL;
}

static void connect(layout *l, const ir_block *body) {
    for (const ir_op *op = body->first; op; op = op->next) {
        touch t = touched(l->b->lowering, op);
        for (size_t i = 0; i < t.n; i++) {
            uint32_t a = root(l, number_of(t.v[0])), c = root(l, number_of(t.v[i]));
            l->images[number_of(t.v[i])].member = true;
            if (a == c) continue;
            l->images[c].parent = a;
            l->images[a].features &= l->images[c].features;
            l->images[a].gain += l->images[c].gain;
        }
        if (!t.n) continue;
        image *m = &l->images[root(l, number_of(t.v[0]))];
        m->features &= t.features;
        m->gain += t.gain;
    }
}

/* An edge: made or read by something that wants it dense. */
static void count_edges(layout *l, const ir_block *body) {
    for (size_t i = 0; i < body->n_args; i++) {
        uint32_t n = number_of(body->args[i]);
        if (l->images[n].member)
            l->images[root(l, n)].gain -= (double)ir_type_bytes(body->args[i]->type) / BYTES_PER_SECOND;
    }
    for (const ir_op *op = body->first; op; op = op->next) {
        touch t = touched(l->b->lowering, op);
        for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
            const ir_value *v = i < op->n_in ? op->in[i] : &op->out[i - op->n_in];
            bool inside = false;
            for (size_t k = 0; k < t.n; k++) inside = inside || t.v[k] == v;
            uint32_t n = number_of(v);
            if (!inside && l->images[n].member && !is_splat(v))
                l->images[root(l, n)].gain -= (double)ir_type_bytes(v->type) / BYTES_PER_SECOND;
        }
    }
}

static bool accept(layout *l, bool always) {
    bool any = false;
    for (uint32_t i = 0; i < l->b->n_values; i++) {
        const image *m = &l->images[i], *r = &l->images[root(l, i)];
        const ir_value *v = l->b->values[i].value;
        unsigned f = r->features & features_of(v->type);
        if (!m->member || !f || !(always || r->gain > 0)) continue;
        if (r->features == FEATURE_DIMS && !always) continue; /* nothing but elementwise ops */
        l->b->values[i].feature = r->features & 1u << 1 ? 2 : 4;
        any = true;
    }
    return any;
}

int layout_feature(cpu_builder *b, const ir_value *v) {
    return v->user && v->user <= b->n_values ? (int)b->values[v->user - 1].feature - 1 : -1;
}

xt_status layout_check(cpu_builder *b, const ir_value *v) {
    if (layout_feature(b, v) >= 0) return NULL;
    return status_new(XT_INTERNAL, NULL, "result %u of %s%s is wanted blocked, but lies dense", v->index,
                      v->def ? "stablehlo." : "an ", v->def ? ir_op_infos[v->def->code].name : "argument");
}

/* --- batch norms and what surrounds them --- */
#define SKIPPED (NOTHING - 1)

static bool is_after(const ir_op *a, const ir_op *b) {
    return a->user > b->user;
}
static void unread(const ir_value *v) { /* one reader fewer: it reads something else instead */
    ((ir_value *)(uintptr_t)v)->uses--;
}
static void skip(layout *l, norm_fusion *f, const ir_value *v) {
    l->b->fusion_of[v->def->user - 1] = SKIPPED;
    f->covers[f->n_covers++] = v;
}
static bool is_free(const layout *l, const ir_op *op) {
    return l->b->fusion_of[op->user - 1] == NOTHING;
}
static bool blocked_like(layout *l, const ir_value *v, const ir_value *like) {
    return layout_feature(l->b, v) >= 0 && layout_feature(l->b, v) == layout_feature(l->b, like) &&
           same_dims(v->type, like->type);
}

/* What v is converted from, when it may be read instead. */
static const ir_value *look_through(layout *l, const ir_value *v) {
    const ir_op *op = v->def;
    if (!op || op->code != OP_convert || v->type->dtype != XT_F32 || op->in[0]->type->dtype != XT_BF16 ||
        !blocked_like(l, op->in[0], v))
        return v;
    unread(v);
    op->in[0]->uses++;
    if (!v->uses) unread(op->in[0]); /* the conversion is dead */
    return op->in[0];
}

/* The conversion of v to bf16 becomes a result of the fusion. */
static void take_narrow(layout *l, norm_fusion *f, const ir_value *v) {
    for (uint32_t u = l->images[number_of(v)].first_use; u != NOTHING; u = l->uses[u].next) {
        const ir_op *op = l->uses[u].op;
        if (op->code != OP_convert || op->out[0].type->dtype != XT_BF16 || !op->out[0].uses ||
            !blocked_like(l, &op->out[0], v) || !is_free(l, op))
            continue;
        f->narrow = &op->out[0];
        skip(l, f, f->narrow);
        unread(v);
        l->b->values[number_of(v)].stand_in = f->narrow;
        break;
    }
    f->out = v->uses ? v : NULL;
}

static bool all_reads_after(const layout *l, const ir_value *v, const ir_op *op) {
    if (l->images[number_of(v)].captured) return false;
    for (uint32_t u = l->images[number_of(v)].first_use; u != NOTHING; u = l->uses[u].next)
        if (l->uses[u].op != op && !is_after(l->uses[u].op, op)) return false;
    return true;
}

/* The offset of the batch norm whose gradient `op` is when z is its result or relu of that: where z is positive then
 * follows from x, which is read anyway. */
static const ir_value *offset_below(const ir_op *op, const ir_value *z) {
    const ir_value *below = z->def ? layout_relu_of(z->def) : NULL, *y = below ? below : z;
    const ir_op *norm = y->def;
    if (!norm || norm->code != OP_batch_norm_training || y != &norm->out[0] || norm->in[0] != op->in[0] ||
        norm->in[1] != op->in[1])
        return NULL;
    const ir_attr *a = ir_attr_find(norm, IR_A_epsilon), *b = ir_attr_find(op, IR_A_epsilon);
    bool same = op->in[2] == &norm->out[1] && op->in[3] == &norm->out[2] && (a ? a->v.f : 0) == (b ? b->v.f : 0);
    return same ? norm->in[2] : NULL;
}

static void fuse_grad(layout *l, const ir_op *op, norm_fusion *f) {
    const ir_value *dy = op->in[4], *z = NULL, *g = dy;
    f->norm = op;
    f->x = look_through(l, op->in[0]);
    const ir_op *sel = dy->def;
    /* What select lets through is read as images lie: where that is a window on something, or a constant, dy
     * is a loop's. */
    if (sel && sel->code == OP_select && is_free(l, sel) && blocked_like(l, dy, op->in[0]) &&
        blocked_like(l, sel->in[1], dy) && layout_is_zero(sel->in[2]) && sel->in[0]->def)
        z = layout_mask_of(sel->in[0]->def);
    if (z && blocked_like(l, z, dy) && (z->type->dtype == XT_F32 || z->type->dtype == XT_BF16) &&
        all_reads_after(l, dy, op)) {
        f->relu = true;
        f->z = z;
        g = sel->in[1];
        skip(l, f, dy);
        if (dy->uses > 1) f->masked = dy;
        unread(sel->in[0]);
        if (!sel->in[0]->uses) unread(z);
        f->offset = offset_below(op, z);
        if (f->offset)
            f->z = NULL;
        else
            l->b->values[number_of(z)].kept = true; /* others may read the mask in the loop that makes it */
        if (f->z && !z->uses) ((ir_value *)(uintptr_t)z)->uses++; /* nobody else keeps it, wide or narrow */
    }
    f->g[0] = g;
    const ir_op *sum = g->def;
    if (f->relu && sum && sum->code == OP_add && g->uses == 1 && is_free(l, sum) && blocked_like(l, sum->in[0], g) &&
        blocked_like(l, sum->in[1], g) && sum->in[0] != sum->in[1]) {
        skip(l, f, g);
        f->g[0] = sum->in[0];
        f->g[1] = sum->in[1];
    }
    for (int i = 0; i < 2 && f->g[i]; i++) f->g[i] = look_through(l, f->g[i]);
    take_narrow(l, f, &op->out[0]);
}

/* The only reader of v, or NULL. */
static const ir_op *only_reader(const layout *l, const ir_value *v) {
    const image *m = &l->images[number_of(v)];
    return v->uses == 1 && m->known_uses == 1 ? l->uses[m->first_use].op : NULL;
}

/* The batch's mean and variance are ready when `end` runs; nobody may want them earlier. */
static bool may_end_at(const layout *l, const ir_op *norm, const ir_op *end) {
    return is_free(l, end) && all_reads_after(l, &norm->out[1], end) && all_reads_after(l, &norm->out[2], end);
}

static const ir_op *fuse_training(layout *l, const ir_op *op, norm_fusion *f) {
    const ir_value *y = &op->out[0];
    const ir_op *next = only_reader(l, y);
    f->norm = op;
    f->x = look_through(l, op->in[0]);
    if (next && next->code == OP_add && next->in[0] != next->in[1] && blocked_like(l, &next->out[0], y) &&
        may_end_at(l, op, next)) {
        const ir_value *other = next->in[next->in[0] == y];
        if (!is_splat(other) && blocked_like(l, other, y)) {
            f->residual = other;
            skip(l, f, y);
            y = &next->out[0];
            next = only_reader(l, y);
        }
    }
    if (next && layout_relu_of(next) == y && blocked_like(l, &next->out[0], y) && may_end_at(l, op, next)) {
        f->relu = true;
        skip(l, f, y);
        y = &next->out[0];
    }
    if (f->residual) f->residual = look_through(l, f->residual);
    if (y->def != op) f->covers[f->n_covers++] = y;
    take_narrow(l, f, y);
    return y->def;
}

/* Gradients first: they stop reading masks, and with them wide copies of what is kept narrow. */
static xt_status fuse_norms(layout *l, const ir_block *body) {
    cpu_builder *b = l->b;
    size_t n = 0;
    for (const ir_op *op = body->first; op; op = op->next) n++;
    b->fusion_of = base_malloc((n + 1) * sizeof *b->fusion_of);
    if (!b->fusion_of) return status_oom(n * sizeof *b->fusion_of, "a plan");
    for (size_t i = 0; i < n; i++) b->fusion_of[i] = NOTHING;
    for (int grads = 1; grads >= 0; grads--)
        for (const ir_op *op = body->first; op; op = op->next) {
            if (op->code != (grads ? OP_batch_norm_grad : OP_batch_norm_training) || layout_feature(b, op->in[0]) < 0)
                continue;
            /* its images lie blocked for others, by a dim that is not its feature */
            if (!touched(b->lowering, op).n) continue;
            norm_fusion f = {0};
            const ir_op *at = op;
            if (grads)
                fuse_grad(l, op, &f);
            else
                at = fuse_training(l, op, &f);
            b->fusion_of[at->user - 1] = (uint32_t)b->n_fusions;
            if (!VEC_PUSH(b->fusions, b->n_fusions, b->cap_fusions, f)) return status_oom(sizeof f, "a plan");
        }
    return NULL;
}

bool layout_fusion_at(const cpu_builder *b, const ir_op *op, const norm_fusion **out) {
    uint32_t i = b->fusion_of ? b->fusion_of[op->user - 1] : NOTHING;
    *out = i < b->n_fusions ? &b->fusions[i] : NULL;
    return i != NOTHING;
}

xt_status cpu_stage_layout(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    static const char *const wishes[] = {"auto", "plain", "blocked"};
    int wish = env_choice("XT_CPU_LAYOUT", BASE_COUNT(wishes), wishes);
    bool always = wish == 2, convolutions = false;
    for (const ir_op *op = body->first; op; op = op->next) convolutions = convolutions || op->code == OP_convolution;
    if (!blk_get() || wish == 1 || !(convolutions || always)) return NULL;
    layout l = {.b = b};
    xt_status s = list_uses(&l, body);
    if (!s) {
        connect(&l, body);
        count_edges(&l, body);
        if (accept(&l, always)) s = fuse_norms(&l, body);
    }
    base_free(l.images);
    base_free(l.uses);
    return s;
}

/* --- what the others ask --- */
bool layout_is_window(cpu_builder *b, const ir_op *op) {
    return (op->code == OP_reduce_window || op->code == OP_select_and_scatter) && layout_feature(b, op->in[0]) >= 0 &&
           layout_feature(b, &op->out[0]) >= 0 && touched(b->lowering, op).n;
}

bool layout_is_image(const ir_value *v, const ir_type *like) {
    return same_dims(v->type, like) && !is_splat(v) && !is_window(v);
}

uint8_t layout_of_loop(cpu_builder *b, const ir_op *op) {
    int feature = layout_feature(b, &op->out[0]);
    return feature >= 0 && touched(b->lowering, op).n ? (uint8_t)(feature + 1) : 0;
}
