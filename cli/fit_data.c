/* Data for `xtrain fit`. */
#include "cli/fit.h"
#include "cli/words.h"
#include "models/hf_config.h"
#include "models/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static xt_loader *training_loader(const fit_options *o, xt_dataset *d, int64_t batch) {
    return xt_loader_new(d, .batch = batch, .shuffle = XT_ON, .workers = o->workers ? (int)o->workers : 1);
}

/* The last batch is filled up for a prediction, which drops what it makes of that; where means are taken it is short,
 * for what is filled up would count. A mesh divides whole batches alone. */
static xt_loader *held_out_loader(const fit_options *o, xt_dataset *d, int64_t batch) {
    int64_t held = xt_dataset_count(d) / xt_world_size();
    if (held < batch) batch = held < 1 ? 1 : held;
    return xt_loader_new(d, .batch = batch, .pad_last = o->predicts ? XT_ON : XT_DEFAULT,
                         .drop_last = o->judges && !o->mesh ? XT_OFF : XT_DEFAULT);
}

void fit_loaders(const fit_options *o, xt_dataset *train, xt_dataset *test, int64_t batch, fit_data *out) {
    if (!train || !test) { /* its own error is pending */
        xt_dataset_free(train);
        xt_dataset_free(test);
        return;
    }
    out->train = training_loader(o, train, batch);
    out->test = held_out_loader(o, test, batch);
}

xt_status fit_too_few(const fit_options *o, size_t n, const char *what, int64_t batch) {
    return xt_status_new(XT_INVALID_ARGUMENT,
                         "%s has %zu %s; a batch of %lld on %d ranks, and a tenth to validate with, need more", o->data,
                         n, what, (long long)batch, xt_world_size());
}

xt_status fit_samples(const fit_options *o, xt_dataset *train, xt_dataset *test, size_t n, const char *what,
                      int64_t batch, fit_data *out) {
    bool enough = train && test && xt_dataset_count(test) >= xt_world_size() &&
                  xt_dataset_count(train) >= batch * xt_world_size();
    if (enough) {
        fit_loaders(o, train, test, batch, out);
        return NULL;
    }
    xt_dataset_free(train);
    xt_dataset_free(test);
    return fit_too_few(o, n, what, batch);
}

/* --- digits --- */
static xt_status mnist(const fit_options *o, int64_t batch, fit_data *out) {
    xt_dataset *train = NULL, *test = NULL;
    XT_TRY(xt_mnist_open(o->data, "train", &train));
    xt_status s = xt_mnist_open(o->data, "test", &test);
    if (!s) s = xt_mnist_open(o->data, "test", &out->pictures);
    if (s) {
        xt_dataset_free(train);
        xt_dataset_free(test);
        return s;
    }
    out->train = training_loader(o, train, batch);
    out->test = held_out_loader(o, test, xt_dataset_count(test) / xt_world_size() < 500 ? 100 : 500);
    return NULL;
}

/* --- text --- */
static void tell_text(const char *path, const text_corpus *c, bool bytes, int64_t vocab, size_t held) {
    if (c->file)
        cli_printf("%s: %zu tokens of %lld", path, c->n, (long long)vocab);
    else if (bytes)
        cli_printf("%s: %zu bytes, each a token of %lld", path, c->bytes, (long long)vocab);
    else
        cli_printf("%s: %zu bytes are %zu tokens of %lld", path, c->bytes, c->n, (long long)vocab);
    cli_printf("; the last %zu are for validation\n", held);
}

