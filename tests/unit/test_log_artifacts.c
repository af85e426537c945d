/* Histograms, images, texts and loggers of one's own: what reaches a logger, when, and what the event file holds.
 * TensorBoard's own reader is asked in tests/slow/tensorboard.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/proto.h"
#include "format/event.h"
#include "metrics/log.h"

static char dir[64];
static void hush(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}
static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_log_artifacts_XXXXXX");
    xt_set_sink(hush, NULL);
    return mkdtemp(dir) ? 0 : -1;
}
static int end(void **state) {
    (void)state;
    char command[128];
    xt_finish();
    xt_set_sink(NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || live_get(LIVE_logger) != 0;
}

static log_artifact got[8];
static int n_got;
static uint8_t pixels[8][1024];
static bool take(void *user, const log_artifact *a) {
    (void)user;
    if (a->kind == LOG_IMAGE)
        memcpy(pixels[n_got], a->rgb,
               (size_t)(3 * a->width * a->height) < sizeof pixels[0] ? (size_t)(3 * a->width * a->height)
                                                                     : sizeof pixels[0]);
    got[n_got] = *a;
    got[n_got].name = strdup(a->name);
    got[n_got++].text = a->text ? strdup(a->text) : NULL;
    return true;
}
static void no_row(void *user, const log_row *row) {
    (void)user, (void)row;
}
static void forget(void) {
    for (int i = 0; i < n_got; i++) {
        free((char *)(uintptr_t)got[i].name);
        free((char *)(uintptr_t)got[i].text);
    }
    n_got = 0;
}

static void values_become_what_is_shown(void **state) {
    (void)state;
    log_sink sink = {.row = no_row, .artifact = take};
    log_add_sink(&sink);
    static const float v[] = {0, 1, 2, 3, 3, NAN};
    static const uint8_t grey[] = {0, 255, 7, 128};
    static const float colour[] = {1, 0, 0, 0.5f, 2, -1};
    xt_log_histogram("h", xt_from_array(v, XT_F32, 6));
    xt_log_image("grey", xt_from_array(grey, XT_U8, 2, 2));
    xt_log_image("colour", xt_from_array(colour, XT_F32, 3, 1, 2));
    xt_log_text("note", "hello");
    xt_mark_step();
    assert_true(xt_wait());
    log_drain();
    assert_int_equal(n_got, 4);
    int h = -1, g = -1, c = -1, t = -1;
    for (int i = 0; i < 4; i++)
        *(got[i].kind == LOG_HISTOGRAM       ? &h
          : got[i].kind == LOG_TEXT          ? &t
          : strcmp(got[i].name, "grey") == 0 ? &g
                                             : &c) = i;
    assert_true(h >= 0 && g >= 0 && c >= 0 && t >= 0);
    assert_true(got[h].min == 0 && got[h].max == 3 && got[h].count == 5 && got[h].sum == 9 && got[h].sum_squares == 23);
    assert_true(got[h].bins[0] == 1 && got[h].bins[10] == 1 && got[h].bins[20] == 1 && got[h].bins[LOG_BINS - 1] == 2);
    static const uint8_t want_grey[] = {0, 0, 0, 255, 255, 255, 7, 7, 7, 128, 128, 128},
                         want_colour[] = {255, 0, 255, 0, 128, 0};
    assert_memory_equal(pixels[g], want_grey, sizeof want_grey);
    assert_memory_equal(pixels[c], want_colour, sizeof want_colour);
    assert_string_equal(got[t].text, "hello");
    forget();
    uint8_t nine[9];
    for (int i = 0; i < 9; i++) nine[i] = (uint8_t)(i + 1);
    xt_log_image("grid", xt_from_array(nine, XT_U8, 9, 1, 1, 1));
    xt_log_image("one", xt_from_array(colour, XT_F32, 1, 3, 1, 2));
    xt_mark_step();
    assert_true(xt_wait());
    log_drain();
    assert_int_equal(n_got, 2);
    int one = strcmp(got[0].name, "one") == 0 ? 0 : 1, grid = 1 - one;
    assert_true(got[one].height == 1 && got[one].width == 2);
    assert_memory_equal(pixels[one], want_colour, sizeof want_colour);
    /* make_grid: 8 in a row, 2 pixels around each */
    assert_true(got[grid].height == 2 * 3 + 2 && got[grid].width == 8 * 3 + 2);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 26; x++) {
            int k = (y - 2) / 3 * 8 + (x - 2) / 3;
            bool inside = y >= 2 && x >= 2 && (y - 2) % 3 == 0 && (x - 2) % 3 == 0 && k < 9;
            assert_int_equal(pixels[grid][3 * (y * 26 + x) + 1], inside ? k + 1 : 0);
        }
    forget();
    xt_log_image("bad", xt_from_array(v, XT_F32, 6));
    assert_non_null(strstr(xt_status_message(xt_error()), "expected [H,W]"));
    xt_clear_error();
    xt_log_image("bad", xt_zeros(XT_F32, 4, 2, 8, 8));
    assert_non_null(strstr(xt_status_message(xt_error()), "[N,3,H,W]"));
    xt_clear_error();
    log_remove_sink(&sink);
}

