/* The C++ header: operators and methods beside the C functions, lines, exceptions through lambdas, handles that outlive
 * xt::finish; built by cpp.sh. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <xtrain.hpp>

static int faults;
static std::string last;
static void heard(xt_status s, void *) {
    last = xt_status_message(s);
}
static void check(bool ok, const char *what) {
    if (!ok) printf("not so: %s (%s)\n", what, last.c_str());
    faults += !ok;
}
static bool same(xt::tensor x, xt_tensor y) {
    auto a = x.read<float>(), b = xt::tensor(y).read<float>();
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}
/* The newest error names this file's line. */
static void refused(const char *part, int line) {
    std::string at = "cpp.cpp:" + std::to_string(line) + ":";
    check(last.find(part) != last.npos && last.find(at) != last.npos, part);
    xt_clear_error();
}

static void operators() {
    const float v[6] = {1, -2, 3, 0.5f, 4, -1};
    xt::tensor x = xt::from(v, {2, 3}), y = x.t().matmul(x);
    check(same(x + x, xt_add(x, x)) && same(x * 2, xt_mul_scalar(x, 2)) && same(2 - x, xt_rsub_scalar(x, 2)), "+ * -");
    check(same(1 / x, xt_div(xt_ones(XT_F32), x)) && same(x / 4, xt_div_scalar(x, 4)) && same(-x, xt_neg(x)), "/ -");
    check(same((x > 0).to(XT_F32), xt_cast(xt_gt(x, xt_zeros(XT_F32)), XT_F32)), ">");
    check(same((0 <= x).to(XT_F32), xt_cast(xt_ge(x, xt_zeros(XT_F32)), XT_F32)), "<=");
    check(same(x[1], xt_select(x, 0, 1)) && same(y[-1], xt_select(y, 0, -1)), "[]");
    check(same(x.exp().sum(1), xt_sum_axis(xt_exp(x), 1)) && same(x.log(), xt_log_e(xt_abs(x))) == false, "methods");
    check(same(x.reshape({3, -1}).pow(2), xt_square(xt_reshape(x, 3, 2))), "shapes");
    check(same(xt::cat({x, x}, 0)[3], x[1]) && xt::stack({x, x}, 0).rank() == 3, "lists");
    check(x.permute({1, 0}).dim(0) == 3 && x.numel() == 6 && x.dtype() == XT_F32, "dims");
}

