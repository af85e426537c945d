/* readers WHERE HOW: a function of the user's that a loader's thread calls, and that does what it is not for.
 *   WHERE: get, order, bound, open, next, close    HOW: exit, finish, free, set, reinit, error; negative, out, huge */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

static const char *where, *how;
static xt_loader *loader;

static void mischief(const char *here) {
    if (strcmp(here, where)) return;
    if (!strcmp(how, "exit")) pthread_exit(NULL);
    if (!strcmp(how, "finish")) xt_finish();
    if (!strcmp(how, "free")) xt_loader_free(loader);
    if (!strcmp(how, "set")) xt_loader_set_epoch(loader, 1, 0);
    if (!strcmp(how, "reinit")) xt_reinitialize();
    if (!strcmp(how, "error")) xt_add(xt_ones(XT_F32, 2), xt_ones(XT_F32, 3));
}
static xt_status get(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)y;
    memset(x, 0, 8);
    if (i == 5) mischief("get");
    return NULL;
}
static xt_status order(void *user, const xt_epoch *e, int64_t *out) {
    (void)user;
    mischief("order");
    for (int64_t i = 0; i < e->count; i++) out[i] = i % 64;
    if (!strcmp(how, "negative")) out[3] = -7;
    if (!strcmp(how, "out")) out[3] = INT64_MAX;
    return NULL;
}
static int64_t bound(void *user, int64_t i) {
    (void)user, (void)i;
    mischief("bound");
    return !strcmp(how, "negative") ? INT64_MIN : !strcmp(how, "out") ? INT64_MAX : 3;
}
static xt_status s_open(void *user, int64_t epoch, void **state) {
    (void)user, (void)epoch;
    static int n;
    mischief("open");
    n = 0;
    *state = &n;
    return NULL;
}
static xt_status s_next(void *state, void *x, void *y, bool *end) {
    int *n = state;
    (void)y;
    memset(x, 0, 8);
    if (*n == 5) mischief("next");
    *end = ++*n > 40;
    return NULL;
}
static void s_close(void *state) {
    (void)state;
    mischief("close");
}
static xt_dataset *samples(int64_t count) {
    if (!strcmp(where, "open") || !strcmp(where, "next") || !strcmp(where, "close"))
        return xt_stream_dataset(&(xt_stream_desc){.struct_size = sizeof(xt_stream_desc),
                                                   .x = {XT_F32, {2}},
                                                   .open = s_open,
                                                   .next = s_next,
                                                   .close = s_close,
                                                   .name = "samples"});
    return xt_dataset_new(&(xt_dataset_desc){.count = count, .x = {XT_F32, {2}}, .get = get, .name = "samples"});
}

int main(int argc, char **v) {
    where = argc > 1 ? v[1] : "", how = argc > 2 ? v[2] : "";
    bool sampled = !strcmp(where, "order") || !strcmp(where, "bound"), huge = !strcmp(how, "huge");
    int64_t count = huge ? INT64_C(1) << 61 : 64; /* of which the bytes of an order are 2^64 */
    xt_dataset *d = samples(sampled ? 64 : count);
    loader = sampled
                 ? xt_loader_new(d, .batch = 4, .workers = 2,
                                 .sampler =
                                     xt_sampler_new(&(xt_sampler_desc){.count = count, .order = order, .bound = bound}))
                 : xt_loader_new(d, .batch = 4, .shuffle = huge ? XT_ON : XT_OFF);
    xt_batch b;
    int n = 0;
    for (int e = 0; e < 2; e++)
        for (; n < 100 && xt_next(loader, &b); n++) {
            xt_mean(b.x);
            if (!strcmp(how, "free")) usleep(10000); /* while this thread is in no call of the library's */
        }
    printf("%d batches\n", n);
    fflush(stdout);
    xt_loader_free(loader);
    return xt_finish();
}
