/* What a checkpoint holds of layers that the resumed run has not called yet: parameters in their places, gradients and
 * statistics that wait, what makes weights of others, and what the file or the run lacks. */
#include "train_test.h"

#include <string.h>

enum { SAMPLES = 24, BATCH = 4, STEPS = 6, EPOCHS = 3 };
static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

/* --- one task of many kinds --- */
typedef struct kind {
    const char *name;
    bool manual; /* two optimizers, of which the second steps some batches behind the one that called its layer */
    bool alternates; /* a layer beside the net is called in each third batch */
    bool grows; /* another from the second epoch on */
    bool aux; /* in every batch and validation */
    bool deep; /* another layer in the net */
    const char *maker; /* xt_lora, ...: of a layer in the net and of one beside it */
    const char *hook; /* what the second epoch's begin says, or the first one's */
    double clip;
    bool averages;
    xt_dtype dtype; /* of a parameter of its own; none: there is none */
} kind;
static kind now;
static xt_optimizer *o[2];

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_tanh(xt_linear(m, "a", x, 8));
    return now.deep ? xt_tanh(xt_linear(m, "deep", x, 8)) : x;
}
static xt_tensor away(xt_module *m, const char *layer, xt_tensor h) {
    return xt_mean(xt_square(xt_minus(xt_linear(m, layer, xt_detach(h), 2), 1.)));
}
static xt_tensor loss_of(xt_module *m, xt_batch b) {
    xt_tensor h = xt_forward(m, b.x), l = xt_mean(xt_square(xt_minus(xt_linear(m, "out", h, 3), .5)));
    if (now.aux) l = xt_add(l, away(m, "aux", h));
    if (now.dtype) {
        xt_tensor w = xt_param(m, "w", "normal", 1, now.dtype, 8);
        l = xt_add(l, xt_mean(xt_square(xt_mul(h, xt_cast(w, XT_F32)))));
    }
    return l;
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor l = loss_of(m, b), h = xt_forward(m, b.x);
    if (now.alternates && b.index % 3 == 1) l = xt_add(l, away(m, "alt", h));
    if (now.grows && b.epoch >= 1) l = xt_add(l, away(m, "late", h));
    if (!now.manual) return l;
    xt_backward(l);
    xt_optimizer_step(o[0]);
    if (now.alternates && b.index % 3 == 2) {
        xt_clip_grad_norm(o[1], 0.1);
        xt_optimizer_step(o[1]);
    }
    return l;
}
static xt_tensor shared_step(xt_module *m, xt_batch b, void *user) {
    xt_share(m, "*");
    return step(m, b, user);
}
static void validation(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("v", loss_of(m, b));
}
static bool make(xt_module *m) {
    if (!now.maker) return true;
    if (strcmp(now.maker, "other lora") == 0)
        return xt_lora(m, "a.weight", .r = 2, .alpha = 5) && xt_lora(m, "out.weight", .r = 3);
    if (strcmp(now.maker, "lora") == 0) return xt_lora(m, "a.weight", .r = 2) && xt_lora(m, "out.weight", .r = 3);
    if (strcmp(now.maker, "weight norm") == 0) return xt_weight_norm(m, "*.weight");
    if (strcmp(now.maker, "spectral norm") == 0) return xt_spectral_norm(m, "*.weight", .n_power_iterations = 2);
    return xt_orthogonal(m, "*.weight", .orthogonal_map = XT_CAYLEY);
}
static int optimizers(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)max;
    (void)user;
    assert_true(make(m));
    o[0] = out[0] = xt_adam(m, .lr = 0.05);
    if (!now.manual) return 1;
    o[1] = out[1] = xt_adam(m, .lr = 0.05);
    if (!now.alternates) return 2;
    xt_optimizer_group(o[0], "al*", .frozen = XT_ON);
    xt_optimizer_group(o[1], "a.*", .frozen = XT_ON);
    xt_optimizer_group(o[1], "out.*", .frozen = XT_ON);
    return 2;
}
static void epoch_start(xt_module *m, int64_t epoch, void *user) {
    (void)user;
    if (!now.hook) return;
    if (epoch == 0 && strcmp(now.hook, "freeze") == 0) xt_freeze(m, "late.weight");
    if (epoch == 1 && strcmp(now.hook, "lora") == 0) assert_true(xt_lora(m, "a.weight", .r = 2));
}
static const xt_task task = {.net = net,
                             .training_step = shared_step,
                             .validation_step = validation,
                             .configure_several = optimizers,
                             .on_train_epoch_start = epoch_start};

