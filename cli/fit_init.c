/* `xtrain fit --init FOLDER`: a model of Hugging Face's is trained further, whole or by LoRA, and written back. */
#include "cli/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int weight_bits; /* of --weights */
static model_folder folder; /* the network's, which lives as long as the process */
static const double adapters_lr = 2e-4; /* matrices that begin as nothing move faster than a model does */

/* "r=8,alpha=16,dropout=0.05,rslora"; false with a sentence in `why`. alpha is twice r unless it is said. */
static bool parse_lora(const char *text, xt_lora_opts *out, char *why, size_t n) {
    *out = XT_OPTS(xt_lora_opts, .alpha = -1);
    for (const char *at = text; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        char word[64], *end;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        char *equals = strchr(word, '=');
        double v = equals ? strtod(equals + 1, &end) : 0;
        bool number = equals && end != equals + 1 && !*end;
        if (equals) *equals = 0;
        if (strcmp(word, "r") == 0 && number && v >= 1 && v <= 65536 && v == (double)(int64_t)v)
            out->r = (int64_t)v;
        else if (strcmp(word, "alpha") == 0 && number && v > 0 && v < 1e6)
            out->alpha = v;
        else if (strcmp(word, "dropout") == 0 && number && v >= 0 && v < 1)
            out->dropout = v;
        else if (strcmp(word, "rslora") == 0 && !equals)
            out->rslora = XT_ON;
        else {
            snprintf(why, n,
                     "--lora %s: '%.*s' is not understood; r=8,alpha=16,dropout=0.05,rslora, any of these, is expected "
                     "(r from 1, dropout from 0 to less than 1)",
                     text, (int)strcspn(at, ","), at);
            return false;
        }
    }
    if (out->alpha < 0) out->alpha = 2.0 * (double)out->r;
    return true;
}

bool fit_init_wanted(const char *name, const fit_options *o) {
    return o->init || (name && !model_find(name) && model_folder_kind(name));
}

static int usage(const char *command, const char *why) {
    cli_fprintf(stderr, "xtrain %s: %s; xtrain %s --help\n", command, why, command);
    return 2;
}

static bool integers_named(const char *name) {
    xt_dtype unused;
    weight_bits = 0;
    return model_weights_named(name, &unused, &weight_bits) && weight_bits;
}

static bool trains(const char *command) {
    return strcmp(command, "fit") == 0;
}

/* Integers are not trained themselves. A fit that goes on may have its adapters from the checkpoint. */
static int check_integers(const char *command, const fit_options *o) {
    char why[512];
    if (!trains(command) || fit_adapts(o) || !o->weights) return 0;
    if (!folder.bits)
        return usage(command, "--weights is for --lora and --adapter: integers are not trained themselves");
    snprintf(why, sizeof why, "%.400s has weights of int%d, which are not trained themselves; add --lora r=8", o->init,
             folder.bits);
    return usage(command, why);
}

int fit_init_open(const char *command, fit_options *o, const model **out) {
    char why[512];
    int code;
    if (!o->init) {
        snprintf(why, sizeof why, "%s needs --init FOLDER: a model's folder of Hugging Face's", o->model);
        return usage(command, why);
    }
    if (!o->model || !model_folder_kind(o->model)) {
        snprintf(why, sizeof why, "--init is for llama (mistral, qwen2, qwen3), gpt2, t5, bert and vit, not for %.100s",
                 o->model ? o->model : "no model");
        return usage(command, why);
    }
    if (o->load) return usage(command, "--init has weights of its own; leave --load out");
    if (o->adapter && o->lora) return usage(command, "--adapter says what --lora would; leave one of them out");
    if (o->weights && !integers_named(o->weights)) return usage(command, "--weights is int8 or int4");
    if (!o->resume && (code = check_integers(command, o))) return code;
    if (o->lora_targets && !o->lora) return usage(command, "--lora-targets is for --lora");
    if (o->lora && !parse_lora(o->lora, &o->lora_opts, why, sizeof why)) return usage(command, why);
    xt_status s = model_folder_read(o->model, o->init, &o->of_model, &folder);
    if (s) return cli_fail_status(command, s);
    if (folder.bits && o->weights && weight_bits != folder.bits) {
        snprintf(why, sizeof why, "%.400s has weights of int%d, --weights asks for others", o->init, folder.bits);
        return usage(command, why);
    }
    if (folder.bits) o->weights = folder.bits == 8 ? "int8" : "int4";
    if (!o->resume && (code = check_integers(command, o))) return code;
    if (folder.form == FOLDER_ENCODER && fit_adapts(o))
        return usage(command, "--lora and --adapter are for llama, gpt2 and t5; an encoder is trained whole");
    if (folder.model == &model_bert && o->data && labelled_are(o->data)) {
        folder.encoder.c.classifies = true; /* of a masked language model: with a classifier that is new */
        folder.model = encoder_folder_model(&folder.encoder);
    }
    o->beside = folder.dir;
    if (!o->tokenizer && tokenizer_is_in(folder.dir)) o->tokenizer = folder.dir;
    if (o->lr < 0 && fit_adapts(o)) o->lr = adapters_lr;
    *out = folder.model;
    o->folder = &folder;
    return 0;
}

