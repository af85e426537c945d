/* TensorBoard event files: a stream of TFRecords, each a serialised Event message.
 *
 * Record: u64 little-endian length, masked CRC-32C of those 8 bytes, the data, masked CRC-32C of the data. The mask is
 * ((crc >> 15) | (crc << 17)) + 0xa282ead8. Event fields used: 1 wall_time (double), 2 step (int64), 3 file_version
 * (string, first record only, "brain.Event:2"), 5 summary; Summary.1 value { 1 tag, 2 simple_value (float) }. */
#ifndef XT_SRC_FORMAT_EVENT_H
#define XT_SRC_FORMAT_EVENT_H

#include "base/base.h"

uint32_t event_crc32c(const void *p, size_t n);
uint32_t event_mask(uint32_t crc);

typedef struct event_scalar {
    const char *tag;
    double value; /* stored as float, as the format wants it */
} event_scalar;
void event_append_record(str *out, const str *message); /* a serialised Event */
/* Append one whole record to `out`. */
void event_append_version(str *out, double wall);
void event_append_scalars(str *out, double wall, int64_t step, size_t n, const event_scalar *scalars);

/* Histogram: equal bins of [min, max]. Image: encoded PNG. Text: shown by the text plugin as Markdown. */
typedef struct event_histogram {
    double min, max, count, sum, sum_squares;
    const double *bins;
    size_t n_bins;
} event_histogram;
void event_append_histogram(str *out, double wall, int64_t step, const char *tag, const event_histogram *h);
void event_append_image(str *out, double wall, int64_t step, const char *tag, int width, int height, const void *png,
                        size_t n);
void event_append_text(str *out, double wall, int64_t step, const char *tag, const char *text);
/* The table of runs (hparams plugin): the settings of this run and the names of the values it is judged by; and
 * how it ended. */
typedef struct event_setting {
    const char *name, *text; /* a text that is a number is stored as one */
} event_setting;
void event_append_run(str *out, double wall, size_t n, const event_setting *settings, size_t n_metrics,
                      const char *const *metrics);
void event_append_run_end(str *out, double wall, bool ok);

/* Reading, for tests and tools: walks records of a file in memory. */
typedef struct event_reader {
    const unsigned char *at, *end;
} event_reader;
/* The next record; false at the end. A record cut off at the end of the file (a killed writer) ends the walk; a wrong
 * checksum is an error. */
xt_status event_next(event_reader *r, bool *out_more, const void **out_data, size_t *out_size);
/* Gives each scalar of a record to fn; other records give none. */
xt_status event_scalars(const void *data, size_t n,
                        void (*fn)(void *user, double wall, int64_t step, const char *tag, double value), void *user);

#endif
