/* Texts for the fit of an encoder's folder: with labels, or with tokens that are to be found. */
#include "cli/fit.h"
#include "cli/words.h"

#include <stdio.h>

static void tell(const fit_options *o, const labelled *l, bool labels, size_t held) {
    cli_printf("%s: %zu samples, the last %zu are for validation; ", o->data, labelled_count(l), held);
    if (labels)
        cli_printf("%zu classes, %s to %s\n", fit_init_labels()->n, fit_init_labels()->names[0],
                   fit_init_labels()->names[fit_init_labels()->n - 1]);
    else
        cli_printf("15 in 100 tokens are to be found\n");
    if (labelled_cut(l))
        cli_printf("%zu texts are longer than --seq %lld: their ends are left out\n", labelled_cut(l),
                   (long long)o->of_model.seq);
}

xt_status fit_open_labelled(const model *m, fit_options *o, int64_t batch, fit_data *out) {
    labelled_opts how = {
        .vocab = o->of_model.vocab, .seq = o->of_model.seq, .labels = m->classifies, .names = fit_init_labels()};
    labelled *l;
    XT_TRY(cli_open_words(o->tokenizer, o->beside, o->of_model.vocab, &out->words));
    how.words = out->words;
    XT_TRY(labelled_open(o->data, &how, &l));
    size_t n = labelled_count(l), held = n / 10 > 0 ? n / 10 : 1, cut = n > held ? n - held : 0;
    if (xt_rank() == 0 && !o->json) tell(o, l, m->classifies, held);
    xt_dataset *train = cut ? labelled_dataset(l, 0, cut, true) : NULL,
               *test = train ? labelled_dataset(l, cut, n, false) : NULL;
    labelled_release(l);
    return fit_samples(o, train, test, n, "samples", batch, out);
}