bool fit_adapts(const fit_options *o) {
    return o->lora || o->adapter;
}

/* --- a fit that goes on --- */
static bool same_lora(const char *a, const char *b) {
    xt_lora_opts x, y;
    char why[512];
    return parse_lora(a, &x, why, sizeof why) && parse_lora(b, &y, why, sizeof why) && x.r == y.r &&
           x.alpha == y.alpha && x.dropout == y.dropout && x.rslora == y.rslora;
}
static const char *targets_of(const char *text) {
    return !text || !*text ? folder.targets : strcmp(text, "all-linear") == 0 ? folder.all_linear : text;
}
static bool same_targets(const char *a, const char *b) {
    return strcmp(targets_of(a), targets_of(b)) == 0;
}
static bool same_text(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}
static bool any_adapter(const char *a, const char *b) { /* whose values are the checkpoint's */
    (void)a;
    (void)b;
    return true;
}

/* The options that say what the network is, and what of it is trained. */
typedef struct kept_option {
    const char *option, *setting;
    const char **value;
    bool (*same)(const char *given, const char *was);
} kept_option;

/* Taken from the checkpoint where the command does not say it, and told; the same where it does. */
static int keep_option(const char *command, const kept_option *k, xt_trainer *t, char *told, size_t n) {
    char why[1024];
    const char *was = xt_trainer_resumed_text(t, k->setting), *given = *k->value;
    if (!given && was) {
        size_t at = strlen(told);
        snprintf(told + at, n - at, " %s %s", k->option, was);
        *k->value = was;
        return 0;
    }
    bool by_default = k->same == same_targets; /* there are some where none were named */
    if (!given || (was ? k->same(given, was) : by_default && k->same(given, ""))) return 0;
    bool folders = strcmp(k->option, "--weights") == 0 && folder.bits;
    snprintf(why, sizeof why,
             "%.300s%s%.100s, and the fit that the checkpoint is of had %s%.100s: it goes on with what it had; %s, or "
             "begin another fit, without --resume",
             folders ? folder.dir : k->option, folders ? " has weights of " : " is ", given, was ? "" : "none",
             was ? was : "", folders ? "give the folder that it began with as --init" : "leave the option out");
    return usage(command, why);
}

