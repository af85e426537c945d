/* Losses: PyTorch's formulas, argument meaning and defaults (torch.nn.functional), recorded like any other op;
 * nothing waits.
 *
 * Options follow as named arguments: xt_cross_entropy(logits, labels, .label_smoothing = 0.1). All losses have
 *     .reduction: XT_MEAN (the default), XT_SUM, or XT_NONE, which gives one value an element; another one is an error
 * Inputs are floats;
 * those narrower than f32 are computed, and given back, in f32. Where two inputs must have one shape, another shape is
 * an error and not broadcast: that is nearly always a forgotten xt_squeeze.
 *
 *     xt_backward(xt_cross_entropy(logits, labels, .ignore_index = 255, .label_smoothing = 0.1)); */
#ifndef XTRAIN_LOSSES_H
#define XTRAIN_LOSSES_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Classes ---
 * Scores are [C], [N,C] or [N,C,d1,...] with integer labels of the same shape without the class axis; the class axis
 * may also be the last ([N,T,C] with labels [N,T]). Where both readings fit ([N,4,4]), say `.axis`. A label equal to
 * ignore_index counts for nothing; the mean is over the others, weighted by the labels' class weights (0/0 = NaN when
 * there are none, as PyTorch). A label outside 0..C-1 that is not ignored is an error with the sample where labels come
 * from a loader or xt_from_array, also through xt_cast and xt_reshape; a computed one makes the loss NaN, where PyTorch
 * raises an error; its gradient is 0. */
#define XT_IGNORE_CLASS_0 0 /* of .ignore_index: a class as any other; the default is -100 */
#define XT_DEFAULTS_xt_class_loss_opts(is) is(ignore_index, -100) is(axis, XT_AXIS_AUTO)
XT_DEFAULTS_OF(xt_class_loss_opts)
typedef struct XT_OPTIONS_ xt_class_loss_opts {
    size_t struct_size XT_SIZE(xt_class_loss_opts);
    xt_reduce reduction XT_ZERO;
    xt_tensor weight XT_ZERO; /* [C], one factor a class; none = 1 */
    int64_t ignore_index XT_IS(xt_class_loss_opts, ignore_index); /* labels that count for nothing */
    double label_smoothing XT_ZERO; /* cross entropy only: [0,1] */
    /* of the classes; XT_AXIS_AUTO: found from the shapes (probabilities: 1) */
    int axis XT_IS(xt_class_loss_opts, axis);
} xt_class_loss_opts;
/* -log_probs[target], of log-probabilities */
#define xt_nll_loss(log_probs, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_nll_loss(log_probs, labels, ...): labels is missing"), \
     XT_NLL_LOSS_(log_probs, __VA_ARGS__, ))
#define XT_NLL_LOSS_(log_probs, labels, ...) \
    xt_nll_loss_at(XT_HERE, log_probs, labels, XT_OPTS(xt_class_loss_opts, __VA_ARGS__))
XT_API xt_tensor xt_nll_loss_at(const xt_src *src, xt_tensor log_probs, xt_tensor labels, xt_class_loss_opts o);
/* Labels are integers, or floats of the logits' shape: one probability a class (then the mean is over all places, and
 * an .ignore_index of 0 and above, which no probability can be, is an error, as in PyTorch). */
#define xt_cross_entropy(logits, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_cross_entropy(logits, labels, ...): labels is missing"), \
     XT_CROSS_ENTROPY_(logits, __VA_ARGS__, ))
#define XT_CROSS_ENTROPY_(logits, labels, ...) \
    xt_cross_entropy_at(XT_HERE, logits, labels, XT_OPTS(xt_class_loss_opts, __VA_ARGS__))
XT_API xt_tensor xt_cross_entropy_at(const xt_src *src, xt_tensor logits, xt_tensor labels, xt_class_loss_opts o);
#define XT_DEFAULTS_xt_multi_margin_opts(is) is(p, 1) is(margin, 1)
XT_DEFAULTS_OF(xt_multi_margin_opts)
typedef struct XT_OPTIONS_ xt_multi_margin_opts {
    size_t struct_size XT_SIZE(xt_multi_margin_opts);
    xt_reduce reduction XT_ZERO;
    int p XT_IS(xt_multi_margin_opts, p); /* 1 or 2 */
    double margin XT_IS(xt_multi_margin_opts, margin); /* how far the label's score is to be above each other one */
    xt_tensor weight XT_ZERO; /* [C] */
} xt_multi_margin_opts;
/* [N,C] or [C], labels [N] or []: sum over the other classes of max(0, margin - x[label] + x[j])^p / C. */
#define xt_multi_margin_loss(x, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multi_margin_loss(x, labels, ...): labels is missing"), \
     XT_MULTI_MARGIN_LOSS_(x, __VA_ARGS__, ))