/* What libtorch's tensors have beside these. */
static void as_torch() {
    const float v[6] = {1, -2, 3, 0.5f, 4, -1};
    xt::tensor x = xt::from(v, {2, 3}), a = x, b = a, p = x > 0, q = x < 2;
    auto f32 = [](const xt::tensor &t) { return t.to(XT_F32); };
    a += 1, a -= x, a *= x, a /= 2, a %= 3;
    check(same(a, xt_remainder(xt_div(xt_mul(xt_minus(xt_add(x, 1), x), x), 2), 3)) && same(b, x), "+= -= *= /= %=");
    xt::tensor w = xt::state("w", XT_F32, {2}), was = w;
    w += 3;
    check(w.sum().item() == 6 && was.sum().item() == 0, "a state keeps its value");
    check(same(f32(x == 3), xt_cast(xt_eq(x, 3), XT_F32)) && same(f32(x != b), xt_zeros(XT_F32, 2, 3)), "== !=");
    check(same(f32(3 == x), f32(x == 3)) && same(f32(!p), f32(x <= 0)) && same(f32(~p), f32(!p)), "! ~");
    check(same(f32(p && q), f32(p & q)) && same(f32(p || q), f32(p | q)) && same(f32(p ^ p), f32(p != p)), "&& ||");
    check(same(f32(x && true), f32(x != 0)) && (0 || xt::zeros(XT_F32, {1})).item() == 0, "&& || of numbers");
    check(same(x.view({3, -1}), x.reshape({3, 2})) && x.size(-1) == 3, "view, size");
    check(same(x.sum(-1, true), x.sum(1).unsqueeze(1)) && same(x.sum({0, 1}), x.sum()), "sum");
    check(same(x.mean({0}, true), xt_mean(x, 0, .keepdim = true)) && same(std::get<0>(x.max(0)), xt_max(x, 0)),
          "mean, max");
    check(same(x.std(0), xt_std(x, 0)) && same(x.std(false), xt_std(x, XT_ALL_AXES, .correction = 0)), "std");
    check(same(x.var({0, 1}), x.var()) && same(x.var(true), x.var()) && same(x.norm(2, 1), xt_norm(x, 2, 1)),
          "var, norm");
    /* arguments in libtorch's order, with libtorch's defaults */
    check(same(x.var(0, false), xt_var(x, 0, .correction = 0)) && same(x.var(1, 0, true), x.var({1}, 0, true)), "var");
    check(same(xt::std(x, {0}, false), xt_std(x, 0, .correction = 0)) && x.std(1, true, true).dim(1) == 1, "std");
    check(same(xt::var(x, 0, true, true), xt_var(x, 0, .keepdim = true)) && same(x.var(0, 1), x.var(0)), "unbiased");
    check(same(x.norm(1), x.abs().sum()) && same(x.norm(1, {0, 1}), x.norm(1)) && x.norm(2, 1, true).rank() == 2, "p");
    check(same(xt::norm(x, 1, 0), x.abs().sum(0)) && same(xt::norm(x, 2), x.norm()), "norm");
    check(x.sum(xt::kDouble).dtype() == XT_F64 && (x > 0).sum(xt::kFloat).item() == 4, "sum of a dtype");
    check(xt::mean(x > 0, xt::kFloat).item() == f32(x > 0).mean().item() && x.prod(XT_F64).rank() == 0, "mean");
    check(same(x.add(1, 2), x + 2) && same(x.sub(x, 2), -x) && same(xt::add(x, x, -1), x - x), "alpha");
    xt::tensor s = xt::rand({3, 3}), t = xt::rand({3, 3});
    check(same(s.cross(t), xt_cross(s, t, 0)) && same(s.cross(t, 1), xt_cross(s, t, 1)), "cross");
    check(same(x.cross(x + 1), xt_cross(x, xt_add(x, 1), 1)) && same(xt::cross(s, t), s.cross(t)), "cross of [2,3]");
    check(same(x.gelu(), xt_gelu_erf(x)) && same(xt::gelu(x, "tanh"), xt_gelu(x)), "gelu");
    check(xt::arange(2.5).sum().item() == 3 && xt::arange(5.0).dtype() == XT_F32 && xt::arange(5).dtype() == XT_I64 &&
              xt::arange(3, xt::kFloat).dtype() == XT_F32 && xt::arange(2.5, XT_F64).numel() == 3,
          "arange of a fraction");
    xt::tensor i = xt::tensor({1, 0, 1}), pairs = xt::from((const int64_t[]){1, 0, 0, 1}, {2, 2});
    check(same(x[i], x.index_select(0, i)) && same(x[pairs][1][0], x[0]) && x[pairs].rank() == 3, "x[i]");
    check(same(x[x > 0], x.masked_select(x > 0)) && same(x[xt::tensor({false, true})], x.slice(0, 1)), "x[mask]");
    check(same(x.split({1, 2}, 1)[1], x.slice(1, 1)) && xt::split_with_sizes(x, {1, 2}, 1).size() == 2, "sizes");
    check(same(std::get<0>(x.sort(1, true)), -std::get<0>((-x).sort(1))) && same(x.clamp(0), x.relu()), "descending");
    check(same(f32(x.argsort(1, true)), f32((-x).argsort(1))) && same(x.new_full({2}, 3), xt::full({2}, 3.0)),
          "argsort");
    check(same(std::get<0>(x.kthvalue(1, 1)), x.amin(1)) && same(x.diff(), x.slice(1, 1) - x.slice(1, 0, 2)), "diff");
    check(same(s.matrix_power(2), s.mm(s)) && same(xt::cholesky(s.mm(s.t())), xt_cholesky(xt_mm(s, s.t()), false)),
          "matrices");
    check(same(x.index_fill(1, xt::tensor({0, 1, 2}), 2), x * 0 + 2) &&
              same(x.index_copy(0, xt::tensor({0, 1}), x + 1), x + 1),
          "index_fill, index_copy");
    check(same(x.masked_scatter(p, xt::zeros({6})), xt::where(p, 0, x)) && x.isclose(x).all().item() == 1, "scatter");
    check(same(x.hypot(x), xt_hypot(x, x)) && same(x.copysign(-x), -x) && x.count_nonzero().item() > 0, "hypot");
    check(x.argmax().item() == 4 && x.argmin(1, true).rank() == 2 && (x > 9).any().item() == 0, "argmax, any");
    check(same(xt::relu(x), x.relu()) && same(xt::softmax(x, -1), x.softmax(1)) && same(xt::exp(x), x.exp()),
          "relu(x)");
    check(same(xt::sum(x, 0, true), x.sum(0, true)) && same(xt::std(x), x.std()) && same(xt::log(x * x), (x * x).log()),
          "sum(x)");
    check(same(xt::pow(2, x), xt_pow(2, x)) && same(xt::maximum(x, 0), x.relu()) && same(xt::abs(x), x.abs()),
          "pow(2, x)");
    check(same(xt::where_(p, x, 0), x.relu()) && xt::where_(p, 1, 0).dtype() == XT_I64, "where");
    check(xt::where_(p, 1.5, 0).dtype() == XT_F32 && xt::where_(p, true, false).dtype() == XT_BOOL, "of two numbers");
    check(xt_dtype_of(xt_where(p, 1, 0)) == XT_I64 && xt_dtype_of(xt_where(p, 1, 0.5f)) == XT_F32, "C's");
    check(xt_dtype_of(xt_where(p, true, false)) == XT_BOOL && xt_item(xt_sum(xt_where(p, 2, -1))) == 6, "C's values");
    check(x.dim() == 2 && x.sizes() == std::vector<int64_t>{2, 3} && x.sum().item<int64_t>() == 5, "dim, sizes, item");
    check(same(xt::zeros({2, 3}), xt_zeros(XT_F32, 2, 3)) && xt::ones({2}, XT_F64).dtype() == XT_F64, "dims first");
    check(same(xt::full({2}, 1.5), xt_full(1.5, XT_F32, 2)) && xt::eye(3).sum().item() == 3, "full, eye");
    check(xt::tensor({1, 2, 3}).dtype() == XT_I64 && xt::tensor({1, 2, 3}).sum().item() == 6,
          "a list of whole numbers");
    check(xt::tensor({0.5, 2.0}).sum().item() == 2.5 && xt::tensor({true, false}).dtype() == XT_BOOL, "other lists");
    check(xt::tensor(1.5).dtype() == XT_F32 && xt::tensor(2).item() == 2 && xt::tensor(2).dim() == 0, "a number");
    check(xt::arange(1, 7, 2).sum().item() == 9 && xt::arange(0.0, 1.0).dtype() == XT_F32, "arange");
    check(same(x.add(x, 2), x * 3) && same(x.sub(1), x - 1) && same(x.div(x), xt_div(x, x)), "add, sub, div");
    check(same(x.lt(1).to(XT_F32), (x < 1).to(XT_F32)) && same(x.maximum(0), x.relu()), "lt, maximum");
    check(same(x.clamp_min(0), x.relu()) && same(x.expand({2, 2, 3})[1], x) && same(x.mT(), x.t()),
          "clamp_min, expand");
    auto [values, at] = x.topk(2, 1);
    check(values.size(1) == 2 && same(values, x.gather(1, at)) && std::get<0>(x.sort(0)).dim() == 2, "topk, gather");
    auto rows = x.unbind(0), columns = x.split(2, 1), halves = x.chunk(2, 0);
    check(rows.size() == 2 && same(rows[1], x[1]) && columns.size() == 2 && columns[1].size(1) == 1, "unbind, split");
    check(halves.size() == 2 && same(xt::cat(halves), x) && same(xt::stack(rows), x), "chunk, cat, stack");
    check(x.equal(x) && !x.equal(x + 1) && x.allclose(x + 1e-9), "equal, allclose");
    check(same(x.masked_fill(x < 0, 0), x.relu()) && x.masked_select(x > 0).numel() == 4, "masks");
    check(same(xt::where(p, x, 0), x.relu()) && same(x.where(p, xt::zeros_like(x)), x.relu()), "where");
    check(same(x.repeat({2, 1}), xt_repeat(x, 2, 1)) && same(x.flip(0), xt_flip(x, 0)) && same(x.tril(), xt_tril(x)),
          "repeat, flip, tril");
    check(same(x.repeat_interleave(2), xt_repeat_interleave(xt_flatten(x), 2, 0)) && x.view(-1).dim() == 1, "flat");
    check(same(xt::einsum("ij,kj->ik", {x, x}), x.mm(x.t())) && same(xt::linear(x, x), x.mm(x.t())), "einsum, linear");
    xt::tensor bad = xt::ones(XT_F32, {5});
    bad += x;
    refused("do not broadcast", __LINE__ - 1);
    bad = bad == x;
    xt_clear_error();
    bad = xt::norm(x, 1, 7);
    refused("axis 7", __LINE__ - 1);
    bad = x.add(xt::ones(XT_F32, {5}), 2);
    refused("do not broadcast", __LINE__ - 1);
    bad = x[x];
    refused("index_select", __LINE__ - 1);
    bad = xt::sum(x, 7);
    refused("axis 7", __LINE__ - 1);
    xt::module both(2, 1, [](xt::scope, const xt::tensor *in, xt::tensor *out) { out[0] = in[0] + in[1]; });
    check(same(both(x, x)[0], x * 2), "m(a, b)");
}

