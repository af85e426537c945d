/* What the check of a plan finds: sound plans pass, and each read of each thunk, moved, cut or seen through another
 * view, is refused. */
#include "cpu_differential.h"

#include "cpu/plan/stages.h"
#include "cpu/vector/move.h"
#include "cpu/vector/vprog_int.h"

#define IMG "tensor<1x32x4x6xf32>"
#define WIDE "tensor<1x64x4x6xf32>"
#define FEW "tensor<32xf32>"
#define ATTRS "<{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}>"
static const char *const programs[] = {
    "func.func @main(%x: " IMG ", %w: tensor<32x32x1x1xf32>, %s: " FEW ", %b: " FEW ", %g: " WIDE ") -> (" IMG ", " FEW
    ", " WIDE ") {\n"
    "%z = stablehlo.constant dense<0.0> : " IMG "\n"
    "%y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG ", tensor<32x32x1x1xf32>) -> " IMG "\n"
    "%n:3 = \"stablehlo.batch_norm_training\"(%y, %s, %b) " ATTRS " : (" IMG ", " FEW ", " FEW ") -> (" IMG ", " FEW
    ", " FEW ")\n"
    "%r = stablehlo.maximum %n#0, %z : " IMG "\n"
    "%c = stablehlo.concatenate %x, %r, dim = 1 : (" IMG ", " IMG ") -> " WIDE "\n"
    "%m = stablehlo.compare GT, %n#0, %z, FLOAT : (" IMG ", " IMG ") -> tensor<1x32x4x6xi1>\n"
    "%v = stablehlo.slice %g [0:1, 32:64, 0:4, 0:6] : (" WIDE ") -> " IMG "\n"
    "%dy = stablehlo.select %m, %v, %z : tensor<1x32x4x6xi1>, " IMG "\n"
    "%d:3 = \"stablehlo.batch_norm_grad\"(%y, %s, %n#1, %n#2, %dy) " ATTRS " : (" IMG ", " FEW ", " FEW ", " FEW
    ", " IMG ") -> (" IMG ", " FEW ", " FEW ")\n"
    "return %d#0, %d#1, %c : " IMG ", " FEW ", " WIDE "\n}\n",
    "func.func @main(%x: tensor<6x8xf32>, %p: tensor<2xf32>, %i: tensor<i32>) -> (tensor<3x4xf32>, tensor<8x6xf32>, "
    "tensor<7x9xf32>, "
    "tensor<2x8xf32>, tensor<6x8xf32>) {\n"
    "%a = stablehlo.slice %x [1:6:2, 4:8] : (tensor<6x8xf32>) -> tensor<3x4xf32>\n"
    "%b = stablehlo.reverse %a, dims = [0] : tensor<3x4xf32>\n"
    "%c = stablehlo.tanh %b : tensor<3x4xf32>\n"
    "%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>\n"
    "%q = stablehlo.slice %p [1:2] : (tensor<2xf32>) -> tensor<1xf32>\n"
    "%s = stablehlo.reshape %q : (tensor<1xf32>) -> tensor<f32>\n"
    "%e = stablehlo.pad %x, %s, low = [1, 0], high = [0, 1], interior = [0, 0] : (tensor<6x8xf32>, tensor<f32>) -> "
    "tensor<7x9xf32>\n"
    "%f = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> "
    "tensor<2x8xf32>\n"
    "%u = stablehlo.dynamic_update_slice %x, %a, %i, %i : (tensor<6x8xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) "
    "-> tensor<6x8xf32>\n"
    "return %c, %t, %e, %f, %u : tensor<3x4xf32>, tensor<8x6xf32>, tensor<7x9xf32>, tensor<2x8xf32>, "
    "tensor<6x8xf32>\n}\n",
};

static bool is_refused(const cpu_exec *e) {
    xt_status s = cpu_plan_verify(e, true);
    bool refused = s != NULL;
    xt_status_free(s);
    return refused;
}