static xt_dataset *numbers(void) {
    static float x[SAMPLES * 4];
    for (int i = 0; i < SAMPLES * 4; i++) x[i] = (float)(i * 7 % 11) / 11 - 0.3f;
    return xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, SAMPLES);
}

/* A file behind each step in `folder`, and the module at the end in `folder`/end. Gives xt_fit's code. */
static int fit(const kind *k, const char *folder, const char *from, const char *val_every) {
    char path[256], end[300], gone[300];
    now = *k;
    snprintf(path, sizeof path, "%s", in_dir(folder));
    snprintf(gone, sizeof gone, "rm -rf %s", path); /* a file that is there keeps its name */
    assert_int_equal(system(gone), 0);
    snprintf(end, sizeof end, "%s/end", path);
    xt_trainer *t = TEST_TRAINER(.max_epochs = EPOCHS, .logger = XT_OFF, .resume = from, .gradient_clip_val = k->clip,
                                 .seed = from ? XT_SEED_OF_RUN : 5, .val_every = val_every);
    xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 1, .save_top_k = -1, .dirpath = path, .filename = "{step}",
                                          .auto_insert_metric_name = XT_OFF));
    xt_trainer_number(t, "model.width", 8);
    xt_trainer_text(t, "model.name", k->name);
    if (k->averages) xt_trainer_add(t, xt_weight_averaging(.decay = 0.9));
    xt_task own = task;
    own.manual_optimization = k->manual;
    xt_dataset *d = numbers();
    int code = xt_fit(t, &own, xt_loader_new(d, .batch = BATCH), xt_loader_new(xt_dataset_retain(d), .batch = BATCH));
    if (!code) ok(xt_save(xt_trainer_module(t), end));
    xt_trainer_free(t);
    return code;
}

/* The validation's value with that file's weights; NaN: it failed. */
static double validated(const kind *k, const char *file) {
    now = *k;
    xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .ckpt = in_dir(file));
    int code = xt_validate(t, &task, xt_loader_new(numbers(), .batch = BATCH));
    double v = code ? (double)NAN : xt_trainer_metric(t, "v", true);
    xt_trainer_free(t);
    return v;
}

static bool same_files(const char *a, const char *b) {
    char *text[2] = {NULL, NULL};
    size_t n[2];
    char paths[2][256];
    snprintf(paths[0], sizeof paths[0], "%s", in_dir(a));
    snprintf(paths[1], sizeof paths[1], "%s", in_dir(b));
    for (int i = 0; i < 2; i++) ok(file_read_all(paths[i], &text[i], &n[i]));
    bool same = n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0;
    for (int i = 0; i < 2; i++) base_free(text[i]);
    return same;
}

/* --- resumed behind each step: the same tensors, in the same order, to the bit --- */
static void fits_that_go_on(void **state) {
    (void)state;
    static const kind kinds[] = {{"manual", .manual = true, .alternates = true},
                                 {"manual, with another layer", .manual = true, .alternates = true, .aux = true},
                                 {"clipped", .alternates = true, .grows = true, .aux = true, .clip = 0.01},
                                 {"frozen for later", .grows = true, .hook = "freeze"},
                                 {"an adapter of a hook", .alternates = true, .hook = "lora"},
                                 {"an adapter", .alternates = true, .maker = "lora"},
                                 {"weight norm", .alternates = true, .maker = "weight norm", .clip = 0.01},
                                 {"spectral norm", .alternates = true, .maker = "spectral norm"}};
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        if (fit(&kinds[i], "whole", NULL, NULL)) fail_msg("%s: %s", kinds[i].name, str_cstr(&said));
        for (int at = 1; at < STEPS * EPOCHS; at += 2) {
            char from[256];
            snprintf(from, sizeof from, "%s/whole/%d.ckpt", dir, at);
            str_clear(&said);
            if (fit(&kinds[i], "resumed", from, NULL))
                fail_msg("%s from step %d: %s", kinds[i].name, at, str_cstr(&said));
            if (!same_files("whole/end", "resumed/end")) fail_msg("%s from step %d", kinds[i].name, at);
            if (strstr(str_cstr(&said), "was written with")) fail_msg("%s: %s", kinds[i].name, str_cstr(&said));
        }
    }
    assert_int_equal(xt_finish(), 0);
}

