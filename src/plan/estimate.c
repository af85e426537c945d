/* How long a step may take: a roofline (Williams, Waterman, Patterson 2009). The slower of arithmetic and memory
 * traffic, plus what the collectives move over the links. It is a bound from published peaks, so a lower one; the
 * formula is part of every report. For the CPU of this host the peaks are measured (calibrate.c). */
#include "plan/calibrate.h"

/* Of the rate of one large product, what a step's products and convolutions of all sizes reach together: 0.9 for
 * GPT-2's, 0.4 for ResNet's. */
#define REACHED 0.6

static double moved(const plan_memory *m) {
    double bytes = 0;
    for (size_t i = 0; i < m->n_links; i++) {
        double n = m->links[i].n_group > 1 ? m->links[i].n_group : 2, share = (n - 1) / n;
        bool reduces = strstr(intern_text(m->links[i].op), "reduce") && !strstr(intern_text(m->links[i].op), "scatter");
        bytes += (double)m->links[i].bytes * share * (reduces ? 2 : 1); /* rings: Patarasuk and Yuan 2009 */
    }
    return bytes;
}

/* A compiler that counts no flops (CUDA's, or one that gave up for lack of memory) is helped out by ours: the count is
 * of the same program. */
static void count_with_ours(const plan_program *p, xt_plan_report *r) {
    plan_compiled ours;
    char topology[32];
    snprintf(topology, sizeof topology, "cpu:%d", p->partitions);
    xt_status s = plan_compile(p, topology, &(plan_compile_opts){0}, &ours);
    if (!s && ours.fits && ours.stats.flops > 0) {
        r->flops = ours.stats.flops;
        r->bytes_accessed = ours.stats.bytes_accessed;
        r->flops_from = "xtrain's own compiler";
    }
    xt_status_free(s);
}

void plan_estimate(const plan_program *p, const plan_compiled *c, const plan_memory *m, xt_plan_report *r) {
    r->flops = c->stats.flops;
    r->bytes_accessed = c->stats.bytes_accessed;
    r->flops_from = "the compiler";
    r->program_ms = -1;
    if (!(r->flops > 0)) count_with_ours(p, r);
    r->bytes_from = r->flops_from;
    if (m->traffic > 0) {
        r->bytes_accessed = m->traffic;
        r->bytes_from = "the compiler's program, without what stays on the chip";
    }
    r->peak_flops = p->f32_products ? c->chip.flops_f32 : c->chip.flops_bf16;
    r->peak_bytes_per_s = c->chip.bytes_per_s;
    r->link_bytes_per_s = c->chip.link_bytes_per_s;
    r->host_bytes_per_s = c->chip.host_bytes_per_s;
    r->formula = "max(flops / peak flops, bytes accessed / memory bandwidth) + collective bytes / link bandwidth, of "
                 "published peaks: a lower bound";
    if (c->ours) {
        plan_host host = plan_host_measure();
        r->peak_flops = REACHED * (p->f32_products ? host.flops_f32 : host.flops_bf16);
        r->peak_bytes_per_s = host.bytes_per_s;
        r->link_bytes_per_s = host.bytes_per_s / 2;
        r->host_bytes_per_s = host.bytes_per_s / 3; /* a copy reads, writes, and reads what it writes */
        r->formula = "flops / peak flops + bytes accessed / memory bandwidth + collective bytes / link bandwidth, "
                     "bandwidth and 60 % of the peak flops measured on this host";
    }
    if (!(r->flops > 0) || !(r->peak_flops > 0) || !(r->peak_bytes_per_s > 0)) return;
    double work = r->flops / r->peak_flops,
           traffic = r->bytes_accessed > 0 ? r->bytes_accessed / r->peak_bytes_per_s : 0;
    double link = r->link_bytes_per_s > 0 ? moved(m) / r->link_bytes_per_s : 0;
    double slower = work > traffic ? work : traffic;
    r->program_ms = ((c->ours ? work + traffic : slower) + link) * 1e3;
}
