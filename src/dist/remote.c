/* Remote calls: rank 0's side, and the loop of the others. Invariants: a call has a number, and an answer with another
 * number is that of a call whose caller has given up: it is dropped. All ranks answer each call they get, whatever
 * became of it. */
#include <stdlib.h>
#include <unistd.h>

#include <xtrain/tensor.h>

#include "coll/coll.h"
#include "dist/dist_int.h"
#include "dist/remote_int.h"

#define FOR_EVER 1e9 /* seconds */

static coll_channel *channel;
static bool driving; /* rank 0, inside xt_remote_run */
static uint32_t calls;

/* --- the other ranks --- */

static xt_status answer(uint32_t number, const remote_outcome *o) {
    remote_answer head = {REMOTE_ANSWER, number, o->code, (uint32_t)o->error.len, o->reply_n, o->failed, o->replied};
    str text = STR_INIT;
    str_appendn(&text, (const char *)&head, sizeof head);
    str_append(&text, str_cstr(&o->error));
    xt_status st = text.failed ? status_oom(text.len, "an answer to a remote call")
                               : coll_channel_send(channel, 0, text.data, text.len, o->reply, o->reply_n);
    str_free(&text);
    return st ? st : coll_channel_flush(channel, FOR_EVER);
}

/* The strings and the argument behind a head; false when the message is not one of ours. */
static bool read_call(const coll_message *l, remote_ask *ask, remote_call *c) {
    if (l->n < sizeof *ask) return false;
    memcpy(ask, l->bytes, sizeof *ask);
    if (ask->kind != REMOTE_CALL) return ask->kind == REMOTE_END;
    uint64_t names = (uint64_t)ask->module_n + ask->symbol_n + ask->build_n;
    if (ask->arg_n > XT_REMOTE_MAX || l->n != sizeof *ask + names + ask->arg_n || !ask->module_n || !ask->symbol_n ||
        !ask->build_n)
        return false;
    c->module = l->bytes + sizeof *ask;
    c->symbol = c->module + ask->module_n;
    c->build = c->symbol + ask->symbol_n;
    c->arg = c->build + ask->build_n;
    c->arg_n = ask->arg_n;
    return !c->symbol[-1] && !c->build[-1] && !((const char *)c->arg)[-1];
}

static int serve(void);

/* The function has called exit: say so, and go on answering until rank 0 ends the run, or mpirun would end rank 0
 * before it has read this. */
static void left_by_exit(remote_outcome *out, void *number) {
    xt_status_free(answer(*(uint32_t *)number, out));
    serve();
}

static int serve(void) {
    for (;;) {
        coll_message l;
        remote_ask ask;
        remote_call c = {0};
        remote_outcome out;
        xt_status st = coll_channel_receive(channel, FOR_EVER, &l);
        if (!st && l.bytes && !read_call(&l, &ask, &c))
            st = status_new(XT_DATA_LOSS, NULL,
                            "a message of %zu bytes is no remote call; all ranks must run the same xtrain", l.n);
        if (!st && l.bytes && ask.kind == REMOTE_END) {
            base_free(l.bytes);
            return remote_broken();
        }
        if (!st && l.bytes) {
            remote_perform(&c, left_by_exit, &ask.call, &out);
            st = answer(ask.call, &out);
            if (remote_broken()) alarm(0);
            remote_outcome_free(&out);
        }
        base_free(l.bytes);
        if (!st) continue;
        log_msg(XT_SEV_ERROR, "serving remote calls: %s", status_message(st));
        xt_status_free(st);
        return 1;
    }
}

/* --- whom to call --- */

static xt_status choose_ranks(const char *list, int size, bool *chosen) {
    for (const char *p = list; *p; p += *p == ',') {
        char *end;
        long first = strtol(p, &end, 10), last = first;
        if (end == p) break;
        if (*end == '-') {
            p = end + 1;
            last = strtol(p, &end, 10);
            if (end == p) break;
        }
        if (first < 0 || last < first || last >= size)
            return status_new(XT_OUT_OF_RANGE, NULL, ".ranks is \"%s\": this run has the ranks 0 to %d", list,
                              size - 1);
        for (long r = first; r <= last; r++) chosen[r] = true;
        p = end;
        if (*p && *p != ',') break;
        if (!*p) return NULL;
    }
    return status_new(XT_INVALID_ARGUMENT, NULL, ".ranks is \"%s\": numbers and ranges are expected, \"1,3-5\"", list);
}

/* "node7" also means node7.cluster.example. */
static bool same_host(const char *host, const char *want, size_t n) {
    return strncmp(host, want, n) == 0 && (!host[n] || host[n] == '.');
}

