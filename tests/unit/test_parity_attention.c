/* Attention and transformer layers against PyTorch: outputs, attention weights, gradients of inputs and parameters. */
#include "parity.h"

static parity_file *file;

#define CASE(name, ...)                                                                \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m;                                                                       \
        (void)x;                                                                       \
        (void)user;                                                                    \
        y[0] = __VA_ARGS__;                                                            \
    }
CASE(self, xt_multihead_attention(m, "", x[0], x[0], x[0], .heads = 2, .out_weights = &y[1]))
CASE(cross, xt_multihead_attention(m, "", x[0], x[1], x[1], .heads = 3, .out_weights = &y[1]))
CASE(widths, xt_multihead_attention(m, "", x[0], x[1], x[2], .heads = 2, .bias = XT_OFF))
CASE(first, xt_multihead_attention(m, "", x[0], x[0], x[0], .batch_first = XT_ON))
CASE(lone, xt_multihead_attention(m, "", x[0], x[0], x[0], .heads = 2, .out_weights = &y[1]))
CASE(causal, xt_multihead_attention(m, "", x[0], x[0], x[0], .heads = 2, .causal = XT_ON))
CASE(masks,
     xt_multihead_attention(m, "", x[0], x[1], x[1], .heads = 2, .key_padding_mask = parity_input(file, "masks/keys"),
                            .attn_mask = parity_input(file, "masks/pairs"), .out_weights = &y[1]))
CASE(added, xt_multihead_attention(m, "", x[0], x[1], x[1], .heads = 2, .attn_mask = parity_input(file, "added/pairs")))
CASE(encoder, xt_transformer_encoder_layer(m, "", x[0], .heads = 2, .feedforward = 8, .dropout = 0))
CASE(encoder_first, xt_transformer_encoder_layer(m, "", x[0], .heads = 3, .feedforward = 8, .dropout = 0,
                                                 .norm_first = XT_ON, .batch_first = XT_ON))
CASE(encoder_eval, xt_transformer_encoder_layer(m, "", x[0], .heads = 2, .feedforward = 8, .causal = XT_ON))
CASE(encoder_gelu, xt_transformer_encoder_layer(m, "", x[0], .feedforward = 8, .dropout = 0, .gelu = XT_ON))
CASE(decoder,
     xt_transformer_decoder_layer(m, "", x[0], x[1], .heads = 2, .feedforward = 8, .dropout = 0, .causal = XT_ON,
                                  .memory_key_padding_mask = parity_input(file, "masks/keys")))
CASE(decoder_first,
     xt_transformer_decoder_layer(m, "", x[0], x[1], .heads = 2, .feedforward = 8, .dropout = 0, .norm_first = XT_ON))
CASE(sinusoidal, xt_sinusoidal_positions(7, 6))
CASE(rotary, xt_rotary(x[0], 100))

static const struct {
    const char *name;
    parity_fn fn;
} rows[] = {
#define ROW(name) \
    { #name, c_##name }
    ROW(self),    ROW(cross),         ROW(widths),     ROW(first),         ROW(lone),         ROW(causal),
    ROW(masks),   ROW(added),         ROW(encoder),    ROW(encoder_first), ROW(encoder_eval), ROW(encoder_gelu),
    ROW(decoder), ROW(decoder_first), ROW(sinusoidal), ROW(rotary),
};

static void cases(void **state) {
    (void)state;
    file = parity_open("attention");
    for (size_t i = 0; i < BASE_COUNT(rows); i++) parity_case(file, rows[i].name, rows[i].fn, NULL, 0, 0);
    parity_close_file(file);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
