/* Writing the black box, and the signal handlers that finish it. See crash.h. In a signal handler only what is
 * async-signal-safe is used: the text is put together by hand, into a buffer of its own. */
#include "crash/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/private_file.h"
#include "base/process.h"
#include "base/unfinished.h"

static blackbox *box;
static pid_t owner; /* process that made `box`; another one is a forked child */
static char file_name[512]; /* of the status file */
static char text_name[32], box_name[32];
static crash_place crash; /* where a crash folder of this process goes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint16_t place_of[1 << 16]; /* source id -> number of its text in the box, + 1 */

const char *box_kind_name(box_kind k) {
    static const char *const names[BOX_KIND_COUNT] = {"",      "step",   "compile", "disk hit", "execution", "read",
                                                      "error", "growth", "jump",    "watchdog", "signal"};
    return (unsigned)k < BOX_KIND_COUNT ? names[k] : "?";
}

/* --- the crash folder --- */
/* xt-crash-PID; the ranks of a run share that of their launcher. The folder that it will lie in is opened when the
 * program starts: a dying process makes it there and nowhere else, and never follows a name that somebody may have put
 * something under since. */
static void name_folder(void) {
    const world *w = world_get();
    int rank = w->size > 1 ? w->rank : -1;
    snprintf(text_name, sizeof text_name, rank >= 0 ? "report-rank%d.txt" : "report.txt", rank);
    snprintf(box_name, sizeof box_name, rank >= 0 ? "rank%d.xtbox" : "state.xtbox", rank);
    crash_place_open(&crash, box->folder, rank >= 0 ? (int)box->parent : (int)box->pid);
}

static void put(char *out, size_t room, size_t *at, const char *text) {
    for (; *text && *at + 1 < room; text++) out[(*at)++] = *text;
    out[*at] = '\0';
}

static void put_number(char *out, size_t room, size_t *at, int64_t v) {
    char digits[24];
    int n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) put(out, room, at, "-");
    while (n > 0 && *at + 1 < room) out[(*at)++] = digits[--n];
    out[*at] = '\0';
}

static bool reported; /* the folder's copy says that the run goes on */

/* NULL, or why there is none: then nothing of it stays, and the status file does. */
static const char *dump(const char *why) {
    static char text[BOX_REPORT + 2048];
    size_t at = 0;
    const char *problem;
    int folder = crash_folder_make(&crash, &problem);
    if (folder < 0) return problem;
    put(text, sizeof text, &at, why);
    put(text, sizeof text, &at, "\nprogram ");
    put(text, sizeof text, &at, box->program);
    put(text, sizeof text, &at, ", pid ");
    put_number(text, sizeof text, &at, box->pid);
    put(text, sizeof text, &at, ", step ");
    put_number(text, sizeof text, &at, box->step);
    put(text, sizeof text, &at, ", last seen at ");
    put(text, sizeof text, &at, box->place[0] ? box->place : "its start");
    put(text, sizeof text, &at, "\ndevice bytes ");
    put_number(text, sizeof text, &at, box->device_bytes);
    put(text, sizeof text, &at, ", peak ");
    put_number(text, sizeof text, &at, box->device_peak);
    put(text, sizeof text, &at, ", process bytes ");
    put_number(text, sizeof text, &at, box->rss);
    put(text, sizeof text, &at, "\n`xtrain postmortem` with this folder shows events and memory by line.\n");
    if (box->report[0]) {
        put(text, sizeof text, &at, "\nlast report:\n");
        put(text, sizeof text, &at, box->report);
        put(text, sizeof text, &at, "\n");
    }
    problem = private_file_write(folder, text_name, text, at);
    int32_t state = box->state;
    if (state == BOX_RUNNING) box->state = BOX_REPORTED;
    if (!problem) problem = private_file_write(folder, box_name, box, sizeof *box);
    box->state = state;
    if (problem) {
        unlinkat(folder, text_name, 0);
        crash_folder_unmake(&crash);
    } else
        crash_folder_note(crash.path);
    reported = !problem && state == BOX_RUNNING;
    close(folder);
    return problem;
}

