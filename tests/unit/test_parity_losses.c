/* Every loss against PyTorch: each reduction, each option, ties and edges; outputs and gradients. */
#include "parity.h"

static const xt_reduce reductions[] = {XT_MEAN, XT_SUM, XT_NONE};
static const char *const names[] = {"mean", "sum", "none"};

/* A row's expression sees x[0], x[1], ... and r, the reduction. */
#define LOSS(name, expr)                                                                  \
    static void loss_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        xt_reduce r = *(const xt_reduce *)user;                                           \
        (void)m;                                                                          \
        (void)r;                                                                          \
        y[0] = expr;                                                                      \
    }
#define EACH_REDUCTION(R)                                                                                          \
    R(nll, xt_nll_loss(x[0], x[1], .reduction = r))                                                                \
    R(nll_weight, xt_nll_loss(x[0], x[1], .reduction = r, .weight = x[2], .ignore_index = 2))                      \
    R(ce, xt_cross_entropy(x[0], x[1], .reduction = r))                                                            \
    R(ce_smooth, xt_cross_entropy(x[0], x[1], .reduction = r, .label_smoothing = 0.1))                             \
    R(ce_smooth_weight, xt_cross_entropy(x[0], x[1], .reduction = r, .label_smoothing = 0.2, .weight = x[2]))      \
    R(ce_prob, xt_cross_entropy(x[0], x[1], .reduction = r))                                                       \
    R(ce_prob_smooth_weight, xt_cross_entropy(x[0], x[1], .reduction = r, .label_smoothing = 0.3, .weight = x[2])) \
    R(multi_margin, xt_multi_margin_loss(x[0], x[1], .reduction = r))                                              \
    R(multi_margin_p2, xt_multi_margin_loss(x[0], x[1], .reduction = r, .p = 2, .margin = 0.7, .weight = x[2]))    \
    R(mse, xt_mse_loss(x[0], x[1], .reduction = r))                                                                \
    R(l1, xt_l1_loss(x[0], x[1], .reduction = r))                                                                  \
    R(smooth_l1, xt_smooth_l1_loss(x[0], x[1], .reduction = r, .beta = 0.5))                                       \
    R(huber, xt_huber_loss(x[0], x[1], .reduction = r, .delta = 0.7))                                              \
    R(bce_logits, xt_bce_with_logits(x[0], x[1], .reduction = r))                                                  \
    R(bce_logits_w, xt_bce_with_logits(x[0], x[1], .reduction = r, .weight = x[2], .pos_weight = x[3]))            \
    R(kl, xt_kl_div(x[0], x[1], .reduction = r))                                                                   \
    R(soft_margin, xt_soft_margin_loss(x[0], x[1], .reduction = r))                                                \
    R(hinge, xt_hinge_embedding_loss(x[0], x[1], .reduction = r, .margin = 1.5))                                   \
    R(poisson, xt_poisson_nll_loss(x[0], x[1], .reduction = r))                                                    \
    R(gauss, xt_gaussian_nll_loss(x[0], x[1], x[2], .reduction = r))                                               \
    R(mlsm, xt_multilabel_soft_margin_loss(x[0], x[1], .reduction = r, .weight = x[2]))                            \
    R(mlm, xt_multilabel_margin_loss(x[0], x[1], .reduction = r))                                                  \
    R(cos_emb, xt_cosine_embedding_loss(x[0], x[1], x[2], .reduction = r, .margin = -0.2))                         \
    R(ranking, xt_margin_ranking_loss(x[0], x[1], x[2], .reduction = r, .margin = 0.3))                            \
    R(triplet, xt_triplet_margin_loss(x[0], x[1], x[2], .reduction = r))                                           \
    R(ctc, xt_ctc_loss(xt_log_softmax(x[0], 2), x[1], x[2], x[3], .reduction = r))
