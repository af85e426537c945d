/* xt_master_printf: printf whose %t conversions are filled in when the tensors' values arrive. Everything else is
 * formatted at the call. xt_print is such a line of one tensor. */
#include "lazy/core/array_text.h"
#include "lazy/core/ctx.h"

#include <stdio.h>

enum { MAX_VALUES = 16 };
typedef struct line {
    char *pieces[MAX_VALUES + 1]; /* text before, between and after the values */
    char *values[MAX_VALUES]; /* NULL: there is none */
    char *why; /* there is no value: said once for each failure */
    atomic_int missing; /* values that have not arrived, plus one for the call itself */
    int n;
} line;
typedef struct part {
    line *of;
    int index, rank;
    int64_t dims[XT_MAX_RANK];
} part;

static void settle(line *l) {
    if (atomic_fetch_sub(&l->missing, 1) != 1) return;
    flockfile(stdout); /* lines come from the caller's and from the reader thread */
    for (int i = 0; i <= l->n; i++) {
        fputs(l->pieces[i] ? l->pieces[i] : "", stdout);
        if (i < l->n && l->values[i])
            fputs(l->values[i], stdout);
        else if (i < l->n) {
            fprintf(stdout, l->why ? "(no value: %s)" : "(no value)", l->why);
            base_free(l->why);
            l->why = NULL;
        }
        base_free(l->pieces[i]);
        if (i < l->n) base_free(l->values[i]);
    }
    fflush(stdout);
    funlockfile(stdout);
    base_free(l);
}

static void value_arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    part *p = user;
    if (!p) return; /* without memory for it */
    size_t needed = xt_dtype_size(dtype);
    for (int i = 0; i < p->rank; i++) needed *= (size_t)p->dims[i];
    str text = STR_INIT;
    if (bytes >= needed) array_text(&text, data, dtype, p->dims, p->rank);
    if (text.failed) str_free(&text);
    p->of->values[p->index] = text.data;
    settle(p->of);
    base_free(p);
}

/* The cause stands behind the first value that it takes away. Lines of one thread fail in order, and each once. */
static void note_cause(line *l) {
    static _Thread_local uint64_t told;
    xt_status s = lazy_pending();
    if (!s || status_number(s) == told) return;
    told = status_number(s);
    const char *text = status_message(s);
    base_free(l->why);
    l->why = base_strndup(text, strcspn(text, "\n"));
}

static void value_failed(void *user) {
    part *p = user;
    if (!p) return;
    note_cause(p->of);
    settle(p->of);
    base_free(p);
}

/* One conversion other than %t, formatted with its own argument. */
static bool format_one(str *out, const char *spec, char conv, int longs, bool size, va_list *ap, const int *stars,
                       int n_stars) {
#define EMIT(value)                                                    \
    (n_stars == 2   ? str_printf(out, spec, stars[0], stars[1], value) \
     : n_stars == 1 ? str_printf(out, spec, stars[0], value)           \
                    : str_printf(out, spec, value))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    switch (conv) {
    case 'd':
    case 'i':
        if (size)
            EMIT(va_arg(*ap, size_t));
        else if (longs >= 2)
            EMIT(va_arg(*ap, long long));
        else if (longs == 1)
            EMIT(va_arg(*ap, long));
        else
            EMIT(va_arg(*ap, int));
        return true;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        if (size)
            EMIT(va_arg(*ap, size_t));
        else if (longs >= 2)
            EMIT(va_arg(*ap, unsigned long long));
        else if (longs == 1)
            EMIT(va_arg(*ap, unsigned long));
        else
            EMIT(va_arg(*ap, unsigned));
        return true;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': EMIT(va_arg(*ap, double)); return true;
    case 'c': EMIT(va_arg(*ap, int)); return true;
    case 's': EMIT(va_arg(*ap, const char *)); return true;
    case 'p': EMIT(va_arg(*ap, void *)); return true;
    default: return false;
    }
#pragma GCC diagnostic pop
#undef EMIT
}

/* Splits fmt at its %t; false (with an error) for a conversion that is none. */
static bool split(const xt_src *src, const char *fmt, va_list *ap, line *l, xt_tensor *tensors) {
    str text = STR_INIT;
    for (const char *p = fmt; *p; p++) {
        if (*p != '%' || p[1] == '%') {
            str_putc(&text, *p);
            if (*p == '%') p++;
            continue;
        }
        char spec[32] = "%";
        size_t n = 1;
        int longs = 0, stars[2], n_stars = 0;
        bool size = false;
        const char *q = p + 1;
        for (; *q && strchr("-+ #0123456789.*hlzjt", *q) && n < sizeof spec - 2; q++) {
            if (*q == 't') break;
            if (*q == 'l' || *q == 'j') longs += *q == 'j' ? 2 : 1;
            if (*q == 'z') size = true;
            if (*q == '*' && n_stars < 2) stars[n_stars++] = va_arg(*ap, int);
            spec[n++] = *q;
        }
        spec[n++] = *q;
        if (*q == 't' && l->n < MAX_VALUES) {
            tensors[l->n] = va_arg(*ap, xt_tensor);
            l->pieces[l->n++] = base_strdup(str_cstr(&text));
            str_clear(&text);
        } else if (!*q || *q == 't' || !format_one(&text, spec, *q, longs, size, ap, stars, n_stars)) {
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                                 "xt_master_printf: '%s' is no conversion it knows, or there are more than %d %%t",
                                 spec, MAX_VALUES));
            str_free(&text);
            return false;
        }
        p = q;
    }
    l->pieces[l->n] = base_strdup(str_cstr(&text));
    str_free(&text);
    return true;
}

