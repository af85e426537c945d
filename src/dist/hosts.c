/* Lists of hosts: see hosts.h. */
#include "dist/hosts.h"

enum { MAX_SLOTS = 4096 };

void hosts_free(host_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        base_free(l->all[i].name);
        base_free(l->all[i].why);
    }
    base_free(l->all);
    *l = (host_list){0};
}

/* What goes to an agent's command line must be no option of it, and nothing that a shell or mpirun's lists read. */
static bool is_name(const char *name, size_t n) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%[]";
    return n && n < 256 && name[0] != '-' && strspn(name, letters) >= n;
}

/* Each number is bounded where it is read; a list may name a host any number of times. */
static xt_status add_slots(host *h, int64_t slots, const char *where) {
    if (h->slots + slots > MAX_SLOTS)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: %s has %lld slots with those of the lines before; at most %d ranks a host are expected",
                          where, h->name, (long long)(h->slots + slots), MAX_SLOTS);
    h->slots += (int)slots;
    return NULL;
}

/* One host of a list; where it stands there already, its slots add up. slots 0: not said. */
static xt_status add(host_list *l, const char *name, size_t n, int64_t slots, const char *where) {
    if (memchr(name, '@', n))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: '%.*s': the name of a host is expected, without a user; ~/.ssh/config says who logs in "
                          "there",
                          where, (int)n, name);
    if (!is_name(name, n))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: '%.*s' is no name of a host; letters, digits and .-_: are expected, and no '-' in front",
                          where, (int)n, name);
    if (slots < 0 || slots > MAX_SLOTS)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: %.*s has %lld slots; 1 to %d ranks a host are expected",
                          where, (int)n, name, (long long)slots, MAX_SLOTS);
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->all[i].name) == n && memcmp(l->all[i].name, name, n) == 0) {
            l->all[i].lines += l->all[i].lines < MAX_SLOTS;
            return add_slots(&l->all[i], slots, where);
        }
    host h = {.name = base_strndup(name, n), .slots = (int)slots, .lines = 1};
    if (h.name && VEC_PUSH(l->all, l->n, l->cap, h)) return NULL;
    base_free(h.name);
    return status_oom(n, "a list of hosts");
}

/* A host that is named twice without slots has one for each time, and so have the others then. */
static void count_lines(host_list *l) {
    bool repeated = false, said = false;
    for (size_t i = 0; i < l->n; i++) {
        repeated = repeated || l->all[i].lines > 1;
        said = said || l->all[i].slots;
    }
    for (size_t i = 0; i < l->n && repeated && !said; i++) l->all[i].slots = l->all[i].lines;
}

static xt_status number_in(const char *p, size_t n, const char *where, int64_t *out) {
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)n, p);
    if (n && n < sizeof text && parse_i64(text, out) && *out >= 1 && *out <= MAX_SLOTS) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL, "%s: '%.*s' is no number of ranks; 1 to %d are expected", where,
                      (int)n, p, MAX_SLOTS);
}

/* "a", "a:4"; a name with two colons is an IPv6 address, which has no slots behind it. */
static xt_status add_word(host_list *l, const char *word, size_t n, const char *where) {
    const char *colon = memchr(word, ':', n);
    int64_t slots = 0;
    if (colon && !memchr(colon + 1, ':', n - (size_t)(colon + 1 - word)))
        XT_TRY(number_in(colon + 1, n - (size_t)(colon + 1 - word), where, &slots));
    else
        colon = NULL;
    size_t name = colon ? (size_t)(colon - word) : n;
    if (!name) return status_new(XT_INVALID_ARGUMENT, NULL, "%s: '%.*s' names no host", where, (int)n, word);
    return add(l, word, name, slots, where);
}

xt_status hosts_parse(const char *text, host_list *out) {
    static const char where[] = "--host";
    if (!*text)
        return status_new(XT_INVALID_ARGUMENT, NULL, "--host: a list of hosts is expected, \"a,b\" or \"a:4,b:4\"");
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        XT_TRY(add_word(out, text, n, where));
    }
    count_lines(out);
    return NULL;
}

