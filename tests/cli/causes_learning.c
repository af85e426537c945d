/* Causes of what learns: optimizers, layers, states that steps hand on, parameters that stop to learn. */
#include "causes.h"

static void assigns(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 3; i++) {
        backward(m, 8);
        xt_optimizer_step(sgd);
        if (i == 1) xt_assign(xt_module_find(m, "fc.bias"), xt_zeros(XT_F32, 3)); /* @assign */
        xt_mark_step();
    }
}

static void momentum_begins(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 3; i++) {
        backward(m, 8);
        if (i == 1) xt_optimizer_set_momentum(sgd, 0.9); /* @momentum */
        xt_optimizer_step(sgd);
        xt_mark_step();
    }
}

static void carried(xt_tensor state) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 4; i++) {
        xt_tensor x = xt_tanh(xt_add(xt_reshape(some(16), 8, 2), state));
        train_on(m, sgd, x);
        xt_tensor next = xt_keep(xt_detach(x)); /* @carry */
        xt_drop(state);
        state = next;
        xt_mark_step();
    }
}

static void carried_zeros(void) {
    carried(xt_keep(xt_zeros(XT_F32, 8, 2))); /* @zeros */
}
static void carried_data(void) {
    carried(xt_keep(xt_from_data(numbers, XT_F32, 2, ((const int64_t[]){8, 2}))));
}

static void other_optimizer(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.1); /* @adam */
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            xt_optimizer_free(o);
            o = xt_sgd(m, .lr = 0.1, .momentum = 0.9); /* @sgd */
        }
        train_on(m, o, xt_reshape(some(16), 8, 2));
        xt_mark_step();
    }
}

static void new_layer(void) {
    int deep = 0;
    xt_module *m = xt_module_new(deeper, &deep);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (; deep < 2; deep++) {
        train_on(m, sgd, xt_reshape(some(16), 8, 2));
        xt_mark_step();
    }
}

static void low_rank(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        if (i) xt_lora(m, "fc.weight", .r = 1); /* @lora */
        train_on(m, sgd, xt_reshape(some(16), 8, 2));
        xt_mark_step();
    }
}

/* To the power of 1 there is no op. */
static void power(void) {
    for (int i = 1; i < 4; i++) {
        xt_when_ready(xt_exp(xt_pow(some(8), i)), NULL, NULL); /* @power */
        xt_mark_step();
    }
}

