/* The table of layers. Tensors of one layer ("conv1.weight", "conv1.bias") share a line. */
#include <limits.h>
#include <math.h>

#include "nn/nn.h"

static size_t layer_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

void nn_count_text(double n, char out[32]) {
    static const char *const units[] = {"", " K", " M", " B", " T"};
    int u = 0;
    while (n >= 999.5 && u < 4) {
        n /= 1000;
        u++;
    }
    if (n >= 999.5)
        snprintf(out, 32, "%.0f,%03.0f%s", floor((n + 0.5) / 1000), fmod(floor(n + 0.5), 1000), units[u]);
    else
        snprintf(out, 32, u && n < 99.95 ? "%.1f%s" : "%.0f%s", n, units[u]);
}

/* One line for the tensors from i on that belong to the same layer; gives the first index after them. */
static int append_layer(str *t, const xt_module *net, int i, bool print) {
    const char *name = xt_module_tensor_name(net, i);
    size_t n = layer_length(name);
    int64_t params = 0, buffers = 0;
    str shapes = STR_INIT;
    for (; i < xt_module_tensors(net); i++) {
        const char *other = xt_module_tensor_name(net, i);
        if (layer_length(other) != n || strncmp(other, name, n) != 0) break;
        const ir_type *type = lazy_type(xt_module_tensor(net, i));
        if (!type) continue;
        *(xt_module_tensor_is_param(net, i) ? &params : &buffers) += type->count;
        str_printf(&shapes, "%s%s [", shapes.len ? ", " : "", other[n] ? other + n + 1 : other);
        for (uint32_t d = 0; d < type->rank; d++) str_printf(&shapes, "%s%lld", d ? "," : "", (long long)type->dims[d]);
        str_putc(&shapes, ']');
    }
    char count[32];
    nn_count_text((double)params, count);
    if (print) str_printf(t, "  %-24.*s %10s  %s\n", (int)n, name, count, str_cstr(&shapes));
    str_free(&shapes);
    return i;
}

void nn_append_summary(str *text, const xt_module *m, int most) {
    int lines = 0, hidden = 0;
    int64_t bytes = 0, frozen = 0;
    char count[32];
    str_append(text, "  layer                    parameters\n");
    for (int i = 0; i < xt_module_tensors(m);) {
        bool print = lines++ < most;
        hidden += !print;
        i = append_layer(text, m, i, print);
    }
    if (hidden) str_printf(text, "  ... and %d more layers\n", hidden);
    for (int i = 0; i < xt_module_tensors(m); i++) {
        const ir_type *type = lazy_type(xt_module_tensor(m, i));
        if (!type || !xt_module_tensor_is_param(m, i)) continue;
        bytes += (int64_t)ir_type_bytes(type);
        if (nn_is_frozen(m, xt_module_tensor_name(m, i))) frozen += type->count;
    }
    nn_count_text((double)xt_module_param_count(m), count);
    str_printf(text, "  %lld parameters (%s), %.2f MiB", (long long)xt_module_param_count(m), count,
               (double)bytes / 1048576);
    if (frozen)
        str_printf(text, "; %lld trainable, %lld frozen", (long long)(xt_module_param_count(m) - frozen),
                   (long long)frozen);
}

size_t xt_module_summary(const xt_module *m, char *buf, size_t n) {
    str text = STR_INIT;
    if (m) nn_append_summary(&text, m, INT_MAX);
    str_putc(&text, '\n');
    int length = snprintf(buf, n, "%s", str_cstr(&text));
    str_free(&text);
    return (size_t)length;
}
