#!/bin/bash
# The causes of compiles, provoked one by one, are named with the user's line however the program was built: optimised,
# with few debug facts, stripped, position-independent, and in a shared object that another program opens.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_CACHE=off XT_DEBUG=compile
sources=$(ls "$root"/tests/cli/causes{,_reads,_learning}.c)
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *so = dlopen("./causes.so", RTLD_NOW);
    int (*train)(const char *) = so ? (int (*)(const char *))dlsym(so, "train") : 0;
    return train && argc > 1 ? train(argv[1]) : 99;
}
C
build() { # build OUT FLAGS...
    local out=$1
    shift
    # shellcheck disable=SC2086
    cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$@" -I"$root/include" -o "$tmp/$out" \
        -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
}
build o2 -O2 -no-pie $sources
build g1 -O2 -g1 $sources
build stripped -O2 $sources && strip "$tmp/stripped"
build pie -O2 -fPIE -pie $sources
build causes.so -O2 -fPIC -shared -DNO_MAIN $sources
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$tmp/host.c" -o "$tmp/dlopened" -ldl

# MARK FILE:LINE, the longest mark first: one may begin as another
# shellcheck disable=SC2086
marks=$(grep -nowE '@[a-z_0-9]+' $sources "$root/tests/cli/causes.h" |
    awk -F: '{ n = split($1, path, "/"); print length($3), substr($3, 2), path[n] ":" $2 }' | sort -rn | cut -d' ' -f2-)
# what NAME REPORT: the report is an extended regular expression, in which @MARK is the place of that mark; indented
# lines go on
cat >"$tmp/want" <<'W'
first       ^compile 1: program 1 for xt_mark_step at @first, step 0 . why: first program
shape       ^compile 2: .* why: shape change: value \[8\] became \[7\] at @shape \(program 1\)
dims        ^compile 2: .* why: shape change: value \[4,8\] became \[3,6\] at @dims \(program 1\), dim 0 from 4 to 3,
            dim 1 from 8 to 6: keep shapes fixed
trained     ^compile 2: .* turned at @evaluates .program 1.; first difference: .*: each setting is a program
logged      ^compile 2: .* why: new live tensor: xt_log at @blog asks for a value that program 1 does not give, and not
            for that of xt_log at @alog, which it gives
constant    ^compile 2: .* why: new scalar constant: the number at @constant changed from 0.5 to 1.5
new         ^compile 2: .* why: new live tensor: xt_keep at @keep asks for a value, made at [^ ]*causes[^ ]*:[0-9]+,
            that program 1 does not give
lost        ^compile 2: .* why: lost live tensor: program 1 also gives the value that xt_keep asks for at @keep
flag        ^compile 2: .* why: flag change: autocast is bf16 instead of off, turned at @cast .program 1.; first
            difference: .* at @flag instead of .* at @flag
mode        ^compile 2: .* why: flag change: a module is in another mode .xt_train, xt_eval., turned at @mode .program
            1.; first difference: .* .expected: first evaluation.
states      ^compile 2: .* why: flag change: a module is in another mode .xt_train, xt_eval., turned at @turned
            .program 1.; first difference: batch_norm_inference bn f32\[8,8\] .* instead of batch_norm_training bn
            f32\[8,8\]
dtype       ^compile 2: .* why: dtype change: convert f16\[16\] became bf16\[16\] at @dtype .program 1.: use the same
            dtype
cast_in     ^compile 2: .* why: dtype change: convert f16\[16\] at @cast_in instead of exponential f32\[16\] at .*:
            use the same dtype
axis        ^compile 2: .* why: other ops: reduce \[2\] .dimensions = array<i64: 0>. became \[8\] .dimensions =
            array<i64: 1>. at @axis .program 1.: the numbers that an op is made with
place       ^compile 2: .* why: other ops: slice .*start_indices = array<i64: 0>.* became .*start_indices = array<i64:
            1>.* at @place .program 1.: a place that changes from step to step is data: xt_index_select
put         ^compile 2: .* why: new scalar constant: the number at @put changed from 1 to 2: .* data from now on
roll        ^compile 2: .* why: new scalar constant: the number at @roll changed from 0 to 1: .* data from now on
roll        ^compiles: 2$
scale       ^compile 2: .* why: new scalar constant: the number at @scale changed from 1.5 to 1.51: .* data from now on
scale       ^compiles: 2$
scaled      ^compile 2: .* why: shape change: .* dim 0 from 12 to 14: keep shapes fixed
turns       ^compile 2: .* why: other ops: .* at @turns instead of .* at @turns .program 1.: an `if` at that line
            makes a program for each way, and so does each number
