/* Causes of steps: shapes, numbers, ops, outputs, modes, loaders and logs; and main. */
#include "causes.h"

static void first_time(void) {
    xt_when_ready(xt_exp(some(8)), NULL, NULL);
    xt_mark_step(); /* @first */
}

static void shape(void) {
    for (int n = 8; n >= 7; n--) {
        xt_tensor x = xt_from_data(numbers, XT_F32, 1, ((const int64_t[]){n})); /* @shape */
        xt_when_ready(xt_exp(x), NULL, NULL);
        xt_mark_step();
    }
}

static void two_dims(void) {
    for (int n = 4; n >= 3; n--) {
        xt_tensor x = xt_from_data(numbers, XT_F32, 2, ((const int64_t[]){n, 2 * n})); /* @dims */
        xt_when_ready(xt_exp(x), NULL, NULL);
        xt_mark_step();
    }
}

static void constant(void) {
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_mul_scalar(some(8), 0.5 + i), NULL, NULL); /* @constant */
        xt_mark_step();
    }
}

static void live(int first, int second) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = some(8), y = xt_exp(x);
        xt_when_ready(xt_sum(y), NULL, NULL);
        xt_tensor z = xt_mul(y, y);
        if (i ? second : first) xt_keep(z); /* @keep */
        xt_mark_step();
    }
}

static void flag(void) {
    for (int i = 0; i < 2; i++) {
        if (i) xt_autocast_begin(XT_BF16); /* @cast */
        xt_tensor x = xt_reshape(some(16), 4, 4);
        xt_when_ready(xt_matmul(x, x), NULL, NULL); /* @flag */
        if (i) xt_autocast_end();
        xt_mark_step();
    }
}

static xt_tensor dropping(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_dropout(m, xt_exp(x), 0.5);
}

static void mode(void) {
    xt_module *m = xt_module_new(dropping, NULL);
    for (int i = 0; i < 2; i++) {
        if (i) xt_eval(m); /* @mode */
        xt_when_ready(xt_forward(m, some(16)), NULL, NULL);
        xt_mark_step();
    }
}

static xt_tensor layer(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "l", xt_dropout(m, x, 0.5), 2);
}

/* A step that differentiates is no evaluation, whatever the mode. */
static void trained(void) {
    xt_module *m = xt_module_new(layer, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        if (i) xt_eval(m); /* @evaluates */
        xt_backward(xt_sum(xt_forward(m, some(16))));
        xt_optimizer_step(o);
        xt_mark_step();
    }
}

/* Two values under `if`s of their own. */
static void logged(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = xt_exp(some(8));
        xt_when_ready(x, NULL, NULL);
        if (i == 0) xt_log("a", xt_sum(x)); /* @alog */
        if (i == 1) xt_log("b", xt_max(x)); /* @blog */
        xt_mark_step();
    }
}

/* What goes on with other states is told by its op: no state became another one. */
static xt_tensor normed(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_batch_norm(m, "bn", x);
}

static void states(void) {
    xt_module *m = xt_module_new(normed, NULL);
    for (int i = 0; i < 2; i++) {
        if (i) xt_eval(m); /* @turned */
        xt_when_ready(xt_forward(m, xt_reshape(some(64), 8, 8)), NULL, NULL);
        xt_mark_step();
    }
}

static void dtype(void) {
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_exp(xt_cast(some(16), i ? XT_BF16 : XT_F16)), NULL, NULL); /* @dtype */
        xt_mark_step();
    }
}

static void new_cast(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = some(16);
        if (i) x = xt_cast(x, XT_F16); /* @cast_in */
        xt_when_ready(xt_exp(x), NULL, NULL);
        xt_mark_step();
    }
}

static void axis(void) {
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_sum_axis(xt_exp(xt_reshape(some(16), 8, 2)), i), NULL, NULL); /* @axis */
        xt_mark_step();
    }
}

static void told_compiles(void) {
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}

static void place(void) {
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_exp(xt_slice(some(16), 0, i, i + 8)), NULL, NULL); /* @place */
        xt_mark_step();
    }
}