#define XT_MULTI_MARGIN_LOSS_(x, labels, ...) \
    xt_multi_margin_loss_at(XT_HERE, x, labels, XT_OPTS(xt_multi_margin_opts, __VA_ARGS__))
XT_API xt_tensor xt_multi_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor labels, xt_multi_margin_opts o);

#define XT_DEFAULTS_xt_ctc_opts(is)
typedef struct XT_OPTIONS_ xt_ctc_opts {
    size_t struct_size XT_SIZE(xt_ctc_opts);
    xt_reduce reduction XT_ZERO; /* XT_MEAN: each loss over its target's length, then over the batch */
    int64_t blank XT_ZERO; /* the blank class; default 0 */
    xt_switch zero_infinity XT_ZERO; /* impossible alignments count 0 and have no gradient; default off: infinite */
} xt_ctc_opts;
/* Connectionist temporal classification: log_probs [T,N,C] (of xt_log_softmax), int targets [N,S] padded with anything
 * that is a class, int lengths [N] each. One recorded step a time: meant for T up to a few hundred. */
#define xt_ctc_loss(log_probs, targets, input_lengths, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__,                                                                                      \
               "xt_ctc_loss(log_probs, targets, input_lengths, target_lengths, ...): target_lengths is missing"), \
     XT_CTC_LOSS_(log_probs, targets, input_lengths, __VA_ARGS__, ))
#define XT_CTC_LOSS_(log_probs, targets, input_lengths, target_lengths, ...) \
    xt_ctc_loss_at(XT_HERE, log_probs, targets, input_lengths, target_lengths, XT_OPTS(xt_ctc_opts, __VA_ARGS__))
XT_API xt_tensor xt_ctc_loss_at(const xt_src *src, xt_tensor log_probs, xt_tensor targets, xt_tensor input_lengths,
                                xt_tensor target_lengths, xt_ctc_opts o);

/* --- Element against element: x and y of one shape --- */
#define XT_DEFAULTS_xt_loss_opts(is)
typedef struct XT_OPTIONS_ xt_loss_opts {
    size_t struct_size XT_SIZE(xt_loss_opts);
    xt_reduce reduction XT_ZERO;
} xt_loss_opts;
/* (x - y)^2 */
#define xt_mse_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_mse_loss(x, y, ...): y is missing"), XT_MSE_LOSS_(x, __VA_ARGS__, ))
#define XT_MSE_LOSS_(x, y, ...) xt_mse_loss_at(XT_HERE, x, y, XT_OPTS(xt_loss_opts, __VA_ARGS__))
XT_API xt_tensor xt_mse_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o);
/* |x - y| */
#define xt_l1_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_l1_loss(x, y, ...): y is missing"), XT_L1_LOSS_(x, __VA_ARGS__, ))
#define XT_L1_LOSS_(x, y, ...) xt_l1_loss_at(XT_HERE, x, y, XT_OPTS(xt_loss_opts, __VA_ARGS__))
XT_API xt_tensor xt_l1_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o);
/* log(1 + exp(-y x)), y = 1 or -1 */
#define xt_soft_margin_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_soft_margin_loss(x, y, ...): y is missing"), XT_SOFT_MARGIN_LOSS_(x, __VA_ARGS__, ))
#define XT_SOFT_MARGIN_LOSS_(x, y, ...) xt_soft_margin_loss_at(XT_HERE, x, y, XT_OPTS(xt_loss_opts, __VA_ARGS__))
XT_API xt_tensor xt_soft_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o);
#define XT_DEFAULTS_xt_smooth_l1_opts(is) is(beta, 1)
XT_DEFAULTS_OF(xt_smooth_l1_opts)
typedef struct XT_OPTIONS_ xt_smooth_l1_opts {
    size_t struct_size XT_SIZE(xt_smooth_l1_opts);
    xt_reduce reduction XT_ZERO;
    double beta XT_IS(xt_smooth_l1_opts, beta); /* below it the loss is d^2 / (2 beta), above |d| - beta/2 */
} xt_smooth_l1_opts;
/* (x - y)^2 / (2 beta) below beta, else |x - y| - beta / 2 */
#define xt_smooth_l1_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_smooth_l1_loss(x, y, ...): y is missing"), XT_SMOOTH_L1_LOSS_(x, __VA_ARGS__, ))
#define XT_SMOOTH_L1_LOSS_(x, y, ...) xt_smooth_l1_loss_at(XT_HERE, x, y, XT_OPTS(xt_smooth_l1_opts, __VA_ARGS__))
XT_API xt_tensor xt_smooth_l1_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_smooth_l1_opts o);
#define XT_DEFAULTS_xt_huber_opts(is) is(delta, 1)
XT_DEFAULTS_OF(xt_huber_opts)
typedef struct XT_OPTIONS_ xt_huber_opts {
    size_t struct_size XT_SIZE(xt_huber_opts);
    xt_reduce reduction XT_ZERO;
    double delta XT_IS(xt_huber_opts, delta); /* below it d^2 / 2, above delta (|d| - delta/2) */
} xt_huber_opts;
/* (x - y)^2 / 2 below delta, else delta (|x - y| - delta / 2) */
#define xt_huber_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_huber_loss(x, y, ...): y is missing"), XT_HUBER_LOSS_(x, __VA_ARGS__, ))
#define XT_HUBER_LOSS_(x, y, ...) xt_huber_loss_at(XT_HERE, x, y, XT_OPTS(xt_huber_opts, __VA_ARGS__))
XT_API xt_tensor xt_huber_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_huber_opts o);
#define XT_DEFAULTS_xt_bce_opts(is)
typedef struct XT_OPTIONS_ xt_bce_opts {
    size_t struct_size XT_SIZE(xt_bce_opts);
    xt_reduce reduction XT_ZERO;
    xt_tensor weight XT_ZERO; /* a factor an element; broadcast to x */
    xt_tensor pos_weight XT_ZERO; /* with logits only: a factor of the positive part, usually [C]; broadcast to x */
} xt_bce_opts;
/* x are probabilities in [0,1]; logarithms are cut at -100, as PyTorch. What is outside gives NaN, the gradient too: a
 * sigmoid was forgotten, or xt_bce_with_logits is meant. */
