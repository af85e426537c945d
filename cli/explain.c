/* xtrain explain: a message's code at length; the switches and what they cost. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: xtrain explain CODE | switches | all\n\n"
                            "Says what a message that ends in [XT203] means and what to do. `switches` lists the "
                            "diagnostic switches and what they cost, `all` every code.\n";

static const char *language(const char *given) {
    if (given) return given;
    const char *names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && *v) return strncmp(v, "zh", 2) == 0 ? "zh" : "en";
    }
    return "en";
}

static int run(int argc, char **argv) {
    const char *code = NULL, *lang = NULL;
    bool json = false;
    const cli_option options[] = {{"CODE", CLI_STRING, &code, NULL, "XT203, or switches, or all"},
                                  {"--language", CLI_STRING, &lang, "L", "en or zh (default: that of LANG)"},
                                  {"--json", CLI_FLAG, &json, NULL, "one JSON object"}};
    int rc = cli_parse(argc, argv, usage, options, (int)(sizeof options / sizeof options[0]), NULL);
    if (rc) return rc - 1;
    if (!code) {
        cli_fprintf(stderr, "xtrain explain: which code? `xtrain explain all` lists them\n");
        return 2;
    }
    if (strcmp(code, "switches") == 0) return cli_print_switches(), 0;
    bool all = strcmp(code, "all") == 0;
    char want[16];
    const char *number = *code == '[' ? code + 1 : code;
    snprintf(want, sizeof want, "%s%s", *number >= '0' && *number <= '9' ? "XT" : "", number); /* 203 is XT203 */
    want[strcspn(want, "]")] = '\0';
    for (char *p = want; *p; p++)
        if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 'a' + 'A');
    bool found = false;
    for (int i = 0; xt_code_at(i); i++) {
        if (!all && strcmp(xt_code_at(i), want) != 0) continue;
        found = true;
        if (json && !all)
            cli_printf("{\"code\": \"%s\", \"text\": \"%s\"}\n", xt_code_at(i),
                       xt_explain(xt_code_at(i), language(lang)));
        else
            cli_printf("%s  %s\n", xt_code_at(i), xt_explain(xt_code_at(i), language(lang)));
    }
    return found ? 0 : cli_fail("explain", "%s is no code; `xtrain explain all` lists them", code);
}

const cli_command cli_explain = {"explain", "a message's code at length (XT203), what switches cost", run};
