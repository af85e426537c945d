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

/* --- the program --- */
static char *skip_percent(char *s) {
    return s + (*s == '%');
}

/* "ENTRY %main.0 (x: f32[2]) -> f32[2] {" or "%region_1.2 (...) -> ... {": a computation begins. */
static bool read_computation(char *line, hlo *h, bool *out_failed) {
    size_t length = strlen(line);
    bool entry = strncmp(line, "ENTRY ", 6) == 0;
    char *name = skip_percent(line + (entry ? 6 : 0));
    size_t n = name_length(name);
    while (length > 0 && isspace((unsigned char)line[length - 1])) length--;
    if (*line == ' ' || n == 0 || length == 0 || line[length - 1] != '{' || name[n] != ' ') return false;
    hlo_computation c = {.first = h->n};
    *out_failed |= !VEC_PUSH(h->computations, h->n_computations, h->cap_computations, c) ||
                   !map_put(h->computation_by_name, name, n, (void *)(uintptr_t)h->n_computations, NULL);
    if (entry) h->entry = h->n_computations;
    return true;
}

/* The end of a list in brackets that has begun before s. */
static char *closing(char *s) {
    for (int depth = 1; *s; s++) {
        depth += (*s == '(' || *s == '{' || *s == '[') - (*s == ')' || *s == '}' || *s == ']');
        if (depth == 0) break;
    }
    return s;
}

static bool read_instruction(char *line, hlo *h) {
    char *equal = strstr(line, " = "), *name = line;
    while (*name == ' ') name++;
    bool root = strncmp(name, "ROOT ", 5) == 0;
    name = skip_percent(name + (root ? 5 : 0));
    size_t n = name_length(name);
    if (!equal || n == 0 || name + n != equal) return true;
    char *type = equal + 3, *op = type;
    for (int depth = 0; *op && !(depth == 0 && *op == ' '); op++)
        depth += (*op == '(' || *op == '{' || *op == '[') - (*op == ')' || *op == '}' || *op == ']');
    if (*op != ' ') return true;
    *op++ = 0;
    size_t op_len = name_length(op);
    if (op_len == 0 || op[op_len] != '(') return true;
    char *operands = op + op_len + 1, *end = closing(operands);
    hlo_op made = {.ordinal = ordinal_of(end),
                   .op = intern_n(op, op_len),
                   .name = intern_n(name, n),
                   .root = root,
                   .computation = h->n_computations - (h->n_computations > 0),
                   .type = type,
                   .operands = operands,
                   .attributes = *end ? end + 1 : end};
    *end = 0;
    if (h->n_computations > 0) h->computations[h->n_computations - 1].n++;
    return VEC_PUSH(h->ops, h->n, h->cap, made) && map_put(h->by_name, name, n, (void *)(uintptr_t)h->n, NULL);
}

static void find_callers(hlo *h) {
    for (size_t i = 0; i < h->n; i++) {
        const char *p = hlo_is(&h->ops[i], "fusion") ? strstr(h->ops[i].attributes, "calls=") : NULL;
        const hlo_computation *c = p ? hlo_computation_at(h, p + 6) : NULL;
        if (c) h->computations[c - h->computations].caller = i + 1;
    }
}

xt_status hlo_read(char *text, hlo *h) {
    bool failed = false;
    if (!(h->by_name = map_new()) || !(h->computation_by_name = map_new())) return status_oom(64, "a map");
    for (char *line = text, *next; line && *line && !failed; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        if (!read_computation(line, h, &failed)) failed |= !read_instruction(line, h);
    }
    if (!failed) find_callers(h);
    return failed ? status_oom(h->n * sizeof *h->ops, "a program") : NULL;
}

void hlo_deinit(hlo *h) {
    if (h->by_name) map_free(h->by_name, NULL);
    if (h->computation_by_name) map_free(h->computation_by_name, NULL);
    base_free(h->ops);
    base_free(h->computations);
    *h = (hlo){0};
}

static uintptr_t named_at(const map *m, const char *text, size_t *out_n) {
    const char *name = text + (*text == '%');
    size_t n = name_length(name);
    *out_n = n + (size_t)(name - text);
    return n ? (uintptr_t)map_get(m, name, n) : 0;
}

const hlo_op *hlo_op_at(const hlo *h, const char *text, size_t *out_n) {
    uintptr_t k = named_at(h->by_name, text, out_n);
    return k ? &h->ops[k - 1] : NULL;
}

