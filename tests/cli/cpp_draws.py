#!/usr/bin/env python3
"""Draws expressions and writes each in C++ (xtrain.hpp) and in C: the same bits, dtype and shape come of both, and the
same error text with the same line. One side of an operator is plain, for which of two faults is met first is open.

usage: cpp_draws.py BUILD_DIR INCLUDE_DIR WORK_DIR FIRST COUNT [FLAG ...]    programs FIRST .. FIRST + COUNT - 1"""
import os
import random
import subprocess
import sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]
CASES = 60

HEAD = r"""#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <xtrain.hpp>
static int bad, n, errors;
static void heard(xt_status, void *) {}
static std::string pending() {
    std::string e = std::string("error: ") + xt_status_message(xt_error());
    xt_clear_error();
    return e;
}
static std::string told(xt_tensor t) {
    if (xt_error()) return pending();
    if (xt_is_none(t)) return "none";
    std::string r = xt_dtype_name(xt_dtype_of(t));
    for (int i = 0; i < xt_rank_of(t); i++) r += " " + std::to_string(xt_dim(t, i));
    std::vector<unsigned char> v(static_cast<size_t>(xt_numel(t)) * xt_dtype_size(xt_dtype_of(t)));
    if (!xt_read(t, v.data(), v.size())) return pending();
    char hex[8];
    for (unsigned char c : v) snprintf(hex, sizeof hex, " %02x", c), r += hex;
    return r;
}
static void same(const std::string &cpp, const std::string &c, const char *text) {
    n++, errors += cpp.rfind("error", 0) == 0;
    if (cpp != c) bad++, printf("%s\n  C++ %.250s\n  C   %.250s\n", text, cpp.c_str(), c.c_str());
}
static float fv[24];
static int64_t iv[24];
static uint8_t uv[24];
static bool bv[24];
static double dv[24];
int main() {
    xt_on_error(heard, nullptr);
    for (int k = 0; k < 24; k++)
        fv[k] = sinf((float)k * 1.3f) * 2, iv[k] = k > 4 ? k % 2 : k - 2, uv[k] = (uint8_t)(k * 37), bv[k] = k % 3 == 0,
        dv[k] = cos(k);
"""
TENSORS = {"f": "xt::from(fv, {2, 3})", "g": "xt::from(fv + 6, {3, 2})", "h": "xt::from(fv + 3, {2, 3})",
           "i": "xt::from(iv, {2, 3})", "j": "xt::from(iv + 5, {2})", "u": "xt::from(uv, {2, 3})",
           "b": "xt::from(bv, {2, 3})", "d": "xt::from(dv, {2, 3})", "c": "xt::from(fv, {2, 3, 4})",
           "s": "xt::from(fv + 4, {})"}
NUMBERS = ["2", "2.5", "-1", "0", "true", "3u", "(int64_t)7", "1.5f", "100000", "(uint8_t)200", "(short)-3", "1e30",
           "5ull", "INFINITY"]
OPERATORS = {"+": "add", "-": "minus", "*": "mul", "/": "div", "%": "remainder", "<": "lt", "<=": "le", ">": "gt",
             ">=": "ge"}
PLAIN = """abs ceil cos detach erf exp expm1 floor gelu_erf isfinite isnan log1p logical_not max mean min neg norm
reciprocal relu round rsqrt sigmoid sign silu sin sqrt square std sum tan tanh trunc var""".split()
AXES = {"sum": "sum", "mean": "mean", "amax": "max", "argmax": "argmax", "softmax": "softmax",
        "log_softmax": "log_softmax", "unsqueeze": "unsqueeze", "squeeze": "squeeze", "flatten": "flatten"}
