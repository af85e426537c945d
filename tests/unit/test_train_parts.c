/* The parts of the trainer that need no device: periods and windows, throughput arithmetic, event files,
 * loggers, pictures. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/plot.h>

#include "format/event.h"
#include "format/png.h"
#include "train/logger.h"
#include "train/period.h"
#include "train/throughput_window.h"

/* The verdict table of the api: the same period in steps is always fine, in micro-batches it must be whole windows. */
static void periods_have_verdicts(void **state) {
    (void)state;
    static const struct {
        int64_t accumulate, period;
        const char *in_batches; /* NULL: accepted; else what the message must say */
    } rows[] = {{1, 50, NULL},
                {2, 10, NULL},
                {10, 5, "nearest valid: 10 "},
                {2, 3, "nearest valid: 2 or 4 "},
                {4, 4, NULL},
                {4, 6, "nearest valid: 4 or 8 "}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        period p;
        xt_status s = period_settle(rows[i].accumulate, rows[i].period, 0, &p);
        assert_null(s);
        assert_int_equal(p.steps, rows[i].period);
        assert_int_equal(p.batches, rows[i].period * rows[i].accumulate);
        s = period_settle(rows[i].accumulate, 50, rows[i].period, &p);
        if (!rows[i].in_batches) {
            assert_null(s);
            assert_int_equal(p.batches, rows[i].period);
            assert_int_equal(p.steps * rows[i].accumulate, rows[i].period);
            continue;
        }
        char both[64];
        snprintf(both, sizeof both, "%d is not a multiple of accumulate_grad_batches = %d", (int)rows[i].period,
                 (int)rows[i].accumulate);
        assert_non_null(s);
        assert_non_null(strstr(xt_status_message(s), both));
        assert_non_null(strstr(xt_status_message(s), rows[i].in_batches));
        xt_status_free(s);
    }
}

static void short_windows_know_their_size(void **state) {
    (void)state;
    int64_t ends = 0;
    for (int64_t i = 0; i < 10; i++) {
        window w = window_of(i, 10, 4);
        assert_int_equal(w.size, i < 8 ? 4 : 2);
        assert_int_equal(w.begins, i == 0 || i == 4 || i == 8);
        assert_int_equal(w.ends, i == 3 || i == 7 || i == 9);
        ends += w.ends;
    }
    assert_int_equal(ends, 3);
    window one = window_of(7, 100, 1);
    assert_true(one.begins && one.ends && one.size == 1);
    window only = window_of(2, 3, 8);
    assert_true(only.ends && only.size == 3);
}

static const int64_t SECOND = 1000000000;

static void rates_come_from_completions(void **state) {
    (void)state;
    thr_window w;
    thr_stats s;
    assert_null(thr_init(&w, 4));
    thr_done(&w, thr_begin(&w, 32), 100 * SECOND); /* holds the compile: sets the clock only */
    assert_false(thr_get(&w, &s));
    thr_done(&w, thr_begin(&w, 32), 101 * SECOND);
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 1);
    assert_float_equal(s.samples_per_s, 32, 1e-6);
    int64_t last = thr_begin(&w, 16); /* an uneven batch counts as it is */
    thr_flops(&w, last, 4e9);
    thr_done(&w, last, 103 * SECOND);
    assert_true(thr_get(&w, &s));
    assert_float_equal(s.mean_s, 1.5, 1e-6);
    assert_float_equal(s.batches_per_s, 2.0 / 3, 1e-6);
    assert_float_equal(s.samples_per_s, 16, 1e-6);
    assert_float_equal(s.flops_per_s, 4e9 / 3, 1);
    assert_float_equal(s.p50_s, 1, 1e-6);
    assert_float_equal(s.p95_s, 2, 1e-6);
    /* Validation from 103 to 163; a training batch then takes 1 s. */
    thr_resume(&w, 163 * SECOND);
    thr_done(&w, thr_begin(&w, 32), 164 * SECOND);
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 3);
    assert_float_equal(s.mean_s, 4.0 / 3, 1e-6);
    /* A batch that was dispatched but has not finished is in no number. */
    thr_begin(&w, 1000);
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 3);
    thr_deinit(&w);
}