/* The last tenth of the tokens is held out. */
static xt_status text(const model *m, fit_options *o, int64_t batch, fit_data *out) {
    text_corpus *c = NULL;
    int64_t seq = o->of_model.seq ? o->of_model.seq : m->own.seq;
    const char *beside = token_file_is(o->data) ? NULL : o->beside; /* tokens need no tokenizer */
    XT_TRY(cli_open_words(o->tokenizer, beside, o->of_model.vocab, &out->words));
    XT_TRY(text_open(o->data, out->words, &c));
    if (!o->of_model.vocab) o->of_model.vocab = c->vocab ? c->vocab : m->own.vocab;
    if (!c->vocab) c->vocab = o->of_model.vocab; /* nanoGPT's files do not say theirs */
    int64_t vocab = c->vocab;
    size_t cut = c->n / 10 * 9;
    xt_status s = NULL;
    if (c->vocab > o->of_model.vocab)
        s = xt_status_new(XT_INVALID_ARGUMENT, "%s has tokens of a vocabulary of %lld, the model's is %lld", o->data,
                          (long long)c->vocab, (long long)o->of_model.vocab);
    if (!s && ((int64_t)(c->n - cut) < (seq + 1) * xt_world_size() || (int64_t)cut < seq * batch * xt_world_size() + 1))
        s = xt_status_new(
            XT_INVALID_ARGUMENT,
            "%s has %zu tokens; batches of %lld windows of %lld tokens and a tenth to validate with need more", o->data,
            c->n, (long long)batch, (long long)seq);
    xt_dataset *train = s ? NULL : text_windows(c, 0, cut, seq, true),
               *test = train ? text_windows(c, cut, c->n, seq, false) : NULL;
    if (!s && xt_rank() == 0 && !o->json) tell_text(o->data, c, tokenizer_is_bytes(out->words), vocab, c->n - cut);
    bool unspoken = c->file && tokenizer_is_bytes(out->words); /* whose tokens nobody can write */
    text_release(c);
    if (unspoken) {
        tokenizer_free(out->words);
        out->words = NULL;
    }
    if (!s) fit_loaders(o, train, test, batch, out);
    return s;
}

/* --- pictures --- */
/* Means and deviations of ImageNet, which torchvision's models expect. */
static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};

typedef struct augmentation {
    bool crop, flip;
} augmentation;

static bool parse_augment(const char *text, augmentation *a) {
    *a = (augmentation){false, false};
    if (!text || strcmp(text, "none") == 0) return true;
    char part[16];
    for (const char *p = text; *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL)) {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(p, ","), p);
        if (strcmp(part, "crop") == 0)
            a->crop = true;
        else if (strcmp(part, "flip") == 0)
            a->flip = true;
        else
            return false;
    }
    return true;
}

static bool exists(const char *dir, const char *name) {
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

/* Generated pictures: stripes whose direction and colour are the class, of random width and place; made anew from the
 * sample's index, so that they need no memory and a network can learn them. */
typedef struct stripes {
    int64_t side, classes, count, first;
} stripes;

static double noise(uint64_t *state) { /* SplitMix64, to [0,1) */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static xt_status stripes_get(void *user, int64_t i, void *x, void *y) {
    const stripes *p = user;
    uint64_t state = (uint64_t)(p->first + i);
    int64_t label = (p->first + i) % p->classes;
    double width = (0.05 + 0.1 * noise(&state)) * (double)p->side, at = noise(&state) * (double)p->side;
    double across = (double)(label % 8) / 8, along = 1 - across;
    float *out = x;
    for (int64_t c = 0; c < 3; c++) {
        double strength = 0.3 + 0.35 * (double)(label / 8 % 3 == c) + 0.3 * noise(&state);
        for (int64_t r = 0; r < p->side; r++)
            for (int64_t q = 0; q < p->side; q++) {
                double phase = (across * (double)r + along * (double)q + at) / width;
                out[(c * p->side + r) * p->side + q] =
                    (float)(strength * (0.25 + 0.5 * ((int64_t)phase % 2 == 0)) + 0.2 * noise(&state));
            }
    }
    if (y) *(int64_t *)y = label;
    return NULL;
}

static xt_dataset *stripes_dataset(int64_t side, int64_t classes, int64_t first, int64_t count) {
    stripes *p = malloc(sizeof *p);
    if (!p) return NULL;
    *p = (stripes){side, classes, count, first};
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = count,
                         .x = {XT_F32, {3, side, side}},
                         .y = {XT_I64, {0}},
                         .get = stripes_get,
                         .free_user = free,
                         .user = p,
                         .name = "generated pictures"};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) free(p);
    return out;
}