/* The parts around it are others, the whole is not. */
static void put(void) {
    for (int i = 1; i < 3; i++) {
        xt_tensor x = xt_reshape(some(16), 4, 4), y = xt_exp(some(4));
        x = xt_select_scatter(x, y, 0, i); /* @put */
        xt_when_ready(x, NULL, NULL);
        xt_mark_step();
    }
}

static void roll(void) {
    for (int i = 0; i < 5; i++) {
        xt_when_ready(xt_exp(xt_roll(some(16), i, 0)), NULL, NULL); /* @roll */
        xt_mark_step();
    }
    told_compiles();
}

/* As long as the image stays as large. */
static void scale(double first, double more) {
    for (int i = 0; i < 4; i++) {
        xt_tensor image = xt_reshape(some(64), 1, 1, 8, 8);
        xt_when_ready(xt_interpolate(image, .scale = first + i * more), NULL, NULL); /* @scale */
        xt_mark_step();
    }
    told_compiles();
}

static void scale_within(void) {
    scale(1.5, 0.01);
}
static void scale_sizes(void) {
    scale(1.5, 0.25);
}

/* The number of turns and the axis are no data. */
static void quarter_turns(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor y = xt_rot90(xt_reshape(some(16), 4, 4), i, 0, 1); /* @turns */
        xt_when_ready(y, NULL, NULL);
        xt_mark_step();
    }
}

static void along(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor y = xt_cumsum(xt_reshape(some(16), 4, 4), i); /* @along */
        xt_when_ready(y, NULL, NULL);
        xt_mark_step();
    }
}

static void order(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = some(16);
        if (i) {
            x = xt_sin(x); /* @sine */
            x = xt_exp(x);
        } else {
            x = xt_exp(x); /* @exponential */
            x = xt_sin(x);
        }
        xt_when_ready(x, NULL, NULL);
        xt_mark_step();
    }
}

static void evicted(void) {
    setenv("XT_CACHE_ENTRIES", "2", 1);
    for (int i = 0; i < 4; i++) { /* the fourth step is the first one again */
        xt_when_ready(i == 1 ? xt_exp(some(8)) : i == 2 ? xt_sin(some(8)) : xt_tanh(some(8)), NULL, NULL);
        xt_mark_step(); /* @evicted */
    }
}

/* What a size leaves of the correction is no number of the program's. */
static void deviation(void) {
    for (int i = 0; i < 3; i++) {
        int n = 8 - i % 2;
        xt_when_ready(xt_add(xt_std(some(n)), xt_max(xt_fftfreq(n, 0.5))), NULL, NULL);
        xt_mark_step();
    }
    told_compiles();
}

/* A size that the last batch has made data: the others' program is made in the next pass. */
static void data_since(void) {
    for (int i = 0; i < 8; i++) {
        int n = i % 4 == 3 ? 4 : 8;
        xt_tensor x = xt_from_data(numbers, XT_F32, 1, ((const int64_t[]){n}));
        xt_when_ready(xt_div(xt_sum(xt_exp(x)), n), NULL, NULL); /* @since */
        xt_mark_step();
    }
    told_compiles();
}

static void print(void) {
    for (int i = 0; i < 3; i++) {
        xt_tensor y = xt_exp(some(8)), s = xt_sum(y);
        xt_when_ready(xt_mean(y), NULL, NULL);
        if (i == 1) xt_master_printf("s = %t\n", s); /* @print */
        xt_mark_step();
    }
}

/* A number that one of two ways through the step does not need becomes data, in front of the learning rate. */
static void unneeded(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 6; i++) {
        xt_tensor y = xt_forward(m, xt_reshape(some(16), 8, 2)), loss = xt_mean(y);
        loss = xt_mul(loss, i < 4 ? 0.75 : 0.5); /* @unneeded */
        if (i % 2)
            xt_backward(xt_sum(xt_square(y)));
        else
            xt_backward(loss);
        xt_optimizer_step(sgd);
        xt_mark_step();
    }
}