/* --- passes --- */
/* What the fit's configure_several has made of weights is in the file. */
static void passes_have_what_makes_weights(void **state) {
    (void)state;
    static const char *const makers[] = {"lora", "weight norm", "spectral norm", "orthogonal"};
    const kind plain = {"plain", .aux = true};
    for (size_t i = 0; i < BASE_COUNT(makers); i++) {
        const kind made = {"made", .aux = true, .maker = makers[i]};
        assert_int_equal(fit(&made, "made", NULL, NULL), 0);
        str_clear(&said);
        double has = validated(&plain, "made/last.ckpt");
        says("made/last.ckpt: xt_");
        str_clear(&said);
        double again = validated(&plain, "made/6.ckpt");
        if (!(has > 0) || again == has) fail_msg("%s: %g %g", makers[i], has, again);
        xt_module *m = xt_module_new(net, NULL); /* and so has the module by hand */
        assert_true(make((now = made, m)));
        ok(xt_load(m, in_dir("made/last.ckpt")));
        xt_dataset *d = numbers();
        xt_loader *l = xt_loader_new(d, .batch = BATCH);
        xt_batch b;
        double sum = 0;
        xt_eval(m);
        now = plain;
        while (xt_next(l, &b)) sum += xt_item(loss_of(m, b));
        if (fabs(sum / STEPS - has) > 1e-6) fail_msg("%s: %g by hand, %g", makers[i], sum / STEPS, has);
        xt_loader_free(l);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

static const kind plain = {"plain"}, aux = {"aux", .aux = true};

static void what_the_file_lacks(void **state) {
    (void)state;
    char from[256];
    assert_int_equal(fit(&plain, "plain", NULL, NULL), 0);
    assert_int_equal(fit(&aux, "aux", NULL, NULL), 0);
    str_clear(&said);
    assert_true(isnan(validated(&aux, "plain/last.ckpt")));
    says("plain/last.ckpt holds no tensor aux.weight, which the module needs");
    double has = validated(&aux, "aux/last.ckpt");
    assert_true(has > 0);
    snprintf(from, sizeof from, "%s", in_dir("plain/6.ckpt"));
    str_clear(&said);
    assert_int_equal(fit(&aux, "more", from, NULL), 0);
    says(": aux.weight is not in ");
    says("plain/6.ckpt, which the fit goes on from: it begins as that of a new layer");
    if (strstr(str_cstr(&said), "aux.bias is not in")) fail_msg("told twice: %s", str_cstr(&said));
    /* the same trainer's module, of a later file first, and then of one that has no such layer */
    now = aux;
    xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .ckpt = in_dir("aux/last.ckpt"));
    now = plain;
    assert_int_equal(xt_validate(t, &task, xt_loader_new(numbers(), .batch = BATCH)), 0);
    snprintf(from, sizeof from, "%s", in_dir("plain/last.ckpt"));
    char *words[] = {"test", "--ckpt", from, NULL};
    xt_trainer_args(t, 3, words);
    assert_int_equal(xt_validate(t, &task, xt_loader_new(numbers(), .batch = BATCH)), 0);
    now = aux;
    str_clear(&said);
    assert_int_equal(xt_validate(t, &task, xt_loader_new(numbers(), .batch = BATCH)), 1);
    says("holds no tensor aux.weight");
    xt_trainer_free(t);
    xt_clear_error();
}

/* Of the net's own layers a fit that goes on has those that it had: one that came is refused, one that went is told. */
static void layers_that_come_and_go(void **state) {
    (void)state;
    static const kind deep = {"deep", .deep = true};
    const kind *kinds[] = {&plain, &deep};
    char from[256];
    for (int was = 0; was < 2; was++) {
        assert_int_equal(fit(kinds[was], "was", NULL, NULL), 0);
        snprintf(from, sizeof from, "%s", in_dir("was/6.ckpt"));
        for (int is = 0; is < 2; is++) {
            str_clear(&said);
            assert_int_equal(fit(kinds[is], "is", from, NULL), !was && is);
            if (!was && is) says("was/6.ckpt holds no tensor deep.weight, which the module needs: a fit goes on with");
            if (strstr(str_cstr(&said), "begins as that of a new layer")) fail_msg("%s", str_cstr(&said));
            xt_clear_error();
            bool gone = strstr(str_cstr(&said), "was/6.ckpt holds 2 tensors that no layer has asked for since the fit");
            if (gone != (was && !is)) fail_msg("%d, %d: %s", was, is, str_cstr(&said));
        }
    }
}

/* What the network is made of may be asked for before it is made. */
static void settings_of_the_fit_that_is_gone_on_from(void **state) {
    (void)state;
    static const struct {
        const char *from, *name, *says;
    } rows[] = {{"plain/6.ckpt", "model.width", "8"},
                {"plain/6.ckpt", "model.name", "plain"},
                {"plain", "model.name", "plain"},
                {"plain/6.ckpt", "trainer.max_epochs", "3"},
                {"plain/6.ckpt", "model.depth", NULL},
                {NULL, "model.width", NULL},
                {"none/of/those.ckpt", "model.width", NULL},
                {"plain/end", "model.width", NULL}};
    assert_int_equal(fit(&plain, "plain", NULL, NULL), 0);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .resume = rows[i].from ? in_dir(rows[i].from) : NULL);
        const char *is = xt_trainer_resumed_text(t, rows[i].name);
        if (!is != !rows[i].says || (is && strcmp(is, rows[i].says) != 0)) fail_msg("row %zu: %s", i, is ? is : "none");
        assert_null(xt_error());
        xt_trainer_free(t);
    }
}

