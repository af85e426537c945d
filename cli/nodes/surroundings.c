/* What is asked for: the options, and where they are left out the variables that schedulers and torchrun's users set.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

enum { SECRET_LEAST = 16, SECRET_MOST = 4096, DEFAULT_LIMIT_S = 300 };
static const char default_port[] = "29500"; /* torchrun's */
extern char **environ;

/* --- options and variables --- */

/* PET_*: torchrun's own, which Kubeflow sets; then its users', SLURM's, and the index of a Kubernetes job's pod. */
static const char *const node_counts[] = {"PET_NNODES", "NNODES", "SLURM_STEP_NUM_NODES", "SLURM_NNODES", NULL};
static const char *const node_ranks[] = {"PET_NODE_RANK", "NODE_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX", NULL};
static const char *const places[] = {"PET_RDZV_ENDPOINT", NULL};
static const char *const addresses[] = {"PET_MASTER_ADDR", "MASTER_ADDR", NULL};
static const char *const ports[] = {"PET_MASTER_PORT", "MASTER_PORT", NULL};
static const char *const counts_here[] = {"PET_NPROC_PER_NODE", NULL};

/* What the option says, else the first variable that is set; *where is its name, for messages. */
static const char *said(const char *option, const char *name, const char *const *variables, const char **where) {
    *where = name;
    for (int i = 0; !option && variables[i]; i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value) continue;
        *where = variables[i];
        option = value;
    }
    return option;
}

static bool whole_number(const char *text, long least, long most, int *out) {
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < least || n > most) return false;
    *out = (int)n;
    return true;
}

static int usage(const char *message, const char *where, const char *value) {
    cli_fprintf(stderr, "xtrain launch: %s%s%s: %s\n", where, value ? " " : "", value ? value : "", message);
    return 2;
}

static int settle_count(const nodes_opts *o, nodes_run *out) {
    const char *where, *text = said(o->nnodes, "--nnodes", node_counts, &where);
    if (!text)
        return usage("how many hosts the run has is not said: 4, or 2:4; NNODES and SLURM_NNODES say it too", where,
                     NULL);
    const char *colon = strchr(text, ':');
    char least[16];
    snprintf(least, sizeof least, "%.*s", (int)(colon ? colon - text : 15), text);
    if (whole_number(least, 1, NODES_MAX, &out->least) &&
        whole_number(colon ? colon + 1 : text, out->least, NODES_MAX, &out->most))
        return 0;
    return usage("a number of hosts from 1 to 4096 is expected, or MIN:MAX", where, text);
}

static int settle_rank(const nodes_opts *o, nodes_run *out) {
    const char *where, *text = said(o->node_rank, "--node-rank", node_ranks, &where);
    if (!text)
        return usage("which of the hosts this is, is not said: 0 on the one that the others come to, then 1, 2, ...; "
                     "NODE_RANK and SLURM_NODEID say it too",
                     where, NULL);
    if (whole_number(text, 0, out->most - 1, &out->rank)) return 0;
    char message[96];
    snprintf(message, sizeof message, "a number from 0 to %d is expected, as there are %d nodes", out->most - 1,
             out->most);
    return usage(message, where, text);
}

/* "host", "host:port", "[::1]:port". */
static int settle_place(const nodes_opts *o, nodes_run *out) {
    const char *where, *text = said(o->rendezvous, "--rendezvous", places, &where), *port_where;
    const char *port = said(NULL, "", ports, &port_where);
    if (!text) text = said(NULL, where, addresses, &where);
    if (!text || !*text)
        return usage("where node 0 is found is not said: HOST:PORT, an address of node 0; MASTER_ADDR and MASTER_PORT "
                     "say it too",
                     "--rendezvous", NULL);
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL, *colon = strrchr(end ? end : text, ':');
    const char *first = end ? text + 1 : text;
    if (!end && colon && strchr(text, ':') != colon) colon = NULL; /* an IPv6 address and no port */
    size_t n = end ? (size_t)(end - first) : colon ? (size_t)(colon - first) : strlen(first);
    int number;
    if (colon) port = colon + 1;
    if (!port) port = default_port;
    if (!n || n >= sizeof out->host || !whole_number(port, 1, 65535, &number)) {
        cli_fprintf(stderr, "xtrain launch: %s %s, port %s: HOST:PORT is expected, a port from 1 to 65535\n", where,
                    text, port);
        return 2;
    }
    snprintf(out->host, sizeof out->host, "%.*s", (int)n, first);
    snprintf(out->port, sizeof out->port, "%d", number);
    return 0;
}