/* A folder with train/ and val/ (or test/) in it has its own split; otherwise each tenth picture is held out. */
static xt_status folder(const fit_options *o, int64_t side, xt_dataset **train, xt_dataset **test) {
    char path[4096];
    const char *held = exists(o->data, "val") ? "val" : "test";
    if (exists(o->data, "train") && exists(o->data, held)) {
        snprintf(path, sizeof path, "%s/train", o->data);
        *train = xt_image_folder(path, (int)side);
        snprintf(path, sizeof path, "%s/%s", o->data, held);
        if (*train) *test = xt_image_folder(path, (int)side);
        return NULL;
    }
    xt_dataset *all = xt_image_folder(o->data, (int)side);
    int64_t n = all ? xt_dataset_count(all) : 0, n_test = n / 10, *which = n ? malloc((size_t)n * sizeof *which) : NULL;
    if (!all) return NULL;
    if (!which || n_test == 0) {
        xt_dataset_free(all);
        free(which);
        return n_test ? xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a split")
                      : xt_status_new(XT_INVALID_ARGUMENT,
                                      "%s has %lld pictures; at least 10 are needed, one of each 10 to validate with",
                                      o->data, (long long)n);
    }
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        if (i % 10 != 9) which[k++] = i;
    for (int64_t i = 9; i < n; i += 10) which[k++] = i;
    *train = xt_subset(xt_dataset_retain(all), which, n - n / 10);
    *test = xt_subset(all, which + (n - n / 10), n / 10);
    free(which);
    return NULL;
}

/* The classes' names, in their order; false without memory. */
static bool name_classes(const char *dir, xt_dataset *d, label_names *out) {
    bool ok = true;
    /* a subset does not know its classes */
    xt_dataset *whole = xt_image_folder_class(d, 0) ? NULL : xt_image_folder(dir, 8);
    for (const char *name; ok && (name = xt_image_folder_class(whole ? whole : d, (int64_t)out->n));)
        ok = label_names_add(out, name, strlen(name));
    xt_dataset_free(whole);
    return ok;
}

/* Where a folder's model has other classes than the pictures, its classifier begins anew. */
static xt_status take_classes(fit_options *o, xt_dataset *d) {
    label_names names = {0}, *known = o->init ? fit_init_labels() : &names;
    bool ok = name_classes(exists(o->data, "train") ? NULL : o->data, d, &names);
    o->of_model.classes = (int64_t)names.n;
    if (ok && known != &names) {
        bool same = known->n == names.n;
        for (size_t i = 0; i < names.n && same; i++) same = strcmp(known->names[i], names.names[i]) == 0;
        label_names_free(same ? &names : known);
        if (!same) *known = names;
        if (!same && xt_rank() == 0 && !o->json)
            cli_printf("%s: %zu classes that the model does not have: its classifier begins anew\n", o->data, known->n);
        if (!same) fit_init_new_classes();
    } else
        label_names_free(&names);
    return ok ? NULL : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the classes of %s", o->data);
}

/* How pictures are normed: as a folder's model has learnt them, else as ImageNet's. */
static xt_status take_norms(const fit_options *o, float *means, float *deviations) {
    static const char *const names[2] = {"image_mean", "image_std"};
    char path[4300];
    hf_config r;
    memcpy(means, mean, sizeof mean);
    memcpy(deviations, deviation, sizeof deviation);
    if (!o->init) return NULL;
    for (int k = 0; k < 3; k++) means[k] = deviations[k] = 0.5f; /* of ViT's, unless its file says otherwise */
    snprintf(path, sizeof path, "%s/preprocessor_config.json", o->folder->dir);
    if (access(path, F_OK) != 0) return NULL;
    XT_TRY(hf_open(path, &r));
    for (int i = 0; i < 2 && !r.failed; i++) {
        const cJSON *list = hf_found(&r, names[i]);
        if (list && cJSON_GetArraySize(list) != 3) hf_refuse(&r, names[i], list, "a list of three numbers");
        for (int k = 0; list && !r.failed && k < 3; k++) {
            const cJSON *e = cJSON_GetArrayItem(list, k);
            if (!cJSON_IsNumber(e) || (i && e->valuedouble <= 0))
                hf_refuse(&r, names[i], list, "a list of three numbers");
            (i ? deviations : means)[k] = (float)e->valuedouble;
        }
    }
    return hf_close(&r, path);
}

