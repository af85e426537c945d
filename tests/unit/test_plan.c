/* Rehearsals and plans on our own compiler: what is recorded, that figures add up and name the right lines, and what
 * goes wrong. Foreign compilers' dumps are read from texts of their form; the compilers themselves are asked in
 * tests/slow/plan.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "lazy/mesh/mesh.h"
#include "plan/hlo.h"

static int layer_line, step_line;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor h = xt_relu(xt_linear(m, "fc1", x, 512));
    layer_line = __LINE__ - 1;
    return xt_linear(m, "fc2", h, 10);
}

typedef struct job {
    int64_t batch, micro;
    const xt_axis *axes;
    bool keep;
} job;

static int train(void *user) {
    const job *j = user;
    int64_t k = j->micro ? j->micro : 1;
    xt_mesh *mesh = j->axes ? xt_mesh_new_at(XT_HERE, j->axes) : NULL;
    if (j->axes && !mesh) return 1;
    xt_module *m = xt_module_new(net, NULL);
    if (mesh) xt_mesh_fsdp(mesh, m, "data");
    xt_optimizer *opt = xt_adamw(m, .lr = 1e-3);
    xt_loader *loader = xt_sample_loader(.batch = j->batch / k, .count = 2 * k, .x = {XT_F32, {256}}, .y = {XT_I64});
    int64_t i = 0;
    for (xt_batch b; xt_next(loader, &b); i++) {
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        if (j->keep) xt_keep(xt_softmax(xt_forward(m, b.x), 1));
        xt_backward(loss);
        if ((i + 1) % k == 0) xt_optimizer_step(opt);
        step_line = __LINE__ - 1;
    }
    return 0;
}

#define assert_ok(expr) check_ok((expr), #expr, __LINE__)
static void check_ok(xt_status s, const char *what, int line) {
    if (!s) return;
    print_error("%s: %s\n", what, xt_status_message(s));
    _fail(__FILE__, line);
}

static void assert_says(xt_status s, const char *word) {
    assert_non_null(s);
    if (!strstr(xt_status_message(s), word)) print_error("'%s' does not say '%s'\n", xt_status_message(s), word);
    assert_non_null(strstr(xt_status_message(s), word));
    xt_status_free(s);
}

static xt_plan *plan_of(job j, xt_plan_opts o, int64_t devices) {
    xt_recording *r;
    xt_plan *p;
    assert_ok(xt_record(train, &j, devices, &r));
    assert_ok(xt_plan_make(r, o, &p));
    xt_recording_free(r);
    return p;
}

static void check_sums(const xt_plan_report *r) {
    int64_t kinds = 0, rows = 0;
    for (int k = 0; k < XT_PLAN_KINDS; k++) kinds += r->kinds[k];
    for (int i = 0; i < r->n_rows; i++) rows += r->rows[i].bytes + r->rows[i].padding;
    assert_int_equal(kinds, r->peak_bytes);
    assert_int_equal(rows + r->kinds[XT_PLAN_FRAGMENTATION] + r->kinds[XT_PLAN_RESERVED], r->peak_bytes);
    assert_int_equal(r->argument_bytes + r->output_bytes - r->alias_bytes + r->temp_bytes + r->live_elsewhere_bytes,
                     r->peak_bytes);
}

static const xt_plan_row *find(const xt_plan_report *r, xt_plan_kind kind, const char *module) {
    for (int i = 0; i < r->n_rows; i++)
        if (r->rows[i].kind == kind && strcmp(r->rows[i].module, module) == 0) return &r->rows[i];
    return NULL;
}

static void a_step_on_the_cpu(void **state) {
    (void)state;
    xt_plan *p = plan_of((job){.batch = 64}, (xt_plan_opts){.topology = "cpu"}, 1);
    const xt_plan_report *r = xt_plan_get(p);
    check_sums(r);
    assert_true(r->fits);
    const int64_t parameters = (256 * 512 + 512 + 512 * 10 + 10) * 4;
    assert_int_equal(r->kinds[XT_PLAN_PARAMETERS], parameters);
    assert_in_range(r->kinds[XT_PLAN_OPTIMIZER], 2 * parameters, 2 * parameters + 64);
    assert_int_equal(r->kinds[XT_PLAN_BATCH], 64 * 256 * 4 + 64 * 8);
    const xt_plan_row *w = find(r, XT_PLAN_PARAMETERS, "fc1.weight"),
                      *m = find(r, XT_PLAN_OPTIMIZER, "fc1.weight.exp_avg");
    assert_non_null(w);
    assert_string_equal(w->shape, "512x256");
    assert_int_equal(w->bytes, 512 * 256 * 4);
    assert_int_equal(w->line, layer_line);
    assert_non_null(strstr(w->file, "test_plan.c"));
    assert_non_null(m);
    assert_int_equal(m->line, step_line);
    assert_true(r->flops > 2.0 * 64 * 256 * 512 * 2);
    assert_true(r->step_ms > 0);
    xt_plan_free(p);
}

/* The plan's figures are those of the program that really runs. */
static void as_when_it_runs(void **state) {
    (void)state;
    xt_plan *p = plan_of((job){.batch = 32}, (xt_plan_opts){.topology = "cpu"}, 1);
    int64_t temp = xt_plan_get(p)->temp_bytes;
    xt_plan_free(p);
    job j = {.batch = 32};
    assert_int_equal(train(&j), 0);
    xt_finish();
    assert_int_equal(xt_counter("program_temp_bytes"), temp);
    lazy_reset_thread();
    lazy_device_close();
}