/* Whole beside integers, and then not. */
static void half_a_number(void) {
    static const double values[] = {1, 2, 0.5, 3, 1.5};
    for (int i = 0; i < 5; i++) {
        xt_tensor k = xt_from_array((int64_t[]){1, 2}, XT_I64, 2);
        xt_when_ready(xt_exp(xt_mul(xt_cast(xt_add(k, values[i]), XT_F32), 2)), NULL, NULL); /* @half */
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}

/* What a loss makes of an option is not what the caller gave. */
static void smoothed(void) {
    xt_module *m = xt_module_new(net, NULL);
    for (int i = 0; i < 4; i++) {
        xt_tensor y = xt_forward(m, xt_reshape(some(16), 8, 2)), t = xt_zeros(XT_I64, 8);
        xt_backward(xt_cross_entropy(y, t, .label_smoothing = 0.25 * i)); /* @smoothed */
        xt_mark_step();
        xt_module_zero_grad(m);
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}
static xt_tensor with_derived(int which, xt_tensor x, double v) {
    switch (which) {
    case 0: return xt_smooth_l1_loss(x, xt_neg(x), .beta = v);
    case 1: return xt_huber_loss(x, xt_neg(x), .delta = v);
    case 2: return xt_elu(x, v);
    case 3: return xt_softshrink(x, v);
    case 4: return xt_softplus(x, .beta = v);
    case 5: return xt_cosine_embedding_loss(x, xt_neg(x), xt_sub_(xt_zeros(XT_F32, 4), 1), .margin = v / 8);
    case 6: return xt_add(x, xt_uniform(0, v, XT_F32, 4, 4));
    case 7: return xt_add(x, xt_uniform(-v, 8, XT_F32, 4, 4));
    default: return xt_celu(x, v);
    }
}
static void derived_numbers(void) {
    for (int which = 0; which < 9; which++) {
        int64_t before = xt_counter("compiles");
        printf("derived %d\n", which), fflush(stdout);
        for (int i = 0; i < 4; i++) {
            xt_when_ready(xt_sum(with_derived(which, xt_reshape(some(16), 4, 4), i + 2)), NULL, NULL); /* @derived */
            xt_mark_step();
        }
        xt_wait();
        printf("derived %d: %lld\n", which, (long long)(xt_counter("compiles") - before));
    }
}

static void norm_type(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 5; i++) {
        backward(m, 8);
        xt_clip_grad_norm(sgd, 1, .norm_type = 1.5 + i); /* @norm */
        xt_optimizer_step(sgd);
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}

/* The first values, and any decay. */
static void average(void) {
    xt_module *m = xt_module_new(net, NULL), *mean = xt_ema(m);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 5; i++) {
        train_on(m, sgd, xt_reshape(some(16), 8, 2));
        xt_ema_update(mean, m, i / 4.0);
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}

/* Numbers that begin at, or come back to, one that needs no op: one program more, then none. */
static xt_tensor with_option(int which, xt_module *m, xt_tensor x, double v) {
    xt_tensor row = xt_from_array(numbers, XT_F32, 4), grid = xt_reshape(x, 1, 4, 4);
    switch (which) {
    case 0: return xt_addmv(row, x, row, v, 2);
    case 1: return xt_addmv(row, x, row, 2, v);
    case 2: return xt_addr(x, row, row, v, 1 - v);
    case 3: return xt_addmm(x, x, x, .alpha = v, .beta = 1 - v);
    case 4: return xt_mul(x, xt_range(v, v + 3.5, 1, XT_F32));
    case 5: return xt_add(x, xt_range(0, 3.5 * (v + 1), v + 1, XT_F32));
    case 6: return xt_scaled_dot_product_attention(grid, grid, grid, .dropout = v / 4);
    case 7: return xt_self_attention(m, "a", grid, .heads = 2, .dropout = v / 4);
    default: return xt_multihead_attention(m, "b", grid, grid, grid, .heads = 2, .dropout = v / 4);
    }
}

static xt_tensor numbered(xt_module *m, xt_tensor x, void *user) {
    static const double values[] = {0, 1, 2, 0.5, 0, 3, 1, 0.25};
    const int *at = user;
    return xt_sum(with_option(at[0], m, x, values[at[1]]));
}

static void beginnings(void) {
    unsetenv("XT_DEBUG");
    for (int which = 0; which < 9; which++) {
        int at[2] = {which, 0};
        xt_module *m = xt_module_new(numbered, at);
        int64_t before = xt_counter("compiles");
        for (; at[1] < 8; at[1]++) {
            xt_when_ready(xt_forward(m, xt_reshape(some(16), 4, 4)), NULL, NULL);
            xt_mark_step();
        }
        xt_wait();
        printf("option %d: %lld\n", which, (long long)(xt_counter("compiles") - before));
    }
}

static void frozen_by(xt_optimizer *o, xt_module *m) {
    for (int i = 0; i < 7; i++) {
        if (i == 2) xt_freeze(m, "*.bias"); /* @freeze */
        if (i > 2 && i < 5) xt_freeze(m, "fc.bias"); /* it is already */
        if (i == 5) xt_unfreeze(m, "fc.*"); /* @unfreeze */
        train_on(m, o, xt_reshape(some(16), 8, 2));
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}

static void frozen_sgd(void) {
    xt_module *m = xt_module_new(net, NULL);
    frozen_by(xt_sgd(m, .lr = 0.1), m);
}
/* What is frozen and given back is trained as before: the next cause is not that. */
static void frozen_then_shape(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 6; i++) {
        if (i == 2) xt_freeze(m, "*.bias");
        if (i == 3) xt_unfreeze(m, "*");
        train_on(m, o, i < 5 ? xt_reshape(some(16), 8, 2) : xt_reshape(some(12), 6, 2));
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}
static void frozen_momentum(void) {
    xt_module *m = xt_module_new(net, NULL);
    frozen_by(xt_sgd(m, .lr = 0.1, .momentum = 0.9), m);
}
static void frozen_adam(void) {
    xt_module *m = xt_module_new(net, NULL);
    frozen_by(xt_adam(m, .lr = 0.1), m);
}

static void two_frozen(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.1);
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            xt_freeze(m, "fc.bias");
            xt_requires_grad(xt_module_find(m, "fc.weight"), false); /* @no_grad */
            xt_requires_grad(xt_module_find(m, "fc.bias"), true);
            xt_requires_grad(xt_module_find(m, "fc.bias"), true); /* it is already */
        }
        train_on(m, o, xt_reshape(some(16), 8, 2));
        xt_mark_step();
    }
}

