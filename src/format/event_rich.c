/* What TensorBoard shows beside scalars. Field numbers are those of TensorFlow's summary.proto and tensor.proto and of
 * the hparams plugin's plugin_data.proto and api.proto. */
#include "format/event.h"

#include <math.h>

#include "base/proto.h"

/* Event with a summary of one value. Takes the value's message over. */
static void append_value(str *out, double wall, int64_t step, str *value) {
    str summary = STR_INIT, m = STR_INIT;
    proto_message(&summary, 1, value);
    proto_double(&m, 1, wall);
    proto_int(&m, 2, step);
    proto_message(&m, 5, &summary);
    event_append_record(out, &m);
    str_free(&summary);
    str_free(&m);
    str_free(value);
}

static void packed_doubles(str *s, uint32_t field, const double *v, size_t n) {
    proto_bytes(s, field, v, n * sizeof *v); /* little-endian, as the machine's */
}

void event_append_histogram(str *out, double wall, int64_t step, const char *tag, const event_histogram *h) {
    str value = STR_INIT, histo = STR_INIT;
    double *limits = base_malloc((h->n_bins + 1) * sizeof *limits);
    if (!limits) {
        out->failed = true;
        return;
    }
    double width = h->max > h->min ? (h->max - h->min) / (double)h->n_bins : 1;
    for (size_t i = 0; i < h->n_bins; i++) limits[i] = h->min + width * (double)(i + 1);
    const double stats[] = {h->min, h->max, h->count, h->sum, h->sum_squares};
    for (uint32_t i = 0; i < BASE_COUNT(stats); i++) proto_double(&histo, i + 1, stats[i]);
    packed_doubles(&histo, 6, limits, h->n_bins);
    packed_doubles(&histo, 7, h->bins, h->n_bins);
    proto_text(&value, 1, tag);
    proto_message(&value, 5, &histo);
    str_free(&histo);
    base_free(limits);
    append_value(out, wall, step, &value);
}

void event_append_image(str *out, double wall, int64_t step, const char *tag, int width, int height, const void *png,
                        size_t n) {
    str value = STR_INIT, image = STR_INIT;
    proto_int(&image, 1, height);
    proto_int(&image, 2, width);
    proto_int(&image, 3, 3); /* RGB */
    proto_bytes(&image, 4, png, n);
    proto_text(&value, 1, tag);
    proto_message(&value, 4, &image);
    str_free(&image);
    append_value(out, wall, step, &value);
}

/* metadata { plugin_data { plugin_name, content } } */
static void plugin(str *value, const char *name, const str *content) {
    str data = STR_INIT, metadata = STR_INIT;
    proto_text(&data, 1, name);
    if (content) proto_message(&data, 2, content);
    proto_message(&metadata, 1, &data);
    proto_message(value, 9, &metadata);
    str_free(&data);
    str_free(&metadata);
}

void event_append_text(str *out, double wall, int64_t step, const char *tag, const char *text) {
    enum { DT_STRING = 7 };
    str value = STR_INIT, tensor = STR_INIT, shape = STR_INIT, dim = STR_INIT;
    proto_int(&dim, 1, 1);
    proto_message(&shape, 2, &dim);
    proto_int(&tensor, 1, DT_STRING);
    proto_message(&tensor, 2, &shape);
    proto_text(&tensor, 8, text);
    proto_text(&value, 1, tag);
    proto_message(&value, 8, &tensor);
    plugin(&value, "text", NULL);
    str_free(&dim);
    str_free(&shape);
    str_free(&tensor);
    append_value(out, wall, step, &value);
}

/* --- the table of runs --- */
static void append_hparams(str *out, double wall, const char *tag, uint32_t field, const str *message) {
    str value = STR_INIT, content = STR_INIT;
    proto_message(&content, field, message);
    proto_text(&value, 1, tag);
    plugin(&value, "hparams", &content);
    str_free(&content);
    append_value(out, wall, 0, &value);
}

static bool as_number(const char *text, double *v) {
    return parse_double(text, v) && isfinite(*v);
}

static void experiment(str *m, size_t n, const event_setting *settings, size_t n_metrics, const char *const *metrics) {
    enum { TYPE_STRING = 1, TYPE_NUMBER = 3 };
    double v;
    for (size_t i = 0; i < n; i++) {
        str info = STR_INIT;
        proto_text(&info, 1, settings[i].name);
        proto_int(&info, 4, as_number(settings[i].text, &v) ? TYPE_NUMBER : TYPE_STRING);
        proto_message(m, 4, &info);
        str_free(&info);
    }
    for (size_t i = 0; i < n_metrics; i++) {
        str name = STR_INIT, info = STR_INIT;
        proto_text(&name, 2, metrics[i]);
        proto_message(&info, 1, &name);
        proto_message(m, 5, &info);
        str_free(&name);
        str_free(&info);
    }
}

void event_append_run(str *out, double wall, size_t n, const event_setting *settings, size_t n_metrics,
                      const char *const *metrics) {
    str m = STR_INIT, start = STR_INIT;
    double v;
    experiment(&m, n, settings, n_metrics, metrics);
    append_hparams(out, wall, "_hparams_/experiment", 2, &m);
    for (size_t i = 0; i < n; i++) {
        str value = STR_INIT, entry = STR_INIT;
        if (as_number(settings[i].text, &v))
            proto_double(&value, 2, v);
        else
            proto_text(&value, 3, settings[i].text);
        proto_text(&entry, 1, settings[i].name);
        proto_message(&entry, 2, &value);
        proto_message(&start, 1, &entry);
        str_free(&value);
        str_free(&entry);
    }
    proto_double(&start, 5, wall);
    append_hparams(out, wall, "_hparams_/session_start_info", 3, &start);
    str_free(&m);
    str_free(&start);
}

void event_append_run_end(str *out, double wall, bool ok) {
    str m = STR_INIT;
    proto_int(&m, 1, ok ? 1 : 2);
    proto_double(&m, 2, wall);
    append_hparams(out, wall, "_hparams_/session_end_info", 4, &m);
    str_free(&m);
}