#define ONCE(R)                                                                                             \
    R(nll_2d, xt_nll_loss(x[0], x[1]))                                                                      \
    R(ce_1d, xt_cross_entropy(x[0], x[1]))                                                                  \
    R(ce_2d, xt_cross_entropy(x[0], x[1], .ignore_index = 0, .label_smoothing = 0.1))                       \
    R(ce_seq, xt_cross_entropy(x[0], x[1]))                                                                 \
    R(ce_square, xt_cross_entropy(x[0], x[1], .axis = 1))                                                   \
    R(ce_prob_2d, xt_cross_entropy(x[0], x[1], .reduction = XT_NONE))                                       \
    R(ce_all_ignored, xt_cross_entropy(x[0], x[1], .reduction = XT_SUM))                                    \
    R(ce_f64, xt_cross_entropy(x[0], x[1], .label_smoothing = 0.1))                                         \
    R(smooth_l1_default, xt_smooth_l1_loss(x[0], x[1]))                                                     \
    R(huber_default, xt_huber_loss(x[0], x[1]))                                                             \
    R(bce, xt_binary_cross_entropy(x[0], x[1]))                                                             \
    R(bce_weight, xt_binary_cross_entropy(x[0], x[1], .weight = x[2], .reduction = XT_NONE))                \
    R(kl_batchmean, xt_kl_div(x[0], x[1], .reduction = XT_BATCH_MEAN))                                      \
    R(kl_log, xt_kl_div(x[0], x[1], .reduction = XT_BATCH_MEAN, .log_target = XT_ON))                       \
    R(poisson_full, xt_poisson_nll_loss(x[0], x[1], .log_input = XT_OFF, .full = XT_ON))                    \
    R(gauss_full, xt_gaussian_nll_loss(x[0], x[1], x[2], .full = XT_ON))                                    \
    R(gauss_rows, xt_gaussian_nll_loss(x[0], x[1], x[2]))                                                   \
    R(hinge_default, xt_hinge_embedding_loss(x[0], x[1]))                                                   \
    R(cos_emb_default, xt_cosine_embedding_loss(x[0], x[1], x[2]))                                          \
    R(ranking_tie, xt_margin_ranking_loss(x[0], x[1], x[2]))                                                \
    R(triplet_p1_swap, xt_triplet_margin_loss(x[0], x[1], x[2], .p = 1, .margin = 0.5, .swap = XT_ON))      \
    R(triplet_p3, xt_triplet_margin_loss(x[0], x[1], x[2], .p = 3, .margin = 2))                            \
    R(ctc_blank, xt_ctc_loss(xt_log_softmax(x[0], 2), x[1], x[2], x[3], .blank = 5))                        \
    R(ctc_impossible,                                                                                       \
      xt_ctc_loss(xt_log_softmax(x[0], 2), x[1], x[2], x[3], .reduction = XT_NONE, .zero_infinity = XT_ON)) \
    R(cosine, xt_cosine_similarity(x[0], x[1]))                                                             \
    R(cosine_axis0, xt_cosine_similarity(x[0], x[1], .axis = -2, .eps = 1e-3))
EACH_REDUCTION(LOSS)
ONCE(LOSS)

typedef struct row {
    const char *name;
    parity_fn fn;
} row;
#define ROW(name, expr) {#name, loss_##name},
static const row reduced[] = {EACH_REDUCTION(ROW)}, once[] = {ONCE(ROW)};

static void losses(void **state) {
    (void)state;
    parity_file *f = parity_open("losses");
    const char *only = getenv("ONLY");
    for (size_t i = 0; i < sizeof reduced / sizeof *reduced; i++)
        for (int k = 0; k < 3; k++) {
            char name[128];
            snprintf(name, sizeof name, "%s_%s", reduced[i].name, names[k]);
            if (!only || strcmp(only, name) == 0) parity_case(f, name, reduced[i].fn, (void *)&reductions[k], 0, 1e-7);
        }
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        if (!only || strcmp(only, once[i].name) == 0)
            parity_case(f, once[i].name, once[i].fn, (void *)&reductions[0],
                        strcmp(once[i].name, "ce_f64") == 0 ? 1e-12 : 0, 1e-7);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* A sigmoid that was forgotten is seen in the gradient too, and so in the weights; what is a probability is not touched
 * by its neighbours. */
static void no_probabilities_are_nan(void **state) {
    (void)state;
    static const float x[] = {0.5f, 1.5f, -0.1f, 1, 0}, y[] = {1, 1, 0, 1, 0};
    float loss[5], slope[5];
    xt_tensor in = xt_requires_grad(xt_from_array(x, XT_F32, 5), true);
    xt_tensor each = xt_binary_cross_entropy(in, xt_from_array(y, XT_F32, 5), .reduction = XT_NONE);
    xt_backward(xt_sum(each));
    assert_true(xt_read(each, loss, sizeof loss));
    assert_true(xt_read(xt_grad(in), slope, sizeof slope));
    for (int i = 0; i < 5; i++) {
        bool outside = i == 1 || i == 2;
        assert_int_equal(isnan(loss[i]) != 0, outside);
        assert_int_equal(isnan(slope[i]) != 0, outside);
    }
    assert_float_equal(slope[0], -2, 0);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses), cmocka_unit_test(no_probabilities_are_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
