/* Normalisation, embeddings, bilinear layers and learnt activations against PyTorch: outputs, gradients,
 * running statistics. */
#include "parity.h"

#define CASE(name, call)                                                               \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m;                                                                       \
        (void)user;                                                                    \
        y[0] = call;                                                                   \
    }
CASE(bn, xt_batch_norm(m, "", *x))
CASE(bn3, xt_batch_norm(m, "", *x, .momentum = 0.3, .eps = 1e-3))
CASE(bn_plain, xt_batch_norm(m, "", *x, .affine = XT_OFF))
CASE(bn_cumulative, xt_batch_norm(m, "", *x, .cumulative = XT_ON))
CASE(bn_untracked, xt_batch_norm(m, "", *x, .track = XT_OFF))
CASE(ln1, xt_layer_norm(m, "", *x))
CASE(ln3, xt_layer_norm(m, "", *x, .dims = 3, .eps = 1e-3))
CASE(ln2_nobias, xt_layer_norm(m, "", *x, .dims = 2, .bias = XT_OFF))
CASE(ln1_plain, xt_layer_norm(m, "", *x, .affine = XT_OFF))
CASE(gn, xt_group_norm(m, "", *x, 2))
CASE(gn_plain, xt_group_norm(m, "", *x, 2, .affine = XT_OFF))
CASE(in4, xt_instance_norm(m, "", *x))
CASE(in4_all, xt_instance_norm(m, "", *x, .affine = XT_ON, .track = XT_ON))
CASE(rms, xt_rms_norm(m, "", *x))
CASE(rms2, xt_rms_norm(m, "", *x, .dims = 2, .eps = 1e-2))
CASE(lrn, xt_local_response_norm(*x, 3, .alpha = 0.5, .beta = 0.6, .k = 2))
CASE(lrn_even, xt_local_response_norm(*x, 4))
CASE(embedding, xt_embedding(m, "", *x, 5, 3))
CASE(embedding_pad, xt_embedding(m, "", *x, 5, 3, .padding_idx = -1))
CASE(bilinear, xt_bilinear(m, "", x[0], x[1], 3))
CASE(prelu, xt_prelu(m, "", *x, 1))
CASE(prelu_channels, xt_prelu(m, "", *x, 4))
CASE(dropout, xt_dropout(m, *x, 0.5))

static const parity_row rows[] = {
    {"bn2", c_bn},
    {"bn3", c_bn3},
    {"bn4", c_bn},
    {"bn4_eval", c_bn},
    {"bn4_plain", c_bn_plain},
    {"bn4_cumulative", c_bn_cumulative},
    {"bn4_untracked", c_bn_untracked},
    {"bn4_untracked_eval", c_bn_untracked},
    {"bn5", c_bn},
    {"ln1", c_ln1},
    {"ln3", c_ln3},
    {"ln2_nobias", c_ln2_nobias},
    {"ln1_plain", c_ln1_plain},
    {"gn", c_gn},
    {"gn_plain", c_gn_plain},
    {"in4", c_in4},
    {"in4_all", c_in4_all},
    {"in4_all_eval", c_in4_all},
    {"rms", c_rms},
    {"rms2", c_rms2},
    {"lrn", c_lrn},
    {"lrn_even", c_lrn_even},
    {"embedding", c_embedding},
    {"embedding_pad", c_embedding_pad},
    {"bilinear", c_bilinear},
    {"prelu", c_prelu},
    {"prelu_channels", c_prelu_channels},
    {"dropout_eval", c_dropout},
};

PARITY_MAIN("norm", rows)
