/* The adaptive softmax (Grave et al. 2017), with the parameters and the numbers of
 * torch.nn.AdaptiveLogSoftmaxWithLoss. A class of a cluster has the log probability of its cluster in the head, and its
 * own within the cluster. Which rows belong to which cluster is data, so all are computed and one is chosen. */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

enum { MOST_CLUSTERS = 2 * XT_MAX_RANK };

typedef struct clusters {
    const xt_src *src;
    const char *what, *name;
    xt_module *m;
    int n; /* clusters behind the head */
    int64_t ends[MOST_CLUSTERS + 1]; /* the head's classes end at ends[0], cluster i's at ends[i + 1] */
    xt_tensor x; /* [N,D] */
    bool lone;
    xt_dtype dtype;
    xt_adaptive_softmax_opts o;
    xt_tensor failed;
} clusters;

static bool fits(clusters *c, xt_tensor x, int64_t classes, xt_list cutoffs) {
    const ir_type *t = lazy_type(x);
    c->failed = (xt_tensor){0};
    if (!t || (t->rank != 1 && t->rank != 2) || !ir_dtype_is_float(t->dtype) || t->count == 0) {
        c->failed = nn_bad_input(c->src, c->what, c->name, x, "floats [N,D] or [D] are needed");
        return false;
    }
    bool rising = cutoffs.n >= 1 && cutoffs.n <= MOST_CLUSTERS && c->o.div_value >= 1;
    for (int i = 0; rising && i < cutoffs.n; i++) {
        c->ends[i] = cutoffs.v[i];
        rising = cutoffs.v[i] > (i ? cutoffs.v[i - 1] : 0) && cutoffs.v[i] < classes;
    }
    if (!rising) {
        c->failed =
            lazy_error(c->src, XT_INVALID_ARGUMENT,
                       "%s %s: %d cutoffs for %lld classes, div_value %g: at least one, rising between 0 and the "
                       "number of classes, and a div_value of at least 1",
                       c->what, c->name, cutoffs.n, (long long)classes, c->o.div_value);
        return false;
    }
    c->n = cutoffs.n;
    c->ends[c->n] = classes;
    c->lone = t->rank == 1;
    c->dtype = nn_param_dtype(t);
    c->x = xt_cast_at(c->src, c->lone ? xt_unsqueeze_at(c->src, x, 0) : x, c->dtype);
    return true;
}

static xt_tensor product(const clusters *c, xt_tensor x, const char *leaf, int64_t rows) {
    int64_t dims[2] = {rows, xt_dim(x, 1)};
    if (dims[1] < 1) return x; /* an error carried along */
    xt_tensor w =
        nn_tensor(c->src, c->m, c->name, leaf, true, NN_UNIFORM, 1 / sqrt((double)dims[1]), c->dtype, 2, dims);
    return xt_matmul_at(c->src, x, xt_transpose_at(c->src, w, 0, 1));
}

/* [N, ends[0] + n]: log probabilities of the head's classes, then of the clusters. */
static xt_tensor head(const clusters *c) {
    int64_t rows = c->ends[0] + c->n, width = xt_dim(c->x, 1);
    xt_tensor y = product(c, c->x, "head.weight", rows);
    if (c->o.head_bias == XT_ON && width > 0)
        y = xt_add_at(c->src, y,
                      nn_tensor(c->src, c->m, c->name, "head.bias", true, NN_UNIFORM, 1 / sqrt((double)width), c->dtype,
                                1, &rows));
    return xt_log_softmax_at(c->src, y, 1);
}

/* [N, classes of cluster i]: log probabilities within it. */
static xt_tensor tail(const clusters *c, int i) {
    char leaf[2][40];
    for (int k = 0; k < 2; k++) snprintf(leaf[k], sizeof leaf[k], "tail.%d.%d.weight", i, k);
    int64_t width = (int64_t)((double)xt_dim(c->x, 1) / pow(c->o.div_value, i + 1));
    if (width < 1)
        return lazy_error(c->src, XT_INVALID_ARGUMENT,
                          "%s %s: cluster %d would work on no number: %lld / %g^%d is below 1 (a smaller "
                          "div_value, or fewer clusters)",
                          c->what, c->name, i, (long long)xt_dim(c->x, 1), c->o.div_value, i + 1);
    xt_tensor y = product(c, product(c, c->x, leaf[0], width), leaf[1], c->ends[i + 1] - c->ends[i]);
    return xt_log_softmax_at(c->src, y, 1);
}

static xt_tensor column(const clusters *c, xt_tensor x, int64_t i) {
    return xt_slice_at(c->src, x, 1, i, i + 1);
}

/* [N,classes] */
static xt_tensor all_classes(const clusters *c) {
    xt_tensor parts[MOST_CLUSTERS + 1], first = head(c);
    parts[0] = xt_slice_at(c->src, first, 1, 0, c->ends[0]);
    for (int i = 0; i < c->n; i++) parts[i + 1] = xt_add_at(c->src, tail(c, i), column(c, first, c->ends[0] + i));
    return xt_concat_at(c->src, c->n + 1, parts, 1);
}

xt_tensor xt_adaptive_log_prob_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t classes,
                                  xt_list cutoffs, xt_adaptive_softmax_opts o) {
    clusters c = {.src = src, .what = "xt_adaptive_log_prob", .name = name, .m = m, .o = o};
    if (!fits(&c, x, classes, cutoffs)) return c.failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, c.what, name, (xt_tensor){0}, "");
    xt_tensor y = all_classes(&c);
    nn_layer_end();
    return c.lone ? xt_squeeze_at(src, y, 0) : y;
}

/* The label's element of each row: [N]. */
static xt_tensor chosen(const clusters *c, xt_tensor log_probs, xt_tensor labels) {
    int64_t one[XT_MAX_RANK + 1] = {-1, 1};
    return xt_squeeze_at(c->src, xt_gather_at(c->src, log_probs, 1, xt_reshape_at(c->src, labels, one)), 1);
}

xt_adaptive_softmax_out xt_adaptive_log_softmax_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                                   xt_tensor labels, int64_t classes, xt_list cutoffs,
                                                   xt_adaptive_softmax_opts o) {
    clusters c = {.src = src, .what = "xt_adaptive_log_softmax", .name = name, .m = m, .o = o};
    const ir_type *t = lazy_type(labels);
    if (!fits(&c, x, classes, cutoffs)) return (xt_adaptive_softmax_out){c.failed, c.failed};
    if (!t || !ir_dtype_is_int(t->dtype) || t->rank != (c.lone ? 0u : 1u) || t->count != xt_dim(c.x, 0)) {
        xt_tensor bad = nn_bad_input(src, c.what, name, labels, "labels must be integers, one for each row of x");
        return (xt_adaptive_softmax_out){bad, bad};
    }
    if (!nn_layer_begin(src, m, name)) {
        xt_tensor bad = nn_bad_input(src, c.what, name, (xt_tensor){0}, "");
        return (xt_adaptive_softmax_out){bad, bad};
    }
    xt_tensor y = chosen(&c, all_classes(&c), labels);
    nn_layer_end();
    xt_tensor loss = xt_neg_at(src, xt_mean_at(src, y));
    return (xt_adaptive_softmax_out){c.lone ? xt_squeeze_at(src, y, 0) : y, loss};
}
