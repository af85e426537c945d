/* How many bytes a program moves between device memory and the chip, from XLA's program text: each instruction reads
 * its operands and writes its results, those that lie in on-chip memory ("S(1)" in a layout) apart. XLA's own
 * statistics, which are there only once code is made, count on-chip memory too and so exceed what the memory's
 * bandwidth bounds, by ten times where a model's activations stay on the chip. */
#include <stdlib.h>

#include "plan/hlo.h"

typedef struct use { /* an operand, in the list of who reads an instruction */
    size_t user, next; /* next: index + 1 */
    int position;
} use;
typedef struct reader {
    const hlo *h;
    use *uses;
    size_t n, cap;
    size_t *first_use; /* of each instruction: index + 1 */
} reader;

static bool is_slice(const hlo_op *op) {
    return hlo_is(op, "slice") || hlo_is(op, "dynamic-slice") || hlo_is(op, "gather");
}
static bool ends(const char *s, const char *ending) {
    size_t n = strlen(s), m = strlen(ending);
    return n >= m && strcmp(s + n - m, ending) == 0;
}

static bool find_uses(reader *r) {
    for (size_t i = 0; i < r->h->n; i++) {
        const char *at = r->h->ops[i].operands;
        int part, position = 0;
        for (const hlo_op *o; (o = hlo_next_operand(r->h, &at, &part)); position++) {
            size_t k = (size_t)(o - r->h->ops);
            if (!VEC_PUSH(r->uses, r->n, r->cap, ((use){i, r->first_use[k], position}))) return false;
            r->first_use[k] = r->n;
        }
    }
    return true;
}

/* Bytes of a type's arrays that lie in device memory, or all of them; of one part of a tuple, or of every (-1). */
static double bytes_of(const char *type, int part, bool anywhere) {
    double sum = 0;
    int k = 0;
    for (const char *p = type; *p;) {
        int64_t bytes;
        int space;
        bool begins = p == type || strchr("( ,", p[-1]);
        if (!begins || !hlo_array_read(&p, &bytes, &space)) {
            p++;
            continue;
        }
        if ((part < 0 || k == part) && bytes > 0 && (anywhere || space == 0)) sum += (double)bytes;
        k++;
    }
    return sum;
}

/* What a fused computation reads of a parameter: where only slices are taken of it, those. */
static double read_of(const reader *r, const hlo_op *value, int depth) {
    double whole = bytes_of(value->type, -1, true), sum = 0;
    for (size_t k = r->first_use[value - r->h->ops]; k; k = r->uses[k - 1].next) {
        const hlo_op *user = &r->h->ops[r->uses[k - 1].user];
        bool first = r->uses[k - 1].position == 0;
        if (first && is_slice(user))
            sum += bytes_of(user->type, -1, true);
        else if (hlo_is(user, "bitcast") && depth < 8)
            sum += read_of(r, user, depth + 1);
        else if (!first || !hlo_is(user, "dynamic-update-slice"))
            return whole;
    }
    return sum < whole ? sum : whole;
}

/* An update in place writes the update alone. -1: this is none. */
static double updated_by(const reader *r, const hlo_op *op) {
    int part;
    const char *at = op->operands;
    if (!hlo_is(op, "dynamic-update-slice") || !hlo_next_operand(r->h, &at, &part)) return -1;
    const hlo_op *update = hlo_next_operand(r->h, &at, &part);
    return update ? bytes_of(update->type, part, true) : -1;
}
static double updated_in(const reader *r, const hlo_computation *c) {
    for (size_t i = 0; c && i < c->n; i++)
        if (r->h->ops[c->first + i].root) return updated_by(r, &r->h->ops[c->first + i]);
    return -1;
}

static const hlo_computation *called(const reader *r, const hlo_op *op, const char *word) {
    const char *p = strstr(op->attributes, word);
    return p ? hlo_computation_at(r->h, p + strlen(word)) : NULL;
}

/* Names that take no time: nothing is moved by them, or it was counted where it began. */
static bool moves_nothing(const char *op) {
    static const char *const names[] = {"parameter",    "constant",   "tuple",     "get-tuple-element", "bitcast",
                                        "partition-id", "replica-id", "after-all", "opt-barrier"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strcmp(op, names[i]) == 0) return true;
    return ends(op, "-done") || ends(op, "-update");
}

static double instruction(const reader *r, const hlo_op *op) {
    const hlo_computation *fused = hlo_is(op, "fusion") ? called(r, op, "calls=") : NULL;
    double sum = 0, update = fused ? updated_in(r, fused) : updated_by(r, op);
    const char *at = op->operands;
    int part, position = 0;
    for (const hlo_op *o; (o = hlo_next_operand(r->h, &at, &part)); position++) {
        double bytes = bytes_of(o->type, part, false), read = bytes;
        const hlo_op *inside = fused && bytes > 0 ? hlo_parameter(r->h, fused, position) : NULL;
        if (inside)
            read = read_of(r, inside, 0);
        else if (position == 0 && is_slice(op))
            read = bytes_of(op->type, -1, true);
        else if (position == 0 && update >= 0)
            read = 0;
        sum += read < bytes ? read : bytes;
    }
    /* what begins and ends apart repeats its operands behind its result */
    double written = bytes_of(op->type, ends(intern_text(op->op), "-start") ? 0 : -1, false);
    return sum + (update >= 0 && update < written ? update : written);
}

static double computation(const reader *r, const hlo_computation *c, int depth);

/* Of the branches of a conditional, the one that moves most. */
static double branches(const reader *r, const hlo_op *op, int depth) {
    static const char *const words[] = {"true_computation=", "false_computation=", "branch_computations={"};
    double most = 0;
    for (size_t i = 0; i < BASE_COUNT(words); i++) {
        const char *p = strstr(op->attributes, words[i]);
        for (p = p ? p + strlen(words[i]) : NULL; p; p = i == 2 ? strchr(p, ',') : NULL) {
            while (*p == ',' || *p == ' ') p++;
            const hlo_computation *c = hlo_computation_at(r->h, p);
            if (!c) break;
            double bytes = computation(r, c, depth + 1);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

static double turns(const hlo_op *op) {
    const char *p = strstr(op->attributes, "known_trip_count");
    p = p ? strstr(p, "\"n\":\"") : NULL;
    return p ? strtod(p + 5, NULL) : 1;
}

static double computation(const reader *r, const hlo_computation *c, int depth) {
    double sum = 0;
    for (size_t i = 0; c && depth < 32 && i < c->n; i++) {
        const hlo_op *op = &r->h->ops[c->first + i];
        if (hlo_is(op, "while"))
            sum += turns(op) * computation(r, called(r, op, "body="), depth + 1);
        else if (hlo_is(op, "call"))
            sum += computation(r, called(r, op, "to_apply="), depth + 1);
        else if (hlo_is(op, "conditional"))
            sum += branches(r, op, depth);
        else if (!moves_nothing(intern_text(op->op)))
            sum += instruction(r, op);
    }
    return sum;
}

double hlo_traffic(const hlo *h) {
    reader r = {.h = h, .first_use = h->entry ? base_calloc(h->n + 1, sizeof *r.first_use) : NULL};
    double bytes = r.first_use && find_uses(&r) ? computation(&r, &h->computations[h->entry - 1], 0) : -1;
    base_free(r.uses);
    base_free(r.first_use);
    return bytes;
}
