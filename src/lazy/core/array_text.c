/* An array as text. How numbers are written and where lines break are PyTorch's rules (torch/_tensor_str.py, its
 * defaults): 4 digits behind the point; whole numbers with a point alone; powers of ten where the largest magnitude is
 * over 1,000 times the smallest, over 1e8, or the smallest under 1e-4; 80 columns. */
#include "lazy/core/array_text.h"

#include <math.h>
#include <stdio.h>

#include "ir/ir.h"
#include "lazy/lazy.h"

enum { WHOLE_UP_TO = 1000, EDGE = 3, COLUMNS = 80 };

/* How the numbers of one array (or its real or imaginary parts) are written. */
typedef struct form {
    double least, most; /* magnitudes of what is finite and not 0 */
    bool some, fractions, powers;
    int width;
} form;
typedef struct shown {
    str *out;
    const char *data;
    xt_dtype dtype;
    const int64_t *dims;
    size_t strides[XT_MAX_RANK]; /* in bytes */
    int rank;
    bool cut;
    form real, imaginary;
} shown;
typedef void each_fn(shown *a, const char *element);

static void each(shown *a, int dim, const char *at, each_fn *fn) {
    if (dim == a->rank) {
        fn(a, at);
        return;
    }
    int64_t n = a->dims[dim];
    for (int64_t i = 0; i < n; i++) {
        if (a->cut && n > 2 * EDGE && i == EDGE) i = n - EDGE;
        each(a, dim + 1, at + (size_t)i * a->strides[dim], fn);
    }
}

static void measure_number(form *f, double v) {
    if (!isfinite(v) || v == 0) return;
    double size = fabs(v);
    f->least = f->some ? fmin(f->least, size) : size;
    f->most = f->some ? fmax(f->most, size) : size;
    f->some = true;
    f->fractions |= v != ceil(v);
}

/* The part behind the first of a complex number has the same size. */
static double imaginary_of(const shown *a, const char *element) {
    bool wide = a->dtype == XT_C128;
    return lazy_as_double(element + (wide ? 8 : 4), wide ? XT_F64 : XT_F32);
}

static void measure(shown *a, const char *element) {
    measure_number(&a->real, lazy_as_double(element, a->dtype));
    if (ir_dtype_is_complex(a->dtype)) measure_number(&a->imaginary, imaginary_of(a, element));
}

static void choose(form *f) {
    f->powers = f->some && (f->most / f->least > 1000 || f->most > 1e8 || (f->fractions && f->least < 1e-4));
}

/* A float; NaN and infinity have no point behind them. */
static int write_number(char *buf, size_t size, const form *f, double v) {
    if (f->powers) return snprintf(buf, size, "%.4e", v);
    if (f->fractions) return snprintf(buf, size, "%.4f", v);
    return snprintf(buf, size, isfinite(v) ? "%.0f." : "%.0f", v);
}

/* Whatever is no float: exact. */
static int write_exact(char *buf, size_t size, const shown *a, const char *element) {
    if (a->dtype == XT_BOOL) return snprintf(buf, size, *element ? "true" : "false");
    if (a->dtype == XT_I64 || a->dtype == XT_U64) {
        int64_t v;
        memcpy(&v, element, sizeof v);
        return a->dtype == XT_I64 ? snprintf(buf, size, "%lld", (long long)v)
                                  : snprintf(buf, size, "%llu", (unsigned long long)v);
    }
    return snprintf(buf, size, "%.0f", lazy_as_double(element, a->dtype));
}

static bool is_float(const shown *a) {
    return ir_dtype_is_float(a->dtype) || ir_dtype_is_complex(a->dtype);
}

