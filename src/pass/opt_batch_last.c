/* needs: calls inlined. keeps: meaning bit for bit, but for the order of the sums of convolutions and reductions.
 *
 * Images of few channels leave most of a vector empty when channels are its lanes, as in oneDNN's kernels; with
 * the batch as the innermost dim every lane works, whatever the channels (src/cpu/kernel/conv_chwn.c has those loops).
 * The choice is made for connected regions: values that convolutions, windows, normalisation and elementwise ops
 * tie together by sharing a layout. In a region that gains, each value loses its first dim, the batch, to the end:
 * dim numbers of its ops are rewritten in place, and values get transposes only where they enter or leave the
 * region. Broadcasts and splat constants are made in the new order, a reshape that keeps the batch stays a
 * reshape, and a product whose result enters the region swaps its operands instead. What the transposes cost
 * counts against the gain. */
#include "pass/rewrite.h"

enum { NONE = UINT32_MAX };

typedef struct region { /* one per value; the root of a union stands for all */
    uint32_t parent;
    int64_t images; /* of its convolutions; 0 none yet, -1 not the same in all */
    double now, then; /* seconds of one core for its convolutions as they are and with the batch last */
    double moved; /* bytes of transposes at its edges */
} region;

typedef struct batch_last {
    ir_module *m;
    int lanes;
    uint64_t epoch;
    region *regions;
    size_t n, cap;
    bool *rewrite; /* per op of function bodies, in order */
    size_t n_ops, cap_ops, at;
} batch_last;

/* --- which values an op ties together --- */
static bool has_batch(const ir_value *v) {
    return v->type->kind == IR_TENSOR && v->type->rank >= 2 && v->type->count > 0;
}

typedef enum conv_kind { CONV_OTHER, CONV_IMAGES, CONV_WEIGHTS } conv_kind;

/* CONV_IMAGES: images to images. CONV_WEIGHTS: summed over the images of both operands. */
static conv_kind kind_of(const ir_op *op) {
    size_t n;
    for (int i = 0; i < 2; i++)
        if (!has_batch(op->in[i]) || op->in[i]->type->dtype != XT_F32) return CONV_OTHER;
    if (!has_batch(&op->out[0]) || op->out[0].type->dtype != XT_F32) return CONV_OTHER;
    ir_get_ints(op, IR_A_input_spatial_dimensions, &n);
    if (n < 1 || n > 2 || ir_get_int(op, IR_A_feature_group_count, 1) != 1 ||
        ir_get_int(op, IR_A_batch_group_count, 1) != 1)
        return CONV_OTHER;
    if (ir_get_int(op, IR_A_input_feature_dimension, -1) == 0 &&
        ir_get_int(op, IR_A_kernel_input_feature_dimension, -1) == 0)
        return CONV_WEIGHTS;
    bool images =
        ir_get_int(op, IR_A_input_batch_dimension, -1) == 0 && ir_get_int(op, IR_A_output_batch_dimension, -1) == 0;
    return images ? CONV_IMAGES : CONV_OTHER;
}

static bool first_is(const ir_op *op, ir_attr_key k, int64_t want) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    return !v || v[0] == want;
}
static bool leaves_batch_alone(const ir_op *op) {
    size_t n;
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &n);
    return first_is(op, IR_A_window_dimensions, 1) && first_is(op, IR_A_window_strides, 1) &&
           first_is(op, IR_A_base_dilations, 1) && (!pad || (pad[0] == 0 && pad[1] == 0));
}

static bool is_elementwise(const ir_op *op) {
    const ir_type *t = op->out[0].type;
    if (!(ir_op_infos[op->code].flags & IR_ELEMENTWISE) || op->n_out != 1 || op->n_regions || !has_batch(&op->out[0]))
        return false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_type *x = op->in[i]->type;
        if (x->kind != IR_TENSOR ||
            (x->rank != 0 && (x->rank != t->rank || memcmp(x->dims, t->dims, t->rank * sizeof *t->dims) != 0)))
            return false;
    }
    return true;
}

/* Bits of the operands and of the results that must have one layout; 0 and 0: the op can have them in no other
 * than its own. */