OTHERS = [("{}.gelu()", "xt_gelu_erf({})"), ("{}.gelu(\"tanh\")", "xt_gelu({})"),
          ("(-{})", "xt_neg({})"), ("{}.log()", "xt_log_e({})"), ("{}.pow(0.5)", "xt_pow({}, 0.5)"),
          ("{}.pow(h)", "xt_pow({}, (xt_tensor)h)"), ("{}.clamp(-1, 0.5)", "xt_clamp({}, -1, 0.5)"),
          ("{}.to(XT_I32)", "xt_cast({}, XT_I32)"), ("{}.to(XT_BF16)", "xt_cast({}, XT_BF16)"),
          ("{}.reshape({{3, -1}})", "xt_reshape({}, 3, -1)"), ("{}.reshape({{2, 0}})", "xt_reshape({}, 2, 0)"),
          ("{}.broadcast_to({{4, 2, 3}})", "xt_broadcast_to({}, 4, 2, 3)"), ("{}.t()", "xt_transpose({}, 0, 1)"),
          ("{}.permute({{1, 0}})", "xt_permute({}, 1, 0)"), ("{}.slice(0, -2, 100)", "xt_slice({}, 0, -2, 100)"),
          ("{}[1]", "xt_select({}, 0, 1)"), ("{}[-1]", "xt_select({}, 0, -1)"), ("{}[5]", "xt_select({}, 0, 5)"),
          ("{}.matmul(g)", "xt_matmul({}, (xt_tensor)g)"), ("{}.eq(h)", "xt_eq({}, (xt_tensor)h)"),
          ("{}.ne(2)", "xt_ne({}, 2)"), ("{}.index_select(0, j)", "xt_index_select({}, 0, (xt_tensor)j)"),
          ("xt::cat({{{}, h}}, 0)", "xt_concat(2, XT_TENSORS({}, h), 0)"),
          ("xt::where_({}, f, h)", "xt_where({}, (xt_tensor)f, (xt_tensor)h)"),
          ("xt::mse_loss({}, h)", "xt_mse_loss({}, (xt_tensor)h)"),
          ("xt::cross_entropy({}, j)", "xt_cross_entropy({}, (xt_tensor)j)"),
          ("xt::bce_with_logits({}, h)", "xt_bce_with_logits({}, (xt_tensor)h)")]


def draw(r, depth):
    """An expression in C++ and in C."""
    if depth == 0 or r.random() < 0.1:
        x = r.choice(list(TENSORS))
        return x, "(xt_tensor)" + x
    cpp, c = draw(r, depth - 1)
    k = r.random()
    if k < 0.4:
        sign, name = r.choice(list(OPERATORS.items()))
        other = r.choice(list(TENSORS) + NUMBERS)
        cast = "(xt_tensor)" + other if other in TENSORS else other
        if r.random() < 0.5:
            return "(%s %s %s)" % (cpp, sign, other), "xt_%s(%s, %s)" % (name, c, cast)
        return "(%s %s %s)" % (other, sign, cpp), "xt_%s(%s, %s)" % (name, cast, c)
    if k < 0.55:
        name = r.choice(PLAIN)
        return "%s.%s()" % (cpp, name), "xt_%s(%s)" % (name, c)
    if k < 0.7:
        axis = r.choice([0, 1, -1, -1, 2, -3])
        method, name = r.choice(list(AXES.items()))
        return "%s.%s(%d)" % (cpp, method, axis), "xt_%s(%s, %d)" % (name, c, axis)
    one, other = r.choice(OTHERS)
    return one.format(cpp), other.format(c)


def main():
    bad = 0
    os.makedirs(work, exist_ok=True)
    for seed in range(first, first + count):
        r, lines = random.Random(seed), [HEAD]
        made = " ".join("xt::tensor %s = %s; (void)%s;" % (n, t, n) for n, t in TENSORS.items())
        for k in range(CASES):
            cpp, c = draw(r, r.choice([1, 2, 3, 4]))
            lines.append('{ %s std::string x = told(%s), y = told(%s); same(x, y, R"(%s | %s)"); }'
                         % (made, cpp, c, cpp, c))
            if k % 20 == 19:
                lines.append("xt_mark_step();")
        lines.append('printf("%d cases, %d errors, %d differ\\n", n, errors, bad); return xt::finish() || bad; }')
        name = "%s/%d" % (work, seed)
        with open(name + ".cpp", "w") as f:
            f.write("\n".join(lines))
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-w", *flags, "-I" + include, name + ".cpp", "-o",
                        name, "-L" + build, "-lxtrain", "-Wl,-rpath," + build], check=True)
        done = subprocess.run(["timeout", "300", name], text=True, capture_output=True,
                              env=dict(os.environ, XT_PLUGIN_DIR=build, XT_SUMMARY="off", XT_POSTMORTEM="off"))
        if done.returncode:
            bad += 1
            print("%s.cpp: exit %d\n%s%s" % (name, done.returncode, done.stdout[-4000:], done.stderr[-600:]))
        else:
            os.remove(name)
    print("%d passed, %d failed" % (count - bad, bad))
    sys.exit(bad > 0)


main()