/* In a compiled step function the line is printed at every call: `model` is what it says, `now` the line of the
 * call under way. */
typedef struct model {
    line *now;
    char *pieces[MAX_VALUES + 1];
    int n;
    part parts[MAX_VALUES]; /* which value a request is for; `of` unused */
} model;

static void free_pieces(char **pieces, int n) {
    for (int i = 0; i <= n; i++) base_free(pieces[i]);
}

static void begin_again(void *user) {
    model *m = user;
    m->now = base_calloc(1, sizeof *m->now);
    if (!m->now) return;
    m->now->n = m->n;
    for (int i = 0; i <= m->n; i++) m->now->pieces[i] = base_strdup(m->pieces[i] ? m->pieces[i] : "");
    atomic_init(&m->now->missing, m->n + 1);
}

static void *part_again(void *user) {
    part *of = user;
    model *m = (model *)((char *)(of - of->index) - offsetof(model, parts));
    part *p = m->now ? base_calloc(1, sizeof *p) : NULL;
    if (p) {
        *p = *of;
        p->of = m->now;
    } else if (m->now)
        settle(m->now);
    return p;
}

static void settle_again(void *user) {
    model *m = user;
    if (m->now) settle(m->now);
    m->now = NULL;
}

static void model_free(void *user) {
    model *m = user;
    free_pieces(m->pieces, m->n);
    base_free(m);
}

/* NULL outside of a compiled step function. */
static model *model_of(const line *l, const part *parts) {
    model *m = lazy_tracing() ? base_calloc(1, sizeof *m) : NULL;
    if (!m) return NULL;
    m->n = l->n;
    memcpy(m->parts, parts, (size_t)l->n * sizeof *parts);
    for (int i = 0; i <= l->n; i++) m->pieces[i] = base_strdup(l->pieces[i] ? l->pieces[i] : "");
    lazy_on_replay(&(lazy_replay){.before = begin_again, .after = settle_again, .release = model_free, .user = m});
    return m;
}

static part part_of(line *l, int index, xt_tensor t) {
    part p = {.of = l, .index = index};
    const ir_type *type = lazy_type(t); /* none of dead ones and errors, which tell their own story */
    if (!type) return p;
    p.rank = (int)type->rank;
    memcpy(p.dims, type->dims, (size_t)p.rank * sizeof *p.dims);
    return p;
}

/* Prints the line, which it takes, when all values have arrived. */
static void print_line(const xt_src *src, const char *what, line *l, const xt_tensor *tensors) {
    int n = l->n;
    part parts[MAX_VALUES];
    for (int i = 0; i < n; i++) parts[i] = part_of(l, i, tensors[i]);
    model *m = model_of(l, parts);
    atomic_init(&l->missing, n + 1);
    for (int i = 0; i < n; i++) {
        part *p = base_calloc(1, sizeof *p);
        if (!p) {
            settle(l);
            continue;
        }
        *p = parts[i];
        lazy_request_value(src, what, tensors[i], value_arrived, value_failed, p);
        if (m) lazy_request_again(part_again, &m->parts[i]);
    }
    settle(l);
}

/* The other ranks record the same, so that all ranks run one program, but read nothing. */
static bool record_alone(const xt_src *src, const char *what, int n, const xt_tensor *tensors) {
    if (world_get()->rank == 0) return false;
    for (int i = 0; i < n; i++) lazy_request_value(src, what, tensors[i], NULL, NULL, NULL);
    return true;
}

void xt_master_printf_at(const xt_src *src, const char *fmt, ...) {
    if (!fmt) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_master_printf: a text is expected, and there is NULL"));
        return;
    }
    line *l = base_calloc(1, sizeof *l);
    if (!l) return;
    xt_tensor tensors[MAX_VALUES];
    va_list ap;
    va_start(ap, fmt);
    bool ok = split(src, fmt, &ap, l, tensors);
    va_end(ap);
    if (ok && !record_alone(src, "xt_master_printf", l->n, tensors)) {
        print_line(src, "xt_master_printf", l, tensors);
        return;
    }
    free_pieces(l->pieces, l->n);
    base_free(l);
}

/* "x = 3", or the type and, from the next line on, the elements. */
void xt_print_at(const xt_src *src, const char *name, xt_tensor x) {
    if (record_alone(src, "xt_print", 1, &x)) return;
    line *l = base_calloc(1, sizeof *l);
    if (!l) return;
    l->n = 1;
    const ir_type *t = lazy_type(x);
    str text = STR_INIT;
    str_printf(&text, "%s = ", name ? name : "tensor");
    if (t && t->count != 1) {
        str_printf(&text, "%s [", xt_dtype_name(t->dtype));
        for (size_t i = 0; i < t->rank; i++) str_printf(&text, i ? ",%lld" : "%lld", (long long)t->dims[i]);
        str_append(&text, "]\n");
    }
    l->pieces[0] = text.data;
    l->pieces[1] = base_strdup("\n");
    print_line(src, "xt_print", l, &x);
}