const hlo_computation *hlo_computation_at(const hlo *h, const char *text) {
    size_t n;
    uintptr_t k = named_at(h->computation_by_name, text, &n);
    return k ? &h->computations[k - 1] : NULL;
}

bool hlo_array_read(const char **text, int64_t *out_bytes, int *out_space) {
    char dtype[16];
    *out_space = 0;
    if (!one_type(text, dtype, NULL, out_bytes)) return false;
    if (**text != '{') return true;
    const char *end = strchr(*text, '}'), *space = strstr(*text, "S(");
    if (end && space && space < end) *out_space = (int)strtol(space + 2, NULL, 10);
    if (end) *text = end + 1;
    return true;
}

bool hlo_is(const hlo_op *op, const char *name) {
    return strcmp(intern_text(op->op), name) == 0;
}

const hlo_op *hlo_next_operand(const hlo *h, const char **at, int *out_part) {
    while (**at) {
        const char *p = strchr(*at, '%');
        size_t n;
        if (!p) break;
        const hlo_op *op = hlo_op_at(h, p, &n);
        *at = p + n;
        *out_part = **at == '#' ? (int)strtol(*at + 1, NULL, 10) : -1;
        if (op) return op;
        if (n < 2) *at = p + 1;
    }
    return NULL;
}

const hlo_op *hlo_parameter(const hlo *h, const hlo_computation *c, int number) {
    for (size_t i = 0; c && i < c->n; i++) {
        const hlo_op *op = &h->ops[c->first + i];
        if (hlo_is(op, "parameter") && strtol(op->operands, NULL, 10) == number) return op;
    }
    return NULL;
}

static const hlo_op *operand(const hlo *h, const hlo_op *op, int position) {
    const char *at = op->operands;
    int part;
    const hlo_op *o = NULL;
    for (int i = 0; i <= position && (o = hlo_next_operand(h, &at, &part)); i++) continue;
    return o;
}

static const hlo_op *root_of(const hlo *h, const hlo_op *fusion) {
    const char *p = hlo_is(fusion, "fusion") ? strstr(fusion->attributes, "calls=") : NULL;
    const hlo_computation *c = p ? hlo_computation_at(h, p + 6) : NULL;
    for (size_t i = 0; c && i < c->n; i++)
        if (h->ops[c->first + i].root) return &h->ops[c->first + i];
    return NULL;
}

/* Steps that are left of a search, so that a program of any shape takes no time. */
static bool origin(const hlo *h, const hlo_op *op, int *steps, hlo_origin *out) {
    if (!op || --*steps < 0) return false;
    if (op->ordinal >= 0) {
        out->ordinal = op->ordinal;
        return true;
    }
    if (hlo_is(op, "parameter")) {
        size_t caller = h->n_computations ? h->computations[op->computation].caller : 0;
        long number = strtol(op->operands, NULL, 10);
        if (caller) return origin(h, operand(h, &h->ops[caller - 1], (int)number), steps, out);
        if (op->computation + 1 != h->entry) return false;
        out->input = (int32_t)number;
        return true;
    }
    return origin(h, root_of(h, op), steps, out) || origin(h, operand(h, op, 0), steps, out);
}

static const hlo_op *reader_of(const hlo *h, const hlo_op *op) {
    const hlo_computation *c = h->n_computations ? &h->computations[op->computation] : NULL;
    for (size_t i = (size_t)(op - h->ops) + 1; c && i < c->first + c->n; i++) {
        const char *at = h->ops[i].operands;
        int part;
        for (const hlo_op *o; (o = hlo_next_operand(h, &at, &part));)
            if (o == op) return &h->ops[i];
    }
    return NULL;
}

hlo_origin hlo_origin_of(const hlo *h, const hlo_op *op) {
    enum { MOST_STEPS = 64, MOST_READERS = 4 };
    hlo_origin found = {-1, -1};
    int steps = MOST_STEPS;
    for (int k = 0; op && k < MOST_READERS && !origin(h, op, &steps, &found); k++) op = reader_of(h, op);
    return found;
}

bool hlo_find(const hlo *h, const char *name, hlo_origin *out, uint32_t *out_op) {
    size_t n;
    const hlo_op *op = h->by_name ? hlo_op_at(h, name, &n) : NULL;
    *out = (hlo_origin){-1, -1};
    if (!op) return false;
    *out_op = op->op;
    *out = hlo_origin_of(h, op);
    return true;
}
