/* A loop, or a fit, in which lines of their own do something only in some iterations:
 *     causes_drawn loop|mark|fit SAMPLES ACCUMULATE [NAME=P,Q]...
 * NAME in an iteration i with i % P == Q; `number` and `freeze` from iteration Q on; `adam`, `built` (all layers are
 * there before the first step) and `read` in all of them. Each iteration is told before it is recorded, so that
 * compiles between two of these lines are its own (causes_drawn.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>

static struct {
    char name[16];
    int p, q;
} given[16];
static int n_given, accumulate, iteration, frozen;
static bool in_fit, building;
static float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static xt_module *m, *critic;
static xt_tensor state, kept;

static bool holds(const char *name) {
    for (int i = 0; i < n_given; i++)
        if (strcmp(given[i].name, name) == 0)
            return given[i].p ? iteration % given[i].p == given[i].q : iteration >= given[i].q;
    return false;
}

static bool is_given(const char *name) {
    for (int i = 0; i < n_given; i++)
        if (strcmp(given[i].name, name) == 0) return true;
    return false;
}

static xt_tensor net(xt_module *of, xt_tensor x, void *user) {
    (void)user;
    if (is_given("mode")) x = xt_dropout(xt_sub(of, "drop", -1), x, 0.25);
    if (is_given("detach")) x = xt_linear(of, "early", x, 4);
    if (holds("detach")) x = xt_detach(x); /* @detach */
    if (building || holds("block")) x = xt_add(x, xt_linear(of, "block", x, 4)); /* @block */
    if (is_given("depth")) /* the same line for each */
        for (int i = 0; i < 2 + (building || holds("depth")); i++)
            x = xt_linear(xt_sub(of, "deep", i), "fc", x, 4); /* @depth */
    xt_tensor y = xt_linear(of, "fc", x, 1), one = y;
    if (building || (is_given("head") && holds("head"))) one = xt_linear(of, "one", y, 1); /* @head */
    if (building || (is_given("head") && !holds("head"))) return xt_linear(of, "other", xt_tanh(one), 1); /* @head */
    return one;
}

static xt_tensor judge(xt_module *of, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(of, "out", x, 1);
}

static xt_tensor forward(xt_tensor x) {
    if (holds("cast")) xt_autocast_begin(XT_BF16); /* @cast */
    xt_tensor y = xt_forward(m, x);
    if (holds("cast")) xt_autocast_end();
    if (holds("turns")) y = xt_forward(critic, xt_detach(y)); /* @turns */
    return y;
}

static void turn(xt_module *drop) {
    holds("mode") ? (void)xt_eval(drop) : (void)xt_train(drop); /* @mode */
}

static xt_tensor loss_of(xt_batch b) {
    double factor = holds("number") ? 0.5 : 2;
    xt_tensor x = b.x;
    fprintf(stderr, "iteration %d\n", iteration);
    if (holds("freeze") && !frozen++) xt_freeze(m, "fc.bias"); /* @freeze */
    if (is_given("mode")) turn(xt_sub(m, "drop", -1));
    if (is_given("slice")) x = xt_mul(x, xt_mean(xt_exp(xt_slice(x, 1, 0, holds("slice") ? 2 : 3)))); /* @slice */
    if (holds("branch")) x = xt_sin(x); /* @branch */
    if (holds("extra")) x = xt_add(x, xt_from_array(numbers, XT_F32, 4)); /* @extra */
    if (holds("kept")) x = xt_add(x, kept); /* @kept */
    x = xt_mul(x, xt_from_array(numbers, XT_F32, 1));
    xt_tensor l = xt_mse_loss(forward(x), xt_add(b.y, xt_from_array(numbers, XT_F32, 1, 1)));
    l = xt_mul(l, factor); /* @number */
    if (is_given("read")) xt_item(l); /* @read */
    if (holds("always")) xt_log("always", l); /* @always */
    if (holds("log")) xt_log("log", l); /* @log */
    if (holds("other")) xt_log("other", xt_exp(l)); /* @other */
    if (holds("value")) xt_log_value("value", iteration); /* @value */
    if (holds("print")) xt_master_printf("%t\n", l); /* @print */
    if (holds("assign")) xt_assign(state, xt_add(state, 1)); /* @assign */
    return l;
}

static xt_tensor training_step(xt_module *of, xt_batch b, void *user) {
    (void)of, (void)user;
    xt_tensor l = loss_of(b);
    iteration++;
    return l;
}

static xt_optimizer *configure(xt_module *of, void *user) {
    (void)user;
    return is_given("adam") ? xt_adam(of, .lr = 0.01) : xt_sgd(of, .lr = 0.01); /* @turns */
}

int main(int argc, char **argv) {
    static float x[256 * 4], y[256];
    int64_t samples = atoi(argv[2]);
    accumulate = atoi(argv[3]);
    in_fit = strcmp(argv[1], "fit") == 0;
    for (int i = 4; i < argc; i++, n_given++)
        sscanf(argv[i], "%15[^=]=%d,%d", given[n_given].name, &given[n_given].p, &given[n_given].q);
    m = xt_module_new(net, NULL);
    critic = xt_module_new(judge, NULL);
    building = is_given("built");
    if (building && xt_module_build(m, (xt_spec){XT_F32, {16, 4}})) return 3;
    if (building && xt_module_build(critic, (xt_spec){XT_F32, {16, 1}})) return 3;
    building = false;
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_F32, {1}}, samples),
                                 .batch = 16, .drop_last = XT_OFF);
    state = xt_state("state", XT_F32, 2);
    kept = xt_keep(xt_from_array(numbers, XT_F32, 4));
    if (in_fit) {
        xt_task task = {.module = m, .training_step = training_step, .configure_optimizers = configure};
        xt_trainer *t = xt_trainer_new(.max_epochs = 2, .loggers = "csv", .model_summary = XT_OFF,
                                       .accumulate_grad_batches = accumulate, .log_every_n_steps = 3);
        return xt_fit(t, &task, l, NULL) || xt_finish(); /* @apart */
    }
    xt_optimizer *o = configure(m, NULL), *of_critic = is_given("turns") ? xt_rmsprop(critic, .lr = 0.01) : NULL;
    for (int epoch = 0; epoch < 2; epoch++)
        for (xt_batch b; xt_next(l, &b);) {
            xt_backward(loss_of(b));
            if (holds("turns"))
                xt_optimizer_step(of_critic); /* @turns */
            else if ((iteration + 1) % accumulate == 0)
                xt_optimizer_step(o); /* @apart @turns */
            iteration++;
            if (strcmp(argv[1], "mark") == 0) xt_mark_step();
        }
    return xt_finish();
}
