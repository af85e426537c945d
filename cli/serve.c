/* The model's side of a server; see serve.h. Texts of all requests go on together, a new one as soon as a place is
 * free. */
#include "cli/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t told_to_end;

static void on_signal(int number) {
    (void)number;
    told_to_end = 1;
}

/* --- requests, under the lock --- */
void serve_release(server *s, serve_request *r) {
    if (--r->refs) return;
    s->alive--;
    said_free(&r->text);
    free(r->token_logprobs);
    free(r->out);
    serve_asked_free(r);
    free(r);
}

bool serve_write(serve_request *r, const char *text, size_t n) {
    if (r->gone || (r->stream && r->n_out - r->sent + n > SERVE_UNREAD)) return false;
    if (r->n_out + n > r->room && r->sent) { /* of a stream: what has gone out is no more needed */
        r->n_out -= r->sent;
        memmove(r->out, r->out + r->sent, r->n_out);
        r->sent = 0;
    }
    if (r->n_out + n > r->room) {
        size_t room = 2 * (r->n_out + n);
        char *larger = realloc(r->out, room);
        if (!larger) return false;
        r->out = larger;
        r->room = room;
    }
    memcpy(r->out + r->n_out, text, n);
    r->n_out += n;
    serve_http_wake(r);
    return true;
}

/* --- a text as it comes: the model's thread --- */
/* Hands what was made (may be NULL) to the connection; false: nobody reads it. */
static bool hand_on(serve_request *r, char *text, size_t n, bool ended) {
    server *s = r->server;
    pthread_mutex_lock(&s->lock);
    bool read = text && serve_write(r, text, n);
    if (ended) {
        if (!read && !r->gone) r->status = 500;
        r->ended = true;
        serve_http_wake(r);
    }
    bool gone = r->gone;
    pthread_mutex_unlock(&s->lock);
    free(text);
    return read && !gone;
}

static bool stream_next(serve_request *r, bool ended) {
    size_t n, n_piece = 0;
    const char *piece = said_next(&r->text, ended, &n_piece);
    if (!piece && !ended) {
        pthread_mutex_lock(&r->server->lock);
        bool gone = r->gone;
        pthread_mutex_unlock(&r->server->lock);
        return !gone;
    }
    char *event = serve_event(r, piece ? piece : "", n_piece, ended ? r->reason : NULL, &n);
    return hand_on(r, event, n, false);
}

static bool take(int64_t token, void *user) {
    serve_request *r = user;
    if (r->token_logprobs) r->token_logprobs[r->made] = r->logprob;
    r->made++;
    if (!said_add(&r->text, token)) return false;
    if (r->stream) return stream_next(r, false);
    pthread_mutex_lock(&r->server->lock);
    bool gone = r->gone;
    pthread_mutex_unlock(&r->server->lock);
    return !gone;
}

/* The last of an answer, and nothing of the model's holds the request any more. */
static void answer(serve_request *r) {
    static const char end[] = "data: [DONE]\n\n";
    server *s = r->server;
    size_t n = 0;
    if (r->stream) { /* one that is cut off, as nobody reads it, does not say that it is done */
        bool read = stream_next(r, true);
        hand_on(r, strdup(read ? end : ""), read ? sizeof end - 1 : 0, true);
    } else {
        char *all = serve_answer(r, &n);
        hand_on(r, all, n, true);
    }
    pthread_mutex_lock(&s->lock);
    serve_release(s, r);
    pthread_mutex_unlock(&s->lock);
}

/* An answer that says what went wrong; a stream that has begun says so in an event. */
static void fail(serve_request *r, int status, const char *kind, const char *message) {
    server *s = r->server;
    size_t n = 0;
    char *text = serve_error(kind, message, &n);
    pthread_mutex_lock(&s->lock);
    r->status = status;
    if (r->stream) serve_write(r, "data: ", 6);
    if (text) serve_write(r, text, n);
    if (r->stream) serve_write(r, "\n", 1);
    pthread_mutex_unlock(&s->lock);
    free(text);
    hand_on(r, strdup(""), 0, true);
    pthread_mutex_lock(&s->lock);
    serve_release(s, r);
    pthread_mutex_unlock(&s->lock);
}

static void done(generate_end why, void *user) {
    serve_request *r = user;
    server *s = r->server;
    said_end(&r->text);
    r->reason = why == GENERATE_LENGTH && !r->text.stopped ? "length" : "stop";
    if (why == GENERATE_FAILED) return; /* fail_all says what has failed */
    s->active[r->place] = NULL;
    if (r->text.failed)
        fail(r, 500, "server_error", xt_status_message(r->text.failed));
    else
        answer(r);
}

/* --- beginning --- */
/* The token that ends the assistant's turn, or, where that is several, a text that ends it. */
static xt_status turn_end(const server *s, serve_request *r, int64_t *stop) {
    int32_t *ids;
    size_t n;
    if (s->o->ignore_stop) return NULL;
    XT_TRY(tokenizer_encode(s->model->words, r->turn_end, strlen(r->turn_end), &ids, &n));
    char *end = n == 1 ? NULL : strdup(r->turn_end); /* as all stops are, which go with the request */
    if (n == 1) *stop = ids[0];
    if (end) r->stops.items[r->stops.n++] = end;
    free(ids);
    return n == 1 || end ? NULL : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for what ends a turn");
}

