/* Connections, by libmicrohttpd; see serve.h. The library is opened when a server starts, so that no other command
 * loads it and its TLS. */
#include "cli/serve.h"

#if XT_HAVE_MICROHTTPD
#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What of the library is called; types are its header's. */
#define FUNCTIONS(F)                 \
    F(start_daemon)                  \
    F(stop_daemon)                   \
    F(quiesce_daemon)                \
    F(get_daemon_info)               \
    F(create_response_from_buffer)   \
    F(create_response_from_callback) \
    F(destroy_response)              \
    F(add_response_header) F(queue_response) F(suspend_connection) F(resume_connection) F(lookup_connection_value)
static struct {
#define F(name) __typeof__(&MHD_##name) name;
    FUNCTIONS(F)
#undef F
} mhd;

struct serve_http {
    struct MHD_Daemon *daemon;
    int socket; /* -1, or what a daemon that takes no more leaves to its caller */
};

/* One call of a client, from its first line on. */
typedef struct call {
    server *s;
    char *body;
    size_t n, room;
    time_t began;
    bool too_large, chat;
    serve_request *request; /* handed in */
} call;

static xt_status open_library(void) {
    static const char name[] = "libmicrohttpd.so.12";
    void *lib = dlopen(name, RTLD_NOW);
    if (!lib)
        return xt_status_new(XT_UNAVAILABLE, "--serve needs %s (Debian: apt-get install libmicrohttpd12): %s", name,
                             dlerror());
#define F(f)                                                                               \
    {                                                                                      \
        void *at = dlsym(lib, "MHD_" #f);                                                  \
        if (!at) return xt_status_new(XT_UNAVAILABLE, "%s has no function MHD_" #f, name); \
        memcpy(&mhd.f, &at, sizeof at);                                                    \
    }
    FUNCTIONS(F)
#undef F
    return NULL;
}

/* --- answers --- */
/* Takes the text over. */
static enum MHD_Result respond(struct MHD_Connection *c, int status, char *text, size_t n) {
    struct MHD_Response *r = text ? mhd.create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!r) {
        free(text);
        return MHD_NO;
    }
    mhd.add_response_header(r, "Content-Type", "application/json");
    if (status == 405) mhd.add_response_header(r, "Allow", "POST");
    enum MHD_Result ok = mhd.queue_response(c, (unsigned)status, r);
    mhd.destroy_response(r);
    return ok;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *message) {
    size_t n = 0;
    char *text = serve_error(status < 500 ? "invalid_request_error" : "server_error", message, &n);
    return respond(c, status, text, n);
}

void serve_http_wake(serve_request *r) {
    if (!r->suspended || r->gone) return;
    if (!r->stream && !r->ended) return; /* an answer goes out whole */
    r->suspended = false;
    mhd.resume_connection(r->connection);
}

/* More of a stream, as much as is there. */
static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t most) {
    serve_request *r = cls;
    server *s = r->server;
    (void)at;
    pthread_mutex_lock(&s->lock);
    size_t n = r->n_out - r->sent;
    ssize_t got = 0;
    if (n) {
        if (n > most) n = most;
        memcpy(out, r->out + r->sent, n);
        r->sent += n;
        got = (ssize_t)n;
    } else if (r->ended) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        r->suspended = true;
        mhd.suspend_connection(r->connection);
    }
    pthread_mutex_unlock(&s->lock);
    return got;
}

static enum MHD_Result respond_stream(struct MHD_Connection *c, serve_request *q) {
    struct MHD_Response *r = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_stream, q, NULL);
    if (!r) return MHD_NO;
    mhd.add_response_header(r, "Content-Type", "text/event-stream");
    mhd.add_response_header(r, "Cache-Control", "no-cache");
    enum MHD_Result ok = mhd.queue_response(c, 200, r);
    mhd.destroy_response(r);
    return ok;
}

/* --- calls --- */
/* Hands the request in; the connection sleeps until there is something to send. False: there are too many. */
static bool hand_in(server *s, serve_request *r) {
    pthread_mutex_lock(&s->lock);
    bool room = !s->closing && s->waiting < SERVE_WAITING;
    if (room) {
        r->refs = 2;
        s->alive++;
        s->waiting++;
        *s->last = r;
        s->last = &r->next;
        if (!r->stream) {
            r->suspended = true;
            mhd.suspend_connection(r->connection);
        }
        pthread_cond_signal(&s->came);
    }
    pthread_mutex_unlock(&s->lock);
    return room;
}

static enum MHD_Result complete(call *k, struct MHD_Connection *c) {
    server *s = k->s;
    serve_request *r = calloc(1, sizeof *r);
    if (!r) return refuse(c, 503, "no memory for the request");
    pthread_mutex_lock(&s->lock);
    r->number = ++s->count;
    pthread_mutex_unlock(&s->lock);
    r->server = s;
    r->connection = c;
    r->chat = k->chat;
    r->status = 200;
    r->created = (long long)time(NULL);
    char *wrong = serve_parse(r, k->body ? k->body : "", k->n);
    free(k->body);
    k->body = NULL;
    if (!wrong && hand_in(s, r)) {
        k->request = r;
        return r->stream ? respond_stream(c, r) : MHD_YES;
    }
    enum MHD_Result ok =
        wrong ? refuse(c, 400, wrong) : refuse(c, 503, "too many requests wait already; come again later");
    free(wrong);
    serve_asked_free(r);
    free(r);
    return ok;
}

/* The whole answer of a request that had waited. */
static enum MHD_Result answer(struct MHD_Connection *c, serve_request *r) {
    server *s = r->server;
    pthread_mutex_lock(&s->lock);
    char *out = r->ended ? r->out : NULL;
    size_t n = r->n_out;
    int status = r->status;
    if (out) r->out = NULL, r->n_out = r->room = 0;
    pthread_mutex_unlock(&s->lock);
    return out ? respond(c, status, out, n) : refuse(c, 500, "there is no answer");
}

