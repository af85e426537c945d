/* exceptions WHERE: a function of the program's throws, the program catches around the library's calls, and trains on.
 *   WHERE  net, scan, call, task, batch_end, row: on the thread that called; get, order, next, logger, ready: on one of
 *          the library's, where nobody catches
 *   status the same for functions in xt::caught<> and for xt::dataset, and handles that were moved from
 * Built by exceptions.sh. */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <xtrain.hpp>

static const char *where;
static int calls;

static void leave(const char *here) {
    if (strcmp(here, where) == 0 && calls++ == 0) throw std::runtime_error(std::string("thrown in ") + here);
}

/* --- functions for the C structs --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *) {
    xt_tensor y = xt_linear(m, "fc", x, 3);
    leave("net");
    return y;
}
static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *, void *) {
    carry[0] = xt_add(carry[0], x[0]);
    leave("scan");
}
static xt_tensor called(const xt_tensor *in, int, void *) {
    xt_tensor y = xt_sum(xt_exp(in[0]));
    leave("call");
    return y;
}
static xt_status get(void *, int64_t i, void *x, void *y) {
    leave("get");
    static_cast<float *>(x)[0] = static_cast<float>(i);
    static_cast<float *>(x)[1] = 1;
    *static_cast<int32_t *>(y) = static_cast<int32_t>(i % 3);
    return nullptr;
}
static xt_status order(void *, const xt_epoch *e, int64_t *out) {
    leave("order");
    for (int64_t i = 0; i < e->count; i++) out[i] = i;
    return nullptr;
}
static xt_status stream_open(void *, int64_t, void **state) {
    static int64_t at;
    at = 0;
    *state = &at;
    return nullptr;
}
static xt_status stream_next(void *state, void *x, void *y, bool *end) {
    leave("next");
    int64_t i = (*static_cast<int64_t *>(state))++;
    *end = i == 8;
    return *end ? nullptr : get(nullptr, i, x, y);
}
static void stream_close(void *) {}
static xt_tensor training(xt_module *m, xt_batch b, void *) {
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    xt_log("loss", loss);
    leave("task");
    return loss;
}
static xt_optimizer *optimizers(xt_module *m, void *) {
    xt_sgd_opts o{};
    o.lr = 0.1;
    return xt_sgd_opt(XT_HERE, m, o);
}
static void batch_end(xt_trainer *, const xt_batch *, void *) {
    leave("batch_end");
}
static void row(xt_trainer *, void *) {
    leave("row");
}
static xt_status log_row(const xt_log_row *, void *) {
    leave("logger");
    return nullptr;
}
static std::atomic<bool> came;
static void ready(void *, const void *, size_t, xt_dtype) {
    leave("ready");
    came = true;
}

/* --- a program of each kind --- */
static xt_loader *samples() {
    xt_dataset_desc d{};
    d.struct_size = sizeof d;
    d.count = 16;
    d.x = xt::spec(XT_F32, {2});
    d.y = xt::spec(XT_I32, {});
    d.get = get;
    d.name = "samples";
    xt_loader_opts o{};
    o.batch = 4;
    xt_sampler_desc sampler{};
    sampler.count = 16;
    sampler.order = order;
    o.sampler = xt_sampler_new(&sampler);
    return xt_loader_opt(XT_HERE, xt_dataset_new(&d), o);
}

static int fit() {
    xt_callback_desc d{};
    d.struct_size = sizeof d;
    d.name = "leaves";
    d.batch_end = batch_end;
    d.row = row;
    xt_logger_desc g{};
    g.struct_size = sizeof g;
    g.name = "throws";
    g.row = log_row;
    xt_trainer_opts o{};
    o.max_epochs = 2;
    o.log_every_n_steps = 1;
    o.checkpointing = XT_OFF;
    xt_trainer *t = xt_trainer_opt(XT_HERE, o);
    xt_trainer_add(t, xt_callback_new(&d, nullptr));
    xt_trainer_add_logger(t, &g, nullptr);
    xt_task task{};
    task.net = net;
    task.training_step = training;
    task.configure_optimizers = optimizers;
    xt_loader *l = samples();
    int code = xt_fit(t, &task, l, nullptr);
    xt_loader_free(l);
    xt_trainer_free(t);
    return code;
}

static int epoch_of_stream() {
    xt_stream_desc d{};
    d.struct_size = sizeof d;
    d.x = xt::spec(XT_F32, {2});
    d.y = xt::spec(XT_I32, {});
    d.open = stream_open;
    d.next = stream_next;
    d.close = stream_close;
    xt_loader_opts o{};
    o.batch = 4;
    xt::loader l(xt_stream_dataset_at(XT_HERE, &d), o);
    int n = 0;
    for (xt_batch &b : l) n += static_cast<int>(b.size);
    return n;
}

static int steps() {
    xt_module *m = xt_module_new(net, nullptr);
    xt_tensor carry = xt::zeros(XT_F32, {3}), x = xt::ones(XT_F32, {4, 3}), two = xt::ones(XT_F32, {2, 2});
    xt_tensor y = xt_sum(xt_forward(m, two));
    xt_scan(body, 1, &carry, 1, &x, 0, nullptr);
    came = false;
    xt_when_ready(xt_add(y, xt_sum(carry)), ready, nullptr);
    while (xt_mark_step() && !came) std::this_thread::yield();
    xt_step *f = xt_compile_at(XT_HERE, called, xt_compile_opts{});
    for (int i = 0; i < 3; i++) {
        xt_tensor in = xt::ones(XT_F32, {2});
        xt_call_at(XT_HERE, f, 1, &in);
    }
    xt_mark_step();
    xt_step_free(f);
    xt_module_free(m);
    return xt_error() != nullptr;
}

