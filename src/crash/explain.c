/* What happened to a program, told from its black box: how it ended, where it was, what filled the memory and what
 * grew, the last report, the last events. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "crash/crash.h"

enum { EVENTS_TOLD = 20, ROWS_TOLD = 12 };

static double mib(int64_t bytes) {
    return (double)bytes / 1048576;
}

int64_t blackbox_kernel_kills(const blackbox *b) {
    int64_t now = b->oom_kills_end >= 0 ? b->oom_kills_end : crash_oom_kills_in(b->oom_file);
    return b->oom_kills >= 0 && now > b->oom_kills ? now - b->oom_kills : 0;
}

static void how_it_ended(const box_file *f, str *out) {
    const blackbox *b = &f->box;
    int64_t kills = blackbox_kernel_kills(b);
    if (f->alive && !f->elsewhere) {
        str_append(out, "It is still running.\n");
    } else if (b->state == BOX_CRASHED && b->signal) {
        str_printf(out, "It was ended by signal %d (%s)%s.\n", b->signal, strsignal(b->signal),
                   b->signal == SIGPIPE ? ": it wrote to a pipe that nobody read any more, as after `| head`; what it "
                                          "had computed by then is lost"
                                        : "");
    } else if (b->state == BOX_CRASHED) {
        str_printf(out, "It ended with an error that nobody handled: %s\n",
                   b->last_error[0] ? b->last_error : "(not recorded)");
    } else if (b->state == BOX_ENDED) {
        str_append(out, "It ended by itself.\n");
    } else if (b->state == BOX_REPORTED) {
        str_append(out, "It met a failure, wrote this and went on; how it ended is not in this folder.\n");
    } else if (kills > 0) {
        str_printf(
            out,
            "It was killed, most likely by the kernel because memory ran out: the cgroup's oom_kill count went from "
            "%lld to %lld since it began.\n"
            "  XT_MEMORY_LIMIT (300M, 2GiB) makes that an error with a report instead, before the kernel acts.\n",
            (long long)b->oom_kills, (long long)(b->oom_kills + kills));
    } else {
        str_append(out, "It was killed by SIGKILL: by somebody (kill -9, a batch system's limit), or by the kernel "
                        "because memory ran out; `dmesg -T | grep -i 'killed process'` says which. (A program that "
                        "calls _exit() before xt_finish() leaves the same traces.)\n");
    }
}

static void where_it_was(const blackbox *b, str *out) {
    char when[64] = "?";
    time_t began = (time_t)b->began_unix_s;
    struct tm tm;
    if (localtime_r(&began, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    str_printf(out, "  began %s, ran %.1f s until its last sign of life\n", when, box_seconds(b->began_ns, b->beat_ns));
    str_printf(out, "  step %lld, epoch %lld, last seen at %s", (long long)b->step, (long long)b->epoch,
               b->place[0] ? b->place : "its start");
    if (b->recording[0]) str_printf(out, ", last op recorded at %s", b->recording);
    if (b->note[0]) str_printf(out, " (%s)", b->note);
    if (!isnan(b->loss)) str_printf(out, "\n  %s %g", b->loss_name[0] ? b->loss_name : "loss", b->loss);
    if (!isnan(b->step_rate)) str_printf(out, "%s%.2f steps/s", isnan(b->loss) ? "\n  " : ", ", b->step_rate);
    str_printf(out, "\n  %s\n", b->versions[0] ? b->versions : b->device);
    if (b->batch[0]) str_printf(out, "  %s\n", b->batch);
}

void box_sparkline(const blackbox *b, str *out) {
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int64_t most = 1, least = INT64_MAX;
    for (int64_t i = 0; i < b->n_history; i++) {
        if (b->history[i] > most) most = b->history[i];
        if (b->history[i] < least) least = b->history[i];
    }
    if (least > most / 2) least = most / 2; /* a flat line looks flat */
    /* a box is a file that anybody may have written: its differences need not be 64-bit numbers */
    double span = (double)most - (double)least;
    for (int64_t i = 0; i < b->n_history; i++) {
        int k = span > 0 ? (int)(((double)b->history[i] - (double)least) / span * 7) : 0;
        str_append(out, bars[k < 0 ? 0 : k > 7 ? 7 : k]);
    }
}

static void memory(const blackbox *b, str *out) {
    str_printf(out, "memory\n  device %.1f MiB now, peak %.1f MiB", mib(b->device_bytes), mib(b->device_peak));
    if (b->device_limit > 0) str_printf(out, ", limit %.1f MiB", mib(b->device_limit));
    str_printf(out, "; process %.1f MiB\n", mib(b->rss));
    if (b->n_history > 1) {
        str_printf(out, "  over the run, up to step %lld: ", (long long)b->history_step);
        box_sparkline(b, out);
        str_printf(out, "  %.1f -> %.1f MiB\n", mib(b->history[0]), mib(b->history[b->n_history - 1]));
        int64_t early = b->history[b->n_history / 4], late = b->history[b->n_history - 1];
        /* A step's own temporaries make some per cent of difference between two looks, and more in programs of a few
         * hundred kilobytes. */
        if (b->n_history > 8 && late - early > early / 4 && late - early > 1 << 20)
            str_append(out, "  it grew by more than a quarter since the first quarter of the run: the lines below with "
                            "many buffers are the suspects\n");
    }
    if (b->n_rows) str_printf(out, "  live buffers by line, as of step %lld:\n", (long long)b->rows_step);
    for (int64_t i = 0; i < b->n_rows && i < ROWS_TOLD; i++)
        str_printf(out, "  %10.2f MiB %6lld x  %-10s %s  %s\n", mib(b->rows[i].bytes), (long long)b->rows[i].count,
                   b->rows[i].role, b->rows[i].where, b->rows[i].path);
}

static void events(const blackbox *b, str *out) {
    int64_t n = atomic_load_explicit(&b->n_events, memory_order_relaxed);
    int64_t from = n > EVENTS_TOLD ? n - EVENTS_TOLD : 0;
    if (n > 0)
        str_printf(out, "the last %lld of %lld events (seconds before the last sign of life)\n", (long long)(n - from),
                   (long long)n);
    for (int64_t k = from; k < n; k++) {
        const box_event *e = &b->events[k % BOX_EVENTS];
        str_printf(out, "  %9.3f s  step %-8u %-10s %s", box_seconds(e->ns, b->beat_ns), e->step,
                   box_kind_name(e->kind), e->place < BOX_PLACES ? b->places[e->place] : "");
        if (e->kind == BOX_EXECUTION || e->kind == BOX_COMPILE || e->kind == BOX_DISK_HIT)
            str_printf(out, "  program %lld, device %.2f MiB", (long long)e->a, mib(e->b));
        if (e->kind == BOX_ERROR) str_printf(out, "  %s", xt_code_name((xt_code)e->a));
        str_putc(out, '\n');
    }
}

void blackbox_explain(const box_file *f, str *out) {
    const blackbox *b = &f->box;
    str_printf(out, "%s, pid %d", b->program[0] ? b->program : "a program", b->pid);
    if (b->world > 1) str_printf(out, ", rank %d of %d", b->rank, b->world);
    str_append(out, "\n");
    how_it_ended(f, out);
    where_it_was(b, out);
    memory(b, out);
    if (b->report[0]) str_printf(out, "its last report\n%s\n", b->report);
    events(b, out);
}
