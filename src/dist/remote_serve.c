/* One remote call on the rank it is made on: find the module, compare builds, look the symbol up, call it, and
 * survive that.
 *
 * A signal that means a crash (SIGSEGV and its like) jumps out of the function: its frames, locks and memory are lost,
 * so the rank is only used to say what happened. While it does, an alarm ends the process if the crash left it unable
 * to. A crash on another thread of the function is handed to the thread that made the call. exit() is caught by an exit
 * handler, which runs before those of the program and serves on from there. A step that ends with an error which the
 * function has not looked at ends the call, where in a program it would end the process: the rank stays usable. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xtrain/tensor.h>

#include "dist/dist_int.h"
#include "dist/remote_int.h"
#include "lazy/lazy.h"

enum { REPORT_SECONDS = 30, STACK = 64 << 10 };
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct {
    sigjmp_buf back;
    pthread_t thread;
    volatile sig_atomic_t active, signal;
    void *volatile address;
    remote_outcome *out;
    void (*leaving)(remote_outcome *out, void *user);
    void *user;
    bool at_exit;
    int broken;
    str how; /* it broke */
} now;

int remote_broken(void) {
    return now.broken;
}

void remote_outcome_free(remote_outcome *o) {
    str_free(&o->error);
    base_free(o->reply);
    *o = (remote_outcome){0};
}

int xt_remote_reply(const void *data, size_t size) {
    if (!now.active || size > XT_REMOTE_MAX) {
        log_msg(XT_SEV_ERROR,
                now.active
                    ? "xt_remote_reply: %zu bytes; at most %zu are possible: write them to a file and reply its name"
                    : "xt_remote_reply: %zu bytes, but no remote call is being served on this rank",
                size, XT_REMOTE_MAX);
        return 1;
    }
    char *copy = base_malloc(size + 1);
    if (!copy) return 1;
    if (size) memcpy(copy, data, size);
    base_free(now.out->reply);
    now.out->reply = copy;
    now.out->reply_n = size;
    now.out->replied = true;
    return 0;
}

/* --- crashes --- */