#define REFUSED(change, back)                                                                                  \
    do {                                                                                                       \
        change;                                                                                                \
        if (!is_refused(e))                                                                                    \
            fail_msg("program %zu, thunk %u (%s), input %u: not refused: %s", program, t, th->kernel->name, i, \
                     #change);                                                                                 \
        back;                                                                                                  \
        tried++;                                                                                               \
    } while (0)

/* Each input of each thunk: at another place, another value, in the other layout, in memory that is too small. */
static size_t spoil_inputs(cpu_exec *e, size_t program) {
    size_t tried = 0;
    for (uint32_t t = 0; t < e->plan.n_thunks; t++)
        for (uint32_t i = 0; i < e->plan.thunks[t].n_in; i++) {
            cpu_thunk *th = &e->plan.thunks[t];
            cpu_slot *s = &e->plan.slots[th->in[i].slot];
            const ir_value *was = th->reads[i];
            size_t elem = xt_dtype_size(was->type->dtype), bytes = s->bytes;
            uint8_t feature = s->feature;
            REFUSED(th->in[i].offset += elem, th->in[i].offset -= elem);
            REFUSED(th->in[i].offset += s->bytes, th->in[i].offset -= s->bytes);
            REFUSED(s->feature = feature ? 0 : 2, s->feature = feature);
            REFUSED(s->bytes = th->in[i].offset + elem - 1, s->bytes = bytes);
            for (uint32_t k = 0; k < th->n_in; k++)
                if (th->reads[k]->type != was->type || (th->reads[k] != was && th->in[k].slot != th->in[i].slot))
                    REFUSED(th->reads[i] = th->reads[k], th->reads[i] = was);
        }
    return tried;
}

/* What loops load, and copies into other layouts: another element first, fewer elements, the same view once more. */
static size_t spoil_views(cpu_exec *e, size_t program) {
    size_t tried = 0;
    for (uint32_t t = 0; t < e->plan.n_thunks; t++) {
        cpu_thunk *th = &e->plan.thunks[t];
        vprog *loop = th->kernel->is_fused ? th->state : NULL;
        cpu_move *m = strcmp(th->kernel->name, "reorder") == 0 ? th->state : NULL;
        uint32_t i = 0;
        for (; loop && i < loop->n_sources; i++) {
            vprog_source *s = &loop->sources[i], was = *s;
            if (s->kind == VPROG_SPLAT || s->kind == VPROG_IOTA) continue;
            REFUSED((s->offset++, s->v.offset++), *s = was);
            REFUSED(s->elem *= 2, *s = was);
            if (s->kind != VPROG_STRIDED) continue;
            int last = s->v.n - 1;
            REFUSED(s->v.strides[last] *= 2, *s = was);
            REFUSED(s->v.dims[0]--, *s = was);
            if (s->v.offset) REFUSED(s->v.offset *= 2, *s = was);
        }
        if (!m) continue;
        cpu_move was = *m;
        REFUSED(m->src.offset++, *m = was);
        REFUSED((m->src.dims[0] = 0, m->dst.dims[0] = 0), *m = was);
        REFUSED(m->src.strides[0] *= 2, *m = was);
    }
    return tried;
}

static void other_reads_are_refused(void **state) {
    (void)state;
    for (size_t program = 0; program < BASE_COUNT(programs); program++)
        for (int blocked = 0; blocked < 2; blocked++) {
            cpu_exec *e = NULL;
            const char *text = programs[program];
            setenv("XT_CPU_LAYOUT", blocked ? "blocked" : "plain", 1);
            expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), "compile");
            unsetenv("XT_CPU_LAYOUT");
            assert_false(is_refused(e));
            size_t inputs = spoil_inputs(e, program), views = spoil_views(e, program);
            assert_true(inputs > 20 && views > 2);
            assert_false(is_refused(e)); /* all is as it was */
            cpu_exec_free(e);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_reads_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
