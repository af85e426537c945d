/* Pairs of texts for the fit of a folder with an encoder. */
#include "cli/fit.h"
#include "cli/words.h"
#include "models/pairs.h"

static void tell(const fit_options *o, const pairs *p, size_t held) {
    cli_printf("%s: %zu pairs of at most %lld and %lld tokens, the last %zu are for validation\n", o->data,
               pairs_count(p), (long long)pairs_source(p), (long long)pairs_target(p), held);
    if (pairs_cut(p))
        cli_printf("%zu texts are longer than --seq %lld: their ends are left out\n", pairs_cut(p),
                   (long long)o->of_model.seq);
}

xt_status fit_open_pairs(fit_options *o, int64_t batch, fit_data *out) {
    const t5_config *c = &o->folder->t5;
    pairs_opts how = {.vocab = o->of_model.vocab, .seq = o->of_model.seq, .start = c->start, .stop = c->stop};
    pairs *p;
    XT_TRY(cli_open_words(o->tokenizer, o->beside, o->of_model.vocab, &out->words));
    how.words = out->words;
    XT_TRY(pairs_open(o->data, &how, &p));
    size_t n = pairs_count(p), held = n / 10 > 0 ? n / 10 : 1, cut = n > held ? n - held : 0;
    if (xt_rank() == 0 && !o->json) tell(o, p, held);
    fit_init_source(pairs_source(p));
    xt_dataset *train = cut ? pairs_dataset(p, 0, cut) : NULL, *test = train ? pairs_dataset(p, cut, n) : NULL;
    pairs_release(p);
    return fit_samples(o, train, test, n, "pairs", batch, out);
}