const char *blackbox_dump(const char *why) {
    blackbox *b = blackbox_get();
    const char *problem = b ? dump(why) : NULL;
    if (problem)
        log_once("crash folder", XT_SEV_WARNING,
                 "no report is written: %s: %s; XT_POSTMORTEM_DIR=DIR names another place", crash.path, problem);
    return b && !problem ? crash.path : NULL;
}

/* --- signals --- */
/* All that end a process and can be seen: one line says where the run was. What somebody at a terminal does is no
 * crash: a pipe closed by `| head` or a closed window keep a folder only of a run that was under way, Ctrl-C none. */
static const struct {
    int sig;
    enum { ALWAYS, UNDER_WAY, NEVER } keeps; /* a crash folder */
    const char *name;
} caught[] = {{SIGSEGV, ALWAYS, "SIGSEGV"},
              {SIGABRT, ALWAYS, "SIGABRT"},
              {SIGBUS, ALWAYS, "SIGBUS"},
              {SIGFPE, ALWAYS, "SIGFPE"},
              {SIGILL, ALWAYS, "SIGILL"},
              {SIGTERM, ALWAYS, "SIGTERM"},
              {SIGSYS, ALWAYS, "SIGSYS"},
              {SIGTRAP, ALWAYS, "SIGTRAP"},
              {SIGXCPU, ALWAYS, "SIGXCPU (the limit of processor time)"},
              {SIGUSR1, ALWAYS, "SIGUSR1"},
              {SIGUSR2, ALWAYS, "SIGUSR2"},
              {SIGALRM, ALWAYS, "SIGALRM"},
              {SIGVTALRM, ALWAYS, "SIGVTALRM"},
              {SIGPROF, ALWAYS, "SIGPROF"},
              {SIGHUP, UNDER_WAY, "SIGHUP (its terminal was closed)"},
              {SIGPIPE, UNDER_WAY, "SIGPIPE (it wrote to a pipe that nobody reads any more, as after `| head`)"},
              {SIGINT, NEVER, "SIGINT (Ctrl-C)"},
              {SIGQUIT, NEVER, "SIGQUIT"}};

static src_id (*recorded_last)(void);
void blackbox_recording(src_id (*last)(void)) {
    recorded_last = last;
}

static const char *(*calls_now)(void);
void blackbox_calling(const char *(*what)(void)) {
    calls_now = what;
}

/* Where the program was between two boundaries; src_get reads without a lock. */
static void note_recording(void) {
    src_id id = recorded_last ? recorded_last() : 0;
    if (!id) return;
    const xt_src *s = src_get(id);
    size_t at = 0;
    put(box->recording, sizeof box->recording, &at, s->file);
    if (s->line <= 0) return;
    put(box->recording, sizeof box->recording, &at, ":");
    put_number(box->recording, sizeof box->recording, &at, s->line);
}

/* Two texts in turn: the handler reads one that nobody writes at the moment. */
static char interrupt_texts[2][700];
static char *_Atomic interrupt_words;
void blackbox_on_interrupt(const char *words) {
    char *now = atomic_load(&interrupt_words),
         *next = now == interrupt_texts[0] ? interrupt_texts[1] : interrupt_texts[0];
    snprintf(next, sizeof interrupt_texts[0], "%s", words);
    atomic_store(&interrupt_words, next);
}

