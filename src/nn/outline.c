/* What a checkpoint says of a network beside its values, as JSON: which tensors are parameters and which are buffers,
 * in the order in which the network made them, and what makes weights of others in it. A fit that goes on has the same
 * network from its begin on: what goes over all parameters goes over them in the same order, and what waits for a layer
 * that is called later (gradients, averages, each rank's statistics) is of a tensor that is there.
 *
 * {"dtype": "f32", "tensors": {NAME: KIND}, "made": [{"by": "xt_lora", "of": PATTERN, ...}], "freezes": [[PATTERN,
 * true or false], ...]}; KIND is -1 for a buffer, 0 for a parameter, and of one that an xt_pipeline stacks how much of
 * its name is the blocks' module. "freezes" is there with adapters: what is trained beside them. */
#include <cjson/cJSON.h>
#include <math.h>

#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

static bool makes(const nn_wish *w) {
    return w->what == NN_WISH_LORA || w->what == NN_WISH_WEIGHT_NORM || w->what == NN_WISH_SPECTRAL_NORM ||
           w->what == NN_WISH_ORTHOGONAL;
}

/* The numbers of a wish, by name; all of them are zeros in a wish of another kind. */
typedef struct number {
    const char *name;
    double value;
} number;
enum { N_NUMBERS = 9 };
static void numbers_of(const nn_wish *w, number out[N_NUMBERS]) {
    const number all[N_NUMBERS] = {{"r", (double)w->lora.r},
                                   {"alpha", w->lora.alpha},
                                   {"dropout", w->lora.dropout},
                                   {"rslora", w->lora.rslora},
                                   {"n_power_iterations", w->spectral.n_power_iterations},
                                   {"eps", w->spectral.eps},
                                   {"dim", w->spectral.dim},
                                   {"orthogonal_map", w->orthogonal.orthogonal_map},
                                   {"use_trivialization", w->orthogonal.use_trivialization}};
    memcpy(out, all, sizeof all);
}

static void add_wish(cJSON *made, const nn_wish *w) {
    number all[N_NUMBERS];
    cJSON *one = cJSON_CreateObject();
    cJSON_AddStringToObject(one, "by", nn_wish_function(w));
    cJSON_AddStringToObject(one, "of", w->pattern);
    numbers_of(w, all);
    for (int i = 0; i < N_NUMBERS; i++)
        if (all[i].value != 0) cJSON_AddNumberToObject(one, all[i].name, all[i].value);
    cJSON_AddItemToArray(made, one);
}

/* Integers that stand for weights are made by the program, which also builds the network for it. */
static bool has_integers(const nn_root *r) {
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i].bits) return true;
    return false;
}

static bool freezes(const nn_wish *w) {
    return w->what == NN_WISH_FREEZE || w->what == NN_WISH_THAW;
}

static void add_freezes(cJSON *all, const nn_root *r) {
    cJSON *list = cJSON_AddArrayToObject(all, "freezes");
    for (size_t i = 0; i < r->n_wishes; i++) {
        if (!freezes(&r->wishes[i])) continue;
        cJSON *one = cJSON_CreateArray();
        cJSON_AddItemToArray(one, cJSON_CreateString(r->wishes[i].pattern));
        cJSON_AddItemToArray(one, cJSON_CreateBool(r->wishes[i].what == NN_WISH_FREEZE));
        cJSON_AddItemToArray(list, one);
    }
}

char *nn_outline_text(const nn_root *r) {
    cJSON *all = cJSON_CreateObject(), *tensors = has_integers(r) ? NULL : cJSON_AddObjectToObject(all, "tensors"),
          *made = cJSON_AddArrayToObject(all, "made");
    cJSON_AddStringToObject(all, "dtype", xt_dtype_name(r->param_dtype));
    for (size_t i = 0; tensors && i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        cJSON_AddItemToObject(tensors, e->name, cJSON_CreateNumber(e->is_param ? (double)e->stacked : -1));
    }
    for (size_t i = 0; i < r->n_wishes; i++)
        if (makes(&r->wishes[i])) add_wish(made, &r->wishes[i]);
    if (nn_has_lora(r)) add_freezes(all, r);
    char *text = cJSON_PrintUnformatted(all), *out = text ? base_strdup(text) : NULL;
    cJSON_free(text);
    cJSON_Delete(all);
    return out;
}

