"""Calls of libtorch's (libtorch_calls.txt: EXPRESSION ## what libtorch gives, written by tests/peers/libtorch_calls.py)
mean the same in C++ here: dtype, shape and numbers. Each method and function of the header with libtorch's name has
rows for each number of arguments that it takes; what has another one's name or none is listed below.

usage: libtorch_calls.py program LIBTORCH_CALLS > calls.cpp      a program that prints EXPRESSION ## RESULT
       libtorch_calls.py compare LIBTORCH_CALLS RESULTS HEADER   HEADER: xtrain.hpp, preprocessed"""

import math
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_functions  # noqa: E402

# Tensors that expressions are written with.
INPUTS = """
    x = (xt::arange(12, xt::kDouble).reshape({3, 4}) * 0.37).sin();
    y = (xt::arange(12, xt::kDouble).reshape({3, 4}) * 0.71).cos();
    s = (xt::arange(9, xt::kDouble).reshape({3, 3}) * 0.37).sin();
    u = (xt::arange(9, xt::kDouble).reshape({3, 3}) * 0.71).cos();
    b = (xt::arange(8, xt::kDouble).reshape({2, 2, 2}) * 0.37).sin();
    c = (xt::arange(8, xt::kDouble).reshape({2, 2, 2}) * 0.71).cos();
    v = (xt::arange(3, xt::kDouble) * 0.37).cos();
    w = (xt::arange(3, xt::kDouble) * 0.71).cos();
    m = x > 0, q = y > 0.25;
    i = xt::arange(2) * 2, k = (xt::arange(3) * 2).remainder(3);
    j = (xt::arange(12, xt::kLong).reshape({3, 4}) * 5).remainder(3);
    p = (xt::arange(60, xt::kDouble).reshape({1, 2, 5, 6}) * 0.37).sin();
"""
NAMES = "x y s u b c v w m q i j k p".split()
HEAD = r"""#include <cstdio>
#include <string>
#include <xtrain.hpp>
typedef xt::tensor T;
static void heard(xt_status, void *) {}
static bool failed() {
    if (!xt_error()) return false;
    xt_clear_error();
    printf(" !");
    return true;
}
static void out(T t) {
    if (failed()) return;
    printf(" %s", xt_dtype_name(t.dtype()));
    for (int64_t d : t.sizes()) printf(" %lld", (long long)d);
    printf(":");
    for (double d : t.to(xt::kDouble).read<double>()) printf(" %.15g", d);
}
static void begin() { xt_on_error(heard, nullptr); }
static void end() { failed(), xt::mark_step(); }
static void keep(T t) { t.keep(); }
static int last() { return xt::finish(); }
"""
BODY = r"""
static void show(const T &t) { out(t); }
static void show(bool v) { printf(" %d", v); }
static void show(int64_t v) { printf(" %lld", (long long)v); }
static void show(double v) { printf(" %.15g", v); }
template <class A> static void show(const std::vector<A> &all) { for (auto &t : all) out(t), printf(" ;"); }
static void show(const std::tuple<T, T> &t) { out(std::get<0>(t)), printf(" ;"), out(std::get<1>(t)), printf(" ;"); }
/* An expression that does not compile is one of no function, whose row says so. */
template <class F> static void row(const char *text, F f) {
    printf("%s ##", text);
    if constexpr (std::is_invocable_v<F, TYPES>) {
        try {
            show(f(NAMES));
        } catch (const std::exception &) {
            printf(" !");
        }
        end();
    } else {
        printf(" -");
    }
    puts("");
}
#define ROW(...) row(#__VA_ARGS__, [](AUTOS) -> decltype(__VA_ARGS__) { return __VA_ARGS__; });
"""

# Not libtorch's: of this library alone, of torch::nn::functional (whose arguments are option structs), or not here.
OURS = """bce_with_logits cross_entropy from from_blob gelu_erf interpolate logsigmoid mark_step normalize scalar
    softsign state tanhshrink where_ tensor toType finish wait manual_seed check shape layer_norm
    dtype_of spec sgd adam adamw dataset thrown_status""".split()
# Draws, and those whose result is no tensor or the same tensor: their values are not compared here.
ELSEWHERE = """bernoulli multinomial rand randn randint randperm normal rand_like randn_like empty empty_like
    clone item numel size to real imag conj is_floating_point equal""".split()