/* Numbers beside tensors of every dtype, as in PyTorch (those that C has: unit/test_beside_numbers.c). */
static const double numbers[7] = {2, -1, 0.5, -1.5, 300, 1e10, 3};
static const struct row {
    const char *function, *dtype, *wants;
} rows[] = {
#define ROW(function, dtype, wants) {#function, #dtype, wants},
#include "../unit/beside_numbers.def"
};
static void beside(const row &r, double v, const std::string &want) {
    xt_dtype t = XT_BOOL;
    while (t < XT_DTYPE_COUNT && strcmp(xt_dtype_name(t), r.dtype) != 0) t = static_cast<xt_dtype>(t + 1);
    const double base[4] = {0, 1, 2, 5};
    xt::tensor x = xt::from(base, {4}).to(t), y;
    std::string name = r.function;
    if (name == "lt") y = x < v;
    if (name == "ge") y = x >= v;
    if (name == "eq") y = x.eq(v);
    if (name == "over") y = v / (x + 1);
    if (name == "add") y = v + x;
    if (name == "mul") y = x * v;
    if (name == "div") y = x / v;
    if (name == "rsub" && want != "-") y = v - x;
    if (y.is_none()) return;
    std::istringstream in(want);
    std::string dtype;
    in >> dtype;
    bool narrow = dtype == "f16" || dtype == "bf16", same = dtype == xt_dtype_name(y.dtype());
    auto got = y.to(XT_F64).read<double>();
    for (double g : got) {
        std::string text;
        in >> text;
        double w = strtod(text.c_str(), nullptr);
        same = same && (g == w || std::fabs(g - w) <= (narrow ? 8e-3 : 1e-6) * std::fabs(w));
    }
    check(same, (name + " of " + r.dtype + " with " + std::to_string(v) + ", not " + want).c_str());
}
static void beside_numbers() {
    int seen = 0;
    for (const row &r : rows) {
        std::istringstream in(r.wants);
        std::string want;
        for (int k = 0; std::getline(in, want, '|'); k++, seen++) beside(r, numbers[k], want);
    }
    check(seen > 1400, "all rows");
}

