/* The list of built-in models (a new one is a file and a line here), what they share, and how their options are
 * settled. */
#include "models/models.h"

#include <stdio.h>
#include <string.h>

static const model *const all[] = {&model_mnist, &model_resnet18,  &model_resnet50,
                                   &model_gpt2,  &model_gpt2_mini, &model_gpt2_tiny};

xt_spec model_picture(int64_t side, int64_t seq) {
    (void)seq;
    int64_t s = side ? side : 224;
    return (xt_spec){XT_F32, {3, s, s}};
}

xt_spec model_label(int64_t side, int64_t seq) {
    (void)side;
    (void)seq;
    return (xt_spec){XT_I64, {0}};
}

const model *const *model_list(int *n) {
    *n = (int)(sizeof all / sizeof all[0]);
    return all;
}

const model *model_find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

typedef struct number {
    const char *name;
    size_t at;
    int64_t most;
} number;
#define NUMBER(name, most) \
    { #name, offsetof(model_options, name), most }
static const number numbers[] = {NUMBER(side, 8192),           NUMBER(classes, 1 << 24),
                                 NUMBER(seq, 1 << 20),         NUMBER(context, 1 << 20),
                                 NUMBER(vocab, 1 << 24),       NUMBER(layers, 1000),
                                 NUMBER(width, 1 << 16),       NUMBER(heads, 1 << 12),
                                 NUMBER(experts, 1 << 12),     NUMBER(experts_per_token, 1 << 12),
                                 NUMBER(microbatches, 1 << 16)};

/* Tiles as the layer wants them, said before anything is made. */
static bool tile_fits(const model *m, const model_options *o, char *why, size_t n) {
    int64_t tile = o->attention_tile;
    if (!tile) return true;
    if (!m->tiled)
        snprintf(why, n, "%s has no option attention_tile", m->name);
    else if (tile < 0)
        snprintf(why, n, "attention_tile = %lld; a number of positions, or 0: all of them at once", (long long)tile);
    else if (tile < o->seq && o->seq % tile)
        snprintf(why, n, "attention_tile = %lld, seq = %lld; the tile must divide the positions of a sample",
                 (long long)tile, (long long)o->seq);
    else
        return true;
    return false;
}

bool model_settle(const model *m, model_options *o, char *why, size_t n) {
    bool open_seq = !o->seq;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t *asked = (int64_t *)((char *)o + numbers[i].at),
                own = *(const int64_t *)((const char *)&m->own + numbers[i].at);
        if (*asked && (!own || *asked < 0 || *asked > numbers[i].most)) {
            if (own)
                snprintf(why, n, "%s = %lld; from 1 to %lld", numbers[i].name, (long long)*asked,
                         (long long)numbers[i].most);
            else
                snprintf(why, n, "%s has no option %s", m->name, numbers[i].name);
            return false;
        }
        if (!*asked) *asked = own;
    }
    if (!o->pipeline) o->pipeline = m->own.pipeline;
    if (o->pipeline && (!m->staged || (strcmp(o->pipeline, "gpipe") != 0 && strcmp(o->pipeline, "1f1b") != 0))) {
        snprintf(why, n, m->staged ? "pipeline = %s; gpipe or 1f1b" : "this model has no pipeline (%s)", o->pipeline);
        return false;
    }
    if (o->dropout < 0 || o->dropout >= 1 || (o->dropout > 0 && !m->tokens)) {
        snprintf(why, n, m->tokens ? "dropout = %g; from 0 to less than 1" : "this model has no dropout (%g)",
                 o->dropout);
        return false;
    }
    if ((o->checkpoint && !m->checkpointed) || (o->small_stem && !m->own.side)) {
        snprintf(why, n, "%s has no %s", m->name,
                 o->checkpoint && !m->checkpointed ? "blocks to checkpoint" : "stem to make small");
        return false;
    }
    if (m->tokens && o->width % o->heads) {
        snprintf(why, n, "width = %lld, heads = %lld; the heads must divide the width", (long long)o->width,
                 (long long)o->heads);
        return false;
    }
    if (o->experts_per_token > o->experts) {
        snprintf(why, n, "experts = %lld, experts_per_token = %lld; a token is sent to an expert once at most",
                 (long long)o->experts, (long long)o->experts_per_token);
        return false;
    }
    if (open_seq && o->seq > o->context) o->seq = o->context;
    if (m->tokens && o->seq > o->context) {
        snprintf(why, n, "seq = %lld, context = %lld; a sample must fit the context", (long long)o->seq,
                 (long long)o->context);
        return false;
    }
    return tile_fits(m, o, why, n);
}

xt_tensor model_loss(const model *m, const model_options *o, xt_module *net, xt_tensor out, xt_tensor y) {
    xt_tensor loss = m->loss(out, y);
    return o->experts > 1 ? xt_add(loss, xt_mul_scalar(xt_moe_balance(net), 0.01)) : loss;
}

bool model_is_staged(const model *m, const model_options *o) {
    return m->staged && o->pipeline && strcmp(o->pipeline, "1f1b") == 0;
}

xt_tensor model_train_loss(const model *m, const model_options *o, xt_module *net, xt_tensor x, xt_tensor y,
                           bool bf16) {
    bool staged = model_is_staged(m, o);
    if (bf16) xt_autocast_begin(XT_BF16);
    xt_tensor out = staged ? m->staged(net, x, y, o) : xt_forward(net, x);
    if (bf16) xt_autocast_end();
    return staged ? out : model_loss(m, o, net, out, y);
}

xt_status model_take_error(void) {
    xt_status e = xt_error(), s = e ? xt_status_new(xt_status_code(e), "%s", xt_status_message(e)) : NULL;
    xt_clear_error();
    return s;
}

xt_status model_end_step(void) {
    xt_error();
    xt_mark_step();
    return model_take_error();
}

xt_status model_pending_error(void) {
    const xt_status e = xt_error();
    xt_status s = xt_status_new(e ? xt_status_code(e) : XT_INTERNAL, "%s", e ? xt_status_message(e) : "it failed");
    xt_clear_error();
    return s;
}

xt_status model_check_loaded(const char *path, const xt_load_report *r) {
    const char *first = r->names[0] ? r->names + 2 : "";
    if (r->missing)
        return xt_status_new(XT_NOT_FOUND, "%s: %d of the model's tensors are missing, %.*s the first", path,
                             r->missing, (int)strcspn(first, "\n"), first);
    const char *adapter = r->unexpected ? strstr(r->names, ".lora_A.weight") : NULL;
    if (!adapter) return NULL;
    while (adapter > r->names && adapter[-1] != ' ') adapter--;
    return xt_status_new(XT_FAILED_PRECONDITION,
                         "%s holds adapters of LoRA (%.*s), which this would leave out: xtrain validate --ckpt and "
                         "fit --resume take them, and xtrain fit --output DIR writes them as a folder of their own, "
                         "which --adapter reads and xtrain convert MODEL TUNED --merge DIR adds to the weights",
                         path, (int)strcspn(adapter, "\n"), adapter);
}
