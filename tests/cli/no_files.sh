#!/bin/bash
# FIFOs, folders, devices and sockets where files are expected: refused by name before they are opened, for opening a
# FIFO waits for a writer who may never come. Each reader of the library, of the models and of the commands.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
cat >"$tmp/reads.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
static xt_status take(const char *name, const char *value, void *user) {
    (void)name, (void)value, (void)user;
    return NULL;
}
static int said(xt_status s) {
    if (!s) return puts("it was read"), 0;
    fprintf(stderr, "%s\n", xt_status_message(s));
    xt_status_free(s);
    return 1;
}
/* reads WHAT FILE; datasets tell their errors themselves. */
int main(int argc, char **v) {
    const char *what = argc > 2 ? v[1] : "", *path = v[2];
    xt_array a = {0};
    xt_program *p;
    xt_recording *r;
    char *text;
    size_t n;
    if (!strcmp(what, "load")) return said(xt_load(xt_module_new(NULL, NULL), path));
    if (!strcmp(what, "program")) return said(xt_program_load(path, &p));
    if (!strcmp(what, "recording")) return said(xt_recording_load(path, &r));
    if (!strcmp(what, "npy")) return said(xt_npy_read(path, &a));
    if (!strcmp(what, "config")) return said(xt_config_read(path, take, NULL));
    if (!strcmp(what, "file")) {
        int wrong = said(xt_read_file(path, &text, &n));
        if (!wrong) xt_text_free(text);
        return wrong;
    }
    if (!strcmp(what, "csv")) return xt_csv_dataset(path) == NULL;
    if (!strcmp(what, "array")) return xt_npy_dataset(path, NULL) == NULL;
    if (!strcmp(what, "tensors")) return xt_safetensors_dataset(path, "x", NULL) == NULL;
    if (!strcmp(what, "text")) return xt_text_dataset(path, 8, 8) == NULL;
    if (!strcmp(what, "mnist")) return xt_mnist_dataset(path) == NULL;
    if (!strcmp(what, "cifar")) return xt_cifar10(path, "train") == NULL;
    return 3;
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$tmp/reads.c" -I"$root/include" -o "$tmp/reads" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
checkpoint() { # a model's folder with the kind as one of its files
    mkdir -p "$tmp/model"
    rm -rf "$tmp/model"/*
    cp -RP "$1" "$tmp/model/$2"
    : >"$tmp/model/last.ckpt"
}

refused() { # refused READER COMMAND...: ends soon, as an error that says of which kind it is
    local reader=$1
    shift
    timeout 20 "$@" >"$tmp/out" 2>&1 </dev/null
    rc=$?
    check "$reader, $kind: ends as an error ($rc)" [ $rc != 0 -a $rc -lt 124 ]
    check "$reader, $kind: says so" grep -qE "it is $kind; a regular file is expected|is no regular file" "$tmp/out"
}
mkdir "$tmp/there" "$tmp/set"
mkfifo "$tmp/there/fifo"
mkdir "$tmp/there/folder"
ln -s /dev/zero "$tmp/there/device"
for kind in "a FIFO" "a folder" "a device"; do
    f=$tmp/there/${kind#a }
    f=${f/FIFO/fifo}
    for what in load program recording npy config file csv array tensors text; do
        refused $what "$tmp/reads" $what "$f"
    done
    for name in train-images-idx3-ubyte train-labels-idx1-ubyte; do cp -RP "$f" "$tmp/set/$name"; done
    refused mnist "$tmp/reads" mnist "$tmp/set"
    for i in 1 2 3 4 5; do cp -RP "$f" "$tmp/set/data_batch_$i.bin"; done
    refused cifar "$tmp/reads" cifar "$tmp/set"
    rm -rf "$tmp/set"/*
    fit="$XTRAIN fit mnist --limit-batches 1 --epochs 1 --no-pictures"
    refused --config $fit --config "$f"
    # a folder is one of checkpoints there
    [ "$kind" = "a folder" ] || refused --resume $fit --resume "$f"
    [ "$kind" = "a folder" ] || refused --ckpt "$XTRAIN" validate mnist --ckpt "$f"
    refused run "$XTRAIN" run "$f"
    refused "the text" "$XTRAIN" fit gpt2-tiny --data "$f"
    checkpoint "$f" vocab.json
    refused "the tokenizer" "$XTRAIN" generate gpt2-tiny --tokenizer "$tmp/model" --ckpt "$tmp/model/last.ckpt"
    checkpoint "$f" config.json
    refused "a model's configuration" "$XTRAIN" generate gpt2-tiny --ckpt "$tmp/model/last.ckpt"
    cp -RP "$f" "$tmp/model/m.so"
    refused "a model" "$XTRAIN" fit "$tmp/model/m.so"
    refused "a plugin" env XT_DEVICE="$f" $fit
    rm -rf "$tmp/model"
done

# What the shell opened already is read.
check "a pipe without a name is read" eval 'timeout 20 "$tmp/reads" file <(echo text) >"$tmp/out" 2>&1'
check "and standard input" eval 'echo text | timeout 20 "$tmp/reads" file /dev/stdin >"$tmp/out" 2>&1'

# Nothing else opens files: a new reader or writer by itself would wait for a FIFO, or write half a file again.
opens='(^|[^_a-zA-Z>.])(fopen|open|openat|gzopen|creat|mkstemp)\('
# The openers themselves; /proc and /sys; what belongs to a segment, a box or a child of the library's own.
own='^src/base/(private_file|file|alloc|unfinished|clock|process|src_dwarf)\.c|^src/crash/|^src/coll/shm/'
own+='|^src/dist/(spawn|restart|mpirun|supervise)\.c'
own+='|^src/device/(probe|count|build_id)\.c|^src/train/(device_stats|checkpoint_listed)\.c|^src/plan/compile\.c'
own+='|^src/lazy/core/memory_limit\.c'
own+='|^src/cpu/vector/jit_memory\.c|^src/format/room\.c|^cli/(bench|bench_hot|plan_rows|nodes/join)\.c'
# Folders, files without a name, the device that is always there.
fine='file_open|xt_open_file|->open\(|O_DIRECTORY|O_TMPFILE|open\("/dev/null"'
fine+='|plan\.c:.*fopen\(path, "rb"\)|plot\.c:.*fopen\(path, "r"\)'
(cd "$root" && grep -rnE "$opens" src cli models --include=*.c | grep -vE "$own|^[^:]*:[0-9]*: *(/?\*|//)" |
    grep -vE "$fine") >"$tmp/out"
check "files are opened by file_open_input and file_writer_open alone" [ ! -s "$tmp/out" ]
# Nor does a command make folders: a plain mkdir goes through the links of other users. The one of an agent's orders
# lies in /dev/shm or /tmp itself.
(cd "$root" && grep -rnE '(^|[^_a-zA-Z>.])mkdir(at)?\(' cli models --include=*.c |
    grep -v '^cli/nodes/orders\.c:.*mkdir(folder, 0700)') >"$tmp/out"
check "folders are made by xt_make_folder alone" [ ! -s "$tmp/out" ]
finish