enum { NUMBER = 360 }; /* the longest double without a power */
static void widen(shown *a, const char *element) {
    char buf[NUMBER];
    double v = lazy_as_double(element, a->dtype);
    int n = is_float(a) ? write_number(buf, sizeof buf, &a->real, v) : write_exact(buf, sizeof buf, a, element);
    /* what says nothing of the numbers' form does not widen them either, as in PyTorch */
    if (!is_float(a) || (isfinite(v) && v != 0)) a->real.width = n > a->real.width ? n : a->real.width;
    if (!ir_dtype_is_complex(a->dtype)) return;
    v = imaginary_of(a, element);
    n = write_number(buf, sizeof buf, &a->imaginary, v);
    if (isfinite(v) && v != 0) a->imaginary.width = n > a->imaginary.width ? n : a->imaginary.width;
}

static void write_element(shown *a, const char *element) {
    char buf[NUMBER];
    if (!is_float(a)) {
        write_exact(buf, sizeof buf, a, element);
        str_printf(a->out, "%*s", a->real.width, buf);
        return;
    }
    write_number(buf, sizeof buf, &a->real, lazy_as_double(element, a->dtype));
    str_printf(a->out, "%*s", a->real.width, buf);
    if (!ir_dtype_is_complex(a->dtype)) return;
    write_number(buf, sizeof buf, &a->imaginary, imaginary_of(a, element));
    str_printf(a->out, "%s%sj", buf[0] == '-' ? "" : "+", buf);
}

static void break_line(shown *a, int lines, int indent) {
    for (int i = 0; i < lines; i++) str_putc(a->out, '\n');
    str_printf(a->out, "%*s", indent, "");
}

static void write_row(shown *a, const char *at, int indent) {
    int64_t n = a->dims[a->rank - 1];
    int each_takes = a->real.width + 2 + (ir_dtype_is_complex(a->dtype) ? a->imaginary.width + 1 : 0);
    int a_line = each_takes < COLUMNS - indent ? (COLUMNS - indent) / each_takes : 1, in_line = 0;
    str_putc(a->out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i) str_append(a->out, in_line % a_line ? ", " : ",");
        if (i && in_line % a_line == 0) break_line(a, 1, indent + 1);
        in_line++;
        if (a->cut && n > 2 * EDGE && i == EDGE) {
            str_append(a->out, " ...");
            i = n - EDGE - 1;
        } else
            write_element(a, at + (size_t)i * a->strides[a->rank - 1]);
    }
    str_putc(a->out, ']');
}

static void write_dim(shown *a, int dim, const char *at, int indent) {
    if (dim == a->rank - 1) {
        write_row(a, at, indent);
        return;
    }
    int64_t n = a->dims[dim];
    str_putc(a->out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i) {
            str_putc(a->out, ',');
            break_line(a, a->rank - 1 - dim, indent + 1);
        }
        if (a->cut && n > 2 * EDGE && i == EDGE) {
            str_append(a->out, "...");
            i = n - EDGE - 1;
        } else
            write_dim(a, dim + 1, at + (size_t)i * a->strides[dim], indent + 1);
    }
    str_putc(a->out, ']');
}

void array_text(str *out, const void *data, xt_dtype dtype, const int64_t *dims, int rank) {
    shown a = {.out = out, .data = data, .dtype = dtype, .dims = dims, .rank = rank};
    int64_t count = 1;
    size_t stride = xt_dtype_size(dtype);
    for (int i = rank - 1; i >= 0; i--) {
        a.strides[i] = stride;
        stride *= (size_t)dims[i];
        count *= dims[i];
    }
    if (count == 0) {
        str_append(out, "[]");
        return;
    }
    if (count == 1 && ir_dtype_is_int(dtype)) {
        write_element(&a, data);
        return;
    }
    if (count == 1 && !ir_dtype_is_complex(dtype)) {
        str_printf(out, "%g", lazy_as_double(data, dtype));
        return;
    }
    a.cut = count > WHOLE_UP_TO;
    each(&a, 0, data, measure);
    choose(&a.real);
    choose(&a.imaginary);
    each(&a, 0, data, widen);
    if (rank == 0)
        write_element(&a, data);
    else
        write_dim(&a, 0, data, 0);
}
