/* The end of a run: the last boundary, everything brought to rest, the pending error or the cost summary. A run that
 * ends because nobody looked at an error comes to rest the same way, and exits. */
#include "base/ending.h"
#include "base/handle.h"
#include "coll/coll.h"
#include "diag/diag.h"
#include "lazy/core/left.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define LEAST_WAIT_S 0.2
#define LARGE_SHARE 0.15

static int64_t began_ns;
/* When the library is loaded: events need nothing but the lists they go to. */
static void end_program(const char *what, const xt_src *src);
__attribute__((constructor)) static void at_load(void) {
    began_ns = clock_ns();
    lazy_end_by(end_program);
    diag_events_start();
}

static double ms(counter c) {
    return (double)counter_get(c) / 1e6;
}

/* Training that waits for its loader wants more readers: as many as would have read everything in the time that the
 * rest of the run took. A program that only reads, or runs through its data once, waits for nothing else. */
static void advise_workers(str *t, double wall) {
    double wait = (double)counter_get(COUNTER_loader_wait_ns) / 1e9, rest = wall - wait;
    int64_t workers = counter_get(COUNTER_loader_workers), cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (workers < 1 || counter_get(COUNTER_optimizer_steps) == 0 || wait < LEAST_WAIT_S || wait < LARGE_SHARE * wall)
        return;
    double wanted = rest > 0 ? (double)workers * wall / rest : (double)workers * 2;
    int64_t n = wanted < 64 ? (int64_t)wanted + 1 : 64;
    str_printf(t, "  loader      waited for during %.0f %% of the run: try %lld workers instead of %lld (",
               100 * wait / wall, (long long)n, (long long)workers);
    if (strcmp(program_invocation_short_name, "xtrain") == 0)
        str_printf(t, "--workers %lld; a model of your own: the loader's .workers)", (long long)n);
    else
        str_append(t, "the loader's .workers)");
    if (n > cores)
        str_printf(t, "; there are %lld cores, so only reading that waits (disk, network) gains from so many",
                   (long long)cores);
    str_putc(t, '\n');
}

/* --- epochs --- */
enum { FIRST_EPOCHS = 2, LAST_EPOCHS = 3 };
static struct {
    diag_epoch first[FIRST_EPOCHS], last[LAST_EPOCHS]; /* the second is a ring */
    int64_t n;
} epochs;

void diag_note_epoch(const diag_epoch *e) {
    if (epochs.n < FIRST_EPOCHS)
        epochs.first[epochs.n] = *e;
    else
        epochs.last[(epochs.n - FIRST_EPOCHS) % LAST_EPOCHS] = *e;
    epochs.n++;
}
void diag_forget_epochs(void) {
    epochs.n = 0;
}

static void append_epochs(str *t) {
    for (int64_t k = 0; k < epochs.n; k++) {
        if (k >= FIRST_EPOCHS && k < epochs.n - LAST_EPOCHS) {
            k = epochs.n - LAST_EPOCHS - 1;
            str_append(t, "  ...\n");
            continue;
        }
        const diag_epoch *e = k < FIRST_EPOCHS ? &epochs.first[k] : &epochs.last[(k - FIRST_EPOCHS) % LAST_EPOCHS];
        str_printf(t, "  epoch %-5lld %lld compiled, %.1f ms = %.1f %% of %.2f s; device idle %.0f %%, peak %.1f MiB\n",
                   (long long)k + 1, (long long)e->compiles, e->compile_ms,
                   e->seconds > 0 ? e->compile_ms / 10 / e->seconds : 0, e->seconds, 100 * e->idle_share, e->peak_mib);
    }
}

/* The device's memory at equally spaced moments, as long as the run was long enough for some. */
static void append_memory_over_time(str *t) {
    const blackbox *b = blackbox_get();
    if (!b || b->n_history < 4) return;
    str_append(t, "\n              over the run ");
    box_sparkline(b, t);
    str_printf(t, " %.1f -> %.1f MiB between steps", (double)b->history[0] / 1048576,
               (double)b->history[b->n_history - 1] / 1048576);
}