static void checkpoint(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        xt_backward(xt_mean(xt_forward(m, xt_reshape(some(16), 8, 2))));
        xt_optimizer_step(sgd);
        if (i == 0) xt_status_free(xt_save(m, "causes.safetensors")); /* @checkpoint */
        xt_mark_step();
    }
}

/* An evaluation first: its mode is none of the micro-batches'. */
static void micro_batches(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    xt_eval(m);
    xt_no_grad_begin();
    xt_when_ready(xt_forward(m, xt_reshape(some(16), 8, 2)), NULL, NULL);
    xt_mark_step();
    xt_no_grad_end();
    xt_train(m);
    for (int i = 0; i < 3; i++) {
        backward(m, 8);
        if (i == 2) xt_optimizer_step(sgd);
        xt_mark_step(); /* @micro */
    }
}

/* Nothing of the steps before is in the last one. */
static void another_step(void) {
    xt_tensor state = xt_state("state", XT_F32, 2);
    xt_master_printf("%t\n", xt_sum(xt_exp(some(8))));
    xt_mark_step();
    xt_assign(state, xt_mul_scalar(state, 2)); /* @assigned */
    xt_mark_step();
}

/* What the build recorded is no part of the loop's first step. */
static void built(void) {
    xt_module *m = xt_module_new(net, NULL);
    if (xt_module_build(m, (xt_spec){XT_F32, {8, 2}})) exit(3);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 4; i++) {
        backward(m, 8);
        xt_optimizer_step(sgd);
        xt_mark_step(); /* @built */
    }
    printf("compiles after the build: %lld\n", (long long)xt_counter("compiles"));
}

/* Said without XT_DEBUG too, once. */
static void row(void) {
    unsetenv("XT_DEBUG");
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int n = 1; n < 20; n++) {
        backward(m, n);
        xt_optimizer_step(sgd);
        xt_mark_step(); /* @row */
    }
}

/* A loop that nothing ends but its reads: said without XT_DEBUG as well. */
static void sampled(void) {
    unsetenv("XT_DEBUG");
    for (int n = 1; n < 20; n++) xt_item(xt_sum(xt_exp(some(n)))); /* @sampled */
}

static void no_boundary(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int n = 4; n < 9; n++) {
        xt_tensor x = xt_reshape(some(2 * n), n, 2), l = xt_mean(xt_square(xt_forward(m, x))); /* @endless */
        xt_backward(l);
        xt_optimizer_step(sgd);
        xt_item(l);
    }
}

static void bound(void) {
    for (int n = 4; n < 9; n++) {
        xt_when_ready(xt_sum(xt_randint(0, n, XT_I64, 4)), NULL, NULL); /* @bound */
        xt_mark_step();
    }
    told_compiles();
}

static void cut(void) {
    for (int n = 4; n < 6; n++) {
        xt_when_ready(xt_exp(xt_slice(some(8), 0, 0, n)), NULL, NULL); /* @cut */
        xt_mark_step();
    }
}

static xt_tensor last_state;
static xt_tensor recurrent(xt_module *m, xt_tensor x, void *user) {
    const xt_tensor *first = user;
    xt_rnn_out out = xt_gru(m, "rnn", x, 2, .h0 = *first); /* @h0 */
    last_state = out.h;
    return out.output;
}

static xt_tensor one_cell(xt_module *m, xt_tensor x, void *user) {
    const xt_tensor *first = user;
    xt_rnn_out out = xt_gru_cell(m, "rnn", xt_reshape(x, 12, 2), 2, .h0 = *first); /* @cell */
    last_state = out.h;
    return out.output;
}

/* The first batch has no state yet. */
static void first_state_of(xt_module_fn net) {
    xt_tensor first = {0};
    xt_module *m = xt_module_new(net, &first);
    for (int i = 0; i < 3; i++) {
        xt_when_ready(xt_forward(m, xt_reshape(some(24), 3, 4, 2)), NULL, NULL);
        first = xt_keep(xt_detach(last_state));
        xt_mark_step();
    }
}

static void first_state(void) {
    first_state_of(recurrent);
}
static void first_state_of_cell(void) {
    first_state_of(one_cell);
}

