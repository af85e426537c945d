/* What launchers of several hosts believe (cli/nodes): the digests, two ends of a connection with and without the same
 * secret, each byte between them changed in turn, and which orders a node obeys. Compiled with their sources by
 * nodes.sh. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLI_WRITES
#include "cli/nodes/nodes_int.h"

static int failures;

double nodes_now(void) {
    return 0;
}

static void expect(bool so, const char *what, const char *of) {
    if (so) return;
    printf("not so: %s: %s\n", what, of);
    failures++;
}

/* --- digests: the texts are FIPS 180-4's and RFC 4231's (whose keys are shorter, so padded with zeros as HMAC does)
 * --- */

static void hex(const uint8_t *d, char *out) {
    for (int i = 0; i < NODES_DIGEST; i++) sprintf(out + 2 * i, "%02x", d[i]);
}

static void digests(void) {
    uint8_t d[NODES_DIGEST], key[NODES_DIGEST] = "Jefe";
    char text[2 * NODES_DIGEST + 1], *million = malloc(1000000);
    static const struct {
        const char *text, *want;
    } rows[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nodes_sha256(rows[i].text, strlen(rows[i].text), d);
        hex(d, text);
        expect(strcmp(text, rows[i].want) == 0, "SHA-256", rows[i].text);
    }
    memset(million, 'a', 1000000);
    nodes_sha256(million, 1000000, d);
    hex(d, text);
    expect(strcmp(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0, "SHA-256",
           "a million");
    free(million);
    const nodes_piece pieces[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    nodes_hmac(key, pieces, 2, d);
    hex(d, text);
    expect(strcmp(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") == 0, "HMAC",
           "RFC 4231, 2");
}

/* --- connections --- */

/* Between the two ends stands somebody: what goes from end i is read from middle[i] and written to the other. */
typedef struct pair {
    nodes_link ends[2]; /* the server's first */
    int middle[2];
    long passed; /* bytes so far, both ways */
    long change; /* the byte that is changed; -1: none */
} pair;

static void begin(pair *p, const uint8_t *a, const uint8_t *b, long change) {
    *p = (pair){.change = change};
    for (int i = 0; i < 2; i++) {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0) exit(1);
        p->middle[i] = fds[1];
        nodes_link_begin(&p->ends[i], fds[0], i == 0, i ? b : a);
    }
}

static void finish(pair *p) {
    for (int i = 0; i < 2; i++) {
        nodes_link_end(&p->ends[i]);
        close(p->middle[i]);
    }
}

static void carry(pair *p) {
    char bytes[4096];
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < 2; i++) {
            nodes_link_pump(&p->ends[i]);
            ssize_t n = recv(p->middle[i], bytes, sizeof bytes, MSG_DONTWAIT);
            for (ssize_t k = 0; k < n; k++, p->passed++)
                if (p->passed == p->change) bytes[k] = (char)(bytes[k] ^ 0x20);
            if (n > 0 && send(p->middle[!i], bytes, (size_t)n, MSG_NOSIGNAL) < 0) return;
        }
}

/* The messages that the other end got of two that were sent each way; -1: one of them was not what was sent. */
static int exchange(pair *p) {
    int got = 0;
    carry(p);
    for (int i = 0; i < 2; i++) {
        nodes_link_send(&p->ends[i], NODES_SAYS, 7, "first", 5);
        nodes_link_send(&p->ends[i], NODES_ENDED, 8, "2", 1);
    }
    carry(p);
    for (int i = 0; i < 2; i++) {
        static const struct {
            nodes_kind kind;
            uint32_t number;
            const char *body;
        } sent[] = {{NODES_SAYS, 7, "first"}, {NODES_ENDED, 8, "2"}};
        nodes_frame f;
        for (int k = 0; nodes_link_take(&p->ends[i], &f); k++, got++) {
            bool same = k < 2 && f.kind == sent[k].kind && f.number == sent[k].number && !strcmp(f.body, sent[k].body);
            free(f.body);
            if (!same) return -1;
        }
    }
    return got;
}

static void connections(void) {
    uint8_t a[NODES_DIGEST] = {1, 2, 3}, b[NODES_DIGEST] = {1, 2, 4};
    pair p;
    begin(&p, a, a, -1);
    expect(exchange(&p) == 4, "connection", "one secret: all arrives");
    long all = p.passed;
    finish(&p);
    begin(&p, a, b, -1);
    expect(exchange(&p) == 0, "connection", "two secrets: nothing arrives");
    expect(p.ends[0].bad_secret && p.ends[1].bad_secret, "connection", "and both know why");
    finish(&p);
    for (long at = 0; at < all; at++) {
        char text[48];
        begin(&p, a, a, at);
        int got = exchange(&p);
        snprintf(text, sizeof text, "byte %ld changed", at);
        expect(got >= 0 && got < 4, "connection", text); /* what came before it may have arrived */
        finish(&p);
    }
}

/* A message that is sent again, or back to its sender, is no message. */
static void replays(void) {
    uint8_t a[NODES_DIGEST] = {9};
    char bytes[4096];
    nodes_frame f;
    for (int back = 0; back < 2; back++) {
        pair p;
        begin(&p, a, a, -1);
        carry(&p);
        nodes_link_send(&p.ends[0], NODES_SAYS, 1, "once", 4);
        ssize_t n = recv(p.middle[0], bytes, sizeof bytes, MSG_DONTWAIT);
        bool sent =
            send(p.middle[!back], bytes, (size_t)n, 0) == n && (back || send(p.middle[1], bytes, (size_t)n, 0) == n);
        nodes_link *to = &p.ends[!back];
        nodes_link_pump(to);
        int got = 0;
        for (; nodes_link_take(to, &f); got++) free(f.body);
        expect(sent && got == !back && to->state == LINK_LOST, "connection", back ? "sent back" : "sent twice");
        finish(&p);
    }
    /* A size that is none: nothing of it is waited for. */
    pair p;
    begin(&p, a, a, -1);
    carry(&p);
    memset(bytes, 0xff, 64);
    expect(send(p.middle[0], bytes, 64, 0) == 64 && nodes_link_pump(&p.ends[0]) && !nodes_link_take(&p.ends[0], &f) &&
               p.ends[0].state == LINK_LOST,
           "connection", "a message of 4 GiB");
    finish(&p);
}

/* Whatever comes before the secret is shown is not kept. */
static void strangers(void) {
    uint8_t a[NODES_DIGEST] = {9};
    char bytes[4096];
    pair p;
    memset(bytes, 'x', sizeof bytes);
    begin(&p, a, a, -1);
    nodes_link_pump(&p.ends[0]);
    expect(send(p.middle[0], bytes, sizeof bytes, 0) > 0 && !nodes_link_pump(&p.ends[0]) && p.ends[0].in.n <= 128,
           "connection", "noise is not kept");
    finish(&p);
}

/* --- orders --- */

#define DAEMON "orted -mca ess \"env\" -mca orte_hnp_uri \"1.0;tcp://192.0.2.2:60005;tcp6://[fd00::2]:52795\""
#define FOLDER "/dev/shm/xtrain-run-1000-0123456789abcdef"

static const char *const obeyed[] = {
    DAEMON,
    " orted --daemonize -mca ess_base_vpid 1 --hnp-topo-sig 0N:1S:0L3:1L2:2L1:2C:2H:x86_64",
    "  PATH=/usr/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/usr/lib:${LD_LIBRARY_PATH:-} ; export LD_LIBRARY_PATH ; "
    "DYLD_LIBRARY_PATH=/usr/lib:${DYLD_LIBRARY_PATH:-} ; export DYLD_LIBRARY_PATH ;   /usr/bin/" DAEMON,
    "mkdir -p -m 700 " FOLDER,
    "rm -rf " FOLDER,
    "rm -rf /tmp/xtrain-run-0-0123456789abcdef",
};
static const char *const refused[] = {
    "",
    " ",
    "true",
    "sh -c true",
    "ortedx",
    "/bin/rm -rf /",
    "rm -rf /",
    "rm -rf /dev/shm",
    "rm -rf " FOLDER "/..",
    "rm -rf " FOLDER "/x",
    "rm -rf /dev/shm/xtrain-run-1000-0123456789abcdeg",
    "rm -rf /dev/shm/xtrain-run--0123456789abcdef",
    "rm -rf " FOLDER " " FOLDER,
    "rm -r " FOLDER,
    "mkdir -p -m 777 " FOLDER,
    "mkdir -p -m 700 /etc/x",
    DAEMON " ; touch /tmp/x",
    DAEMON ";touch /tmp/x",
    DAEMON " && touch /tmp/x",
    DAEMON " | sh",
    DAEMON " > /tmp/x",
    DAEMON " `touch /tmp/x`",
    DAEMON " -mca a $(touch /tmp/x)",
    DAEMON " -mca a \"$(touch /tmp/x)\"",
    DAEMON " -mca a \"`touch /tmp/x`\"",
    DAEMON " -mca a \"open",
    DAEMON " -mca a 'b'",
    DAEMON " -mca a b\nsh",
    DAEMON " -mca a",
    DAEMON " --prefix /tmp/x",
    DAEMON " --unknown",
    DAEMON " -mca mca_base_component_path /tmp/x",
    DAEMON " -mca mca_base_param_files /tmp/x",
    DAEMON " -mca orte_launch_agent /tmp/x",
    DAEMON " -mca orte_fork_agent /tmp/x",
    "PATH=/tmp/$(x):$PATH ; orted",
    "PATH=x:$PATH ; orted",
    "PATH=/usr/bin:/tmp:$PATH ; orted",
    "LD_PRELOAD=/tmp/x.so ; orted",
    "export LD_PRELOAD ; orted",
    "PATH=/usr/bin:$PATH ; sh",
};

static void orders(void) {
    char why[300];
    nodes_order o;
    for (size_t i = 0; i < sizeof obeyed / sizeof obeyed[0]; i++) {
        bool so = nodes_order_read(obeyed[i], strlen(obeyed[i]), &o, why, sizeof why);
        expect(so, "is obeyed", obeyed[i]);
        for (int k = 0; so && o.kind == ORDER_DAEMON && o.argv[k]; k++)
            expect(strcmp(o.argv[k], "--daemonize") != 0 && !strchr(o.argv[k], '"'), "words", o.argv[k]);
        if (so) free(o.text);
    }
    nodes_order_read(obeyed[2], strlen(obeyed[2]), &o, why, sizeof why);
    expect(!strcmp(o.path, "/usr/bin") && !strcmp(o.library_path, "/usr/lib"), "mpirun's own folders", o.path);
    expect(!strcmp(o.argv[0], "/usr/bin/orted") && !strcmp(o.argv[3], "env") && !o.argv[7], "orted", o.argv[0]);
    free(o.text);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        *why = 0;
        bool so = nodes_order_read(refused[i], strlen(refused[i]), &o, why, sizeof why);
        expect(!so && strstr(why, "is refused: "), "is refused", refused[i]);
        if (so) free(o.text);
    }
    expect(!nodes_order_read("orted\0x", 7, &o, why, sizeof why), "is refused", "a NUL inside");
    /* Each beginning of each order, and each with one byte changed, is read without harm (ASan looks on). */
    for (size_t i = 0; i < sizeof obeyed / sizeof obeyed[0]; i++)
        for (size_t n = 0; n < strlen(obeyed[i]); n++)
            for (int c = 0; c < 128; c += c ? 7 : 1) {
                char text[1024];
                size_t all = strlen(obeyed[i]), size = c ? all : n;
                memcpy(text, obeyed[i], all);
                if (c) text[n] = (char)c;
                char *exact = malloc(size + 1); /* no NUL behind it */
                memcpy(exact, text, size);
                if (nodes_order_read(exact, size, &o, why, sizeof why)) free(o.text);
                free(exact);
            }
}

