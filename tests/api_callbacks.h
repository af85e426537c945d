/* The functions that tests/api_caller.c gives to the library, each of which calls the library again (inside), and
 * the structs that name them. What threads of the library call takes no part in the sequence: it makes calls of its
 * own on that thread. */
static _Atomic bool was_outside;
static void outside(void) {
    static _Atomic int turn;
    was_outside = true;
    switch (turn++ % 6) {
    case 0: (void)xt_item(xt_sum(xt_ones(XT_F32, 2, 3))); break;
    case 1: (void)xt_mark_step(); break;
    case 2: (void)xt_mul(xt_ones(XT_F32, 2), xt_ones(XT_F32, 3)), xt_clear_error(); break;
    default: break;
    }
    xt_clear_error();
}
static void called_back(void) {
    if (has_turn)
        inside();
    else
        outside();
}
static bool chance(int n) {
    return has_turn && one_in(n);
}
static xt_tensor some_tensor(void) {
    return has_turn ? pick_tensor() : (xt_tensor){0, 0};
}

static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    called_back();
    if (chance(8)) return some_tensor();
    if (has_turn) got_handle(K_module, m), got_tensor(x);
    x = xt_linear(m, "fc", x, 3);
    called_back();
    return chance(6) ? xt_batch_norm(m, "norm", x) : chance(6) ? xt_dropout(m, x, 0.5) : x;
}
static xt_tensor head_fn(xt_module *m, xt_tensor x, xt_tensor y, void *user) {
    (void)user;
    called_back();
    if (has_turn) got_handle(K_module, m), got_tensor(y);
    return chance(6) ? x : xt_mean(xt_square(xt_linear(m, "head", x, 2)));
}
static void net_many_fn(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    called_back();
    if (has_turn) got_handle(K_module, m), got_tensor(in[0]);
    out[0] = chance(4) ? some_tensor() : xt_linear(m, "fc", in[0], 3);
    called_back();
}
static void scan_fn(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x, (void)user;
    called_back();
    if (chance(2)) y[0] = carry[0] = some_tensor();
    if (chance(2)) y[0] = carry[0];
    called_back();
}
static void fn_fn(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    called_back();
    out[0] = chance(3) ? some_tensor() : chance(2) ? xt_sum(xt_square(in[0])) : in[0];
    called_back();
}
static xt_tensor while_cond_fn(const xt_tensor *s, void *user) {
    (void)user;
    called_back();
    return chance(4) ? some_tensor() : xt_lt(xt_sum(s[0]), xt_scalar(0, XT_F32));
}
static void while_fn(xt_tensor *s, void *user) {
    (void)user;
    called_back();
    s[0] = chance(3) ? some_tensor() : xt_add(s[0], s[0]);
}
static xt_tensor closure_fn(void *user) {
    (void)user;
    called_back();
    xt_tensor loss = xt_mean(xt_square(some_tensor()));
    if (!chance(4)) xt_backward(loss);
    return loss;
}
static double schedule_fn(int64_t epoch, void *user) {
    (void)epoch, (void)user;
    called_back();
    return has_turn ? pick_double() : 1;
}
static xt_tensor step_fn(const xt_tensor *in, int n, void *user) {
    (void)user;
    called_back();
    return n > 0 && !chance(3) ? xt_square(in[0]) : some_tensor();
}
static void ready_fn(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)data, (void)bytes, (void)dtype;
    called_back();
}
static void prediction_fn(const xt_batch *b, xt_tensor out, void *user) {
    (void)b, (void)user;
    if (has_turn) got_tensor(out);
    called_back();
}
static void custom_forward_fn(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)user;
    called_back();
    out[0] = chance(3) ? some_tensor() : xt_exp(in[0]);
    if (chance(2)) saved[0] = out[0];
}
static void custom_backward_fn(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)saved, (void)user;
    called_back();
    d_in[0] = chance(3) ? some_tensor() : d_out[0];
}
static xt_status failure(void) {
    static _Atomic int turn;
    return turn++ % 5 == 4 ? xt_status_new(XT_INTERNAL, "a failure of the caller's own") : NULL;
}
static xt_status map_fn(void *user, int64_t i, const void *x_in, const void *y_in, void *x, void *y) {
    (void)user, (void)i, (void)x_in, (void)y_in, (void)x, (void)y;
    called_back();
    return failure();
}
static void sample_fn(xt_module *net, int64_t step, const char *path, void *user) {
    (void)net, (void)step, (void)path, (void)user;
    called_back();
}
static int record_fn(void *user) {
    (void)user;
    called_back();
    (void)xt_item(xt_sum(xt_ones(XT_F32, 2, 3)));
    called_back();
    return chance(3);
}
static bool visit_fn(void *user, const xt_cache_file *f) {
    (void)user, (void)f;
    called_back();
    return true;
}
static xt_status take_fn(const char *name, const char *value, void *user) {
    (void)name, (void)value, (void)user;
    called_back();
    return failure();
}
static xt_loader *make_loader_fn(int64_t batch, void *user) {
    (void)user;
    called_back();
    return batch > 64 || chance(4) ? NULL : xt_loader_new(xt_drawn_digits(8, 0), .batch = batch);
}

