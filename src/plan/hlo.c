/* Lines of XLA's program text: "%name = f32[2,3]{1,0} op(%a, %b), ..., metadata={op_name="h.3.attn/n17" ...}". */
#include <ctype.h>
#include <stdlib.h>

#include "plan/hlo.h"

static size_t name_length(const char *s) {
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.' || s[n] == '-') n++;
    return n;
}

/* The ordinal at the end of op_name="...". XLA may put words behind a slash after ours, so every part is tried,
 * the last first. */
static int64_t ordinal_of(const char *line) {
    const char *p = strstr(line, "op_name=\"");
    if (!p) return -1;
    p += 9;
    const char *end = strchr(p, '"');
    for (const char *q = end; q && q >= p;) {
        const char *part = q;
        while (part > p && part[-1] != '/') part--;
        if (*part == 'n' && isdigit((unsigned char)part[1])) {
            char *stop;
            int64_t v = strtoll(part + 1, &stop, 10);
            if (stop == q || *stop == '.' || *stop == '[') return v;
        }
        if (part == p) break;
        q = part - 1;
    }
    return -1;
}

static int64_t bits_of(const char *dtype) {
    static const struct {
        const char *name;
        int bits;
    } known[] = {{"pred", 8}, {"s4", 4},   {"u4", 4},    {"s8", 8},   {"u8", 8},    {"s16", 16},
                 {"u16", 16}, {"f16", 16}, {"bf16", 16}, {"s32", 32}, {"u32", 32},  {"f32", 32},
                 {"s64", 64}, {"u64", 64}, {"f64", 64},  {"c64", 64}, {"c128", 128}};
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (strcmp(known[i].name, dtype) == 0) return known[i].bits;
    return strncmp(dtype, "f8", 2) == 0 ? 8 : -1;
}

/* One array type at *p, after which *p stands. */
static bool one_type(const char **p, char dtype[16], str *shape, int64_t *bytes) {
    size_t n = 0;
    const char *s = *p;
    while (isalnum((unsigned char)s[n]) && n < 15) n++;
    if (n == 0 || s[n] != '[') return false;
    snprintf(dtype, 16, "%.*s", (int)n, s);
    int64_t count = 1, bits = bits_of(dtype);
    for (s += n + 1; *s && *s != ']';) {
        char *end;
        while (*s == '<' || *s == '=') s++;
        int64_t d = strtoll(s, &end, 10);
        if (end == s) return false;
        count *= d;
        if (shape) str_printf(shape, "%s%lld", shape->len ? "x" : "", (long long)d);
        s = end + (*end == ',');
    }
    if (*s != ']') return false;
    *bytes = bits < 0 ? -1 : (count * bits + 7) / 8;
    *p = s + 1;
    return true;
}

void hlo_type_read(const char *type, uint32_t *out_shape, uint32_t *out_dtype, int64_t *out_bytes) {
    str shape = STR_INIT;
    char dtype[16];
    *out_shape = *out_dtype = 0;
    *out_bytes = -1;
    if (one_type(&type, dtype, &shape, out_bytes)) {
        *out_shape = intern(str_cstr(&shape));
        *out_dtype = intern(dtype);
    }
    str_free(&shape);
}

/* Bytes of a type, tuples added up. For the -start form of a collective, the tuple repeats operands before results:
 * half of it moves. */
static int64_t type_bytes(const char *type, const char *end) {
    int64_t sum = 0;
    for (const char *p = type; p < end;) {
        char dtype[16];
        int64_t bytes;
        if (isalpha((unsigned char)*p) && (p == type || !isalnum((unsigned char)p[-1])) &&
            one_type(&p, dtype, NULL, &bytes))
            sum += bytes > 0 ? bytes : 0;
        else
            p++;
    }
    return sum;
}

/* --- replica groups --- */
static int read_numbers(const char *p, char stop, int64_t *out, int max) {
    int n = 0;
    while (*p && *p != stop && n < max) {
        char *end;
        int64_t v = strtoll(p, &end, 10);
        if (end == p) break;
        out[n++] = v;
        p = end + (*end == ',');
    }
    return n;
}

