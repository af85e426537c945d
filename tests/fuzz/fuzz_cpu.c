/* Fuzz target of the CPU compiler: a program means what the reference interpreter makes of it, with every pass, without
 * any one, with one alone, in each layout of images, on one thread and on two, with donated arguments and without. The
 * input is a head of HEAD bytes (how it is compiled, and a seed) and the program's text; without a text the program is
 * made from the seed (tests/unit/random_program.h, random_graph.h), and changed a few times where the head asks for it.
 *
 * Results are compared where the program has one meaning: finite values, and no op whose result is the implementation's
 * choice (vague_ops). Rounding may move a value across a step (a mask, a floor, an index), after which it is another
 * value altogether; so the interpreter also runs on inputs that differ a little, an element may be as far off as those
 * results are apart, and a program is called wrong only when it is for three draws of the inputs. */
#include "cpu/cpu.h"
#include "pass/pass.h"
#include "../unit/random_graph.h"
#include "../unit/random_program.h"
#include "fuzz.h"
#include "mutate_text.h"
#include "small.h"

enum { KIND, SWITCH, FORM, CHANGES, SEED, HEAD = SEED + 8, ARGUMENTS = 32, TEXT = 1 << 16 };
static const char *const layouts[] = {"auto", "plain", "blocked"};

static bool vague_block(const ir_block *b) {
    static const ir_opcode vague_ops[] = {
        OP_rng, /* any numbers */
        OP_custom_call,
        OP_infeed,
        OP_outfeed,
        OP_send,
        OP_recv,
        OP_partition_id,
        OP_replica_id, /* the world outside */
        OP_all_gather,
        OP_all_reduce,
        OP_all_to_all,
        OP_collective_permute,
        OP_reduce_scatter,
        OP_collective_broadcast,
        OP_sort, /* any order, where the comparator is none */
        OP_scatter,
        OP_select_and_scatter,
        OP_reduce,
        OP_reduce_window,
        OP_map, /* any order of the body's calls */
        OP_convert, /* values out of the new type's range */
        OP_divide,
        OP_remainder,
        OP_power, /* of integers by zero */
        OP_shift_left,
        OP_shift_right_arithmetic,
        OP_shift_right_logical, /* by more bits than there are */
        OP_bitcast_convert, /* a NaN's bits */
    };
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        bool listed = false, whole = op->n_out && op->out[0].type->kind == IR_TENSOR &&
                                     op->out[0].type->dtype != XT_F32 && op->out[0].type->dtype != XT_F64;
        for (size_t i = 0; i < BASE_COUNT(vague_ops); i++) listed = listed || op->code == vague_ops[i];
        bool reduces = op->code == OP_reduce || op->code == OP_reduce_window || op->code == OP_sort ||
                       op->code == OP_scatter || op->code == OP_select_and_scatter || op->code == OP_map;
        bool arithmetic = op->code == OP_divide || op->code == OP_power || op->code == OP_remainder;
        if (reduces) { /* a body of one sum, product, minimum or maximum has one meaning */
            const ir_block *body = op->n_regions ? op->regions[op->n_regions - 1].block : NULL;
            const ir_op *one = body ? body->first : NULL;
            if (!one || one->next != body->last ||
                (one->code != OP_add && one->code != OP_maximum && one->code != OP_minimum))
                return true;
        } else if (listed && (whole || !(arithmetic || op->code == OP_convert))) {
            return true;
        }
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (vague_block(op->regions[r].block)) return true;
    }
    return false;
}

static bool vague(const ir_module *m) {
    for (const ir_func *f = m->funcs; f; f = f->next)
        if (vague_block(f->body)) return true;
    return false;
}

typedef struct job {
    const char *text;
    size_t n;
    const ir_block *body;
    size_t n_in, n_out;
    double tol;
    int threads;
    bool donate, compared;
} job;

static xt_status fill(const job *j, uint64_t draw, double shift, array *in) {
    xt_status s = NULL;
    for (size_t i = 0; i < j->n_in && !s; i++) {
        if ((s = array_new(j->body->args[i]->type, &in[i]))) break;
        fill_random(&in[i], 100 + i + 1000 * draw);
        if (shift == 0 || !ir_dtype_is_float(in[i].type->dtype)) continue;
        for (int64_t k = 0; k < in[i].type->count; k++) {
            double v = array_get(&in[i], k);
            array_set(&in[i], k, v + (k % 2 ? shift : -shift) * (1 + fabs(v)));
        }
    }
    return s;
}

