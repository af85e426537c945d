/* Whether all ranks step with the same numbers. Learning rates, decays and limits of clipping are data or constants of
 * what a rank computes for itself, so programs with others meet in their collectives all the same, and the copies of
 * the network part in silence. Before an optimizer's first step, where ranks meet anyway, all compare all of its
 * numbers. What changes later (a schedule, a rate set by hand) is in a note that rank 0 leaves at the steps 2, 4, 8,
 * ...; the others compare theirs at the steps that follow, when it is there: nobody waits. Random draws, batches and
 * losses are each rank's own, and nobody asks for them. */
#include "lazy/mesh/mesh.h"
#include "optim/optim.h"

enum { MOST_TEXT = 1600 };

static void add_number(str *out, const char *name, double v) {
    str_printf(out, ", %s %.9g", name, v);
}

static void add_clipping(const xt_optimizer *o, str *out) {
    if (o->clip_norm > 0) {
        add_number(out, "clip_norm", o->clip_norm);
        add_number(out, "clip_norm_type", o->clip_norm_type);
    }
    if (o->clip_value > 0) add_number(out, "clip_value", o->clip_value);
    if (o->clipped.norm > 0) add_number(out, "xt_clip_grad_norm", o->clipped.norm);
    if (o->clipped.value > 0) add_number(out, "xt_clip_grad_value", o->clipped.value);
}

static bool moves(const char *name) {
    static const char *const moving[] = {"lr",        "momentum",       "beta1",     "weight_decay",
                                         "clip_norm", "clip_norm_type", "clip_value"};
    for (size_t i = 0; i < BASE_COUNT(moving); i++)
        if (strcmp(name, moving[i]) == 0) return true;
    return false;
}

/* "SGD: lr 0.1, weight_decay 0, ...; bias: lr 0.2, ... (train.c:41)": what moves as it is now. */
static void describe(const xt_src *src, const xt_optimizer *o, const struct xt_loss_scaler *s, str *out) {
    char line[256];
    str_append(out, o->name->title);
    for (size_t g = 0; g < o->n_groups; g++) {
        const optim_hyper *h = &o->groups[g].h;
        if (g) str_printf(out, "; %s", o->groups[g].pattern);
        str_printf(out, ": lr %.9g", h->lr);
        if (o->has_momentum) add_number(out, "momentum", h->momentum);
        if (o->has_decay) add_number(out, "weight_decay", h->weight_decay);
    }
    for (size_t i = 0; i < o->n_rows; i++) {
        if (moves(o->rows[i].name)) continue;
        str_printf(out, ", %s ", o->rows[i].name);
        xt_status_free(options_get(o->rows, o->n_rows, o->opts, o->rows[i].name, out));
    }
    add_clipping(o, out);
    if (s && s->enabled) {
        add_number(out, "init_scale", s->initial);
        add_number(out, "growth_factor", s->growth);
        add_number(out, "backoff_factor", s->backoff);
        add_number(out, "growth_interval", s->interval);
    }
    str_printf(out, " (%s)", src_text(src_intern(src), line, sizeof line));
}

/* Without the line at the end, which may differ. */
static size_t numbers_in(const char *text) {
    const char *line = strrchr(text, '(');
    return line ? (size_t)(line - text) : strlen(text);
}
static bool same(const char *a, const char *b) {
    size_t n = numbers_in(a);
    return n == numbers_in(b) && memcmp(a, b, n) == 0;
}

/* "clip_norm 0.5" between two of ",;:". */
typedef struct part {
    const char *text;
    size_t n, name_n; /* of all of it; of what stands in front of the number */
} part;

static bool next_part(const char *text, size_t *at, part *out) {
    size_t n = numbers_in(text);
    while (*at < n && strchr(",;: ", text[*at])) ++*at;
    *out = (part){.text = text + *at};
    for (; *at < n && !strchr(",;:", text[*at]); ++*at) out->n++;
    while (out->n && out->text[out->n - 1] == ' ') out->n--;
    out->name_n = out->n;
    while (out->name_n && out->text[out->name_n - 1] != ' ') out->name_n--;
    return out->n > 0;
}

static bool same_start(const part *a, const part *b, size_t n_a, size_t n_b) {
    return n_a == n_b && memcmp(a->text, b->text, n_a) == 0;
}

/* Whether a number of this name stands from `at` on. */
static bool has_later(const char *text, size_t at, const part *p) {
    for (part q; next_part(text, &at, &q);)
        if (same_start(&q, p, q.name_n, p->name_n)) return true;
    return false;
}

