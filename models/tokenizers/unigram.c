/* Unigram (Kudo 2018, arXiv 1804.10959): of all ways to cut a piece into tokens the one whose scores add up to most,
 * found from left to right. A character that no token covers alone costs 10 more than the worst token. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

typedef struct node { /* the best way to the byte it stands at */
    double score;
    size_t from;
    int32_t id;
    bool reached;
} node;

static void reach(node *to, double score, size_t from, int32_t id) {
    if (!to->reached || score > to->score) *to = (node){score, from, id, true};
}

static void find_ways(const tok_model *m, tok_text t, node *best) {
    for (size_t i = 0, k; i < t.n; i += k) {
        uint64_t hash = TOK_HASH_BEGIN;
        bool alone = false;
        tok_char(t.data + i, t.n - i, &k);
        for (size_t n = 1; n <= m->vocab.longest && i + n <= t.n; n++) {
            int32_t id = tok_vocab_find_next(&m->vocab, t.data + i, n, &hash);
            if (id < 0) continue;
            reach(&best[i + n], best[i].score + m->scores[id], i, id);
            alone = alone || n == k;
        }
        if (!alone) reach(&best[i + k], best[i].score + m->least_score - 10, i, -1);
    }
}

static xt_status push_known(const tok_model *m, tok_text t, tok_ids *out) {
    int32_t id = tok_vocab_find(&m->vocab, t.data, t.n);
    if (id >= 0)
        tok_push_id(out, id);
    else if (!tok_push_bytes(m, t, out)) {
        if (m->unknown < 0)
            return xt_status_new(XT_INVALID_ARGUMENT, "\"%.*s\" has no token, and the tokenizer no unknown one",
                                 (int)(t.n < 40 ? t.n : 40), t.data);
        tok_push_id(out, m->unknown);
    }
    return NULL;
}

static xt_status encode(const tok_model *m, tok_text t, tok_ids *out) {
    node *best = tok_alloc(out->scratch, (t.n + 1) * sizeof *best);
    size_t *cuts = tok_alloc(out->scratch, (t.n + 1) * sizeof *cuts), n = 0;
    if (!best || !cuts) return NULL; /* the arena has failed */
    memset(best, 0, (t.n + 1) * sizeof *best);
    find_ways(m, t, best);
    bool unknown = false;
    for (size_t at = t.n; at > 0; at = best[at].from) { /* from behind; unknown ones in a row are one */
        bool is = m->unknown >= 0 && (best[at].id < 0 || best[at].id == m->unknown);
        if (!(is && unknown)) cuts[n++] = at;
        unknown = is;
    }
    for (size_t from = 0; n-- > 0; from = cuts[n])
        XT_TRY(push_known(m, (tok_text){t.data + from, cuts[n] - from}, out));
    return NULL;
}

xt_status tok_unigram_read(tok_model *m, const cJSON *json) {
    (void)json;
    m->encode = encode;
    return m->scores ? NULL : xt_status_new(XT_DATA_LOSS, "a Unigram's \"vocab\" is no list");
}