/* Lightning's own numbers with a clock of our own: completions at 0, 1.5, 2.5 .. 5.5 s, 3 samples a batch, a window of
 * 4; and batches of 1, 3, 2, 1, 4. The first batch sets the clock, so a rate is of the batches after it. */
static void a_clock_of_ones_own(void **state) {
    (void)state;
    static const double at[] = {0, 1.5, 2.5, 3.5, 4.5, 5.5}, rate[] = {0, 2 / 1.5 / 2, 2 / 2.5, 3 / 3.5, 4 / 4.5, 1};
    thr_window w;
    thr_stats s;
    assert_null(thr_init(&w, 4));
    for (int i = 0; i < 6; i++) {
        int64_t seq = thr_begin(&w, 3);
        thr_flops(&w, seq, 10);
        thr_done(&w, seq, (int64_t)(at[i] * 1e9));
        assert_int_equal(w.batches, i + 1);
        assert_int_equal(w.samples, 3 * (i + 1));
        if (!thr_get(&w, &s)) continue;
        assert_float_equal(s.batches_per_s, rate[i], 1e-9);
        assert_float_equal(s.samples_per_s, 3 * rate[i], 1e-9);
        assert_float_equal(s.flops_per_s, 10 * rate[i], 1e-9); /* against a peak of 50: an MFU of 0.2 when it is 10 */
    }
    assert_float_equal(s.p50_s, 1, 1e-9);
    assert_float_equal(s.p95_s, 1, 1e-9);
    thr_deinit(&w);
    static const int64_t uneven[] = {1, 3, 2, 1, 4}, sums[] = {1, 4, 6, 7, 11};
    assert_null(thr_init(&w, 100));
    for (int i = 0; i < 5; i++) {
        thr_done(&w, thr_begin(&w, uneven[i]), (i + 1) * SECOND);
        assert_int_equal(w.samples, sums[i]);
    }
    assert_true(thr_get(&w, &s));
    assert_float_equal(s.samples_per_s, 10.0 / 4, 1e-9);
    thr_deinit(&w);
}

/* The names and numbers of a row: peak 50 and 10 FLOPs a second are an MFU of 0.2, whatever the number of ranks; rates
 * of all ranks are theirs together. */
static void rows_have_rates_of_one_and_of_all(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double value;
    } want[] = {{"throughput/batch_ms_mean", 500},        {"throughput/batch_ms_p50", 500},
                {"throughput/batch_ms_p95", 500},         {"throughput/batches_per_sec", 8},
                {"throughput/samples_per_sec", 16},       {"throughput/device/batches_per_sec", 2},
                {"throughput/device/samples_per_sec", 4}, {"throughput/items_per_sec", 32},
                {"throughput/device/items_per_sec", 8},   {"throughput/flops_per_sec", 40},
                {"throughput/device/flops_per_sec", 10},  {"throughput/mfu", 0.2}};
    const char *names[THR_VALUES];
    double values[THR_VALUES];
    thr_window w;
    thr_stats s;
    assert_null(thr_init(&w, 2));
    for (int i = 0; i < 3; i++) { /* 2 samples of 2 items and 5 FLOPs at 2, 2.5 and 3 s */
        int64_t seq = thr_begin(&w, 2);
        thr_flops(&w, seq, 5);
        thr_done(&w, seq, 2 * SECOND + i * SECOND / 2);
    }
    assert_true(thr_get(&w, &s));
    assert_int_equal(thr_values(&s, 4, 50, 2, false, names, values), BASE_COUNT(want));
    for (size_t i = 0; i < BASE_COUNT(want); i++) {
        assert_string_equal(names[i], want[i].name);
        assert_float_equal(values[i], want[i].value, 1e-9);
    }
    assert_int_equal(thr_values(&s, 1, 0, 2, false, names, values), BASE_COUNT(want) - 1); /* no peak: no MFU */
    assert_int_equal(thr_values(&s, 1, 100, 0, false, names, values), BASE_COUNT(want) - 2);
    assert_float_equal(values[BASE_COUNT(want) - 3], 0.1, 1e-9); /* a peak twice as high, as for sparse models */
    /* Batches that tell their own: 7 and 3 items in the second from 2 to 3, and none of the one that set the clock. */
    for (int64_t seq = 0; seq < 3; seq++) thr_items(&w, seq, (const int64_t[]){100, 7, 3}[seq]);
    assert_true(thr_get(&w, &s));
    assert_float_equal(s.items_per_s, 10, 1e-9);
    assert_int_equal(thr_values(&s, 4, 50, 2, false, names, values), BASE_COUNT(want));
    assert_float_equal(values[7], 40, 1e-9);
    assert_float_equal(values[8], 10, 1e-9);
    thr_deinit(&w);
}

