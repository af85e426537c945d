/* Option structs described by rows: the same table checks a struct made in C, reads a flag, a config file or a
 * checkpoint, and prints --help. Fields by kind: int, int64_t, double, xt_switch, const char *, and an int-sized enum.
 * A table's defaults are a struct of its type, made of the one list that its header has (XT_DEFAULTS_...): what a field
 * holds is what was asked for, 0 as well. XT_AUTO and XT_UNSET are "not given" where that is no number; an XT_AUTO
 * takes what the defaults have, so one struct may have other defaults for each function. Numbers pass through double on
 * range checks, exact up to 2^53. */
#include <limits.h>
#include <math.h>
#include <strings.h>

#include "base/base.h"

static void *field_of(const option_row *row, void *opts) {
    return (char *)opts + row->offset;
}

/* The field as a number; strings have none. */
static double number_in(const option_row *row, const void *opts) {
    const void *field = (const char *)opts + row->offset;
    switch (row->kind) {
    case OPTION_INT:
    case OPTION_SWITCH:
    case OPTION_ENUM: return *(const int *)field;
    case OPTION_I64: return (double)*(const int64_t *)field;
    case OPTION_DOUBLE: return *(const double *)field;
    case OPTION_STRING: break;
    }
    return 0;
}

static void store_number(const option_row *row, void *opts, double v) {
    void *field = field_of(row, opts);
    switch (row->kind) {
    case OPTION_INT:
    case OPTION_SWITCH:
    case OPTION_ENUM: *(int *)field = (int)v; break;
    case OPTION_I64: *(int64_t *)field = (int64_t)v; break;
    case OPTION_DOUBLE: *(double *)field = v; break;
    case OPTION_STRING: break;
    }
}

static int enum_count(const option_row *row) {
    int n = 0;
    while (row->enum_names && row->enum_names[n]) n++;
    return n;
}

static bool has_range(const option_row *row) {
    return row->min != 0 || row->max != 0;
}

static void append_names(const option_row *row, str *out) {
    for (int i = 0; i < enum_count(row); i++) str_printf(out, "%s%s", i ? ", " : "", row->enum_names[i]);
}

static const char *const switch_names[] = {[XT_OFF] = "off", [XT_ON] = "on", [XT_DEFAULT] = "default", NULL};

static void append_number(const option_row *row, double v, str *out) {
    const char *const *names = row->kind == OPTION_SWITCH ? switch_names
                               : row->kind == OPTION_ENUM ? row->enum_names
                                                          : NULL;
    int n = row->kind == OPTION_SWITCH ? 3 : row->kind == OPTION_ENUM ? enum_count(row) : 0;
    char shortest[40];
    if (names && v >= 0 && v < n) {
        str_append(out, names[(int)v]);
        return;
    }
    /* The fewest digits that read back as the same number. */
    for (int digits = 6; digits <= 17; digits++) {
        str text = STR_INIT;
        double back;
        str_printf(&text, "%.*g", digits, v);
        bool exact = parse_double(str_cstr(&text), &back) && (back == v || isnan(v));
        snprintf(shortest, sizeof shortest, "%s", str_cstr(&text));
        str_free(&text);
        if (exact) break;
    }
    str_append(out, shortest);
}

/* Stands for what the function chooses, and is no value to tell anybody. */
static bool is_chosen(const option_row *row, double v) {
    return (row->kind == OPTION_DOUBLE && v == XT_AUTO) || (row->kind == OPTION_I64 && v == (double)XT_UNSET);
}