static xt_status unknown_host(const char *name, size_t n) {
    str text = STR_INIT;
    for (int r = 0; r < coll_channel_size(channel); r++) {
        bool told = false;
        for (int q = 0; q < r && !told; q++)
            told = strcmp(coll_channel_host(channel, q), coll_channel_host(channel, r)) == 0;
        if (!told) str_printf(&text, "%s%s", text.len ? ", " : "", coll_channel_host(channel, r));
    }
    xt_status st = status_new(XT_NOT_FOUND, NULL, ".hosts: no rank runs on '%.*s'; the run's hosts: %s", (int)n, name,
                              str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status keep_hosts(const char *list, int size, bool *chosen) {
    bool *here = base_calloc((size_t)size, sizeof *here);
    xt_status st = here ? NULL : status_oom((size_t)size, "a remote call");
    for (size_t n; !st && *list; list += n + (list[n] == ',')) {
        bool any = false;
        n = strcspn(list, ",");
        for (int r = 0; r < size; r++)
            if (same_host(coll_channel_host(channel, r), list, n)) any = here[r] = true;
        if (!any) st = unknown_host(list, n);
    }
    for (int r = 0; !st && r < size; r++) chosen[r] = chosen[r] && here[r];
    base_free(here);
    return st;
}

static xt_status choose(const xt_remote_opts *o, bool *chosen, size_t *out_n) {
    int size = coll_channel_size(channel);
    for (int r = 0; r < size; r++) chosen[r] = !o->ranks;
    if (o->ranks) XT_TRY(choose_ranks(o->ranks, size, chosen));
    if (o->hosts) XT_TRY(keep_hosts(o->hosts, size, chosen));
    *out_n = 0;
    for (int r = 0; r < size; r++) *out_n += chosen[r];
    if (*out_n) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL, "no rank to call: none of .ranks \"%s\" is on .hosts \"%s\"",
                      o->ranks ? o->ranks : "", o->hosts ? o->hosts : "");
}

/* --- rank 0 --- */

void xt_remote_results_free(xt_remote_results *r) {
    for (size_t i = 0; r && i < r->n; i++) {
        base_free((char *)r->rows[i].host);
        base_free((char *)r->rows[i].error);
        base_free((void *)r->rows[i].data);
    }
    if (!r) return;
    base_free(r->rows);
    *r = (xt_remote_results){0};
}

static xt_status new_rows(const bool *chosen, size_t n, xt_remote_results *out) {
    out->rows = base_calloc(n, sizeof *out->rows);
    if (!out->rows) return status_oom(n * sizeof *out->rows, "a remote call");
    for (int r = 0; out->n < n; r++)
        if (chosen[r])
            out->rows[out->n++] = (xt_remote_result){.rank = r,
                                                     .pid = coll_channel_pid(channel, r),
                                                     .host = base_strdup(coll_channel_host(channel, r)),
                                                     .code = -1};
    return NULL;
}

/* Takes over the reply; `error` is the text without who and where. */
static xt_status fill_row(xt_remote_result *row, int code, bool failed, const char *error, size_t error_n, char *reply,
                          size_t reply_n) {
    row->code = code;
    row->data = reply;
    row->size = reply_n;
    if (!failed) return NULL;
    str text = STR_INIT;
    str_printf(&text, "rank %d (host %s, pid %d): %.*s", row->rank, row->host, row->pid, (int)error_n, error);
    if (text.failed) return status_oom(error_n, "a remote call's error");
    row->error = text.data;
    return NULL;
}

static xt_remote_result *row_of(const xt_remote_results *r, int rank) {
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].rank == rank) return &r->rows[i];
    return NULL;
}

static xt_status take_answer(const coll_message *l, uint32_t number, xt_remote_results *results, int *first,
                             size_t *waiting) {
    remote_answer a;
    if (l->n < sizeof a)
        return status_new(XT_DATA_LOSS, NULL, "an answer of %zu bytes from rank %d is none of ours", l->n, l->from);
    memcpy(&a, l->bytes, sizeof a);
    if (a.call != number) return NULL;
    xt_remote_result *row = row_of(results, l->from);
    if (a.kind != REMOTE_ANSWER || !row || l->n != sizeof a + a.error_n + a.data_n)
        return status_new(XT_DATA_LOSS, NULL, "an answer of %zu bytes from rank %d is none of ours", l->n, l->from);
    char *reply = a.replied ? base_malloc((size_t)a.data_n + 1) : NULL;
    if (a.replied && !reply) return status_oom((size_t)a.data_n, "a remote call's reply");
    if (reply) memcpy(reply, l->bytes + sizeof a + a.error_n, (size_t)a.data_n);
    if (a.failed && *first < 0) *first = l->from;
    --*waiting;
    return fill_row(row, a.code, a.failed, l->bytes + sizeof a, a.error_n, reply, (size_t)a.data_n);
}