/* Micro-batches: what is kept between programs is counted though no program reads it. */
static void what_lives_elsewhere(void **state) {
    (void)state;
    xt_plan *whole = plan_of((job){.batch = 4096}, (xt_plan_opts){.topology = "cpu"}, 1),
            *parts = plan_of((job){.batch = 4096, .micro = 8}, (xt_plan_opts){.topology = "cpu"}, 1);
    check_sums(xt_plan_get(parts));
    assert_true(xt_plan_get(parts)->programs > 1);
    assert_true(xt_plan_get(parts)->peak_bytes < xt_plan_get(whole)->peak_bytes);
    xt_plan_free(whole);
    xt_plan_free(parts);
    xt_plan *kept = plan_of((job){.batch = 64, .keep = true}, (xt_plan_opts){.topology = "cpu"}, 1);
    check_sums(xt_plan_get(kept));
    assert_true(xt_plan_get(kept)->live_elsewhere_bytes >= 64 * 10 * 4); /* the first step's, in the second */
    xt_plan_free(kept);
}

static void on_a_mesh(void **state) {
    (void)state;
    const xt_axis axes[] = {{"data", 4}, {NULL, 0}}, wrong[] = {{"data", 8}, {NULL, 0}};
    xt_plan *p = plan_of((job){.batch = 64, .axes = axes}, (xt_plan_opts){.topology = "cpu:4", .mesh = "data=4"}, 4);
    const xt_plan_report *r = xt_plan_get(p);
    check_sums(r);
    assert_int_equal(r->partitions, 4);
    const xt_plan_row *w = find(r, XT_PLAN_PARAMETERS, "fc1.weight");
    assert_non_null(w);
    assert_int_equal(w->bytes, 512 * 256 * 4 / 4);
    assert_true(r->n_collectives > 0);
    for (int i = 0; i < r->n_collectives; i++) assert_string_equal(r->collectives[i].axis, "data");
    xt_plan_free(p);
    xt_recording *rec;
    job j = {.batch = 64, .axes = wrong};
    assert_says(xt_record(train, &j, 4, &rec), "needs 8 devices");
    assert_null(rec);
}

static void does_not_fit(void **state) {
    (void)state;
    xt_plan *p = plan_of((job){.batch = 64}, (xt_plan_opts){.topology = "cpu", .memory_limit = 1 << 20}, 1);
    assert_false(xt_plan_get(p)->fits);
    assert_int_equal(xt_plan_get(p)->limit_bytes, 1 << 20);
    xt_plan_free(p);
}

