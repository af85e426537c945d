/* A plan for people: verdict, totals by kind, what is alive at the peak by line, collectives, the estimate and
 * how it is made. */
#include "cli/plan.h"

#include <stdlib.h>
#include <string.h>

const char *plan_bytes(int64_t bytes, char *buf, size_t n) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    int u = 0;
    if (bytes < 0) {
        snprintf(buf, n, "?");
        return buf;
    }
    for (; v >= 1024 && u < 4; u++) v /= 1024;
    snprintf(buf, n, u ? "%.2f %s" : "%.0f %s", v, units[u]);
    return buf;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What no line asked for is the compiler's own. */
static void place_of(const char *file, int line, char *buf, size_t n) {
    if (line > 0)
        snprintf(buf, n, "%s:%d", base_name(file), line);
    else
        snprintf(buf, n, "the compiler");
}

static void totals(const xt_plan_report *r) {
    char a[32], b[32];
    cli_printf("peak     %s of %s a device%s\n", plan_bytes(r->peak_bytes, a, sizeof a),
               r->limit_bytes > 0 ? plan_bytes(r->limit_bytes, b, sizeof b) : "an unknown size",
               r->fits ? "" : ": DOES NOT FIT");
    if (r->verdict) cli_printf("         %s\n", r->verdict);
    for (int k = 0; k < XT_PLAN_KINDS; k++)
        if (r->kinds[k] > 0)
            cli_printf("  %12s  %5.1f %%  %s\n", plan_bytes(r->kinds[k], a, sizeof a),
                       r->peak_bytes > 0 ? 100.0 * (double)r->kinds[k] / (double)r->peak_bytes : 0,
                       xt_plan_kind_name(k));
    cli_printf("program  arguments %s", plan_bytes(r->argument_bytes, a, sizeof a));
    cli_printf(", results %s", plan_bytes(r->output_bytes, a, sizeof a));
    cli_printf(" (%s in place)", plan_bytes(r->alias_bytes, a, sizeof a));
    cli_printf(", temporaries %s", plan_bytes(r->temp_bytes, a, sizeof a));
    if (r->code_bytes >= 0) cli_printf("; its code takes %s more", plan_bytes(r->code_bytes, a, sizeof a));
    if (r->live_elsewhere_bytes > 0)
        cli_printf("; alive besides: %s", plan_bytes(r->live_elsewhere_bytes, a, sizeof a));
    cli_printf("\n");
}

static void work(const xt_plan_report *r) {
    char a[32];
    if (r->flops > 0) {
        cli_printf("work     %.4g GFLOP (by %s), %.4g GB of memory traffic (by %s): %.1f flops a byte\n",
                   r->flops / 1e9, r->flops_from, r->bytes_accessed / 1e9, r->bytes_from,
                   r->bytes_accessed > 0 ? r->flops / r->bytes_accessed : 0);
        if (r->step_ms > 0) {
            cli_printf("step     %.4g ms estimated: %s (%.4g TFLOP/s, %.4g GB/s)\n", r->step_ms, r->formula,
                       r->peak_flops / 1e12, r->peak_bytes_per_s / 1e9);
            if (r->programs > 1)
                cli_printf("         this program %.4g ms; a step is every program as often as it runs in one\n",
                           r->program_ms);
            if (r->host_moved_bytes > 0)
                cli_printf("         and %s between host and device, %.4g ms at %.4g GB/s\n",
                           plan_bytes(r->host_moved_bytes, a, sizeof a),
                           (double)r->host_moved_bytes / r->host_bytes_per_s * 1e3, r->host_bytes_per_s / 1e9);
        }
    }
    cli_printf("compiled in %.0f ms by %s%s%s\n", r->compile_ms, r->compiler, r->ended ? "; " : "",
               r->ended ? r->ended : "");
}

