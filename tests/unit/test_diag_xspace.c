/* Profiles: what our device told is written for TensorBoard with the user's lines, planes of other devices are passed
 * on byte for byte; their traces, in the forms that XLA's profilers give them for TPUs and GPUs (names of lines and
 * stats as in files recorded there), are read as ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/xplane.h"
#include "diag/profile.h"

#include <xtrain/xtrain.h>

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
            if (g.number == 2 && g.wire == PROTO_BYTES && g.size == strlen(name) && memcmp(g.data, name, g.size) == 0)
                return f;
    }
    return (proto_field){0};
}

static bool has(proto_field f, const char *text) {
    return f.data && f.size && memmem(f.data, f.size, text, strlen(text));
}

static void planes(void **state) {
    (void)state;
    str space = STR_INIT, out = STR_INIT;
    append_plane(&space, "/device:TPU:0", "something of its own");
    append_plane(&space, "/device:CUSTOM:xtrain CPU", "without lines");
    proto_bytes(&space, 3, "a warning", 9);
    const xt_src at = {"train.c", 41, "main"};
    const span spans[] = {{.name = intern("step 5"), .thread = HOST_THREAD, .begin_ns = 1000, .ns = 500, .step = 5},
                          {.name = intern("attend"), .thread = SCOPE_THREAD, .begin_ns = 1100, .ns = 50, .step = 5},
                          {.name = intern("n17 (stablehlo.add)"),
                           .thread = DEVICE_OPS,
                           .kind = SPAN_OP,
                           .begin_ns = 1200,
                           .ns = 90,
                           .step = 5,
                           .src = src_intern(&at),
                           .path = intern("h.3.attn"),
                           .kernel = intern("fused")}};
    diag_write_xspace(spans, BASE_COUNT(spans), 1000, space.data, space.len, &out);
    proto_field tpu = plane_named(&out, "/device:TPU:0"), own = plane_named(&out, "/device:CUSTOM:xtrain"),
                host = plane_named(&out, "/host:CPU");
    assert_true(has(tpu, "something of its own"));
    assert_true(has(own, "n17 (stablehlo.add) train.c:41") && has(own, "h.3.attn") && has(own, "fused") &&
                has(own, "percent_of_roofline"));
    assert_true(has(host, "step 5") && has(host, "attend") && !has(host, "n17"));
    assert_int_equal(plane_named(&out, "/device:CUSTOM:xtrain CPU").size, 0);
    assert_true(memmem(out.data, out.len, "a warning", 9) != NULL);
    str_clear(&out);
    diag_write_xspace(spans, 2, 1000, NULL, 0, &out); /* a device that tells nothing: the host alone */
    assert_int_equal(plane_named(&out, "/device:CUSTOM:xtrain").size, 0);
    assert_true(plane_named(&out, "/host:CPU").size > 0);
    str_free(&space), str_free(&out);
}

/* --- a foreign device's trace --- */
/* A stat by name id: a reference to a name (STAT_REF) or a number (STAT_WHOLE); the forms that XLA's profilers use. */
enum { STAT_WHOLE = 3, STAT_REF = 7 };
static void stat(str *to, uint32_t field, int id, uint32_t form, int64_t v) {
    str s = STR_INIT;
    proto_int(&s, 1, id);
    proto_int(&s, form, v);
    proto_message(to, field, &s);
    str_free(&s);
}

/* The metadata of an event: its name, a short one, and stats that all such events share. */
static void event_kind(str *plane, int64_t id, const char *name, const char *display, const str *stats) {
    str m = STR_INIT, entry = STR_INIT;
    proto_int(&m, 1, id);
    proto_bytes(&m, 2, name, strlen(name));
    if (display) proto_bytes(&m, 4, display, strlen(display));
    if (stats) str_appendn(&m, stats->data, stats->len);
    proto_int(&entry, 1, id);
    proto_message(&entry, 2, &m);
    proto_message(plane, 4, &entry);
    str_free(&m), str_free(&entry);
}

static void event(str *line, int64_t kind, int64_t at_ns, int64_t ns, const str *stats) {
    str e = STR_INIT;
    proto_int(&e, 1, kind);
    proto_int(&e, 2, at_ns * 1000);
    proto_int(&e, 3, ns * 1000);
    if (stats) str_appendn(&e, stats->data, stats->len);
    proto_message(line, 4, &e);
    str_free(&e);
}

static void add_line(str *plane, const char *name, int64_t at_ns, str *events) {
    str l = STR_INIT;
    proto_int(&l, 1, 3);
    proto_bytes(&l, 2, name, strlen(name));
    if (at_ns) proto_int(&l, 3, at_ns);
    str_appendn(&l, events->data, events->len);
    proto_message(plane, 3, &l);
    str_free(&l);
    str_clear(events);
}

static void add_plane(str *space, const char *name, str *rest) {
    str p = STR_INIT;
    str_appendn(&p, rest->data, rest->len); /* the name may come last */
    proto_bytes(&p, 2, name, strlen(name));
    proto_message(space, 1, &p);
    str_free(&p);
    str_clear(rest);
}

