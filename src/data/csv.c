/* Datasets of numbers in CSV files (RFC 4180, with any one-character separator). The file stays on disk: opening it
 * goes over it once in pieces, which looks at every value that will be used, so a bad one is told at once and not
 * after hours of training, and notes where each row begins (8 bytes a row). A sample is one positioned read of its
 * row, from any thread. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <unistd.h>

#include "base/look.h"
#include "base/private_file.h"
#include "data/data.h"

enum { PIECE = 1 << 18, MOST_COLUMNS = 1 << 16, MOST_RECORD = 4 << 20 };

typedef struct column { /* of the file */
    char *name;
    int in_x, in_y; /* places there; -1: not asked for */
} column;

typedef struct csv {
    int fd;
    char *path;
    char separator;
    column *columns;
    size_t n_columns;
    map *by_name; /* -> 1 + the column's number; names from a header */
    int64_t *rows; /* where each begins, and where the last ends */
    size_t n_rows, cap_rows;
    int n_x, n_y;
    xt_dtype x_dtype, y_dtype;
    bool y_whole; /* so far all values of y are whole numbers */
} csv;

static void csv_free(void *user) {
    csv *c = user;
    if (!c) return;
    if (c->fd >= 0) close(c->fd);
    for (size_t k = 0; k < c->n_columns; k++) base_free(c->columns[k].name);
    map_free(c->by_name, NULL);
    base_free(c->columns);
    base_free(c->rows);
    base_free(c->path);
    base_free(c);
}

/* --- records: lines, where quotes do not hold a line's end inside --- */
typedef struct reader {
    const csv *c;
    char *text;
    size_t at, end, cap; /* text[at, end) is not given out yet */
    int64_t offset; /* in the file, of text[at] */
    int64_t line; /* of text[at], from 1 */
    bool done; /* the file has no more */
} reader;

static xt_status fill(reader *r) {
    if (r->at) {
        memmove(r->text, r->text + r->at, r->end - r->at);
        r->end -= r->at;
        r->at = 0;
    }
    if (r->cap - r->end < PIECE + 1) {
        size_t cap = r->cap ? r->cap * 2 : 2 * PIECE + 2;
        char *text = base_realloc(r->text, cap);
        if (!text) return status_oom(cap, "a line of a CSV file");
        r->text = text;
        r->cap = cap;
    }
    size_t n;
    XT_TRY(file_read_at(r->c->fd, r->c->path, r->text + r->end, PIECE, r->offset + (int64_t)r->end, &n));
    r->done = n < PIECE;
    r->end += n;
    return NULL;
}

static int64_t count_of(const char *text, size_t n, char what) {
    int64_t count = 0;
    for (const char *p = text, *end = text + n; (p = memchr(p, what, (size_t)(end - p))); p++) count++;
    return count;
}

/* The length of the record at r->at without its line end, and with it; false when the text ends inside. */
static bool record_length(const reader *r, size_t *out_n, size_t *out_whole) {
    if (!r->text) return false; /* nothing is read yet */
    const char *from = r->text + r->at, *end = r->text + r->end, *p = from, *newline;
    int64_t quotes = 0;
    while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
        quotes += count_of(p, (size_t)(newline - p), '"');
        p = newline + 1;
        if (quotes % 2 == 0) break;
    }
    if (!newline && !r->done) return false;
    size_t n = newline ? (size_t)(newline - from) : (size_t)(end - from);
    *out_whole = newline ? n + 1 : n;
    while (n && from[n - 1] == '\r') n--;
    *out_n = n;
    return true;
}

/* The next record that is not empty, NUL-terminated, in the reader's own memory, with its line and place; *out
 * NULL at the end. */
static xt_status next_record(reader *r, char **out, int64_t *out_line, int64_t *out_offset) {
    for (size_t n, whole;;) {
        while (!record_length(r, &n, &whole)) {
            if (r->end - r->at > MOST_RECORD)
                return status_new(
                    XT_INVALID_ARGUMENT, NULL,
                    "%s:%lld:1: the row that begins here has not ended after %d MiB; is a quote not closed?",
                    r->c->path, (long long)r->line, MOST_RECORD >> 20);
            XT_TRY(fill(r));
        }
        *out = NULL;
        *out_line = r->line;
        *out_offset = r->offset;
        if (!whole) return NULL;
        char *text = r->text + r->at;
        r->line += count_of(text, whole, '\n');
        r->offset += (int64_t)whole;
        r->at += whole;
        text[n] = 0; /* its line end, or the room that fill leaves */
        if (n == 0) continue;
        *out = text;
        return NULL;
    }
}

