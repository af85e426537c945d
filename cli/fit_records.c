/* Records for the fit of a model's folder: texts, prompts with their completions, conversations. */
#include "cli/fit.h"
#include "cli/words.h"
#include "models/records.h"

#include <stdio.h>
#include <string.h>

/* A template in the folder that is not known matters to conversations alone: `why` says so where there is one. */
static xt_status template_of(const fit_options *o, const chat_template **out, char *why, size_t n) {
    why[0] = 0;
    if (!o->chat_template) {
        xt_status s = chat_template_of(o->folder->dir, out);
        if (s) snprintf(why, n, "%s", xt_status_message(s));
        xt_status_free(s);
        return NULL;
    }
    *out = chat_template_named(o->chat_template);
    if (*out) return NULL;
    return xt_status_new(XT_INVALID_ARGUMENT, "--chat-template %s: chatml, llama3 and llama2 are known",
                         o->chat_template);
}

typedef enum form { WINDOWS, PACK, PAD, FORMS } form;
static xt_status form_of(const fit_options *o, const records *r, form *out) {
    static const char *const names[FORMS] = {"windows", "pack", "pad"};
    *out = r->all_learnt ? WINDOWS : PAD;
    if (!o->packing) return NULL;
    for (*out = WINDOWS; *out < FORMS; ++*out)
        if (strcmp(o->packing, names[*out]) == 0) break;
    if (*out == FORMS)
        return xt_status_new(XT_INVALID_ARGUMENT, "--packing %s: windows, pack and pad are known", o->packing);
    if (*out == WINDOWS && !r->all_learnt)
        return xt_status_new(XT_INVALID_ARGUMENT,
                             "--packing windows: these records say what is to be learnt of them, which windows cannot; "
                             "pack or pad");
    if (*out == PACK && o->folder->form != FOLDER_LLAMA)
        return xt_status_new(XT_UNIMPLEMENTED,
                             "--packing pack: Llama's family keeps packed records apart, a GPT-2 does "
                             "not here; pad or windows");
    return NULL;
}

static void tell_straddling(const records *r) {
    if (r->straddling)
        cli_printf(
            "in %zu records a token reaches from the prompt into the answer: let the answer begin with the space "
            "between them\n",
            r->straddling);
}

static bool tells(const fit_options *o) {
    return xt_rank() == 0 && !o->json;
}

/* Windows cover the text that the records are together: nothing is cut, and a tenth of its tokens is held out. */
static void tell_windows(const fit_options *o, const records *r, size_t held) {
    cli_printf("%s: %zu records of %zu bytes are %zu tokens of one text; the last %zu are for validation\n", o->data,
               r->count, r->bytes, r->n, held);
    tell_straddling(r);
}

static void tell_whole(const fit_options *o, const records *r, int64_t seq, size_t left_out, size_t held) {
    size_t cut = records_cut(r, seq);
    cli_printf("%s: %zu records of %zu bytes are %zu tokens, %zu of them to be learnt; the last %zu records are for "
               "validation\n",
               o->data, r->count, r->bytes, r->n, records_learnt(r, seq), held);
    if (left_out)
        cli_printf("%zu more records are left out: they have no token to learn within --seq %lld (a prompt that is as "
                   "long, or no answer)\n",
                   left_out, (long long)seq);
    if (cut) cli_printf("%zu records are longer than --seq %lld: their ends are left out\n", cut, (long long)seq);
    tell_straddling(r);
}

static xt_status windows(const fit_options *o, records *r, int64_t seq, int64_t batch, fit_data *out) {
    text_corpus *c;
    size_t cut = r->n / 10 * 9;
    if (tells(o)) tell_windows(o, r, r->n - cut);
    XT_TRY(records_as_text(r, o->of_model.vocab, &c));
    bool fits =
        (int64_t)(c->n - cut) >= (seq + 1) * xt_world_size() && (int64_t)cut >= seq * batch * xt_world_size() + 1;
    xt_dataset *train = fits ? text_windows(c, 0, cut, seq, true) : NULL,
               *test = train ? text_windows(c, cut, c->n, seq, false) : NULL;
    size_t n = c->n / (size_t)seq;
    text_release(c);
    if (!fits) return fit_too_few(o, n, "samples", batch);
    fit_loaders(o, train, test, batch, out);
    return NULL;
}

static xt_status nothing_to_learn(const fit_options *o, size_t n, int64_t seq) {
    return xt_status_new(XT_INVALID_ARGUMENT,
                         "%s: none of its %zu records has a token to learn within --seq %lld: what the completions or "
                         "the assistant say begins behind it, or is not there; give a larger --seq, or shorten the "
                         "prompts",
                         o->data, n, (long long)seq);
}

static xt_status whole(const fit_options *o, records *r, int64_t seq, int64_t batch, bool packed, fit_data *out) {
    size_t left_out = records_leave_unlearnt(r, seq);
    size_t held = r->count / 10 > 0 ? r->count / 10 : 1, cut = r->count > held ? r->count - held : 0, n = r->count;
    if (!n) {
        records_release(r);
        return nothing_to_learn(o, left_out, seq);
    }
    if (tells(o)) tell_whole(o, r, seq, left_out, held);
    int64_t pad = o->folder->stop >= 0 ? o->folder->stop : 0;
    xt_dataset *train = cut ? records_dataset(r, 0, cut, seq, packed, pad) : NULL,
               *test = train ? records_dataset(r, cut, r->count, seq, packed, pad) : NULL;
    records_release(r);
    return fit_samples(o, train, test, n, "samples", batch, out);
}

xt_status fit_open_records(const model *m, fit_options *o, int64_t batch, fit_data *out) {
    int64_t seq = o->of_model.seq ? o->of_model.seq : m->own.seq;
    records_opts how = {.stop = o->folder->stop, .vocab = o->of_model.vocab};
    records *r;
    form f;
    char why[1024];
    XT_TRY(cli_open_words(o->tokenizer, o->beside, o->of_model.vocab, &out->words));
    how.words = out->words;
    XT_TRY(template_of(o, &how.chat, why, sizeof why));
    if (why[0]) how.no_chat = why;
    XT_TRY(records_open(o->data, &how, &r));
    xt_status s = form_of(o, r, &f);
    if (s) {
        records_release(r);
        return s;
    }
    return f == WINDOWS ? windows(o, r, seq, batch, out) : whole(o, r, seq, batch, f == PACK, out);
}
