/* Tables over options, and how tables of plans are printed. */
#include "cli/plan.h"

#include <stdlib.h>
#include <string.h>

static void print_json(const char *title, const plan_row *rows, int n) {
    cli_printf("{\"%s\": [", title);
    for (int i = 0; i < n; i++) {
        const plan_row *r = &rows[i];
        cli_printf("%s{\"name\": ", i ? ", " : "");
        plan_json_string(stdout, r->name);
        if (r->failed) {
            cli_printf(", \"error\": ");
            plan_json_string(stdout, r->why);
            cli_printf("}");
        } else
            cli_printf(", \"batch\": %lld, \"peak_bytes\": %lld, \"fits\": %s, \"step_ms_estimate\": %.6g, "
                       "\"collective_bytes\": %lld}",
                       (long long)r->batch, (long long)r->peak_bytes, r->fits ? "true" : "false", r->step_ms,
                       (long long)r->moved_bytes);
    }
    cli_printf("]}\n");
}

void plan_print_rows(const char *title, const plan_row *rows, int n, bool json) {
    char a[32], b[32];
    if (json) {
        print_json(title, rows, n);
        return;
    }
    cli_printf("%-52s %12s %14s %14s  %s\n", title, "peak", "step estimate", "collectives", "fits");
    for (int i = 0; i < n; i++) {
        const plan_row *r = &rows[i];
        if (r->failed)
            cli_printf("%-52s %s\n", r->name, r->why);
        else
            cli_printf("%-52s %12s %11.4g ms %14s  %s\n", r->name, plan_bytes(r->peak_bytes, a, sizeof a), r->step_ms,
                       plan_bytes(r->moved_bytes, b, sizeof b), r->fits ? "yes" : "no");
    }
}

/* "batch=8:64,topology=v4:2x2x1,v4:2x2x2,precision=fp32,bf16": a word with '=' begins a key, the others are more values
 * of it; A:B doubles from A to B. */
enum { MOST_VALUES = 32 };
typedef struct sweep_key {
    const char *name, *values[MOST_VALUES];
    int n;
} sweep_key;

static int64_t range_end(const char *v, int64_t *from) {
    char *end;
    *from = strtoll(v, &end, 10);
    if (*end != ':' || end == v) return 0;
    int64_t to = strtoll(end + 1, &end, 10);
    return *end ? 0 : to;
}

static bool positive(const char *v, int64_t *out) {
    char *end;
    *out = strtoll(v, &end, 10);
    return end != v && !*end && *out > 0;
}

static bool set_key(plan_case *c, const char *key, const char *v) {
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"batch", &c->batch}, {"seq", &c->seq}, {"side", &c->side}, {"accumulate", &c->accumulate}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(key, numbers[i].name) == 0) return positive(v, numbers[i].number);
    if (strcmp(key, "precision") == 0) {
        c->bf16 = strcmp(v, "bf16") == 0;
        return c->bf16 || strcmp(v, "fp32") == 0;
    }
    if (strcmp(key, "topology") == 0) c->topology = v;
    return strcmp(key, "topology") == 0;
}

/* One more row for each combination: how many there are now, -1 for a value that is none, -2 for too many. */
static int combine(const plan_case *c, const sweep_key *keys, int n_keys, const char *name, plan_row *rows, int n) {
    if (n_keys == 0) {
        if (n >= PLAN_MOST_ROWS) return -2;
        rows[n] = (plan_row){.c = *c, .batch = plan_case_batch(c)};
        snprintf(rows[n].name, sizeof rows[n].name, "%s", name);
        return n + 1;
    }
    for (int i = 0; i < keys->n; i++) {
        int64_t from, to = range_end(keys->values[i], &from);
        bool range = to > 0 && from > 0;
        for (int64_t v = from; range ? v <= to : v == from; v *= 2) {
            plan_case next = *c;
            char value[64], longer[256];
            if (range)
                snprintf(value, sizeof value, "%lld", (long long)v);
            else
                snprintf(value, sizeof value, "%s", keys->values[i]);
            if (!set_key(&next, keys->name, range ? value : keys->values[i])) return -1;
            snprintf(longer, sizeof longer, "%.150s%s%s=%s", name, *name ? ", " : "", keys->name, value);
            if ((n = combine(&next, keys + 1, n_keys - 1, longer, rows, n)) < 0) return n;
            if (!range) break;
        }
    }
    return n;
}

/* "KEY=VALUE" begins a key, a word without '=' is one more value of it. The texts stay in `text`. */
static int read_keys(char *text, sweep_key *keys, int max) {
    int n = 0;
    char *save = NULL;
    for (char *t = strtok_r(text, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(t, '=');
        if (eq) {
            if (n == max) return -1;
            *eq = 0;
            keys[n++] = (sweep_key){t, {eq + 1}, 1};
        } else if (n > 0 && keys[n - 1].n < MOST_VALUES)
            keys[n - 1].values[keys[n - 1].n++] = t;
        else
            return -1;
    }
    return n;
}

int plan_sweep(const plan_case *base, const char *spec, bool json) {
    sweep_key keys[6] = {{0}};
    char *text = strdup(spec);
    plan_row *rows = calloc(PLAN_MOST_ROWS, sizeof *rows);
    plan_case c = *base;
    c.quick = true;
    c.dump = NULL;
    int n_keys = text && rows ? read_keys(text, keys, 6) : -1,
        n = n_keys > 0 ? combine(&c, keys, n_keys, "", rows, 0) : -1;
    if (n > 0) {
        plan_rows_run(rows, n, base->jobs);
        plan_print_rows("sweep", rows, n, json);
    } else if (n == -2)
        cli_fprintf(stderr, "xtrain plan: --sweep %s: more than %d combinations\n", spec, PLAN_MOST_ROWS);
    else
        cli_fprintf(
            stderr,
            "xtrain plan: --sweep %s: lists of batch, seq, side, topology, precision or accumulate are expected, "
            "as batch=8:64,topology=v4:2x2x1,v5e:2x2\n",
            spec);
    free(rows);
    free(text);
    return n > 0 ? 0 : 2;
}
