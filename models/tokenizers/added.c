/* Finding added tokens: at each place the longest that stands there; see added.h. */
#include "models/tokenizers/added.h"

#include <stdlib.h>
#include <string.h>

void tok_added_free(tok_added_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].content);
        free(l->items[i].normal);
    }
    free(l->items);
    *l = (tok_added_list){0};
}

static char *copy_of(tok_text t) {
    char *out = malloc(t.n + 1);
    if (!out) return NULL;
    memcpy(out, t.data, t.n);
    out[t.n] = 0;
    return out;
}

static xt_status read_one(tok_added *a, const cJSON *json, const tok_part *normalizer) {
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(json, "id");
    const char *content = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "content"));
    if (!content || !cJSON_IsNumber(id) || !(id->valuedouble >= 0 && id->valuedouble < 1 << 24))
        return xt_status_new(XT_DATA_LOSS, "an added token has no \"content\" and \"id\"");
    a->id = (int32_t)id->valuedouble;
    a->single_word = tok_read_flag(json, "single_word", false);
    a->lstrip = tok_read_flag(json, "lstrip", false);
    a->rstrip = tok_read_flag(json, "rstrip", false);
    a->special = tok_read_flag(json, "special", false);
    a->normalized = tok_read_flag(json, "normalized", !a->special);
    tok_arena arena = {.most = TOK_MOST(0)};
    tok_text text = {content, strlen(content)};
    a->content = copy_of(text);
    if (a->normalized) text = tok_normalize(normalizer, text, &arena);
    a->normal = copy_of(text);
    a->n_normal = text.n;
    tok_arena_free(&arena);
    return a->content && a->normal && !arena.failed ? NULL
                                                    : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
}

/* By first byte, then the longest first: the first that fits at a place is the one that counts. */
static int in_order(const void *a, const void *b) {
    const tok_added *x = a, *y = b;
    unsigned char p = (unsigned char)*x->normal, q = (unsigned char)*y->normal;
    if (p != q) return p < q ? -1 : 1;
    return x->n_normal != y->n_normal ? (x->n_normal > y->n_normal ? -1 : 1) : strcmp(x->normal, y->normal);
}

xt_status tok_added_read(tok_added_list *l, const cJSON *json, const tok_part *normalizer) {
    const cJSON *e;
    int n = cJSON_GetArraySize(json);
    *l = (tok_added_list){.items = calloc(n ? (size_t)n : 1, sizeof *l->items)};
    if (!l->items) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    cJSON_ArrayForEach(e, json) XT_TRY(read_one(&l->items[l->n++], e, normalizer));
    qsort(l->items, l->n, sizeof *l->items, in_order);
    return NULL;
}

const tok_added *tok_added_find(const tok_added_list *l, int64_t id) {
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].id == id) return &l->items[i];
    return NULL;
}

static const tok_added *at_place(const tok_added_list *l, bool after, tok_text t, size_t at) {
    unsigned char c = (unsigned char)t.data[at];
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((unsigned char)*l->items[mid].normal < c)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < l->n && (unsigned char)*l->items[low].normal == c; low++) {
        const tok_added *a = &l->items[low];
        if (a->normalized == after && a->n_normal && a->n_normal <= t.n - at &&
            memcmp(a->normal, t.data + at, a->n_normal) == 0)
            return a;
    }
    return NULL;
}

static size_t last_char(tok_text t, size_t end) {
    do end--;
    while (end && ((unsigned char)t.data[end] & 0xc0) == 0x80);
    return end;
}

static bool alone(tok_text t, size_t start, size_t end) {
    size_t k, before = start ? last_char(t, start) : 0;
    return (!start || !tok_is_word(tok_char(t.data + before, start - before, &k))) &&
           (end == t.n || !tok_is_word(tok_char(t.data + end, t.n - end, &k)));
}

void tok_added_cut(const tok_added_list *l, bool after, const tok_piece *from, tok_pieces *out) {
    tok_text t = from->text;
    size_t done = 0;
    for (size_t at = 0; at < t.n;) {
        const tok_added *a = at_place(l, after, t, at);
        size_t start = at, end = a ? at + a->n_normal : at + 1, k;
        at = end;
        if (!a || (a->single_word && !alone(t, start, end))) continue;
        if (a->lstrip)
            for (size_t p; start > done && (p = last_char(t, start)) >= done; start = p)
                if (!tok_is_space(tok_char(t.data + p, start - p, &k))) break;
        if (a->rstrip)
            for (; end < t.n && tok_is_space(tok_char(t.data + end, t.n - end, &k)); end += k) {
            }
        if (start < done) start = done;
        tok_push(out, (tok_piece){{t.data + done, start - done}, from->at_start && !done, -1});
        tok_push(out, (tok_piece){{t.data + start, end - start}, false, a->id});
        done = end;
        if (at < end) at = end;
    }
    tok_push(out, (tok_piece){{t.data + done, t.n - done}, from->at_start && !done, -1});
}