/* "[4,8]<=[8,4]T(1,0)": the devices 0.. of a grid [8,4], transposed, cut into 4 groups of 8. */
static int iota_group(const char *p, int64_t *group, int max) {
    int64_t shape[8], grid[8], perm[8];
    int ns = read_numbers(p + 1, ']', shape, 8);
    const char *from = strstr(p, "<=["), *t;
    if (!from || ns < 2) return 0;
    int ng = read_numbers(from + 3, ']', grid, 8), np = 0;
    const char *close = strchr(from, ']');
    if (close && close[1] == 'T' && (t = close + 2)) np = read_numbers(t + 1, ')', perm, 8);
    for (int i = np; i < ng; i++) perm[i] = i;
    int64_t stride[8], s = 1, size = shape[ns - 1];
    for (int i = ng; i-- > 0; s *= grid[i]) stride[i] = s;
    int n = 0;
    for (int64_t k = 0; k < size && n < max; k++) { /* element k of the transposed grid, row-major */
        int64_t left = k, at = 0;
        for (int i = ng; i-- > 0; left /= grid[perm[i]]) at += left % grid[perm[i]] * stride[perm[i]];
        group[n++] = at;
    }
    return n;
}

static int first_group(const char *line, int64_t *group, int max) {
    const char *p = strstr(line, "replica_groups=");
    if (p) {
        p += 15;
        if (*p == '[') return iota_group(p, group, max);
        while (*p == '{') p++;
        return read_numbers(p, '}', group, max);
    }
    if ((p = strstr(line, "source_target_pairs={{"))) return read_numbers(p + 22, '}', group, max);
    return 0;
}

static void read_collective(const char *line, const char *type, const char *op, size_t op_len, int64_t ordinal,
                            uint32_t name, plan_memory *m) {
    static const char *const kinds[] = {"all-reduce",         "all-gather",           "reduce-scatter",   "all-to-all",
                                        "collective-permute", "collective-broadcast", "ragged-all-to-all"};
    bool start = op_len > 6 && strncmp(op + op_len - 6, "-start", 6) == 0;
    size_t len = start ? op_len - 6 : op_len;
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        if (strlen(kinds[i]) != len || strncmp(kinds[i], op, len) != 0) continue;
        plan_link l = {.op = intern(kinds[i]), .ordinal = ordinal, .bytes = type_bytes(type, op), .name = name};
        if (start && *type == '(' && strcmp(kinds[i], "all-reduce") != 0) l.bytes /= 2;
        l.n_group = first_group(line, l.group, (int)BASE_COUNT(l.group));
        if (l.n_group == 1) return; /* a device alone has nothing to send */
        (void)VEC_PUSH(m->links, m->n_links, m->cap_links, l);
        return;
    }
}

/* --- the program --- */
xt_status hlo_read(char *text, hlo *h, plan_memory *links) {
    if (!(h->by_name = map_new())) return status_oom(64, "a map");
    for (char *line = text, *next; line && *line; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        char *equal = strstr(line, " = "), *name = line;
        while (*name == ' ') name++;
        if (strncmp(name, "ROOT ", 5) == 0) name += 5;
        if (*name == '%') name++;
        size_t n = name_length(name);
        if (!equal || n == 0 || name + n != equal) continue;
        char *type = equal + 3, *op = type;
        for (int depth = 0; *op && !(depth == 0 && *op == ' '); op++)
            depth += (*op == '(' || *op == '{' || *op == '[') - (*op == ')' || *op == '}' || *op == ']');
        if (*op != ' ') continue;
        op++;
        size_t op_len = name_length(op);
        if (op_len == 0 || op[op_len] != '(') continue;
        const char *operand = op + op_len + 1;
        if (*operand == '%') operand++;
        hlo_op made = {ordinal_of(line), intern_n(op, op_len), intern_n(operand, name_length(operand))};
        if (!VEC_PUSH(h->ops, h->n, h->cap, made) || !map_put(h->by_name, name, n, (void *)(uintptr_t)h->n, NULL))
            return status_oom(h->n * sizeof made, "a program");
        read_collective(line, type, op, op_len, made.ordinal, intern_n(name, n), links);
    }
    return NULL;
}

void hlo_deinit(hlo *h) {
    if (h->by_name) map_free(h->by_name, NULL);
    base_free(h->ops);
    *h = (hlo){0};
}

bool hlo_find(const hlo *h, const char *name, int64_t *out_ordinal, uint32_t *out_op) {
    *out_ordinal = -1;
    for (int depth = 0; depth < 8 && h->by_name; depth++) {
        uintptr_t k = (uintptr_t)map_get(h->by_name, name, strlen(name));
        if (!k) return false;
        const hlo_op *op = &h->ops[k - 1];
        if (depth == 0) *out_op = op->op;
        if (op->ordinal >= 0) {
            *out_ordinal = op->ordinal;
            return true;
        }
        name = intern_text(op->operand);
    }
    return false;
}