static bool is_here(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':')) return true;
    }
    return false;
}

/* A page of another site in a browser here must not talk to the model. Either its name for this host is another, or
 * the browser says whose page it is that sends a request to 127.0.0.1. */
static bool is_for_us(struct MHD_Connection *c) {
    static const char *const schemes[] = {"http://", "https://"};
    const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
               *origin = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    bool ours = !origin;
    for (size_t i = 0; !ours && i < sizeof schemes / sizeof schemes[0]; i++)
        ours = strncmp(origin, schemes[i], strlen(schemes[i])) == 0 && is_here(origin + strlen(schemes[i]));
    return ours && host && is_here(host);
}

static const char paths[] = "there are POST /v1/completions, POST /v1/chat/completions, GET /v1/models and GET /health";
static bool is_chat(const char *url) {
    return strcmp(url, "/v1/chat/completions") == 0;
}
static bool is_posted(const char *url) {
    return is_chat(url) || strcmp(url, "/v1/completions") == 0;
}

static enum MHD_Result look_up(server *s, struct MHD_Connection *c, const char *url) {
    size_t n = 0;
    if (strcmp(url, "/v1/models") == 0) {
        char *text = serve_models(s, &n);
        return respond(c, 200, text, n);
    }
    if (strcmp(url, "/health") == 0) return respond(c, 200, strdup("{\"status\": \"ok\"}\n"), 17);
    if (is_posted(url)) return refuse(c, 405, "POST is expected");
    return refuse(c, 404, paths);
}

static void take_body(call *k, const char *data, size_t n) {
    if (k->n + n > SERVE_BODY) k->too_large = true;
    if (k->too_large) return; /* the rest is read and thrown away */
    if (k->n + n > k->room) {
        size_t room = 2 * (k->n + n);
        char *larger = realloc(k->body, room);
        if (!larger) {
            k->too_large = true;
            return;
        }
        k->body = larger;
        k->room = room;
    }
    memcpy(k->body + k->n, data, n);
    k->n += n;
}

static enum MHD_Result begin(server *s, struct MHD_Connection *c, const char *url, const char *method, void **kept) {
    const char *length = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    if (!is_for_us(c))
        return refuse(c, 403, "the host of the request, or of the page it is from, is not 127.0.0.1 or localhost");
    if (length && strtoull(length, NULL, 10) > SERVE_BODY) return refuse(c, 413, "the request is larger than 1 MiB");
    if (strcmp(method, "POST") != 0 || !is_posted(url))
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ? look_up(s, c, url)
                                                                         : refuse(c, is_posted(url) ? 405 : 404, paths);
    call *k = calloc(1, sizeof *k);
    if (!k) return MHD_NO;
    k->s = s;
    k->chat = is_chat(url);
    k->began = time(NULL);
    *kept = k;
    return MHD_YES;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *n, void **kept) {
    call *k = *kept;
    (void)version;
    if (!k) return begin(cls, c, url, method, kept);
    if (*n) {
        if (time(NULL) - k->began > SERVE_REQUEST_S) return MHD_NO; /* drop by drop: the connection is closed */
        take_body(k, data, *n);
        *n = 0;
        return MHD_YES;
    }
    if (k->request) return answer(c, k->request);
    if (k->too_large) return refuse(c, 413, "the request is larger than 1 MiB");
    return complete(k, c);
}

static void completed(void *cls, struct MHD_Connection *c, void **kept, enum MHD_RequestTerminationCode why) {
    call *k = *kept;
    (void)cls;
    (void)c;
    (void)why;
    if (!k) return;
    if (k->request) {
        pthread_mutex_lock(&k->s->lock);
        k->request->gone = true;
        k->request->suspended = false;
        serve_release(k->s, k->request);
        pthread_mutex_unlock(&k->s->lock);
    }
    free(k->body);
    free(k);
    *kept = NULL;
}

/* --- the daemon --- */
xt_status serve_http_start(server *s, int64_t port, serve_http **out, int *out_port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    XT_TRY(open_library());
    serve_http *h = calloc(1, sizeof *h);
    if (!h) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a server");
    h->socket = -1;
    h->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, NULL, NULL,
                                 handle, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_IDLE_S,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 << 10), MHD_OPTION_NOTIFY_COMPLETED,
                                 completed, s, MHD_OPTION_END);
    if (!h->daemon) {
        free(h);
        return xt_status_new(XT_UNAVAILABLE,
                             "port %lld of 127.0.0.1 cannot be had; another one, or 0 for any free one?",
                             (long long)port);
    }
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
    *out_port = info ? info->port : (int)port;
    *out = h;
    return NULL;
}

void serve_http_quiet(serve_http *h) {
    h->socket = mhd.quiesce_daemon(h->daemon);
}

void serve_http_stop(serve_http *h) {
    mhd.stop_daemon(h->daemon);
    if (h->socket >= 0) close(h->socket);
    free(h);
}
#else
xt_status serve_http_start(server *s, int64_t port, serve_http **out, int *out_port) {
    (void)s;
    (void)port;
    *out = NULL;
    *out_port = 0;
    return xt_status_new(XT_UNIMPLEMENTED,
                         "--serve: this xtrain was built without libmicrohttpd (Debian: apt-get install "
                         "libmicrohttpd-dev), which serves HTTP");
}
void serve_http_quiet(serve_http *h) {
    (void)h;
}
void serve_http_stop(serve_http *h) {
    (void)h;
}
void serve_http_wake(serve_request *r) {
    (void)r;
}
#endif
