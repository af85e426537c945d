/* A process that has threads or an open device cannot be forked: fresh processes load the function from a shared
 * library. ./by_symbol MODULE.so SYMBOL TEXT */
#include <stdio.h>

#include <xtrain/xtrain.h>

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: by_symbol MODULE.so SYMBOL TEXT\n"), 2;
    xt_item(xt_ones(XT_F32)); /* opens the device: a fork is impossible from here on */
    int failed = xt_launch(NULL, NULL, .module = argv[1], .symbol = argv[2], .arg_text = argv[3]);
    return xt_finish() || failed;
}
