/* Data for `xtrain fit`. */
#include "cli/fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- text as bytes: sample i is the window at i * seq, its labels the same window one byte on -------------------------------------------- */
typedef struct text {
    unsigned char *bytes;
    size_t size;
    int64_t seq, first;
} text;

static void text_free(void *p) {
    text *t = p;
    if (t) free(t->bytes);
    free(t);
}

static xt_status text_get(void *user, int64_t i, void *x, void *y) {
    const text *t = user;
    const unsigned char *at = t->bytes + (t->first + i) * t->seq;
    for (int64_t k = 0; k < t->seq; k++) {
        ((int64_t *)x)[k] = at[k];
        if (y) ((int64_t *)y)[k] = at[k + 1];
    }
    return NULL;
}

static int read_text(const char *path, text *t) {
    FILE *f = fopen(path, "rb");
    if (!f) return cli_fail("fit", "cannot open %s: %s", path, strerror(errno));
    size_t room = 0, n;
    do {
        room += 1 << 20;
        unsigned char *more = realloc(t->bytes, room);
        if (!more) {
            fclose(f);
            return cli_fail("fit", "%s does not fit memory", path);
        }
        t->bytes = more;
        n = fread(t->bytes + t->size, 1, room - t->size, f);
        t->size += n;
    } while (n > 0);
    int bad = ferror(f);
    fclose(f);
    return bad ? cli_fail("fit", "cannot read %s: %s", path, strerror(errno)) : 0;
}

static xt_dataset *text_dataset(const char *path, int64_t seq, bool train) {
    text *t = calloc(1, sizeof *t);
    if (!t || read_text(path, t)) {
        text_free(t);
        return NULL;
    }
    t->seq = seq;
    int64_t all = t->size > (size_t)seq ? (int64_t)((t->size - 1) / (size_t)seq) : 0, cut = all * 9 / 10;
    t->first = train ? 0 : cut;
    xt_spec spec = {XT_I64, {seq}};
    xt_dataset_desc d = {.struct_size = sizeof d, .count = train ? cut : all - cut, .x = spec, .y = spec, .get = text_get, .free_user = text_free, .user = t, .name = path};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) text_free(t);
    return out;
}

/* --- loaders ------------------------------------------------------------------------------------------------------------------------------- */
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
    int64_t held = xt_dataset_count(test) / xt_world_size();
    out->train = xt_loader_new(train, .batch = batch, .shuffle = XT_ON, .seed = (uint64_t)o->seed);
    out->test = xt_loader_new(test, .batch = held < 500 ? (held < 100 ? held : 100) : 500);
    return NULL;
}

static void bytes(const fit_options *o, const model *m, int64_t batch, fit_data *out) {
    int64_t seq = m->x(0, o->seq).dims[0];
    xt_dataset *train = text_dataset(o->data, seq, true), *test = train ? text_dataset(o->data, seq, false) : NULL;
    if (!train || !test) {
        xt_dataset_free(train);
        return;
    }
    out->train = xt_loader_new(train, .batch = batch, .shuffle = XT_ON, .seed = (uint64_t)o->seed);
    out->test = xt_loader_new(test, .batch = batch);
}

xt_status fit_open_data(const model *m, const fit_options *o, fit_data *out) {
    int64_t batch = o->batch ? o->batch : m->batch;
    *out = (fit_data){0};
    if (m == &model_mnist) return mnist(o, batch, out);
    if (m->tokens && o->data) bytes(o, m, batch, out);
    else out->train = xt_sample_loader(.batch = batch, .count = o->limit ? o->limit : 20, .x = m->x(0, o->seq), .y = m->y(0, o->seq));
    return NULL;
}