static void silent(xt_status, void *) {}

static int thrown_and_caught() {
    try {
        printf("steps %d, stream %d, fit %d\n", steps(), epoch_of_stream(), fit());
    } catch (const std::runtime_error &e) {
        printf("caught: %s\n", e.what());
    }
    fflush(stdout);
    xt_clear_error();
    xt_on_error(silent, nullptr);
    where = "";
    int again = steps();
    if (again) printf("told: %s\n", xt_status_message(xt_error()));
    xt_clear_error();
    again = steps();
    printf("again: steps %d, stream %d, fit %d\n", again, epoch_of_stream(), fit());
    return 0;
}

/* --- what xtrain.hpp makes of them --- */
static int faults;
static void check(bool ok, const char *what) {
    if (!ok) printf("not so: %s\n", what);
    faults += !ok;
}
/* There is an error, which says so. */
static void told(const char *part) {
    xt_status s = xt_error();
    check(s && strstr(xt_status_message(s), part), part);
    if (s && !strstr(xt_status_message(s), part)) printf("  but: %s\n", xt_status_message(s));
    xt_clear_error();
}

static xt_status get_or_throw(void *, int64_t i, void *, void *) {
    if (i == 3) throw std::out_of_range("no such file");
    return nullptr;
}
static xt_status order_or_throw(void *, const xt_epoch *, int64_t *) {
    throw 7;
}

static void epoch_of(xt_dataset *d, const xt_loader_opts &o, const char *part) {
    xt::loader l(d, o);
    for (xt_batch &b : l) (void)b;
    told(part);
}

static void datasets() {
    xt_loader_opts o{};
    o.batch = 2;
    epoch_of(xt::dataset(8, xt::spec(XT_F32, {2}), xt::spec(XT_I32, {}),
                         [](int64_t i, void *, void *) {
                             if (i == 5) throw std::runtime_error("of the lambda");
                         }),
             o, "xt::dataset: sample 5: of the lambda");
    auto broken = [](int64_t, void *, void *) { xt::check(xt_status_new(XT_DATA_LOSS, "half a file")); };
    xt::dataset(0, xt_spec{}, xt_spec{}, broken); /* none is made, and nothing stays */
    told("xt_dataset_new");
    xt_dataset_desc d{};
    d.struct_size = sizeof d;
    d.count = 8;
    d.x = xt::spec(XT_F32, {2});
    d.name = "files";
    d.get = xt::caught<get_or_throw>;
    epoch_of(xt_dataset_new(&d), o, "files: sample 3: no such file");
    xt_sampler_desc sampler{};
    sampler.count = 8;
    sampler.order = xt::caught<order_or_throw>;
    o.sampler = xt_sampler_new(&sampler);
    epoch_of(xt_dataset_new(&d), o, "an exception that is no std::exception");
    xt_status s = xt_dataset_get(nullptr, 0, nullptr, nullptr);
    check(xt_status_code(s) == XT_INVALID_ARGUMENT, "a status has its code");
    xt_status_free(s);
}

static void moved_from() {
    xt::tensor x = xt::ones(XT_F32, {4, 3});
    xt::module a([](xt::scope m, xt::tensor t) { return m.linear("fc", t, 2); });
    a(x);
    xt::optimizer o = xt::adam(a);
    xt::step s([](const xt::tensor *in, int) { return in[0].sum(); });
    xt::loader l(xt::dataset(4, xt::spec(XT_F32, {2}), xt_spec{}, [](int64_t, void *, void *) {}));
    xt::module b = std::move(a);
    xt::optimizer p = std::move(o);
    xt::step t = std::move(s);
    xt::loader k = std::move(l);
    a(x);
    told("the module is NULL");
    check(a(std::vector<xt::tensor>{x}).empty(), "no outputs");
    told("the module is NULL");
    try {
        a.build({xt::spec(XT_F32, {4, 3})});
        check(false, "no exception");
    } catch (const xt::error &e) {
        check(strstr(e.what(), "the module is NULL") != nullptr, e.what());
    }
    xt_clear_error();
    o.step();
    told("the optimizer is NULL");
    s({x});
    told("NULL");
    for (xt_batch &batch : l) (void)batch;
    told("the loader is NULL");
    xt_module *freed = b;
    { xt::module gone = std::move(b); }
    xt_forward_at(XT_HERE, freed, x);
    told("was freed before");
}

static int statuses() {
    xt_on_error(silent, nullptr);
    datasets();
    moved_from();
    xt_on_error(nullptr, nullptr);
    return faults;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    where = argv[1];
    int failed = strcmp(where, "status") == 0 ? statuses() : thrown_and_caught();
    int code = xt::finish();
    for (const char *kind : {"tensor", "buffer", "module", "optimizer", "loader", "step", "trainer", "dataset"})
        if (xt_live_objects(kind)) failed++, printf("%s objects are alive\n", kind);
    return failed ? 3 : code;
}
