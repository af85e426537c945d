/* When a fit ends before its time: a wish (xt_trainer_stop, early stopping), the clock (max_time), a signal; and how
 * several ranks agree on it.
 *
 * Invariants
 *  1. `stop` is this rank's wish, `stopping` what all ranks have agreed on; only the second ends the loops.
 *  2. stopping_check is called at the same places of the loop by all ranks: what decides whether it is called
 *     (stopping_polls) depends on options and counters that are equal on all of them.
 *  3. A signal is taken from the first fit that asks for it until the last one that did is over, in a hook of another
 *     or in another thread: it ends all of them.
 *  4. A fit that is left by longjmp or by its thread's end counts no longer, from the thread's end or its next fit on.
 *  5. The signal handlers only note the number. What the program had installed for the signal is called as well, and is
 *     back in place when all that the fit writes is on the disk: one that comes while the end of a fit is written is
 *     what the fit gives, and takes nothing away.
 *  6. A second Ctrl-C goes to what was there before the fit, as one who waits for a step that hangs needs it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"
#include "coll/coll.h"
#include "train/train_int.h"

/* --- signals --- */
static const struct {
    const char *name;
    int number;
} known[] = {{"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
enum { KNOWN = sizeof known / sizeof *known };
static struct sigaction before[KNOWN];
static int takers[KNOWN]; /* fits under way that have asked for it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of those around it, but fits_here and caught */
static int fits; /* under way, which share what has been taken and caught */
static __thread int fits_here, takers_here[KNOWN]; /* of them, this thread's */
static bool listens; /* to the ends of threads */
static volatile sig_atomic_t caught;
static volatile sig_atomic_t tells; /* rank 0 of a fit that speaks */

static void note_signal(int number, siginfo_t *info, void *context) {
    static const char words[] = "xtrain: Ctrl-C: the fit ends after the step or the validation under way; a second "
                                "Ctrl-C ends the process at once\n";
    caught = number;
    for (int i = 0; i < KNOWN; i++) {
        if (known[i].number != number || !takers[i]) continue;
        if (number == SIGINT) {
            ssize_t wrote = tells ? write(STDERR_FILENO, words, sizeof words - 1) : 0;
            (void)wrote; /* nobody listens: then nobody */
            sigaction(number, &before[i], NULL);
        }
        if (before[i].sa_flags & SA_SIGINFO)
            before[i].sa_sigaction(number, info, context);
        else if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN)
            before[i].sa_handler(number);
    }
}

static bool under_slurm(void) {
    return getenv("SLURM_JOB_ID") != NULL;
}

static bool listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ',' || p[-1] == ' ' || (p - list >= 3 && strncmp(p - 3, "SIG", 3) == 0)) &&
            (p[n] == 0 || p[n] == ',' || p[n] == ' '))
            return true;
    return false;
}

xt_status stopping_check_names(const char *list) {
    char word[32];
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ", ");
        bool found = n == 0;
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        for (int i = 0; i < KNOWN; i++)
            found = found || strcmp(strncmp(word, "SIG", 3) == 0 ? word + 3 : word, known[i].name) == 0;
        if (!found)
            return status_new(XT_INVALID_ARGUMENT, NULL, "signals = %s: %s is not one of TERM, INT, HUP, USR1, USR2",
                              list, word);
        p += n;
        p += strspn(p, ", ");
    }
    return NULL;
}

static const char *wanted_signals(const xt_trainer *t) {
    return t->o.signals ? t->o.signals : under_slurm() ? "TERM,INT,USR1" : "TERM,INT";
}

/* Ctrl-C that nobody asked the fit to take is left to a program that has its own idea of it, and to a shell script that
 * has it ignored in what runs in the background. */
static bool leaves(const xt_trainer *t, int number) {
    struct sigaction now;
    if (t->o.signals || number != SIGINT || sigaction(number, NULL, &now) != 0) return false;
    return (now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && !blackbox_is_handler(now.sa_handler));
}

