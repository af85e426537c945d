/* Inside cli/nodes: who is asked for (surroundings.c), what travels and how it is sealed (digest.c, link.c), node
 * 0 (lead.c, table.c, relay.c), the others (join.c, orders.c), mpirun's agent (agent.c). */
#ifndef XTRAIN_CLI_NODES_INT_H
#define XTRAIN_CLI_NODES_INT_H

#include <signal.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/nodes/nodes.h"

enum { NODES_MAX = 4096, NODES_RANKS_MAX = 4096, NODES_DIGEST = 32, NODES_NONCE = 32, NODES_BODY_MAX = 1 << 20 };

/* --- surroundings.c: options, and variables in their place --- */
typedef struct nodes_run {
    int least, most; /* nodes; equal unless --nnodes MIN:MAX */
    int rank;
    int slots; /* ranks of this node; 0: an even share of n */
    int n, max_restarts;
    char host[256], port[16];
    double limit; /* seconds that anything is waited for: XT_TIMEOUT, else 300 */
    char **argv;
    char cwd[4096];
    uint8_t key[NODES_DIGEST]; /* of the secret */
} nodes_run;
/* 0, or the exit code after a message. */
int nodes_settle(const nodes_opts *o, char **argv, nodes_run *out);
void nodes_forget_schedulers(void); /* variables that make ranks or mpirun believe that somebody else starts them */
bool nodes_find_program(const char *name, char *out, size_t room); /* in PATH, or a path */
double nodes_now(void); /* seconds, monotonic */

/* --- digest.c --- */
void nodes_sha256(const void *data, size_t n, uint8_t out[NODES_DIGEST]);
typedef struct nodes_piece {
    const void *p;
    size_t n;
} nodes_piece;
/* HMAC-SHA-256 of the pieces joined. */
void nodes_hmac(const uint8_t key[NODES_DIGEST], const nodes_piece *pieces, int n, uint8_t out[NODES_DIGEST]);
bool nodes_same(const uint8_t *a, const uint8_t *b, size_t n); /* in a time that tells nothing of where they differ */

/* --- link.c: one connection between node 0 and another --- */
typedef struct nodes_bytes {
    char *p;
    size_t n, room;
} nodes_bytes;
bool nodes_bytes_add(nodes_bytes *b, const void *p, size_t n);
void nodes_bytes_drop(nodes_bytes *b, size_t n); /* from the front */
void nodes_bytes_free(nodes_bytes *b);

typedef enum nodes_kind {
    NODES_JOIN, /* fields, each with its NUL: see nodes_joiner */
    NODES_REFUSED, /* why; number 1: another one has that rank, which may be an old connection of this node's */
    NODES_WELCOME,
    NODES_ORDER, /* number, a command line of mpirun's or of the launcher's: orders.c */
    NODES_SAYS, /* of that order: bytes of its stderr */
    NODES_ENDED, /* of that order: its code, in the text */
    NODES_SIGNAL, /* that this node's launcher got */
    NODES_ALIVE,
    NODES_OVER /* number: the run's exit code; why, where there is something to say */
} nodes_kind;
typedef struct nodes_frame {
    nodes_kind kind;
    uint32_t number;
    char *body; /* with a NUL behind its n bytes; free */
    size_t n;
} nodes_frame;
typedef enum link_state { LINK_GREETING, LINK_PROVING, LINK_OPEN, LINK_LOST } link_state;
typedef struct nodes_link {
    int fd;
    bool server;
    link_state state;
    const uint8_t *key; /* of the secret; the caller's */
    uint8_t nonce[2][NODES_NONCE]; /* the server's, the client's */
    uint8_t seal[2][NODES_DIGEST]; /* what this side sends, what it gets */
    uint64_t count[2];
    nodes_bytes in, out;
    double began, heard;
    bool opened; /* both have shown that they know the secret */
    bool spoilt; /* what came cannot be believed */
    bool bad_secret; /* why it is lost */
    char why[200];
} nodes_link;
/* Takes the connected socket over. */
bool nodes_link_begin(nodes_link *l, int fd, bool server, const uint8_t *key);
void nodes_link_end(nodes_link *l);
/* Reads and writes what can be without waiting; false: the connection is lost, l->why says how. */
bool nodes_link_pump(nodes_link *l);
short nodes_link_wants(const nodes_link *l); /* poll's events */
bool nodes_link_take(nodes_link *l, nodes_frame *out); /* false: no whole frame is there */
void nodes_link_send(nodes_link *l, nodes_kind kind, uint32_t number, const void *body, size_t n);

