/* Networks in C++: lambdas as forwards, and layers as methods. A part of xtrain.hpp. */
#ifndef XTRAIN_MODULES_HPP
#define XTRAIN_MODULES_HPP

#include <xtrain/functions.hpp>

namespace xt {

/* --- Handles --- */
inline bool &finished_() {
    static bool f = false;
    return f;
}
/* Ends the program, as xt_finish; what is destroyed later has been freed by it. */
inline int finish(place w = XT_HPP_HERE_) {
    finished_() = true;
    return xt_finish_at(&w);
}
template <auto free_handle> struct free_ {
    template <class T> void operator()(T *p) const {
        if (!finished_()) free_handle(p);
    }
};

/* --- Modules --- */
/* A module, or a child of one, as layers see it: borrowed. */
class scope {
    xt_module *m_;

  public:
    scope(xt_module *m) : m_(m) {}
    operator xt_module *() const { return m_; }
    scope sub(const char *name, int index = -1) const { return (xt_sub)(m_, name, index); }
    scope share(const char *pattern) const { return xt_share(m_, pattern), *this; }
    scope sync_batch_norm(place w = XT_HPP_HERE_) const { return xt_sync_batch_norm_at(&w, m_), *this; }
    tensor find(const char *name) const { return xt_module_find(m_, name); }
    bool is_training() const { return xt_is_training(m_); }

    tensor linear(const char *name, tensor x, int64_t out, xt_linear_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_linear_at(&w, m_, name, x, out, o);
    }
    tensor embedding(const char *name, tensor i, int64_t vocab, int64_t dim, xt_embedding_opts o = {},
                     place w = XT_HPP_HERE_) const {
        return xt_embedding_at(&w, m_, name, i, vocab, dim, o);
    }
    tensor conv2d(const char *name, tensor x, int64_t out, int kernel, xt_conv_opts o = {},
                  place w = XT_HPP_HERE_) const {
        return xt_conv_at(&w, 2, false, m_, name, x, out, kernel, o);
    }
    tensor conv_transpose2d(const char *name, tensor x, int64_t out, int kernel, xt_conv_opts o = {},
                            place w = XT_HPP_HERE_) const {
        return xt_conv_at(&w, 2, true, m_, name, x, out, kernel, o);
    }
    tensor batch_norm(const char *name, tensor x, xt_norm_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_batch_norm_at(&w, m_, name, x, o);
    }
    tensor layer_norm(const char *name, tensor x, xt_norm_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_layer_norm_at(&w, m_, name, x, o);
    }
    tensor rms_norm(const char *name, tensor x, xt_norm_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_rms_norm_at(&w, m_, name, x, o);
    }
    tensor dropout(tensor x, double p, place w = XT_HPP_HERE_) const { return xt_dropout_at(&w, m_, x, p); }
    tensor self_attention(const char *name, tensor x, xt_attention_opts o, place w = XT_HPP_HERE_) const {
        return xt_self_attention_at(&w, m_, name, x, o);
    }
    xt_rnn_out lstm(const char *name, tensor x, int64_t hidden, xt_rnn_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_rnn_at(&w, XT_RNN_LSTM, m_, name, x, hidden, o);
    }
    xt_rnn_out gru(const char *name, tensor x, int64_t hidden, xt_rnn_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_rnn_at(&w, XT_RNN_GRU, m_, name, x, hidden, o);
    }
};

/* A network with a lambda for its forward: of a tensor, xt::module([](xt::scope m, xt::tensor x) { ... }), or of
 * several inputs and outputs, xt::module(2, 1, [](xt::scope m, const xt::tensor *in, xt::tensor *out) { ... }). */
class module {
  public:
    using one_fn = std::function<tensor(scope, tensor)>; /* x -> y */
    using many_fn = std::function<void(scope, const tensor *, tensor *)>; /* in[n_in] -> out[n_out], to be filled */
    explicit module(one_fn fn) : body_(new body{std::move(fn), {}, 1, 1, {}}) {
        m_.reset(xt_module_new(call_one, body_.get()));
        if (!m_) tensor::check_pending();
    }
    module(int n_in, int n_out, many_fn fn) :body_(new body{{}, std::move(fn), n_in, n_out, {}}) {
        m_.reset(xt_module_new_many(call_many, n_in, n_out, body_.get()));
        if (!m_) tensor::check_pending();
    }
    operator xt_module *() const { return m_.get(); }
    operator scope() const { return m_.get(); }
    scope root() const { return m_.get(); }
    tensor operator()(tensor x, place w = XT_HPP_HERE_) const {
        tensor y = xt_forward_at(&w, m_.get(), x);
        rethrow();
        return y;
    }
    /* of a module of several inputs and outputs */
    std::vector<tensor> operator()(const std::vector<tensor> &in, place w = XT_HPP_HERE_) const {
        std::vector<xt_tensor> x(in.begin(), in.end()), y(static_cast<size_t>(body_ ? body_->n_out : 0));
        xt_forward_many_at(&w, m_.get(), static_cast<int>(x.size()), x.data(), static_cast<int>(y.size()), y.data());
        rethrow();
        return std::vector<tensor>(y.begin(), y.end());
    }
    /* the same of two: m(a, b) */
    std::vector<tensor> operator()(tensor a, tensor b, place w = XT_HPP_HERE_) const {
        return (*this)(std::vector<tensor>{a, b}, w);
    }
    /* and of three */
    std::vector<tensor> operator()(tensor a, tensor b, tensor c, place w = XT_HPP_HERE_) const {
        return (*this)(std::vector<tensor>{a, b, c}, w);
    }
    /* The parameters, without data: xt::spec(XT_F32, {64, 1, 28, 28}) of each input. */
    void build(std::initializer_list<xt_spec> in) const {
        xt_status s = xt_module_build_many(m_.get(), static_cast<int>(in.size()), in.begin());
        if (body_ && body_->thrown) xt_status_free(s);
        rethrow();
        check(s);
    }
    void train(place w = XT_HPP_HERE_) const { xt_train_at(&w, m_.get()); }
    void eval(place w = XT_HPP_HERE_) const { xt_eval_at(&w, m_.get()); }
    void save(const char *path, place w = XT_HPP_HERE_) const { check(xt_save_at(&w, m_.get(), path)); }
    void load(const char *path, place w = XT_HPP_HERE_) const { check(xt_load_at(&w, m_.get(), path)); }
    tensor find(const char *name) const { return xt_module_find(m_.get(), name); }
    int64_t param_count() const { return xt_module_param_count(m_.get()); }