along       ^compile 2: .* why: other ops: slice .* at @along .*: the numbers that an op is made with .axes
eager       ^eager told nothing of reads$
behind_end  ^[^ ]*causes[^ ]*:[0-9]+: xt_log_image "late" is not written: the program ended without another
            xt_finish.. behind what followed the last one$
dead        this tensor is dead: it was made before xt_finish, which gave back all that was there, kept or not
order       ^compile 2: .* why: other ops: sine f32\[16\] at @sine instead of exponential f32\[16\] at @exponential
            .program 1.
evicted     ^compile 4: .* for xt_mark_step at @evicted, step 3 . why: cache evicted: .* raise XT_CACHE_ENTRIES
read        ^compile 1: program 1 for value read .xt_item. at @read, step 0 . why: value read: xt_item at @read reads
            a value before its step has ended
read_two    ^compile 2: .* why: value read: xt_item at @two reads a value before its step has ended: it needs a
            program for itself: xt_when_ready
unneeded    ^compile 4: .* why: new scalar constant: the number at @unneeded changed from 0.75 to 0.5 and is data from
            now on: what this step computes does not need it, .* .program 2.: one more program is enough for it
deviation   ^compiles: 2$
since       ^compile 2: .* why: shape change: value \[8\] became \[4\]
since       ^compile 3: .* step 4 . why: new scalar constant: the number at @since changed from 8 to 4: it was a
            constant of program 1 and is data from now on
since       ^compiles: 3$
print       ^compile 2: .* why: print: xt_master_printf at @print asks for a value that program 1 does not give
checkpoint  ^compile 1: program 1 for checkpoint at @checkpoint, step 0
loader      ^compile 2: program 2 for loader at @loader, step 3 . why: shape change: batch \[4,2\] became \[2,2\] at
            @loader .program 1., dim 0 from 4 to 2: last batch of the epoch
wait        ^compile 1: program 1 for xt_wait at @wait, step 0
micro       ^compile 2: .* at @micro, .* why: accumulation: a micro-batch without an optimizer step; that of program 1
            has no backward pass
micro       ^compile 3: .* at @micro, .* why: accumulation: a micro-batch that adds to the gradients of those before
            it, without an optimizer step; that of program 2 begins with none, without one
micro       ^compile 4: .* at @micro, .* why: accumulation: a micro-batch that adds to the gradients of those before
            it, with an optimizer step; that of program 3 adds to gradients, without one
assigned    ^compile 2: .* why: another step: .* it begins with .* at @assigned
read_shape  ^compile 2: .* why: shape change: xt_item at @sized .* value \[8\] became \[7\] at .* .program 1.,
            dim 0 from 8 to 7
h0          ^compile 2: .* at @h0 instead of constant rnn.h0 .* at @h0 .program 1.; rnn.h0 is a constant in
            program 1 and a tensor now
cell        ^compile 2: .* at @cell instead of constant rnn.h0 .* at @cell .program 1.; rnn.h0 is a constant in
            program 1 and a tensor now
built       ^compiles after the build: 1$
row         ^8 steps in a row each needed a new program, the last at @row: shape change: .* dim 0 from .* to
            [0-9]+: .*XT210
sampled     ^8 reads in a row each needed a new program, the last at @sampled: shape change: .* dim 0 from .* to
            [0-9]+: .*XT210
endless     ^compile 7: .* why: shape change: value \[12\] became \[14\] at [^ ]* .program 5., dim 0 from 12 to 14
assign      ^compile 2: .* why: other states: this step gives state fc.bias a new value at @assign, which that of
            program 1 does not:
momentum    ^compile 2: .* why: flag change: xt_optimizer_set_momentum at @momentum gave an optimizer a momentum
bound       ^compile 2: .* why: new scalar constant: the number at @bound changed from 4 to 5: .* data from now on
bound       ^compiles: 2$
cut         ^compile 2: .* why: shape change: slice .* at @cut .program 1., dim 0 from 4 to 5
carried     ^compile 2: .* why: other ops: what xt_keep keeps at @carry comes from the step before; program 1 is of the
            first step, in which it comes from constant f32\[8,2\] at @zeros: .* needs no program of its own$
list        ^compile 3: .* why: other ops: 2 tensors that xt_keep keeps at @listed come in .1 in program 2.: a list that
            grows
loop        ^compile 3: .* why: other ops: sine f32\[8\] at @loop comes 3 times .2 in program 2.: what a loop or an
optimizer   ^compile 2: .* why: another step: xt_sgd made at @sgd steps, in place of xt_adam made at @adam .program 1.:
layer       ^compile 2: .* why: other ops: new: parameter mid.weight f32\[2,2\] at @mid, which the step of program 1
            has not: one more
lora        ^compile 2: .* why: other ops: new: parameter fc.lora_A.weight f32\[1,2\] at [^ ]*, which the step of
            program 1 has not; xt_lora at @lora changed which are trained: one more