typedef struct tied {
    uint64_t in, out;
} tied;
static bool among(uint64_t bits, uint32_t i) {
    return i < 64 && (bits >> i & 1);
} /* a loop has as many operands as values it carries */
static tied tied_by(const ir_op *op) {
    static const tied none = {0, 0};
    tied t = {0, 1};
    if (op->n_in == 0 || op->n_in > 60 || op->n_out == 0) return none;
    if (is_elementwise(op)) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i]->type->rank) t.in |= (uint64_t)1 << i;
        return t;
    }
    if (!has_batch(op->in[0])) return none;
    switch (op->code) {
    case OP_convolution: {
        conv_kind k = kind_of(op);
        return k == CONV_IMAGES ? (tied){1, 1} : k == CONV_WEIGHTS ? (tied){3, 0} : none;
    }
    case OP_reduce_window: return op->n_in == 2 && leaves_batch_alone(op) ? (tied){1, 1} : none;
    case OP_select_and_scatter: return leaves_batch_alone(op) ? (tied){3, 1} : none;
    case OP_batch_norm_training:
    case OP_batch_norm_inference: return ir_get_int(op, IR_A_feature_index, 0) ? (tied){1, 1} : none;
    case OP_batch_norm_grad: return ir_get_int(op, IR_A_feature_index, 0) ? (tied){1 | 16, 1} : none;
    case OP_pad:
        return first_is(op, IR_A_edge_padding_low, 0) && first_is(op, IR_A_edge_padding_high, 0) &&
                       first_is(op, IR_A_interior_padding, 0)
                   ? (tied){1, 1}
                   : none;
    case OP_concatenate: return ir_get_int(op, IR_A_dimension, 0) ? (tied){((uint64_t)1 << op->n_in) - 1, 1} : none;
    case OP_reshape:
        return has_batch(&op->out[0]) && op->in[0]->type->dims[0] == op->out[0].type->dims[0] ? (tied){1, 1} : none;
    case OP_reduce: return op->n_in == 2 ? (tied){1, 0} : none;
    default: return none;
    }
}

/* --- regions --- */
static uint32_t region_at(batch_last *b, ir_value *v) {
    if (v->mark >> 32 != b->epoch >> 32) {
        region r = {.parent = (uint32_t)b->n};
        if (b->n >= NONE || !VEC_PUSH(b->regions, b->n, b->cap, r)) return NONE;
        v->mark = b->epoch | (b->n - 1);
    }
    uint32_t r = (uint32_t)v->mark;
    while (b->regions[r].parent != r) r = b->regions[r].parent = b->regions[b->regions[r].parent].parent;
    return r;
}

static bool join(batch_last *b, ir_value *v, uint32_t *root) {
    uint32_t r = region_at(b, v);
    if (r == NONE) return false;
    if (*root == NONE) *root = r;
    b->regions[r].parent = *root;
    return true;
}

static double share(int64_t n, int64_t width) {
    return (double)n / (double)((n + width - 1) / width * width);
}

/* Flops a second of one core, roughly, as measured on AVX512 machines: what counts is where the two cross. oneDNN fills
 * its vectors with 16 channels of either side, and has kernels of its own for the first layer of a network. */
static void add_conv(batch_last *b, const ir_op *op, conv_kind kind, region *r) {
    const ir_type *in = op->in[0]->type, *kernel = op->in[1]->type, *out = op->out[0].type;
    bool weights = kind == CONV_WEIGHTS;
    int64_t images = in->dims[0];
    int64_t ic = weights ? in->dims[ir_get_int(op, IR_A_input_batch_dimension, 0)]
                         : in->dims[ir_get_int(op, IR_A_input_feature_dimension, 0)];
    int64_t oc = weights ? kernel->dims[ir_get_int(op, IR_A_kernel_output_feature_dimension, 0)]
                         : out->dims[ir_get_int(op, IR_A_output_feature_dimension, 0)];
    double flops = 2 * (double)images * (double)ic * (double)oc;
    size_t n;
    const int64_t *is = ir_get_ints(op, IR_A_input_spatial_dimensions, &n),
                  *ks = ir_get_ints(op, IR_A_kernel_spatial_dimensions, &n);
    const int64_t *os = ir_get_ints(op, IR_A_output_spatial_dimensions, &n);
    for (size_t i = 0; i < n; i++) {
        /* the smallest of the three is the kernel, and the smaller image says how often it is applied */
        int64_t a = in->dims[is[i]], k = kernel->dims[ks[i]], o = out->dims[os[i]], small = weights ? o : k,
                large = weights ? k : o;
        flops *= (double)small * (double)(large < a ? large : a);
    }
    double filled = share(ic, 16) * share(oc, 16);
    if (ic <= 4 && oc % 16 == 0) filled = 0.6;
    r->now += flops / (200e9 * (filled < 0.25 ? 0.25 : filled));
    r->then += flops / (190e9 * share(images, b->lanes));
    r->images = r->images == 0 || r->images == images ? images : -1;
}

