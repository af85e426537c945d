/* `xtrain generate --serve`: texts over HTTP in OpenAI's form, many at a time.
 *
 * Two threads: the one of libmicrohttpd owns connections (serve_http.c), the main thread owns the model (serve.c). They
 * meet in requests, each under the server's lock: the first fills one and hands it in, the second writes its answer,
 * the first sends it as far as its client takes it. So a client that is slow, or gone, costs its place in memory and no
 * one's time. */
#ifndef XTRAIN_CLI_SERVE_H
#define XTRAIN_CLI_SERVE_H

#include <pthread.h>

#include "cli/generate.h"
#include "models/chat.h"

enum {
    SERVE_BODY = 1 << 20, /* bytes of a request */
    SERVE_WAITING = 512, /* requests that are not begun; more are told to come later */
    SERVE_CONNECTIONS = 600,
    SERVE_IDLE_S = 30, /* a connection on which nothing moves, unless it waits for us */
    SERVE_REQUEST_S = 60, /* from a request's first line to its end */
    SERVE_UNREAD = 1 << 18, /* bytes of a stream that its client leaves unread: the stream is cut off there */
    SERVE_STOPS = 4
};

struct MHD_Connection;
typedef struct serve_request {
    /* What was asked: settled before it is handed in. */
    uint64_t number;
    long long created; /* seconds since 1970 */
    char *prompt; /* malloc'ed, as each of stops is */
    cli_list stops;
    sampling how;
    int64_t tokens;
    uint64_t seed;
    bool stream, logprobs, echo, chat; /* chat: `prompt` is a conversation */
    const char *turn_end; /* of a conversation: what ends the assistant's turn */
    /* Under the server's lock: */
    int refs; /* the connection's, and the model's until it has answered */
    bool suspended, ended, gone; /* ended: all of the answer is there; gone: nobody reads it */
    struct MHD_Connection *connection;
    char *out; /* the answer: JSON, or events */
    size_t n_out, room, sent;
    int status; /* of HTTP */
    struct serve_request *next;
    /* The model's: */
    said text;
    int64_t place, made;
    double logprob, *token_logprobs;
    const char *reason; /* why the text has ended */
    bool begun; /* a stream's first event has gone out */
    struct server *server;
} serve_request;

typedef struct server {
    const generate_options *o;
    const generate_model *model;
    generator *g;
    pthread_mutex_t lock;
    pthread_cond_t came;
    serve_request *first, **last; /* that wait */
    serve_request **active; /* by place */
    int waiting, alive; /* alive: requests that a connection or the model holds */
    bool closing;
    uint64_t count;
    long long began;
    const chat_template *chat; /* NULL: no_chat says why there is none */
    char no_chat[1024];
} server;

/* serve.c: until a signal ends it; an exit code */
int serve(const generate_options *o, const generate_model *m, int64_t port);
/* Under the lock; wakes the connection. False: nobody reads it, or there is no memory. */
bool serve_write(serve_request *r, const char *text, size_t n);
void serve_release(server *s, serve_request *r); /* under the lock */

/* serve_http.c */
typedef struct serve_http serve_http;
xt_status serve_http_start(server *s, int64_t port, serve_http **out, int *out_port);
void serve_http_stop(serve_http *h); /* whatever is under way is cut off */
void serve_http_quiet(serve_http *h); /* takes no more connections */
void serve_http_wake(serve_request *r); /* under the lock */

/* serve_json.c */
/* The request in a body, of which nothing else stays, and `chat` of which is set; NULL, or why it is refused
 * (malloc'ed). */
char *serve_parse(serve_request *r, const char *body, size_t n);
void serve_asked_free(serve_request *r); /* prompt and stops */
/* malloc'ed texts */
char *serve_error(const char *kind, const char *message, size_t *n);
char *serve_models(const server *s, size_t *n);
char *serve_answer(const serve_request *r, size_t *n);
/* one event with a piece of the text; reason: NULL while there comes more */
char *serve_event(serve_request *r, const char *piece, size_t n_piece, const char *reason, size_t *n);

#endif
