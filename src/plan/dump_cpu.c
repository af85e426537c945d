/* Our own compiler's table of a program's memory: src/cpu/run/dump.c writes it. */
#include <ctype.h>
#include <stdlib.h>

#include "plan/plan.h"

static int split(char *line, char **part, int max) {
    int n = 0;
    for (char *p = line; p && n < max; n++) {
        part[n] = p;
        if ((p = strchr(p, '\t'))) *p++ = 0;
    }
    return n;
}

static int64_t number(const char *s) {
    return strtoll(s, NULL, 10);
}

/* "h.3.attn/n17" or "n17" */
static int64_t ordinal_of(const char *name) {
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    return last[0] == 'n' && isdigit((unsigned char)last[1]) ? number(last + 1) : -1;
}

/* "tensor<2x3xf32>" */
static void read_type(const char *text, plan_buffer *b) {
    const char *open = strchr(text, '<'), *close = strrchr(text, '>');
    if (!open || !close) return;
    const char *x = close;
    while (x > open + 1 && x[-1] != 'x') x--;
    b->dtype = intern_n(x, (size_t)(close - x));
    b->shape = x > open + 1 ? intern_n(open + 1, (size_t)(x - 1 - open - 1)) : 0;
}

static bool slot(char **part, plan_memory *m) {
    static const char *const kinds[] = {"arg", "out", "temp", "const"};
    static const plan_place places[] = {PLAN_INPUT, PLAN_OUTPUT, PLAN_TEMP, PLAN_CONSTANT};
    plan_buffer b = {.place = PLAN_OTHER,
                     .bytes = number(part[3]),
                     .offset = number(part[4]),
                     .logical = -1,
                     .input = (int32_t)number(part[2]),
                     .first = (int32_t)number(part[5]),
                     .last = (int32_t)number(part[6])};
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (strcmp(part[1], kinds[i]) == 0) b.place = places[i];
    if (b.place == PLAN_OUTPUT && number(part[7]) >= 0) return true; /* in its argument's memory */
    if (b.place != PLAN_TEMP)
        b.first = b.last = -1;
    else if (b.first < 0)
        return true; /* never used */
    if (b.place == PLAN_CONSTANT) return true; /* part of the program, which the totals leave out */
    b.op = intern(part[8]);
    read_type(part[9], &b);
    b.ordinal = ordinal_of(part[10]);
    b.name = intern(part[10]);
    return VEC_PUSH(m->buffers, m->n, m->cap, b);
}

static bool collective(char **part, plan_memory *m) {
    plan_link l = {.op = intern(part[1]),
                   .bytes = number(part[2]),
                   .times = number(part[5]),
                   .ordinal = ordinal_of(part[3]),
                   .input = -1,
                   .name = intern(part[3])};
    for (char *p = part[4]; isdigit((unsigned char)*p) && l.n_group < (int)BASE_COUNT(l.group);) {
        l.group[l.n_group++] = strtoll(p, &p, 10);
        if (*p == ',') p++;
    }
    return l.n_group == 1 || VEC_PUSH(m->links, m->n_links, m->cap_links, l);
}

xt_status plan_read_cpu(const char *dir, plan_memory *out) {
    char *text = NULL, *path = path_join(dir, "xtrain_cpu.memory.txt"), *save = NULL, *part[12];
    size_t n;
    bool ok = true;
    *out = (plan_memory){.total_bytes = -1, .traffic = -1};
    xt_status s = path ? file_read_all(path, &text, &n) : status_oom(64, "a path");
    base_free(path);
    if (s) return s;
    for (char *line = strtok_r(text, "\n", &save); line && ok; line = strtok_r(NULL, "\n", &save)) {
        int k = split(line, part, 12);
        if (k >= 5 && strncmp(part[0], "xtrain_cpu", 10) == 0) {
            out->n_points = (int)number(part[1]);
            out->arena_bytes = number(part[2]);
        } else if (k >= 11 && strcmp(part[0], "slot") == 0)
            ok = slot(part, out);
        else if (k >= 6 && strcmp(part[0], "coll") == 0)
            ok = collective(part, out);
    }
    base_free(text);
    if (ok) return NULL;
    plan_memory_free(out);
    return status_oom(64, "a list of buffers");
}