static void windows_forget(void **state) {
    (void)state;
    thr_window w;
    thr_stats s;
    assert_null(thr_init(&w, 3));
    int64_t t = 0;
    for (int i = 0; i < 10; i++) thr_done(&w, thr_begin(&w, 8), t += (i < 7 ? 10 : 1) * SECOND);
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 3);
    assert_float_equal(s.mean_s, 1, 1e-6);
    assert_int_equal(w.batches, 10);
    assert_int_equal(w.samples, 80);
    for (int i = 0; i < 3; i++) thr_begin(&w, 8); /* under way: the window is still of three that have finished */
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 3);
    assert_float_equal(s.mean_s, 1, 1e-6);
    thr_deinit(&w);
}

/* --- files --- */
static char dir[64];

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_train_parts_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static char *read_in_dir(const char *pattern, size_t *out_size) {
    char command[160], path[256] = "";
    snprintf(command, sizeof command, "ls %s/%s", dir, pattern);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(path, sizeof path, p));
    pclose(p);
    path[strcspn(path, "\n")] = 0;
    char *data;
    xt_status s = file_read_all(path, &data, out_size);
    assert_null(s);
    return data;
}

static str seen;
static void note_scalar(void *user, double wall, int64_t step, const char *tag, double value) {
    (void)user;
    str_printf(&seen, "%g:%lld:%s=%g;", wall, (long long)step, tag, value);
}

static void events_read_back(void **state) {
    (void)state;
    assert_int_equal(event_crc32c("123456789", 9), 0xe3069283u); /* the check value of CRC-32C */
    str file = STR_INIT;
    event_append_version(&file, 1);
    event_append_scalars(&file, 2, 300, 2, (event_scalar[]){{"train/loss", 0.5}, {"lr", 2}});
    event_reader r = {(unsigned char *)file.data, (unsigned char *)file.data + file.len};
    bool more;
    const void *data;
    size_t n, records = 0;
    str_clear(&seen);
    for (;;) {
        assert_null(event_next(&r, &more, &data, &n));
        if (!more) break;
        records++;
        assert_null(event_scalars(data, n, note_scalar, NULL));
    }
    assert_int_equal(records, 2);
    assert_string_equal(str_cstr(&seen), "2:300:train/loss=0.5;2:300:lr=2;");
    file.data[file.len - 6] ^= 1; /* a flipped bit is noticed, a cut file is not an error */
    r = (event_reader){(unsigned char *)file.data, (unsigned char *)file.data + file.len};
    assert_null(event_next(&r, &more, &data, &n));
    xt_status s = event_next(&r, &more, &data, &n);
    assert_int_equal(xt_status_code(s), XT_DATA_LOSS);
    xt_status_free(s);
    r.end -= 3;
    assert_null(event_next(&r, &more, &data, &n));
    assert_false(more);
    str_free(&file);
    str_free(&seen);
}