static void free_all(array *a, size_t n) {
    for (size_t i = 0; i < n; i++) array_free(&a[i]);
}

/* The first element that is further off than rounding and the shifted results explain; -1: none. */
static int64_t wrong_element(const array *want, const array near[2], const array *got, double tol) {
    double most = 0, apart = 0;
    for (int64_t i = 0; i < want->type->count; i++) {
        double w = array_get(want, i), a = array_get(&near[0], i), b = array_get(&near[1], i);
        if (!isfinite(w) || !isfinite(a) || !isfinite(b))
            return -1; /* what follows from an overflow has no one value */
        most = fmax(most, fabs(w));
        apart = fmax(apart, fmax(fabs(w - a), fabs(w - b)));
    }
    for (int64_t i = 0; i < want->type->count; i++) {
        double d = fabs(array_get(want, i) - array_get(got, i));
        if (!(d <= tol * (1 + most) + 4 * apart)) return i;
    }
    return -1;
}

/* *out_wrong: where the compiler's result differs. */
static xt_status run_once(const ir_module *m, const job *j, cpu_exec *e, cpu_device *d, uint64_t draw, str *out_wrong) {
    array in[ARGUMENTS] = {0}, mine[ARGUMENTS] = {0}, want[ARGUMENTS] = {0}, near[2][ARGUMENTS] = {0},
          got[ARGUMENTS] = {0};
    bool donated[ARGUMENTS] = {0};
    int from[ARGUMENTS];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    xt_status s = fill(j, draw, 0, in);
    if (!s) s = interp_run(m, "main", NULL, j->n_in, in, j->n_out, want);
    for (int k = 0; k < 2 && !s && j->compared; k++) {
        array shifted[ARGUMENTS] = {0};
        s = fill(j, draw, k ? 1e-5 : -1e-5, shifted);
        if (!s) s = interp_run(m, "main", NULL, j->n_in, shifted, j->n_out, near[k]);
        free_all(shifted, j->n_in);
    }
    for (size_t i = 0; i < j->n_in && !s; i++) {
        void *p = NULL;
        size_t bytes = ir_type_bytes(in[i].type);
        if ((s = heap_alloc(&h, bytes, &p))) break;
        memcpy(p, in[i].data, bytes);
        mine[i] = (array){in[i].type, p};
        donated[i] = j->donate && cpu_exec_alias(e, i) >= 0;
    }
    bool ran = !s;
    if (ran) s = cpu_run(e, d, &a, mine, donated, got, from);
    for (size_t k = 0; k < j->n_out && !s; k++) {
        array both[2] = {near[0][k], near[1][k]};
        int64_t at = j->compared ? wrong_element(&want[k], both, &got[k], j->tol) : -1;
        if (at >= 0 && out_wrong->len == 0)
            str_printf(out_wrong, "result %zu element %lld: interpreter %.9g, compiler %.9g", k, (long long)at,
                       array_get(&want[k], at), array_get(&got[k], at));
        if (from[k] < 0) heap_free(&h, got[k].data, ir_type_bytes(got[k].type));
    }
    for (size_t i = 0; i < j->n_in; i++) {
        if (ran && !donated[i] && memcmp(mine[i].data, in[i].data, ir_type_bytes(in[i].type)) != 0) abort();
        if (mine[i].data) heap_free(&h, mine[i].data, ir_type_bytes(in[i].type));
    }
    free_all(in, j->n_in), free_all(want, j->n_out), free_all(near[0], j->n_out), free_all(near[1], j->n_out);
    if (h.live) abort();
    return s;
}

