/* Saved states when parameters are frozen in some steps, begin later or rest: whenever a run is saved and loaded, into
 * new objects or into those that have gone on, it goes on to the bits of the run that was not. Every kind of optimizer,
 * which parameters train drawn for each step. */
#include "train_test.h"

#include <string.h>

#include "optim/optim.h"

enum { LAYERS = 3, STEPS = 14, WEIGHTS = LAYERS * (16 + 4), DRAWS = 3 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    char name[16];
    (void)user;
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "l%d", i);
        x = xt_tanh(xt_linear(m, name, x, 4));
    }
    return x;
}

typedef struct made {
    const char *name;
    xt_optimizer *(*make)(xt_module *m);
} made;
#define OPTIMIZER(name, title, type)                      \
    static xt_optimizer *new_##name(xt_module *m) {       \
        return xt_##name##_opt(NULL, m, XT_OPTS(type, )); \
    }
#include "optim/optimizers.def"
#undef OPTIMIZER
/* the options with which a kind counts that does not by itself, and has more states */
static xt_optimizer *new_dampened(xt_module *m) {
    return xt_sgd(m, .lr = 0.1, .momentum = 0.9, .dampening = 0.5);
}
static xt_optimizer *new_amsgrad(xt_module *m) {
    return xt_adamw(m, .lr = 0.1, .amsgrad = XT_ON);
}
static xt_optimizer *new_decayed(xt_module *m) {
    return xt_adagrad(m, .lr = 0.1, .lr_decay = 0.1, .initial_accumulator_value = 0.5);
}
static const made kinds[] = {
#define OPTIMIZER(name, title, type) {#name, new_##name},
#include "optim/optimizers.def"
#undef OPTIMIZER
    {"sgd, dampened", new_dampened}, {"adamw, amsgrad", new_amsgrad}, {"adagrad, decayed", new_decayed}};

typedef struct run {
    xt_module *m;
    xt_optimizer *o;
} run;

static run start(const made *k) {
    run r = {.m = xt_module_new(net, NULL)};
    xt_seed(3);
    assert_null(xt_module_build(r.m, (xt_spec){XT_F32, {5, 4}}));
    r.o = k->make(r.m);
    return r;
}
static void drop(run r) {
    xt_optimizer_free(r.o);
    xt_module_free(r.m);
}
static void save(run r) {
    assert_null(xt_save(r.m, in_dir("net")));
    assert_null(xt_optimizer_save(r.o, in_dir("state")));
}
static void load(run r) {
    assert_null(xt_load(r.m, in_dir("net")));
    assert_null(xt_optimizer_load(r.o, in_dir("state")));
}

/* trains: a bit for each layer */
static void step(run r, int t, unsigned trains) {
    float x[20];
    char pattern[16];
    for (int i = 0; i < 20; i++) x[i] = (float)((i * 7 + t * 5) % 11) / 11;
    for (int i = 0; i < LAYERS; i++) {
        snprintf(pattern, sizeof pattern, "l%d.*", i);
        xt_freeze_at(XT_HERE, r.m, pattern, !(trains & 1u << i));
    }
    xt_backward(xt_mean(xt_square(xt_add(xt_forward(r.m, xt_from_array(x, XT_F32, 5, 4)), -0.5))));
    xt_optimizer_step(r.o);
    xt_mark_step();
    if (xt_error()) fail_msg("step %d: %s", t, xt_status_message(xt_error()));
}

static void weights(run r, float out[WEIGHTS]) {
    size_t at = 0;
    for (int i = 0; i < xt_module_tensors(r.m); i++) {
        size_t n = (size_t)xt_numel(xt_module_tensor(r.m, i));
        assert_true(at + n <= WEIGHTS && xt_read(xt_module_tensor(r.m, i), out + at, n * sizeof *out));
        at += n;
    }
    assert_int_equal(at, WEIGHTS);
}

static unsigned drawn = 1;
static int draw(int n) {
    drawn = drawn * 1103515245u + 12345u;
    return (int)(drawn >> 16) % n;
}

static void goes_on(void **state) {
    float whole[WEIGHTS], parts[WEIGHTS];
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        for (int d = 0; d < DRAWS; d++) {
            unsigned trains[STEPS], was = 1;
            for (int t = 0; t < STEPS; t++) /* stays for some steps: freezing, unfreezing, a layer that rests */
                trains[t] = was = t && draw(3) ? was : 1 + (unsigned)draw((1 << LAYERS) - 1);
            run r = start(&kinds[k]);
            for (int t = 0; t < STEPS; t++) step(r, t, trains[t]);
            weights(r, whole);
            drop(r);
            /* 0: goes on in new objects; 1: saved again there before a step; 2: loaded where it has gone on */
            int saved[STEPS];
            for (int t = 0; t < STEPS; t++) saved[t] = t && draw(3) == 0 ? draw(3) : -1;
            r = start(&kinds[k]);
            for (int t = 0; t < STEPS; t++) {
                if (saved[t] >= 0) save(r);
                for (int again = 0; saved[t] == 2 && again < 2; again++) step(r, t + again, 1 + (unsigned)draw(7));
                for (int again = 0; saved[t] == 0 || saved[t] == 1; again++) {
                    drop(r);
                    r = start(&kinds[k]);
                    load(r);
                    if (again == saved[t]) break;
                    save(r);
                }
                if (saved[t] == 2) load(r);
                step(r, t, trains[t]);
            }
            weights(r, parts);
            drop(r);
            if (memcmp(whole, parts, sizeof whole) != 0)
                fail_msg("%s, draw %d: other weights where the state was saved and loaded", kinds[k].name, d);
        }
    assert_int_equal(xt_finish(), 0);
}

