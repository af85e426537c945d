/* LoRA (Hu et al. 2021, arXiv 2106.09685): beside the weight W [O,I] of a linear layer two narrow matrices are trained,
 * A [r,I] and B [O,r], and W is not. What they add is computed in their own dtype and given back in the layer's, as the
 * library peft does. */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

double nn_lora_scale(double alpha, int64_t r, bool rslora) {
    return rslora ? alpha / sqrt((double)r) : alpha / (double)r;
}

const nn_wish *nn_lora_of(const nn_root *r, const char *name) {
    for (size_t i = r->n_wishes; i-- > 0;)
        if (r->wishes[i].what == NN_WISH_LORA && nn_matches(r->wishes[i].pattern, name)) return &r->wishes[i];
    return NULL;
}

static bool options_fit(const xt_src *src, const xt_lora_opts *o) {
    if (o->r >= 1 && o->r <= 1 << 16 && isfinite(o->alpha) && o->dropout >= 0 && o->dropout < 1) return true;
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                         "xt_lora: .r = %lld, .alpha = %g, .dropout = %g; from 1 to %d, a finite number, and from 0 to "
                         "less than 1",
                         (long long)o->r, o->alpha, o->dropout, 1 << 16));
    return false;
}

bool nn_has_lora(const nn_root *r) {
    for (size_t i = 0; i < r->n_wishes; i++)
        if (r->wishes[i].what == NN_WISH_LORA) return true;
    return false;
}

/* A rule for the module's own tensors. */
static bool keep(xt_module *m, const char *pattern, nn_wish w) {
    w.pattern = nn_full_name(m, pattern, "");
    bool ok = w.pattern && nn_keep_wish(m->root, &w);
    base_free(w.pattern);
    return ok;
}

/* What is there and what comes is left as it is, but for the matrices. That none of these are there yet is no mistake
 * of the program's, which has named the weights beside them. */
static bool freeze_others(const xt_src *src, xt_module *m) {
    src_id at = src_intern(src);
    char *all = nn_full_name(m, "*", "");
    bool ok = all && keep(m, "*", (nn_wish){.src = at, .again = true, .what = NN_WISH_FREEZE}) &&
              keep(m, "*" NN_LORA_A, (nn_wish){.src = at, .again = true, .what = NN_WISH_THAW}) &&
              keep(m, "*" NN_LORA_B, (nn_wish){.src = at, .again = true, .what = NN_WISH_THAW});
    bool news = false;
    for (size_t i = 0; ok && i < m->root->n; i++) {
        const nn_entry *e = &m->root->entries[i];
        if (e->is_param && nn_matches(all, e->name)) news |= lazy_train(src, e->t, false);
    }
    if (news) lazy_note_freeze(src, "xt_lora", NULL);
    base_free(all);
    return ok;
}

bool xt_lora_at(const xt_src *src, xt_module *m, const char *pattern, xt_lora_opts o) {
    if (!m || !pattern) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_lora: a module and a pattern are needed"));
        return false;
    }
    if (!options_fit(src, &o)) return false;
    bool first = !nn_has_lora(m->root);
    return keep(m, pattern, (nn_wish){.src = src_intern(src), .what = NN_WISH_LORA, .lora = o}) &&
           (!first || freeze_others(src, m));
}

xt_tensor nn_lora_added(const xt_src *src, xt_module *m, const char *layer, xt_tensor x, xt_tensor y, int64_t in,
                        int64_t out) {
    if (!m->root->n_wishes || !nn_has_lora(m->root)) return y;
    char *weight = nn_full_name(m, layer, "weight");
    const nn_wish *w = weight ? nn_lora_of(m->root, weight) : NULL;
    base_free(weight);
    if (!w || !lazy_type(y)) return y;
    const xt_lora_opts o = w->lora; /* the list may move */
    xt_dtype d = nn_param_dtype(lazy_type(x));
    xt_tensor a = nn_tensor(src, m, layer, NN_LORA_A, true, NN_UNIFORM, 1 / sqrt((double)(in > 0 ? in : 1)), d, 2,
                            (int64_t[]){o.r, in});
    xt_tensor b = nn_tensor(src, m, layer, NN_LORA_B, true, NN_ZEROS, 0, d, 2, (int64_t[]){out, o.r});
    xt_tensor h = xt_cast_at(src, x, xt_dtype_of(a));
    if (o.dropout > 0) h = xt_dropout_at(src, m, h, o.dropout);
    h = xt_matmul_at(src, h, xt_transpose_at(src, a, 0, 1));
    h = xt_matmul_at(src, h, xt_transpose_at(src, b, 0, 1));
    h = xt_mul_at(src, h, nn_number(src, nn_lora_scale(o.alpha, o.r, o.rslora == XT_ON), xt_dtype_of(h)));
    return xt_add_at(src, y, xt_cast_at(src, h, xt_dtype_of(y)));
}
