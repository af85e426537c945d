/* Optimizers, data and compiled steps in C++. A part of xtrain.hpp. */
#ifndef XTRAIN_TRAIN_HPP
#define XTRAIN_TRAIN_HPP

#include <xtrain/modules.hpp>

namespace xt {

/* --- Optimizers --- */
class optimizer {
    std::unique_ptr<xt_optimizer, free_<xt_optimizer_free>> o_;

  public:
    explicit optimizer(xt_optimizer *o) : o_(o) { /* takes it over: of any xt_NAME(module, ...) */
        if (!o) tensor::check_pending();
    }
    operator xt_optimizer *() const { return o_.get(); }
    void step(place w = XT_HPP_HERE_) const { xt_optimizer_step_at(&w, o_.get()); }
    void zero_grad(place w = XT_HPP_HERE_) const { xt_zero_grad_at(&w, o_.get()); }
};
inline optimizer sgd(const module &m, xt_sgd_opts o = {}, place w = XT_HPP_HERE_) {
    return optimizer(xt_sgd_opt(&w, m, o));
}
inline optimizer adam(const module &m, xt_adamw_opts o = {}, place w = XT_HPP_HERE_) {
    return optimizer(xt_adam_opt(&w, m, o));
}
inline optimizer adamw(const module &m, xt_adamw_opts o = {}, place w = XT_HPP_HERE_) {
    return optimizer(xt_adamw_opt(&w, m, o));
}

/* --- Data --- */
/* A dataset of a lambda, which fills sample i; owned by whoever gets it, as a loader does:
 *     xt::loader loader(xt::dataset(1000, x_spec, y_spec, [](int64_t i, void *x, void *y) { ... }), {.batch = 32});
 * Threads of the loader call it, several at a time; what it throws is the error of xt_next, with the sample. */
inline xt_dataset *dataset(int64_t count, xt_spec x, xt_spec y, std::function<void(int64_t, void *, void *)> fn,
                           place w = XT_HPP_HERE_) {
    using get = std::function<void(int64_t, void *, void *)>;
    xt_dataset_desc d{};
    d.struct_size = sizeof d;
    d.count = count;
    d.x = x;
    d.y = y;
    d.name = "xt::dataset";
    d.user = new get(std::move(fn));
    d.free_user = [](void *user) { delete static_cast<get *>(user); };
    d.get = [](void *user, int64_t i, void *to_x, void *to_y) -> xt_status {
        try {
            (*static_cast<get *>(user))(i, to_x, to_y);
            return nullptr;
        } catch (...) {
            return thrown_status();
        }
    };
    xt_dataset *made = xt_dataset_new_at(&w, &d);
    if (!made) d.free_user(d.user); /* which stays the caller's where none is made */
    return made;
}
/* for (xt_batch &b : loader) is an epoch: each ++ ends a step and begins one. */
class loader {
    std::unique_ptr<xt_loader, free_<xt_loader_free>> l_;

  public:
    explicit loader(xt_loader *l) : l_(l) { /* takes it over */
        if (!l) tensor::check_pending();
    }
    explicit loader(xt_dataset *d, xt_loader_opts o = {}, place w = XT_HPP_HERE_) : loader(xt_loader_opt(&w, d, o)) {}
    operator xt_loader *() const { return l_.get(); }
    bool next(xt_batch &b, place w = XT_HPP_HERE_) const { return xt_next_at(&w, l_.get(), &b); }
    int64_t batches() const { return xt_loader_batches(l_.get()); }
    class iterator {
        xt_loader *l_;
        place at_;
        xt_batch b_{};
        void next() {
            if (!xt_next_at(&at_, l_, &b_)) l_ = nullptr; /* of a loader that was moved from: the error says so */
        }

      public:
        explicit iterator(place w) : l_(nullptr), at_(w) {} /* the end */
        iterator(xt_loader *l, place w) : l_(l), at_(w) { next(); }
        xt_batch &operator*() { return b_; }
        xt_batch *operator->() { return &b_; }
        iterator &operator++() { return next(), *this; }
        bool operator!=(const iterator &o) const { return l_ != o.l_; }
    };
    /* The next epoch's batches: for (xt_batch &b : loader). */
    iterator begin(place w = XT_HPP_HERE_) const { return iterator(l_.get(), w); }
    iterator end(place w = XT_HPP_HERE_) const { return iterator(w); } /* behind the last batch */
};

/* --- Compiled steps --- */
/* xt::step step([&](const xt::tensor *in, int n) { ... return loss; }); step({x, y}) runs the program that the first
 * call recorded (xtrain/step.h). */
class step {
  public:
    using fn = std::function<tensor(const tensor *, int)>; /* in[n] -> the result, or none */
    /* f is called while the first call is recorded, and again where another shape asks for another program. */
    explicit step(fn f, place w = XT_HPP_HERE_) : body_(new body{std::move(f), {}}), made_(w) {
        make();
        if (!s_) tensor::check_pending();
    }
    tensor operator()(const std::vector<tensor> &in, place w = XT_HPP_HERE_) const {
        std::vector<xt_tensor> x(in.begin(), in.end());
        tensor y = xt_call_at(&w, s_.get(), static_cast<int>(x.size()), x.data());
        if (body_ && body_->thrown) {
            make(); /* what was recorded until then is no step */
            rethrow_(body_->thrown);
        }
        return y;
    }
    /* For functions of C; stays this object's. Another one behind a call whose lambda threw. */
    operator xt_step *() const { return s_.get(); }

  private:
    void make() const {
        xt_compile_opts o{};
        o.struct_size = sizeof o;
        o.user = body_.get();
        s_.reset(xt_compile_at(&made_, call, o));
    }
    struct body {
        fn f;
        std::exception_ptr thrown;
    };
    static xt_tensor call(const xt_tensor *in, int n, void *user) {
        body *b = static_cast<body *>(user);
        try {
            std::vector<tensor> x(in, in + n);
            return b->f(x.data(), n);
        } catch (...) {
            b->thrown = std::current_exception();
            return xt_tensor{};
        }
    }
    std::unique_ptr<body> body_;
    place made_;
    mutable std::unique_ptr<xt_step, free_<xt_step_free>> s_;
};

} /* namespace xt */

#endif
