/* What examples/remote.c calls by name: exported functions of a shared library, which lies at the same path
 * on every host.
 *     cc -shared -fPIC remote_module.c -o remote_module.so $(pkg-config --cflags --libs xtrain) */
#include <string.h>

#include <xtrain/xtrain.h>

int part_of_pi(const void *arg, size_t n) {
    long terms;
    double sum = 0;
    if (n != sizeof terms) return 2;
    memcpy(&terms, arg, n);
    for (long k = xt_rank(); k < terms; k += xt_world_size()) sum += (k % 2 ? -1.0 : 1.0) / (double)(2 * k + 1);
    return xt_remote_reply(&sum, sizeof sum);
}

/* What a crash looks like to the caller: the last rank writes where nothing is. */
int crash(const void *arg, size_t n) {
    static char *volatile nowhere;
    if (xt_rank() == xt_world_size() - 1) *nowhere = 1;
    return part_of_pi(arg, n);
}

/* A function that nobody outside this file can call. */
__attribute__((used)) static int hidden(const void *arg, size_t n) {
    return arg && n ? 0 : 1;
}
