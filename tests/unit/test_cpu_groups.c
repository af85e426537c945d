/* Groups of elementwise ops: decided before any loop is made, printed with why each was closed, and refused when they
 * are not sound; the loops of the plan are the groups that were decided. */
#include "cpu_differential.h"

#include "cpu/kernel/kernel.h"
#include "cpu/plan/group_int.h"
#include "cpu/plan/stages.h"
#include "format/bytecode.h"
#include "pass/entry_layout.h"
#include "pass/pass.h"

#define WIDE "tensor<8x16xf32>"
/* add and tanh are one loop, which the product closes; exp reads what it gave, and so does the end. */
static const char small[] =
    "func.func @main(%a: " WIDE ", %b: tensor<16x4xf32>) -> (tensor<8x4xf32>, " WIDE ", tensor<16x8xf32>) {\n"
    "%c = stablehlo.add %a, %a : " WIDE "\n"
    "%d = stablehlo.tanh %c : " WIDE "\n"
    "%e = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (" WIDE ", tensor<16x4xf32>) -> "
    "tensor<8x4xf32>\n"
    "%f = stablehlo.exponential %c : " WIDE "\n"
    "%g = stablehlo.negate %e : tensor<8x4xf32>\n"
    "%h = stablehlo.reshape %f : (" WIDE ") -> tensor<16x8xf32>\n"
    "%i = stablehlo.abs %h : tensor<16x8xf32>\n"
    "return %g, %f, %i : tensor<8x4xf32>, " WIDE ", tensor<16x8xf32>\n}\n";
/* Only the reduction reads the exponentials, and it makes them itself. */
static const char softmax[] =
    "func.func @main(%x: tensor<1024x2048xf32>) -> tensor<1024xf32> {\n"
    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%e = stablehlo.exponential %x : tensor<1024x2048xf32>\n"
    "%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x2048xf32>, "
    "tensor<f32>) -> tensor<1024xf32>\n"
    "return %s : tensor<1024xf32>\n}\n";

/* Two loops that a third op joins to one, on images that may lie blocked. */
/* Halves, and pairs, are written by the loop that computes them: where the whole lies. */
static const char halves[] =
    "func.func @main(%a: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x4x2xf32>) {\n"
    "%b = stablehlo.tanh %a : tensor<8x4xf32>\n"
    "%c = stablehlo.negate %b : tensor<8x4xf32>\n"
    "%d = stablehlo.concatenate %b, %c, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>\n"
    "%e = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>\n"
    "%f = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>\n"
    "%g = stablehlo.concatenate %e, %f, dim = 2 : (tensor<8x4x1xf32>, tensor<8x4x1xf32>) -> tensor<8x4x2xf32>\n"
    "return %d, %g : tensor<8x8xf32>, tensor<8x4x2xf32>\n}\n";
/* Long arrays behind each other are computed where they lie. */
static const char behind[] =
    "func.func @main(%a: tensor<1x4096xf32>) -> tensor<2x4096xf32> {\n"
    "%b = stablehlo.tanh %a : tensor<1x4096xf32>\n"
    "%c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x4096xf32>, tensor<1x4096xf32>) -> tensor<2x4096xf32>\n"
    "return %c : tensor<2x4096xf32>\n}\n";
#define IMG "tensor<1x32x4x6xf32>"
static const char images[] =
    "func.func @main(%x: " IMG ", %w: tensor<32x32x1x1xf32>) -> " IMG " {\n"
    "%y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG ", tensor<32x32x1x1xf32>) -> " IMG "\n"
    "%a = stablehlo.tanh %y : " IMG "\n"
    "%b = stablehlo.negate %x : " IMG "\n"
    "%c = stablehlo.add %a, %b : " IMG "\n"
    "%z = stablehlo.convolution(%c, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG ", tensor<32x32x1x1xf32>) -> " IMG "\n"
    "return %z : " IMG "\n}\n";

typedef struct planning {
    cpu_exec *e;
    pass_ctx passes;
    cpu_builder b;
} planning;