/* A folder of that name that is a link, or another's, is neither used nor emptied. */
static void folders(const char *tmp) {
    char why[300] = "", path[128], inside[256];
    struct stat st;
    snprintf(path, sizeof path, "/tmp/xtrain-run-%u-%016llx", (unsigned)geteuid(), (unsigned long long)getpid());
    expect(nodes_folder_make(path, why, sizeof why) && nodes_folder_make(path, why, sizeof why), "a folder is made",
           why);
    snprintf(inside, sizeof inside, "%s/a", path);
    expect(mkdir(inside, 0700) == 0, "in it", inside);
    snprintf(inside, sizeof inside, "%s/link", path);
    expect(symlink(tmp, inside) == 0, "in it", inside);
    expect(nodes_folder_remove(path, why, sizeof why) && lstat(path, &st) != 0, "a folder is removed", why);
    expect(stat(tmp, &st) == 0, "what a link names stays", tmp);
    expect(symlink(tmp, path) == 0 && !nodes_folder_make(path, why, sizeof why), "no link is taken", path);
    expect(!nodes_folder_remove(path, why, sizeof why) && stat(tmp, &st) == 0, "nor followed", path);
    unlink(path);
    expect(!nodes_folder_remove(tmp, why, sizeof why) && stat(tmp, &st) == 0, "no other folder", tmp);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    digests();
    connections();
    replays();
    strangers();
    orders();
    folders(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
