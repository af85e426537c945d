/* The table of layers, printed once the first step has made the parameters. Tensors of one layer ("conv1.weight", "conv1.bias") share a line. */
#include "nn/nn.h"
#include "train/train_int.h"

typedef struct summary {
    bool told;
} summary;

enum { MAX_LINES = 40 };

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    summary *s = user;
    (void)b;
    if (s->told || xt_error() || world_get()->rank != 0) return;
    s->told = true;
    str text = STR_INIT;
    nn_append_summary(&text, t->net, MAX_LINES);
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
}

const xt_callback_desc model_summary_desc = {
    .struct_size = sizeof(xt_callback_desc), .name = "model_summary", .batch_end = batch_end, .free_user = base_free};

xt_callback *model_summary_new(void) {
    summary *s = base_calloc(1, sizeof *s);
    return s ? callback_make(&model_summary_desc, s) : NULL;
}