/* Cuts the next field off *at, without its quotes; false after the last. */
static bool next_field(char **at, char separator, char **out) {
    char *p = *at, *to = p;
    if (!p) return false;
    *out = p;
    if (*p == '"') {
        for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"';
            *to++ = *p;
        }
        p += *p == '"';
        while (*p && *p != separator) *to++ = *p++; /* after the closing quote nothing should stand */
    } else
        to = p = p + strcspn(p, (char[]){separator, 0});
    *at = *p ? p + 1 : NULL;
    *to = 0;
    return true;
}

/* --- values --- */
static bool blank(const char *text) {
    return text[strspn(text, " \t")] == 0;
}

/* What pandas takes for a missing value, too. */
static bool missing(const char *text) {
    static const char *const words[] = {"nan", "na", "n/a", "#n/a", "null", "none", "-nan", "?"};
    for (size_t i = 0; i < BASE_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0) return true;
    return blank(text);
}

static bool is_float(xt_dtype t) {
    return t == XT_F32 || t == XT_F64;
}

/* Puts the number `text` at place `at` of `out`; NULL or what is wrong with it. */
static const char *put(xt_dtype dtype, const char *text, void *out, int at) {
    double v;
    if (is_float(dtype)) {
        if (!parse_double(text, &v) || isnan(v)) return "is no number";
        if (dtype == XT_F64)
            ((double *)out)[at] = v;
        else
            ((float *)out)[at] = (float)v;
        return NULL;
    }
    int64_t whole;
    if (!parse_i64(text, &whole)) {
        if (!parse_double(text, &v) || isnan(v)) return "is no number";
        if (v != floor(v) || fabs(v) > 0x1p53) return "is no whole number";
        whole = (int64_t)v;
    }
    if (dtype == XT_I32 && (whole > INT32_MAX || whole < INT32_MIN)) return "does not fit into 32 bits";
    if (dtype == XT_I32)
        ((int32_t *)out)[at] = (int32_t)whole;
    else
        ((int64_t *)out)[at] = whole;
    return NULL;
}

static xt_status bad_field(const csv *c, int64_t line, const char *record, const char *field, const column *of,
                           const char *what) {
    const char *hint = strpbrk(field, ";|\t")
                           ? "; is another .separator meant?"
                           : "; columns of numbers are expected, and those of other things left out of .x and .y";
    if (missing(field)) what = "is missing", hint = "; leave such rows out of the file or fill them in";
    return status_new(XT_INVALID_ARGUMENT, NULL, "%s:%lld:%lld: the value of column \"%s\" %s%.40s%s%s%s", c->path,
                      (long long)line, (long long)(field - record) + 1, of->name, missing(field) ? "" : "(",
                      missing(field) ? "" : field, missing(field) ? "" : ") ", what, hint);
}

/* Puts a record's values in place, or only looks at them (x, y NULL). While the dtype of y is open, notes whether its
 * values are whole. */
static xt_status take_record(csv *c, char *record, int64_t line, void *x, void *y) {
    char *at = record, *field;
    double scratch;
    size_t k = 0;
    for (; next_field(&at, c->separator, &field); k++) {
        if (k >= c->n_columns) continue;
        const column *of = &c->columns[k];
        const char *wrong = NULL;
        if (of->in_x >= 0) wrong = put(c->x_dtype, field, x ? x : &scratch, x ? of->in_x : 0);
        if (!wrong && of->in_y >= 0 && c->y_dtype)
            wrong = put(c->y_dtype, field, y ? y : &scratch, y ? of->in_y : 0);
        else if (!wrong && of->in_y >= 0) {
            int64_t whole;
            wrong = put(XT_F64, field, &scratch, 0);
            c->y_whole = c->y_whole && parse_i64(field, &whole);
        }
        if (wrong) return bad_field(c, line, record, field, of, wrong);
    }
    if (k != c->n_columns)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s:%lld:1: this row has %zu fields, the first has %zu; is '%c' the separator?", c->path,
                          (long long)line, k, c->n_columns, c->separator);
    return NULL;
}

static xt_status csv_get(void *user, int64_t i, void *x, void *y) {
    csv *c = user;
    size_t n = (size_t)(c->rows[i + 1] - c->rows[i]);
    char *text = base_malloc(n + 1);
    if (!text) return status_oom(n + 1, "a row of a CSV file");
    size_t got;
    xt_status s = file_read_at(c->fd, c->path, text, n, c->rows[i], &got);
    if (s)
        s = status_context(s, "row %lld", (long long)i);
    else if (got < n)
        s = status_new(XT_DATA_LOSS, NULL,
                       "%s: row %lld cannot be read; the file has become shorter since it was opened", c->path,
                       (long long)i);
    else {
        size_t end = n;
        while (end && (text[end - 1] == '\n' || text[end - 1] == '\r')) end--;
        text[end] = 0;
        s = take_record(c, text, 0, x, y);
        if (s) s = status_context(s, "the file has changed since it was opened");
    }
    base_free(text);
    return s;
}