/* --- files --- */

static const char spaces[] = " \t\r";

/* "slots=4", "slots = 4": Open MPI takes both. What is said of a host and decides nothing here is passed over. */
static xt_status read_word(const char **at, const char *end, const char *where, int64_t *slots) {
    static const char *const counts[] = {"slots", "slot", "cpu", "count"}, *const others[] = {"max_slots", "max-slots",
                                                                                              "sockets_per_board",
                                                                                              "ifhn"};
    const char *key = *at, *p = key + strcspn(key, " \t\r=");
    if (p > end) p = end;
    size_t n = (size_t)(p - key);
    while (p < end && strchr(spaces, *p)) p++;
    bool known = false, counted = false;
    for (size_t i = 0; i < BASE_COUNT(counts); i++)
        counted = counted || (strlen(counts[i]) == n && strncmp(counts[i], key, n) == 0);
    for (size_t i = 0; i < BASE_COUNT(others); i++)
        known = known || (strlen(others[i]) == n && strncmp(others[i], key, n) == 0);
    if (p == end || *p != '=' || (!known && !counted))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: '%.*s' is not understood; a host, and slots=N behind it, are expected", where, (int)n,
                          key);
    for (p++; p < end && strchr(spaces, *p); p++) continue;
    const char *value = p;
    while (p < end && !strchr(spaces, *p)) p++;
    *at = p;
    return counted ? number_in(value, (size_t)(p - value), where, slots) : NULL;
}

static xt_status read_line(host_list *l, const char *line, const char *end, const char *where) {
    while (line < end && strchr(spaces, *line)) line++;
    const char *p = line;
    while (p < end && !strchr(spaces, *p)) p++;
    if (p == line) return NULL;
    size_t before = l->n;
    if (memchr(line, '=', (size_t)(p - line)) || memchr(line, ',', (size_t)(p - line)))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: '%.*s' is no host; a host a line is expected, \"a\", \"a:4\" or \"a slots=4\"", where,
                          (int)(p - line), line);
    XT_TRY(add_word(l, line, (size_t)(p - line), where));
    int64_t slots = 0;
    for (;;) {
        while (p < end && strchr(spaces, *p)) p++;
        if (p == end) break;
        XT_TRY(read_word(&p, end, where, &slots));
    }
    if (!slots) return NULL;
    for (size_t i = 0; i < l->n; i++) { /* the host of this line: the last, or one that was there */
        size_t n = strlen(l->all[i].name);
        bool is = l->n > before ? i + 1 == l->n : strncmp(l->all[i].name, line, n) == 0 && strchr(" \t\r:", line[n]);
        if (is) return add_slots(&l->all[i], slots, where);
    }
    return NULL;
}

xt_status hosts_read(const char *path, host_list *out) {
    char *text;
    size_t size;
    XT_TRY(status_context(file_read_all(path, &text, &size), "--hostfile"));
    xt_status st = strlen(text) == size
                       ? NULL
                       : status_new(XT_INVALID_ARGUMENT, NULL,
                                    "%s: byte %zu is 0; a text with a host a line is expected", path, strlen(text));
    int number = 1;
    for (const char *p = text; *p && !st; number++) {
        size_t n = strcspn(p, "\n"), shown = strcspn(p, "#\n");
        str where = STR_INIT;
        str_printf(&where, "%s:%d", path, number);
        st = read_line(out, p, p + shown, str_cstr(&where));
        str_free(&where);
        p += n + (p[n] == '\n');
    }
    base_free(text);
    if (!st && out->n == 0)
        st = status_new(XT_INVALID_ARGUMENT, NULL, "%s names no host; a host a line is expected, \"a slots=4\"", path);
    if (!st) count_lines(out);
    return st;
}