/* What `call` throws names this file's line. */
template <class F> static void thrown(const char *part, int line, F call) {
    std::string at = "cpp.cpp:" + std::to_string(line) + ":";
    try {
        call();
        check(false, part);
    } catch (const xt::error &e) {
        last = e.what();
        check(last.find(part) != last.npos && last.find(at) != last.npos, part);
    }
    xt_clear_error();
}

/* Numbers of another kind that have the same size are refused; bits are what one asks for. */
static void readings() {
    check(xt_item(xt_sum(xt_from_array((int64_t[]){0, 9}, XT_I64, 2))) == 9, "an array in braces at the call");
    const float v[2] = {1, -2};
    xt::tensor x = xt::from(v, {2}), i = x.to(XT_I64);
    check(i.read<int64_t>()[1] == -2 && i.read<long long>()[1] == -2 && x.read<uint32_t>()[0] == 0x3f800000, "numbers");
    check((x > 0).read<uint8_t>()[0] == 1 && (x > 0).read<signed char>()[1] == 0, "bool");
    check(x.to(XT_BF16).read<uint16_t>()[0] == 0x3f80 && x.to(XT_I16).read<int16_t>()[1] == -2, "16 bits");
    thrown("is f32, the numbers asked for are i32", __LINE__, [&] { x.read<int32_t>(); });
    thrown("is i64, the numbers asked for are f64", __LINE__, [&] { i.read<double>(); });
    thrown("is bf16, the numbers asked for are i16", __LINE__, [&] { x.to(XT_BF16).read<int16_t>(); });
    thrown("the buffer has 2 bytes", __LINE__, [&] { x.read<uint8_t>(); });
}