/* A program that no longer says xt_lora goes on with the adapters, which alone are trained. */
static void adapters_without_their_word(void **state) {
    (void)state;
    static const kind with = {"with", .alternates = true, .maker = "lora"}, without = {"without", .alternates = true};
    assert_int_equal(fit(&with, "whole", NULL, NULL), 0);
    for (int at = 1; at < STEPS * EPOCHS; at += 4) {
        char from[256];
        snprintf(from, sizeof from, "%s/whole/%d.ckpt", dir, at);
        str_clear(&said);
        if (fit(&without, "resumed", from, NULL)) fail_msg("from step %d: %s", at, str_cstr(&said));
        says("xt_lora of a.weight, xt_lora of out.weight; the rest is frozen as it was");
        if (!same_files("whole/end", "resumed/end")) fail_msg("from step %d", at);
    }
    const kind *kinds[] = {&with, &(kind){"other", .alternates = true, .maker = "other lora"}};
    for (int other = 0; other < 2; other++) { /* one that says it counts, and what differs is told */
        char from[256];
        snprintf(from, sizeof from, "%s/whole/5.ckpt", dir);
        str_clear(&said);
        assert_int_equal(fit(kinds[other], "resumed", from, NULL), 0);
        if (other) says("5.ckpt was written with xt_lora of a.weight where .alpha = 8, and it is 5 here");
        if (!other && strstr(str_cstr(&said), "was written with")) fail_msg("%s", str_cstr(&said));
    }
    assert_int_equal(xt_finish(), 0);
}

/* Norms that come to weights which a file has as they are. */
static void weights_that_a_norm_would_make(void **state) {
    (void)state;
    char from[256];
    assert_int_equal(fit(&plain, "plain", NULL, NULL), 0);
    snprintf(from, sizeof from, "%s", in_dir("plain/6.ckpt"));
    const kind normed = {"normed", .maker = "spectral norm"};
    str_clear(&said);
    assert_int_equal(fit(&normed, "normed", from, NULL), 1);
    says("a.weight is in ");
    says("xt_spectral_norm at ");
    says("leave that call out of a fit that goes on, or begin one without resume and load it as one of them");
    says(".rename = \"a.weight=a.parametrizations.weight.original\"");
    xt_clear_error();
    for (int renamed = 0; renamed < 2; renamed++) {
        xt_module *m = xt_module_new(net, NULL);
        assert_true(xt_weight_norm(m, "a.weight"));
        ok(xt_load_with(m, in_dir("plain/end"),
                        .rename = renamed ? "a.weight=a.parametrizations.weight.original1" : NULL));
        xt_tensor y = xt_forward(m, xt_ones(XT_F32, 2, 4));
        if (renamed) {
            xt_module *as_it_is = xt_module_new(net, NULL);
            ok(xt_load(as_it_is, in_dir("plain/end")));
            double off = xt_item(xt_max(xt_abs(xt_minus(y, xt_forward(as_it_is, xt_ones(XT_F32, 2, 4))))));
            assert_true(off < 1e-6);
            xt_module_free(as_it_is);
        } else {
            assert_non_null(xt_error());
            assert_non_null(strstr(xt_status_message(xt_error()), "weight=a.parametrizations.weight.original1"));
            xt_clear_error();
        }
        xt_mark_step();
        xt_module_free(m);
    }
    xt_clear_error();
}

/* --- what the run lacks, or has more --- */
static void what_is_left_out_is_told(void **state) {
    (void)state;
    static const kind two = {"two", .manual = true}, averaged = {"averaged", .averages = true};
    static const struct {
        const kind *was, *is;
        const char *told;
    } rows[] = {{&two, &plain, "holds the state of 2 optimizers, and this run has 1: the state of the last ones is"},
                {&plain, &two, "holds the state of 1 optimizer, and this run has 2: the last ones begin anew"},
                {&averaged, &plain, "holds tensors of the callback weight_averaging, which this run does not have"},
                {&plain, &plain, NULL},
                {&averaged, &averaged, NULL}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char from[256];
        assert_int_equal(fit(rows[i].was, "was", NULL, NULL), 0);
        snprintf(from, sizeof from, "%s", in_dir("was/7.ckpt"));
        str_clear(&said);
        fit(rows[i].is, "is", from, NULL);
        if (rows[i].told)
            says(rows[i].told);
        else if (strstr(str_cstr(&said), "holds"))
            fail_msg("row %zu: %s", i, str_cstr(&said));
        xt_clear_error();
    }
}