/* --- made again --- */
typedef struct told {
    str made, other; /* what the file makes; the first that has other numbers in it */
    int n_other;
} told;

/* The first number that two wishes differ in; N_NUMBERS: none. */
static int differs(const nn_wish *a, const nn_wish *b) {
    number x[N_NUMBERS], y[N_NUMBERS];
    int i = 0;
    numbers_of(a, x);
    numbers_of(b, y);
    while (i < N_NUMBERS && x[i].value == y[i].value) i++;
    return i;
}

/* The program's own word for the same weights counts, whatever it says of them; other numbers are told. */
static bool is_said(const nn_root *r, const nn_wish *w, told *t) {
    const nn_wish *said = NULL;
    number was[N_NUMBERS], now[N_NUMBERS];
    for (size_t i = 0; i < r->n_wishes; i++) {
        if (r->wishes[i].what != w->what || strcmp(r->wishes[i].pattern, w->pattern) != 0) continue;
        said = &r->wishes[i];
        if (differs(said, w) == N_NUMBERS) return true;
    }
    if (!said) return false;
    int i = differs(said, w);
    numbers_of(w, was);
    numbers_of(said, now);
    if (!t->n_other++)
        str_printf(&t->other, "%s of %s where .%s = %g, and it is %g here", nn_wish_function(w), w->pattern,
                   was[i].name, was[i].value, now[i].value);
    return true;
}

static int kind_of(const char *by) {
    static const int kinds[] = {NN_WISH_LORA, NN_WISH_WEIGHT_NORM, NN_WISH_SPECTRAL_NORM, NN_WISH_ORTHOGONAL};
    for (size_t i = 0; by && i < BASE_COUNT(kinds); i++) {
        nn_wish w = {.what = kinds[i]};
        if (strcmp(by, nn_wish_function(&w)) == 0) return kinds[i];
    }
    return -1;
}

static double number_in(const cJSON *one, const char *name, double low, double high) {
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(one, name);
    double v = cJSON_IsNumber(n) ? n->valuedouble : 0;
    return v >= low && v <= high ? v : low > 0 ? low : 0;
}

static const char *pattern_of(const cJSON *freeze) {
    return cJSON_GetStringValue(cJSON_GetArrayItem(freeze, 0));
}

static bool any_fits(const cJSON *list, const char *name) {
    const cJSON *one;
    cJSON_ArrayForEach(one, list) if (pattern_of(one) && nn_matches(pattern_of(one), name)) return true;
    return false;
}

/* What xt_lora has frozen, where the program does not say it again, in front of what the program says of others. */
static bool say_freezes(const xt_src *src, nn_root *r, const cJSON *list) {
    bool news = false;
    for (int i = cJSON_GetArraySize(list); i-- > 0;) {
        const cJSON *one = cJSON_GetArrayItem(list, i);
        bool frozen = cJSON_IsTrue(cJSON_GetArrayItem(one, 1));
        nn_wish w = {.pattern = (char *)pattern_of(one),
                     .src = src_intern(src),
                     .again = true,
                     .what = frozen ? NN_WISH_FREEZE : NN_WISH_THAW};
        if (w.pattern && !nn_keep_wish_first(r, &w)) return false;
    }
    for (size_t i = 0; i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        if (e->is_param && any_fits(list, e->name)) news |= lazy_train(src, e->t, !nn_is_frozen(r->module, e->name));
    }
    if (news) lazy_note_freeze(src, "xt_lora", NULL);
    return true;
}