static void on_crash(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (!now.active) { /* not the function's: as if we were not here */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    if (!pthread_equal(pthread_self(), now.thread)) {
        now.address = info->si_addr;
        pthread_kill(now.thread, sig);
        for (;;) pause();
    }
    if (info->si_code > 0 && sig != SIGABRT) now.address = info->si_addr;
    now.active = 0;
    now.signal = sig;
    siglongjmp(now.back, 1);
}

typedef struct handlers {
    struct sigaction old[BASE_COUNT(crashes)];
    stack_t old_stack;
    void *stack; /* a stack of its own: the other may be what overflowed */
} handlers;

static void handlers_set(handlers *h) {
    struct sigaction act = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    h->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (h->stack != MAP_FAILED) sigaltstack(&(stack_t){.ss_sp = h->stack, .ss_size = STACK}, &h->old_stack);
    for (size_t i = 0; i < BASE_COUNT(crashes); i++) sigaction(crashes[i], &act, &h->old[i]);
}

static void handlers_reset(handlers *h) {
    for (size_t i = 0; i < BASE_COUNT(crashes); i++) sigaction(crashes[i], &h->old[i], NULL);
    if (h->stack == MAP_FAILED) return;
    sigaltstack(&h->old_stack, NULL);
    munmap(h->stack, STACK);
}

static void describe_crash(const remote_call *c, remote_outcome *out) {
    int sig = now.signal;
    alarm(REPORT_SECONDS);
    out->failed = true;
    out->code = -1;
    str_printf(&out->error, "%s of %s was ended by signal %d (%s)", c->symbol, c->module, sig, strsignal(sig));
    if (sig == SIGSEGV || sig == SIGBUS) str_printf(&out->error, " at address %p", now.address);
    str_append(&out->error, "; its own output says more, a debugger on that rank most");
    str_printf(&now.how, "an earlier call, of %s, was ended by signal %d (%s)", c->symbol, sig, strsignal(sig));
    now.broken = 128 + sig;
    log_msg(XT_SEV_ERROR, "remote call: %s", str_cstr(&out->error));
}

/* --- exit --- */

static void on_leave(int code, void *unused) {
    (void)unused;
    if (!now.active) return;
    now.active = 0;
    now.out->failed = true;
    now.out->code = -1;
    str_printf(&now.out->error, "the function called exit(%d) instead of returning", code);
    str_printf(&now.how, "an earlier call called exit(%d)", code);
    now.broken = code ? code : 1;
    now.leaving(now.out, now.user);
}

/* --- one call --- */

/* The step's boundary has not begun: nothing of the library's is under way. */
static void end_call(void *unused) {
    (void)unused;
    now.active = 0;
    siglongjmp(now.back, 1);
}

static void call(const remote_call *c, xt_remote_fn fn, remote_outcome *out) {
    handlers h;
    lazy_hold hold = {.end = end_call};
    now.thread = pthread_self();
    now.signal = 0;
    now.address = NULL;
    if (!now.at_exit) now.at_exit = on_exit(on_leave, NULL) == 0;
    handlers_set(&h);
    out->code = -1;
    lazy_hold_errors(&hold);
    if (sigsetjmp(now.back, 1) == 0) {
        now.active = 1;
        out->code = fn(c->arg, c->arg_n);
        now.active = 0;
    }
    handlers_reset(&h);
    if (now.signal) {
        lazy_release_errors(&hold);
        describe_crash(c, out);
        return;
    }
    xt_status pending = lazy_pending();
    out->failed = out->code != 0 || pending;
    if (out->code == -1 && pending)
        str_printf(&out->error, "%s of %s was ended, as its step had an error: %s", c->symbol, c->module,
                   status_message(pending));
    else if (out->failed)
        str_printf(&out->error, "%s of %s returned %d", c->symbol, c->module, out->code);
    if (out->code != -1 && pending) str_printf(&out->error, "; its pending error: %s", status_message(pending));
    xt_clear_error();
    lazy_release_errors(&hold);
}

static xt_status find(const remote_call *c, xt_remote_fn *out) {
    str path = STR_INIT, build = STR_INIT;
    void *handle = NULL;
    xt_status st = symbol_module_path(c->module, &path);
    if (!st) st = symbol_build(str_cstr(&path), &build);
    if (!st && strcmp(str_cstr(&build), c->build) != 0)
        st = status_new(
            XT_FAILED_PRECONDITION, NULL,
            "module '%s' is another build here: build id %s, the caller's is %s; give all hosts the same file",
            c->module, str_cstr(&build), c->build);
    if (!st) st = symbol_check(str_cstr(&path), c->symbol);
    if (!st && !(handle = dlopen(str_cstr(&path), RTLD_NOW | RTLD_GLOBAL)))
        st = status_new(XT_NOT_FOUND, NULL, "loading module '%s': %s", c->module, dlerror());
    if (!st && !(*(void **)out = dlsym(handle, c->symbol)))
        st = status_new(XT_NOT_FOUND, NULL, "'%s' of '%s': %s", c->symbol, c->module, dlerror());
    str_free(&path);
    str_free(&build);
    return st;
}

void remote_perform(const remote_call *c, void (*leaving)(remote_outcome *out, void *user), void *user,
                    remote_outcome *out) {
    xt_remote_fn fn = NULL;
    *out = (remote_outcome){.code = -1};
    xt_status st =
        now.broken ? status_new(XT_ABORTED, NULL, "this rank is out of use: %s", str_cstr(&now.how)) : find(c, &fn);
    if (st) {
        out->failed = true;
        str_append(&out->error, status_text(st));
        xt_status_free(st);
        return;
    }
    now.out = out;
    now.leaving = leaving;
    now.user = user;
    call(c, fn, out);
    now.out = NULL;
}
