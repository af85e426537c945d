/* Profiles for TensorBoard: what our device told is written with the user's lines, planes of other devices are passed on byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/proto.h"
#include "diag/profile.h"

static void append_plane(str *space, const char *name, const char *rest) {
    str plane = STR_INIT;
    proto_int(&plane, 1, 7);
    proto_bytes(&plane, 2, name, strlen(name));
    proto_bytes(&plane, 6, rest, strlen(rest)); /* a field that we do not know */
    proto_message(space, 1, &plane);
    str_free(&plane);
}

/* The plane of that name; n is 0 without it. */
static proto_field plane_named(const str *space, const char *name) {
    proto_reader r = proto_read(space->data, space->len);
    for (proto_field f, g; proto_next(&r, &f);) {
        proto_reader inner = proto_read(f.data, f.size);
        while (f.number == 1 && proto_next(&inner, &g))
            if (g.number == 2 && g.wire == PROTO_BYTES && g.size == strlen(name) && memcmp(g.data, name, g.size) == 0) return f;
    }
    return (proto_field){0};
}

static bool has(proto_field f, const char *text) { return f.data && f.size && memmem(f.data, f.size, text, strlen(text)); }

static void planes(void **state) {
    (void)state;
    str space = STR_INIT, out = STR_INIT;
    append_plane(&space, "/device:TPU:0", "something of its own");
    append_plane(&space, "/device:CUSTOM:xtrain CPU", "without lines");
    proto_bytes(&space, 3, "a warning", 9);
    const xt_src at = {"train.c", 41, "main"};
    const span spans[] = {{.name = intern("step 5"), .thread = HOST_THREAD, .begin_ns = 1000, .ns = 500, .step = 5},
                          {.name = intern("attend"), .thread = SCOPE_THREAD, .begin_ns = 1100, .ns = 50, .step = 5},
                          {.name = intern("n17 (stablehlo.add)"), .thread = DEVICE_OPS, .begin_ns = 1200, .ns = 90, .step = 5, .src = src_intern(&at), .path = intern("h.3.attn"), .kernel = intern("fused")}};
    diag_write_xspace(spans, BASE_COUNT(spans), 1000, space.data, space.len, &out);
    proto_field tpu = plane_named(&out, "/device:TPU:0"), own = plane_named(&out, "/device:CUSTOM:xtrain"), host = plane_named(&out, "/host:CPU");
    assert_true(has(tpu, "something of its own"));
    assert_true(has(own, "n17 (stablehlo.add) train.c:41") && has(own, "h.3.attn") && has(own, "fused") && has(own, "percent_of_roofline"));
    assert_true(has(host, "step 5") && has(host, "attend") && !has(host, "n17"));
    assert_int_equal(plane_named(&out, "/device:CUSTOM:xtrain CPU").size, 0);
    assert_true(memmem(out.data, out.len, "a warning", 9) != NULL);
    str_clear(&out);
    diag_write_xspace(spans, 2, 1000, NULL, 0, &out); /* a device that tells nothing: the host alone */
    assert_int_equal(plane_named(&out, "/device:CUSTOM:xtrain").size, 0);
    assert_true(plane_named(&out, "/host:CPU").size > 0);
    str_free(&space), str_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
