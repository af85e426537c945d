/* xtrain postmortem: what a dead run was doing. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv) {
    const char *dir = NULL;
    const cli_option options[] = {
        {"DIR", CLI_STRING, &dir, NULL,
         "xt-crash-PID, or a folder that has such folders (default: XT_POSTMORTEM_DIR, else this one)"}};
    int code = cli_parse(argc, argv,
                         "usage: xtrain postmortem [DIR]\n\n"
                         "Says how a run ended, where it was, what filled the device's memory, what grew, its last "
                         "report and its last events. A run "
                         "that was\n"
                         "killed is found too: its black box survives in the status folder until the next start or "
                         "this command moves it into its crash folder.\n",
                         options, 1, NULL);
    if (code) return code - 1;
    char *text = NULL;
    xt_status s = xt_postmortem(dir, &text);
    if (s) return cli_fail_status("postmortem", s);
    cli_text(stdout, text, strlen(text));
    xt_text_free(text);
    return 0;
}

const cli_command cli_postmortem = {"postmortem", "what a dead run was doing", run};
