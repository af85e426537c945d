/* A number gives what it gives, whatever it was in the steps before: each row of numbers.def with each number below,
 * once where the number has never changed, a constant of its program, and once where it has, data. What the row
 * computes, the gradient that comes back through it, and what is drawn behind it are the same to the last bit, zeros of
 * either sign being one. ROUNDED rows differ by roundings alone: a resumed run may see that, and doc/porting.md says
 * so. */
#include "number_rows.h"

enum { DRAWS = 4, COUNT = ROWS * COLUMNS };
static const double numbers[] = {0.5, 0, 1, 2, -1, INFINITY, -0.5, 1.5, 0.75};

typedef struct outcome {
    bool refused, flows; /* a gradient came back */
    size_t n;
    float y[MOST], d_x[COUNT], drawn[DRAWS];
    char why[160];
} outcome;

static void unheard(xt_status s, void *user) {
    (void)s, (void)user;
}

static bool refuse(outcome *o, xt_module *m) {
    snprintf(o->why, sizeof o->why, "%s", xt_status_message(xt_error()));
    xt_clear_error();
    row_end(m);
    xt_mark_step();
    xt_clear_error();
    o->refused = true;
    return false;
}

/* One step of a module of its own, with the draws of all the others. */
static bool run(const row *r, const char *path, double v, outcome *o) {
    under_test t = {.r = r, .in.v = v, .in.whole = (int64_t)fmin(fmax(v, -4), 4)};
    memset(o, 0, sizeof *o);
    xt_seed(5);
    xt_module *m = row_module(&t);
    lazy_path_push(path);
    xt_tensor x = xt_from_array(values, XT_F32, ROWS, COLUMNS), d_x = {0};
    if (r->kind != UPDATE) x = xt_requires_grad(x, true);
    xt_tensor y = row_result(&t, m, x), drawn = xt_keep(xt_rand(XT_F32, DRAWS));
    bool flows = r->kind != UPDATE && !xt_error() && lazy_needs_grad(lazy_value(y));
    if (flows) {
        int64_t n = lazy_type(y)->count;
        xt_tensor weights = xt_add(xt_sin(xt_reshape(xt_arange(n, XT_F32), n)), 0.5);
        xt_backward(xt_sum(xt_mul(xt_flatten(xt_cast(y, XT_F32), 0), weights)));
        d_x = xt_grad(x);
    }
    xt_tensor kept = xt_keep(xt_mul(xt_cast(y, XT_F32), 1));
    o->flows = flows && !xt_error() && !xt_is_none(d_x);
    if (o->flows) d_x = xt_keep(d_x);
    lazy_path_pop();
    if (xt_error() || !xt_mark_step()) return refuse(o, m);
    o->n = (size_t)lazy_type(kept)->count;
    assert_true(o->n <= MOST);
    assert_true(xt_read(kept, o->y, o->n * sizeof *o->y));
    assert_true(xt_read(drawn, o->drawn, sizeof o->drawn));
    if (o->flows) assert_true(xt_read(d_x, o->d_x, sizeof o->d_x));
    if (o->flows) xt_drop(d_x);
    xt_drop(kept);
    xt_drop(drawn);
    row_end(m);
    return true;
}

static size_t first_other(const float *a, const float *b, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]) && !(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))))
            return i;
    return n;
}

static bool same(const row *r, double v, const char *of, const float *data, const float *constant, size_t n) {
    size_t i = first_other(data, constant, n, r->kind == ROUND ? 1e-6 : 0);
    if (i == n) return true;
    print_error("%s = %g: element %zu of %s is %.9g, and %.9g where the number has never changed\n", r->name, v, i, of,
                data[i], constant[i]);
    return false;
}

static void constants_and_data_are_one(void **state) {
    (void)state;
    int failed = 0, tried = 0;
    xt_on_error(unheard, NULL);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        static outcome data, constant;
        char path[64];
        snprintf(path, sizeof path, "number data %zu", i);
        bool moves = run(&rows[i], path, 0.3, &data) && run(&rows[i], path, 0.35, &data);
        bool rounds = false;
        if (!moves) fail_msg("%s: %s", rows[i].name, data.why);
        for (size_t k = 0; k < BASE_COUNT(numbers); k++) {
            char alone[64];
            double v = numbers[k];
            const char *name = rows[i].name;
            snprintf(alone, sizeof alone, "number alone %zu %zu", i, k);
            run(&rows[i], alone, v, &constant);
            run(&rows[i], path, v, &data);
            if (constant.refused != data.refused)
                print_error("%s = %g: refused %s: %s\n", name, v, data.refused ? "as data" : "as a constant",
                            data.refused ? data.why : constant.why);
            failed += constant.refused != data.refused;
            if (constant.refused || data.refused) continue;
            tried++;
            bool ok = data.n == constant.n && same(&rows[i], v, "the result", data.y, constant.y, data.n);
            if (data.flows != constant.flows)
                print_error("%s = %g: a gradient comes back only %s\n", name, v,
                            data.flows ? "as data" : "as a constant");
            else if (!same(&rows[i], v, "the gradient", data.d_x, constant.d_x, COUNT))
                ok = false;
            ok = ok && data.flows == constant.flows;
            ok = same(&rows[i], v, "the draws behind", data.drawn, constant.drawn, DRAWS) && ok;
            failed += !ok;
            rounds |= first_other(data.y, constant.y, data.n, 0) < data.n;
            rounds |= first_other(data.d_x, constant.d_x, COUNT, 0) < COUNT;
        }
        if (rows[i].kind == ROUND && !rounds) fail_msg("%s: no longer ROUNDED", rows[i].name);
    }
    assert_true(tried > 1000);
    assert_int_equal(failed, 0);
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants_and_data_are_one)};
    return cmocka_run_group_tests(tests, NULL, end);
}