/* --- files --- */
static const char program[] =
    "module @m {\n"
    " func.func public @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {\n"
    "  %0 = stablehlo.add %a, %b : tensor<1024xf32> loc(\"mine\"(\"model.py\":12:1))\n"
    "  %1 = stablehlo.multiply %0, %b : tensor<1024xf32> loc(\"model.py\":13:1)\n"
    "  return %0, %1 : tensor<1024xf32>, tensor<1024xf32>\n }\n}\n";

static void a_file(void **state) {
    (void)state;
    char dir[] = "/tmp/xtrain-test-plan.XXXXXX", path[64];
    xt_recording *r, *donated;
    xt_plan *p, *q;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/p.mlir", dir);
    assert_ok(file_write_all(path, program, strlen(program)));
    assert_ok(xt_recording_load(path, &r));
    assert_int_equal(xt_recording_count(r), 1);
    assert_non_null(strstr(xt_recording_text(r, 0), "loc(\"mine/n0\"(\"model.py\":12:1))"));
    assert_ok(xt_plan_make(r, (xt_plan_opts){0}, &p));
    check_sums(xt_plan_get(p));
    const xt_plan_row *row = find(xt_plan_get(p), XT_PLAN_RESULTS, "mine");
    assert_non_null(row);
    assert_int_equal(row->line, 12);
    assert_ok(xt_recording_donate(r, &donated));
    assert_ok(xt_plan_make(donated, (xt_plan_opts){0}, &q));
    assert_true(xt_plan_get(q)->peak_bytes < xt_plan_get(p)->peak_bytes);
    assert_int_equal(xt_plan_get(q)->alias_bytes, 8192);
    xt_plan_free(p);
    xt_plan_free(q);
    xt_recording_free(r);
    xt_recording_free(donated);
    assert_ok(file_write_all(path, "func.func @main( {", 18));
    assert_says(xt_recording_load(path, &r), "p.mlir");
    assert_says(xt_recording_load("/nowhere/p.mlir", &r), "/nowhere");
    unlink(path);
    rmdir(dir);
}

static void mistakes(void **state) {
    (void)state;
    xt_recording *r;
    xt_plan *p;
    job j = {.batch = 8};
    assert_ok(xt_record(train, &j, 1, &r));
    static const char *const unknown[] = {"v9:2x2", "v4",       "v4:",         "v4:0x2", "v4:2x2x1x1", "cpu:0", "cpu:x",
                                          "cuda",   "cuda:gtx", "cuda:h100:0", ""};
    for (size_t i = 0; i < BASE_COUNT(unknown); i++)
        assert_says(xt_plan_make(r, (xt_plan_opts){.topology = unknown[i]}, &p), "known are: cpu, cpu:N, v2:2x2");
    assert_says(xt_plan_make(r, (xt_plan_opts){.dump_dir = "/proc/nothing"}, &p), "/proc");
    xt_recording_free(r);
    assert_says(xt_record(train, &j, 0, &r), "1 to 4096");
}

/* A foreign plugin that cannot be loaded: the child's words arrive. */
static void no_compiler(void **state) {
    (void)state;
    xt_recording *r;
    xt_plan *p;
    job j = {.batch = 8};
    setenv("TPU_LIBRARY_PATH", "/dev/null", 1);
    assert_ok(xt_record(train, &j, 1, &r));
    assert_says(xt_plan_make(r, (xt_plan_opts){.topology = "v4:2x2x1"}, &p), "/dev/null");
    xt_recording_free(r);
    unsetenv("TPU_LIBRARY_PATH");
}

/* A compiler that dies, hangs, refuses, or fails at any one of its calls (tests/plugins/fault.c, which our own compiler
 * stands behind). */