/* Ranks of this node: what is said, else with -n an even share, else one a device. */
static int settle_slots(const nodes_opts *o, nodes_run *out) {
    const char *where, *text = said(o->per_node, "--nproc-per-node", counts_here, &where);
    bool devices = !text || strcmp(text, "auto") == 0 || strcmp(text, "gpu") == 0 || strcmp(text, "cpu") == 0;
    out->n = o->n;
    if (devices) {
        out->slots = o->n ? 0 : xt_device_count();
        if (o->n || out->slots > 0) return 0;
        return cli_fail("launch", "this host offers no device; --nproc-per-node N says how many ranks it has");
    }
    if (whole_number(text, 1, NODES_RANKS_MAX, &out->slots)) return 0;
    return usage("a number of ranks from 1 to 4096 is expected", where, text);
}

/* --- the secret --- */

static int no_secret(void) {
    return cli_fail(
        "launch", "the hosts of a run know each other by a secret, and none is given: make one with `head -c 32 "
                  "/dev/urandom | base64 >secret; chmod 600 secret`, give every host the same file, and --secret-file "
                  "secret; or the text in XT_SECRET. Without one nothing listens");
}

/* Takes the text's key and wipes the text. */
static int keep_secret(char *text, const char *where, nodes_run *out) {
    size_t n = strlen(text), all = n;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    bool enough = n >= SECRET_LEAST;
    if (enough) nodes_sha256(text, n, out->key);
    explicit_bzero(text, all);
    if (enough) return 0;
    return cli_fail("launch",
                    "%s has a secret of %zu letters, which can be guessed; %d random ones or more are expected", where,
                    n, (int)SECRET_LEAST);
}

static int read_secret(const char *path, nodes_run *out) {
    char text[SECRET_MOST + 1];
    struct stat st;
    int fd;
    xt_status bad = xt_open_file(path, &fd);
    if (bad || fstat(fd, &st) != 0) {
        int code = cli_fail("launch", "--secret-file: %s", bad ? xt_status_message(bad) : strerror(errno));
        if (!bad) close(fd);
        xt_status_free(bad);
        return code;
    }
    const char *wrong = st.st_uid != geteuid() && st.st_uid != 0 ? "it belongs to another user"
                        : st.st_mode & 077                       ? "others may read it; chmod 600 keeps it to you"
                        : st.st_size > SECRET_MOST               ? "it has more than 4096 bytes"
                                                                 : NULL;
    ssize_t n = wrong ? 0 : read(fd, text, SECRET_MOST);
    close(fd);
    if (wrong || n < 0) return cli_fail("launch", "--secret-file %s: %s", path, wrong ? wrong : strerror(errno));
    text[n] = 0;
    return keep_secret(text, path, out);
}

/* The variable is gone from then on: no rank inherits it. */
static int settle_secret(const nodes_opts *o, nodes_run *out) {
    const char *value = getenv("XT_SECRET");
    char *copy = value && *value ? strdup(value) : NULL;
    if (value) explicit_bzero((char *)value, strlen(value));
    unsetenv("XT_SECRET");
    int code = o->secret_file ? read_secret(o->secret_file, out)
               : copy         ? keep_secret(copy, "XT_SECRET", out)
                              : no_secret();
    if (copy) explicit_bzero(copy, strlen(copy));
    free(copy);
    return code;
}

/* --- all of it --- */

int nodes_settle(const nodes_opts *o, char **argv, nodes_run *out) {
    int code;
    const char *limit = getenv("XT_TIMEOUT");
    *out = (nodes_run){.argv = argv, .max_restarts = o->max_restarts, .limit = limit ? strtod(limit, NULL) : 0};
    if (!(out->limit >= 1)) out->limit = DEFAULT_LIMIT_S;
    if ((code = settle_count(o, out))) return code;
    if (out->most == 1) return settle_slots(o, out);
    if ((code = settle_rank(o, out)) || (code = settle_place(o, out)) || (code = settle_slots(o, out))) return code;
    if (!getcwd(out->cwd, sizeof out->cwd)) return cli_fail("launch", "the working folder: %s", strerror(errno));
    return settle_secret(o, out);
}

/* A task of SLURM's that starts ranks is none itself, and Open MPI's daemon must not take SLURM's PMI for its own.
 * What tells of the job (SLURM_JOB_ID) stays: a trainer asks for its requeue. */
void nodes_forget_schedulers(void) {
    static const char *const names[] = {"SLURM_PROCID", "SLURM_LOCALID"};
    static const char *const parts[] = {"PMI_", "PMIX_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
    for (char **e = environ; e && *e;) {
        char name[256];
        size_t n = strcspn(*e, "=");
        bool theirs = strncmp(*e, parts[0], strlen(parts[0])) == 0 || strncmp(*e, parts[1], strlen(parts[1])) == 0;
        snprintf(name, sizeof name, "%.*s", (int)n, *e);
        if (theirs && n < sizeof name)
            unsetenv(name); /* the next one has moved here */
        else
            e++;
    }
}
