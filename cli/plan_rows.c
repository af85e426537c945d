/* Plans of several cases at the same time. A foreign compiler takes seconds to minutes over a program and mostly one
 * core, so each case is given to a process of this same command (xtrain plan ... --row), as many at a time as asked
 * for; its answer is one line. Our own compiler's cases run here, one after the other: they take less, and the rates of
 * this host are measured once. */
#include "cli/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void take_report(const xt_plan_report *r, plan_row *out) {
    out->peak_bytes = r->peak_bytes;
    out->step_ms = r->step_ms;
    out->fits = r->fits;
    for (int i = 0; i < r->n_collectives; i++) out->moved_bytes += r->collectives[i].bytes;
}

static void fail(plan_row *row, const char *why) {
    row->failed = true;
    snprintf(row->why, sizeof row->why, "%.*s", (int)strcspn(why, "\n"), why);
}

static void run_here(plan_row *row) {
    xt_plan *p = NULL;
    xt_status s = plan_case_run(&row->c, &p);
    if (s)
        fail(row, xt_status_message(s));
    else
        take_report(xt_plan_get(p), row);
    xt_status_free(s);
    xt_plan_free(p);
}

int plan_row_print(const plan_case *c) {
    plan_row row = {.c = *c};
    run_here(&row);
    if (row.failed)
        cli_printf("failed %s\n", row.why);
    else
        cli_printf("row %lld %lld %.17g %d\n", (long long)row.peak_bytes, (long long)row.moved_bytes, row.step_ms,
                   row.fits);
    return row.failed;
}

static void take_answer(plan_row *row, const char *text, int status) {
    long long peak, moved;
    int fits;
    char why[80];
    if (sscanf(text, "row %lld %lld %lf %d", &peak, &moved, &row->step_ms, &fits) == 4) {
        row->peak_bytes = peak;
        row->moved_bytes = moved;
        row->fits = fits != 0;
    } else if (strncmp(text, "failed ", 7) == 0)
        fail(row, text + 7);
    else {
        snprintf(why, sizeof why, "its process ended with %s %d", WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        fail(row, why);
    }
}

/* --- processes --- */
enum { MOST_JOBS = 16, MOST_ARGS = 48, MOST_NUMBERS = 12, ANSWER = 512 };
typedef struct worker {
    plan_row *row; /* NULL: free */
    pid_t pid;
    int fd;
    size_t n;
    char text[ANSWER];
} worker;
typedef struct arguments {
    const char *v[MOST_ARGS];
    char numbers[MOST_NUMBERS][24];
    int n, n_numbers;
} arguments;

static void add_text(arguments *a, const char *flag, const char *value) {
    if (!value) return;
    a->v[a->n++] = flag;
    a->v[a->n++] = value;
}

static void add_number(arguments *a, const char *flag, double value) {
    if (value <= 0) return;
    char *text = a->numbers[a->n_numbers++];
    snprintf(text, sizeof a->numbers[0], "%.17g", value);
    add_text(a, flag, text);
}

static void add_flag(arguments *a, const char *flag, bool on) {
    if (on) a->v[a->n++] = flag;
}

/* The case as this command's arguments: what a user would type for it. */
static void write_arguments(const plan_case *c, arguments *a) {
    *a = (arguments){.v = {"xtrain", "plan", c->model->name}, .n = 3};
    add_text(a, "--topology", c->topology);
    add_text(a, "--mesh", c->mesh);
    add_text(a, "--precision", c->bf16 ? "bf16" : NULL);
    add_number(a, "--batch", (double)c->batch);
    add_number(a, "--seq", (double)c->seq);
    add_number(a, "--side", (double)c->side);
    add_number(a, "--accumulate", (double)c->accumulate);
    add_number(a, "--experts", (double)c->experts);
    add_number(a, "--microbatches", (double)c->microbatches);
    add_number(a, "--attention-tile", (double)c->attention_tile);
    add_text(a, "--pipeline", c->pipeline);
    add_number(a, "--limit", (double)c->limit);
    add_number(a, "--time-limit", c->time_limit);
    add_flag(a, "--fsdp", c->fsdp);
    add_flag(a, "--checkpoint", c->checkpoint);
    add_flag(a, "--offload", c->offload);
    add_flag(a, "--row", true);
}

/* The parent may have threads, so between fork and exec there are system calls only. */
static bool start(worker *w, plan_row *row) {
    arguments a;
    int fd[2], nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    write_arguments(&row->c, &a);
    if (nothing < 0 || pipe2(fd, O_CLOEXEC) != 0) {
        if (nothing >= 0) close(nothing);
        return false;
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(nothing, 0), dup2(nothing, 2), dup2(fd[1], 1);
        if (getppid() == self) execv("/proc/self/exe", (char *const *)a.v);
        _exit(127);
    }
    close(nothing);
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return false;
    }
    *w = (worker){.row = row, .pid = pid, .fd = fd[0]};
    return true;
}

static void finish(worker *w) {
    int status = 0;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(w->fd);
    w->text[w->n] = 0;
    take_answer(w->row, w->text, status);
    w->row = NULL;
}

/* Waits until one of the workers has ended. */
static void wait_one(worker *workers, int n) {
    struct pollfd polls[MOST_JOBS];
    for (int i = 0; i < n; i++) polls[i] = (struct pollfd){workers[i].row ? workers[i].fd : -1, POLLIN, 0};
    for (bool ended = false; !ended;) {
        if (poll(polls, (nfds_t)n, -1) < 0 && errno != EINTR) return;
        for (int i = 0; i < n; i++) {
            worker *w = &workers[i];
            if (!w->row || !polls[i].revents) continue;
            char rest[ANSWER];
            size_t room = sizeof w->text - 1 - w->n;
            ssize_t got = read(w->fd, room ? w->text + w->n : rest, room ? room : sizeof rest);
            if (got > 0)
                w->n += room ? (size_t)got : 0;
            else if (got == 0 || errno != EINTR)
                finish(w), polls[i].fd = -1, ended = true;
        }
    }
}

static void run_away(plan_row *rows, int n, int jobs) {
    worker workers[MOST_JOBS] = {{0}};
    int live = 0, next = 0;
    while (next < n || live > 0) {
        if (next < n && live < jobs) {
            int k = 0;
            while (workers[k].row) k++;
            cli_fprintf(stderr, "xtrain plan: %s\n", rows[next].name);
            if (start(&workers[k], &rows[next]))
                live++;
            else
                fail(&rows[next], strerror(errno));
            next++;
            continue;
        }
        wait_one(workers, jobs);
        live = 0;
        for (int k = 0; k < jobs; k++) live += workers[k].row != NULL;
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void plan_rows_run(plan_row *rows, int n, int jobs) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double began = seconds();
    bool away = n > 0 && rows[0].c.model;
    for (int i = 0; i < n; i++) away &= strncmp(rows[i].c.topology, "cpu", 3) != 0;
    if (jobs <= 0) jobs = cores > 4 ? 4 : cores > 1 ? (int)cores : 1;
    if (jobs > n) jobs = n;
    if (jobs > MOST_JOBS) jobs = MOST_JOBS;
    if (away) run_away(rows, n, jobs);
    for (int i = 0; i < n && !away; i++) {
        cli_fprintf(stderr, "xtrain plan: %s\n", rows[i].name);
        run_here(&rows[i]);
    }
    if (n)
        cli_fprintf(stderr, "xtrain plan: %d compilations, %d at a time, in %.0f s\n", n, away ? jobs : 1,
                    seconds() - began);
}
