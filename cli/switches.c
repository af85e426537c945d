/* The diagnostic switches and what they cost: one table, shown by `xtrain --help`, by the help of the commands that
 * have them, and by `xtrain explain switches`. Measured by bench/switch_cost (`switch_cost all`, `switch_cost always`)
 * on two cores with everything else stopped: a step of eleven ops on eight numbers (5.6 us), a training step of a small
 * network (64 - 256 - 10, 128 samples), and `xtrain bench mnist` (batch 128). */
#include "cli/cli.h"

#include <stdio.h>

static const struct {
    const char *name, *does, *cost;
} switches[] = {
    {"counters, timers, ledger, black box", "always on", CLI_COST_ALWAYS},
    {"XT_DEBUG=compile", "each compile with cause, line, nearest program", CLI_COST_COMPILE},
    {"XT_DEBUG=exec", "each execution with cause and line", CLI_COST_EXEC},
    {"XT_DEBUG=read", "each value read too early", CLI_COST_READ},
    {"XT_DEBUG=nan", "finds the op that makes the first NaN or Inf", CLI_COST_NAN},
    {"XT_DEBUG=bounds", "finds indices and labels outside their axis", CLI_COST_BOUNDS},
    {"XT_DEBUG=eager", "runs op by op, for a debugger", CLI_COST_EAGER},
    {"XT_PROFILE=FILE", "trace of some steps", CLI_COST_PROFILE},
    {"XT_EVENTS=FILE", "a JSON line for each compile and execution", CLI_COST_EVENTS},
    {"XT_METRICS=FILE", "Prometheus text every 5 seconds", CLI_COST_METRICS},
    {"XT_WATCHDOG", "tells a step that hangs; on by default", CLI_COST_WATCHDOG},
};

void cli_print_switches(void) {
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        cli_printf("  %-36s %s\n  %-36s costs %s\n", switches[i].name, switches[i].does, "", switches[i].cost);
}
