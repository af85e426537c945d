/* Steps of a segment: publishing, waiting, and finding out why a rank does not come. The rules are in segment.h. */
#include "coll/shm/segment.h"
#include "base/process.h"
#include "base/relax.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFIRM_NS 150000000
enum { SCANNED = 16 /* ranks: in a larger segment steps and calls are counted */ };

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns) {
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void segment_sleep(_Atomic uint32_t *word, uint32_t seen, int64_t deadline) {
    int64_t left = deadline - coll_now();
    if (left > SEGMENT_SLICE_NS) left = SEGMENT_SLICE_NS;
    if (left > 0) futex_wait(word, seen, left);
}

void segment_ring(segment *s) {
    atomic_fetch_add(&s->head->bell, 1);
    syscall(SYS_futex, (uint32_t *)&s->head->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void segment_note(segment *s, const char *text) {
    seg_slot *slot = &s->slots[s->rank];
    uint32_t count = atomic_load_explicit(&slot->note_count, memory_order_relaxed);
    atomic_store_explicit(&slot->note_count, count | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    snprintf(slot->note, COLL_NOTE_SIZE, "%s", text);
    atomic_store_explicit(&slot->note_count, (count | 1) + 1, memory_order_release);
    if (atomic_load_explicit(&slot->end, memory_order_relaxed)) atomic_store(&slot->end, COLL_NO_END);
}

void segment_read_note(const seg_slot *slot, char *out, size_t n) {
    for (int i = 0; i < 100; i++) {
        uint32_t before = atomic_load_explicit(&slot->note_count, memory_order_acquire);
        snprintf(out, n, "%.*s", COLL_NOTE_SIZE - 1, slot->note);
        atomic_thread_fence(memory_order_acquire);
        if (!(before & 1) && atomic_load_explicit(&slot->note_count, memory_order_relaxed) == before) return;
    }
    out[0] = 0;
}

void segment_say_end(seg_slot *slot, coll_end end, const char *how) {
    if (!how || atomic_load(&slot->end)) return;
    snprintf(slot->how, sizeof slot->how, "%s", how);
    atomic_store(&slot->end, (uint32_t)end);
}

void segment_leave(segment *s, slot_state state, const char *why) {
    seg_slot *slot = &s->slots[s->rank];
    if (why) snprintf(slot->why, sizeof slot->why, "%s", why);
    if (state == SLOT_FAILED && atomic_load(&slot->state) != SLOT_FAILED) atomic_fetch_add(&s->head->given_up, 1);
    atomic_store(&slot->state, (uint32_t)state);
    atomic_fetch_add(&s->head->left, 1);
    segment_ring(s);
}

void segment_fill_slot(seg_slot *slot, int pid) {
    atomic_store(&slot->pid_space, process_space());
    atomic_store(&slot->start, process_ticks(pid));
    atomic_store(&slot->pid, pid);
}

bool segment_slot_lives(const seg_slot *slot) {
    int pid = atomic_load(&slot->pid);
    return pid && (atomic_load(&slot->pid_space) != process_space() || process_alive(pid, atomic_load(&slot->start)));
}

/* The other side may be writing: copy first, terminate, then use. */
static void copy_text(char out[COLL_NOTE_SIZE], const char *from) {
    memcpy(out, from, COLL_NOTE_SIZE);
    out[COLL_NOTE_SIZE - 1] = 0;
}

static int shown_rank(const segment *s, int r) {
    if (s->parent) return shown_rank(s->parent, s->parent_ranks[r]);
    return s->names ? s->names[r] : r;
}

/* What rank r says it is doing is said in the parent's slot. */
static const seg_slot *status_slot(const segment *s, int r) {
    return s->parent ? status_slot(s->parent, s->parent_ranks[r]) : &s->slots[r];
}

static void describe_rank(segment *s, int r, str *out) {
    char note[COLL_NOTE_SIZE];
    copy_text(note, status_slot(s, r)->note);
    int pid = atomic_load(&s->slots[r].pid);
    str_printf(out, "rank %d", shown_rank(s, r));
    if (pid) str_printf(out, " (pid %d)", pid);
    if (note[0])
        str_printf(out, ", last seen at %s", note);
    else if (atomic_load(&s->slots[r].state) == SLOT_EMPTY)
        str_append(out, s->later ? ", which has joined the run, but not come to their group"
                                 : ", which has not joined the run");
}

void segment_describe(segment *s, uint64_t want, str *out) {
    for (int r = 0, n = 0; r < s->size; r++)
        if (atomic_load(&s->slots[r].seq) < want) {
            if (n++) str_append(out, "; ");
            describe_rank(s, r, out);
        }
}

static void own_position(segment *s, const char *what, str *out) {
    char note[COLL_NOTE_SIZE];
    copy_text(note, status_slot(s, s->rank)->note);
    str_printf(out, "rank %d waits in %s", shown_rank(s, s->rank), what);
    if (note[0] && !strstr(what, note)) str_printf(out, " (%s)", note);
}

xt_status segment_check_rank(segment *s, int r, const char *what) {
    seg_slot *slot = &s->slots[r];
    slot_state state = (slot_state)atomic_load(&slot->state);
    const char *fate = NULL;
    if (s->parent && state != SLOT_FAILED && state != SLOT_CLOSED) { /* it may have given up in the larger group */
        slot = &s->parent->slots[s->parent_ranks[r]];
        slot_state there = (slot_state)atomic_load(&slot->state);
        if (there == SLOT_FAILED || there == SLOT_CLOSED) state = there;
    }
    if (state == SLOT_CLOSED) fate = "has left the run";
    if (state == SLOT_FAILED) fate = "has given up";
    if (!fate && atomic_load(&slot->pid) && !segment_slot_lives(slot)) fate = "has ended";
    if (!fate) return NULL;
    str text = STR_INIT;
    char why[COLL_NOTE_SIZE];
    copy_text(why, slot->why);
    describe_rank(s, r, &text);
    str_printf(&text, "%s%s while ", strchr(str_cstr(&text), ',') ? ", " : " ", fate);
    own_position(s, what, &text);
    if (state == SLOT_FAILED && why[0])
        str_printf(&text, "; its reason: %s", why);
    else if (state == SLOT_CLOSED)
        str_append(&text, "; every rank must make the same collective calls");
    else
        str_append(&text, "; its own output, or the launcher, says why");
    xt_status st = status_new(XT_ABORTED, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

/* `also` a rank that has gone without a word. */
static void exits_of(const segment *s, coll_end which, bool also, str *out) {
    for (int r = 0; r < s->size; r++) {
        seg_slot *slot = &s->slots[r];
        char how[COLL_END_SIZE];
        int pid = atomic_load(&slot->pid);
        coll_end end = (coll_end)atomic_load(&slot->end);
        bool gone = atomic_load(&slot->state) == SLOT_CLOSED || (pid && !segment_slot_lives(slot));
        if (r == s->rank || (end != which && !(also && !end && gone))) continue;
        memcpy(how, slot->how, sizeof how);
        how[sizeof how - 1] = 0;
        str_printf(out, "%srank %d", out->len ? "; " : "", shown_rank(s, r));
        if (pid) str_printf(out, " (pid %d)", pid);
        str_printf(out, " %s", end ? how : "has ended");
    }
}

void segment_exits(const segment *s, str *out) {
    exits_of(s, COLL_OWN_END, true, out);
    if (!out->len) exits_of(s, COLL_FOLLOWS, false, out);
}

bool segment_confirm(xt_status *st, int64_t *since) {
    if (!*st) return false;
    if (!*since) *since = coll_now();
    if (coll_now() - *since >= CONFIRM_NS) return true;
    xt_status_free(*st);
    *st = NULL;
    return false;
}

/* The others that came, each with its line: together with the missing ones, where every rank is. */
static void describe_waiting(segment *s, uint64_t want, str *out) {
    for (int r = 0, n = 0; r < s->size; r++) {
        if (r == s->rank || atomic_load(&s->slots[r].seq) < want) continue;
        char note[COLL_NOTE_SIZE];
        copy_text(note, status_slot(s, r)->note);
        str_printf(out, "%srank %d", n++ ? "; " : "; waiting too: ", shown_rank(s, r));
        if (note[0]) str_printf(out, " in %s", note);
    }
}

static xt_status timed_out(segment *s, uint64_t want, const char *what, double waited) {
    str text = STR_INIT;
    own_position(s, what, &text);
    str_printf(&text, " since %.1f s; did not come: ", waited);
    segment_describe(s, want, &text);
    describe_waiting(s, want, &text);
    str_append(&text, "; a larger limit is set by XT_TIMEOUT or the call's own argument");
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

xt_status segment_late(segment *s, int r, const char *what) {
    str text = STR_INIT;
    own_position(s, what, &text);
    str_append(&text, "; did not come: ");
    describe_rank(s, r, &text);
    str_append(&text, "; a larger limit is set by XT_TIMEOUT");
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

xt_status segment_check_missing(segment *s, uint64_t want, const char *what) {
    for (int r = 0; r < s->size; r++) {
        if (atomic_load(&s->slots[r].seq) >= want) continue;
        xt_status st = segment_check_rank(s, r, what);
        if (!st) continue;
        /* It may have come between the two looks, and left after that. */
        if (atomic_load(&s->slots[r].seq) < want) return st;
        xt_status_free(st);
    }
    return NULL;
}

/* Few slots are read faster than a word is counted up by all. */
static bool is_counted(const segment *s) {
    return s->size > SCANNED;
}

static bool all_reached(segment *s, uint64_t want) {
    if (is_counted(s)) return atomic_load(&s->head->posted) >= want * (uint64_t)s->size;
    for (int r = 0; r < s->size; r++)
        if (atomic_load(&s->slots[r].seq) < want) return false;
    return true;
}

static xt_status wait_step(segment *s, uint64_t want, int64_t deadline, const char *what) {
    for (int i = 0; i < s->spins; i++) {
        if (all_reached(s, want)) return NULL;
        base_relax();
    }
    int64_t began = coll_now(), since = 0, looked = began;
    uint32_t left = 0; /* those who left before this step may be among the missing */
    atomic_fetch_add(&s->head->sleepers, 1);
    xt_status st = NULL;
    while (!st) {
        uint32_t bell = atomic_load(&s->head->bell), now_left = atomic_load(&s->head->left);
        if (all_reached(s, want)) break;
        /* Looking at n processes costs each of n waiters more than the step itself. */
        int64_t now = coll_now();
        if (now - looked >= SEGMENT_SLICE_NS || now_left != left || since) {
            looked = now;
            left = now_left;
            st = segment_check_missing(s, want, what);
            if (segment_confirm(&st, &since)) break;
        }
        if (now >= deadline)
            st = timed_out(s, want, what, (double)(now - began) * 1e-9);
        else
            segment_sleep(&s->head->bell, bell, deadline);
    }
    atomic_fetch_sub(&s->head->sleepers, 1);
    return st;
}

static bool same_call(const call_desc *a, const call_desc *b) {
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->root == b->root && a->bytes == b->bytes &&
           a->tag == b->tag;
}

static xt_status differing(segment *s, const call_desc *mine, int r, const call_desc *other) {
    str text = STR_INIT;
    call_differs_text(shown_rank(s, s->rank), mine, shown_rank(s, r), other, &text);
    str_append(&text, "; ");
    describe_rank(s, s->rank, &text);
    str_append(&text, "; ");
    describe_rank(s, r, &text);
    xt_status st = status_new(XT_FAILED_PRECONDITION, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

static uint64_t call_hash(const call_desc *c) {
    return hash_bytes(c, sizeof *c, (hash128){c->tag, c->bytes}).lo;
}

static void count_step(segment *s, const call_desc *call) {
    int parity = (int)(s->step & 1);
    uint64_t hash = call_hash(call);
    s->calls_sum[parity] += hash * (uint64_t)s->size;
    atomic_fetch_add(&s->head->calls_sum[parity], hash);
    atomic_fetch_add(&s->head->posted, 1);
}

void segment_post(segment *s, const call_desc *call) {
    uint64_t want = ++s->step;
    seg_slot *own = &s->slots[s->rank];
    own->calls[want & 1] = *call;
    atomic_store(&own->seq, want);
    if (is_counted(s)) count_step(s, call);
    /* sequentially consistent with the sleepers' count in wait_step: no wake-up is lost */
    if (atomic_load(&s->head->sleepers) && all_reached(s, want)) segment_ring(s);
}

bool segment_reached(segment *s) {
    return all_reached(s, s->step);
}

bool segment_rest(segment *s, int64_t ns) {
    for (int i = 0; i < s->spins; i++) {
        if (all_reached(s, s->step)) return true;
        base_relax();
    }
    atomic_fetch_add(&s->head->sleepers, 1);
    uint32_t bell = atomic_load(&s->head->bell);
    if (!all_reached(s, s->step)) futex_wait(&s->head->bell, bell, ns);
    atomic_fetch_sub(&s->head->sleepers, 1);
    return all_reached(s, s->step);
}

xt_status segment_settle(segment *s, const call_desc *call, int64_t deadline, const char *what) {
    uint64_t want = s->step;
    XT_TRY(wait_step(s, want, deadline, what));
    bool same = is_counted(s) && atomic_load(&s->head->calls_sum[want & 1]) == s->calls_sum[want & 1];
    for (int r = 0; r < s->size && !same; r++) {
        call_desc other = s->slots[r].calls[want & 1];
        if (!same_call(call, &other)) return differing(s, call, r, &other);
    }
    /* One that came, waited for us and gave up will not do its part of what it announced. */
    for (int r = 0; r < s->size && atomic_load(&s->head->given_up); r++)
        if (r != s->rank && atomic_load(&s->slots[r].state) == SLOT_FAILED) return segment_check_rank(s, r, what);
    return NULL;
}

xt_status segment_step(segment *s, const call_desc *call, int64_t deadline, const char *what) {
    segment_post(s, call);
    return segment_settle(s, call, deadline, what);
}