/* --- orders.c: what node 0 may have a node do --- */
typedef enum order_kind { ORDER_MAKE_FOLDER, ORDER_REMOVE_FOLDER, ORDER_DAEMON } order_kind;
enum { ORDER_WORDS = 512 };
typedef struct nodes_order {
    order_kind kind;
    char *folder; /* of a run: /dev/shm/xtrain-run-UID-HEX */
    char *argv[ORDER_WORDS + 1]; /* orted and its arguments */
    char *path, *library_path; /* folders that go in front of the variables of these names; NULL */
    char *text; /* the words; free */
} nodes_order;
/* False for anything else; why gets a sentence. Nothing of it is ever given to a shell. */
bool nodes_order_read(const char *command, size_t n, nodes_order *out, char *why, size_t room);
bool nodes_folder_make(const char *folder, char *why, size_t room);
bool nodes_folder_remove(const char *folder, char *why, size_t room);

/* --- lead.c, join.c --- */
int nodes_lead(const nodes_run *run);
int nodes_join(const nodes_run *run);
extern volatile sig_atomic_t nodes_signals[NSIG]; /* how often each came */
void nodes_take_signals(void);
void nodes_default_signals(void); /* in a child */
extern const int nodes_passed_on[6];
enum { NODES_PASSED_ON = 6 };
/* "program\x1fargument..." */
bool nodes_command_text(char *const *argv, nodes_bytes *out);

/* --- table.c: node 0's table of nodes --- */
typedef struct nodes_joiner { /* what a node says of itself, in this order */
    const char *version, *rank, *least, *most, *slots, *host, *cwd, *command;
} nodes_joiner;
enum { NODES_JOIN_FIELDS = 8 };
typedef struct node {
    nodes_link *link; /* NULL: not there */
    int slots;
    bool came; /* ever */
    char name[64]; /* in mpirun's list; settled when the run starts */
    char host[80], address[64];
    char gone[220]; /* why it is not there any more */
    int signals[NSIG]; /* how often it got each */
} node;
typedef struct nodes_agent { /* of mpirun, or of the question whether a node answers */
    int fd;
    int node;
    uint32_t number;
    nodes_bytes in, out;
    bool asked, over;
} nodes_agent;
typedef struct nodes_guest { /* a connection of nobody that is known yet */
    nodes_link *link;
    char address[64];
} nodes_guest;
typedef struct nodes_lead_state {
    const nodes_run *run;
    int listener, agents_listener;
    char agents_name[64];
    node *nodes; /* run->most; 0 is this one */
    nodes_guest guests[64];
    int n_guests, strangers;
    nodes_agent *agents;
    size_t n_agents, agents_room;
    uint32_t orders;
    bool fixed; /* the list of the run is made: names and slots stay */
    int passed[NSIG]; /* how often each signal was passed on */
    nodes_bytes command;
    double told_alive;
} nodes_lead_state;
bool table_init(nodes_lead_state *s);
void table_free(nodes_lead_state *s);
int table_here(const nodes_lead_state *s); /* nodes that are there */
void table_accept(nodes_lead_state *s);
void table_guest(nodes_lead_state *s, int i); /* news of it; guests[i] is another one then where it has left */
void table_node(nodes_lead_state *s, int k); /* news of a node's connection */
void table_lose(nodes_lead_state *s, int k, const char *why);
void table_fix(nodes_lead_state *s); /* names for mpirun's list */
void table_tell(const nodes_lead_state *s, bool missing, char *out, size_t room); /* "node 1 (host-b, 10.0.0.2), ..." */

/* --- relay.c: agents of mpirun, and what they ask for --- */
bool relay_open(nodes_lead_state *s); /* a socket that only processes of this user reach, under no path */
void relay_accept(nodes_lead_state *s);
void relay_agent(nodes_lead_state *s, size_t i, short events);
void relay_answer(nodes_lead_state *s, int k, const nodes_frame *f); /* SAYS, ENDED */
void relay_lost(nodes_lead_state *s, int k); /* its agents end with that */
void relay_sweep(nodes_lead_state *s); /* those that are over */
void relay_close(nodes_lead_state *s);
/* what an agent writes and reads: a head, then its bytes */
typedef struct agent_head {
    uint32_t kind, n; /* 's': bytes for stderr, 'e': exit with the code n */
} agent_head;

#endif