static xt_status tie(batch_last *b, ir_op *op) {
    tied t = tied_by(op);
    uint32_t root = NONE;
    bool ok = true;
    for (uint32_t i = 0; i < op->n_in && ok; i++)
        if (among(t.in, i)) ok = join(b, op->in[i], &root);
    for (uint32_t i = 0; i < op->n_out && ok; i++)
        if (among(t.out, i)) ok = join(b, &op->out[i], &root);
    bool *grown = b->rewrite;
    if (ok && !VEC_PUSH(grown, b->n_ops, b->cap_ops, false)) ok = false;
    b->rewrite = grown;
    return ok ? NULL : status_oom(sizeof *b->regions, "choosing layouts");
}

/* Made in the other order for nothing. */
static bool is_free(const ir_value *v) {
    pass_literal l;
    if (pass_constant(v, &l) && l.splat) return true;
    return v->def && (v->def->code == OP_broadcast_in_dim || (v->def->code == OP_dot_general && v->type->rank == 2));
}

static void count_costs(batch_last *b, ir_op *op) {
    tied t = tied_by(op);
    bool product = op->code == OP_dot_general; /* reads a transposed operand where it lies */
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_value *v = op->in[i];
        if (v->mark >> 32 != b->epoch >> 32 || v->type->kind != IR_TENSOR) continue;
        bool inside = among(t.in, i);
        if (!inside && !product && v->def && among(tied_by(v->def).out, v->index))
            b->regions[region_at(b, v)].moved += (double)ir_type_bytes(v->type);
        if (inside && !is_free(v) && !(v->def && among(tied_by(v->def).out, v->index)))
            b->regions[region_at(b, v)].moved += (double)ir_type_bytes(v->type) / (v->uses ? (double)v->uses : 1);
    }
    conv_kind kind = op->code == OP_convolution ? kind_of(op) : CONV_OTHER;
    if (kind != CONV_OTHER) add_conv(b, op, kind, &b->regions[region_at(b, op->in[0])]);
}

/* A transpose reads and writes about 5 GB a second on one core. */
static bool gains(const batch_last *b, const region *r) {
    return r->images >= b->lanes && share(r->images, b->lanes) >= 0.5 && r->then + 2 * r->moved / 5e9 < r->now;
}

static xt_status choose(batch_last *b) {
    for (ir_func *f = b->m->funcs; f; f = f->next)
        for (ir_op *op = f->body ? f->body->first : NULL; op; op = op->next) XT_TRY(tie(b, op));
    for (ir_func *f = b->m->funcs; f; f = f->next)
        for (ir_op *op = f->body ? f->body->first : NULL; op; op = op->next) count_costs(b, op);
    size_t at = 0;
    for (ir_func *f = b->m->funcs; f; f = f->next)
        for (ir_op *op = f->body ? f->body->first : NULL; op; op = op->next, at++) {
            tied t = tied_by(op);
            ir_value *v = t.in & 1 ? op->in[0] : t.out ? &op->out[0] : NULL;
            if (op->code == OP_dot_general && op->out[0].mark >> 32 == b->epoch >> 32) v = &op->out[0];
            b->rewrite[at] = v && gains(b, &b->regions[region_at(b, v)]);
        }
    return NULL;
}

/* --- rewriting --- */
static int64_t moved_dim(const ir_type *t, int64_t d) {
    return d == 0 ? (int64_t)t->rank - 1 : d - 1;
}

