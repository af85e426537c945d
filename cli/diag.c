/* Options of the commands that run programs: what they tell about compiles, and where the time goes. They set the
 * variables a program's own start reads. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_words(const char *words) {
    const char *old = getenv("XT_DEBUG");
    char text[256];
    snprintf(text, sizeof text, "%s%s%s", old && *old ? old : "", old && *old ? "," : "", words);
    setenv("XT_DEBUG", text, 1);
}

int cli_diag_apply(const char *command, const cli_diag *d) {
    char n[24];
    if (d->max_compiles < 0)
        return cli_fail(command, "--max-compiles %lld: a number from 1 is expected", (long long)d->max_compiles), 2;
    if (d->explain) add_words("compile,exec,read");
    if (d->debug) add_words(d->debug);
    if (d->profile) setenv("XT_PROFILE", d->profile, 1);
    if (!d->max_compiles) return 0;
    snprintf(n, sizeof n, "%lld", (long long)d->max_compiles);
    setenv("XT_MAX_COMPILES", n, 1);
    return 0;
}
