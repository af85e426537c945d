/* Pictures scaled and cut beside torchvision's, and PNG files read beside Pillow's, to the bit. */
#include "parity.h"

#include "format/image.h"

static void scaled_as_torchvisions(void **state) {
    (void)state;
    parity_file *f = parity_open("pictures");
    int seen = 0;
    for (size_t k = 0; k < f->n; k++) {
        const parity_tensor *rgb = &f->tensors[k];
        size_t n = strcspn(rgb->name, "/");
        if (strcmp(rgb->name + n, "/rgb") != 0) continue;
        const parity_tensor *want = parity_find(f, "%.*s/new", (int)n, rgb->name);
        int64_t side = want->type->dims[1];
        float *got = malloc((size_t)want->type->count * sizeof *got);
        assert_non_null(got);
        assert_null(image_scale_and_cut(rgb->data, rgb->type->dims[1], rgb->type->dims[0], side, got));
        for (int64_t i = 0; i < want->type->count; i++)
            if (got[i] != ((const float *)want->data)[i])
                fail_msg("%s: number %lld is %g of 255, torchvision's %g", rgb->name, (long long)i,
                         (double)got[i] * 255, (double)((const float *)want->data)[i] * 255);
        free(got);
        seen++;
    }
    assert_int_equal(seen, 19);
    parity_close_file(f);
}

/* Of every depth and kind of colour, with what Pillow does not look at: alpha, a transparent colour, gamma. */
static void read_as_pillows(void **state) {
    (void)state;
    parity_file *f = parity_open("pictures");
    int seen = 0;
    for (size_t k = 0; k < f->n; k++) {
        const parity_tensor *file = &f->tensors[k];
        size_t n = strcspn(file->name, "/");
        if (strcmp(file->name + n, "/file") != 0) continue;
        const parity_tensor *want = parity_find(f, "%.*s/as_rgb", (int)n, file->name);
        const uint8_t *pixels = want->data;
        int width, height;
        uint8_t *got;
        xt_status s = image_decode_rgb(file->name, file->data, (size_t)file->type->count, &width, &height, &got);
        if (s) fail_msg("%s", xt_status_message(s));
        assert_int_equal(height, want->type->dims[0]);
        assert_int_equal(width, want->type->dims[1]);
        for (int64_t i = 0; i < want->type->count; i++)
            if (got[i] != pixels[i])
                fail_msg("%s: number %lld is %d, Pillow's %d", file->name, (long long)i, got[i], pixels[i]);
        base_free(got);
        seen++;
    }
    assert_int_equal(seen, 82);
    parity_close_file(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scaled_as_torchvisions), cmocka_unit_test(read_as_pillows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