static bool say(const xt_src *src, nn_root *r, const cJSON *one, told *t) {
    const char *by = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "by")),
               *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "of"));
    int what = kind_of(by);
    if (what < 0 || !of) return true;
    nn_wish w = {.pattern = (char *)of, .src = src_intern(src), .again = true, .what = what};
    if (what == NN_WISH_LORA) {
        w.lora.r = (int64_t)number_in(one, "r", 1, 1 << 16);
        w.lora.alpha = number_in(one, "alpha", -1e30, 1e30);
        w.lora.dropout = number_in(one, "dropout", 0, 0.999999);
        w.lora.rslora = (xt_switch)number_in(one, "rslora", 0, XT_ON);
    } else if (what == NN_WISH_SPECTRAL_NORM) {
        w.spectral.n_power_iterations = (int)number_in(one, "n_power_iterations", 1, 1 << 16);
        w.spectral.eps = number_in(one, "eps", 0, 1e30);
        w.spectral.dim = (int)number_in(one, "dim", 0, XT_MAX_RANK);
    } else if (what == NN_WISH_ORTHOGONAL) {
        w.orthogonal.orthogonal_map = (int)number_in(one, "orthogonal_map", 0, XT_HOUSEHOLDER);
        w.orthogonal.use_trivialization = (int)number_in(one, "use_trivialization", 0, 8);
    }
    if (is_said(r, &w, t)) return true;
    str_printf(&t->made, "%s%s of %s", t->made.len ? ", " : "", by, of);
    return nn_keep_wish(r, &w);
}

/* Of weights of another dtype the layers' first calls make tensors, in which theirs are converted. */
static xt_status make(const xt_src *src, nn_root *r, const char *text, const char *path) {
    cJSON *all = cJSON_Parse(text);
    const cJSON *one, *tensors = cJSON_GetObjectItemCaseSensitive(all, "tensors");
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(all, "dtype"));
    xt_status s = NULL;
    told t = {.made = STR_INIT, .other = STR_INIT};
    bool adapted = nn_has_lora(r);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(all, "made")) {
        if (!s && !say(src, r, one, &t)) s = status_clone(lazy_pending());
    }
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(all, "freezes");
    bool again = list && !adapted && nn_has_lora(r);
    if (!s && again && !say_freezes(src, r, list)) s = status_clone(lazy_pending());
    if (!dtype || strcmp(dtype, xt_dtype_name(r->param_dtype)) != 0) tensors = NULL;
    cJSON_ArrayForEach(one, tensors) {
        double kind = cJSON_IsNumber(one) ? one->valuedouble : NAN;
        if (s || !one->string || !(kind >= -1 && kind < 1024)) continue;
        s = nn_make_waiting(src, r, one->string, kind >= 0, kind > 0 ? (size_t)kind : 0);
    }
    if (!s && t.made.len && world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "as in %s: %s%s", path, str_cstr(&t.made), again ? "; the rest is frozen as it was" : "");
    if (!s && t.n_other && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING, "%s was written with %s%s", path, str_cstr(&t.other),
                t.n_other > 1 ? "; others differ too" : "");
    str_free(&t.made);
    str_free(&t.other);
    cJSON_Delete(all);
    return s;
}

xt_status nn_load_checkpoint(const xt_src *src, xt_module *m, st_file *f, const char *path, bool resumes) {
    nn_root *r = m->root;
    XT_TRY(nn_load_waiting(src, m, f, path, resumes));
    const char *outline = st_get_meta(f, NN_OUTLINE);
    if (outline) XT_TRY(make(src, r, outline, path));
    r->loaded_path = intern_text(intern(path));
    r->resumed = resumes;
    r->told_lacking = false;
    r->loaded_own = true;
    r->loaded_whole = !resumes;
    return NULL;
}

void nn_loaded_passed(xt_module *m) {
    m->root->loaded_whole = false;
}
