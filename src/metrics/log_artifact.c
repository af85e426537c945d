/* Histograms, images and texts: a tensor's values come to the reader thread, are turned into what loggers show on the
 * logger thread, and are handed to the sinks that take them, in the order of the rows around them. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "metrics/log_int.h"

static const char *const calls[] = {
    [LOG_HISTOGRAM] = "xt_log_histogram", [LOG_IMAGE] = "xt_log_image", [LOG_TEXT] = "xt_log_text"};
static const char *const plurals[] = {[LOG_HISTOGRAM] = "histograms", [LOG_IMAGE] = "images", [LOG_TEXT] = "texts"};

typedef struct artifact {
    log_request request; /* the first, by which it is found */
    log_artifact a;
    src_id src;
    char *name, *text;
    int within; /* lazy_loop_steps_recorded when it was given: a compiled function's updates before it */
    xt_dtype dtype;
    int64_t channels, pictures, across; /* of an image: a batch of pictures is a grid, so many in a row */
    int height, width; /* of one picture */
    size_t count; /* elements */
    void *data;
    uint8_t *rgb;
} artifact;

static void artifact_free(artifact *x) {
    base_free(x->name);
    base_free(x->text);
    base_free(x->data);
    base_free(x->rgb);
    base_free(x);
}

void log_row_next(bool due, int64_t step) {
    log_engine *e = log_engine_get();
    if (!e) return;
    e->row_next = due;
    e->next_step = step;
    e->sets[LOG_TRAIN].n_before_step = e->sets[LOG_TRAIN].n_pending;
}

void log_at_step(int64_t done) {
    log_engine *e = log_engine_get();
    if (e) e->done_step = e->joins ? e->loop.step : done;
}

void log_samples_rest(int64_t samples) {
    log_engine *e = log_engine_get();
    if (e) e->samples_rest = samples;
}

/* A trainer's training steps read only what belongs to a row; everything else is given always. */
static bool wanted(const log_engine *e, log_artifact_kind kind) {
    return kind == LOG_TEXT || !e->manual || e->place != LOG_IN_STEP || e->stage != LOG_TRAIN || e->row_next;
}

static struct model *note_replay(log_artifact_kind kind, const artifact *x);

/* Whether something given here, now, is to be written; what is refused is an error. */
static bool may_give(log_engine *e, const xt_src *src, const char *name, log_artifact_kind kind) {
    if (!name || !*name) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: the name is empty", calls[kind]));
        return false;
    }
    if (log_muted(e, calls[kind], name)) return false;
    if (e->place == LOG_CLOSED) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s \"%s\": the fit's loggers are not open yet (setup, configure_optimizers); log it in "
                             "on_fit_start or later",
                             calls[kind], name));
        return false;
    }
    bool wants = wanted(e, kind);
    if (kind != LOG_TEXT && e->manual && e->place == LOG_IN_STEP && e->stage == LOG_TRAIN)
        log_unread_note(e, src, calls[kind], name, wants);
    if (!e->sanity && wants) return true;
    note_replay(kind, NULL);
    return false;
}

/* Which step something given now is of, and when that is. */
static void fill_moment(const log_engine *e, artifact *x) {
    x->a.owner = log_owner();
    bool in_step = e->place == LOG_IN_STEP, plain = in_step && !e->manual;
    log_stage modes = lazy_evaluates() ? LOG_VALIDATE : LOG_TRAIN;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    x->a.wall = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    x->a.stage = plain ? modes : in_step ? e->stage : e->given_stage;
    x->a.step = plain                              ? lazy_loop_steps() - lazy_loop_steps_recorded() + x->within
                : in_step && e->stage == LOG_TRAIN ? e->next_step
                                                   : e->done_step;
    if (plain) log_open_default_sinks();
}

static artifact *begin(const xt_src *src, const char *name, log_artifact_kind kind) {
    if (lazy_refuse_in_loop(src, calls[kind])) return NULL;
    log_engine *e = log_engine_get();
    if (!e || !may_give(e, src, name, kind)) return NULL;
    artifact *x = base_calloc(1, sizeof *x);
    if (x) x->name = base_strdup(name);
    if (!x || !x->name) {
        base_free(x);
        lazy_fail(status_oom(sizeof *x, calls[kind]));
        return NULL;
    }
    x->src = src_intern(src);
    x->a.kind = kind;
    x->a.name = x->name;
    x->within = lazy_loop_steps_recorded();
    fill_moment(e, x);
    return x;
}

/* --- in compiled step functions --- */
/* What a recording gives at each of its replays: a copy of `given`, which is never given itself. A recording that
 * gave nothing, since no row was due, is replayed in such steps only, and one that gave something in the others. */
struct model {
    artifact *given; /* NULL: nothing */
    log_artifact_kind kind;
};
typedef struct model model;

static void model_free(void *user) {
    model *m = user;
    if (m->given) artifact_free(m->given);
    base_free(m);
}

static bool gives_the_same(void *user) {
    const model *m = user;
    const log_engine *e = log_engine_peek();
    return e && (!e->mute && !e->sanity && e->place != LOG_CLOSED && wanted(e, m->kind)) == (m->given != NULL);
}