/* --- in a trainer --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x);
    xt_log_histogram("weights", xt_module_find(m, "fc.weight"));
    return xt_mean(out);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static int rows_seen, texts_seen, closed;
static double last_value;
static xt_status own_row(const xt_log_row *r, void *user) {
    rows_seen++;
    assert_ptr_equal(user, &rows_seen);
    assert_string_equal(r->stage, "train");
    for (int64_t i = 0; i < r->n; i++)
        if (strcmp(r->names[i], "loss") == 0) last_value = r->values[i];
    return NULL;
}
static xt_status own_text(const char *name, const char *text, int64_t step, void *user) {
    (void)user, (void)step;
    texts_seen += strcmp(name, "note") == 0 && strcmp(text, "begun") == 0;
    return NULL;
}
static void own_close(void *user) {
    (void)user;
    closed++;
}
static void say(xt_module *m, void *user) {
    (void)m, (void)user;
    xt_log_text("note", "begun");
}

static void only_due_rows_read_histograms(void **state) {
    (void)state;
    static float x[64];
    xt_task task = {.net = net, .training_step = train_step, .configure_optimizers = sgd, .on_fit_start = say};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .log_every_n_steps = 4, .runs_dir = dir, .progress_bar = XT_OFF,
                                   .loggers = "tensorboard,jsonl");
    xt_trainer_number(t, "model.lr", 0.1);
    xt_trainer_add_logger(t,
                          &(xt_logger_desc){.struct_size = sizeof(xt_logger_desc),
                                            .name = "mine",
                                            .row = own_row,
                                            .text = own_text,
                                            .close = own_close},
                          &rows_seen);
    log_sink sink = {.row = no_row, .artifact = take};
    log_add_sink(&sink);
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 16), .batch = 2);
    assert_int_equal(xt_fit(t, &task, l, NULL), 0);
    assert_int_equal(rows_seen, 3); /* steps 4 and 8, and the epoch's mean loss */
    assert_int_equal(texts_seen, 1);
    assert_true(isfinite(last_value));
    assert_int_equal(n_got, 3); /* the text, and the histogram of steps 4 and 8 */
    assert_int_equal(got[1].step, 4);
    assert_int_equal(got[2].step, 8);
    assert_int_equal(xt_trainer_result(t).compiles, 1); /* a parameter is there without computing anything */
    forget();
    log_remove_sink(&sink);
    char command[256];
    snprintf(command, sizeof command,
             "grep -q '_hparams_/session_start_info' %s/events.out.tfevents.* && grep -q '\"text\":\"begun\"' "
             "%s/metrics.jsonl",
             xt_trainer_run_dir(t), xt_trainer_run_dir(t));
    assert_int_equal(system(command), 0);
    xt_trainer_free(t);
    assert_int_equal(closed, 1);
}

/* The messages, field by field. */
static void rich_events_have_their_fields(void **state) {
    (void)state;
    str file = STR_INIT;
    const double bins[] = {2, 3};
    event_append_histogram(&file, 1.5, 7, "h", &(event_histogram){0, 4, 5, 6, 7, bins, 2});
    event_reader r = {(const unsigned char *)file.data, (const unsigned char *)file.data + file.len};
    bool more;
    const void *data;
    size_t n;
    assert_null(event_next(&r, &more, &data, &n));
    assert_true(more);
    proto_reader event = proto_read(data, n);
    proto_field f, v, h;
    bool seen = false;
    while (proto_next(&event, &f)) {
        if (f.number == 2) assert_int_equal(f.value, 7);
        if (f.number != 5) continue;
        proto_reader summary = proto_read(f.data, f.size);
        assert_true(proto_next(&summary, &v));
        proto_reader value = proto_read(v.data, v.size);
        while (proto_next(&value, &v)) {
            if (v.number != 5) continue;
            proto_reader histo = proto_read(v.data, v.size);
            while (proto_next(&histo, &h))
                if (h.number == 6) {
                    double limits[2];
                    assert_int_equal(h.size, sizeof limits);
                    memcpy(limits, h.data, sizeof limits);
                    assert_true(limits[0] == 2 && limits[1] == 4);
                    seen = true;
                }
            assert_false(histo.bad);
        }
    }
    assert_true(seen && !event.bad);
    str_free(&file);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(values_become_what_is_shown), T(only_due_rows_read_histograms),
                                       cmocka_unit_test(rich_events_have_their_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