/* A TPU: lines without a time (since the begin of the session), two runs of a module, a loop around an op, costs and
 * origins in the metadata. */
static void append_tpu(str *space) {
    str plane = STR_INIT, events = STR_INIT, stats = STR_INIT;
    static const char *const names[] = {"",       "tf_op",         "flops",      "bytes_accessed", "hlo_category",
                                        "run_id", "jit(step)/n0:", "loop fusion"};
    for (int k = 1; k < (int)BASE_COUNT(names); k++) xplane_name(&plane, XPLANE_STAT_NAMES, k, names[k]);
    event_kind(&plane, 1, "main(1234)", NULL, NULL);
    stat(&stats, 5, 1, STAT_REF, 6), stat(&stats, 5, 2, STAT_WHOLE, 4000), stat(&stats, 5, 3, STAT_WHOLE, 800),
        stat(&stats, 5, 4, STAT_REF, 7);
    event_kind(&plane, 2, "%fusion.3 = f32[8]{0} fusion(f32[8]{0} %p0), kind=kLoop", "fusion.3", &stats);
    event_kind(&plane, 3, "%while.1 = ...", "while.1", NULL);
    str_clear(&stats);
    stat(&stats, 4, 5, STAT_WHOLE, 901); /* a number of the client's, not of this trace */
    event(&events, 1, 9000, 3000, &stats), event(&events, 1, 1000, 5000, &stats);
    add_line(&plane, "XLA Modules", 0, &events);
    event(&events, 3, 1500, 4000, NULL), event(&events, 2, 2000, 1500, NULL), event(&events, 2, 9500, 1000, NULL);
    add_line(&plane, "XLA Ops", 0, &events);
    event(&events, 1, 1000, 11000, NULL);
    add_line(&plane, "Steps", 0, &events);
    add_plane(space, "/device:TPU:0", &plane);
    str_free(&plane), str_free(&events), str_free(&stats);
}

/* A GPU: kernels on streams, times since 1970, the origin in the event. */
static void append_gpu(str *space, int64_t unix_ns) {
    str plane = STR_INIT, events = STR_INIT, stats = STR_INIT;
    xplane_name(&plane, XPLANE_STAT_NAMES, 1, "name");
    xplane_name(&plane, XPLANE_STAT_NAMES, 2, "hlo_op");
    event_kind(&plane, 7, "loop_add_fusion", NULL, NULL);
    xplane_stat_text(&stats, 1, "jit(step)/n0");
    xplane_stat_text(&stats, 2, "add_fusion");
    event(&events, 7, 700, 50, &stats), event(&events, 7, 900, 60, NULL);
    add_line(&plane, "Stream #13(Compute)", unix_ns, &events);
    event(&events, 7, 100, 10, NULL);
    add_line(&plane, "Stream #14(Memcpy H2D)", unix_ns, &events);
    add_plane(space, "/device:GPU:0", &plane);
    str_free(&plane), str_free(&events), str_free(&stats);
}

static void forget(diag_trace *t) {
    base_free(t->spans);
    base_free(t->lines);
    *t = (diag_trace){0};
}

static int64_t noted;
static void note(void *user, const lazy_event *e) {
    (void)user;
    noted = e->program;
}

/* A program whose op n0 is of a known line: the one that this makes. */
static int64_t a_program(src_id *out_src) {
    float x[4] = {1, 2, 3, 4};
    xt_tensor y = xt_exp(xt_from_array(x, XT_F32, 4));
    lazy_on_event(note, NULL);
    xt_when_ready(y, NULL, NULL);
    assert_true(xt_mark_step());
    xt_wait();
    uint32_t path;
    assert_true(lazy_program_origin(noted, 0, out_src, &path) && *out_src);
    return noted;
}

static void tpu(void **state) {
    (void)state;
    src_id src;
    int64_t program = a_program(&src), other = program + 1000, began = 5000000000;
    const int64_t programs[] = {program, other}, steps[] = {10, 11};
    diag_runs runs = {programs, steps, 2, began};
    diag_trace t = {0};
    str space = STR_INIT;
    append_tpu(&space);
    diag_read_xspace(&t, space.data, space.len, &runs);
    assert_int_equal(t.n, 6);
    assert_int_equal(t.n_lines, 3);
    assert_string_equal(intern_text(t.lines[1]), "/device:TPU:0 XLA Ops");
    int ops = 0, fusions = 0;
    for (size_t i = 0; i < t.n; i++) {
        const span *s = &t.spans[i];
        assert_true(s->thread >= FOREIGN_THREADS && s->begin_ns >= began + 1000 &&
                    s->begin_ns + s->ns <= began + 12000);
        if (s->kind != SPAN_OP) continue;
        ops++;
        /* by the order of modules, not by a number of the client's */
        assert_int_equal(s->step, s->begin_ns < began + 9000 ? 10 : 11);
        if (strcmp(intern_text(s->name), "while.1") == 0) assert_int_equal(s->self_ns, 2500);
        if (strcmp(intern_text(s->name), "fusion.3") != 0) continue;
        fusions++;
        assert_true(s->flops == 4000 && s->bytes == 800);
        assert_string_equal(intern_text(s->kernel), "loop fusion");
        assert_int_equal(s->src, s->step == 10 ? src : 0); /* the other program is not known */
    }
    assert_int_equal(ops, 3);
    assert_int_equal(fusions, 2);
    forget(&t);
    /* more modules than programs were started: nothing is claimed of steps, and one program is the program */
    runs.n = 1;
    diag_read_xspace(&t, space.data, space.len, &runs);
    for (size_t i = 0; i < t.n; i++) assert_int_equal(t.spans[i].step, -1);
    forget(&t);
    str_free(&space);
}