/* What says how many tensors there are and how large; or, as heads, only what is computed with them. */
static int check_sizes(const char *command, const fit_options *o, xt_trainer *t) {
    const bool several = o->of_model.experts > 1;
    const struct {
        const char *option, *setting;
        int64_t now; /* 0: not said, as in the checkpoint */
    } all[] = {{"--layers", "model.layers", o->of_model.layers},
               {"--width", "model.width", o->of_model.width},
               {"--heads", "model.heads", o->of_model.heads},
               {"--context", "model.context", o->init ? -1 : o->of_model.context}, /* a folder's is its own */
               {"--experts", "model.experts", several ? o->of_model.experts : 0},
               {"--experts-per-token", "model.experts_per_token", several ? o->of_model.experts_per_token : 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *was = xt_trainer_resumed_text(t, all[i].setting);
        char why[512];
        long long then = was ? strtoll(was, NULL, 10) : 0;
        if (all[i].now < 0 || then == all[i].now || (o->init && !was)) continue; /* folders say their own */
        snprintf(why, sizeof why,
                 "%s is %lld, and the fit that the checkpoint is of had %lld: it goes on with the model that it had%s",
                 all[i].option, (long long)all[i].now, then, o->init ? "; is --init another one?" : "");
        return usage(command, why);
    }
    return 0;
}

int fit_init_resumed(const char *command, fit_options *o, xt_trainer *t) {
    const kept_option all[] = {{"--lora", "model.lora", &o->lora, same_lora},
                               {"--lora-targets", "model.lora_targets", &o->lora_targets, same_targets},
                               {"--adapter", "model.adapter", &o->adapter, any_adapter},
                               {"--weights", "model.weights", &o->weights, same_text}};
    char told[1024] = "", why[512];
    const char *init = trains(command) ? xt_trainer_resumed_text(t, "model.init") : NULL;
    if (init && !o->init) {
        snprintf(why, sizeof why, "the fit that the checkpoint is of began with --init %.300s; give it again", init);
        return usage(command, why);
    }
    if (!trains(command)) return 0;
    bool known = xt_trainer_resumed_text(t, "model.name");
    int code = known ? check_sizes(command, o, t) : 0;
    for (size_t i = 0; known && !code && o->init && i < sizeof all / sizeof *all; i++)
        code = keep_option(command, &all[i], t, told, sizeof told);
    if (code || !o->init) return code;
    if (o->lora && !parse_lora(o->lora, &o->lora_opts, why, sizeof why)) return usage(command, why);
    if (o->weights && !integers_named(o->weights)) return usage(command, "--weights is int8 or int4");
    if (o->lr < 0 && fit_adapts(o)) o->lr = adapters_lr;
    if (*told && xt_rank() == 0 && !o->json) cli_printf("as the fit that is gone on with:%s\n", told);
    return check_integers(command, o);
}

/* Of --precision bf16-true and 16-true: the weights are of that dtype from the beginning. */
static xt_dtype dtype_of(const char *precision) {
    if (precision && strcmp(precision, "bf16-true") == 0) return XT_BF16;
    return precision && strcmp(precision, "16-true") == 0 ? XT_F16 : XT_DTYPE_NONE;
}

label_names *fit_init_labels(void) {
    return &folder.encoder.labels;
}

void fit_init_new_classes(void) {
    folder.encoder.classes_there = 0;
}

void fit_init_source(int64_t tokens) {
    folder.t5.source = tokens;
}

xt_status fit_init_module(fit_options *o, xt_module **out) {
    xt_dtype dtype = dtype_of(o->precision);
    if (folder.encoder.labels.n) folder.encoder.c.classes = (int64_t)folder.encoder.labels.n;
    xt_module *net = *out = xt_module_new(folder.model->net, model_folder_user(&folder, &o->of_model));
    if (dtype != XT_DTYPE_NONE) XT_TRY(xt_module_set_dtype(net, dtype));
    XT_TRY(model_folder_load(&folder, net));
    XT_TRY(model_folder_quantize(folder.form, net, folder.bits ? 0 : weight_bits));
    if (o->lora) XT_TRY(model_folder_lora(&folder, net, o->lora_targets, o->lora_opts));
    return o->adapter ? model_folder_load_adapter(&folder, net, o->adapter) : NULL;
}

void fit_init_tell(const fit_options *o, const xt_module *net) {
    int64_t trained = 0, all = xt_module_param_count(net);
    for (int i = 0; (i = xt_module_next(net, "*.weight", i)) >= 0; i++) { /* integers are none of the module's */
        xt_tensor t = xt_module_tensor(net, i);
        if (xt_dtype_of(t) == XT_I8 || xt_dtype_of(t) == XT_U8)
            all += xt_dim(t, 0) * xt_dim(t, 1) * xt_dim(t, 2) * (xt_dtype_of(t) == XT_U8 ? 2 : 1);
    }
    for (int i = 0; (i = xt_module_next(net, "*.lora_?.weight", i)) >= 0; i++) {
        xt_tensor t = xt_module_tensor(net, i);
        trained += xt_dim(t, 0) * xt_dim(t, 1);
    }
    if (!fit_adapts(o))
        cli_printf("%s: %lld parameters, all are trained\n", o->init, (long long)all);
    else
        cli_printf("%s: %lld parameters, %lld of adapters (%.3g %%) are trained\n", o->init, (long long)all,
                   (long long)trained, 100.0 * (double)trained / (double)(all ? all : 1));
}

xt_status fit_init_save(const fit_options *o, xt_module *net, const char *dir) {
    return fit_adapts(o) ? model_folder_save_adapter(&folder, net, dir) : model_folder_save(&folder, net, dir);
}
