/* What node 0 may have another node do: make or remove the folder of a run, and start Open MPI's daemon orted. The text
 * is the command line that mpirun would give to ssh. It is taken apart here and never given to a shell: whatever a
 * shell would do something with is refused, and so are arguments that would have orted load or start something else. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=@+^%-";

static bool refuse(char *why, size_t room, const char *what, const char *word) {
    snprintf(why, room, "%s '%.80s' is refused: only the run's folder and orted with its settings are expected", what,
             word);
    return false;
}

/* --- words --- */

/* One word at *at, into `to`, which has room; quoted parts lose their quotes. False at what a shell would read as more
 * than a word. */
static bool read_word(const char **at, char *to) {
    const char *p = *at;
    while (*p && *p != ' ') {
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++) {
                if (strchr("\\$`", *p) || (unsigned char)*p < 32) return false;
                *to++ = *p;
            }
            if (*p++ != '"') return false;
        } else if (strchr(plain, *p)) {
            *to++ = *p++;
        } else {
            return false;
        }
    }
    *to = 0;
    *at = p;
    return true;
}

/* The words of `text` into `to`, which has its room, and out->argv; their number, -1 where they are none. */
static int read_words(const char *text, char *to, nodes_order *out) {
    int n = 0;
    for (const char *p = text;; to += strlen(to) + 1) {
        while (*p == ' ') p++;
        if (!*p) break;
        if (n == ORDER_WORDS || !read_word(&p, to)) return -1; /* what a shell would read as more */
        out->argv[n++] = to;
    }
    out->argv[n] = NULL;
    return n;
}

/* --- folders --- */

static bool is_digits(const char *p, size_t n, const char *digits) {
    return n > 0 && strspn(p, digits) >= n;
}

/* "/dev/shm/xtrain-run-UID-16 hex digits", also in /tmp: nothing else is made or removed. */
static bool is_folder(const char *path) {
    static const char *const roots[] = {"/dev/shm/xtrain-run-", "/tmp/xtrain-run-"};
    for (size_t i = 0; i < 2; i++) {
        size_t root = strlen(roots[i]);
        if (strncmp(path, roots[i], root) != 0) continue;
        const char *dash = strchr(path + root, '-');
        return dash && is_digits(path + root, (size_t)(dash - path) - root, "0123456789") && strlen(dash + 1) == 16 &&
               is_digits(dash + 1, 16, "0123456789abcdef");
    }
    return false;
}

static bool folder_order(nodes_order *out, int n) {
    static const char *const make[] = {"mkdir", "-p", "-m", "700"}, *const gone[] = {"rm", "-rf"};
    const char *const *words = n == 5 ? make : n == 3 ? gone : NULL;
    for (int i = 0; words && i < n - 1; i++)
        if (strcmp(out->argv[i], words[i]) != 0) return false;
    if (!words || !is_folder(out->argv[n - 1])) return false;
    out->kind = n == 5 ? ORDER_MAKE_FOLDER : ORDER_REMOVE_FOLDER;
    out->folder = out->argv[n - 1];
    return true;
}

bool nodes_folder_make(const char *folder, char *why, size_t room) {
    struct stat st;
    bool made = mkdir(folder, 0700) == 0;
    int failed = errno;
    made = made || (failed == EEXIST && lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                    (st.st_mode & 077) == 0);
    if (!made) snprintf(why, room, "making %s: %s", folder, strerror(failed));
    return made;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st, (void)ftw;
    if (kind == FTW_DP || kind == FTW_D)
        rmdir(path);
    else
        unlink(path);
    return 0;
}

