#!/bin/bash
# Arguments that are missing do not compile, and one line says which; what is right compiles without a warning. In C and
# C++, with gcc and clang, and without optimization, where a compiler folds least.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
# try LANGUAGE CODE: compiles a function with m, x, v, n in it
try() {
    printf '#include <xtrain/xtrain.h>\nenum { XT_TWO = 2 };\n' >"$tmp/t.c"
    printf 'xt_tensor f(xt_module *m, xt_tensor x, float *v, int n);\n' >>"$tmp/t.c"
    printf 'xt_tensor f(xt_module *m, xt_tensor x, float *v, int n) {\n' >>"$tmp/t.c"
    printf '    (void)m, (void)x, (void)v, (void)n;\n    return %s;\n}\n' "$2" >>"$tmp/t.c"
    # shellcheck disable=SC2086
    $1 -O0 -Wall -Wextra -Werror -I"$root/include" -c "$tmp/t.c" -o "$tmp/t.o" >"$tmp/out" 2>&1
}
refused() { ! try "$1" "$2" && grep 'error' "$tmp/out" | head -n 1 | grep -qF "$3"; }
dtype_error='\(a dtype stands where a number belongs\|xt_number_\|xt_or_0_\)' # C++ names what it does not convert
refused_dtype() { ! try "$1" "$2" && grep 'error:' "$tmp/out" | grep -q "$dtype_error"; }
for compiler in "gcc -std=gnu11" "clang -std=gnu11" "g++ -std=c++17 -x c++" "g++ -std=c++20 -x c++" \
    "clang++ -std=c++17 -x c++" "clang++ -std=c++20 -x c++"; do
    name=${compiler%% *}
    command -v "$name" >/dev/null || { echo "skip $name is not installed" && continue; }
    for code in 'xt_linear(m, "fc", x, 8)' 'xt_linear(m, "fc", x, n > 1 ? 8 : n, .bias = XT_OFF)' \
        'xt_from_array(v, XT_F32)' 'xt_from_array(v, XT_F32, 2, n)' 'xt_from_array(v + 1, (xt_dtype)n, 3)' \
        'xt_conv2d(m, "c", x, 1 << n, 3, .stride = 2)' 'xt_lstm(m, "l", x, 8).output' \
        'xt_from_array(v, XT_F32, 1, 1, 1, 1, 1, 1, 1, 1)' 'xt_call((xt_step *)m, xt_from_array(v, XT_F32, n), x)' \
        'xt_zeros(XT_F32, (unsigned)n, sizeof(v), 2)' 'xt_permute(x, 0, 2, 1)' 'xt_sum_axes(x, XT_AXES(0, -1))' \
        'xt_linear(m, "fc", x, (unsigned char)n)' 'xt_concat(2, XT_TENSORS(x, x), (int)XT_TWO)' \
        'xt_full(XT_TWO, XT_F32, XT_TWO)' 'xt_embedding(m, "e", x, 10, 4)' 'xt_group_norm(m, "g", x, 4)' \
        'xt_tril(x)' 'xt_tril(x, -1)' 'xt_diagonal(x)' 'xt_diagonal(x, 1)' 'xt_diagonal(x, 0, 1, 2)' 'xt_cdist(x, x)' \
        'xt_dropout(m, x)' 'xt_dropout(m, x, 0.1)' 'xt_hardtanh(x)' 'xt_addmv(x, x, x)' 'xt_matrix_norm(x)' \
        'xt_zeros(XT_F32, n, 2)' 'xt_zeros(XT_F32)' 'xt_window(n ? XT_WINDOW_HANN : XT_WINDOW_HAMMING, n, 0, XT_F32)' \
        'xt_mse_loss(x, x, .reduction = n ? XT_SUM : XT_MEAN)' \
        '(xt_sample_loader(.batch = 2, .count = n, .x = {XT_F32, {4}}, .y = {XT_I64}), x)'; do
        check "$name: $code compiles" try "$compiler" "$code"
    done
    case $name in
    *++) ;; # a list in place has no address there
    *) for code in 'xt_from_array((int64_t[]){0, 9}, XT_I64, 2)' 'xt_from_array((float[]){7}, XT_F32)' \
        'xt_from_array(((float[]){7, 8}), XT_F32, 2)' 'xt_from_array((float[2][2]){{1, 2}, {3, 4}}, XT_F32, 2, 2)' \
        '(xt_grad_fn(0, 0, 2, (xt_tensor[]){x, x}, &x, &x), x)' '(xt_jacobian(0, 0, 2, (xt_tensor[]){x, x}, &x), x)' \
        '(xt_vjp(0, 0, 2, (xt_tensor[]){x, x}, 2, (xt_tensor[]){x, x}, &x, &x), x)' \
        '(xt_jvp(0, 0, 2, (xt_tensor[]){x, x}, (xt_tensor[]){x, x}, 2, &x, &x), x)' \
        '(xt_hvp(0, 0, 2, (xt_tensor[]){x, x}, (xt_tensor[]){x, x}, &x, &x), x)' \
        '(xt_cond(x, 0, 0, 2, (xt_tensor[]){x, x}, 1, &x, 0), x)' \
        '(xt_combined_loader(2, ((xt_loader *[]){0, 0}), .mode = XT_MAX_SIZE), x)'; do
        check "$name: $code compiles" try "$compiler" "$code"
    done ;;
    esac
    check "$name: no dtype" refused "$compiler" 'xt_from_array(v, 8)' \
        'xt_from_array(data, dtype, dims...): the dtype is missing'
    check "$name: no out" refused "$compiler" 'xt_linear(m, "fc", x)' 'xt_linear(m, name, x, out, ...): out'
    check "$name: no kernel" refused "$compiler" 'xt_conv2d(m, "c", x, 8)' 'the size of the kernel is missing'
    check "$name: no channels" refused "$compiler" 'xt_conv_transpose2d(m, "c", x)' \
        'the channels of the result are missing'
    check "$name: no hidden" refused "$compiler" 'xt_gru(m, "g", x).output' 'hidden, the size of the state, is missing'
    check "$name: no cell" refused "$compiler" 'xt_lstm_cell(m, "g", x).h' 'hidden, the size of the state, is missing'
    check "$name: no dim" refused "$compiler" 'xt_embedding(m, "e", x, 10)' 'dim, the size of a row, is missing'
    check "$name: no groups" refused "$compiler" 'xt_group_norm(m, "g", x)' 'the number of groups is missing'
    for code in 'xt_tril(x, 1, 2)' 'xt_diagonal(x, 0, 1, 2, 3)' 'xt_dropout(m, x, 0.5, 1)' 'xt_cdist(x, x, 2, 2)'; do
        check "$name: $code is refused" refused "$compiler" "$code" 'more arguments than the function takes'
    done
    # A dtype's name, and in C++ what has its type, behind a list in place as well.
    for code in 'xt_from_array(v, n, XT_F32)' 'xt_from_array(v, 3, 1, XT_F32)' 'xt_zeros(XT_F32, (xt_dtype)n)' \
        'xt_linear(m, "q", x, XT_F32)' 'xt_reshape(x, XT_F32, 4)' 'xt_sum_axes(x, XT_AXES(0, XT_I64))'; do
        check "$name: $code is refused" refused_dtype "$compiler" "$code"
    done
    case $name in
    *++) ;;
    *) check "$name: behind a list" refused_dtype "$compiler" 'xt_from_array((float[]){1, 2, 3}, 3, XT_F32)' ;;
    esac
    # Options without names, numbers in place of a dtype, dtypes in place of numbers: each macro that has any, one error
    # a call.
    for mistake in unnamed unnamed-later dtype number word word-alone; do
        says='options are named'
        [ "$mistake $name" != "unnamed-later gcc" ] || says='positional initialization of field'
        [ $mistake != dtype ] || says='a number stands where a dtype belongs'
        [ $mistake != number ] || says=$dtype_error
        once=cat # the error of a word is of its own place, and there may be more than one
        case $mistake in word*) says='conver.*\(xt_\|enum\)' once='sort -u' ;; esac
        case "$mistake $name" in
        "unnamed-later clang") continue ;; # the call itself says so: below
        "dtype "*++ | word*" clang++") continue ;; # no number is a dtype in C++, nor a word of an enum another's
        "word clang" | "word-alone "g*) continue ;;
        esac
        [ -s "$tmp/$mistake" ] || python3 "$root/tests/cli/calls.py" "$root/include/xtrain" $mistake >"$tmp/$mistake"
        limit=
        case $name in clang*) limit=-ferror-limit=0 ;; esac
        {
            (cd "$root/include" && printf '#include <%s>\n' xtrain/*.h)
            echo 'int main(void) { int p = 0; (void)p;'
            cat "$tmp/$mistake"
            echo '}'
        } >"$tmp/wrong.c"
        # shellcheck disable=SC2086
        $compiler $limit -fsyntax-only -I"$root/include" "$tmp/wrong.c" >"$tmp/out" 2>&1
        check "$name: each of the $(wc -l <"$tmp/$mistake") calls ($mistake) is refused" \
            [ "$(grep "error:.*$says" "$tmp/out" | sed 's/.*wrong.c:\([0-9]*\):.*/\1/' | $once | wc -l)" = \
            "$(wc -l <"$tmp/$mistake")" ]
        check "there are many ($mistake)" [ "$(wc -l <"$tmp/$mistake")" -gt 20 ]
    done
    # A name before what is known by its place is no expression: the first error of each line, in a function of its own.
    [ -s "$tmp/named" ] || python3 "$root/tests/cli/calls.py" "$root/include/xtrain" named >"$tmp/named"
    where=-ftrack-macro-expansion=0
    case $name in clang*) where=-ferror-limit=0 ;; esac
    {
        (cd "$root/include" && printf '#include <%s>\n' xtrain/*.h)
        awk '{ print "void call_" NR "(int p) {" $0 "}" }' "$tmp/named"
    } >"$tmp/wrong.c"
    # shellcheck disable=SC2086
    $compiler $where -fsyntax-only -I"$root/include" "$tmp/wrong.c" >"$tmp/out" 2>&1
    sed -n 's/.*wrong.c:\([0-9]*\):.*error: /\1 /p' "$tmp/out" | awk '!seen[$1]++' >"$tmp/first"
    check "$name: each of the $(wc -l <"$tmp/named") calls with a name in place of a place is told" \
        [ "$(grep -c 'a name .*stands\|is missing\|are missing' "$tmp/first")" = "$(wc -l <"$tmp/named")" ]
    check "there are many (named)" [ "$(wc -l <"$tmp/named")" -gt 400 ]
done

# An older language is told in one sentence, and nothing behind it.
echo '#include <xtrain/xtrain.h>' >"$tmp/old.c"
for compiler in "gcc -std=c99" "clang -std=gnu89" "g++ -std=c++14 -x c++" "clang++ -std=c++11 -x c++"; do
    command -v "${compiler%% *}" >/dev/null || { echo "skip ${compiler%% *} is not installed" && continue; }
    # shellcheck disable=SC2086
    $compiler -fsyntax-only -I"$root/include" "$tmp/old.c" >"$tmp/out" 2>&1
    check "$compiler: the standard that is needed" \
        grep -q "error: .*xtrain's headers need C11 or C++17: -std=c11, -std=c++17 or later" "$tmp/out"
    check "$compiler: and nothing else" [ "$(grep -c 'error:' "$tmp/out")" = 2 ] # the second ends it
done

# What clang does not see in C while it compiles is an error of the call.
if command -v clang >/dev/null && [ -z "${ASAN_BUILD:-}" ]; then
    cat >"$tmp/later.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *u) {
    (void)u;
    return xt_linear(m, "fc", x, 2);
}
int main(int argc, char **argv) {
    xt_module *m = xt_module_new(net, 0);
    (void)argv;
    xt_optimizer *o = xt_multistep_schedule(xt_sgd(m, .lr = 0.1), .milestones = {3, 4}) ? xt_adam(m, .lr = 0.1) : 0;
    xt_csv_dataset("a, b (", .separator = ',', .x = "\",1(,", .header = XT_OFF);
    xt_clear_error(); /* there is no such file */
    if (argc > 1) o = xt_sgd(m, .lr = 0.1, 0.9);
    return o ? xt_finish() : 3;
}
C
    check "clang: it compiles" clang -std=gnu11 -I"$root/include" "$tmp/later.c" -o "$tmp/later" -L"$BUILD" -lxtrain \
        -Wl,-rpath,"$BUILD"
    (cd "$tmp" && XT_SUMMARY=off ./later >out 2>&1)
    check "clang: lists, commas in texts and brackets are no options" [ $? = 0 ]
    (cd "$tmp" && XT_SUMMARY=off ./later wrong >out 2>&1)
    check "clang: a later option without a name: exit code 1" [ $? = 1 ]
    check "clang: its line" grep -qF 'later.c:12: `0.9` stands among the options without a name' "$tmp/out"
fi
finish