static xt_status plan_by_fault(const xt_recording *r, const char *name, const char *value, double limit) {
    xt_plan *p = NULL;
    if (name) setenv(name, value, 1);
    xt_status s = xt_plan_make(r, (xt_plan_opts){.topology = "v4:2x2x1", .compile_limit_s = limit}, &p);
    if (name) unsetenv(name);
    if (!s) check_sums(xt_plan_get(p));
    xt_plan_free(p);
    return s;
}

static void bad_compiler(void **state) {
    xt_recording *r;
    xt_topology t;
    job j = {.batch = 8};
    setenv("TPU_LIBRARY_PATH", *state, 1);
    setenv("FAULT_TOPOLOGY", "cpu:4", 1);
    assert_ok(xt_record(train, &j, 1, &r));
    assert_ok(xt_topology_find("v4:2x2x1", &t));
    assert_int_equal(t.devices, 4);
    assert_ok(plan_by_fault(r, NULL, NULL, 0));
    assert_says(plan_by_fault(r, "FAULT_COMPILE", "hang", 0.3),
                "was ended after 0 s, before it knew the program's memory");
    assert_says(plan_by_fault(r, "FAULT_COMPILE", "abort", 0),
                "died (signal 6); the last it said: Check failed: the compiler has had enough");
    assert_says(plan_by_fault(r, "FAULT_COMPILE", "refuse", 0), "compiling: PJRT_Client_Devices: struct_size is 0");
    int failed = 0, n = 0;
    for (char at[8]; n < 40; n++) {
        snprintf(at, sizeof at, "%d", n + 1);
        xt_status s = plan_by_fault(r, "FAULT_AT", at, 0);
        if (s) assert_true(strlen(xt_status_message(s)) > 20);
        failed += s != NULL;
        xt_status_free(s);
    }
    /* a topology's, a program's; not the statistics, nor what comes after the last call */
    assert_true(failed >= 6 && failed < n);
    xt_recording_free(r);
    unsetenv("TPU_LIBRARY_PATH");
    unsetenv("FAULT_TOPOLOGY");
}

/* --- other compilers' texts --- */
static void hlo_lines(void **state) {
    (void)state;
    char text[] =
        "ENTRY %main (a: f32[8,16]) -> f32[8,16] {\n"
        "  %a = f32[8,16]{1,0:T(8,128)} parameter(0), metadata={op_name=\"args[0]\"}\n"
        "  %fusion.1 = f32[8,16]{1,0} fusion(%a), kind=kLoop, metadata={op_name=\"h.3.attn/n17\" stack_frame_id=4}\n"
        "  %copy.2 = f32[8,16]{0,1} copy(%fusion.1)\n"
        "  %all-reduce.3 = f32[8,16]{1,0} all-reduce(%copy.2), channel_id=1, replica_groups=[4,8]<=[8,4]T(1,0), "
        "use_global_device_ids=true, to_apply=%add, metadata={op_name=\"n20\"}\n"
        "  %ag = (bf16[4]{0}, bf16[16]{0}) all-gather-start(%copy.2), replica_groups={{0,1,2,3},{4,5,6,7}}, "
        "dimensions={0}, metadata={op_name=\"h.0/n21/sharding\"}\n"
        "  %one = f32[2]{0} all-reduce(%copy.2), replica_groups={{0},{1}}\n}\n";
    hlo h = {0};
    plan_memory m = {0};
    assert_ok(hlo_read(text, &h));
    assert_true(hlo_links(&h, &m));
    hlo_origin from;
    uint32_t op;
    assert_true(hlo_find(&h, "copy.2", &from, &op));
    assert_int_equal(from.ordinal, 17);
    assert_string_equal(intern_text(op), "copy");
    assert_true(hlo_find(&h, "a", &from, &op));
    assert_int_equal(from.ordinal, -1);
    assert_int_equal(from.input, 0);
    assert_false(hlo_find(&h, "nobody", &from, &op));
    assert_int_equal(m.n_links, 2);
    assert_int_equal(m.links[0].bytes, 8 * 16 * 4);
    assert_int_equal(m.links[0].n_group, 8);
    /* every fourth device: the first axis of data=8,model=4 */
    for (int k = 0; k < 8; k++) assert_int_equal(m.links[0].group[k], 4 * k);
    assert_int_equal(m.links[1].ordinal, 21);
    assert_int_equal(m.links[1].n_group, 4);
    assert_int_equal(m.links[1].bytes, 16 * 2);
    hlo_deinit(&h);
    plan_memory_free(&m);
    uint32_t shape, dtype;
    int64_t bytes;
    hlo_type_read("bf16[3,1024,768]{2,1,0:T(8,128)(2,1)S(1)}", &shape, &dtype, &bytes);
    assert_string_equal(intern_text(shape), "3x1024x768");
    assert_string_equal(intern_text(dtype), "bf16");
    assert_int_equal(bytes, 3 * 1024 * 768 * 2);
}