#define xt_binary_cross_entropy(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_binary_cross_entropy(x, y, ...): y is missing"), \
     XT_BINARY_CROSS_ENTROPY_(x, __VA_ARGS__, ))
#define XT_BINARY_CROSS_ENTROPY_(x, y, ...) xt_binary_cross_entropy_at(XT_HERE, x, y, XT_OPTS(xt_bce_opts, __VA_ARGS__))
XT_API xt_tensor xt_binary_cross_entropy_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_bce_opts o);
#define xt_bce_with_logits(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_bce_with_logits(x, y, ...): y is missing"), XT_BCE_WITH_LOGITS_(x, __VA_ARGS__, ))
#define XT_BCE_WITH_LOGITS_(x, y, ...) xt_bce_with_logits_at(XT_HERE, x, y, XT_OPTS(xt_bce_opts, __VA_ARGS__))
XT_API xt_tensor xt_bce_with_logits_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_bce_opts o);
#define XT_DEFAULTS_xt_kl_div_opts(is)
typedef struct XT_OPTIONS_ xt_kl_div_opts {
    size_t struct_size XT_SIZE(xt_kl_div_opts);
    /* XT_MEAN is over all elements, as PyTorch; XT_BATCH_MEAN divides by dim 0 and is the true divergence */
    xt_reduce reduction XT_ZERO;
    xt_switch log_target XT_ZERO; /* y are logarithms too; default off */
} xt_kl_div_opts;
/* y (log y - log_probs) */
#define xt_kl_div(log_probs, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_kl_div(log_probs, y, ...): y is missing"), XT_KL_DIV_(log_probs, __VA_ARGS__, ))
#define XT_KL_DIV_(log_probs, y, ...) xt_kl_div_at(XT_HERE, log_probs, y, XT_OPTS(xt_kl_div_opts, __VA_ARGS__))
XT_API xt_tensor xt_kl_div_at(const xt_src *src, xt_tensor log_probs, xt_tensor y, xt_kl_div_opts o);
#define XT_DEFAULTS_xt_poisson_nll_opts(is) is(eps, 1e-8) is(log_input, XT_ON)
XT_DEFAULTS_OF(xt_poisson_nll_opts)
typedef struct XT_OPTIONS_ xt_poisson_nll_opts {
    size_t struct_size XT_SIZE(xt_poisson_nll_opts);
    xt_reduce reduction XT_ZERO;
    xt_switch log_input XT_IS(xt_poisson_nll_opts, log_input); /* default on: exp(x) - y x; off: x - y log(x + eps) */
    xt_switch full XT_ZERO; /* adds Stirling's term for y > 1; default off */
    double eps XT_IS(xt_poisson_nll_opts, eps); /* keeps the logarithm from 0; with log_input off */
} xt_poisson_nll_opts;
/* e^x - y x, or x - y ln x where x is no logarithm */
#define xt_poisson_nll_loss(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_poisson_nll_loss(x, y, ...): y is missing"), XT_POISSON_NLL_LOSS_(x, __VA_ARGS__, ))
#define XT_POISSON_NLL_LOSS_(x, y, ...) xt_poisson_nll_loss_at(XT_HERE, x, y, XT_OPTS(xt_poisson_nll_opts, __VA_ARGS__))
XT_API xt_tensor xt_poisson_nll_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_poisson_nll_opts o);
#define XT_DEFAULTS_xt_gaussian_nll_opts(is) is(eps, 1e-6)
XT_DEFAULTS_OF(xt_gaussian_nll_opts)
typedef struct XT_OPTIONS_ xt_gaussian_nll_opts {
    size_t struct_size XT_SIZE(xt_gaussian_nll_opts);
    xt_reduce reduction XT_ZERO;
    xt_switch full XT_ZERO; /* adds log(2 pi)/2; default off */
    double eps XT_IS(xt_gaussian_nll_opts, eps); /* smaller variances count as this (their gradient is not cut) */
} xt_gaussian_nll_opts;
/* x, y of one shape; variance of that shape, or with last dim 1 or missing: (log var + (x - y)^2 / var) / 2. */
#define xt_gaussian_nll_loss(x, y, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_gaussian_nll_loss(x, y, variance, ...): variance is missing"), \
     XT_GAUSSIAN_NLL_LOSS_(x, y, __VA_ARGS__, ))