static void shapes() {
    check(xt::zeros(XT_F32, {1, 1, 1, 1, 1, 1, 1, 1}).rank() == 8, "8 dims");
    thrown("a shape of 9 dims", __LINE__, [] { xt::zeros(XT_F32, {2, 1, 1, 1, 1, 1, 1, 1, 2}); });
    thrown("a shape of 10 dims", __LINE__, [] { xt::ones(XT_F32, {1}).reshape({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); });
    thrown("a shape of 9 dims", __LINE__, [] { xt::spec(XT_F32, {1, 1, 1, 1, 1, 1, 1, 1, 1}); });
}

/* Functions that take no line know it from debug information, where it is the caller's and not the header's. */
static void lines_of_debug_information() {
#ifdef WITH_LINES
    xt::module m([](xt::scope s, xt::tensor t) { return s.linear("fc", t, 2); }), to = std::move(m);
    m.find("x");
    refused("xt_module_find: the module is NULL", __LINE__ - 1);
    m.param_count();
    refused("xt_module_param_count: the module is NULL", __LINE__ - 1);
    m.root().sub("x");
    refused("xt_sub: the module is NULL", __LINE__ - 1);
    thrown("xt_module_build_many: the module is NULL", __LINE__, [&] { m.build({xt::spec(XT_F32, {2, 3})}); });
#endif
}

/* What was moved from is an error, for each of its functions. */
static void moved() {
    xt::tensor x = xt::ones(XT_F32, {2, 3});
    xt::module m([](xt::scope s, xt::tensor t) { return s.linear("fc", t, 2); }), to = std::move(m);
    check(m(x).is_error() && last.find("moved from") != last.npos, "a module that was moved from");
    xt_clear_error();
    check(m(std::vector<xt::tensor>{x}).empty() && last.find("NULL") != last.npos, "with a list");
    xt_clear_error();
    try {
        m.build({xt::spec(XT_F32, {2, 3})});
        check(false, "no exception");
    } catch (const xt::error &e) {
        check(strstr(e.what(), "moved from") != nullptr, "or built");
    }
    check(to(x).dim(1) == 2, "and the other has it");
    xt::step s([](const xt::tensor *in, int) { return in[0].sum(); }), other = std::move(s);
    check(s({x}).is_error(), "a step that was moved from");
    xt_clear_error();
    check(other({x}).item() == 6, "and the other steps");
}

static void lines() {
    xt::tensor x = xt::ones(XT_F32, {2, 3}), z = xt::ones(XT_F32, {5}), y = x + z;
    refused("do not broadcast", __LINE__ - 1);
    y = x.matmul(z);
    refused("inner sizes", __LINE__ - 1);
    y = x[7];
    refused("index 7", __LINE__ - 1);
    y = x.reshape({4, 4});
    refused("xt_reshape", __LINE__ - 1);
    check(y.is_error(), "an error tensor");
}

/* A lambda that throws behind what it has recorded: that is no step, and the next call records it whole. */
static void throwing_step() {
    bool throws = true;
    xt::tensor calls = xt::state("calls", XT_F32, {1}), x = xt::ones(XT_F32, {1}).keep();
    xt::step step([&](const xt::tensor *in, int) -> xt::tensor {
        calls.assign(calls + 1);
        if (throws) throw 42;
        return in[0] * 2;
    });
    try {
        step({x});
        check(false, "no exception");
    } catch (int thrown) {
        check(thrown == 42, "what the lambda has thrown");
    }
    throws = false;
    for (int i = 0; i < 3; i++) {
        double was = calls.item(), is = step({x}).item();
        check(is == 2, "a step whose lambda has thrown once");
        check(calls.item() == was + 1, "with all that it does");
    }
    check(xt_step_traces(step) == 1 && xt_step_replays(step) == 2, "recorded once from then on");
}

/* A run of its own, in which nothing looks at errors: cpp.sh looks for what is printed, for all that is wrong is the
 * exception. */
static void throwing_modules() {
    xt::tensor x = xt::ones(XT_F32, {2, 2});
    xt::module one([](xt::scope, xt::tensor) -> xt::tensor { throw std::runtime_error("of one"); });
    xt::module many(1, 1, [](xt::scope, const xt::tensor *, xt::tensor *) { throw std::runtime_error("of many"); });
    auto throws = [](const char *what, auto call) {
        try {
            call();
            check(false, "no exception");
        } catch (const std::runtime_error &e) {
            check(strcmp(e.what(), what) == 0, e.what());
        }
    };
    throws("of one", [&] { one(x); });
    throws("of one", [&] { one.build({xt::spec(XT_F32, {2, 2})}); });
    throws("of many", [&] { many(std::vector<xt::tensor>{x}); });
    throws("of many", [&] { many.build({xt::spec(XT_F32, {2, 2})}); });
}

static void modules() {
    xt::tensor x = xt::ones(XT_F32, {4, 3});
    xt::module one([](xt::scope m, xt::tensor t) -> xt::tensor {
        if (t.rank() == 1) throw std::runtime_error("of the lambda");
        return m.linear("fc", t, 2).tanh();
    });
    xt::module two(2, 2, [&](xt::scope m, const xt::tensor *in, xt::tensor *out) {
        out[0] = m.linear("a", in[0], 2) + in[1];
        out[1] = out[0].sum();
    });
    two.build({xt::spec(XT_F32, {4, 3}), xt::spec(XT_F32, {4, 2})});
    check(two.param_count() == 8, "built");
    auto out = two({x, one(x)});
    check(same(out[1], xt_sum(out[0])), "two outputs");
    try {
        one(x[0]);
        check(false, "no exception");
    } catch (const std::runtime_error &e) {
        check(strcmp(e.what(), "of the lambda") == 0, "the lambda's exception");
    }
    check(!xt_error(), "which is no pending error");
    try {
        one.load("/no/such/file");
        check(false, "no exception");
    } catch (const xt::error &e) {
        check(e.code == XT_NOT_FOUND, "the status' code");
    }
    try {
        xt_adamw_opts o{};
        o.lr = -1;
        xt::adam(one, o);
        check(false, "no exception");
    } catch (const xt::error &e) {
        check(strstr(e.what(), "lr = -1") != nullptr, "an option out of range");
    }
    check(!xt_error(), "nothing is pending");
}

static void training() {
    std::vector<float> data(64 * 3), sums(64);
    for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<float>((i * 37) % 11) / 11, sums[i / 3] += data[i];
    xt_loader_opts o{};
    o.batch = 16;
    xt::loader loader(xt_array_dataset(data.data(), xt::spec(XT_F32, {3}), sums.data(), xt::spec(XT_F32, {}), 64), o);
    xt::module net([](xt::scope m, xt::tensor x) { return m.linear("fc", x, 1).squeeze(1); });
    xt_adamw_opts rate{};
    rate.lr = 0.1;
    xt::optimizer adam = xt::adam(net, rate);
    int ran = 0, recorded = 0;
    xt::step step([&](const xt::tensor *in, int) {
        recorded++;
        xt::tensor loss = (net(in[0]) - in[1]).square().mean();
        loss.backward();
        adam.step();
        return loss;
    });
    double first = -1, final = -1;
    for (int epoch = 0; epoch < 40; epoch++)
        for (xt_batch &b : loader) {
            xt::tensor loss = step({b.x, b.y});
            if (first < 0) first = loss.item();
            if (epoch == 39) final = loss.item();
            ran++;
        }
    check(ran == 160 && recorded < 5, "a step is recorded once");
    check(final < first / 20, "the loss falls");
    net.root().sub("frozen").sub("norm");
    xt_eval(net.root().sub("frozen"));
    {
        xt::evaluating now(net);
        check(!net.root().is_training() && !net.root().sub("frozen").is_training(), "all evaluate in the block");
    }
    check(net.root().is_training(), "and train behind it");
    check(!net.root().sub("frozen").sub("norm").is_training(), "but what had a mode of its own");
    xt::no_grad off;
    check(net(xt::ones(XT_F32, {1, 3})).item() > 2, "and it has learnt sums");
}

/* Fields by name, in braces: those that are left out have their defaults, and no compiler warns of them. */
static void fields_in_braces() {
#if __cplusplus >= 202002L
    xt_task task = {.manual_optimization = true};
    xt_callback_desc callback = {.name = "named"};
    xt_adamw_opts adamw = {.lr = 1e-3};
    xt_loader_opts loader = {.batch = 8};
    xt_trainer_opts trainer = {.max_epochs = 2};
    xt_conv_opts conv = {.strides = {2, 1}};
    check(task.manual_optimization && !task.net && !task.on_fit_end, "a task");
    check(!strcmp(callback.name, "named") && !callback.step_end, "a callback");
    check(adamw.lr == 1e-3 && adamw.beta1 == 0.9 && adamw.amsgrad == XT_OFF, "an optimizer's options");
    check(loader.batch == 8 && !loader.tokens && trainer.max_epochs == 2 && !trainer.resume, "others'");
    check(conv.strides[0] == 2 && conv.strides[2] == 0 && conv.dilation == 1, "lists");
    xt::module m([](xt::scope m, xt::tensor x) { return m.linear("fc", x, 1); });
    xt::optimizer sgd = xt::sgd(m, {.lr = 0.5});
    check(xt_optimizer_lr(sgd) == 0.5, "as an argument");
#endif
}

static int run() {
    xt_on_error(heard, nullptr);
    operators();
    as_torch();
    beside_numbers();
    readings();
    fields_in_braces();
    shapes();
    moved();
    lines_of_debug_information();
    lines();
    modules();
    training();
    xt::module left([](xt::scope m, xt::tensor x) { return m.linear("fc", x, 1); }); /* freed behind xt::finish */
    left(xt::ones(XT_F32, {1, 2}));
    return xt::finish();
}

int main(int argc, char **) {
    if (argc > 1) throwing_modules(), throwing_step();
    int rc = argc > 1 ? xt::finish() : run();
    for (const char *kind : {"tensor", "buffer", "module", "optimizer", "loader", "step"})
        if (xt_live_objects(kind)) faults++, printf("%s objects are alive\n", kind);
    return rc || faults;
}