static void has_group(const plan_link *l, int n, int64_t step) {
    assert_int_equal(l->n_group, n);
    for (int k = 0; k < n; k++) assert_int_equal(l->group[k], step * k);
}

/* What XLA's compilers made by themselves, named by nobody: merged sums, gathers of parameters inside fusions; and
 * groups by the names of a mesh's axes. */
static void hlo_merged(void **state) {
    (void)state;
    char text[] =
        "%fused.1 (p.0: f32[8,4]) -> f32[32,4] {\n"
        "  %p.0 = f32[8,4]{1,0} parameter(0)\n"
        "  ROOT %ag.1 = f32[32,4]{1,0} all-gather(%p.0), channel_id=3, replica_groups=mesh['x'=2,'y'=4] {'y'}, "
        "dimensions={0}\n}\n\n"
        "%fused.2 (p.1: f32[8,4]) -> f32[32,4] {\n" /* the same, further on */
        "  %p.1 = f32[8,4]{1,0} parameter(0)\n"
        "  ROOT %ag.2 = f32[32,4]{1,0} all-gather(%p.1), channel_id=3, replica_groups=mesh['x'=2,'y'=4] {'y'}, "
        "dimensions={0}\n}\n\n"
        "ENTRY %main.1 (w: f32[8,4], b: f32[6]) -> f32[2] {\n"
        "  %w = f32[8,4]{1,0} parameter(0)\n"
        "  %b = f32[6]{0} parameter(1)\n"
        "  %f = f32[32,4]{1,0} fusion(%w), kind=kCustom, calls=%fused.1\n"
        "  %g.1 = f32[6]{0} negate(%b), metadata={op_name=\"n4\"}\n"
        "  %sum = (f32[32,4]{1,0}, /*index=1*/f32[6]{0}) all-reduce(%f, %g.1), replica_groups=mesh['x'=2,'y'=4] {'x'}, "
        "to_apply=%add\n"
        "  %part = f32[6]{0} all-reduce(%g.1), replica_groups=mesh['x'=8] {'x':(2)2}, to_apply=%add\n"
        "  %bad = f32[6]{0} all-reduce(%g.1), replica_groups=[2,4]<=[2,4]T(1,9), to_apply=%add\n"
        "  ROOT %r = f32[2]{0} slice(%part), slice={[0:2]}\n}\n";
    hlo h = {0};
    plan_memory m = {0};
    assert_ok(hlo_read(text, &h));
    assert_true(hlo_links(&h, &m));
    assert_int_equal(m.n_links, 5);
    assert_int_equal(m.links[0].input, 0);
    assert_int_equal(m.links[0].bytes, 32 * 4 * 4);
    has_group(&m.links[0], 4, 1);
    assert_int_equal(m.links[1].input, 0);
    assert_int_equal(m.links[1].bytes, 32 * 4 * 4);
    has_group(&m.links[1], 2, 4);
    assert_int_equal(m.links[2].ordinal, 4);
    assert_int_equal(m.links[2].bytes, 6 * 4);
    has_group(&m.links[3], 2, 2);
    has_group(&m.links[4], 0, 0); /* a permutation of axes that are not there */
    hlo_deinit(&h);
    plan_memory_free(&m);
}