power       ^compile 2: .* why: new scalar constant: the number at @power changed from 1 to 2
half        ^compile 2: .* why: new scalar constant: the number at @half changed from 1 to 2: it was a constant
half        ^compile 3: .* why: dtype change: add i64\[2\] became f32\[2\] at @half .program 2.: beside integers a whole
            number gives integers
half        ^compiles: 3$
smoothed    @smoothed: the number of xt_cross_entropy changed from 0 to 0.25 between
smoothed    ^compile 2: .* why: new scalar constant: the number at @smoothed changed from 0 to 0.25: it was a constant
smoothed    ^compiles: 2$
norm_type   ^compiles: 2$
average     ^compiles: 1$
beginnings  ^option 8: 2$
open        ^compile 2: .* for value read .* why: another step: .* and another one now: 2 optimizer steps stand in front
            of it in this step .1 in program 1., as nothing has ended the step in between: xt_mark_step
open_state  ^8 reads in a row each needed a new program, the last at @decoded: another step: .* as nothing has ended the
            step in between: xt_mark_step.. at the end of each iteration ends its step .XT210
places      ^8 reads in a row each needed a new program, the last at @window: other ops: .* xt_index_select.*XT210
behind      ^compile 2: .* why: value read: xt_item at @behind reads a value before its step has ended: it needs a
            program for itself: xt_when_ready
loaders     ^compile 2: .* for loader at @other_loader, .* dim 0 from 6 to 4: a batch of another loader: loaders
own_array   ^compile 2: .* why: other ops: broadcast_in_dim f32\[4,3\] .* at @own instead of broadcast_in_dim
            .* at @common
