/* Unigram (Kudo 2018, arXiv 1804.10959): of all ways to cut a piece into tokens the one whose scores add up to most,
 * found from left to right. A character that no token covers alone costs 10 more than the worst token. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

typedef struct node { /* the best way to the byte it stands at */
    double score;
    size_t from;
    int32_t id;
    bool reached, begins; /* begins: a character, and so may a token */
} node;

static void reach(node *to, double score, size_t from, int32_t id) {
    if (!to->reached || score > to->score) *to = (node){score, from, id, true, to->begins};
}

/* Tokens that end at byte `end`, behind a character of k bytes, the longest first; then the character alone. */
static void reach_end(const tok_model *m, node *best, size_t end, size_t k, int32_t at) {
    const tok_prefix *all = m->prefixes.at;
    bool alone = false;
    for (at = all[at].id >= 0 ? at : all[at].shorter; at > 0; at = all[at].shorter) {
        int32_t id = all[at].id;
        size_t n = m->vocab.tokens[id].n;
        if (!best[end - n].begins) continue;
        reach(&best[end], best[end - n].score + m->scores[id], end - n, id);
        alone = alone || n == k;
    }
    if (!alone && k) reach(&best[end], best[end - k].score + m->least_score - 10, end - k, -1);
}

static void find_ways(const tok_model *m, tok_text t, node *best) {
    int32_t at = 0;
    for (size_t i = 0, k; i < t.n; i += k) {
        tok_char(t.data + i, t.n - i, &k);
        best[i].begins = true;
        for (size_t n = 1; n <= k; n++) {
            at = tok_prefix_next(&m->prefixes, at, t.data[i + n - 1]);
            reach_end(m, best, i + n, n == k ? k : 0, at);
        }
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
    if (!m->scores) return xt_status_new(XT_DATA_LOSS, "a Unigram's \"vocab\" is no list");
    return tok_prefixes_make(&m->prefixes, &m->vocab);
}