  private:
    struct body {
        one_fn one;
        many_fn many;
        int n_in, n_out;
        std::exception_ptr thrown; /* C does not let it through: it goes on behind the call */
    };
    /* What has thrown gives an input for an output, which nobody sees: C would tell that there is none. */
    static xt_tensor call_one(xt_module *m, xt_tensor x, void *user) {
        body *b = static_cast<body *>(user);
        try {
            return b->one(m, x);
        } catch (...) {
            b->thrown = std::current_exception();
            return x;
        }
    }
    static void call_many(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
        body *b = static_cast<body *>(user);
        try {
            std::vector<tensor> x(in, in + b->n_in), y(static_cast<size_t>(b->n_out));
            b->many(m, x.data(), y.data());
            for (size_t i = 0; i < y.size(); i++) out[i] = y[i];
        } catch (...) {
            b->thrown = std::current_exception();
            std::fill(out, out + b->n_out, in[0]);
        }
    }
    void rethrow() const {
        if (body_) rethrow_(body_->thrown);
    }
    std::unique_ptr<body> body_;
    std::unique_ptr<xt_module, free_<xt_module_free>> m_;
};
/* Evaluation mode until the end of the block; then each module has the mode it had. */
struct evaluating {
    place at; /* the block's line */
    scope m; /* with all below it */
    explicit evaluating(scope m_, place w = XT_HPP_HERE_) : at(w), m(m_) { xt_eval_begin_at(&at, m); }
    ~evaluating() { xt_eval_end_at(&at, m); }
    evaluating(const evaluating &) = delete;
    evaluating &operator=(const evaluating &) = delete;
};
/* A dtype and dims, as xt_spec of C: what a dataset's samples or a module's input are. */
inline xt_spec spec(xt_dtype dtype, std::initializer_list<int64_t> dims, place w = XT_HPP_HERE_) {
    xt_spec s{};
    int n = 0;
    s.dtype = dtype;
    check_rank_(dims.size(), w);
    for (int64_t d : dims) s.dims[n++] = d;
    return s;
}

} /* namespace xt */

#endif