static void loggers_write_rows(void **state) {
    (void)state;
    log_sink sinks[4];
    size_t n;
    assert_null(loggers_open("csv, tensorboard,jsonl", dir, (logger_settings){0}, sinks, 4, &n));
    assert_int_equal(n, 3);
    const log_value values[] = {{"train/loss", 0.25, true}, {"odd,\"name\"", NAN, false}};
    for (int step = 1; step <= 2; step++) {
        log_row row = {.stage = LOG_TRAIN,
                       .step = 10 * step,
                       .epoch = 1,
                       .batch = 3,
                       .samples = 640,
                       .wall = 7.5,
                       .n = 2,
                       .values = values};
        for (size_t i = 0; i < n; i++) sinks[i].row(sinks[i].user, &row);
    }
    size_t size;
    char *csv = read_in_dir("metrics.csv", &size);
    assert_string_equal(csv, "step,epoch,batch,samples,wall,stage,level,name,value\n"
                             "10,1,3,640,7.500,train,step,train/loss,0.25\n"
                             "10,1,3,640,7.500,train,step,\"odd,\"\"name\"\"\",nan\n"
                             "20,1,3,640,7.500,train,step,train/loss,0.25\n"
                             "20,1,3,640,7.500,train,step,\"odd,\"\"name\"\"\",nan\n");
    const size_t size_of_csv = size;
    char *jsonl = read_in_dir("metrics.jsonl", &size);
    assert_non_null(strstr(jsonl, "{\"values\":{\"train/loss\":0.25,\"odd,\\\"name\\\"\":null},\"step\":20,"));
    char *events = read_in_dir("events.out.tfevents.*", &size);
    event_reader r = {(unsigned char *)events, (unsigned char *)events + size};
    bool more = true;
    const void *data;
    size_t bytes, records = 0;
    while (!event_next(&r, &more, &data, &bytes) && more) records++;
    assert_int_equal(records, 3);
    /* TensorBoard's own reader, where it is installed. */
    if (system("python3 -c 'import tensorboard' 2>/dev/null") == 0) {
        char command[512];
        snprintf(command, sizeof command,
                 "python3 -c 'from tensorboard.backend.event_processing.event_accumulator import EventAccumulator as "
                 "A; a = A(\"%s\"); a.Reload(); "
                 "assert [(e.step, e.value) for e in a.Scalars(\"train/loss\")] == [(10, 0.25), (20, 0.25)]'",
                 dir);
        assert_int_equal(system(command), 0);
    }
    base_free(csv);
    base_free(jsonl);
    base_free(events);
    for (size_t i = 0; i < n; i++) log_remove_sink(&sinks[i]);
    assert_int_equal(live_get(LIVE_logger), 0);
    /* the same file again: its rows stay, its head is not repeated, a new name needs none */
    assert_null(loggers_open("csv", dir, (logger_settings){0}, sinks, 4, &n));
    const log_value late = {"late", 3, true};
    sinks[0].row(sinks[0].user, &(log_row){.stage = LOG_TRAIN, .step = 30, .wall = 8, .n = 1, .values = &late});
    log_remove_sink(&sinks[0]);
    csv = read_in_dir("metrics.csv", &size);
    assert_string_equal(csv + size_of_csv, "30,0,0,0,8.000,train,step,late,3\n");
    base_free(csv);
    xt_status s = loggers_open("csv,tensorbord", dir, (logger_settings){0}, sinks, 4, &n);
    assert_non_null(strstr(xt_status_message(s), "csv, tensorboard, jsonl"));
    assert_int_equal(live_get(LIVE_logger), 0);
    xt_status_free(s);
}