own_read    ^compile 2: .* why: other ops: xt_item at .* and another one now: .* at @own_read instead of .*: an `if`
own_kept    ^compile 2: .* why: other ops: broadcast_in_dim f32\[4,3\] .* at @own_kept instead of broadcast_in_dim
either      ^compile 2: .* why: other ops: add f32\[4,3\] at @either instead of broadcast_in_dim .* at @either
more_shorter ^compile 2: .* why: shape change: value \[8\] became \[6\] at .*, dim 0 from 8 to 6: keep shapes fixed
other_loss  ^compile 2: .* why: other ops: new: multiply f32\[8,3\] at @again; that line made nothing of program 1: an
modules     ^compile 2: .* why: another step: xt_item .* now: parameter fc.* f32\[5.* at @width is of another module
            than that of program 1, parameter fc.* f32\[3.* at @width: modules of other sizes
read_mode   ^compile 2: .* why: flag change: xt_item .* now: a module is in another mode .xt_train, xt_eval., turned at
            @read_mode .program 1.; first difference: .*: each setting is a program
beside_mode ^compile 3: .* for value read .* why: shape change: .* value \[8\] became \[7\] at .*, dim 0 from 8 to 7
evaluation  ^compile 3: .* for xt_mark_step .* .expected: first evaluation.$
read_cast   ^compile 2: .* why: flag change: xt_item .* now: autocast is bf16 instead of off, turned at @read_cast
            .program 1.; first difference
read_window ^compile 3: .* why: accumulation: xt_item .* now: its gradients are of a micro-batch that adds to the
            gradients of those before it; that of program 1 begins with none; first difference
lengths     ^compile 2: .* why: shape change: slice \[4,4\] .* became \[4,5\] .* at @length .program 1., dim 1 from 4 to
            5: keep shapes fixed
lengths_told ^8 steps in a row each needed a new program, the last at .*: shape change: slice .* at @length .program
            [0-9]+., dim 1 from [0-9]+ to [0-9]+: keep shapes fixed, or pad to a few sizes.*XT210
lengths_read ^compile 3: .* why: shape change: xt_item .* slice \[[56]\] .* became \[7\] .* at @long .*, dim 0 from [56]
            to 7: keep
names       ^compile 3: .* why: other ops: what xt_log writes at @named has other names than in program 2: each set
freeze_sgd  ^compile 2: .* step 2 . why: flag change: xt_freeze of "\*.bias" at @freeze changed which parameters are
            trained .program 1.: each setting
freeze_sgd  ^compiles: 2$
freeze_momentum ^compile 2: .* step 2 . why: flag change: xt_freeze of "\*.bias" at @freeze changed which parameters
freeze_momentum ^compiles: 2$
freeze_adam ^compile 2: .* step 2 . why: flag change: xt_freeze of "\*.bias" at @freeze changed which parameters
freeze_adam ^compile 3: .* step 5 . why: flag change: xt_unfreeze of "fc.\*" at @unfreeze, the last of 2 such calls
            since then, gives back what is trained, and the optimizer counts the steps of what was frozen apart
            .program 1.: one more program is enough
freeze_shape ^compile 3: .* step 5 . why: shape change: .* dim 0 from 16 to 12
freeze_shape ^compiles: 3$
freeze_adam ^compiles: 3$
two_frozen  ^compile 2: .* why: flag change: xt_requires_grad of "fc.bias" at [^ ]*, the last of 3 such calls since
            then, changed which parameters are trained .program 1.
heads       ^compile 2: .* why: other ops: .* second .* at @second_head instead of .* first .* at @first_head .program
            1.: an `if`
heads       ^compile 3: .* step 2 . why: other ops: first.weight had no gradient in a step before, in which the
            optimizer updated others at @branched: it counts the steps of such parameters apart from then on .program
            1.: one more
heads       ^compiles: 3$
block       ^compile 2: .* why: other ops: .* instead of transpose block .* at @block .program 1.: an `if`
block       ^compiles: 2$
detached    ^compile 2: .* why: other ops: reshape f32\[8,4\] at @detached instead of .* .program 1.: an `if`
detached    ^compiles: 2$
detached_adam ^compile 3: .* step 2 . why: other ops: trunk.weight had no gradient in a step before, .* at @branched:
            .*program 1
either_block ^compile 2: .* why: other ops: .* block.1.fc .* at @either_block instead of .* block.0.fc .* .program 1.;
            it would be the same program if the optimizer, at @either_step, did not count .* .block.0.fc.weight the last
hardest     ^compile 2: .* why: shape change: .* at @hardest .program 1., dim 0 from 2 to 3: keep shapes fixed
optimizers  ^compile 2: .* why: another step: xt_adam made at @both_made steps at @of_critic, in place of xt_sgd made at
            @both_made, which steps at @of_net .program 1.: the steps of each optimizer
in_turn     ^compile 2: .* why: other states: this step gives state second a new value at @odd, and not first, as that
            of program 1 does at @even: .* xt_where
shapes_in_turn ^compile 2: .* why: other states: this step gives state second a new value at @second, and not first, as
            that of program 1 does at @narrow:
more_states ^compile 2: .* why: other states: this step gives state second a new value at @also, which that of program 1
            does not:
fewer_states ^compile 2: .* why: other states: the step of program 1 gives state second a new value at @not, and this
            one does not:
average_later ^compile 2: .* why: other states: this step gives state fc.weight a new value at @ema, which that of
            program 1 does not:
average_later ^compile 3: .* why: other states: the step of program 2 gives state fc.weight a new value at @ema, and
            this one does not:
swapped     ^compile 2: .* why: other states: program 1 computes the same values, but other states get them, the last at
            @swap:
end         ^compile 1: program 1 for xt_finish at @end, step 0
W
# a cure that is told: a first value that is data
(cd "$tmp" && timeout 60 ./o2 carried_data) >"$tmp/out" 2>&1
check "carried data needs one program" [ "$(grep -c '^compile ' "$tmp/out")" = 1 ]
(cd "$tmp" && timeout 60 ./o2 beginnings) >"$tmp/out" 2>&1
check "numbers that begin without an op" [ "$(grep -c '^option [0-8]: 2$' "$tmp/out")" = 9 ]
# what is told is the caller's number, whatever is computed of it on the host
(cd "$tmp" && timeout 60 ./o2 derived) >"$tmp/out" 2>&1
check "numbers that others are made of" [ "$(grep -c '^derived [0-9]: [12]$' "$tmp/out")" = 9 ]
check "they are told themselves" [ "$(grep -c 'changed from' "$tmp/out")" -ge 17 ]
others=$(grep 'changed from' "$tmp/out" | grep -vE 'from (2 to 3|0.25 to 0.375)[: ]|xt_uniform changed from -2 to -3 ')
check "and nothing else" [ -z "$others" ]
builds="o2 g1 stripped pie dlopened"
[ -n "${ASAN_BUILD:-}" ] && builds=o2 # how the program was built says nothing to the library's sanitizers
turn=0 # of the builds but the first: how lines are found is a matter of the build, which causes there are is none
for p in $builds; do
    turn=$((turn + 1)) row=$turn
    while read -r name want; do
        row=$((row + 1))
        [ "$p" != o2 ] && [ $((row % 4)) != 0 ] && continue
        while read -r mark at; do want=${want//@$mark/[^ ]*$at}; done <<<"$marks"
        (cd "$tmp" && timeout 60 "./$p" "$name") >"$tmp/out" 2>&1
        check "$p: $name ends well" [ $? = 0 ]
        check "$p: $name is named with its line" grep -qE "$want" "$tmp/out"
    done < <(sed -z 's/\n  */ /g' "$tmp/want")
done
finish