/* Layers that are there before the first step and used in some only: they are not new, the step goes another way. */
static enum { BUILD, PLAIN, SECOND_HEAD, NO_BLOCK, DETACHED } way;
static xt_tensor branched(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_tanh(xt_linear(m, "trunk", x, 4));
    if (way != NO_BLOCK) x = xt_add(x, xt_linear(m, "block", x, 4)); /* @block */
    if (way == DETACHED) x = xt_detach(x); /* @detached */
    if (way == SECOND_HEAD) return xt_linear(m, "second", x, 2); /* @second_head */
    xt_tensor y = xt_linear(m, "first", x, 3); /* @first_head */
    return way == BUILD ? xt_mul(y, xt_mean(xt_linear(m, "second", x, 2))) : y;
}

static void branches(int other, bool adam) {
    xt_module *m = xt_module_new(branched, NULL);
    way = BUILD;
    if (xt_module_build(m, (xt_spec){XT_F32, {8, 2}})) exit(1);
    xt_optimizer *o = adam ? xt_adam(m, .lr = 0.1) : xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 6; i++) {
        way = i % 3 == 1 ? other : PLAIN;
        xt_backward(xt_mean(xt_square(xt_forward(m, xt_reshape(some(16), 8, 2)))));
        xt_optimizer_step(o); /* @branched */
        xt_mark_step();
    }
    printf("compiles: %lld\n", (long long)xt_counter("compiles"));
}
static void heads_in_turns(void) {
    branches(SECOND_HEAD, true);
}
static void block_left_out(void) {
    branches(NO_BLOCK, false);
}
static void detached_at_times(void) {
    branches(DETACHED, false);
}
static void detached_adam(void) {
    branches(DETACHED, true);
}

/* Blocks of one size in turns. */
static xt_tensor either(xt_module *m, xt_tensor x, void *user) {
    const int *which = user;
    x = xt_tanh(xt_linear(xt_sub(m, "block", *which), "fc", x, 2)); /* @either_block */
    return xt_linear(m, "fc", x, 3);
}
static void blocks_in_turns(void) {
    int which = 0;
    xt_module *m = xt_module_new(either, &which);
    for (which = 0; which < 2; which++) xt_drop(xt_forward(m, xt_reshape(some(16), 8, 2)));
    xt_mark_step();
    xt_optimizer *o = xt_adam(m, .lr = 0.1);
    for (int i = 0; i < 3; i++) {
        which = i % 2;
        xt_backward(xt_mean(xt_square(xt_forward(m, xt_reshape(some(16), 8, 2)))));
        xt_optimizer_step(o); /* @either_step */
        xt_mark_step();
    }
}

/* Nobody asks for the loss: of the slice there is the gradient alone. */
static void some_of_the_losses(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 3; i++) {
        xt_tensor each = xt_mean_axes(xt_square(xt_forward(m, xt_reshape(some(16), 8, 2))), XT_AXES(1));
        xt_tensor loss = xt_mean(xt_slice(each, 0, 0, 2 + i)); /* @hardest */
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
}

static void optimizers_in_turns(void) {
    xt_module *m = xt_module_new(net, NULL), *critic = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1), *of_critic = xt_adam(critic, .lr = 0.1); /* @both_made */
    for (int i = 0; i < 4; i++) {
        xt_tensor y = xt_forward(m, xt_reshape(some(16), 8, 2));
        if (i % 2) {
            xt_backward(xt_mean(xt_forward(critic, xt_detach(y))));
            xt_optimizer_step(of_critic); /* @of_critic */
        } else {
            xt_backward(xt_mean(y));
            xt_optimizer_step(o); /* @of_net */
        }
        xt_mark_step();
    }
}

