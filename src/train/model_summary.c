/* The table of layers, printed once the first optimizer step has made the parameters and its program is known. Tensors
 * of one layer ("conv1.weight", "conv1.bias") share a line. FLOPs are the compiled program's own count. */
#include "nn/nn.h"
#include "train/train_int.h"

typedef struct summary {
    bool told;
    double flops; /* of a micro-batch's program; 0 = not known */
} summary;

enum { MAX_LINES = 40 };

static __thread summary *expecting;

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (!expecting || e->forced || e->evaluation) return;
    if (e->stats.flops > expecting->flops) expecting->flops = e->stats.flops;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    static bool listening;
    summary *s = user;
    (void)t;
    if (!listening) lazy_on_event(on_event, NULL);
    listening = true;
    if (!s->told) expecting = s;
    return NULL;
}

static void say_amount(str *text, double v, const char *unit) {
    static const char *const steps[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;
    while (v >= 1000 && i + 1 < BASE_COUNT(steps)) v /= 1000, i++;
    str_printf(text, "%.3g %s%s", v, steps[i], unit);
}

static void step_end(xt_trainer *t, void *user) {
    summary *s = user;
    expecting = NULL;
    if (s->told || lazy_pending() || world_get()->rank != 0) return;
    s->told = true;
    str text = STR_INIT;
    nn_append_summary(&text, t->net, MAX_LINES);
    if (s->flops > 0) {
        str_append(&text, "; ");
        say_amount(&text, s->flops, "FLOP");
        str_append(&text, " a micro-batch, ");
        say_amount(&text, s->flops / (double)xt_loader_batch_size(t->train), "FLOP");
        str_append(&text, " a sample, forward, backward and step");
    }
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t;
    (void)ok;
    if (expecting == user) expecting = NULL;
}

/* A fit that was left by longjmp has not ended. */
static void forget(void *user) {
    if (expecting == user) expecting = NULL;
    base_free(user);
}

const xt_callback_desc model_summary_desc = {.struct_size = sizeof(xt_callback_desc),
                                             .name = "model_summary",
                                             .fit_start = fit_start,
                                             .step_end = step_end,
                                             .fit_end = fit_end,
                                             .free_user = forget};

xt_callback *model_summary_new(void) {
    summary *s = base_calloc(1, sizeof *s);
    return s ? callback_make(&model_summary_desc, s) : NULL;
}