/* All stages up to the one that decides the groups. */
static void begin(planning *p, const char *text) {
    *p = (planning){.e = base_calloc(1, sizeof *p->e), .passes = PASS_CTX_INIT};
    assert_non_null(p->e);
    pthread_mutex_init(&p->e->text_lock, NULL);
    p->e->threads = 2;
    p->e->passes = &p->passes;
    p->b = (cpu_builder){.exec = p->e, .lowering = &cpu_kernels};
    expect_ok(program_read(text, strlen(text), "program", &p->e->module), "read");
    p->e->main = entry_func(p->e->module);
    xt_status (*const stages[])(cpu_builder *) = {cpu_stage_inline, cpu_stage_describe, cpu_stage_begin,
                                                  cpu_stage_masks,  cpu_stage_number,   cpu_stage_layout,
                                                  cpu_stage_lower};
    for (size_t i = 0; i < BASE_COUNT(stages); i++) expect_ok(stages[i](&p->b), "stage");
}
static void end(planning *p) {
    cpu_builder_deinit(&p->b);
    p->e->passes = NULL;
    cpu_exec_free(p->e);
}

static void expect_text(const planning *p, const char *want, bool is_there) {
    str text = STR_INIT;
    cpu_groups_print(&p->b, &text);
    if ((strstr(str_cstr(&text), want) != NULL) != is_there)
        fail_msg("%s '%s' in\n%s", is_there ? "no" : "there is", want, str_cstr(&text));
    str_free(&text);
}

static void reasons_are_printed(void **state) {
    (void)state;
    planning p;
    begin(&p, small);
    expect_text(&p, "group 0: thunk 0, 2 ops over 128 elements; read by n2 (stablehlo.dot_general)\n", true);
    expect_text(&p, "reads argument 0 tensor<8x16xf32>, in order\n", true);
    expect_text(&p, "gives n1 (stablehlo.tanh)", true);
    expect_text(&p, "elements; a result of the program\n", true);
    end(&p);
    setenv("XT_PASSES", "-fuse", 1);
    begin(&p, small);
    expect_text(&p, "1 op over 128 elements; nothing is fused, not even n1 (stablehlo.tanh)\n", true);
    expect_text(&p, "2 ops", false);
    end(&p);
    unsetenv("XT_PASSES");
    begin(&p, softmax);
    expect_text(&p, "group 0: no thunk, 1 op over 2097152 elements; nobody reads it as an array\n", true);
    end(&p);
}

static void concatenations_end_a_loop(void **state) {
    (void)state;
    planning p;
    begin(&p, halves);
    expect_text(&p, "groups of main: 5 ops in 1 loops\n", true);
    expect_text(&p, "thunk 0, 5 ops over 32 elements; a result of the program\n", true);
    expect_text(&p, "gives n2 (stablehlo.concatenate) tensor<8x8xf32>", true);
    expect_text(&p, "gives n5 (stablehlo.concatenate) tensor<8x4x2xf32>", true);
    expect_text(&p, "gives n0 (stablehlo.tanh)", false);
    expect_ok(cpu_groups_verify(&p.b), "groups");
    end(&p);
    begin(&p, behind);
    expect_text(&p, "groups of main: 2 ops in 1 loops\n", true);
    expect_text(&p, "gives n1 (stablehlo.concatenate) tensor<2x4096xf32>", true);
    expect_ok(cpu_groups_verify(&p.b), "groups");
    end(&p);
}

static void a_full_group_is_closed(void **state) {
    (void)state;
    planning p;
    str text = STR_INIT;
    str_append(&text, "func.func @main(%v0: tensor<64xf32>) -> tensor<64xf32> {\n");
    for (int i = 0; i < GROUP_MAX_OPS + 7; i++)
        str_printf(&text, "%%v%d = stablehlo.negate %%v%d : tensor<64xf32>\n", i + 1, i);
    str_printf(&text, "return %%v%d : tensor<64xf32>\n}\n", GROUP_MAX_OPS + 7);
    begin(&p, str_cstr(&text));
    str_free(&text);
    expect_text(&p, "thunk 0, 160 ops over 64 elements; no room for n160 (stablehlo.negate)\n", true);
    expect_text(&p, "thunk 1, 7 ops over 64 elements; a result of the program\n", true);
    end(&p);
}