static artifact *copy_of(const artifact *of) {
    const log_engine *e = log_engine_peek();
    artifact *x = e ? base_malloc(sizeof *x) : NULL;
    if (!x) return NULL;
    *x = *of;
    x->a.name = x->name = base_strdup(of->name);
    x->a.text = x->text = of->text ? base_strdup(of->text) : NULL;
    if (!x->name || (of->text && !x->text)) {
        artifact_free(x);
        return NULL;
    }
    fill_moment(e, x);
    return x;
}

/* The user of a request at a replay; NULL without memory, which is an artifact less. */
static void *asked_again(void *user) {
    artifact *x = copy_of(((const model *)user)->given);
    if (!x) return NULL;
    log_work_begin();
    return &x->request;
}

static void give(void *user);
static void text_again(void *user) {
    artifact *x = copy_of(((const model *)user)->given);
    if (!x) return;
    log_work_begin();
    log_work_queue(give, x);
}

/* NULL outside of a recording. x NULL: nothing is given. */
static model *note_replay(log_artifact_kind kind, const artifact *x) {
    model *m = lazy_tracing() ? base_calloc(1, sizeof *m) : NULL;
    if (!m) return NULL;
    m->kind = kind;
    m->given = x ? copy_of(x) : NULL;
    lazy_on_replay(&(lazy_replay){.valid = gives_the_same,
                                  .before = m->given && kind == LOG_TEXT ? text_again : NULL,
                                  .release = model_free,
                                  .user = m});
    return m;
}

/* --- on the logger thread --- */
static void make_histogram(artifact *x) {
    log_artifact *a = &x->a;
    size_t size = xt_dtype_size(x->dtype);
    a->min = INFINITY, a->max = -INFINITY;
    for (size_t i = 0; i < x->count; i++) {
        double v = lazy_as_double((const char *)x->data + i * size, x->dtype);
        if (!isfinite(v)) continue;
        a->min = fmin(a->min, v), a->max = fmax(a->max, v);
        a->count++, a->sum += v, a->sum_squares += v * v;
    }
    if (a->count == 0) a->min = a->max = 0;
    double width = a->max > a->min ? (a->max - a->min) / LOG_BINS : 1;
    for (size_t i = 0; i < x->count; i++) {
        double v = lazy_as_double((const char *)x->data + i * size, x->dtype);
        int bin = isfinite(v) ? (int)((v - a->min) / width) : -1;
        if (bin >= 0) a->bins[bin < LOG_BINS ? bin : LOG_BINS - 1]++;
    }
}

enum { GRID_ACROSS = 8, GRID_LINE = 2 }; /* torchvision's make_grid: nrow and padding */

/* Several pictures stand in rows with black lines around them, as make_grid's defaults have it; one
 * picture is itself. */
static bool make_image(artifact *x) {
    log_artifact *a = &x->a;
    size_t size = xt_dtype_size(x->dtype), pixels = (size_t)x->width * (size_t)x->height;
    x->rgb = base_calloc(3 * (size_t)a->width * (size_t)a->height + 1, 1);
    if (!x->rgb) return false;
    double scale = x->dtype == XT_U8 ? 1 : 255;
    int64_t line = x->pictures > 1 ? GRID_LINE : 0;
    for (int64_t k = 0; k < x->pictures; k++) {
        const char *picture = (const char *)x->data + (size_t)(k * x->channels) * pixels * size;
        int64_t top = line + k / x->across * (x->height + line), left = line + k % x->across * (x->width + line);
        for (size_t i = 0; i < pixels; i++) {
            uint8_t *to = x->rgb + 3 * ((size_t)(top + (int64_t)i / x->width) * (size_t)a->width +
                                        (size_t)(left + (int64_t)i % x->width));
            for (size_t c = 0; c < 3; c++) {
                double v = lazy_as_double(picture + ((x->channels == 3 ? c * pixels : 0) + i) * size, x->dtype) * scale;
                to[c] = (uint8_t)(v > 0 ? (v < 255 ? v + 0.5 : 255) : 0); /* NaN is black */
            }
        }
    }
    a->rgb = x->rgb;
    return true;
}

static atomic_int runs;
void log_tell_anew(void) {
    atomic_fetch_add(&runs, 1);
}

/* Once a line and run: the call may be in every step. */
static void tell_unwritten(const artifact *x, const char *why) {
    char at[256], key[320];
    src_text(x->src, at, sizeof at);
    snprintf(key, sizeof key, "unwritten %d %s", atomic_load(&runs), at);
    log_once(key, XT_SEV_WARNING, "%s: %s \"%s\" is not written: %s", at, calls[x->a.kind], x->a.name, why);
}