/* What a pass has not called may be made integers, and a setup hook, which comes behind the file, may want another
 * dtype. */
static void narrow_setup(xt_module *m, const char *stage, void *user) {
    (void)user;
    if (strcmp(stage, "validate") == 0) ok(xt_module_set_dtype(m, XT_BF16));
}
static void narrowed_behind_the_file(void **state) {
    (void)state;
    assert_int_equal(fit(&aux, "aux", NULL, NULL), 0);
    double wide = validated(&aux, "aux/last.ckpt");
    now = plain;
    xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .ckpt = in_dir("aux/last.ckpt"));
    assert_int_equal(xt_validate(t, &task, xt_loader_new(numbers(), .batch = BATCH)), 0);
    xt_module *m = xt_trainer_module(t);
    assert_int_equal(xt_quantize(m, "aux.weight", .bits = 8, .block_size = 4), 1);
    xt_tensor h = xt_forward(m, xt_ones(XT_F32, 2, 4));
    assert_true(isfinite(xt_item(away(m, "aux", h))));
    assert_true(xt_mark_step());
    xt_trainer_free(t);
    now = aux;
    xt_task own = task;
    own.setup = narrow_setup;
    t = TEST_TRAINER(.logger = XT_OFF, .ckpt = in_dir("aux/last.ckpt"));
    assert_int_equal(xt_validate(t, &own, xt_loader_new(numbers(), .batch = BATCH)), 0);
    double v = xt_trainer_metric(t, "v", true);
    assert_int_equal(xt_dtype_of(xt_module_find(xt_trainer_module(t), "aux.weight")), XT_BF16);
    if (!(fabs(v - wide) < 1e-2 * wide) || v == wide) fail_msg("%g and %g", v, wide);
    xt_trainer_free(t);
}

/* A parameter of another dtype than the file's is made of the file's value. */
static void other_dtypes(void **state) {
    (void)state;
    const kind wide = {"wide", .dtype = XT_F32}, narrow = {"narrow", .dtype = XT_BF16};
    assert_int_equal(fit(&wide, "wide", NULL, NULL), 0);
    double as_written = validated(&wide, "wide/last.ckpt"), rounded = validated(&narrow, "wide/last.ckpt");
    if (!(fabs(as_written - rounded) < 1e-2 * as_written) || as_written == rounded)
        fail_msg("%g and %g", as_written, rounded);
}

/* The file of a fit's end has the last epoch's end, whatever file its last step wrote. */
static void finished_fits_have_nothing_left(void **state) {
    (void)state;
    char from[256];
    assert_int_equal(fit(&plain, "ended", NULL, "3batches"), 0);
    snprintf(from, sizeof from, "%s", in_dir("ended/last.ckpt"));
    str_clear(&said);
    assert_int_equal(fit(&plain, "again", from, "3batches"), 0);
    says("max_epochs 3 is reached already: nothing to train");
    assert_true(same_files("ended/end", "again/end"));
    /* a run that has an epoch's end left alone keeps a file behind it */
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s", in_dir(i ? "rest/last.ckpt" : "ended/18.ckpt"));
        str_clear(&said);
        assert_int_equal(fit(&plain, i ? "again" : "rest", from, "3batches"), 0);
        assert_true(i == (strstr(str_cstr(&said), "nothing to train") != NULL));
        assert_true(i || file_exists(in_dir("rest/last.ckpt")));
    }
    assert_true(same_files("ended/end", "again/end"));
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(fits_that_go_on),
                                       T(passes_have_what_makes_weights),
                                       T(what_the_file_lacks),
                                       T(layers_that_come_and_go),
                                       T(adapters_without_their_word),
                                       T(settings_of_the_fit_that_is_gone_on_from),
                                       T(weights_that_a_norm_would_make),
                                       T(what_is_left_out_is_told),
                                       T(narrowed_behind_the_file),
                                       T(other_dtypes),
                                       T(finished_fits_have_nothing_left)};
    return cmocka_run_group_tests_name("train_waiting", tests, NULL, NULL);
}
