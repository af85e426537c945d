/* An optimizer of a child module trains that child alone, as torch.optim.Adam(net.head.parameters()) does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { STEPS = 4, IN = 3, HIDDEN = 3, OUT = 2 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(xt_sub(m, "head", -1), "fc", xt_linear(xt_sub(m, "body", -1), "fc", x, HIDDEN), OUT);
}

static xt_tensor loss_of(xt_module *m) {
    return xt_mean(xt_square(xt_forward(m, xt_ones(XT_F32, 4, IN))));
}

static void read(xt_module *m, const char *name, float *out, size_t n) {
    assert_true(xt_read(xt_module_find(m, name), out, n * sizeof *out));
}

typedef struct weights {
    float head[OUT * HIDDEN], body[HIDDEN * IN];
} weights;

static weights train(xt_module *m, xt_optimizer *a, xt_optimizer *b) {
    for (int i = 0; i < STEPS; i++) {
        xt_backward(loss_of(m));
        xt_optimizer_step(a);
        if (b) xt_optimizer_step(b);
        xt_mark_step();
    }
    weights w;
    read(m, "head.fc.weight", w.head, OUT * HIDDEN);
    read(m, "body.fc.weight", w.body, HIDDEN * IN);
    assert_null(xt_error());
    return w;
}

static void trains_the_child_alone(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL), *r = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(xt_sub(m, "head", -1), .lr = 0.1), *all = xt_adam(r, .lr = 0.1);
    xt_optimizer_group(all, "body.*", .frozen = XT_ON);
    weights got = train(m, o, NULL), want = train(r, all, NULL), first;
    xt_module *fresh = xt_module_new(net, NULL);
    loss_of(fresh);
    read(fresh, "body.fc.weight", first.body, HIDDEN * IN);
    assert_memory_equal(got.head, want.head, sizeof got.head);
    assert_memory_equal(got.body, first.body, sizeof got.body);
}

static void one_for_each_child(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL), *r = xt_module_new(net, NULL);
    xt_optimizer *head = xt_sgd(xt_sub(m, "head", -1), .lr = 0.1, .momentum = 0.9),
                 *body = xt_sgd(xt_sub(m, "body", -1), .lr = 0.1, .momentum = 0.9);
    weights got = train(m, head, body), want = train(r, xt_sgd(r, .lr = 0.1, .momentum = 0.9), NULL);
    assert_memory_equal(&got, &want, sizeof got);
}

/* What others have stays theirs: clipping, forgetting and groups keep to the child. */
static void gradients_of_others_stay(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *head = xt_sgd(xt_sub(m, "head", -1), .lr = 0.1), *body = xt_sgd(xt_sub(m, "body", -1), .lr = 0.1);
    assert_int_equal(xt_optimizer_group(head, "head.*", .lr_scale = 0.5), 1);
    xt_backward(loss_of(m));
    xt_tensor g = xt_grad(xt_module_find(m, "head.fc.weight")), d = xt_grad(xt_module_find(m, "head.fc.bias"));
    double norm = xt_item(xt_sqrt(xt_add(xt_sum(xt_square(g)), xt_sum(xt_square(d)))));
    assert_float_equal(xt_item(xt_module_clip_grad_norm(xt_sub(m, "head", -1), 1e9)), norm, 1e-5 * norm);
    xt_zero_grad(head);
    assert_true(xt_is_none(xt_grad(xt_module_find(m, "head.fc.weight"))));
    xt_clear_error();
    assert_false(xt_is_none(xt_grad(xt_module_find(m, "body.fc.weight"))));
    xt_optimizer_step(body);
    xt_mark_step();
    assert_null(xt_error());
    xt_backward(loss_of(m));
    xt_module_zero_grad(xt_sub(m, "body", -1));
    assert_false(xt_is_none(xt_grad(xt_module_find(m, "head.fc.weight"))));
    xt_optimizer_step(head);
    xt_mark_step();
    assert_null(xt_error());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trains_the_child_alone), cmocka_unit_test(one_for_each_child),
                                       cmocka_unit_test(gradients_of_others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL) + xt_finish();
}