/* Files of older versions say of a single count that it is there, and not whose it is: theirs that have states. */
static void older_files(void **state) {
    float whole[WEIGHTS], parts[WEIGHTS];
    (void)state;
    for (int d = 0; d < 2; d++) { /* the second layer begins behind the file; goes on */
        made adam = {"adam", new_adam};
        run r = start(&adam);
        for (int t = 0; t < 5; t++) step(r, t, d ? 7 : 5);
        save(r);
        char *text = optim_state_text(r.o), *counters = strstr(text, "\"counters\":{");
        assert_non_null(counters);
        char *rest = strchr(counters, '}');
        counters += strlen("\"counters\":{");
        memmove(counters, rest, strlen(rest) + 1);
        for (int t = 5; t < 8; t++) step(r, t, 7);
        weights(r, whole);
        drop(r);
        r = start(&adam);
        load(r);
        assert_null(optim_state_load(r.o, text));
        for (int t = 5; t < 8; t++) step(r, t, 7);
        weights(r, parts);
        drop(r);
        base_free(text);
        assert_memory_equal(whole, parts, sizeof whole);
    }
    assert_int_equal(xt_finish(), 0);
}

/* The same in loops whose layers are there from their first call on, and are not called in every step: what a loop that
 * was resumed has not called yet is in what it saves. */
static xt_tensor alone(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_tanh(xt_linear(m, "l0", x, 4));
}

static run start_empty(const made *k) {
    run r = {.m = xt_module_new(alone, NULL)};
    xt_seed(3);
    r.o = k->make(r.m);
    return r;
}

static void step_some(run r, int t, unsigned calls) {
    float x[20];
    char name[16];
    for (int i = 0; i < 20; i++) x[i] = (float)((i * 7 + t * 5) % 11) / 11;
    xt_tensor y = xt_forward(r.m, xt_from_array(x, XT_F32, 5, 4));
    for (int i = 1; i < LAYERS; i++) {
        snprintf(name, sizeof name, "l%d", i);
        if (calls & 1u << i) y = xt_tanh(xt_linear(r.m, name, y, 4));
    }
    xt_backward(xt_mean(xt_square(xt_add(y, -0.5))));
    xt_optimizer_step(r.o);
    xt_mark_step();
    if (xt_error()) fail_msg("step %d: %s", t, xt_status_message(xt_error()));
}

static void layers_that_are_called_later(void **state) {
    static const unsigned calls[] = {7, 3, 3, 5, 5, 3, 7, 1, 3, 5, 7};
    float whole[WEIGHTS], parts[WEIGHTS];
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        for (int n = 1; n <= 3; n++) { /* steps of a part */
            run r = start_empty(&kinds[k]);
            for (int t = 0; t < (int)BASE_COUNT(calls); t++) step_some(r, t, calls[t]);
            weights(r, whole);
            drop(r);
            r = start_empty(&kinds[k]);
            for (int t = 0; t < (int)BASE_COUNT(calls); t++) {
                for (int again = 0; t && t % n == 0 && again < 2; again++) { /* the second: before any step */
                    save(r);
                    drop(r);
                    r = start_empty(&kinds[k]);
                    load(r);
                }
                step_some(r, t, calls[t]);
            }
            save(r);
            drop(r);
            r = start_empty(&kinds[k]); /* its tensors in the first run's order */
            assert_null(xt_load(r.m, in_dir("net")));
            xt_tensor x = xt_forward(r.m, xt_full(0, XT_F32, 5, 4));
            xt_linear(r.m, "l2", xt_linear(r.m, "l1", x, 4), 4);
            weights(r, parts);
            drop(r);
            if (memcmp(whole, parts, sizeof whole) != 0)
                fail_msg("%s, parts of %d steps: other weights where the state was saved and loaded", kinds[k].name, n);
        }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(goes_on, begin, end),
                                       cmocka_unit_test_setup_teardown(layers_that_are_called_later, begin, end),
                                       cmocka_unit_test_setup_teardown(older_files, begin, end)};
    return cmocka_run_group_tests_name("optim_resumed", tests, NULL, NULL);
}