static void loader(void) {
    xt_spec spec = {XT_F32, {2}};
    xt_loader *l = xt_loader_new(xt_array_dataset(numbers, spec, numbers, spec, 10), .batch = 4, .drop_last = XT_OFF);
    xt_batch b;
    while (xt_next(l, &b)) /* @loader */
        xt_when_ready(xt_sum(b.x), NULL, NULL);
}

static void list_grows(void) {
    xt_tensor all[4];
    for (int i = 0; i < 4; i++) {
        xt_tensor x = some(8), sum = xt_sum(x);
        all[i] = xt_keep(sum); /* @listed */
        for (int k = 0; k < i; k++) sum = xt_add(sum, all[k]);
        xt_when_ready(sum, NULL, NULL);
        xt_mark_step();
    }
}

static void loop_grows(void) {
    for (int i = 1; i < 4; i++) {
        xt_tensor x = some(8);
        for (int k = 0; k < i; k++) x = xt_sin(x); /* @loop */
        xt_when_ready(x, NULL, NULL);
        xt_mark_step();
    }
}

/* --- inputs that one step has more --- */
/* The arrays behind it are the same ones. */
static void own_array(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = xt_exp(xt_from_array(numbers, XT_F32, 4, 3));
        if (i) x = xt_add(x, xt_from_array(numbers, XT_F32, 3)); /* @own */
        xt_when_ready(xt_mul(x, xt_from_array(numbers, XT_F32, 4, 1)), NULL, NULL); /* @common */
        xt_mark_step();
    }
}

static void own_kept(void) {
    xt_tensor kept = xt_keep(xt_from_array(numbers, XT_F32, 3));
    for (int i = 0; i < 2; i++) {
        xt_tensor x = xt_exp(xt_from_array(numbers, XT_F32, 4, 3));
        if (i) x = xt_add(x, kept); /* @own_kept */
        xt_when_ready(xt_mul(x, xt_from_array(numbers, XT_F32, 4, 1)), NULL, NULL);
        xt_mark_step();
    }
}

/* Two arrays of one line, each in its step. */
static void either(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor a = xt_from_array(numbers, XT_F32, 4, 3), b = xt_from_array(numbers, XT_F32, 3);
        xt_tensor x = xt_exp(xt_from_array(numbers, XT_F32, 4, 3));
        xt_when_ready(i ? xt_add(x, a) : xt_mul(x, b), NULL, NULL); /* @either */
        xt_mark_step();
    }
}

/* What one helper makes: one array more, and all others shorter. */
static void more_and_shorter(void) {
    for (int i = 0; i < 2; i++) {
        int n = 8 - 2 * i;
        xt_tensor x = xt_exp(some(n));
        if (i) x = xt_add(x, some(1));
        xt_when_ready(xt_mul(x, some(n)), NULL, NULL);
        xt_mark_step();
    }
}

/* A loss whose gradients are dropped and made by another line: its own ops are needless then. */
static void other_loss(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        xt_tensor h = xt_forward(m, xt_reshape(some(16), 8, 2));
        xt_tensor l = xt_mean(xt_log_e(xt_add(xt_square(h), 1)));
        xt_log("mean", xt_mean(h));
        xt_backward(l);
        if (i) xt_zero_grad(sgd), xt_backward(xt_sum(xt_square(h))); /* @again */
        xt_optimizer_step(sgd);
        xt_mark_step();
    }
}

static xt_tensor of_width(xt_module *m, xt_tensor x, void *user) {
    const int *width = user;
    return xt_linear(m, "fc", x, *width); /* @width */
}

/* Parameters of one name, of a module each. */
static void modules_in_turn(void) {
    static int widths[2] = {3, 5};
    xt_module *m[2];
    for (int i = 0; i < 2; i++) m[i] = xt_module_new(of_width, &widths[i]);
    for (int i = 0; i < 2; i++) {
        xt_item(xt_sum(xt_forward(m[i], xt_reshape(some(16), 8, 2))));
        xt_mark_step();
    }
}