void diag_summary(str *t) {
    double wall = (double)(clock_ns() - began_ns) / 1e9;
    struct rusage ru = {0};
    getrusage(RUSAGE_SELF, &ru);
    int64_t exec = counter_get(COUNTER_executions);
    double busy = (double)counter_get(COUNTER_execute_ns) / 1e9;
    str_printf(t, "what this run cost: %.2f s\n", wall);
    str_printf(t, "  programs    %lld compiled (%.1f ms), %lld from disk, %lld evicted",
               (long long)counter_get(COUNTER_compiles), ms(COUNTER_compile_ns),
               (long long)counter_get(COUNTER_disk_hits), (long long)counter_get(COUNTER_evictions));
    str_putc(t, '\n');
    diag_append_phase_sums(t);
    if (counter_get(COUNTER_compiles) > 0 && wall > 0)
        str_printf(t, "              compiling took %.1f %% of the run\n", ms(COUNTER_compile_ns) / 10 / wall);
    append_epochs(t);
    if (counter_get(COUNTER_recompiles) + counter_get(COUNTER_reloads) > 0)
        str_printf(t,
                   "              %lld evictions caused %lld recompiles and %lld loads from disk; raise "
                   "XT_CACHE_ENTRIES to %lld\n",
                   (long long)counter_get(COUNTER_evictions), (long long)counter_get(COUNTER_recompiles),
                   (long long)counter_get(COUNTER_reloads), (long long)lazy_programs_seen());
    str_printf(t, "  executions  %lld (%lld forced by reads), device busy %.2f s = %.0f %% of the run", (long long)exec,
               (long long)counter_get(COUNTER_forced_executions), busy, wall > 0 ? 100 * busy / wall : 0);
    if (exec) str_printf(t, ", %.3f ms each", busy * 1e3 / (double)exec);
    str_printf(
        t,
        "\n"
        "  host        recording %.1f ms, lowering %.1f ms, waiting: queue %.1f ms, reads %.1f ms, loader %.1f ms\n",
        ms(COUNTER_trace_ns), ms(COUNTER_lower_ns), ms(COUNTER_queue_wait_ns), ms(COUNTER_read_wait_ns),
        ms(COUNTER_loader_wait_ns));
    diag_append_idle(t, wall);
    advise_workers(t, wall);
    str_printf(t, "  transfers   %lld reads (%.2f MiB), %lld uploads (%.2f MiB)\n",
               (long long)counter_get(COUNTER_host_reads), (double)counter_get(COUNTER_host_read_bytes) / 1048576,
               (long long)counter_get(COUNTER_uploads), (double)counter_get(COUNTER_upload_bytes) / 1048576);
    str_printf(t, "  memory      device peak %.1f MiB, process peak %.1f MiB",
               (double)counter_get(COUNTER_device_peak_bytes) / 1048576, (double)ru.ru_maxrss / 1024);
    append_memory_over_time(t);
    if (counter_get(COUNTER_flops) > 0 && busy > 0)
        str_printf(t, "\n  compute     %.1f GFLOP/s while busy", (double)counter_get(COUNTER_flops) / busy / 1e9);
    str_putc(t, '\n');
}

void xt_cost_summary(void) {
    str t = STR_INIT;
    diag_summary(&t);
    log_raw(XT_SEV_INFO, t.data ? t.data : "", t.len);
    str_free(&t);
}

void diag_summary_once(void) {
    static int64_t told;
    int64_t executions = counter_get(COUNTER_executions);
    /* a rehearsal costs nothing that is worth telling */
    if (executions == told || !env_flag("XT_SUMMARY", true) || world_get()->rank != 0 || rehearsal_on()) return;
    told = executions;
    xt_cost_summary();
}

/* A mistake of the program's author needs no black box: the message has the line. Only who has named a folder for
 * it gets that of a run that was under way. Memory that ran out, a device or a file that failed, a rank that went
 * away: always. */
static bool worth_keeping(xt_status e) {
    switch (status_code(e)) {
    case XT_INVALID_ARGUMENT:
    case XT_NOT_FOUND:
    case XT_ALREADY_EXISTS:
    case XT_PERMISSION_DENIED:
    case XT_FAILED_PRECONDITION:
    case XT_OUT_OF_RANGE:
    case XT_UNIMPLEMENTED:
    case XT_CANCELLED: return env_get("XT_POSTMORTEM_DIR") && counter_get(COUNTER_steps) >= BOX_UNDER_WAY;
    default: return true;
    }
}

/* An error that nobody handled ends the run: what it was doing stays on disk. The message itself was told when the
 * error arose. */
static void tell_failure(xt_status e) {
    lazy_tell_pending();
    blackbox *b = worth_keeping(e) ? blackbox_get() : NULL;
    if (!b) return;
    snprintf(b->last_error, sizeof b->last_error, "%s", status_message(e));
    if (!b->report[0]) blackbox_report(status_message(e));
    b->state = BOX_CRASHED;
    const char *folder = blackbox_dump("an error that nobody handled");
    b->state = BOX_RUNNING;
    if (lazy_error_handled()) return;
    log_msg(XT_SEV_ERROR, "[%s] xtrain explain %s says more%s%s", xt_status_id(e), xt_status_id(e),
            folder ? "; what the run was doing: xtrain postmortem " : "", folder ? folder : "");
}

