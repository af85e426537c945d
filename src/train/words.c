/* Options that are words. Each is looked at where it is given (in C, by the environment, on the command line, in a
 * configuration file), not where it is used, which may be after an hour of loading data, or never. Names and paths of
 * the user's own (run_name, runs_dir, resume, ckpt) are any text. */
#include "train/limits.h"
#include "train/logger.h"
#include "train/train_int.h"

static xt_status one_of(const char *option, const char *given, size_t n, const char *const *words) {
    str list = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(given, words[i]) == 0) {
            str_free(&list);
            return NULL;
        }
        str_printf(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", words[i]);
    }
    const char *near = text_nearest(given, words, n);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: %s are known%s%s%s", option, given, str_cstr(&list),
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    str_free(&list);
    return s;
}

static xt_status interval(const char *text) {
    train_interval parsed;
    return interval_parse("val_every", text, &parsed);
}

static xt_status duration(const char *text) {
    int64_t ns;
    return duration_parse("max_time", text, &ns);
}

xt_status train_words_check(const xt_trainer_opts *o) {
    static const char *const algorithms[] = {"norm", "value"}, *const strategies[] = {"ddp", "zero1", "zero2", "fsdp"};
    if (o->precision) XT_TRY(train_precision_check(o->precision));
    if (o->gradient_clip_algorithm)
        XT_TRY(one_of("gradient_clip_algorithm", o->gradient_clip_algorithm, BASE_COUNT(algorithms), algorithms));
    if (o->strategy) XT_TRY(one_of("strategy", o->strategy, BASE_COUNT(strategies), strategies));
    if (o->loggers) XT_TRY(loggers_check(o->loggers));
    if (o->signals) XT_TRY(stopping_check_names(o->signals));
    if (o->val_every) XT_TRY(interval(o->val_every));
    return o->max_time ? duration(o->max_time) : NULL;
}