/* "max_epochs = -3 is out of range: expected 0 to 1e+06"; what the table knows about the field, in one sentence. */
static xt_status out_of_range(const option_row *row, double v, const void *defaults, const char *what) {
    str text = STR_INIT;
    str_printf(&text, "%s%s%s = ", what, *what ? "." : "", row->name);
    append_number(row, v, &text);
    str_append(&text, " is out of range: expected ");
    if (row->kind == OPTION_ENUM) {
        append_names(row, &text);
    } else if (row->kind == OPTION_SWITCH) {
        str_append(&text, "XT_ON or XT_OFF");
    } else if (!has_range(row)) {
        str_append(&text, "a number");
    } else if (isinf(row->max)) {
        str_append(&text, "at least ");
        append_number(row, row->min, &text);
    } else {
        append_number(row, row->min, &text);
        str_append(&text, " to ");
        append_number(row, row->max, &text);
    }
    bool number = row->kind == OPTION_INT || row->kind == OPTION_I64 || row->kind == OPTION_DOUBLE;
    if (number && !is_chosen(row, number_in(row, defaults))) {
        str_append(&text, " (default ");
        append_number(row, number_in(row, defaults), &text);
        str_putc(&text, ')');
    }
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return s;
}

static bool in_range(const option_row *row, double v) {
    if (row->kind == OPTION_ENUM) return v >= 0 && v < enum_count(row);
    if (row->kind == OPTION_SWITCH) return v >= XT_OFF && v <= XT_DEFAULT;
    if (!has_range(row)) return !isnan(v);
    return v >= row->min && v <= row->max; /* false for NaN */
}

static __thread options_by_name *given;

void options_give(options_by_name *g) {
    given = g;
}

static xt_status take_given(const option_row *rows, size_t n, void *opts, const void *defaults) {
    options_by_name *g = given;
    xt_status s = NULL;
    given = NULL;
    for (int i = 0; g && i < g->n && !s; i++) s = options_set(rows, n, opts, defaults, g->names[i], g->values[i]);
    if (g) g->n = -1;
    return s;
}

xt_status options_check(const option_row *rows, size_t n, void *opts, const void *defaults, const char *what) {
    if (given) XT_TRY(status_context(take_given(rows, n, opts, defaults), "%s", what));
    for (size_t i = 0; i < n; i++) {
        const option_row *row = &rows[i];
        if (row->kind == OPTION_STRING) continue;
        double v = number_in(row, opts), own = number_in(row, defaults);
        if (row->kind == OPTION_DOUBLE && v == XT_AUTO) store_number(row, opts, v = own);
        if (v != own && !in_range(row, v)) return out_of_range(row, v, defaults, what);
    }
    return NULL;
}

bool options_same_name(const char *field, const char *name) {
    for (; *field && *name; field++, name++)
        if (*field != (*name == '-' ? '_' : *name)) return false;
    return *field == *name;
}

static xt_status find_row(const option_row *rows, size_t n, const char *name, const option_row **out) {
    for (size_t i = 0; i < n; i++) {
        if (!options_same_name(rows[i].name, name)) continue;
        *out = &rows[i];
        return NULL;
    }
    const char **names = base_calloc(n, sizeof *names);
    if (!names) return status_oom(n * sizeof *names, "option names");
    for (size_t i = 0; i < n; i++) names[i] = rows[i].name;
    const char *near = text_nearest(name, names, n);
    base_free(names);
    if (near) return status_new(XT_NOT_FOUND, NULL, "there is no option %s; did you mean %s?", name, near);
    return status_new(XT_NOT_FOUND, NULL, "there is no option %s; --help lists them", name);
}