/* --- what the check finds --- */
static bool is_refused(const planning *p) {
    xt_status s = cpu_groups_verify(&p->b);
    bool refused = s != NULL;
    xt_status_free(s);
    return refused;
}
#define REFUSED(change, back)                                                   \
    do {                                                                        \
        change;                                                                 \
        if (!is_refused(p)) fail_msg("group %zu: not refused: %s", i, #change); \
        back;                                                                   \
        if (is_refused(p)) fail_msg("group %zu: refused after %s", i, #back);   \
        tried++;                                                                \
    } while (0)

/* The group i of a sound plan, wrong in one way after the other; how many ways. */
static size_t spoil(planning *p, size_t i) {
    size_t tried = 0;
    group *g = &p->b.groups[i];
    group_loop *l = g->loop;
    assert_non_null(l);
    cpu_thunk *t = &p->b.plan->thunks[l->thunk], *other = NULL;
    const ir_op *first = g->ops[0];
    value_info *info = &p->b.values[l->results[l->n_results - 1]->user - 1];
    const uint32_t slot = t->in[0].slot, out = t->out[0].slot;
    int letter;
    REFUSED(g->count++, g->count--);
    REFUSED(g->n--, g->n++);
    REFUSED(g->loop = NULL, g->loop = l);
    REFUSED(info->grouped = false, info->grouped = true);
    REFUSED((info->ref.slot++, info->blk.slot++), (info->ref.slot--, info->blk.slot--));
    REFUSED(l->from.n--, l->from.n++);
    REFUSED(l->n_results--, l->n_results++);
    if (l->n_results > 1) REFUSED((l->n_results--, t->n_out--), (l->n_results++, t->n_out++));
    REFUSED(t->n_out--, t->n_out++);
    REFUSED(t->n_ops--, t->n_ops++);
    REFUSED(t->state = &letter, t->state = NULL);
    REFUSED(t->in[0].slot = out, t->in[0].slot = slot);
    for (size_t k = l->thunk + 1; k < p->b.plan->n_thunks; k++)
        if (p->b.plan->thunks[k].kernel != &loop_fused) other = &p->b.plan->thunks[k];
    if (other) {
        const uint32_t was = other->out[0].slot;
        REFUSED(other->out[0].slot = out, other->out[0].slot = was);
    }
    if (g->feature) {
        const ir_type *like = g->like;
        int64_t turned[4] = {like->dims[0], like->dims[1], like->dims[3], like->dims[2]};
        ir_type wrong = *like;
        wrong.dims = turned;
        REFUSED(g->like = &wrong, g->like = like);
    }
    for (size_t k = 1; k < g->n; k++) {
        const ir_op *was = g->ops[k];
        REFUSED((g->ops[0] = was, g->ops[k] = first), (g->ops[k] = was, g->ops[0] = first));
        REFUSED(g->ops[k] = first, g->ops[k] = was);
    }
    return tried;
}

static void unsound_groups_are_refused(void **state) {
    (void)state;
    const struct {
        const char *text, *layout;
        size_t least;
    } rows[] = {{small, "plain", 30}, {images, "plain", 12}, {images, "blocked", 13}};
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        planning p;
        size_t tried = 0;
        setenv("XT_CPU_LAYOUT", rows[r].layout, 1);
        begin(&p, rows[r].text);
        unsetenv("XT_CPU_LAYOUT");
        assert_false(is_refused(&p));
        for (size_t i = 0; i < p.b.n_groups; i++)
            if (p.b.groups[i].merged_into == CPU_NONE) tried += spoil(&p, i);
        if (tried < rows[r].least) fail_msg("row %zu: %zu ways to be wrong", r, tried);
        end(&p);
    }
}

/* --- then they are emitted --- */
static void loops_are_the_groups(void **state) {
    (void)state;
    const char *const texts[] = {small, softmax, images};
    for (size_t k = 0; k < BASE_COUNT(texts); k++) {
        planning p;
        size_t loops = 0, groups = 0;
        begin(&p, texts[k]);
        for (size_t t = 0; t < p.b.plan->n_thunks; t++)
            if (p.b.plan->thunks[t].kernel == &loop_fused) assert_null(p.b.plan->thunks[t].state), loops++;
        for (size_t i = 0; i < p.b.n_groups; i++) groups += p.b.groups[i].loop != NULL;
        assert_int_equal(loops, groups);
        expect_ok(cpu_stage_emit(&p.b), "emit");
        for (size_t t = 0; t < p.b.plan->n_thunks; t++) {
            const cpu_thunk *th = &p.b.plan->thunks[t];
            if (th->kernel == &loop_fused) assert_non_null(th->state);
            if (th->scratch != CPU_NONE) assert_true(p.b.plan->slots[th->scratch].bytes > 0);
        }
        expect_ok(cpu_plan_verify(p.e, false), "verify");
        end(&p);
    }
}

/* A narrow result is rounded where it is stored, whoever else reads the rounded number: the interpreter's bits. */
static void narrow_results_round_once(void **state) {
    (void)state;
    static const char *const types[] = {"bf16", "f16"};
    static const struct {
        const char *what, *n, *results, *body, *returns;
    } rows[] = {
        {"stored only", "1003", "tensor<{T}>", "", "%p : tensor<{T}>"},
        {"stored and read", "1003", "tensor<{T}>, tensor<{T}>", "%q = stablehlo.subtract %p, %a : tensor<{T}>\n",
         "%p, %q : tensor<{T}>, tensor<{T}>"},
        {"stored and read as f32", "77", "tensor<{T}>, tensor<{F}>",
         "%q = stablehlo.convert %p : (tensor<{T}>) -> tensor<{F}>\n", "%p, %q : tensor<{T}>, tensor<{F}>"},
        {"made of f32, stored twice", "40", "tensor<{T}>, tensor<{T}>",
         "%f = stablehlo.convert %a : (tensor<{T}>) -> tensor<{F}>\n%g = stablehlo.multiply %f, %f : tensor<{F}>\n"
         "%h = stablehlo.convert %g : (tensor<{F}>) -> tensor<{T}>\n",
         "%h, %h : tensor<{T}>, tensor<{T}>"},
        {"over an operand that is read behind it", "513", "tensor<{T}>, tensor<{T}>",
         "%q = stablehlo.divide %b, %a : tensor<{T}>\n", "%p, %q : tensor<{T}>, tensor<{T}>"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (int t = 0; t < 2; t++)
            for (int donate = 0; donate < 2; donate++) {
                char text[1200], full[2400] = "", name[96], shape[32], wide[32];
                snprintf(name, sizeof name, "%s, %s", rows[i].what, types[t]);
                snprintf(shape, sizeof shape, "%sx%s", rows[i].n, types[t]);
                snprintf(wide, sizeof wide, "%sxf32", rows[i].n);
                snprintf(
                    text, sizeof text,
                    "func.func @main(%%a: tensor<{T}> {tf.aliasing_output = 0 : i32}, %%b: tensor<{T}>) -> (%s) {\n"
                    "%%p = stablehlo.multiply %%a, %%b : tensor<{T}>\n%sreturn %s\n}\n",
                    rows[i].results, rows[i].body, rows[i].returns);
                for (const char *p = text, *q; *p; p = q) {
                    q = strchr(p, '{');
                    while (q && strncmp(q, "{T}", 3) != 0 && strncmp(q, "{F}", 3) != 0) q = strchr(q + 1, '{');
                    if (!q) q = p + strlen(p);
                    strncat(full, p, (size_t)(q - p));
                    if (*q) strcat(full, q[1] == 'T' ? shape : wide), q += 3;
                }
                differ(name, full, 0, 2, donate);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_printed),    cmocka_unit_test(concatenations_end_a_loop),
        cmocka_unit_test(a_full_group_is_closed), cmocka_unit_test(unsound_groups_are_refused),
        cmocka_unit_test(loops_are_the_groups),   cmocka_unit_test(narrow_results_round_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