/* --- slices of other lengths --- */
static void lengths(void) {
    for (int i = 0; i < 12; i++) {
        xt_tensor x = xt_reshape(some(64), 4, 16);
        xt_when_ready(xt_sum(xt_exp(xt_slice(x, 1, 12 - i, 16))), NULL, NULL); /* @length */
        xt_mark_step();
    }
}

static void lengths_told(void) {
    unsetenv("XT_DEBUG");
    lengths();
}

/* --- loaders and logs --- */
static void two_loaders(void) {
    xt_spec spec = {XT_F32, {2}};
    xt_loader *l[2];
    for (int i = 0; i < 2; i++)
        l[i] =
            xt_loader_new(xt_array_dataset(numbers, spec, numbers, spec, 12), .batch = 6 - 2 * i, .drop_last = XT_ON);
    xt_loader *both = xt_combined_loader(2, l, .mode = XT_SEQUENTIAL);
    xt_batch b;
    while (xt_next(both, &b)) /* @other_loader */
        xt_when_ready(xt_sum(b.x), NULL, NULL);
}

static void log_names(void) {
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "loss_%d", i);
        xt_log(name, xt_sum(some(8))); /* @named */
        xt_mark_step();
    }
}

static void behind_the_end(void) {
    first_time();
    xt_finish();
    xt_log_image("late", xt_reshape(some(16), 4, 4)); /* @late */
    exit(0);
}

static void dead_tensor(void) {
    xt_tensor kept = xt_keep(xt_exp(some(8)));
    xt_mark_step();
    xt_finish();
    xt_exp(kept);
    fprintf(stderr, "%s\n", xt_status_message(xt_error()));
    xt_clear_error();
}

static void explicit_sync(void) {
    xt_when_ready(xt_exp(some(8)), NULL, NULL);
    xt_wait(); /* @wait */
}

static void finish(void) {
    xt_when_ready(xt_exp(some(8)), NULL, NULL);
}

static const cause causes[] = {{"first", first_time},
                               {"shape", shape},
                               {"dims", two_dims},
                               {"trained", trained},
                               {"logged", logged},
                               {"constant", constant},
                               {"flag", flag},
                               {"mode", mode},
                               {"states", states},
                               {"dtype", dtype},
                               {"cast_in", new_cast},
                               {"axis", axis},
                               {"place", place},
                               {"order", order},
                               {"evicted", evicted},
                               {"unneeded", unneeded},
                               {"deviation", deviation},
                               {"since", data_since},
                               {"print", print},
                               {"checkpoint", checkpoint},
                               {"loader", loader},
                               {"wait", explicit_sync},
                               {"micro", micro_batches},
                               {"assigned", another_step},
                               {"built", built},
                               {"row", row},
                               {"sampled", sampled},
                               {"endless", no_boundary},
                               {"bound", bound},
                               {"cut", cut},
                               {"h0", first_state},
                               {"cell", first_state_of_cell},
                               {"list", list_grows},
                               {"loop", loop_grows},
                               {"own_array", own_array},
                               {"own_kept", own_kept},
                               {"either", either},
                               {"more_shorter", more_and_shorter},
                               {"other_loss", other_loss},
                               {"modules", modules_in_turn},
                               {"lengths", lengths},
                               {"lengths_told", lengths_told},
                               {"loaders", two_loaders},
                               {"names", log_names},
                               {"put", put},
                               {"roll", roll},
                               {"scale", scale_within},
                               {"scaled", scale_sizes},
                               {"turns", quarter_turns},
                               {"along", along},
                               {"behind_end", behind_the_end},
                               {"dead", dead_tensor},
                               {"end", finish},
                               {NULL, NULL}};

int train(const char *what) {
    const cause *const lists[] = {causes, causes_reads, causes_learning};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const cause *c = lists[i]; c->name; c++)
            if (strcmp(what, c->name) == 0) c->fn();
    if (strcmp(what, "new") == 0) live(0, 1);
    if (strcmp(what, "lost") == 0) live(1, 0);
    return xt_finish(); /* @end */
}

#ifndef NO_MAIN
int main(int argc, char **argv) {
    return train(argc > 1 ? argv[1] : "first");
}
#endif