static void gpu(void **state) {
    (void)state;
    src_id src;
    int64_t program = a_program(&src), began = clock_ns();
    const int64_t programs[] = {program, program, program}, steps[] = {3, 4, 5};
    const diag_runs runs = {programs, steps, 3, began};
    diag_trace t = {0};
    str space = STR_INIT, out = STR_INIT;
    append_gpu(&space, began + diag_epoch_ns());
    diag_read_xspace(&t, space.data, space.len, &runs);
    assert_int_equal(t.n, 3);
    for (size_t i = 0; i < t.n; i++) {
        int64_t at = t.spans[i].begin_ns - began; /* two clocks were read at two moments */
        assert_true(t.spans[i].kind == SPAN_OP && at > -100000000 && at < 100000000);
    }
    assert_int_equal(t.spans[0].src, src);
    assert_string_equal(intern_text(t.spans[0].name), "loop_add_fusion");
    assert_int_equal(t.spans[1].src, 0);
    /* In the file for TensorBoard our planes are on its clock. */
    const span host = {.name = intern("step 3"), .thread = HOST_THREAD, .begin_ns = began, .ns = 500, .step = 3};
    diag_write_xspace(&host, 1, began, space.data, space.len, &out);
    proto_reader r = proto_read(plane_named(&out, "/host:CPU").data, plane_named(&out, "/host:CPU").size);
    int64_t at = 0;
    for (proto_field line, f; proto_next(&r, &line);) {
        proto_reader inner = proto_read(line.data, line.size);
        while (line.number == 3 && proto_next(&inner, &f))
            if (f.number == 3) at = (int64_t)f.value;
    }
    assert_true(at > (int64_t)1500000000 * 1000000000);
    assert_true(plane_named(&out, "/device:GPU:0").size > 0);
    forget(&t);
    str_free(&space), str_free(&out);
}

/* Cut anywhere and with any byte changed: what can be read is read, and nothing else happens (under the sanitizers:
 * nothing at all). */
static void damaged(void **state) {
    (void)state;
    const int64_t programs[] = {1, 1}, steps[] = {1, 2};
    const diag_runs runs = {programs, steps, 2, 1000};
    diag_trace t = {0};
    str space = STR_INIT, out = STR_INIT;
    append_tpu(&space);
    append_gpu(&space, (int64_t)1700000000 * 1000000000);
    append_plane(&space, "/device:CUSTOM:xtrain CPU", "x");
    for (size_t n = 0; n < space.len; n++) {
        diag_read_xspace(&t, space.data, n, &runs);
        forget(&t);
    }
    for (size_t i = 0; i < space.len; i++) {
        char was = space.data[i];
        space.data[i] = (char)(was ^ (i % 2 ? 0x80 : 0xff));
        diag_read_xspace(&t, space.data, space.len, &runs);
        if (i % 16 == 0) diag_write_xspace(t.spans, t.n, 1000, space.data, space.len, &out), str_clear(&out);
        forget(&t);
        space.data[i] = was;
    }
    str_free(&space), str_free(&out);
}

/* Whatever a name holds, the JSON that it goes into is one. */
static void names(void **state) {
    (void)state;
    static const struct {
        const char *name, *want;
    } rows[] = {{"gr\xc3\xb6\xc3\x9f"
                 "er",
                 "gr\xc3\xb6\xc3\x9f"
                 "er"},
                {"cut \xe2\x82", "cut ??"},
                {"bad \xff!", "bad ?!"},
                {"\xc0\xaf", "??"}};
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        str plane = STR_INIT, events = STR_INIT, space = STR_INIT;
        diag_trace t = {0};
        event_kind(&plane, 1, rows[k].name, NULL, NULL);
        event(&events, 1, 0, 10, NULL);
        add_line(&plane, "XLA Ops", 0, &events);
        add_plane(&space, "/device:TPU:1", &plane);
        diag_read_xspace(&t, space.data, space.len, &(diag_runs){.began_ns = 5000000000});
        assert_int_equal(t.n, 1);
        assert_string_equal(intern_text(t.spans[0].name), rows[k].want);
        forget(&t);
        str_free(&plane), str_free(&events), str_free(&space);
    }
}

static int leave(void **state) {
    (void)state;
    lazy_on_event(NULL, NULL);
    return xt_finish();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(planes), cmocka_unit_test(tpu), cmocka_unit_test(gpu),
                                       cmocka_unit_test(damaged), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, leave);
}