/* --- opening --- */
static xt_status add_column(csv *c, const char *name) {
    size_t cap = c->n_columns;
    if (c->n_columns >= MOST_COLUMNS)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: more than %d columns", c->path, MOST_COLUMNS);
    column new = {base_strdup(name), -1, -1};
    if ((c->n_columns & (c->n_columns - 1)) == 0) { /* full at each power of two */
        column *more = base_realloc(c->columns, (cap ? 2 * cap : 1) * sizeof *more);
        if (more) c->columns = more;
        if (!more) base_free(new.name), new.name = NULL;
    }
    if (!new.name) return status_oom(sizeof new, "a column's name");
    c->columns[c->n_columns++] = new;
    if (!map_put(c->by_name, new.name, strlen(new.name), (void *)(uintptr_t)c->n_columns, NULL))
        return status_oom(sizeof new, "a column's name");
    return NULL;
}

/* The columns' names are in the record, or it only tells how many there are. */
static xt_status name_columns(csv *c, char *record, bool header) {
    char *at = record, *name, number[24];
    if (header && strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3; /* a byte order mark */
    int numbers = 0;
    while (next_field(&at, c->separator, &name)) {
        double v;
        while (*name == ' ') name++;
        size_t n = strlen(name);
        while (n && name[n - 1] == ' ') name[--n] = 0;
        numbers += parse_double(name, &v);
        if (header && *name && map_get(c->by_name, name, strlen(name)))
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s:1: two columns are called \"%s\"%s", c->path, name,
                              parse_double(name, &v) ? "; a file without names needs .header = XT_OFF" : "");
        snprintf(number, sizeof number, "%zu", c->n_columns);
        XT_TRY(add_column(c, header ? name : number));
    }
    if (header && numbers == (int)c->n_columns)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s:1: the first line has numbers where names of columns are expected; .header = XT_OFF says "
                          "that it is a row",
                          c->path);
    return NULL;
}

static xt_status no_column(const csv *c, const char *field, const char *name) {
    const char **names = base_malloc(c->n_columns * sizeof *names);
    str all = STR_INIT;
    for (size_t k = 0; k < c->n_columns; k++) {
        if (names) names[k] = c->columns[k].name;
        if (k < 12) str_printf(&all, "%s%s", k ? ", " : "", c->columns[k].name);
    }
    if (c->n_columns > 12) str_printf(&all, ", ... (%zu in all)", c->n_columns);
    const char *near = names ? text_nearest(name, names, c->n_columns) : NULL;
    xt_status s = near ? status_new(XT_NOT_FOUND, NULL, "%s has no column \"%s\" (.%s); did you mean \"%s\"?", c->path,
                                    name, field, near)
                       : status_new(XT_NOT_FOUND, NULL, "%s has no column \"%s\" (.%s); it has %s", c->path, name,
                                    field, str_cstr(&all));
    str_free(&all);
    base_free(names);
    return s;
}

/* Gives the columns of a comma list their places, in its order. */
static xt_status choose(csv *c, const char *list, bool is_x, int *out_n) {
    const char *field = is_x ? "x" : "y";
    char *copy = base_strdup(list), *at = copy, *name;
    if (!copy) return status_oom(strlen(list) + 1, "names of columns");
    xt_status s = NULL;
    int n = 0;
    while (!s && next_field(&at, ',', &name)) {
        while (*name == ' ') name++;
        size_t length = strlen(name);
        while (length && name[length - 1] == ' ') name[--length] = 0;
        bool found = false;
        size_t first = 0, end = c->n_columns;
        if (*name && !strpbrk(name, "*?[\\")) { /* no pattern: at most one column has that name */
            size_t number = (uintptr_t)map_get(c->by_name, name, strlen(name));
            first = number ? number - 1 : 0;
            end = number;
        }
        for (size_t k = first; !s && k < end; k++) {
            if (strcmp(c->columns[k].name, name) != 0 && fnmatch(name, c->columns[k].name, 0) != 0) continue;
            int *place = is_x ? &c->columns[k].in_x : &c->columns[k].in_y;
            if (*place >= 0)
                s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: column \"%s\" stands twice in .%s", c->path,
                               c->columns[k].name, field);
            *place = n++;
            found = true;
        }
        if (!s && !found) s = no_column(c, field, name);
    }
    base_free(copy);
    *out_n = n;
    return s;
}