/* Everything that a dying process says, and its box. */
static void last_words(int sig) {
    char line[1600], why[200];
    size_t at = 0, k = 0;
    while (k + 1 < BASE_COUNT(caught) && caught[k].sig != sig) k++;
    bool ended = box->state == BOX_ENDED,
         wanted = !ended && (caught[k].keeps == ALWAYS || (caught[k].keeps == UNDER_WAY && box->step >= BOX_UNDER_WAY));
    box->signal = sig;
    box->state = BOX_CRASHED;
    note_recording();
    put(why, sizeof why, &at, caught[k].name);
    const char *in = calls_now ? calls_now() : NULL;
    if (in) {
        put(why, sizeof why, &at, " in ");
        put(why, sizeof why, &at, in);
        put(why, sizeof why, &at, ", on a thread of the library");
        if (sig == SIGABRT) put(why, sizeof why, &at, ", which no exception may leave");
    }
    at = 0;
    const char *problem = wanted ? dump(why) : NULL;
    bool kept = wanted && !problem;
    if (kept || !wanted) unlink(file_name);
    if (ended) return;
    put(line, sizeof line, &at, "xtrain: ");
    put(line, sizeof line, &at, why);
    put(line, sizeof line, &at, in ? "; step " : " in step ");
    put_number(line, sizeof line, &at, box->step);
    put(line, sizeof line, &at, ", last seen at ");
    put(line, sizeof line, &at, box->place[0] ? box->place : "its start");
    if (kept) {
        put(line, sizeof line, &at, "; xtrain postmortem ");
        put(line, sizeof line, &at, crash.path);
        put(line, sizeof line, &at, " explains");
        if (box->recording[0]) put(line, sizeof line, &at, "; the last op was recorded at ");
        put(line, sizeof line, &at, box->recording);
    } else if (problem) {
        put(line, sizeof line, &at, "; no report: ");
        put(line, sizeof line, &at, crash.path);
        put(line, sizeof line, &at, ": ");
        put(line, sizeof line, &at, problem);
    }
    const char *saved = atomic_load(&interrupt_words);
    if (sig == SIGINT && saved && saved[0]) {
        put(line, sizeof line, &at, "; ");
        put(line, sizeof line, &at, saved);
    }
    put(line, sizeof line, &at, "\n");
    ssize_t wrote = write(STDERR_FILENO, line, at);
    (void)wrote; /* nobody listens: then nobody */
}

static void on_signal(int sig) {
    int saved = errno;
    struct sigaction now;
    /* Called by a handler that was put in our place later (a fit's, that ends the training in good order): what happens
     * next is its affair. */
    if (sigaction(sig, NULL, &now) == 0 && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != on_signal)) return;
    signal(sig, SIG_DFL);
    unfinished_remove();
    if (box && owner == getpid()) last_words(sig);
    errno = saved;
    raise(sig);
}

bool blackbox_is_handler(void (*handler)(int)) {
    return handler == on_signal || unfinished_is_handler(handler);
}

/* Only where nobody else has a handler: a program's own, or a sanitizer's, comes first. */
static void catch_signals(void) {
    static char stack[64 << 10];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    /* a stack that is full cannot run a handler */
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < BASE_COUNT(caught); i++) {
        struct sigaction old, act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        sigemptyset(&act.sa_mask);
        if (sigaction(caught[i].sig, NULL, &old) != 0 || (old.sa_flags & SA_SIGINFO)) continue;
        if (old.sa_handler == SIG_DFL || unfinished_is_handler(old.sa_handler)) sigaction(caught[i].sig, &act, NULL);
    }
}

/* A file that has grown to its limit (ulimit -f) is an error of whoever writes it, as one on a full disk, and no end of
 * the program. Known from the start, box or no box: the box's own file may be the first. A program that has its own
 * idea of the signal keeps it. */
__attribute__((constructor)) static void limits_are_errors(void) {
    struct sigaction old;
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL && !(old.sa_flags & SA_SIGINFO))
        signal(SIGXFSZ, SIG_IGN);
}

/* --- making it --- */
static void describe_process(blackbox *b) {
    const world *w = world_get();
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    memcpy(b->magic, "xtbox003", sizeof b->magic);
    b->size = sizeof *b;
    b->pid = (int32_t)getpid();
    b->parent = (int32_t)getppid();
    b->rank = w->rank;
    b->world = w->size;
    b->launched = w->launched;
    b->state = BOX_RUNNING;
    b->start_ticks = process_ticks(b->pid);
    process_host(b->host, sizeof b->host);
    process_domain(b->domain, sizeof b->domain);
    b->began_unix_s = t.tv_sec;
    b->began_ns = b->beat_ns = clock_ns();
    crash_oom_file(b->oom_file, sizeof b->oom_file);
    b->oom_kills = crash_oom_kills_in(b->oom_file);
    b->oom_kills_end = -1;
    b->loss = b->step_rate = b->idle_share = (double)NAN;
    ssize_t n = readlink("/proc/self/exe", b->program, sizeof b->program - 1);
    b->program[n > 0 ? n : 0] = '\0';
    const char *dir = env_get("XT_POSTMORTEM_DIR");
    char here[sizeof b->folder];
    if (dir) xt_status_free(file_make_dirs(dir, 0700));
    if (dir && dir[0] == '/')
        snprintf(b->folder, sizeof b->folder, "%s", dir);
    else if (getcwd(here, sizeof here))
        snprintf(b->folder, sizeof b->folder, "%.*s%s%s", dir ? 300 : 500, here, dir ? "/" : "", dir ? dir : "");
}