static xt_status pictures(const model *m, fit_options *o, int64_t batch, fit_data *out) {
    model_options *of = &o->of_model;
    xt_dataset *train = NULL, *test = NULL;
    augmentation a;
    float means[3], deviations[3];
    xt_status s = NULL;
    XT_TRY(take_norms(o, means, deviations));
    if (!parse_augment(o->augment, &a))
        return xt_status_new(XT_INVALID_ARGUMENT, "--augment %s: crop, flip, crop,flip or none are understood",
                             o->augment);
    bool ten = o->data && (exists(o->data, "data_batch_1.bin") || exists(o->data, "cifar-10-batches-bin")),
         hundred = o->data && !ten && (exists(o->data, "train.bin") || exists(o->data, "cifar-100-binary"));
    if (ten || hundred) {
        if (of->side && of->side != 32)
            return xt_status_new(XT_INVALID_ARGUMENT, "--side %lld: CIFAR's pictures have 32 pixels a side",
                                 (long long)of->side);
        of->side = 32;
        train = ten ? xt_cifar10(o->data, "train") : xt_cifar100(o->data, "train");
        test = !train ? NULL : ten ? xt_cifar10(o->data, "test") : xt_cifar100(o->data, "test");
        if (!of->classes) of->classes = ten ? 10 : 100;
    } else if (o->data) {
        XT_TRY(folder(o, of->side ? of->side : m->own.side, &train, &test));
        if (test && (o->init || !of->classes)) s = take_classes(o, train);
    } else {
        int64_t side = of->side ? of->side : m->own.side, classes = of->classes ? of->classes : 10,
                n = (o->limit ? o->limit : 20) * batch * xt_world_size();
        of->classes = classes;
        train = stripes_dataset(side, classes, 0, n);
        test = stripes_dataset(side, classes, n, n / 5 > batch * xt_world_size() ? n / 5 : batch * xt_world_size());
    }
    if (train && test && !s) {
        train = xt_augment(train, .crop_padding = a.crop ? (int)(xt_dataset_x(train).dims[1] / 8) : 0,
                           .flip = a.flip ? XT_ON : XT_OFF, .mean = means, .std = deviations);
        test = xt_augment(test, .mean = means, .std = deviations);
    }
    if (!s) {
        fit_loaders(o, train, test, batch, out);
        return NULL;
    }
    xt_dataset_free(train);
    xt_dataset_free(test);
    return s;
}

/* --- which --- */
xt_status fit_open_data(const model *m, fit_options *o, fit_data *out) {
    int64_t batch = o->batch ? o->batch : m->batch;
    *out = (fit_data){0};
    if (m == &model_mnist) return mnist(o, batch, out);
    if (m->own.side) return pictures(m, o, batch, out);
    if (o->init && o->data && o->folder->form == FOLDER_ENCODER) {
        if (o->packing || o->chat_template)
            return xt_status_new(XT_INVALID_ARGUMENT, "%s is not for encoders: each text is a sample",
                                 o->packing ? "--packing" : "--chat-template");
        return m == &model_vit ? pictures(m, o, batch, out) : fit_open_labelled(m, o, batch, out);
    }
    if (o->init && o->data && o->folder->form == FOLDER_T5) {
        if (o->packing || o->chat_template)
            return xt_status_new(XT_INVALID_ARGUMENT, "%s is not for pairs: each is a sample",
                                 o->packing ? "--packing" : "--chat-template");
        return fit_open_pairs(o, batch, out);
    }
    if (o->init && o->data && records_are(o->data)) return fit_open_records(m, o, batch, out);
    if (o->packing || o->chat_template)
        return xt_status_new(XT_INVALID_ARGUMENT, "%s is for --init and --data of records: a *.jsonl file or a folder",
                             o->packing ? "--packing" : "--chat-template");
    if (m->tokens && o->data) return text(m, o, batch, out);
    out->train =
        xt_sample_loader(.batch = batch, .count = o->limit ? o->limit : 20,
                         .x = m->x(o->of_model.side, o->of_model.seq), .y = m->y(o->of_model.side, o->of_model.seq));
    return NULL;
}
