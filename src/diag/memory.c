/* The memory report: live device buffers by the line that made them, the peak and when it was, how much is made a step,
 * what the allocator holds. */
#include "diag/diag.h"

int xt_memory_rows(xt_memory_row *rows, int max) {
    return lazy_ledger_rows(rows, max);
}

xt_memory_info xt_memory(void) {
    xt_memory_info m = {.live_bytes = 0,
                        .peak_bytes = counter_get(COUNTER_device_peak_bytes),
                        .limit_bytes = -1,
                        .reserved_bytes = -1,
                        .largest_free_bytes = -1};
    size_t n = lazy_ledger_groups(NULL, 0), cap = n;
    lazy_group *g = base_malloc((n + 1) * sizeof *g);
    n = g ? lazy_ledger_groups(g, cap) : 0;
    for (size_t i = 0; i < n && i < cap; i++) {
        m.live_bytes += g[i].bytes;
        m.live_buffers += g[i].count;
    }
    base_free(g);
    m.peak_step = lazy_peak_step();
    int64_t steps = counter_get(COUNTER_steps);
    m.bytes_per_step = steps > 0 ? (double)counter_get(COUNTER_buffer_bytes_made) / (double)steps : 0;
    m.buffers_per_step = steps > 0 ? (double)counter_get(COUNTER_buffers_made) / (double)steps : 0;
    device_client *client;
    device_memory d;
    if (!lazy_device_is_open(NULL)) return m;
    xt_status s = lazy_device(&client);
    if (!s) s = device_memory_stats(client, &d);
    if (!s) {
        m.limit_bytes = d.limit;
        m.reserved_bytes = d.reserved;
        m.largest_free_bytes = d.largest_free;
    }
    xt_status_free(s);
    return m;
}

static double mib(int64_t bytes) {
    return (double)bytes / 1048576;
}

void xt_memory_report(void) {
    str t = STR_INIT;
    xt_memory_info m = xt_memory();
    lazy_append_ledger(&t, 1000);
    str_printf(&t, "\n  peak %.2f MiB with temporaries, in step %lld", mib(m.peak_bytes), (long long)m.peak_step);
    if (m.limit_bytes > 0) str_printf(&t, "; limit %.1f MiB", mib(m.limit_bytes));
    str_printf(&t, "; %.1f buffers and %.3f MiB made a step", m.buffers_per_step, m.bytes_per_step / 1048576);
    if (m.reserved_bytes >= 0) {
        double kept = mib(m.reserved_bytes - m.live_bytes);
        str_printf(&t, "\n  the allocator holds %.2f MiB", mib(m.reserved_bytes));
        if (kept > 0)
            str_printf(&t, ", %.2f of them free for reuse, the largest block %.2f MiB", kept,
                       mib(m.largest_free_bytes));
    }
    str_putc(&t, '\n');
    log_raw(XT_SEV_INFO, t.data + 1, t.len - 1); /* without the newline it starts with */
    str_free(&t);
}
