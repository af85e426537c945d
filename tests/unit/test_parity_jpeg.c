/* JPEG pictures beside Pillow's pixels, and files that are cut, damaged or forged. */
#include "parity.h"

#include "format/image.h"
#include "format/jpeg.h"
#include "format/room.h"

static const char *const kinds[] = {"baseline", "subsampled", "progressive", "grey", "cmyk"};

static xt_status decode(const void *data, int64_t n, int *w, int *h, uint8_t **rgb) {
    return image_decode_rgb("a.jpg", data, (size_t)n, w, h, rgb);
}

static void refused(const void *data, int64_t n, const char *part) {
    int w, h;
    uint8_t *rgb = NULL;
    xt_status s = decode(data, n, &w, &h, &rgb);
    if (!s) fail_msg("a damaged picture was read; wanted: %s", part);
    if (!strstr(xt_status_message(s), part) || !strstr(xt_status_message(s), "a.jpg"))
        fail_msg("no \"%s\" in: %s", part, xt_status_message(s));
    assert_null(rgb);
    xt_status_free(s);
}

static void pixels_are_pillows(void **state) {
    (void)state;
    parity_file *f = parity_open("jpeg");
    for (size_t k = 0; k < BASE_COUNT(kinds); k++) {
        const parity_tensor *file = parity_find(f, "%s/file", kinds[k]), *want = parity_find(f, "%s/rgb", kinds[k]);
        int w = 0, h = 0;
        uint8_t *rgb = NULL;
        if (!jpeg_is_there()) {
            refused(file->data, file->type->count, "has no libjpeg");
            continue;
        }
        xt_status s = decode(file->data, file->type->count, &w, &h, &rgb);
        if (s) fail_msg("%s: %s", kinds[k], xt_status_message(s));
        assert_true(h == want->type->dims[0] && w == want->type->dims[1]);
        for (int64_t i = 0; i < want->type->count; i++)
            if (rgb[i] != ((const uint8_t *)want->data)[i])
                fail_msg("%s: byte %lld is %d, Pillow's %d", kinds[k], (long long)i, rgb[i],
                         ((const uint8_t *)want->data)[i]);
        base_free(rgb);
    }
    parity_close_file(f);
}

/* A picture that ends early would be grey below; it is an error at every length. */
static void cut_and_forged_files(void **state) {
    (void)state;
    parity_file *f = parity_open("jpeg");
    for (size_t k = 0; k < BASE_COUNT(kinds) && jpeg_is_there(); k++) {
        const parity_tensor *file = parity_find(f, "%s/file", kinds[k]);
        for (int64_t n = 3; n + 2 <= file->type->count; n += 1 + n / 17)
            refused(file->data, n, "damaged, or no JPEG picture");
    }
    const parity_tensor *file = parity_find(f, "baseline/file");
    unsigned char *forged = malloc((size_t)file->type->count);
    assert_non_null(forged);
    memcpy(forged, file->data, (size_t)file->type->count);
    int64_t at = 0; /* the frame's header says the sides */
    while (at + 9 < file->type->count && !(forged[at] == 0xff && forged[at + 1] == 0xc0)) at++;
    assert_true(at + 9 < file->type->count);
    memset(forged + at + 5, 0xff, 4);
    if (jpeg_is_there()) {
        /* libjpeg's own limit is 65500 a side */
        refused(forged, file->type->count, "damaged");
        forged[at + 5] = forged[at + 7] = 0xf0;
        refused(forged, file->type->count, "more than a JPEG of");
        int w, h;
        uint8_t *rgb = NULL;
        room_is(1024);
        xt_status s = decode(file->data, file->type->count, &w, &h, &rgb);
        assert_true(xt_status_code(s) == XT_RESOURCE_EXHAUSTED && !rgb);
        xt_status_free(s);
        room_is(0);
    }
    refused("GIF89a..", 8, "neither a PNG's nor a JPEG's");
    free(forged);
    parity_close_file(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pixels_are_pillows), cmocka_unit_test(cut_and_forged_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
