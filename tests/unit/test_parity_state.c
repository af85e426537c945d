/* State dicts both ways: a file PyTorch wrote loads into a module that has not run, into one that has, in part and with
 * a prefix; what we write has the same names, shapes and values. With a file name as argument the program writes the
 * file for tests/parity/state.py to check. */
#include <unistd.h>

#include "parity.h"

static xt_tensor conv(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_conv2d(m, "", x, 4, 3, .padding = 1);
}
static xt_tensor norm(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_batch_norm(m, "", x);
}
static xt_tensor relu(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    (void)user;
    return xt_relu(x);
}
static xt_tensor up(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_conv_transpose2d(m, "", x, 2, 2, .bias = XT_OFF);
}

/* user: where the second output goes */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    x = xt_sequential(m, "features", x, {conv, NULL}, {norm, NULL}, {relu, NULL}, {up, NULL});
    x = xt_reshape(x, xt_dim(x, 0), -1, xt_dim(x, 3));
    for (int i = 0; i < 2; i++)
        x = xt_transformer_encoder_layer(xt_sub(m, "blocks", i), "", x, .heads = 2, .feedforward = 8, .dropout = 0,
                                         .batch_first = XT_ON);
    x = xt_lstm(m, "rnn", x, 5, .bidirectional = XT_ON, .batch_first = XT_ON).output;
    x = xt_squeeze(xt_slice(x, 1, -1, xt_dim(x, 1)), 1);
    xt_module *heads = xt_sub(m, "heads", -1);
    xt_tensor value = xt_linear(heads, "value", x, 1);
    if (user) *(xt_tensor *)user = value;
    return xt_mul(xt_linear(heads, "class", x, 3), xt_param(m, "scale", "ones", 0, XT_F32, 3));
}

static const char *state_path(void) {
    return PARITY_DIR "/state.safetensors";
}

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static void expect(xt_status s, xt_code code, const char *text) {
    if (!s) fail_msg("no error, expected \"%s\"", text);
    if (xt_status_code(s) != code || !strstr(xt_status_message(s), text))
        fail_msg("\"%s\", expected \"%s\"", xt_status_message(s), text);
    xt_status_free(s);
}

static void compare(xt_module *m, xt_tensor *second) {
    parity_file *f = parity_open("state_io");
    xt_eval(m);
    xt_tensor y = xt_keep(xt_forward(m, parity_input(f, "net/x0"))), z = xt_keep(*second);
    assert_true(xt_mark_step());
    parity_close(f, "net/y0", y, 0, 0);
    parity_close(f, "net/y1", z, 0, 0);
    xt_drop(y);
    xt_drop(z);
    parity_close_file(f);
}

static void pytorchs_file(void **state) {
    (void)state;
    xt_tensor second = {0};
    xt_module *m = xt_module_new(net, &second);
    ok(xt_load(m, state_path())); /* before anything is made */
    compare(m, &second);
    xt_module *n = xt_module_new(net, &second);
    ok(xt_module_build(n, (xt_spec){XT_F32, {3, 1, 4, 5}}));
    assert_true(xt_mark_step());
    ok(xt_load(n, state_path())); /* after */
    compare(n, &second);
    assert_int_equal(xt_finish(), 0);
}

static void our_file(void **state) {
    const char *given = *state;
    char path[] = "/tmp/xt_state_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    xt_tensor second = {0};
    xt_module *m = xt_module_new(net, &second);
    ok(xt_load(m, state_path()));
    compare(m, &second);
    ok(xt_save(m, given ? given : path));
    st_file *theirs, *ours;
    ok(st_open(state_path(), &theirs));
    ok(st_open(given ? given : path, &ours));
    assert_int_equal(st_count(theirs), st_count(ours));
    for (size_t i = 0; i < st_count(theirs); i++) {
        const st_entry *a = st_at(theirs, i), *b = st_find(ours, a->name);
        if (!b) fail_msg("%s is not in our file", a->name);
        size_t n = (size_t)(a->end - a->begin);
        char x[4096], y[4096];
        assert_true(n <= sizeof x && b->end - b->begin == n && a->dtype == b->dtype && a->rank == b->rank);
        assert_memory_equal(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
        ok(st_read(theirs, a, x, n));
        ok(st_read(ours, b, y, n));
        assert_memory_equal(x, y, n);
    }
    st_close(theirs);
    st_close(ours);
    unlink(path);
    assert_int_equal(xt_finish(), 0);
}

static xt_tensor other(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_linear(xt_sub(m, "heads", -1), "class", x, 3);
    return xt_linear(m, "extra", x, 2);
}
static xt_tensor misfit(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(xt_sub(m, "heads", -1), "class", x, 4);
}
static xt_tensor part(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "class", x, 3);
}

