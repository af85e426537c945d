/* Environment variables. env.def is the list of all that the library reads under its own prefix, so a misspelt one can
 * be told from a known one: a variable that silently does nothing is the worst kind of setting. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

#include "base/base.h"

extern char **environ;

static const char *const names[] = {
#define ENV(name, help) name,
#include "base/env.def"
#undef ENV
};

/* XT_TRAINER_MAX_EPOCHS and the like are rows of the trainer's option table; the trainer reports what is
 * wrong with them. */
static const char trainer_prefix[] = "XT_TRAINER_";

static bool is_known(const char *name, size_t n) {
    if (strncmp(name, trainer_prefix, sizeof trainer_prefix - 1) == 0) return true;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strncmp(names[i], name, n) == 0 && names[i][n] == '\0') return true;
    return false;
}

const char *env_get(const char *name) {
    assert(is_known(name, strlen(name)) && "add the variable to env.def");
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool env_int(const char *name, int64_t least, int64_t *out) {
    const char *value = env_get(name);
    int64_t number;
    if (!value) return false;
    if (parse_i64(value, &number) && number >= least) {
        *out = number;
        return true;
    }
    char from[32] = "";
    if (least != INT64_MIN) snprintf(from, sizeof from, ", %lld or more", (long long)least);
    log_once(name, XT_SEV_WARNING, "%s=%s is ignored: expected a whole number%s", name, value, from);
    return false;
}

bool env_flag(const char *name, bool fallback) {
    const char *value = env_get(name);
    bool flag;
    if (!value) return fallback;
    if (parse_flag(value, &flag)) return flag;
    log_once(name, XT_SEV_WARNING, "%s=%s is ignored: expected on or off (also 1/0, true/false, yes/no)", name, value);
    return fallback;
}

int env_choice(const char *name, int n, const char *const *values) {
    const char *v = env_get(name);
    for (int i = 0; v && i < n; i++)
        if (strcmp(v, values[i]) == 0) return i;
    if (!v) return 0;
    str all = STR_INIT;
    for (int i = 0; i < n; i++) str_printf(&all, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", values[i]);
    log_once(name, XT_SEV_WARNING, "%s=%s is ignored: expected %s", name, v, str_cstr(&all));
    str_free(&all);
    return 0;
}

bool env_has_word(const char *name, const char *word) {
    const char *p = env_get(name);
    size_t n = strlen(word);
    while (p) {
        p += strspn(p, ", \t");
        size_t len = strcspn(p, ", \t");
        if (len == 0) return false;
        if (len == n && strncasecmp(p, word, n) == 0) return true;
        p += len;
    }
    return false;
}

/* --- changing it ---
 * setenv() frees the array it grows while another thread may be in getenv(), the user's or a library's: a program whose
 * threads were at work while the first device opened died there. Here a new array takes its place, and all that were
 * stay as they are. */
typedef struct array {
    struct array *older;
    char *lines[];
} array;
static array *arrays; /* the newest; guarded by `changing` */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* `line`: name=value, which stays; NULL: without the name. */
static bool put(const char *name, size_t n, char *line) {
    size_t count = 0, at = 0;
    pthread_mutex_lock(&changing);
    char **now = environ;
    while (now && now[count]) count++;
    array *a = base_malloc(sizeof *a + (count + 2) * sizeof a->lines[0]);
    bool placed = !line;
    for (size_t i = 0; a && i < count; i++) {
        bool same = strncmp(now[i], name, n) == 0 && now[i][n] == '=';
        if (same && placed) continue;
        a->lines[at++] = same ? line : now[i];
        placed |= same;
    }
    if (a) {
        if (!placed) a->lines[at++] = line;
        a->lines[at] = NULL;
        a->older = arrays;
        arrays = a;
        __atomic_store_n(&environ, a->lines, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&changing);
    return a;
}

bool env_put(const char *line) {
    char *copy = base_strndup(line, strlen(line));
    if (copy && put(copy, strcspn(copy, "="), copy)) return true;
    base_free(copy);
    return false;
}

bool env_set(const char *name, const char *value) {
    const char *now = getenv(name);
    if (now && strcmp(now, value) == 0) return true;
    str line = STR_INIT;
    str_printf(&line, "%s=%s", name, value);
    bool done = !line.failed && env_put(str_cstr(&line));
    str_free(&line);
    return done;
}

bool env_default(const char *name, const char *value) {
    return getenv(name) || env_set(name, value);
}

bool env_unset(const char *name) {
    return !getenv(name) || put(name, strlen(name), NULL);
}

/* --- misspelt ones --- */
static void report_unknown(const char *name) {
    const char *near = text_nearest(name, names, BASE_COUNT(names));
    if (near)
        log_msg(XT_SEV_WARNING,
                "the environment variable %s is not one xtrain reads and does nothing; did you mean %s?", name, near);
    else
        log_msg(XT_SEV_WARNING,
                "the environment variable %s is not one xtrain reads and does nothing; `xtrain doctor` lists those it "
                "reads",
                name);
}

/* Users of PyTorch/XLA bring its switch along; it is answered with ours. */
static void report_foreign(void) {
    const char *value = getenv("PT_XLA_DEBUG");
    bool on = value && *value && strcmp(value, "0") != 0;
    if (on && !env_get("XT_DEBUG"))
        log_msg(XT_SEV_WARNING,
                "PT_XLA_DEBUG=%s is PyTorch/XLA's switch; set XT_DEBUG=compile,exec to see why xtrain compiles and "
                "executes",
                value);
}

/* A misspelt word of XT_DEBUG would look like a run in which nothing is wrong. */
static void report_debug_words(void) {
    static const char *const words[] = {"compile", "exec",   "read",   "nan",     "bounds",
                                        "eager",   "plugin", "passes", "redzones"};
    const char *p = env_get("XT_DEBUG");
    for (size_t len; p && (p += strspn(p, ", \t"), (len = strcspn(p, ", \t")) > 0); p += len) {
        char *word = base_strndup(p, len);
        bool known = !word;
        for (size_t i = 0; i < BASE_COUNT(words) && !known; i++) known = strcasecmp(word, words[i]) == 0;
        const char *near = known ? NULL : text_nearest(word, words, BASE_COUNT(words));
        if (near)
            log_msg(XT_SEV_WARNING, "XT_DEBUG has no word \"%s\", it does nothing; did you mean %s?", word, near);
        else if (!known)
            log_msg(XT_SEV_WARNING,
                    "XT_DEBUG has no word \"%s\", it does nothing; there are compile, exec, read, nan, bounds, eager, "
                    "plugin, passes, redzones",
                    word);
        base_free(word);
    }
}

void env_report_unknown(void) {
    static bool reported;
    if (__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED)) return;
    for (char **e = environ; e && *e; e++) {
        const char *equals = strchr(*e, '=');
        if (!equals || strncmp(*e, "XT_", 3) != 0 || is_known(*e, (size_t)(equals - *e))) continue;
        char *name = base_strndup(*e, (size_t)(equals - *e));
        if (name) report_unknown(name);
        base_free(name);
    }
    report_debug_words();
    report_foreign();
}