/* Said once in a process: the run goes on. */
static blackbox *without(const char *folder, const char *why) {
    log_once("black box", XT_SEV_WARNING,
             "%s: %s; the run goes on without a status file and crash folder (xtrain top and postmortem do not "
             "see it); XT_STATUS_DIR=DIR names another folder, XT_POSTMORTEM=off says nothing",
             folder, why);
    return NULL;
}

/* The whole file has its place before it is mapped: a store into a hole would end the program by SIGBUS when its file
 * system is full by then. */
static blackbox *new_mapping(const char *temporary, const char **why) {
    unlink(temporary); /* of a dead process with our number */
    file_keep_standard();
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = fd < 0 ? errno : file_allocate(fd, sizeof(blackbox));
    void *p = error ? MAP_FAILED : mmap(NULL, sizeof(blackbox), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) *why = strerror(error ? error : errno);
    if (fd >= 0) close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static blackbox *make(void) {
    const char *folder = blackbox_folder(), *why = NULL;
    char temporary[560], given[400], host[sizeof box->host];
    if (!folder) {
        why = blackbox_folder_problem(given, sizeof given);
        return without(given, why);
    }
    process_host(host, sizeof host);
    for (char *c = host; *c; c++)
        if (*c == '/') *c = '_';
    snprintf(file_name, sizeof file_name, "%s/%s-%d.xtbox", folder, host, (int)getpid()); /* hosts may share a folder */
    snprintf(temporary, sizeof temporary, "%s.new", file_name);
    blackbox *b = new_mapping(temporary, &why);
    if (b) {
        describe_process(b);
        if (rename(temporary, file_name) == 0) return b;
        why = strerror(errno);
        munmap(b, sizeof *b);
    }
    unlink(temporary);
    return without(folder, why);
}

static void report_lost(void);

static void close_at_exit(void) {
    if (owner == getpid()) blackbox_close(true);
}

static atomic_bool settled; /* `box` is this process's, or there is none to be had */
static void in_child(void) {
    atomic_store_explicit(&settled, false, memory_order_relaxed);
}

blackbox *blackbox_get(void) {
    if (atomic_load_explicit(&settled, memory_order_acquire)) return box;
    pthread_mutex_lock(&lock);
    if (owner != getpid()) { /* also in a forked child: the mapping is the parent's */
        if (box) munmap(box, sizeof *box);
        box = NULL;
        memset(place_of, 0, sizeof place_of);
        if (env_flag("XT_POSTMORTEM", true) && !rehearsal_on()) {
            report_lost();
            crash_folders_prune();
            box = make();
        }
        if (box) {
            static bool at_exit;
            name_folder();
            crash_folders_ready();
            catch_signals();
            if (!at_exit) at_exit = atexit(close_at_exit) == 0 && at_quick_exit(close_at_exit) == 0;
        }
        static bool watching_forks;
        if (!watching_forks) watching_forks = pthread_atfork(NULL, NULL, in_child) == 0;
        owner = getpid();
        atomic_store_explicit(&settled, watching_forks, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return box;
}

void blackbox_close(bool ended) {
    if (!box || owner != getpid()) return;
    pthread_mutex_lock(&lock);
    box->state = ended ? BOX_ENDED : BOX_CRASHED;
    if (ended && reported) dump("it ended by itself, some time after it had met what its last report says");
    if (ended) unlink(file_name);
    pthread_mutex_unlock(&lock);
}

void blackbox_at_rest(bool rest) {
    if (box && owner == getpid() && box->state != BOX_CRASHED) box->state = rest ? BOX_ENDED : BOX_RUNNING;
}

/* --- the ring --- */
/* The text of a source in the box; the table is small, and a program with more lines than it holds shows "?"
 * for the last. */
static uint16_t place_number(src_id id) {
    if (!id || id >= BASE_COUNT(place_of)) return 0;
    uint16_t k = __atomic_load_n(&place_of[id], __ATOMIC_ACQUIRE);
    if (k) return (uint16_t)(k - 1);
    pthread_mutex_lock(&lock);
    if (!place_of[id] && box->n_places < BOX_PLACES - 1) {
        k = (uint16_t)++box->n_places; /* 0 is "nowhere" */
        src_text(id, box->places[k], BOX_PLACE);
        __atomic_store_n(&place_of[id], (uint16_t)(k + 1), __ATOMIC_RELEASE);
    } else
        k = place_of[id] ? (uint16_t)(place_of[id] - 1) : 0;
    pthread_mutex_unlock(&lock);
    return k;
}

void blackbox_note(box_kind kind, src_id place, int64_t step, int64_t a, int64_t b) {
    blackbox_note_at(clock_ns(), kind, place, step, a, b);
}

void blackbox_note_at(int64_t now_ns, box_kind kind, src_id place, int64_t step, int64_t a, int64_t b) {
    blackbox *x = blackbox_get();
    if (!x) return;
    int64_t k = atomic_fetch_add_explicit(&x->n_events, 1, memory_order_relaxed);
    x->events[k % BOX_EVENTS] = (box_event){now_ns, a, b, (uint32_t)step, (uint16_t)kind, place_number(place)};
}

void blackbox_value(const char *name, double value) {
    blackbox *b = strstr(name, "loss") ? blackbox_get() : NULL;
    if (!b) return;
    pthread_mutex_lock(&lock);
    bool first = !b->loss_name[0], train = strncmp(name, "train", 5) == 0;
    if (first || train || strcmp(b->loss_name, name) == 0) {
        if (first || train) snprintf(b->loss_name, sizeof b->loss_name, "%s", name);
        b->loss = value;
    }
    pthread_mutex_unlock(&lock);
}

void blackbox_report(const char *text) {
    blackbox *x = blackbox_get();
    if (!x) return;
    pthread_mutex_lock(&lock);
    snprintf(x->report, sizeof x->report, "%s", text);
    x->report_bytes = (int64_t)strlen(x->report);
    pthread_mutex_unlock(&lock);
}

/* --- runs that were killed before this one --- */
typedef struct search {
    char program[256];
    int told;
} search;

static bool look(void *user, const box_file *f) {
    search *s = user;
    char folder[600];
    if (f->elsewhere) { /* of a host that nobody has heard of for a week */
        if (f->silent_s > 7 * 24 * 3600) unlink(f->path);
        return true;
    }
    if (f->alive) return true;
    bool ours = strcmp(f->box.program, s->program) == 0;
    bool old = time(NULL) - f->box.began_unix_s > 7 * 24 * 3600;
    if (f->box.state == BOX_ENDED || (!ours && old)) {
        unlink(f->path);
        return true;
    }
    bool by_kernel = ours && blackbox_kernel_kills(&f->box) > 0;
    if (!ours || !blackbox_salvage(f, folder, sizeof folder)) return true;
    if (s->told++) return true;
    const char *name = strrchr(f->box.program, '/');
    log_msg(XT_SEV_WARNING,
            "an earlier run of %s (pid %d%s) ended without a word at step %lld, last seen at %s: it %s. "
            "xtrain postmortem %s explains",
            name ? name + 1 : f->box.program, (int)f->box.pid, f->box.world > 1 ? ", with ranks" : "",
            (long long)f->box.step, f->box.place[0] ? f->box.place : "its start",
            f->box.state == BOX_RUNNING && by_kernel ? "was killed by the kernel because memory ran out"
                                                     : "was killed, or has called _exit",
            folder);
    return true;
}

/* Said by the next start of the same program, once: whoever moves the file away says it. */
static void report_lost(void) {
    search s = {.told = 0};
    ssize_t n = readlink("/proc/self/exe", s.program, sizeof s.program - 1);
    const char *folder = blackbox_folder();
    if (n <= 0 || !folder || world_get()->rank != 0) return;
    s.program[n] = '\0';
    blackbox_each(folder, look, &s);
}
