#!/bin/bash
# doc/from-lightning.md says that what it does not list is there. lightning.txt has the names of Lightning's public
# classes, with their arguments and attributes (tests/peers/lightning_names.py writes it): an argument is a field of the
# same name in the struct of options that the class has here, or stands in a row of the document that names the class;
# hooks and attributes stand in it, in the table of names, or in the headers. Each xt_ name in it is one of the
# headers'.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
doc=$root/doc/from-lightning.md
cat "$doc" "$root/doc/from-pytorch.md" "$root"/include/xtrain/train*.h >"$tmp/all"
# Class and struct of options.
structs="Trainer xt_trainer_opts ModelCheckpoint xt_model_checkpoint_opts EarlyStopping xt_early_stopping_opts
 EMAWeightAveraging xt_weight_averaging_opts StochasticWeightAveraging xt_weight_averaging_opts
 SpikeDetection xt_spike_detection_opts OnExceptionCheckpoint xt_exception_checkpoint_opts Timer xt_timer_opts
 LearningRateFinder xt_lr_find_opts lr_find xt_lr_find_opts BatchSizeFinder xt_batch_find_opts
 scale_batch_size xt_batch_find_opts ThroughputMonitor xt_throughput_monitor_opts self.log xt_log_opts
 self.log_dict xt_log_opts"
# Classes of which nothing is here, as the document says; their arguments are theirs.
absent="BackboneFinetuning BaseFinetuning ModelPruning RichProgressBar RichModelSummary"

# fields STRUCT: the names that stand in its definition
fields() {
    [ -n "$1" ] || return
    sed -n "/^typedef struct XT_OPTIONS_ $1 {/,/^} $1;/p" "$root"/include/xtrain/*.h | sed 's,/\*.*\*/,,' |
        grep -oE '\b[a-z][a-z0-9_]*\b' | sort -u
}
# has NAME FILE
has() { grep -qwF -- "$1" "$2"; }
while read -r class names; do
    case " $absent " in *" $class "*)
        check "the document names $class" has "$class" "$doc"
        continue
        ;;
    esac
    case $class in of-*) cp "$tmp/all" "$tmp/rows" ;; *)
        # shellcheck disable=SC2086
        struct=$(printf '%s %s\n' $structs | sed -n "s/^$class //p")
        grep -wF -- "$class" "$doc" >"$tmp/rows"
        fields "$struct" >>"$tmp/rows"
        check "the document names $class" has "$class" "$doc"
        ;;
    esac
    [ "$class" = Trainer ] && cat "$doc" >>"$tmp/rows"
    for name in $names; do
        check "$class: $name has its place" has "$name" "$tmp/rows"
    done
done <"$here/lightning.txt"
check "the names are there" [ "$(wc -l <"$here/lightning.txt")" -gt 40 ]
for name in $(grep -oE '\bxt_[a-z0-9_]+' "$doc" | grep -v '_$' | sort -u); do
    check "$name of from-lightning.md exists" grep -qwF -- "$name" "$root"/include/xtrain/*.h
done
finish