/* Both come in each time, and one of them goes out. */
static void states_in_turn(void) {
    xt_tensor a = xt_state("first", XT_F32, 4), b = xt_state("second", XT_F32, 4);
    for (int i = 0; i < 6; i++) {
        xt_tensor v = xt_add(xt_mul_scalar(a, 0.9), b);
        if (i % 2)
            xt_assign(b, v); /* @odd */
        else
            xt_assign(a, v); /* @even */
        xt_mark_step();
    }
}

static void shapes_in_turn(void) {
    xt_tensor a = xt_state("first", XT_F32, 4), b = xt_state("second", XT_F32, 8);
    for (int i = 0; i < 6; i++) {
        if (i % 2)
            xt_assign(b, xt_exp(some(8))); /* @second */
        else
            xt_assign(a, xt_exp(some(4))); /* @narrow */
        xt_mark_step();
    }
}

static void more_states(void) {
    xt_tensor a = xt_state("first", XT_F32, 4), b = xt_state("second", XT_F32, 4);
    for (int i = 0; i < 3; i++) {
        xt_assign(a, xt_exp(some(4)));
        if (i == 1) xt_assign(b, xt_sin(some(4))); /* @also */
        xt_mark_step();
    }
}

static void fewer_states(void) {
    xt_tensor a = xt_state("first", XT_F32, 4), b = xt_state("second", XT_F32, 4);
    for (int i = 0; i < 3; i++) {
        xt_assign(a, xt_exp(some(4)));
        if (i != 1) xt_assign(b, xt_sin(some(4))); /* @not */
        xt_mark_step();
    }
}

/* The average begins in the step in which it is updated, too. */
static void average_later(void) {
    xt_module *m = xt_module_new(net, NULL), *mean = NULL;
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 5; i++) {
        train_on(m, sgd, xt_reshape(some(16), 8, 2));
        if (i == 2) mean = xt_ema(m); /* @ema */
        if (i >= 2) xt_ema_update(mean, m, 0.9);
        xt_mark_step();
    }
}

static void states_swapped(void) {
    xt_tensor a = xt_state("first", XT_F32, 4), b = xt_state("second", XT_F32, 4);
    for (int i = 0; i < 4; i++) {
        xt_tensor e = xt_exp(some(4)), s = xt_sin(some(4));
        xt_assign(a, i % 2 ? e : s);
        xt_assign(b, i % 2 ? s : e); /* @swap */
        xt_mark_step();
    }
}

const cause causes_learning[] = {{"assign", assigns},
                                 {"momentum", momentum_begins},
                                 {"carried", carried_zeros},
                                 {"carried_data", carried_data},
                                 {"optimizer", other_optimizer},
                                 {"layer", new_layer},
                                 {"lora", low_rank},
                                 {"power", power},
                                 {"half", half_a_number},
                                 {"smoothed", smoothed},
                                 {"derived", derived_numbers},
                                 {"norm_type", norm_type},
                                 {"average", average},
                                 {"beginnings", beginnings},
                                 {"freeze_sgd", frozen_sgd},
                                 {"freeze_momentum", frozen_momentum},
                                 {"freeze_shape", frozen_then_shape},
                                 {"freeze_adam", frozen_adam},
                                 {"two_frozen", two_frozen},
                                 {"heads", heads_in_turns},
                                 {"block", block_left_out},
                                 {"detached", detached_at_times},
                                 {"detached_adam", detached_adam},
                                 {"either_block", blocks_in_turns},
                                 {"hardest", some_of_the_losses},
                                 {"optimizers", optimizers_in_turns},
                                 {"in_turn", states_in_turn},
                                 {"shapes_in_turn", shapes_in_turn},
                                 {"more_states", more_states},
                                 {"fewer_states", fewer_states},
                                 {"average_later", average_later},
                                 {"swapped", states_swapped},
                                 {NULL, NULL}};
