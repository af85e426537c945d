/* xtrain version: what runs here. */
#include "cli/cli.h"

#include <stdio.h>

static int run(int argc, char **argv) {
    bool json = false;
    const cli_option options[] = {{"--json", CLI_FLAG, &json, NULL, "one JSON object"}};
    int code = cli_parse(argc, argv,
                         "usage: xtrain version\n\n"
                         "Prints the version of the library that runs.\n",
                         options, 1, NULL);
    if (code) return code - 1;
    if (json)
        cli_printf("{\"xtrain\": \"%s\"}\n", xt_version());
    else
        cli_printf("xtrain %s\n", xt_version());
    return 0;
}

const cli_command cli_version = {"version", "the versions that run", run};