static xt_status choose_columns(csv *c, const xt_csv_opts *o) {
    if (o->y) XT_TRY(choose(c, o->y, false, &c->n_y));
    if (o->x) return choose(c, o->x, true, &c->n_x);
    for (size_t k = 0; k < c->n_columns; k++)
        if (c->columns[k].in_y < 0) c->columns[k].in_x = c->n_x++;
    return c->n_x ? NULL
                  : status_new(XT_INVALID_ARGUMENT, NULL, "%s: all columns are in .y, none is left for x", c->path);
}

static xt_status scan(csv *c, const xt_csv_opts *o) {
    reader r = {.c = c, .line = 1};
    char *record;
    int64_t line, offset;
    xt_status s = next_record(&r, &record, &line, &offset);
    bool header = o->header != XT_OFF;
    if (!s && !record)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "%s is empty; a line with the names of columns is expected", c->path);
    if (!s) {
        char *copy = base_strdup(record); /* cutting it changes it, and without a header it is a row, too */
        s = copy ? name_columns(c, copy, header) : status_oom(strlen(record), "the first line");
        base_free(copy);
    }
    if (!s) s = choose_columns(c, o);
    if (!s && header) s = next_record(&r, &record, &line, &offset);
    for (; !s && record; s = s ? s : next_record(&r, &record, &line, &offset)) {
        if (!VEC_PUSH(c->rows, c->n_rows, c->cap_rows, offset))
            s = status_oom(sizeof offset, "the index of a CSV file");
        else
            s = take_record(c, record, line, NULL, NULL);
    }
    if (!s && c->n_rows == 0) s = status_new(XT_INVALID_ARGUMENT, NULL, "%s has no rows", c->path);
    if (!s && !VEC_PUSH(c->rows, c->n_rows, c->cap_rows, r.offset))
        s = status_oom(sizeof offset, "the index of a CSV file");
    base_free(r.text);
    return s;
}

static bool good_dtype(xt_dtype t) {
    return !t || is_float(t) || t == XT_I32 || t == XT_I64;
}

static xt_status open_csv(csv *c, const char *path, const xt_csv_opts *o) {
    if (!path) return status_new(XT_INVALID_ARGUMENT, NULL, "a path is needed");
    if (!good_dtype(o->x_dtype) || !good_dtype(o->y_dtype))
        return status_new(XT_INVALID_ARGUMENT, NULL, ".x_dtype and .y_dtype are XT_F32, XT_F64, XT_I32 or XT_I64");
    c->separator = o->separator;
    if (!c->separator || c->separator == '"' || c->separator == '\n' || c->separator == '.')
        return status_new(XT_INVALID_ARGUMENT, NULL, ".separator cannot be 0, a quote, a dot or a line's end");
    c->x_dtype = o->x_dtype ? o->x_dtype : XT_F32;
    c->y_dtype = o->y_dtype;
    c->y_whole = true;
    if (!(c->path = base_strdup(path)) || !(c->by_name = map_new())) return status_oom(strlen(path), "a path");
    XT_TRY(file_open_input(path, false, &c->fd, NULL)); /* no pipe: rows are read in any order */
    XT_TRY(scan(c, o));
    if (!c->y_dtype) c->y_dtype = c->y_whole ? XT_I64 : XT_F32;
    return NULL;
}

xt_dataset *xt_csv_dataset_opt(const xt_src *src, const char *path, xt_csv_opts o) {
    SRC_CALLED_FROM(src);
    csv *c = base_calloc(1, sizeof *c);
    if (!c) return data_fail(status_oom(sizeof *c, "a dataset"), NULL);
    c->fd = -1;
    xt_status s = open_csv(c, path, &o);
    if (s) {
        csv_free(c);
        return data_fail(status_context(s, "xt_csv_dataset"), NULL);
    }
    xt_spec x = {c->x_dtype, {c->n_x}}, y = {c->y_dtype, {c->n_y}};
    if (c->n_y == 1) y.dims[0] = 0; /* a label, as classes are */
    if (c->n_y == 0) y = (xt_spec){0};
    return data_make((xt_dataset_desc){.count = (int64_t)c->n_rows - 1,
                                       .x = x,
                                       .y = y,
                                       .get = csv_get,
                                       .free_user = csv_free,
                                       .user = c,
                                       .name = path});
}