static const ir_type *moved_type(const ir_type *t) {
    int64_t dims[IR_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) dims[moved_dim(t, d)] = t->dims[d];
    return ir_tensor(t->dtype, t->rank, dims);
}

/* v with its batch last. */
static ir_value *moved(ir_builder *b, ir_value *v) {
    int64_t dims[IR_MAX_RANK];
    size_t n, rank = v->type->rank;
    const ir_op *def = v->def;
    pass_literal lit;
    if (def && def->code == OP_transpose) {
        const int64_t *perm = ir_get_ints(def, IR_A_permutation, &n);
        bool back = true;
        for (size_t d = 0; d < rank; d++) back = back && perm[d] == moved_dim(v->type, (int64_t)d);
        if (back) return def->in[0];
    }
    if (pass_constant(v, &lit) && lit.splat) {
        ir_attr value = ir_attr_dense(b, IR_A_value, moved_type(v->type), lit.lit->data, true);
        ir_op *op = ir_build(b, OP_constant, 0, NULL, 1, &value, 0, NULL, 0, NULL);
        return op ? &op->out[0] : NULL;
    }
    if (def && def->code == OP_broadcast_in_dim) {
        const int64_t *to = ir_get_ints(def, IR_A_broadcast_dimensions, &n);
        for (size_t i = 0; i < n; i++) dims[i] = moved_dim(v->type, to[i]);
        return ir_broadcast_in_dim(b, def->in[0], moved_type(v->type), n, dims);
    }
    for (size_t d = 0; d < rank; d++) dims[d] = d + 1 < rank ? (int64_t)d + 1 : 0;
    return ir_transpose(b, v, rank, dims);
}

/* v, whose batch is last, as it was. */
static ir_value *moved_back(ir_builder *b, ir_value *v) {
    int64_t dims[IR_MAX_RANK];
    size_t rank = v->type->rank;
    for (size_t d = 0; d < rank; d++) dims[d] = d == 0 ? (int64_t)rank - 1 : (int64_t)d - 1;
    return ir_transpose(b, v, rank, dims);
}

static ir_attr *attr_of(ir_op *op, ir_attr_key k) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].key == k) return &op->attrs[i];
    return NULL;
}

/* Entries of dims [width each]: the first goes to the end. */
static void rotate(ir_builder *b, ir_op *op, ir_attr_key k, size_t width) {
    ir_attr *a = attr_of(op, k);
    int64_t v[2 * IR_MAX_RANK];
    if (!a || a->n < width) return;
    for (size_t i = 0; i < a->n; i++) v[i] = a->v.ints[(i + width) % a->n];
    *a = width == 1 ? ir_attr_ints(b, k, a->n, v) : ir_attr_ints2(b, k, a->n / width, width, v);
}
static void move_dim(ir_op *op, ir_attr_key k, const ir_type *t) {
    ir_attr *a = attr_of(op, k);
    if (a) a->v.i = moved_dim(t, a->v.i);
}
static void move_dims(ir_builder *b, ir_op *op, ir_attr_key k, const ir_type *t) {
    ir_attr *a = attr_of(op, k);
    int64_t v[IR_MAX_RANK];
    if (!a) return;
    for (size_t i = 0; i < a->n; i++) v[i] = moved_dim(t, a->v.ints[i]);
    *a = ir_attr_ints(b, k, a->n, v);
}

static void move_conv(ir_builder *b, ir_op *op, tied t) {
    const ir_type *in = op->in[0]->type;
    move_dim(op, IR_A_input_batch_dimension, in);
    move_dim(op, IR_A_input_feature_dimension, in);
    move_dims(b, op, IR_A_input_spatial_dimensions, in);
    if (t.in & 2) {
        move_dim(op, IR_A_kernel_input_feature_dimension, op->in[1]->type);
        move_dim(op, IR_A_kernel_output_feature_dimension, op->in[1]->type);
        move_dims(b, op, IR_A_kernel_spatial_dimensions, op->in[1]->type);
    }
    if (t.out) {
        move_dim(op, IR_A_output_batch_dimension, op->out[0].type);
        move_dim(op, IR_A_output_feature_dimension, op->out[0].type);
        move_dims(b, op, IR_A_output_spatial_dimensions, op->out[0].type);
    }
}