static xt_status late(xt_remote_results *results, const bool *open, const char *symbol, double seconds) {
    str text = STR_INIT;
    for (size_t i = 0; i < results->n; i++) {
        xt_remote_result *row = &results->rows[i];
        char mine[96];
        if (!open[row->rank]) continue;
        str_printf(&text, "%srank %d (host %s, pid %d)", text.len ? ", " : "", row->rank, row->host, row->pid);
        int n = snprintf(mine, sizeof mine, "no answer within %g s", seconds);
        xt_status_free(fill_row(row, -1, true, mine, (size_t)n, NULL, 0));
    }
    xt_status st =
        status_new(XT_DEADLINE_EXCEEDED, NULL,
                   "no answer within %g s from %s: %s still runs there, or the rank is gone; .timeout allows more",
                   seconds, str_cstr(&text), symbol);
    str_free(&text);
    return st;
}

/* Until all have answered. open[r]: rank r has not. */
static xt_status gather(uint32_t number, const char *symbol, double seconds, bool *open, size_t waiting,
                        xt_remote_results *results, int *first) {
    int64_t began = clock_ns();
    while (waiting) {
        double left = seconds - (double)(clock_ns() - began) * 1e-9;
        coll_message l;
        size_t before = waiting;
        XT_TRY(coll_channel_receive(channel, left, &l));
        if (!l.bytes) return late(results, open, symbol, seconds);
        xt_status st = take_answer(&l, number, results, first, &waiting);
        if (waiting < before) open[l.from] = false;
        base_free(l.bytes);
        XT_TRY(st);
    }
    return NULL;
}

static void left_by_exit_here(remote_outcome *out, void *unused) {
    (void)unused;
    log_msg(XT_SEV_ERROR, "remote call on rank 0: %s", str_cstr(&out->error));
}

static xt_status call_here(const remote_call *c, bool *open, xt_remote_results *results, int *first) {
    remote_outcome out;
    xt_remote_result *row = row_of(results, 0);
    if (!row) return NULL;
    open[0] = false;
    remote_perform(c, left_by_exit_here, NULL, &out);
    if (remote_broken()) alarm(0);
    if (out.failed && *first < 0) *first = 0;
    xt_status st = fill_row(row, out.code, out.failed, str_cstr(&out.error), out.error.len, out.reply, out.reply_n);
    out.reply = NULL; /* the row's now */
    remote_outcome_free(&out);
    return st;
}

static xt_status send_call(const remote_call *c, uint32_t number, const bool *chosen, size_t *out_sent) {
    remote_ask head = {REMOTE_CALL,
                       number,
                       (uint32_t)strlen(c->module) + 1,
                       (uint32_t)strlen(c->symbol) + 1,
                       (uint32_t)strlen(c->build) + 1,
                       0,
                       c->arg_n};
    str text = STR_INIT;
    str_appendn(&text, (const char *)&head, sizeof head);
    str_appendn(&text, c->module, head.module_n);
    str_appendn(&text, c->symbol, head.symbol_n);
    str_appendn(&text, c->build, head.build_n);
    xt_status st = text.failed ? status_oom(text.len, "a remote call") : NULL;
    for (int r = 1; !st && r < coll_channel_size(channel); r++) {
        if (!chosen[r]) continue;
        st = coll_channel_send(channel, r, text.data, text.len, c->arg, c->arg_n);
        *out_sent += !st;
    }
    str_free(&text);
    return st;
}

static xt_status report(const xt_remote_results *results, int first) {
    size_t failed = 0;
    for (size_t i = 0; i < results->n; i++) failed += results->rows[i].error != NULL;
    if (!failed) return NULL;
    const char *text = row_of(results, first)->error;
    if (failed == 1) return status_new(XT_ABORTED, NULL, "%s", text);
    return status_new(XT_ABORTED, NULL, "%s (%zu of %zu ranks failed)", text, failed, results->n);
}

static xt_status run_call(const remote_call *c, const xt_remote_opts *o, bool *chosen, xt_remote_results *results) {
    size_t n, sent = 0;
    int first = -1;
    uint32_t number = ++calls;
    XT_TRY(choose(o, chosen, &n));
    XT_TRY(new_rows(chosen, n, results));
    XT_TRY(send_call(c, number, chosen, &sent));
    XT_TRY(call_here(c, chosen, results, &first));
    xt_status st = gather(number, c->symbol, o->timeout == -1 ? coll_default_timeout() : o->timeout, chosen, sent,
                          results, &first);
    xt_status failed = first >= 0 ? report(results, first) : NULL;
    if (!failed) return st;
    xt_status_free(st); /* what a rank said explains why another does not answer */
    return failed;
}