/* Bytes to and from device memory, by hand. */
static void hlo_moves(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double bytes;
    } cases[] = {
        /* both operands, the result; constants and names are free */
        {"%a = f32[100]{0} parameter(0)\n %b = f32[100]{0} bitcast(%a)\n %c = f32[] constant(1)\n"
         " %d = f32[100]{0} add(%a, %b)\n",
         1200},
        /* what lies on the chip is not read from memory: in by a copy of 400 bytes, and no way back */
        {"%a = f32[100]{0} parameter(0)\n %s = (f32[100]{0:S(1)}, f32[100]{0}, u32[]{:S(2)}) copy-start(%a)\n"
         " %b = f32[100]{0:S(1)} copy-done(%s)\n %d = f32[100]{0:S(1)} negate(%b)\n",
         400},
        {"%a = f32[100]{0} parameter(0)\n %d = f32[10]{0} slice(%a), slice={[0:10]}\n", 80},
        /* a part of a tuple, an update in place, and a fusion that reads a slice */
        {"%a = (f32[100]{0}, f32[50]{0}) parameter(0)\n %d = f32[50]{0} negate(%a#1)\n", 400},
        {"%a = f32[100]{0} parameter(0)\n %u = f32[5]{0} parameter(1)\n %i = s32[]{:S(6)} parameter(2)\n"
         " %d = f32[100]{0} dynamic-update-slice(%a, %u, %i)\n",
         40},
        {"%a = f32[100]{0} parameter(0)\n %d = f32[10]{0} fusion(%a), kind=kLoop, calls=%slicing\n", 80},
        {"%a = f32[100]{0} parameter(0)\n %d = f32[100]{0} while(%a), condition=%less, body=%turn, "
         "backend_config={\"known_trip_count\":{\"n\":\"7\"}}\n",
         7 * 800},
        {"%a = f32[100]{0} parameter(0)\n %d = f32[100]{0} conditional(%i, %a, %a), "
         "branch_computations={%slicing, %turn}\n",
         800},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2000];
        hlo h = {0};
        snprintf(text, sizeof text,
                 "%%slicing (p: f32[100]) -> f32[10] {\n %%p = f32[100]{0} parameter(0)\n"
                 " %%v = f32[10,10]{1,0} bitcast(%%p)\n"
                 " ROOT %%q = f32[1,10]{1,0} slice(%%v), slice={[0:1], [0:10]}\n}\n"
                 "%%turn (t: f32[100]) -> f32[100] {\n %%t = f32[100]{0} parameter(0)\n"
                 " ROOT %%n = f32[100]{0} negate(%%t)\n}\n"
                 "ENTRY %%main (x: f32[]) -> f32[] {\n %s}\n",
                 cases[i].text);
        assert_ok(hlo_read(text, &h));
        double bytes = hlo_traffic(&h);
        if (bytes != cases[i].bytes) fail_msg("%g bytes, %g are moved by\n%s", bytes, cases[i].bytes, cases[i].text);
        hlo_deinit(&h);
    }
    char none[] = "HloModule m\n";
    hlo h = {0};
    assert_ok(hlo_read(none, &h));
    assert_true(hlo_traffic(&h) == -1);
    hlo_deinit(&h);
}