#define XT_GAUSSIAN_NLL_LOSS_(x, y, variance, ...) \
    xt_gaussian_nll_loss_at(XT_HERE, x, y, variance, XT_OPTS(xt_gaussian_nll_opts, __VA_ARGS__))
XT_API xt_tensor xt_gaussian_nll_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor variance,
                                         xt_gaussian_nll_opts o);

/* --- Margins, distances and embeddings --- */
#define XT_DEFAULTS_xt_margin_opts(is) is(margin, XT_AUTO)
XT_DEFAULTS_OF(xt_margin_opts)
typedef struct XT_OPTIONS_ xt_margin_opts {
    size_t struct_size XT_SIZE(xt_margin_opts);
    xt_reduce reduction XT_ZERO;
    double margin XT_IS(xt_margin_opts, margin); /* XT_AUTO: 0; hinge embedding: 1 */
} xt_margin_opts;
/* y = 1: x; y = -1: max(0, margin - x) */
#define xt_hinge_embedding_loss(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_hinge_embedding_loss(x, y, ...): y is missing"), \
     XT_HINGE_EMBEDDING_LOSS_(x, __VA_ARGS__, ))
#define XT_HINGE_EMBEDDING_LOSS_(x, y, ...) \
    xt_hinge_embedding_loss_at(XT_HERE, x, y, XT_OPTS(xt_margin_opts, __VA_ARGS__))
XT_API xt_tensor xt_hinge_embedding_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_margin_opts o);
/* max(0, -y (x1 - x2) + margin), all of one shape */
#define xt_margin_ranking_loss(x1, x2, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_margin_ranking_loss(x1, x2, y, ...): y is missing"), \
     XT_MARGIN_RANKING_LOSS_(x1, x2, __VA_ARGS__, ))
#define XT_MARGIN_RANKING_LOSS_(x1, x2, y, ...) \
    xt_margin_ranking_loss_at(XT_HERE, x1, x2, y, XT_OPTS(xt_margin_opts, __VA_ARGS__))
XT_API xt_tensor xt_margin_ranking_loss_at(const xt_src *src, xt_tensor x1, xt_tensor x2, xt_tensor y,
                                           xt_margin_opts o);
/* [N,D], [N,D], y [N]: 1 - cos, or max(0, cos - margin) */
#define xt_cosine_embedding_loss(x1, x2, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_cosine_embedding_loss(x1, x2, y, ...): y is missing"), \
     XT_COSINE_EMBEDDING_LOSS_(x1, x2, __VA_ARGS__, ))
#define XT_COSINE_EMBEDDING_LOSS_(x1, x2, y, ...) \
    xt_cosine_embedding_loss_at(XT_HERE, x1, x2, y, XT_OPTS(xt_margin_opts, __VA_ARGS__))
