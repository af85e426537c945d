/* libjpeg reports errors by longjmp; everything it must not skip over is set up before setjmp and released after. What
 * it only warns of, cut and damaged data, is an error here: it would go on with grey. */
#include "format/jpeg.h"

#include "format/room.h"

#if XT_HAVE_JPEG
#include <setjmp.h>
#include <stdlib.h> /* before the headers of libjpeg, which define what they miss */

#include <jpeglib.h>

#include <jerror.h>

enum { MOST_SCANS = 500 }; /* a progressive file of a few bytes may have thousands, each a pass over the picture */

typedef struct reader {
    struct jpeg_error_mgr errors; /* first: libjpeg's pointer is ours */
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    char why[JMSG_LENGTH_MAX];
} reader;

static void fail(j_common_ptr c) {
    reader *r = (reader *)c->err;
    c->err->format_message(c, r->why);
    longjmp(r->out, 1);
}

/* Below 0: a warning. Bytes between markers, scans in an odd order and an odd Adobe marker harm no pixel. */
static void told(j_common_ptr c, int level) {
    int code = c->err->msg_code;
    bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_NOT_SEQUENTIAL || code == JWRN_ADOBE_XFORM;
    if (level < 0 && !harmless) fail(c);
}

static void count_scans(j_common_ptr c) {
    reader *r = (reader *)c->err;
    if (!c->is_decompressor || ((j_decompress_ptr)c)->input_scan_number <= MOST_SCANS) return;
    snprintf(r->why, sizeof r->why, "it has more than %d scans", MOST_SCANS);
    longjmp(r->out, 1);
}

/* Adobe's CMYK is inverted: full is no ink. */
static void from_cmyk(const uint8_t *cmyk, int64_t width, bool inverted, uint8_t *rgb) {
    for (int64_t i = 0; i < width; i++)
        for (int c = 0; c < 3; c++) {
            unsigned v = cmyk[4 * i + c], k = cmyk[4 * i + 3];
            if (!inverted) v = 255 - v, k = 255 - k;
            unsigned p = v * k + 128;
            rgb[3 * i + c] = (uint8_t)((p + (p >> 8)) >> 8);
        }
}

/* Of a coefficient in 64 a bit at least is in the file; a picture of more pixels than that is no picture. */
static xt_status check_size(const char *name, const struct jpeg_decompress_struct *d, size_t n) {
    uint64_t pixels = (uint64_t)d->image_width * d->image_height;
    if (pixels / 64 / 8 > n)
        return status_new(XT_DATA_LOSS, NULL, "%s is said to be %u x %u pixels, more than a JPEG of %zu bytes holds",
                          name, d->image_width, d->image_height, n);
    /* progressive ones are kept as coefficients of 2 bytes until the last scan */
    return room_for(pixels * 3 + pixels * 2 * (uint64_t)d->num_components, "the picture", name);
}

static void read_rows(struct jpeg_decompress_struct *d, uint8_t *row, uint8_t *rgb) {
    size_t width = d->output_width;
    while (d->output_scanline < d->output_height) {
        uint8_t *to = rgb + (size_t)d->output_scanline * width * 3, *line = row ? row : to;
        jpeg_read_scanlines(d, &line, 1);
        if (row) from_cmyk(row, (int64_t)width, d->saw_Adobe_marker, to);
    }
}

typedef struct picture { /* what is to be freed, wherever libjpeg left off */
    int width, height;
    uint8_t *rgb, *row;
    xt_status error;
} picture;

/* Nothing local changes behind setjmp: what there is to free lies in *p. */
static void decode(struct jpeg_decompress_struct *d, reader *r, const char *name, const void *data, size_t n,
                   picture *p) {
    if (setjmp(r->out)) {
        p->error = status_new(XT_DATA_LOSS, NULL, "%s is damaged, or no JPEG picture: %s", name, r->why);
        return;
    }
    jpeg_create_decompress(d);
    d->progress = &r->progress;
    jpeg_mem_src(d, data, (unsigned long)n);
    jpeg_read_header(d, TRUE);
    if ((p->error = check_size(name, d, n))) return;
    bool cmyk = d->num_components == 4;
    d->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    p->width = (int)d->image_width;
    p->height = (int)d->image_height;
    size_t bytes = 3 * (size_t)d->image_width * d->image_height;
    p->rgb = base_malloc(bytes);
    p->row = cmyk ? base_malloc(4 * (size_t)d->image_width) : NULL;
    if (!p->rgb || (cmyk && !p->row)) {
        p->error = status_oom(bytes, name);
        return;
    }
    jpeg_start_decompress(d);
    read_rows(d, p->row, p->rgb);
    jpeg_finish_decompress(d);
}

bool jpeg_is_there(void) {
    return true;
}

xt_status jpeg_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                          uint8_t **out_rgb) {
    struct jpeg_decompress_struct d = {0};
    reader r = {.progress.progress_monitor = count_scans};
    picture p = {0};
    *out_rgb = NULL;
    d.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = fail;
    r.errors.emit_message = told;
    decode(&d, &r, name, data, n, &p);
    jpeg_destroy_decompress(&d);
    base_free(p.row);
    if (p.error) {
        base_free(p.rgb);
        return p.error;
    }
    *out_width = p.width;
    *out_height = p.height;
    *out_rgb = p.rgb;
    return NULL;
}
#else
bool jpeg_is_there(void) {
    return false;
}

xt_status jpeg_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                          uint8_t **out_rgb) {
    (void)data;
    (void)n;
    *out_width = *out_height = 0;
    *out_rgb = NULL;
    return status_new(XT_UNIMPLEMENTED, NULL,
                      "%s is a JPEG picture, and this build of xtrain has no libjpeg: install libjpeg62-turbo-dev and "
                      "build again, or turn the pictures into PNG",
                      name);
}
#endif
