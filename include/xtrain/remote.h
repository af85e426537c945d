/* Functions called by name on other ranks and hosts, over MPI (mpirun). The function is an exported symbol of a shared
 * library that every host has:
 *
 *     int square(const void *arg, size_t n) {                     // in work.c: cc -shared -fPIC work.c -o work.so
 *         double x = *(const double *)arg, y = x * x;
 *         return xt_remote_reply(&y, sizeof y);
 *     }
 *     static int drive(void *user) {                              // in the program: mpirun -np 4 ./prog
 *         xt_remote_results r;
 *         double x = 3;
 *         xt_status st = xt_remote_call("./work.so", "square", &x, sizeof x, &r, .ranks = "1-3");
 *         ...
 *     }
 *     int main(void) { return xt_remote_run(drive, NULL); }
 *
 * Rank 0 runs `drive`; the others load what they are asked for and call it, in their main thread, one call after the
 * other. A module is loaded once and stays. A called function is a rank like any other: it may train, and collectives
 * work between the ranks when all of them are called. A function that crashes, or calls exit, is an error of that call,
 * with host, rank and signal; its rank answers no further calls and ends with 128 + signal when the run ends. A rank
 * that is killed ends the run: mpirun sees to that. */
#ifndef XTRAIN_REMOTE_H
#define XTRAIN_REMOTE_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bytes of an argument, and of a reply; more belongs into a file, or a collective */
#define XT_REMOTE_MAX ((size_t)64 << 20)

/* A function that can be called: 0 = done; any other value is an error of the call. `arg` lives until it returns. */
typedef int (*xt_remote_fn)(const void *arg, size_t arg_size);
/* Inside such a function: the bytes its caller gets, copied; the last one counts. 0, or 1 when they are too many or
 * there is no call. */
XT_API int xt_remote_reply(const void *data, size_t size);

typedef struct xt_remote_result { /* of one rank; everything belongs to the results */
    int rank, pid; /* who was called */
    const char *host; /* where it runs */
    int code; /* what the function returned; -1: it did not return, or was not called */
    const char *error; /* NULL = it returned 0. "rank 1 (host b, pid 4711): ..." */
    const void *data; /* its reply; NULL = none */
    size_t size; /* bytes of it */
} xt_remote_result;
/* What a call on several ranks came to. */
typedef struct xt_remote_results {
    size_t n; /* the ranks called, in order */
    xt_remote_result *rows; /* [n] */
} xt_remote_results;
XT_API void xt_remote_results_free(xt_remote_results *r); /* also of a call that failed */

#define XT_DEFAULTS_xt_remote_opts(is) is(timeout, -1)
XT_DEFAULTS_OF(xt_remote_opts)
typedef struct XT_OPTIONS_ xt_remote_opts {
    size_t struct_size XT_SIZE(xt_remote_opts);
    const char *ranks XT_ZERO; /* "1,3-5"; NULL = all, the caller too */
    const char *hosts XT_ZERO; /* "a,b": the ranks on these hosts; NULL = all. With .ranks: those that are in both */
    double timeout XT_IS(xt_remote_opts, timeout); /* seconds until all have answered; -1 = XT_TIMEOUT or 300 */
} xt_remote_opts;

/* Calls `symbol` of `module` with a copy of arg on the ranks chosen, all at the same time, and waits for them. Only on
 * rank 0, inside xt_remote_run. The error is that of the first rank that failed, and says how many others did. Refused
 * before anything is sent: a static, nested, hidden or misspelt function, an argument that is too large; by the other
 * rank: a module it has not, or of another build (the linker's build id is compared). out_results: NULL = not wanted;
 * else to be freed, also after an error. */
#define xt_remote_call(module, symbol, arg, arg_size, ...) XT_REMOTE_CALL_(module, symbol, arg, arg_size, __VA_ARGS__, )
#define XT_REMOTE_CALL_(module, symbol, arg, arg_size, out_results, ...)                                         \
    xt_remote_call_opt(XT_HERE, module, symbol, arg, XT_NUMBER_(arg_size), XT_OPTS(xt_remote_opts, __VA_ARGS__), \
                       out_results)
XT_API XT_CHECK xt_status xt_remote_call_opt(const xt_src *src, const char *module, const char *symbol, const void *arg,
                                             size_t arg_size, xt_remote_opts o, xt_remote_results *out_results);

/* All ranks call it. On rank 0: drive(user), whose value it returns, then the others' end. On the others: serves
 * calls until then; 0, or 128 + signal after a crash. Without mpirun it is refused: the message goes to the sink,
 * the value is 1. */
XT_API int xt_remote_run(int (*drive)(void *user), void *user);
/* On rank 0 inside xt_remote_run: where a rank runs; NULL elsewhere. */
XT_API const char *xt_remote_host(int rank);

#ifdef __cplusplus
}
#endif
#endif