/* --- Datasets --- */
static xt_status get_fn(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)i, (void)x, (void)y;
    called_back();
    return failure();
}
static xt_status get_more_fn(void *user, int64_t i, void *const *more) {
    (void)user, (void)i, (void)more;
    return NULL;
}
static xt_status open_fn(void *user, int64_t epoch, void **out) {
    (void)user, (void)epoch;
    *out = NULL;
    called_back();
    return failure();
}
static xt_status next_fn(void *s, void *x, void *y, bool *end) {
    static _Atomic int turn;
    (void)s, (void)x, (void)y;
    *end = turn++ % 7 == 6;
    called_back();
    return NULL;
}
static void close_fn(void *s) {
    (void)s;
    called_back();
}
static xt_status order_fn(void *user, const xt_epoch *e, int64_t *out) {
    (void)user;
    for (int64_t i = 0; i < e->count; i++) out[i] = chance(40) ? pick_long() : i % 2;
    called_back();
    return failure();
}
static int64_t items_fn(const xt_batch *b, void *user) {
    (void)user;
    called_back();
    return chance(8) ? pick_long() : b->size;
}
static xt_status decode_fn(void *user, const xt_tar_sample *s, void *x, void *y) {
    (void)user, (void)s, (void)x, (void)y;
    called_back();
    return failure();
}
static int64_t tokens_fn(void *user, const void *x, const void *y, void *const *more) {
    (void)user, (void)x, (void)y, (void)more;
    called_back();
    return chance(8) ? pick_long() : 3;
}
static int64_t bound_fn(void *user, int64_t i) {
    (void)user;
    return chance(40) ? pick_long() : i;
}
static const xt_sampler_desc *pick_sampler_desc(void) {
    xt_sampler_desc *d = take(sizeof *d);
    *d = (xt_sampler_desc){.struct_size = one_in(16) ? (size_t)pick_count(64) : sizeof *d,
                           .count = pick_count(64),
                           .order = one_in(8) ? NULL : order_fn,
                           .bound = one_in(2) ? NULL : bound_fn};
    return d;
}
static const xt_dataset_desc *pick_dataset_desc(void) {
    xt_dataset_desc *d = take(sizeof *d);
    *d = (xt_dataset_desc){one_in(16) ? (size_t)pick_count(64) : sizeof *d,
                           pick_count(9),
                           small_spec(),
                           small_spec(),
                           one_in(16) ? NULL : get_fn,
                           one_in(2) ? close_fn : NULL,
                           NULL,
                           pick_text(true)};
    if (one_in(3)) d->more[0] = small_spec(), d->get_more = one_in(4) ? NULL : get_more_fn;
    return d;
}
static const xt_stream_desc *pick_stream_desc(void) {
    xt_stream_desc *d = take(sizeof *d);
    *d = (xt_stream_desc){one_in(16) ? (size_t)pick_count(64) : sizeof *d,
                          small_spec(),
                          small_spec(),
                          one_in(16) ? NULL : open_fn,
                          one_in(16) ? NULL : next_fn,
                          one_in(2) ? close_fn : NULL,
                          one_in(2) ? close_fn : NULL,
                          NULL,
                          pick_text(true)};
    return d;
}

