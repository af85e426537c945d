/* Which of the hosts that answer are taken: see hosts.h. */
#include "dist/hosts.h"

static int room(const host *h, int each) {
    return h->slots ? h->slots : each;
}

/* Ranks of each host where nobody has said how many it has room for: an even share of -n. */
static xt_status settle_slots(const host_list *l, const host_choice *c, int *out_each) {
    int most = c->most ? c->most : (int)l->n;
    *out_each = c->n ? (c->n + most - 1) / most : 0;
    for (size_t i = 0; i < l->n && !c->n; i++)
        if (!l->all[i].slots)
            return status_new(
                XT_INVALID_ARGUMENT, NULL,
                "how many ranks %s has room for is not said; -n N, %s:N, or slots=N in the host file says "
                "it",
                l->all[i].name, l->all[i].name);
    int64_t all = 0;
    for (size_t i = 0; i < l->n; i++) all += room(&l->all[i], *out_each);
    if (all >= c->n) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "-n %d, and the %zu host%s of the list %s room for %lld; name more slots, or fewer ranks", c->n,
                      l->n, l->n == 1 ? "" : "s", l->n == 1 ? "has" : "have", (long long)all);
}

xt_status hosts_choose(host_list *l, const host_choice *c, bool *out_enough, str *out_text, int *out_ranks) {
    int each, hosts = 0, ranks = 0, most = c->most ? c->most : (int)l->n, least = c->least ? c->least : (int)l->n;
    if (least > (int)l->n)
        return status_new(XT_INVALID_ARGUMENT, NULL, "--hosts asks for %d hosts, and the list has %zu", least, l->n);
    XT_TRY(settle_slots(l, c, &each));
    for (size_t i = 0; i < l->n; i++) {
        host *h = &l->all[i];
        h->taken = h->answers && hosts < most && (!c->n || ranks < c->n);
        if (!h->taken) continue;
        int here = room(h, each);
        if (c->n && ranks + here > c->n) here = c->n - ranks;
        str_printf(out_text, "%s%s:%d", hosts ? "," : "", h->name, here);
        ranks += here;
        hosts++;
    }
    /* fewer hosts than asked for may have room for all ranks */
    *out_enough = hosts >= least || (c->n && ranks == c->n);
    *out_ranks = ranks;
    return out_text->failed ? status_oom(out_text->len, "a list of hosts") : NULL;
}

void hosts_tell_silent(const host_list *l, str *out) {
    bool first = true;
    for (size_t i = 0; i < l->n; i++) {
        const host *h = &l->all[i];
        if (h->answers) continue;
        str_printf(out, "%s%s%s%s%s", first ? "" : ", ", h->name, h->why ? " (" : "", h->why ? h->why : "",
                   h->why ? ")" : "");
        first = false;
    }
}

void hosts_tell(const host_list *l, int ranks, str *out) {
    str taken = STR_INIT, spare = STR_INIT, silent = STR_INIT;
    int n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const host *h = &l->all[i];
        str *to = h->taken ? &taken : h->answers ? &spare : NULL;
        n += h->taken;
        if (to) str_printf(to, "%s%s", to->len ? ", " : "", h->name);
    }
    hosts_tell_silent(l, &silent);
    str_printf(out, "%d host%s, %d rank%s: %s", n, n == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s", str_cstr(&taken));
    if (spare.len) str_printf(out, "; spare: %s", str_cstr(&spare));
    if (silent.len) str_printf(out, "; no answer: %s", str_cstr(&silent));
    str_free(&taken);
    str_free(&spare);
    str_free(&silent);
}