static void xla_dump(void **state) {
    (void)state;
    char dir[] = "/tmp/xtrain-test-dump.XXXXXX", path[128];
    static const char *const files[][2] = {
        {"module_0.step.after_optimizations-buffer-assignment.txt",
         "BufferAssignment:\n"
         "allocation 0: size 4096, page 0, parameter 0, shape |f32[8,100]| at ShapeIndex {}, maybe-live-out:\n"
         " value: <1 Arg_0.1 @0> (size=4096,offset=0): f32[8,100]{1,0:T(8,128)}\n"
         " value: <2 copy-start{0} @0> (size=4096,offset=0): f32[8,100]{1,0:T(8,128)}\n"
         "allocation 1: size 3072, page 0, preallocated-temp:\n"
         " value: <3 f.1 @0> (size=1024,offset=0): f32[256]{0}\n"
         " value: <4 f.2 @0> (size=2048,offset=1024): f32[512]{0}\n"
         " value: <5 f.3 @0> (size=1024,offset=0): f32[256]{0}\n"
         "allocation 2: size 512, color 1, page 0, preallocated-temp:\n"
         " value: <6 f.4 @1> (size=512,offset=0): f32[128]{0:S(1)}\n"},
        {"module_0.step.after_optimizations-live-range.txt", "HloLiveRange (max 9):\n"
                                                             "  InstructionSequence:\n"
                                                             "    0:Arg_0.1\n"
                                                             "  BufferLiveRange:\n"
                                                             "    Arg_0.1{}:0-9\n"
                                                             "    f.1{}:1-3\n"
                                                             "    f.2{}:3-6\n"
                                                             "    f.3{}:5-7\n"
                                                             "    f.4{}:1-2\n"
                                                             "  Live ranges at 3 (peak):\n"
                                                             "    f.2{}: 2048 bytes\n"},
        {"module_0.step.after_optimizations.txt",
         "  %f.2 = f32[512]{0} fusion(%Arg_0.1), metadata={op_name=\"h.0/n1\"}\n"},
        {"module_0.step.after_optimizations-memory-usage-report.txt", "Memory Space: default (color=0)\n"
                                                                      "Total bytes: 7168 (7.0KiB)\n"}};
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < BASE_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i][0]);
        assert_ok(file_write_all(path, files[i][1], strlen(files[i][1])));
    }
    plan_memory m;
    int64_t live;
    assert_ok(plan_read_xla(dir, &m));
    assert_int_equal(m.n, 4); /* the argument once, three temporaries; nothing on the chip */
    assert_int_equal(m.total_bytes, 7168);
    assert_int_equal(m.arena_bytes, 3072);
    assert_int_equal(m.buffers[0].logical, 3200);
    plan_find_peak(&m, &live);
    assert_int_equal(live, 3072);
    assert_in_range(m.peak_point, 3, 6);
    plan_memory_free(&m);
    for (size_t i = 0; i < BASE_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i][0]);
        unlink(path);
    }
    assert_says(plan_read_xla(dir, &m), "nothing about buffers");
    rmdir(dir);
}

static void nothing_is_left(void **state) {
    (void)state;
    static const char *const kinds[] = {"buffer", "executable", "client",   "module",       "optimizer",
                                        "loader", "mesh",       "topology", "plan_program", "graph"};
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        if (xt_live_objects(kinds[i])) print_error("%s: %lld\n", kinds[i], (long long)xt_live_objects(kinds[i]));
        assert_int_equal(xt_live_objects(kinds[i]), 0);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const char *dir = getenv("XT_PLUGIN_DIR"), *slash = strrchr(argv[0], '/');
    int n = dir ? (int)strlen(dir) : slash ? (int)(slash - argv[0]) : 1;
    char plugin[4200], of[4300];
    snprintf(plugin, sizeof plugin, "%.*s/fault_plugin.so", n, dir ? dir : slash ? argv[0] : ".");
    snprintf(of, sizeof of, "%.*s/pjrt_plugin_xtrain_cpu.so", n, plugin);
    setenv("FAULT_OF", of, 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hlo_lines),
        cmocka_unit_test(hlo_merged),
        cmocka_unit_test(hlo_moves),
        cmocka_unit_test(xla_dump),
        cmocka_unit_test(a_step_on_the_cpu),
        cmocka_unit_test(what_lives_elsewhere),
        cmocka_unit_test(on_a_mesh),
        cmocka_unit_test(does_not_fit),
        cmocka_unit_test(a_file),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(no_compiler),
        cmocka_unit_test_prestate(bad_compiler, plugin),
        cmocka_unit_test(as_when_it_runs),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