static void in_part(void **state) {
    (void)state;
    xt_load_report r;
    xt_module *m = xt_module_new(other, NULL);
    expect(xt_load_with(m, state_path(), .strict = XT_OFF), XT_FAILED_PRECONDITION, "xt_module_build");
    ok(xt_module_build(m, (xt_spec){XT_F32, {2, 10}}));
    assert_true(xt_mark_step());
    expect(xt_load_with(m, state_path(), .report = &r), XT_NOT_FOUND, "holds no tensor extra.weight");
    assert_int_equal(r.loaded, 0);
    ok(xt_load_with(m, state_path(), .strict = XT_OFF, .report = &r));
    assert_int_equal(r.loaded, 2);
    assert_int_equal(r.missing, 2);
    assert_true(r.unexpected > 20);
    assert_non_null(strstr(r.names, "- extra.bias\n"));
    assert_non_null(strstr(r.names, "+ heads.value.weight\n"));
    xt_module *n = xt_module_new(misfit, NULL);
    ok(xt_module_build(n, (xt_spec){XT_F32, {2, 10}}));
    assert_true(xt_mark_step());
    expect(xt_load_with(n, state_path(), .strict = XT_OFF), XT_INVALID_ARGUMENT, "tensor heads.class.weight is");
    xt_module *p = xt_module_new(part, NULL);
    ok(xt_module_build(p, (xt_spec){XT_F32, {2, 10}}));
    assert_true(xt_mark_step());
    expect(xt_load_with(p, state_path(), .prefix = "heads."), XT_INVALID_ARGUMENT, "holds tensor value.");
    ok(xt_load_with(p, state_path(), .strict = XT_OFF, .prefix = "heads.", .report = &r));
    assert_int_equal(r.loaded, 2);
    assert_int_equal(r.unexpected, 2);
    xt_module *q = xt_module_new(other, NULL); /* not built: the pass finds out */
    ok(xt_load(q, state_path()));
    float x[10] = {0};
    assert_true(xt_is_error(xt_forward(q, xt_from_array(x, XT_F32, 1, 10))));
    assert_non_null(strstr(xt_status_message(xt_error()), "holds no tensor extra.weight"));
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
}

/* A file of f16 and f64 values for an f32 module, loaded before and after it is built. */
static void other_widths(void **state) {
    (void)state;
    static const uint16_t halves[6] = {0x3C00, 0xC000, 0x3800, 0, 0x4200, 0x3400}; /* 1 -2 0.5 0 3 0.25 */
    static const double wide[3] = {0.1, -7, 1e-3};
    char path[] = "/tmp/xt_state_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    st_writer *w;
    ok(st_create(path, &w));
    ok(st_declare(w, "class.weight", XT_F16, 2, (int64_t[]){3, 2}));
    ok(st_declare(w, "class.bias", XT_F64, 1, (int64_t[]){3}));
    ok(st_data(w, halves, sizeof halves));
    ok(st_data(w, wide, sizeof wide));
    ok(st_commit(w));
    for (int built = 0; built < 2; built++) {
        xt_module *m = xt_module_new(part, NULL);
        if (!built) ok(xt_load(m, path));
        ok(xt_module_build(m, (xt_spec){XT_F32, {1, 2}}));
        assert_true(xt_mark_step());
        if (built) ok(xt_load(m, path));
        float weight[6], bias[3];
        ok(lazy_state_read(xt_module_find(m, "class.weight"), weight, sizeof weight));
        ok(lazy_state_read(xt_module_find(m, "class.bias"), bias, sizeof bias));
        assert_true(weight[0] == 1 && weight[1] == -2 && weight[2] == 0.5f && weight[3] == 0 && weight[4] == 3 &&
                    weight[5] == 0.25f);
        assert_true(bias[0] == 0.1f && bias[1] == -7 && bias[2] == 1e-3f);
    }
    unlink(path);
    assert_int_equal(xt_finish(), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pytorchs_file),
                                       cmocka_unit_test_prestate(our_file, argc > 1 ? argv[1] : NULL),
                                       cmocka_unit_test(in_part), cmocka_unit_test(other_widths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