static void compile_and_run(const ir_module *m, const job *j) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    str wrong = STR_INIT;
    xt_status s = cpu_compile(j->text, j->n, &(cpu_compile_opts){.threads = j->threads}, &e);
    if (!s) s = cpu_device_new(j->threads, NULL, &d);
    for (uint64_t draw = 0; draw < 3 && !s; draw++) {
        str_clear(&wrong);
        s = run_once(m, j, e, d, draw, &wrong);
        if (wrong.len == 0) break;
    }
    if (xt_status_code(s) == XT_INTERNAL || (!s && wrong.len)) {
        const char *passes = getenv("XT_PASSES"), *layout = getenv("XT_CPU_LAYOUT");
        fprintf(stderr, "%s\nXT_PASSES=%s XT_CPU_LAYOUT=%s, %d threads%s: %s\n", j->text, passes ? passes : "", layout,
                j->threads, j->donate ? ", donated" : "", s ? xt_status_message(s) : str_cstr(&wrong));
        abort();
    }
    xt_status_free(s);
    str_free(&wrong);
    cpu_device_free(d);
    cpu_exec_free(e);
}

static void switches(uint8_t which) {
    char one[80];
    size_t k = which % (2 * pass_switch_count + 2);
    if (which < 64)
        unsetenv("XT_PASSES");
    else if (k < 2)
        setenv("XT_PASSES", "-all", 1);
    else {
        snprintf(one, sizeof one, k % 2 ? "-all,+%s" : "-%s", pass_switch_names[(k - 2) / 2]);
        setenv("XT_PASSES", one, 1);
    }
}

/* The program of the input; false: none. */
static bool program_of(const uint8_t *data, size_t n, str *out, bool *out_rounds) {
    uint64_t seed;
    memcpy(&seed, data + SEED, sizeof seed);
    *out_rounds = false;
    if (n > HEAD) return str_appendn(out, (const char *)data + HEAD, n - HEAD), true;
    if (data[KIND] % 8 == 0) {
        xt_status s = random_graph(seed % 100000, out, out_rounds);
        if (s) abort(); /* generated programs verify */
    } else {
        *out = random_program(seed);
    }
    static uint8_t text[TEXT];
    size_t len = out->len;
    if (len >= TEXT || data[CHANGES] < 128) return len < TEXT;
    memcpy(text, str_cstr(out), len);
    for (int i = 0; i < data[CHANGES] % 4 + 1; i++) len = mutate_text(text, len, TEXT, seed + (uint64_t)i);
    str_clear(out);
    str_appendn(out, (const char *)text, len);
    return true;
}

static void silent(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)text, (void)n, (void)user;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    xt_set_sink(silent, NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL;
    str text = STR_INIT;
    bool rounds = false;
    if (n < HEAD || !program_of(data, n, &text, &rounds)) return str_free(&text), 0;
    xt_status s = ir_parse(str_cstr(&text), text.len, "fuzz", &m);
    if (!s) s = ir_verify(m);
    const ir_func *f = s ? NULL : ir_func_find(m, "main");
    bool small = f && f->body && (n <= HEAD || small_module(m)) && !pass_is_dynamic(m);
    job j = {.text = str_cstr(&text), .n = text.len, .threads = data[FORM] & 1 ? 2 : 1, .donate = data[FORM] & 2};
    if (small) {
        j.body = f->body;
        j.n_in = f->body->n_args, j.n_out = f->n_results;
        small = j.n_in <= ARGUMENTS && j.n_out <= ARGUMENTS;
        for (size_t i = 0; i < j.n_in && small; i++) small = f->body->args[i]->type->kind == IR_TENSOR;
    }
    if (small) {
        bool narrow = rounds || strstr(j.text, "f16") || strstr(j.text, "f8");
        j.tol = narrow ? 0.3 : 1e-3;
        j.compared = !narrow && !vague(m);
        switches(data[SWITCH]);
        setenv("XT_CPU_LAYOUT", layouts[data[FORM] / 4 % 3], 1);
        compile_and_run(m, &j);
    }
    xt_status_free(s);
    ir_module_free(m);
    str_free(&text);
    return 0;
}

/* The head and the text change on their own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    if (n < HEAD) return LLVMFuzzerMutate(data, n, most);
    if (n == HEAD || seed % 4 == 0) {
        LLVMFuzzerMutate(data, HEAD, HEAD);
        return n;
    }
    return HEAD + mutate_text(data + HEAD, n - HEAD, most - HEAD, seed / 4u);
}