static xt_status begin(server *s, serve_request *r) {
    int32_t *ids = NULL;
    size_t n = 0;
    int64_t stop = s->model->stop;
    if (r->chat) XT_TRY(turn_end(s, r, &stop)); /* a conversation has what begins a text itself */
    XT_TRY(
        (r->chat ? tokenizer_encode : tokenizer_encode_whole)(s->model->words, r->prompt, strlen(r->prompt), &ids, &n));
    XT_TRY(said_begin(&r->text, s->model, &r->stops, ids, n));
    if (r->logprobs && !(r->token_logprobs = malloc((size_t)r->tokens * sizeof *r->token_logprobs)))
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for log-probabilities");
    generate_opts o = {.prompt = r->text.ids,
                       .n_prompt = n,
                       .tokens = r->tokens,
                       .temperature = r->how.temperature,
                       .top_k = r->how.top_k,
                       .top_p = r->how.top_p,
                       .min_p = r->how.min_p,
                       .repetition_penalty = r->how.repetition_penalty,
                       .seed = r->seed,
                       .stop = stop,
                       .take = take,
                       .done = done,
                       .user = r,
                       .logprob = r->token_logprobs ? &r->logprob : NULL};
    XT_TRY(generator_begin(s->g, &o, &r->place));
    s->active[r->place] = r;
    if (r->stream && r->echo) {
        size_t k = 0;
        char *event = serve_event(r, r->prompt, strlen(r->prompt), NULL, &k);
        hand_on(r, event, k, false);
    }
    return NULL;
}

/* The next that waits; waits itself while there is nothing to do. NULL: go on with what is under way, or end. */
static serve_request *next_request(server *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->first && !generator_busy(s->g) && !told_to_end) {
        struct timespec until; /* a signal may come in front of the wait */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&s->came, &s->lock, &until);
    }
    serve_request *r = s->first;
    if (r) {
        s->first = r->next;
        if (!s->first) s->last = &s->first;
        s->waiting--;
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

static void begin_waiting(server *s) {
    while (generator_busy(s->g) < s->o->batch && !told_to_end) {
        serve_request *r = next_request(s);
        if (!r) return;
        xt_status e = begin(s, r);
        if (!e) continue;
        bool bad = xt_status_code(e) == XT_INVALID_ARGUMENT;
        fail(r, bad ? 400 : 500, bad ? "invalid_request_error" : "server_error", xt_status_message(e));
        xt_status_free(e);
    }
}

/* Of all texts under way. */
static void fail_all(server *s, int status, const char *message) {
    for (int64_t i = 0; i < s->o->batch; i++) {
        if (!s->active[i]) continue;
        generator_end(s->g, i);
        fail(s->active[i], status, "server_error", message);
        s->active[i] = NULL;
    }
}

/* A pass that has failed is that of the texts under way: those that come have the model again. */
static void advance(server *s) {
    xt_status e = generator_advance(s->g);
    if (e) fail_all(s, 500, xt_status_message(e));
    xt_status_free(e);
}

/* --- the end --- */
static void end_all(server *s, serve_http *h) {
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    serve_request *r = s->first;
    s->first = NULL;
    s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    for (serve_request *next; r; r = next) {
        next = r->next;
        fail(r, 503, "server_error", "the server ends");
    }
    fail_all(s, 503, "the server ends");
    for (int k = 0; k < 200; k++) { /* what can be sent within two seconds is */
        pthread_mutex_lock(&s->lock);
        int alive = s->alive;
        pthread_mutex_unlock(&s->lock);
        if (!alive) break;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    serve_http_stop(h);
}

static xt_status run(server *s, int64_t port) {
    serve_http *h = NULL;
    int at = 0;
    s->active = calloc((size_t)s->o->batch, sizeof *s->active);
    if (!s->active) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %lld texts", (long long)s->o->batch);
    XT_TRY(generator_new_for(s->model->net, s->model->sizes, s->o->batch, 0, &s->g));
    XT_TRY(serve_http_start(s, port, &h, &at));
    cli_printf("listening on http://127.0.0.1:%d/v1/completions, %lld texts at a time\n", at, (long long)s->o->batch);
    fflush(stdout);
    while (!told_to_end) {
        begin_waiting(s);
        if (generator_busy(s->g)) advance(s);
    }
    serve_http_quiet(h);
    end_all(s, h);
    return NULL;
}

/* Conversations are put into text by the template that is named, or that the model's folder has. */
static xt_status take_template(server *s) {
    const char *dir = s->o->tokenizer ? s->o->tokenizer : s->o->ckpt;
    snprintf(s->no_chat, sizeof s->no_chat, "%s has none", s->o->model);
    if (s->o->chat_template) {
        s->chat = chat_template_named(s->o->chat_template);
        return s->chat ? NULL
                       : xt_status_new(XT_INVALID_ARGUMENT, "--chat-template %s: chatml, llama3 and llama2 are known",
                                       s->o->chat_template);
    }
    xt_status e = dir ? chat_template_of(dir, &s->chat) : NULL;
    if (e) snprintf(s->no_chat, sizeof s->no_chat, "%s", xt_status_message(e));
    xt_status_free(e);
    return NULL;
}

int serve(const generate_options *o, const generate_model *m, int64_t port) {
    server s = {.o = o, .model = m, .last = NULL, .began = (long long)time(NULL)};
    struct sigaction ends = {.sa_handler = on_signal};
    s.last = &s.first;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.came, NULL);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    xt_status e = take_template(&s);
    if (!e) e = run(&s, port);
    generator_free(s.g);
    free(s.active);
    pthread_cond_destroy(&s.came);
    pthread_mutex_destroy(&s.lock);
    return e ? cli_fail_status("generate", e) : 0;
}