def rows_of(path):
    with open(path) as lines:
        return [line.rstrip("\n").split(" ## ") for line in lines if line.strip()]


def program(expressions, head=HEAD):
    body = BODY.replace("TYPES", ", ".join("T" for _ in NAMES)).replace("NAMES", ", ".join(NAMES))
    text = head + f"static T {', '.join(NAMES)};\n" + body.replace("AUTOS", ", ".join(f"auto {n}" for n in NAMES))
    parts = [expressions[k : k + 100] for k in range(0, len(expressions), 100)]
    for n, part in enumerate(parts):
        text += f"static void part{n}() {{\n" + "\n".join(f"ROW({e})" for e in part) + "\n}\n"
    calls = " ".join(f"part{n}();" for n in range(len(parts)))
    kept = f"for (T t : {{{', '.join(NAMES)}}}) keep(t);"
    return text + f"int main() {{ begin(); {INPUTS} {kept}\n{calls} return last(); }}\n"


def same(got, want):
    """Words alike, numbers up to the last bits of what a function of a library of mathematics may differ by."""
    a, b = got.split(), want.split()
    near = 1e-6 if "f32" in want else 1e-12
    if len(a) != len(b):
        return False
    return all(p == r or (number(p) and number(r) and close(float(p), float(r), near)) for p, r in zip(a, b))


def number(word):
    return re.fullmatch(r"-?(\d+(\.\d*)?(e[-+]?\d+)?|inf|nan)", word) is not None


def close(a, b, near):
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= near * max(1, abs(b))


def call_of(expression):
    """(name, arguments behind the tensor) of x.name(...), (x + 2).name(...) and xt::name(x, ...)."""
    expression = re.sub(r'"[^"]*"', lambda m: m[0].replace(",", ";"), expression)
    parsed = re.match(r"xt::(\w+)\((.*)\)$", expression)
    if not parsed:
        at = re.search(r"\.(\w+)\(((?:[^()]|\([^()]*\))*)\)$", expression)
        return at[1], cpp_functions.pieces(at[2])
    arguments = cpp_functions.pieces(parsed[2])
    of_tensor = re.match(rf"\(|({'|'.join(NAMES)})\b", arguments[0] if arguments else "")
    return parsed[1], arguments[1:] if of_tensor else arguments


def declared(header):
    """(kind, name, how many arguments behind the tensor, head) of the header's methods and functions. Options are this
    library's way to say what libtorch's later arguments say, and so is a dtype behind all others."""
    with open(header) as lines:
        text = lines.read()
    at = re.search(r"class tensor \{", text)
    every = [("method", *m) for m in cpp_functions.heads(cpp_functions.block(text, at.start()))]
    for space in re.finditer(r"namespace xt \{", text):
        every += [("function", *f) for f in cpp_functions.heads(cpp_functions.block(text, space.start()))]
    skipped = OURS + ELSEWHERE + cpp_functions.HANDLE + cpp_functions.ELSEWHERE
    for kind, name, arguments, head in every:
        if "A &&..." in head or name in skipped or name.endswith("_"):
            continue
        counted = [a for a in arguments if a != "place" and "_opts" not in a]
        if kind == "function" and counted and counted[0] in ("tensor", "operand"):
            counted = counted[1:]
        if len(counted) > 1 and counted[-1].startswith("xt_dtype = "):
            counted = counted[:-1]
        yield kind, name, len(counted), head


def compare(table, results, header):
    wants = rows_of(table)
    gots = dict(r for r in rows_of(results) if len(r) == 2)
    wrong = 0
    for expression, want in wants:
        got = gots.get(expression, "(nothing)")
        if not same(got, want):
            wrong += 1
            print(f"{expression}\n  here     {got}\n  libtorch {want}")
    seen = {(name, len(arguments)) for name, arguments in (call_of(expression) for expression, _ in wants)}
    for _, name, count, head in declared(header):
        if (name, count) not in seen:
            wrong += 1
            print(f"no row has {name} with {count} arguments: {head}")
    print(f"{len(wants)} calls, {wrong} are not libtorch's")
    return 1 if wrong or len(wants) < 500 else 0


def main():
    if sys.argv[1] == "program":
        print(program([expression for expression, _ in rows_of(sys.argv[2])]))
        return 0
    return compare(*sys.argv[2:5])


if __name__ == "__main__":
    sys.exit(main())