/* The first part that differs; n = 0 on the side that has no such number. */
static void first_difference(const char *first, const char *other, part *a, part *b) {
    size_t at_a = 0, at_b = 0;
    while (next_part(first, &at_a, a) && next_part(other, &at_b, b))
        if (!same_start(a, b, a->n, b->n)) break;
    if (!a->n) next_part(other, &at_b, b);
    if (!a->n || !b->n || same_start(a, b, a->name_n, b->name_n)) return;
    part *lacks = has_later(first, at_a, b) ? b : a;
    lacks->n = 0;
}

static void say_part(str *out, const part *p, const part *other) {
    if (p->n)
        str_printf(out, "%.*s", (int)p->n, p->text);
    else
        str_printf(out, "no %.*s", (int)(other->name_n ? other->name_n - 1 : other->n), other->text);
}

static xt_status differ(int64_t step, int rank, const char *first, const char *other) {
    part a, b = {0};
    str of_first = STR_INIT, of_other = STR_INIT;
    first_difference(first, other, &a, &b);
    say_part(&of_first, &a, &b);
    say_part(&of_other, &b, &a);
    xt_status s = status_new(
        XT_FAILED_PRECONDITION, NULL,
        "the ranks step with other numbers of their optimizers in its step %lld: rank 0 has %s %s, rank %d has %s %s. "
        "Their gradients are averaged, but each would make other weights of them: give all ranks the same numbers",
        (long long)step, str_cstr(&of_first), first + numbers_in(first), rank, str_cstr(&of_other),
        other + numbers_in(other));
    str_free(&of_first);
    str_free(&of_other);
    return s;
}

static xt_status compare_all(const char *mine) {
    char own[MOST_TEXT] = "", *all;
    snprintf(own, sizeof own, "%s", mine);
    XT_TRY(lazy_ranks_gather(own, sizeof own, &all));
    xt_status s = NULL;
    for (int r = 1; r < world_get()->size && !s; r++)
        if (!same(all, all + (size_t)r * sizeof own)) s = differ(1, r, all, all + (size_t)r * sizeof own);
    base_free(all);
    return s;
}

static int64_t number_of(xt_optimizer *o) {
    static _Atomic int64_t numbers;
    if (o->compared.number == 0) o->compared.number = ++numbers;
    return o->compared.number;
}

static void leave_note(xt_optimizer *o, const char *mine) {
    int64_t step = o->updater.steps + 1;
    if (step < 2 || (step & (step - 1)) != 0) return;
    base_free(o->compared.text);
    o->compared.text = base_strdup(mine);
    o->compared.step = step;
    snprintf(o->compared.key, sizeof o->compared.key, "numbers/%lld/%lld", (long long)number_of(o), (long long)step);
    if (world_get()->rank == 0) lazy_ranks_note(o->compared.key, mine);
}

static xt_status look_at_note(xt_optimizer *o) {
    char note[MOST_TEXT];
    if (!o->compared.text || world_get()->rank == 0 || !lazy_ranks_look(o->compared.key, note, sizeof note))
        return NULL;
    xt_status s =
        same(note, o->compared.text) ? NULL : differ(o->compared.step, world_get()->rank, note, o->compared.text);
    base_free(o->compared.text);
    o->compared.text = NULL;
    return s;
}

bool numbers_check(const xt_src *src, xt_optimizer *o, const struct xt_loss_scaler *s) {
    if (world_get()->size < 2) return true;
    int64_t step = o->updater.steps + 1;
    bool says = !o->compared.met || (step & (step - 1)) == 0;
    const char *how = env_get("XT_RANK_GUARD");
    if (how && strcmp(how, "off") == 0) return true;
    xt_status e = look_at_note(o);
    str mine = STR_INIT;
    if (!e && says) {
        describe(src, o, s, &mine);
        if (mine.failed) e = status_oom(mine.len, "comparing the ranks' optimizers");
        number_of(o);
        if (!e && !o->compared.met) e = compare_all(str_cstr(&mine));
        if (!e && o->compared.met) leave_note(o, str_cstr(&mine));
        o->compared.met = true;
    }
    str_free(&mine);
    o->clipped.norm = o->clipped.value = 0;
    if (e && how && strcmp(how, "warn") == 0 && status_code(e) == XT_FAILED_PRECONDITION) {
        log_msg(XT_SEV_WARNING, "%s", status_message(e));
        xt_status_free(e);
        e = NULL;
    }
    if (e) lazy_fail(status_at(e, src));
    return !e;
}