/* --- The Trainer's --- */
static xt_tensor loss_of(xt_module *net, xt_batch b, void *user) {
    (void)user;
    called_back();
    if (chance(8)) return some_tensor();
    xt_tensor loss = xt_mean(xt_square(xt_forward(net, b.x)));
    if (!chance(4)) xt_log("loss", loss);
    called_back();
    return loss;
}
static void pass_of(xt_module *net, xt_batch b, void *user) {
    xt_log("val_loss", loss_of(net, b, user));
}
static xt_optimizer *optimizers_of(xt_module *net, void *user) {
    (void)user;
    called_back();
    if (chance(8)) return pick_handle(K_optimizer, true);
    xt_optimizer *o = xt_sgd(net, .lr = 0.1, .momentum = 0.9);
    if (has_turn) got_handle(K_optimizer, o), got_handle(K_module, net);
    return o;
}
static void hook_net(xt_module *net, void *user) {
    (void)net, (void)user;
    called_back();
}
static void hook_stage(xt_module *net, const char *stage, void *user) {
    (void)net, (void)stage, (void)user;
    called_back();
}
static void hook_epoch(xt_module *net, int64_t epoch, void *user) {
    (void)net, (void)epoch, (void)user;
    called_back();
}
static size_t state_of(char *buf, size_t n, void *user) {
    (void)user;
    called_back();
    return (size_t)snprintf(buf, n, "{\"a\":1}");
}
static xt_status state_to(const char *json, void *user) {
    (void)json, (void)user;
    called_back();
    return failure();
}
static const xt_task *pick_task(void) {
    xt_task *t = take(sizeof *t);
    t->net = one_in(16) ? NULL : net_fn;
    int before = wrong;
    t->module = one_in(4) ? pick_handle(K_module, true) : NULL;
    wrong = before; /* a pass without batches does not look at it */
    t->training_step = one_in(16) ? NULL : loss_of;
    t->validation_step = one_in(4) ? NULL : pass_of;
    t->test_step = one_in(4) ? NULL : pass_of;
    t->predict_step = one_in(4) ? NULL : loss_of;
    t->configure_optimizers = one_in(16) ? NULL : optimizers_of;
    t->manual_optimization = one_in(8);
    if (one_in(2)) t->setup = t->teardown = hook_stage;
    if (one_in(2)) t->on_fit_start = t->on_fit_end = t->on_train_start = t->on_train_end = hook_net;
    if (one_in(2)) t->on_train_epoch_start = t->on_train_epoch_end = t->on_validation_epoch_end = hook_epoch;
    if (one_in(2)) t->on_after_backward = t->on_before_optimizer_step = hook_net;
    if (one_in(2)) t->on_test_start = t->on_test_end = t->on_predict_start = t->on_predict_end = hook_net;
    if (one_in(2)) t->save_state = state_of, t->load_state = state_to;
    return t;
}
static void hook_trainer(xt_trainer *t, void *user) {
    (void)user;
    if (has_turn) got_handle(K_trainer, t);
    called_back();
}
static void hook_batch(xt_trainer *t, const xt_batch *b, void *user) {
    if (has_turn) got_tensor(b->x);
    hook_trainer(t, user);
}
static xt_status hook_fit(xt_trainer *t, void *user) {
    hook_trainer(t, user);
    return failure();
}
static const xt_callback_desc *pick_callback_desc(void) {
    xt_callback_desc *d = take(sizeof *d);
    d->struct_size = one_in(16) ? (size_t)pick_count(64) : sizeof *d;
    d->name = pick_text(true);
    if (one_in(2)) d->fit_start = hook_fit;
    if (one_in(2)) d->epoch_start = d->step_end = d->row = d->validation_start = d->validation_end = hook_trainer;
    if (one_in(2)) d->batch_start = d->batch_end = d->validation_batch_end = hook_batch;
    if (one_in(2)) d->save_state = state_of, d->load_state = state_to;
    if (one_in(2)) d->free_user = close_fn;
    if (one_in(2)) d->sanity_start = d->test_start = d->test_end = d->predict_start = d->after_backward = hook_trainer;
    return d;
}
static xt_status logger_open(const char *dir, void *user) {
    (void)dir, (void)user;
    called_back();
    return failure();
}
static xt_status logger_row(const xt_log_row *row, void *user) {
    (void)row, (void)user;
    called_back();
    return failure();
}
static xt_status logger_text(const char *name, const char *text, int64_t step, void *user) {
    (void)name, (void)text, (void)step, (void)user;
    return failure();
}
static const xt_logger_desc *pick_logger_desc(void) {
    xt_logger_desc *d = take(sizeof *d);
    *d = (xt_logger_desc){one_in(16) ? (size_t)pick_count(64) : sizeof *d,
                          pick_text(true),
                          one_in(2) ? logger_open : NULL,
                          one_in(16) ? NULL : logger_row,
                          one_in(2) ? logger_text : NULL,
                          one_in(2) ? close_fn : NULL};
    return d;
}

/* --- Lists that a caller fills --- */
static const xt_axis *pick_axes(void) {
    xt_axis *a = take(sizeof *a * 8); /* the rest is the end */
    for (int i = 0, n = (int)(draw() % 4); i < n; i++)
        a[i] = (xt_axis){pick_text(true), one_in(2) ? PICK((int64_t[]){1, 0}) : pick_long()};
    return a;
}
static const xt_stage *pick_stages(void) {
    xt_stage *s = take(sizeof *s * (XT_MAX_STAGES + 2));
    int n = one_in(16) ? XT_MAX_STAGES : (int)(draw() % 4);
    for (int i = 0; i < n; i++) s[i].fn = net_fn;
    return s;
}
static const xt_array *pick_arrays(void) {
    xt_array *a = take(sizeof *a * ARRAY);
    for (int i = 0; i < ARRAY; i++) {
        a[i] = (xt_array){XT_F32, 1, {2}, pick_room(), 8};
        if (one_in(8)) a[i].rank = 2, a[i].dims[1] = 3, a[i].bytes = 24;
    }
    return a;
}
static void got_arrays(xt_array *a) {
    for (int i = 0; a && i < 8; i++) xt_array_free(&a[i]);
}
static const xt_plot_series *pick_series(void) {
    xt_plot_series *s = take(sizeof *s * ARRAY);
    double *v = take(sizeof *v * ARRAY);
    for (int i = 0; i < ARRAY; i++) v[i] = pick_double();
    for (int i = 0; i < ARRAY; i++) s[i] = (xt_plot_series){pick_text(true), v, v, pick_count(ARRAY)};
    return s;
}
static const xt_plot_bar *pick_bars(void) {
    xt_plot_bar *b = take(sizeof *b * ARRAY);
    for (int i = 0; i < ARRAY; i++) b[i] = (xt_plot_bar){pick_text(true), pick_double(), pick_text(true)};
    return b;
}