static void move_attrs(ir_builder *b, ir_op *op, tied t) {
    switch (op->code) {
    case OP_convolution: move_conv(b, op, t); break;
    case OP_reduce_window:
    case OP_select_and_scatter:
        rotate(b, op, IR_A_window_dimensions, 1);
        rotate(b, op, IR_A_window_strides, 1);
        rotate(b, op, IR_A_base_dilations, 1);
        rotate(b, op, IR_A_window_dilations, 1);
        rotate(b, op, IR_A_padding, 2);
        break;
    case OP_batch_norm_training:
    case OP_batch_norm_grad:
    case OP_batch_norm_inference: move_dim(op, IR_A_feature_index, op->in[0]->type); break;
    case OP_pad:
        rotate(b, op, IR_A_edge_padding_low, 1);
        rotate(b, op, IR_A_edge_padding_high, 1);
        rotate(b, op, IR_A_interior_padding, 1);
        break;
    case OP_concatenate: move_dim(op, IR_A_dimension, op->in[0]->type); break;
    case OP_reduce: move_dims(b, op, IR_A_dimensions, op->in[0]->type); break;
    default: break;
    }
}

/* A product of two matrices, one free dim each: the result turned over is the product of the operands exchanged. False:
 * it has another form. */
static bool turn_product(ir_op *op) {
    ir_attr *l = attr_of(op, IR_A_lhs_contracting_dimensions), *r = attr_of(op, IR_A_rhs_contracting_dimensions);
    const ir_attr *lb = attr_of(op, IR_A_lhs_batching_dimensions), *p = attr_of(op, IR_A_precision_config);
    if (op->out[0].type->rank != 2 || !l || !r || (lb && lb->n) || op->in[0]->type->rank != l->n + 1 ||
        op->in[1]->type->rank != r->n + 1)
        return false;
    if ((p && p->n == 2 && p->v.ints[0] != p->v.ints[1]) || attr_of(op, IR_A_algorithm)) return false;
    ir_attr swapped = *l;
    l->n = r->n, l->v = r->v;
    r->n = swapped.n, r->v = swapped.v;
    ir_value *first = op->in[0], *second = op->in[1];
    ir_set_operand(op, 0, second);
    ir_set_operand(op, 1, first);
    return true;
}

/* In the reduced result the batch is the last dim as well; a vector has it where it was. */
static bool keeps_batch(const ir_op *op) {
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        if (dims[i] == 0) return false;
    return op->out[0].type->rank >= 2;
}

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *user) {
    batch_last *s = user;
    if (!op->block->func) return NULL; /* inside an op's region */
    if (!s->rewrite[s->at++]) return NULL;
    tied t = tied_by(op);
    ir_builder b = ir_before(s->m, op);
    b.src = op->src;
    b.path = op->path;
    if (op->code == OP_dot_general) {
        if (!turn_product(op)) return NULL;
        t.out = 1;
    }
    if (op->code == OP_reduce && keeps_batch(op)) t.out = 1;
    move_attrs(&b, op, t);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!among(t.in, i)) continue;
        ir_value *v = moved(&b, op->in[i]);
        XT_TRY(b.status);
        ir_set_operand(op, i, v);
    }
    c->changed = true;
    b.before = op->next;
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (!among(t.out, i)) continue;
        op->out[i].type = moved_type(op->out[i].type);
        ir_value *back = moved_back(&b, &op->out[i]);
        XT_TRY(b.status);
        if (!op->out[i].type || !rewrite_value(r, &op->out[i], back))
            return status_oom(sizeof *back, "choosing layouts");
    }
    return NULL;
}

xt_status pass_opt_batch_last(pass_ctx *c, ir_module *m) {
    batch_last s = {.m = m, .lanes = c->lanes, .epoch = ir_new_epoch()};
    xt_status st = choose(&s);
    rewriter r = REWRITER_INIT;
    if (!st) st = rewrite_module(&r, c, m, visit, &s);
    rewriter_deinit(&r);
    base_free(s.regions);
    base_free(s.rewrite);
    return st;
}