static void hand_over(artifact *x) {
    bool good = true;
    char none[200];
    if (x->a.kind == LOG_HISTOGRAM) make_histogram(x);
    if (x->a.kind == LOG_IMAGE) good = make_image(x);
    snprintf(none, sizeof none, "no logger of this run shows %s; %s of the trainer does", plurals[x->a.kind],
             x->a.kind == LOG_TEXT ? ".loggers = \"tensorboard\" or \"jsonl\"" : ".loggers = \"tensorboard\"");
    if (!good)
        tell_unwritten(x, "there is no memory for it");
    else if (!log_give_artifact(&x->a) && !rehearsal_skips())
        tell_unwritten(x, none);
}

static void free_given(void *x) {
    artifact_free(x);
}

/* A logger's function may end the thread. */
static void give(void *x) {
    pthread_cleanup_push(free_given, x);
    hand_over(x);
    pthread_cleanup_pop(1);
}

/* --- asking for the values --- */
static void arrived(log_request *r, const void *data, size_t bytes, xt_dtype dtype) {
    artifact *x = (artifact *)r;
    x->dtype = dtype;
    x->data = base_malloc(bytes + 1);
    if (!x->data || bytes < x->count * xt_dtype_size(dtype)) {
        tell_unwritten(x, "there is no memory for its values");
        artifact_free(x);
        log_work_lost();
        return;
    }
    memcpy(x->data, data, bytes);
    log_work_queue(give, x);
}

static void never(log_request *r) {
    artifact *x = (artifact *)r;
    tell_unwritten(x, "its values never came, since the step that makes them failed");
    artifact_free(x);
    log_work_lost();
}

static void ask(const xt_src *src, artifact *x, xt_tensor t) {
    log_engine *e = log_engine_get();
    if (e && !e->asked) {
        e->asked = x->src;
        e->asked_call = calls[x->a.kind];
        e->asked_name = intern_text(intern(x->a.name));
    }
    x->request = (log_request){arrived, never};
    model *m = note_replay(x->a.kind, x);
    log_work_begin();
    log_request_value(src, calls[x->a.kind], t, &x->request);
    if (m) lazy_request_again(asked_again, m);
}

static bool readable(const ir_type *t) {
    return t && t->count > 0 && (ir_dtype_is_float(t->dtype) || ir_dtype_is_int(t->dtype) || t->dtype == XT_BOOL);
}

static void refuse(const xt_src *src, const char *what, const char *name, const ir_type *t, const char *expected) {
    str text = STR_INIT;
    ir_type_print(t, &text);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s \"%s\": the tensor is %s; expected %s", what, name ? name : "",
                         str_cstr(&text), expected));
    str_free(&text);
}

void xt_log_histogram_at(const xt_src *src, const char *name, xt_tensor t) {
    const ir_type *type = lazy_type(t);
    lazy_begin(src);
    if (!type) {
        lazy_value(t);
        return;
    }
    if (!readable(type)) {
        refuse(src, "xt_log_histogram", name, type, "real numbers, at least one");
        return;
    }
    artifact *x = begin(src, name, LOG_HISTOGRAM);
    if (!x) return;
    x->count = (size_t)type->count;
    ask(src, x, t);
}

void xt_log_image_at(const xt_src *src, const char *name, xt_tensor t) {
    const ir_type *type = lazy_type(t);
    lazy_begin(src);
    if (!type) {
        lazy_value(t);
        return;
    }
    const int64_t *hw = type->dims + (type->rank >= 2 ? type->rank - 2 : 0); /* read from rank 2 on only */
    int64_t channels = type->rank >= 3 ? hw[-1] : 1, pictures = type->rank == 4 ? type->dims[0] : 1,
            across = pictures < GRID_ACROSS ? pictures : GRID_ACROSS;
    bool fits = type->rank >= 2 && type->rank <= 4 && (channels == 1 || channels == 3) && readable(type) &&
                hw[0] <= 1 << 15 && hw[1] <= 1 << 15;
    int64_t line = pictures > 1 ? GRID_LINE : 0, down = fits ? (pictures + across - 1) / across : 0;
    fits = fits && down * (hw[0] + line) + line <= 1 << 15 && across * (hw[1] + line) + line <= 1 << 15;
    if (!fits) {
        refuse(src, "xt_log_image", name, type,
               "[H,W], [1,H,W], [3,H,W] or a batch [N,1,H,W], [N,3,H,W] of real numbers, at most 32768 pixels a side");
        return;
    }
    artifact *x = begin(src, name, LOG_IMAGE);
    if (!x) return;
    x->count = (size_t)type->count;
    x->channels = channels;
    x->pictures = pictures;
    x->across = across;
    x->height = (int)hw[0];
    x->width = (int)hw[1];
    x->a.height = (int)(down * (hw[0] + line) + line);
    x->a.width = (int)(across * (hw[1] + line) + line);
    ask(src, x, t);
}

void xt_log_text_at(const xt_src *src, const char *name, const char *text) {
    artifact *x = begin(src, name, LOG_TEXT);
    if (!x) return;
    x->text = base_strdup(text ? text : "");
    if (!x->text) {
        artifact_free(x);
        lazy_fail(status_at(status_oom(1, "xt_log_text"), src));
        return;
    }
    x->a.text = x->text;
    note_replay(LOG_TEXT, x);
    log_work_begin();
    log_work_queue(give, x);
}