bool nodes_folder_remove(const char *folder, char *why, size_t room) {
    struct stat st;
    if (!is_folder(folder)) return false;
    if (lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        nftw(folder, remove_one, 16, FTW_PHYS | FTW_DEPTH | FTW_MOUNT);
    bool gone = lstat(folder, &st) != 0 && errno == ENOENT;
    if (!gone) snprintf(why, room, "removing %s: some of it stays", folder);
    return gone;
}

/* --- orted --- */

/* Settings of Open MPI that name files to be loaded or programs to be started. The agent is mpirun's own matter: a node
 * starts nobody (plm_rsh_no_tree_spawn). */
static bool is_loading(const char *name) {
    static const char *const parts[] = {"component_path", "param_file", "launch_agent", "fork_agent",
                                        "debugger",       "envar_file", "override",     "prefix"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

/* How many words an argument of orted's takes; 0: it is none that mpirun gives to a node. */
static int words_of(const char *argument) {
    static const struct {
        const char *name;
        int words;
    } known[] = {{"-mca", 3}, {"--mca", 3}, {"--hnp-topo-sig", 2}, {"--leave-session-attached", 1}, {"--daemonize", 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(argument, known[i].name) == 0) return known[i].words;
    return 0;
}

static bool daemon_order(nodes_order *out, int n, char *why, size_t room) {
    const char *slash = n ? strrchr(out->argv[0], '/') : NULL;
    const char *name = n ? (slash ? slash + 1 : out->argv[0]) : "";
    if (strcmp(name, "orted") != 0) return refuse(why, room, "the command", n ? out->argv[0] : "");
    int to = 1;
    for (int i = 1, words; i < n; i += words) {
        const char *word = out->argv[i];
        words = words_of(word);
        if (!words || i + words > n) return refuse(why, room, "the argument", word);
        if (words == 3 && is_loading(out->argv[i + 1])) return refuse(why, room, "the setting", out->argv[i + 1]);
        bool dropped = strcmp(word, "--daemonize") == 0; /* it stays a child of the launcher */
        for (int k = 0; k < words && !dropped; k++) out->argv[to++] = out->argv[i + k];
    }
    out->argv[to] = NULL;
    out->kind = ORDER_DAEMON;
    return true;
}

/* "PATH=/opt/bin:$PATH" and "LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH:-}", which mpirun puts in front where it was
 * started by its whole path; "export NAME". */
static bool read_setting(char *p, size_t n, nodes_order *out) {
    static const char *const names[] = {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}, *const ends[] = {
                                                                                             ":$PATH",
                                                                                             ":${LD_LIBRARY_PATH:-}",
                                                                                             ":${DYLD_LIBRARY_PATH:-}"};
    char **const to[] = {&out->path, &out->library_path, NULL};
    bool export = n > 7 && strncmp(p, "export ", 7) == 0;
    for (size_t i = 0; i < 3; i++) {
        size_t name = strlen(names[i]), end = strlen(ends[i]);
        if (export && n - 7 == name && strncmp(p + 7, names[i], name) == 0) return true;
        if (n < name + 1 + end || strncmp(p, names[i], name) != 0 || p[name] != '=') continue;
        char *folder = p + name + 1;
        size_t length = n - name - 1 - end;
        if (strncmp(folder + length, ends[i], end) != 0 || folder[0] != '/' || strspn(folder, plain) < length ||
            memchr(folder, ':', length))
            return false;
        if (!to[i]) return true;
        *to[i] = folder;
        folder[length] = 0;
        return true;
    }
    return false;
}

bool nodes_order_read(const char *command, size_t n, nodes_order *out, char *why, size_t room) {
    *out = (nodes_order){0};
    if (memchr(command, 0, n) || !(out->text = calloc(2, n + 1))) {
        snprintf(why, room, "a command of %zu bytes is none", n);
        return false;
    }
    memcpy(out->text, command, n);
    char *p = out->text;
    for (char *end; (end = strstr(p, " ; ")); p = end + 3) {
        while (*p == ' ') p++;
        size_t length = (size_t)(end - p);
        if (!read_setting(p, length, out)) break;
    }
    int words = read_words(p, out->text + n + 1, out);
    bool good = words > 0 && (folder_order(out, words) || daemon_order(out, words, why, room));
    if (words <= 0) refuse(why, room, "the command", p);
    if (good) return true;
    free(out->text);
    out->text = NULL;
    return false;
}
