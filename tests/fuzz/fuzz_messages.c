/* Fuzz target of what comes beside a program: the first byte picks the reader, the rest is its input. Compile options
 * (a protocol buffer), shardings as texts of mhlo and of sdy, replica groups by mesh axes, numpy files, XSpace messages
 * of a device's trace. Each ends in a status or in a value that is freed. */
#include "base/proto.h"
#include "diag/profile.h"
#include "format/npy.h"
#include "ir/sdy.h"
#include "pjrt/face.h"
#include "fuzz.h"

static void options(const char *text, size_t n) {
    face_options o;
    str again = STR_INIT;
    xt_status s = face_options_read(text, n, &o);
    if (!s && o.ids) face_assignment_write(&o, o.ids, &again);
    if (!s) face_options_deinit(&o);
    xt_status_free(s);
    str_free(&again);
}

static void sharding(const char *text) {
    str out = STR_INIT;
    xt_status_free(face_sharding_write(text, &out));
    str_free(&out);
}

static const char meshes[] =
    "module { sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]> sdy.mesh @one = <[], device_ids=[3]> func.func @main(%a: "
    "tensor<8x4xf32>) -> tensor<8x4xf32> { return %a : tensor<8x4xf32> } }";

static void sdy(const char *text, int which) {
    ir_module *m = NULL;
    str out = STR_INIT;
    sdy_form form;
    int64_t groups, members, *ids = NULL;
    if (ir_parse(meshes, sizeof meshes - 1, "meshes", &m)) abort();
    const char *first = ir_sdy_of_value(text, 0);
    if (which == 0)
        xt_status_free(
            ir_sdy_text(m, text, ir_tensor(XT_F32, 2, (int64_t[]){8, 4}), &(sdy_wish){.only = NULL}, &form, &out));
    if (which == 0 && first)
        xt_status_free(ir_sdy_text(m, first, ir_tensor(XT_F32, 2, (int64_t[]){8, 4}),
                                   &(sdy_wish){.only = "{\"x\"}", .even = true}, &form, &out));
    if (which == 1 && ir_sdy_is_groups(text)) xt_status_free(ir_sdy_groups_of(m, text, &groups, &members, &ids));
    if (which == 2) xt_status_free(ir_sdy_groups(m, "@mesh", text, &groups, &members, &ids));
    base_free(ids);
    str_free(&out);
    ir_module_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    size_t rest = n - 1;
    char *text = malloc(rest + 1); /* its own block, so that a read past the end is seen */
    if (!text) return 0;
    memcpy(text, data + 1, rest);
    text[rest] = '\0';
    xt_array values = {0};
    str space = STR_INIT;
    switch (data[0] % 7) {
    case 0: options(text, rest); break;
    case 1: sharding(text); break;
    case 2: sdy(text, 0); break;
    case 3: sdy(text, 1); break;
    case 4: sdy(text, 2); break;
    case 5:
        xt_status_free(npy_decode(text, rest, "fuzz", &values));
        base_free(values.data);
        break;
    case 6: diag_write_xspace(NULL, 0, 0, text, rest, &space); break;
    }
    str_free(&space);
    free(text);
    return 0;
}