static xt_status check_call(const remote_call *c) {
    if (!channel || !driving) {
        const world *w = world_get();
        if (w->launched && w->rank != 0)
            return status_new(XT_FAILED_PRECONDITION, NULL, "remote calls are made on rank 0; this is rank %d",
                              w->rank);
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "remote calls are made inside the function given to xt_remote_run, which all ranks call, under mpirun");
    }
    if (!c->module || !*c->module)
        return status_new(XT_INVALID_ARGUMENT, NULL, "no module is given: the path of a shared library is expected");
    if (!c->symbol || !*c->symbol)
        return status_new(XT_INVALID_ARGUMENT, NULL, "module '%s' is given without the symbol to call", c->module);
    if (c->arg_n && !c->arg)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the argument is NULL, its size %zu", c->arg_n);
    if (c->arg_n > XT_REMOTE_MAX)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the argument has %zu bytes, at most %zu (64 MiB) can be sent: write it to a file that all "
                          "hosts see, and send its name",
                          c->arg_n, XT_REMOTE_MAX);
    return NULL;
}

static xt_status prepare_and_call(remote_call *c, const xt_remote_opts *o, xt_remote_results *results) {
    str path = STR_INIT, build = STR_INIT;
    bool *chosen = NULL;
    xt_status st = check_call(c);
    if (!st && !(o->timeout > 0 || o->timeout == -1))
        st = status_new(XT_INVALID_ARGUMENT, NULL,
                        ".timeout = %g: seconds above 0 are expected (default -1: XT_TIMEOUT, else 300)", o->timeout);
    if (!st) st = symbol_module_path(c->module, &path);
    if (!st) st = symbol_check(str_cstr(&path), c->symbol);
    if (!st) st = symbol_build(str_cstr(&path), &build);
    if (!st && !(chosen = base_calloc((size_t)coll_channel_size(channel), sizeof *chosen)))
        st = status_oom(64, "a remote call");
    c->build = str_cstr(&build);
    if (!st) st = run_call(c, o, chosen, results);
    base_free(chosen);
    str_free(&path);
    str_free(&build);
    return st;
}

xt_status xt_remote_call_opt(const xt_src *src, const char *module, const char *symbol, const void *arg,
                             size_t arg_size, xt_remote_opts given, xt_remote_results *out_results) {
    xt_remote_results results = {0};
    xt_remote_opts o = XT_OPTS(xt_remote_opts, );
    remote_call c = {.module = module, .symbol = symbol, .arg = arg, .arg_n = arg_size};
    memcpy(&o, &given, given.struct_size && given.struct_size < sizeof o ? given.struct_size : sizeof o);
    xt_status st = prepare_and_call(&c, &o, &results);
    if (out_results)
        *out_results = results;
    else
        xt_remote_results_free(&results);
    return status_at(status_context(st, "xt_remote_call"), src);
}

const char *xt_remote_host(int rank) {
    return driving && rank >= 0 && rank < coll_channel_size(channel) ? coll_channel_host(channel, rank) : NULL;
}

/* --- the run --- */

static void end_others(void) {
    remote_ask end = {.kind = REMOTE_END};
    driving = false;
    for (int r = 1; r < coll_channel_size(channel); r++)
        xt_status_free(coll_channel_send(channel, r, &end, sizeof end, NULL, 0));
    /* Late answers of calls that were given up are large messages perhaps, which their senders wait to be taken. */
    coll_message l;
    for (int i = 0; i < 1000; i++) {
        xt_status_free(coll_channel_receive(channel, 0, &l));
        if (!l.bytes) break;
        base_free(l.bytes);
    }
}

/* drive called exit: the others are told all the same. */
static void on_drive_exit(int code, void *unused) {
    (void)code;
    (void)unused;
    if (!driving) return;
    end_others();
    xt_status_free(coll_channel_flush(channel, 1));
}

int xt_remote_run(int (*drive)(void *user), void *user) {
    static bool at_exit;
    xt_status st = channel ? status_new(XT_FAILED_PRECONDITION, NULL, "it is running already")
                           : coll_channel_open("a remote call", 0, &channel);
    if (st) {
        log_msg(XT_SEV_ERROR, "%s", status_message(status_context(st, "xt_remote_run")));
        xt_status_free(st);
        return 1;
    }
    int code;
    if (coll_channel_rank(channel) == 0) {
        if (!at_exit) at_exit = on_exit(on_drive_exit, NULL) == 0;
        driving = true;
        code = drive(user);
        end_others();
    } else {
        code = serve();
    }
    coll_channel_close(channel);
    channel = NULL;
    return code;
}