static void at_peak(const xt_plan_report *r, int rows) {
    char a[32];
    int64_t rest = 0;
    if (r->n_rows == 0) return;
    cli_printf("\nalive at the peak (instruction %d of %d), by line:\n", r->peak_point, r->n_points);
    for (int i = 0; i < r->n_rows; i++) {
        const xt_plan_row *x = &r->rows[i];
        if (i >= rows) {
            rest += x->bytes + x->padding;
            continue;
        }
        char place[160], type[96];
        place_of(x->file, x->line, place, sizeof place);
        snprintf(type, sizeof type, "%s%s%s", x->dtype, *x->dtype && *x->shape ? " " : "", x->shape);
        cli_printf("  %12s %4d x  %-16s %-22s %-28s %-20s %s", plan_bytes(x->bytes + x->padding, a, sizeof a), x->count,
                   xt_plan_kind_name(x->kind), place, x->module, type, x->op);
        if (x->first > 0 || x->last < r->n_points) cli_printf("  [%d-%d]", x->first, x->last);
        if (x->padding > 0) cli_printf("  %s of it padding", plan_bytes(x->padding, a, sizeof a));
        cli_printf("\n");
    }
    if (rest > 0)
        cli_printf("  %12s in %d rows more (--rows N, --json has all)\n", plan_bytes(rest, a, sizeof a),
                   r->n_rows - rows);
}

static void collectives(const xt_plan_report *r) {
    char a[32];
    if (r->n_collectives == 0) return;
    int64_t sum = 0;
    for (int i = 0; i < r->n_collectives; i++) sum += r->collectives[i].bytes;
    cli_printf("\ncollectives, %s a device and step:\n", plan_bytes(sum, a, sizeof a));
    for (int i = 0; i < r->n_collectives && i < 16; i++) {
        const xt_plan_collective *c = &r->collectives[i];
        char place[160];
        place_of(c->file, c->line, place, sizeof place);
        cli_printf("  %12s %4d x  %-18s over %-14s %s  %s\n", plan_bytes(c->bytes, a, sizeof a), c->count, c->op,
                   c->axis, place, c->module);
    }
    if (r->n_collectives > 16) cli_printf("  and %d more\n", r->n_collectives - 16);
}

/* Where a program keeps scores of all pairs of positions: what would compute them some at a time. */
static void tiles_in_words(const xt_plan_report *r) {
    const xt_plan_row *scores = plan_scores(r, 0);
    char place[160], a[32];
    if (!scores) return;
    long long positions = strtoll(strrchr(scores->shape, 'x') + 1, NULL, 10), tile = plan_tile(positions);
    place_of(scores->file, scores->line, place, sizeof place);
    cli_printf("\n%s %s of %s (%s) are a product of every row with every row: if that is attention, ", scores->dtype,
               scores->shape, place, plan_bytes(scores->bytes, a, sizeof a));
    if (tile)
        cli_printf("xt_self_attention with .tile = %lld keeps 1/%lld of it at a time\n", tile, positions / tile);
    else
        cli_printf("xt_self_attention with a .tile keeps a part at a time, for a length that the tile divides\n");
}

void plan_print_remedies(const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n) {
    char a[32];
    if (n == 0) return;
    cli_printf("\n%-58s %12s  %14s  %s\n", "remedy", "peak", "step estimate", "fits");
    for (int i = 0; i < n; i++) {
        if (remedies[i].failed)
            cli_printf("%-58s %12s  %s\n", remedies[i].name, "-", remedies[i].why);
        else
            cli_printf("%-58s %12s  %11.4g ms  %s\n", remedies[i].name, plan_bytes(remedies[i].peak_bytes, a, sizeof a),
                       remedies[i].step_ms, remedies[i].fits ? "yes" : "no");
    }
    if (c->model) return;
    tiles_in_words(r);
    cli_printf("\n"
               "others change the program, and a plan of the changed one measures them: xt_checkpoint_block, "
               ".accumulate_grad_batches, xt_autocast_begin(XT_BF16), a smaller batch,\n"
               "xt_optimizer_offload, xt_mesh_new with --mesh (doc/memory.md, What helps)\n");
}

void plan_print(const plan_case *c, const xt_plan_report *r, int rows) {
    char name[256];
    plan_case_name(c, name, sizeof name);
    cli_printf("%s on %s: %s (%s, %d device%s of %d host%s)\n", name, r->topology, r->fits ? "fits" : "does not fit",
               r->device, r->devices, r->devices == 1 ? "" : "s", r->hosts, r->hosts == 1 ? "" : "s");
    if (r->devices > 1)
        cli_printf("partitions %d%s\n", r->partitions,
                   r->partitions == 1 ? ": one device's program; --mesh divides it" : "");
    if (r->programs > 1) cli_printf("program %d of %d: the one that needs most\n", r->program + 1, r->programs);
    totals(r);
    work(r);
    at_peak(r, rows);
    collectives(r);
}
