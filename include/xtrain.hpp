/* xtrain in C++17 and later: handles that free themselves, operators, lambdas as forwards and steps. Header only, over
 * <xtrain/xtrain.h>, whose functions and macros work beside it: xt::tensor and xt_tensor turn into each other.
 *
 *     xt::module net([](xt::scope m, xt::tensor x) { return m.linear("fc2", m.linear("fc1", x, 32).relu(), 1); });
 *     xt::optimizer adam = xt::adam(net, {.lr = 1e-3});                 // C++17: xt_adamw_opts o{}; o.lr = 1e-3;
 *     for (xt_batch &b : loader) {
 *         xt::tensor loss = (net(b.x) - b.y).square().mean();
 *         loss.backward();
 *         adam.step();
 *     }
 *     return xt::finish();
 *
 * A tensor is a value that lives until its step ends, as in C (xtrain/tensor.h); copying one copies a handle. a += b is
 * a = a + b, another value under the same name: what a was stays as it is for whoever has a copy of it. So it is with a
 * parameter or a state too, which only assign changes: w.assign(w - 0.1 * w.grad()). Modules,
 * optimizers, loaders and steps can be moved and not copied; what is destroyed after xt::finish has been freed by it.
 * Errors of tensors travel and are met at the step's end, as in C; a status throws xt::error. An exception that a
 * lambda of xt::module or xt::step throws leaves the call that ran it, and one of xt::dataset or of a function in
 * xt::caught<> is a status; base.h says what happens to others. Lines in messages are those of the program. */
#ifndef XTRAIN_HPP
#define XTRAIN_HPP

#include <xtrain/train.hpp>

#undef XT_HPP_HERE_

#endif
