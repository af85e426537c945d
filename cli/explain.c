/* xtrain explain: a message's code at length; the switches and what they cost. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: xtrain explain CODE | switches | all\n\n"
                            "Says what a message that ends in [XT203] means and what to do. `switches` lists the diagnostic switches and what they cost, `all` every code.\n";

/* Measured on a step of eleven ops on eight numbers, 5.2 us at best of 20,000 (bench/switch_cost.c under each variable), and on the MNIST
 * network at batch 128 (`xtrain bench mnist`, medians); two cores, everything else stopped. */
static const struct {
    const char *name, *does, *cost;
} switches[] = {
    {"counters, timers, ledger, black box", "always on", "0.11 us a step: 0.01 % of the MNIST network's 1.34 ms, 1 % of a step of 11 us"},
    {"XT_DEBUG=compile", "each compile with cause, line, nearest program", "0.4 us a step, and 0.1 ms a compile"},
    {"XT_DEBUG=exec", "each execution with cause and line", "1.7 us an execution"},
    {"XT_DEBUG=read", "each value read too early", "0.4 us a step"},
    {"XT_DEBUG=nan", "finds the op that makes the first NaN or Inf", "0.7 us a step of eleven numbers, 30 to 50 % of an MNIST step: all results are read back, and each step is waited for"},
    {"XT_DEBUG=eager", "runs op by op, for a debugger", "a program for each op: 3 us an op, an MNIST step takes ten times as long"},
    {"XT_PROFILE=FILE", "trace of some steps", "0.5 us a step and 0.1 us an op while it is taken"},
    {"XT_EVENTS=FILE", "a JSON line for each compile and execution", "5 us an execution"},
    {"XT_METRICS=FILE", "Prometheus text every 5 seconds", "nothing measurable"},
    {"XT_WATCHDOG", "tells a step that hangs; on by default", "nothing measurable"},
};

static const char *language(const char *given) {
    if (given) return given;
    const char *names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && *v) return strncmp(v, "zh", 2) == 0 ? "zh" : "en";
    }
    return "en";
}

static void print_switches(void) {
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) printf("%-36s %s\n%-36s costs %s\n", switches[i].name, switches[i].does, "", switches[i].cost);
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
        fprintf(stderr, "xtrain explain: which code? `xtrain explain all` lists them\n");
        return 2;
    }
    if (strcmp(code, "switches") == 0) return print_switches(), 0;
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
        if (json && !all) printf("{\"code\": \"%s\", \"text\": \"%s\"}\n", xt_code_at(i), xt_explain(xt_code_at(i), language(lang)));
        else printf("%s  %s\n", xt_code_at(i), xt_explain(xt_code_at(i), language(lang)));
    }
    return found ? 0 : cli_fail("explain", "%s is no code; `xtrain explain all` lists them", code);
}

const cli_command cli_explain = {"explain", "a message's code at length (XT203), what switches cost", run};