xt_status stopping_settle(xt_trainer *t) {
    t->max_time_ns = 0;
    if (!t->o.max_time) return NULL;
    XT_TRY(duration_parse("max_time", t->o.max_time, &t->max_time_ns));
    if (!t->max_time_ns) t->max_time_ns = 1; /* no time at all: 0 would be no limit */
    return NULL;
}

/* A Ctrl-C that the fit does not take, and a second one, end the process at once, and the line it ends with says what
 * that costs. The thread that writes checkpoints tells of each complete one, also of those it completes when the fit is
 * over. Only rank 0 has files. */
static pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;
static bool interruptible;

void stopping_saved(const char *checkpoint) {
    char words[640];
    snprintf(words, sizeof words, "nothing was saved%s%.400s", checkpoint ? " after " : "",
             checkpoint ? checkpoint : "");
    pthread_mutex_lock(&saving);
    if (interruptible) blackbox_on_interrupt(words);
    pthread_mutex_unlock(&saving);
}

static void set_interruptible(bool on) {
    pthread_mutex_lock(&saving);
    interruptible = on && world_get()->rank == 0;
    blackbox_on_interrupt("");
    pthread_mutex_unlock(&saving);
}

void stopping_begin(xt_trainer *t) {
    t->stop = t->stopping = false;
    t->stop_signal = 0;
    t->clock_began_ns = clock_ns();
    set_interruptible(true);
    stopping_saved(t->saved_last);
    tells = world_get()->rank == 0 && !t->quiet;
    pthread_mutex_lock(&lock);
    if (!listens) lazy_at_thread_end(stopping_left);
    listens = true;
    fits_here++;
    if (fits++ == 0) caught = 0;
    for (int i = 0; i < KNOWN; i++) {
        struct sigaction act = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigemptyset(&act.sa_mask);
        t->signals_taken[i] =
            listed(wanted_signals(t), known[i].name) &&
            (takers[i] || (!leaves(t, known[i].number) && sigaction(known[i].number, &act, &before[i]) == 0));
        takers[i] += t->signals_taken[i];
        takers_here[i] += t->signals_taken[i];
    }
    pthread_mutex_unlock(&lock);
}

/* n of this thread's fits are over, which took each signal so often. */
static void end_fits(int n, const int *signals) {
    pthread_mutex_lock(&lock);
    fits_here -= n;
    fits -= n;
    bool last = fits == 0;
    for (int i = 0; i < KNOWN; i++) {
        int times = signals[i];
        if (times && takers[i] == times) sigaction(known[i].number, &before[i], NULL);
        takers[i] -= times;
        takers_here[i] -= times;
    }
    pthread_mutex_unlock(&lock);
    if (last) set_interruptible(false);
}

void stopping_trained(xt_trainer *t) {
    t->elapsed_before_ns = stopping_elapsed(t);
    t->clock_began_ns = 0;
}

/* None ends before rank 0's checkpoint is written: the launcher would end the rest. What has come to one rank
 * meanwhile all of them give. A rank that does not come tells why itself. */
void stopping_meet(void) {
    int32_t noted = caught;
    coll_group *g;
    if (world_get()->size <= 1) return;
    xt_status s = xt_barrier(0);
    if (!s) s = coll_run_group(&g);
    if (!s) s = coll_all_reduce(g, COLL_MAX, XT_I32, &noted, 1);
    if (!s && noted) caught = noted;
    xt_status_free(s);
}

void stopping_end(xt_trainer *t) {
    int signals[KNOWN];
    for (int i = 0; i < KNOWN; i++) signals[i] = t->signals_taken[i];
    end_fits(1, signals);
    t->late_signal = !t->stop_signal; /* behind the sigaction: none is noted any more */
    if (t->late_signal) t->stop_signal = caught;
}