XT_API xt_tensor xt_cosine_embedding_loss_at(const xt_src *src, xt_tensor x1, xt_tensor x2, xt_tensor y,
                                             xt_margin_opts o);
#define XT_DEFAULTS_xt_triplet_opts(is) is(margin, 1) is(p, 2) is(eps, 1e-6)
XT_DEFAULTS_OF(xt_triplet_opts)
typedef struct XT_OPTIONS_ xt_triplet_opts {
    size_t struct_size XT_SIZE(xt_triplet_opts);
    xt_reduce reduction XT_ZERO;
    double margin XT_IS(xt_triplet_opts, margin); /* how much farther the negative is to be than the positive */
    double p XT_IS(xt_triplet_opts, p); /* the distance's norm */
    double eps XT_IS(xt_triplet_opts, eps); /* added to each difference, so that a distance of 0 has a gradient */
    xt_switch swap XT_ZERO; /* also from positive to negative, the smaller one counts; default off */
} xt_triplet_opts;
/* [N,D] each: max(0, d(a,p) - d(a,n) + margin) */
#define xt_triplet_margin_loss(anchor, positive, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_triplet_margin_loss(anchor, positive, negative, ...): negative is missing"), \
     XT_TRIPLET_MARGIN_LOSS_(anchor, positive, __VA_ARGS__, ))
#define XT_TRIPLET_MARGIN_LOSS_(anchor, positive, negative, ...) \
    xt_triplet_margin_loss_at(XT_HERE, anchor, positive, negative, XT_OPTS(xt_triplet_opts, __VA_ARGS__))
XT_API xt_tensor xt_triplet_margin_loss_at(const xt_src *src, xt_tensor anchor, xt_tensor positive, xt_tensor negative,
                                           xt_triplet_opts o);
#define XT_DEFAULTS_xt_multilabel_opts(is)
typedef struct XT_OPTIONS_ xt_multilabel_opts {
    size_t struct_size XT_SIZE(xt_multilabel_opts);
    xt_reduce reduction XT_ZERO;
    xt_tensor weight XT_ZERO; /* [C], soft margin only */
} xt_multilabel_opts;
/* [N,C] each, y = 0 or 1: the mean over classes of the binary cross entropy with logits. */
#define xt_multilabel_soft_margin_loss(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multilabel_soft_margin_loss(x, y, ...): y is missing"), \
     XT_MULTILABEL_SOFT_MARGIN_LOSS_(x, __VA_ARGS__, ))
#define XT_MULTILABEL_SOFT_MARGIN_LOSS_(x, y, ...) \
    xt_multilabel_soft_margin_loss_at(XT_HERE, x, y, XT_OPTS(xt_multilabel_opts, __VA_ARGS__))
XT_API xt_tensor xt_multilabel_soft_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_multilabel_opts o);
/* x and labels, which are integers, [N,C] or [C]: a row's classes up to its first negative entry. */
#define xt_multilabel_margin_loss(x, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multilabel_margin_loss(x, labels, ...): labels is missing"), \
     XT_MULTILABEL_MARGIN_LOSS_(x, __VA_ARGS__, ))
#define XT_MULTILABEL_MARGIN_LOSS_(x, labels, ...) \
    xt_multilabel_margin_loss_at(XT_HERE, x, labels, XT_OPTS(xt_multilabel_opts, __VA_ARGS__))
XT_API xt_tensor xt_multilabel_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor labels, xt_multilabel_opts o);
#define XT_DEFAULTS_xt_cosine_opts(is) is(axis, 1) is(eps, 1e-8)
XT_DEFAULTS_OF(xt_cosine_opts)
typedef struct XT_OPTIONS_ xt_cosine_opts {
    size_t struct_size XT_SIZE(xt_cosine_opts);
    int axis XT_IS(xt_cosine_opts, axis); /* of the vectors; negative counts from the end */
    double eps XT_IS(xt_cosine_opts, eps); /* smaller norms count as this */
} xt_cosine_opts;
/* x.y / (|x| |y|) along one axis, which goes away */
#define xt_cosine_similarity(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_cosine_similarity(x, y, ...): y is missing"), XT_COSINE_SIMILARITY_(x, __VA_ARGS__, ))
#define XT_COSINE_SIMILARITY_(x, y, ...) xt_cosine_similarity_at(XT_HERE, x, y, XT_OPTS(xt_cosine_opts, __VA_ARGS__))
XT_API xt_tensor xt_cosine_similarity_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_cosine_opts o);

#ifdef __cplusplus
}
#endif
#endif