/* How this rank ends, for those that go on. Of an error, its first line. */
static void tell_ranks(xt_status e, int64_t steps) {
    char how[COLL_END_SIZE];
    const char *text = status_message(e);
    if (world_get()->size < 2) return;
    bool follows = status_code(e) == XT_ABORTED;
    snprintf(how, sizeof how, "has %s after %lld steps%s%.*s",
             follows ? "followed another rank"
             : e     ? "ended"
                     : "finished",
             (long long)steps, e && !follows ? " with an error: " : "", e && !follows ? (int)strcspn(text, "\n") : 0,
             text);
    coll_run_leaving(follows ? COLL_FOLLOWS : COLL_OWN_END, how);
    if (e) coll_run_give_up(how);
}

/* False: a function of the program's that was called meanwhile has made an error, which has been told. */
static bool come_to_rest(void) {
    bool outer = handle_finishing(true);
    lazy_forget_error();
    lazy_free_owned();
    handle_finishing(outer);
    bool well = !lazy_pending();
    lazy_forget_error();
    lazy_reset_thread();
    lazy_device_close();
    return well;
}

/* Another thread may be in the middle of a step: it keeps what it uses, until the process is gone. One that stays in
 * the device for too long loses the exit handlers, which would take the device's library down beneath it. */
enum { DEVICE_PATIENCE_S = 10 };
static void leave_with_1(void) {
    ending_begin();
    bool quiet = ending_wait(DEVICE_PATIENCE_S);
    if (gettid() == getpid() && lazy_ctx_count() <= 1)
        (void)come_to_rest();
    else
        lazy_leave_open();
    blackbox_at_rest(true);
    if (!quiet) {
        fflush(NULL);
        _exit(1);
    }
    lazy_exit(1);
}

/* A step has ended and nobody has looked at the pending error. */
static void end_program(const char *what, const xt_src *src) {
    char at[512];
    long long steps = (long long)lazy_error_step();
    ending_begin();
    log_msg(XT_SEV_ERROR,
            "%s: %s ends the program with exit code 1, after %lld step%s: nobody has looked at the error above "
            "(xt_error()); a program that goes on "
            "after errors sets xt_on_error",
            src_text(src_intern(src), at, sizeof at), what, steps, steps == 1 ? "" : "s");
    xt_status forked = lazy_forked(what, NULL);
    if (forked) { /* what would be ended and freed is the parent's */
        xt_status_free(forked);
        lazy_exit(1);
    }
    tell_ranks(lazy_pending(), steps);
    (void)ending_wait(DEVICE_PATIENCE_S);
    lazy_drain();
    lazy_run_finish_hooks();
    tell_failure(lazy_pending());
    leave_with_1();
}

int xt_finish_at(const xt_src *src) {
    if (lazy_errors_held()) { /* it would free what the pass goes on with */
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_finish inside a function that xt_fit, or another pass of the Trainer, has called: it "
                             "would end what is under way there; call it after that has returned"));
        return 1;
    }
    if (lazy_passes_elsewhere()) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_finish while another thread is in xt_fit, or in another pass of the Trainer, which "
                             "would be lost: wait for that thread first (pthread_join)"));
        return 1;
    }
    lazy_fail_by_unseen(true);
    int64_t steps = counter_get(COUNTER_steps), runs = counter_get(COUNTER_executions);
    lazy_tell_autocast();
    bool ok = lazy_boundary(LAZY_FINISH, src);
    if (counter_get(COUNTER_executions) > runs) steps = counter_get(COUNTER_steps); /* the last step ended here */
    ok = lazy_drain() && ok;
    ending_enter(); /* no other thread's error meets what is closed here */
    if (lazy_pending()) tell_ranks(lazy_pending(), lazy_error_step());
    lazy_run_finish_hooks();
    xt_status e = lazy_pending();
    if (e) tell_failure(e);
    ok = ok && !e && !lazy_error_died();
    tell_ranks(e, e ? lazy_error_step() : steps);
    if (ok) diag_summary_once();
    if (lazy_error_ends() || lazy_error_died()) leave_with_1();
    ok = come_to_rest() && ok;
    blackbox_at_rest(true);
    ending_leave();
    src_id failed;
    return ok && !lazy_failed_call(&failed) ? 0 : 1;
}