static void pictures_are_png(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/loss.png", dir);
    double x[] = {1, 2, 3, 4}, y[] = {3, NAN, 1, INFINITY};
    assert_null(xt_plot_lines(path, "loss", "step", (xt_plot_series[]){{"a", x, y, 4}, {"empty", x, y, 0}}, 2));
    size_t n;
    char *data = read_in_dir("loss.png", &n);
    assert_true(n > 500 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0);
    base_free(data);
    float grey[2 * 3 * 4] = {0, 1, 2, -1, NAN};
    snprintf(path, sizeof path, "%s/grid.png", dir);
    assert_null(xt_plot_images(path, "two", 2, 3, 4, grey, (const char *const[]){"3 not 5", "\xc3\xa9"}));
    xt_status s = xt_plot_images(path, NULL, 0, 3, 4, grey, NULL);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    xt_status_free(s);
    s = xt_plot_lines("/nonexistent/folder/x.png", "t", "x", (xt_plot_series[]){{"a", x, y, 4}}, 1);
    assert_non_null(s);
    xt_status_free(s);
}

static int pixels(const uint8_t *rgb, int n, uint32_t color) {
    int found = 0;
    for (const uint8_t *p = rgb; p < rgb + 3 * n; p += 3) found += (uint32_t)(p[0] << 16 | p[1] << 8 | p[2]) == color;
    return found;
}

/* Lengths are to scale: 0.5 of the mark is half of the grey behind it, and what passes the mark has another colour. */
static void bars_are_to_scale(void **state) {
    (void)state;
    enum { BLUE = 0x1f6fb4, ORANGE = 0xd9822b, GREY = 0xdfe3e8 };
    char path[128];
    snprintf(path, sizeof path, "%s/bars.png", dir);
    const xt_plot_bar bars[] = {{"half", 0.5, "0.5"}, {"double", 2, NULL}, {"none", NAN, "?"}};
    int w, h;
    uint8_t *rgb;
    assert_null(xt_plot_bars(path, "bars", "relative", bars, 3, 1));
    assert_null(png_read_rgb(path, &w, &h, &rgb));
    int blue = pixels(rgb, w * h, BLUE), orange = pixels(rgb, w * h, ORANGE), grey = pixels(rgb, w * h, GREY);
    base_free(rgb);
    assert_true(blue > 1000);
    assert_int_equal(orange, 4 * blue);
    assert_int_equal(grey, blue + 2 * blue); /* the half that is left, and the whole of the absent bar */
    assert_null(xt_plot_bars(path, NULL, NULL, bars, 1, NAN));
    assert_null(png_read_rgb(path, &w, &h, &rgb));
    assert_int_equal(pixels(rgb, w * h, GREY), 0);
    base_free(rgb);
    /* numbers without room for ticks between them, and texts of any length */
    static const double far[] = {DBL_MAX, -DBL_MAX, 1e17, 5e-324, 1e308, 0};
    char *text = malloc(70001);
    assert_non_null(text);
    memset(text, 'a', 70000);
    text[70000] = 0;
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        const xt_plot_bar odd[] = {{text, far[i], text}, {"one", 1e-310, NULL}};
        double at[] = {far[i], far[i]}, to[] = {far[i], far[sizeof far / sizeof far[0] - 1 - i]};
        assert_null(xt_plot_bars(path, text, text, odd, 1 + (int)(i % 2), far[i]));
        assert_null(xt_plot_lines(path, text, text, (xt_plot_series[]){{text, at, to, 2}, {"b", to, at, 2}}, 2));
    }
    free(text);
    xt_status s = xt_plot_bars(path, "t", NULL, bars, 65, 1);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    xt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_have_verdicts),
        cmocka_unit_test(short_windows_know_their_size),
        cmocka_unit_test(rates_come_from_completions),
        cmocka_unit_test(a_clock_of_ones_own),
        cmocka_unit_test(rows_have_rates_of_one_and_of_all),
        cmocka_unit_test(windows_forget),
        cmocka_unit_test(events_read_back),
        cmocka_unit_test_setup_teardown(loggers_write_rows, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(pictures_are_png, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(bars_are_to_scale, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