void stopping_left(void) {
    int signals[KNOWN];
    memcpy(signals, takers_here, sizeof signals);
    if (fits_here) end_fits(fits_here, signals);
}

static const char *signal_name(int number) {
    for (int i = 0; i < KNOWN; i++)
        if (known[i].number == number) return known[i].name;
    return "?";
}

/* SLURM gives a job that is about to reach its limit a signal; asked in time, it starts the job again. */
static void requeue(void) {
    const char *job = getenv("SLURM_JOB_ID");
    pid_t child = fork();
    if (child == 0) {
        execlp("scontrol", "scontrol", "requeue", job, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    bool ran = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    log_msg(ran ? XT_SEV_INFO : XT_SEV_WARNING,
            ran ? "asked SLURM to requeue job %s" : "scontrol requeue %s failed; start the job again by hand", job);
}

int stopping_result(xt_trainer *t, const char *checkpoint) {
    if (!t->stop_signal) return 0;
    if (world_get()->rank == 0) {
        log_msg(XT_SEV_INFO, "%s SIG%s at step %lld%s%s%s",
                t->late_signal ? "the training was over and is saved, then came" : "stopped by",
                signal_name(t->stop_signal), (long long)t->global_step, checkpoint ? "; --resume " : "",
                checkpoint ? checkpoint : "", checkpoint ? " goes on from here" : "");
        if (t->stop_signal == SIGUSR1 && under_slurm()) requeue();
    }
    return 128 + t->stop_signal;
}

/* --- the decision --- */
int64_t stopping_elapsed(const xt_trainer *t) {
    return t->elapsed_before_ns + (t->clock_began_ns ? clock_ns() - t->clock_began_ns : 0);
}

/* Nothing short of a signal ends a fit before its lower bounds. */
bool stopping_held(const xt_trainer *t, char *by, size_t n) {
    if (t->epoch + (t->whole_epoch ? 1 : 0) < t->o.min_epochs)
        snprintf(by, n, "min_epochs = %lld", (long long)t->o.min_epochs);
    else if (t->global_step < t->o.min_steps)
        snprintf(by, n, "min_steps = %lld", (long long)t->o.min_steps);
    else
        return false;
    return true;
}

static void look_at_clock(xt_trainer *t) {
    if (!t->max_time_ns || t->stop || stopping_elapsed(t) < t->max_time_ns) return;
    t->stop = true;
    if (world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "max_time = %s is over at step %lld", t->o.max_time, (long long)t->global_step);
}

bool stopping_polls(const xt_trainer *t) {
    return world_get()->size <= 1 || t->max_time_ns || t->val_interval.unit == INTERVAL_TIME ||
           t->global_step % t->every.steps == 0;
}

bool stopping_check(xt_trainer *t) {
    char by[48];
    look_at_clock(t);
    int32_t wants[2] = {t->stop && !stopping_held(t, by, sizeof by), caught};
    const world *w = world_get();
    if (w->size > 1) {
        coll_group *g;
        bool mine = wants[0] != 0;
        xt_status s = coll_run_group(&g);
        if (!s) s = coll_all_reduce(g, COLL_MAX, XT_I32, wants, 2);
        if (s) {
            lazy_fail(status_context(s, "agreeing on the end of training"));
            return t->stopping = true;
        }
        if (wants[0] && !mine && w->rank == 0)
            log_msg(XT_SEV_INFO, "stopping in epoch %lld, at step %lld: another rank asked for it", (long long)t->epoch,
                    (long long)t->global_step);
    }
    t->stop_signal = wants[1];
    return t->stopping = wants[0] || wants[1];
}

bool train_ranks_agree(bool mine) {
    if (world_get()->size <= 1) return mine;
    coll_group *g;
    uint8_t answer = mine;
    xt_status s = coll_run_group(&g);
    if (!s) s = coll_broadcast(g, 0, &answer, sizeof answer);
    if (s) lazy_fail(status_context(s, "agreeing on what the clock says"));
    return !s && answer;
}