static bool enum_value(const option_row *row, const char *text, int *out) {
    for (int i = 0; i < enum_count(row); i++) {
        if (strcasecmp(row->enum_names[i], text) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

static xt_status set_enum(const option_row *row, int *field, const char *value) {
    if (enum_value(row, value, field)) return NULL;
    str names = STR_INIT;
    append_names(row, &names);
    const char *near = text_nearest(value, row->enum_names, (size_t)enum_count(row));
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: expected one of %s%s%s%s", row->name, value,
                             str_cstr(&names), near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    str_free(&names);
    return s;
}

static xt_status set_switch(const option_row *row, int *field, const char *value) {
    bool on;
    if (strcasecmp(value, "default") == 0)
        *field = XT_DEFAULT;
    else if (parse_flag(value, &on))
        *field = on ? XT_ON : XT_OFF;
    else
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: expected on or off", row->name, value);
    return NULL;
}

/* Whole numbers may be written as 1e6; a fraction or what does not fit the field is refused. */
static xt_status set_number(const option_row *row, void *opts, const void *defaults, const char *value) {
    int64_t whole = 0;
    double v;
    bool exact = row->kind != OPTION_DOUBLE && parse_i64(value, &whole);
    if (exact)
        v = (double)whole;
    else if (!parse_double(value, &v))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: expected a number", row->name, value);
    bool fits = row->kind == OPTION_INT ? v >= INT_MIN && v <= INT_MAX : exact || fabs(v) < 0x1p63;
    if (row->kind != OPTION_DOUBLE && (!fits || v != trunc(v)))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: expected a whole number%s", row->name, value,
                          row->kind == OPTION_INT ? " of 32 bits" : "");
    if (v != number_in(row, defaults) && !in_range(row, v)) return out_of_range(row, v, defaults, "");
    if (row->kind == OPTION_I64 && exact)
        *(int64_t *)field_of(row, opts) = whole;
    else
        store_number(row, opts, v);
    return NULL;
}

xt_status options_set(const option_row *rows, size_t n, void *opts, const void *defaults, const char *name,
                      const char *value) {
    const option_row *row = NULL;
    XT_TRY(find_row(rows, n, name, &row));
    void *field = field_of(row, opts);
    switch (row->kind) {
    case OPTION_ENUM: return set_enum(row, field, value);
    case OPTION_SWITCH: return set_switch(row, field, value);
    case OPTION_STRING: {
        uint32_t id = intern(value);
        if (!id && *value) return status_oom(strlen(value), name);
        *(const char **)field = id ? intern_text(id) : NULL;
        return NULL;
    }
    case OPTION_INT:
    case OPTION_I64:
    case OPTION_DOUBLE: break;
    }
    return set_number(row, opts, defaults, value);
}

/* The value as options_set reads it; nothing for a field that the function chooses. */
static void append_value(const option_row *row, const void *opts, str *out) {
    const void *field = (const char *)opts + row->offset;
    if (row->kind == OPTION_STRING) {
        const char *text = *(const char *const *)field;
        str_append(out, text ? text : "");
    } else if (is_chosen(row, number_in(row, opts))) {
        return;
    } else if (row->kind == OPTION_I64) {
        str_printf(out, "%lld", (long long)*(const int64_t *)field);
    } else {
        append_number(row, number_in(row, opts), out);
    }
}

xt_status options_get(const option_row *rows, size_t n, const void *opts, const char *name, str *out) {
    const option_row *row = NULL;
    XT_TRY(find_row(rows, n, name, &row));
    append_value(row, opts, out);
    return out->failed ? status_oom(out->len, name) : NULL;
}

void options_help(const option_row *rows, size_t n, const void *defaults, str *out) {
    for (size_t i = 0; i < n; i++) {
        static const char *const words[] = {
            [OPTION_INT] = "N",         [OPTION_I64] = "N",       [OPTION_DOUBLE] = "X",
            [OPTION_SWITCH] = "on|off", [OPTION_STRING] = "TEXT", [OPTION_ENUM] = "NAME",
        };
        const option_row *row = &rows[i];
        str left = STR_INIT;
        str_printf(&left, "--%s %s", row->name, words[row->kind]);
        str_printf(out, "  %-32s %s", str_cstr(&left), row->help);
        str_free(&left);
        if (row->kind == OPTION_ENUM) {
            str_append(out, ": ");
            append_names(row, out);
        }
        double own = number_in(row, defaults);
        bool said = own != 0 && !(row->kind == OPTION_SWITCH && own == XT_DEFAULT);
        if (row->kind != OPTION_STRING && !is_chosen(row, own) && (said || row->kind == OPTION_ENUM)) {
            str_append(out, " (default ");
            append_number(row, own, out);
            str_putc(out, ')');
        }
        str_putc(out, '\n');
    }
}
