#!/usr/bin/env python3
"""Draws networks and compares what autocast makes of them with the same networks whose casts are written by hand, to
the last bit: in a loop of one's own, in a compiled step and by the Trainer's option, with accumulation, clipping and
loss scaling.

usage: autocast.py BUILD_DIR INCLUDE_DIR WORK_DIR FIRST COUNT [FLAG ...]    seeds FIRST .. FIRST + COUNT - 1

What casts: each product takes two f32 operands as the narrow type and gives its result in f32 again (xtrain/tensor.h).
A module of the same parameters, made by the layers, serves both: by hand they are found by name."""
import os
import random
import re
import shutil
import subprocess
import sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

PROGRAM = r"""#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
enum { N = @samples@, BATCH = @batch@, K = @accumulate@, EPOCHS = 2 };
static xt_dtype D = @dtype@;
static float x[N][2 * 6 * 6];
static int64_t y[N];
static bool by_hand, full;
/* --- the casts by hand --- */
static xt_tensor P(xt_module *m, const char *name) { return xt_module_find(m, name); }
static xt_tensor low(xt_tensor t) { return xt_dtype_of(t) == XT_F32 && !full ? xt_cast(t, D) : t; }
static xt_tensor high(xt_tensor t) { return xt_dtype_of(t) == D ? xt_cast(t, XT_F32) : t; }
static xt_tensor mm(xt_tensor a, xt_tensor b) { return by_hand ? high(xt_matmul(low(a), low(b))) : xt_matmul(a, b); }
static xt_tensor lin(xt_module *m, const char *name, xt_tensor t, int64_t out, xt_switch bias) {
    if (!by_hand) return xt_linear(m, name, t, out, .bias = bias);
    char w[80];
    snprintf(w, sizeof w, "%s.weight", name);
    xt_tensor r = mm(t, xt_transpose(P(m, w), 0, 1));
    snprintf(w, sizeof w, "%s.bias", name);
    return bias == XT_ON ? xt_add(r, P(m, w)) : r;
}
static xt_tensor bil(xt_module *m, const char *name, xt_tensor t, xt_tensor z, int64_t out) {
    if (!by_hand) return xt_bilinear(m, name, t, z, out);
    char w[80];
    snprintf(w, sizeof w, "%s.weight", name);
    int64_t in1 = xt_dim(t, 1), in2 = xt_dim(z, 1);
    xt_tensor r = mm(t, xt_reshape(xt_transpose(P(m, w), 0, 1), in1, out * in2));
    r = xt_sum_axis(xt_mul(xt_reshape(r, xt_dim(t, 0), out, in2), xt_unsqueeze(z, 1)), 2);
    snprintf(w, sizeof w, "%s.bias", name);
    return xt_add(r, P(m, w));
}
#define CONV .stride = stride, .padding = padding, .groups = groups
static xt_tensor conv(xt_module *m, const char *name, xt_tensor t, int64_t out, int kernel, int stride, int padding,
                      int groups, bool transposed) {
    if (!by_hand)
        return transposed ? xt_conv_transpose2d(m, name, t, out, kernel, CONV)
                          : xt_conv2d(m, name, t, out, kernel, CONV);
    char w[80];
    snprintf(w, sizeof w, "%s.weight", name);
    xt_tensor p = low(P(m, w)), none = {0};
    xt_tensor r = high(transposed ? xt_conv_transpose2d_fn(low(t), p, none, CONV)
                                  : xt_conv2d_fn(low(t), p, none, CONV));
    snprintf(w, sizeof w, "%s.bias", name);
    return xt_add(r, xt_reshape(P(m, w), 1, -1, 1, 1));
}
static xt_tensor attend(xt_tensor q, xt_tensor k, xt_tensor v) {
    if (!by_hand) return xt_scaled_dot_product_attention(q, k, v);
    double e = (double)xt_dim(q, -1);
    xt_tensor s = high(xt_matmul(low(xt_mul(q, 1 / sqrt(e))), low(xt_transpose(k, -1, -2))));
    return high(xt_matmul(low(xt_softmax(s, -1)), low(v)));
}
static xt_tensor gru(xt_module *m, const char *name, xt_tensor t, int64_t hidden) { /* [T,B,I] -> [B,H] */
    if (!by_hand) return xt_gru(m, name, t, hidden@loop@).h;
    char w[4][80];
    const char *end[4] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    for (int i = 0; i < 4; i++) snprintf(w[i], sizeof w[i], "%s.%s", name, end[i]);
    xt_tensor h = xt_zeros(XT_F32, xt_dim(t, 1), hidden);
    xt_tensor all = xt_add(mm(t, xt_transpose(P(m, w[0]), 0, 1)), P(m, w[2]));
    for (int64_t i = 0; i < xt_dim(t, 0); i++) {
        xt_tensor gi = xt_select(all, 0, i);
        xt_tensor gh = xt_add(mm(h, xt_transpose(P(m, w[1]), 0, 1)), P(m, w[3]));
        xt_tensor part[6];
        for (int k = 0; k < 6; k++) part[k] = xt_slice(k < 3 ? gi : gh, 1, k % 3 * hidden, (k % 3 + 1) * hidden);
        xt_tensor r = xt_sigmoid(xt_add(part[0], part[3])), z = xt_sigmoid(xt_add(part[1], part[4]));
        xt_tensor n = xt_tanh(xt_add(part[2], xt_mul(r, part[5])));
        h = xt_add(n, xt_mul(z, xt_minus(h, n)));
    }
    return xt_unsqueeze(h, 0);
}
static void full_begin(void) { full = true; if (!by_hand) xt_autocast_begin(XT_F32); }
static void full_end(void) { full = false; if (!by_hand) xt_autocast_end(); }
static xt_tensor block(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    t = xt_gelu(lin(m, "c1", t, 9, XT_ON));
    return lin(m, "c2", t, 8, XT_OFF);
}
static void cell(xt_tensor *carry, const xt_tensor *in, xt_tensor *out, void *user) {
    xt_module *m = user;
    carry[0] = xt_tanh(xt_add(in[0], mm(carry[0], P(m, "rec"))));
    out[0] = carry[0];
}
static xt_tensor body(xt_module *m, xt_tensor t) {
    if (!by_hand) xt_param(m, "rec", "normal", 0.4, XT_F32, 8, 8);
    int64_t b = xt_dim(t, 0);
    t = xt_reshape(t, b, 2, 6, 6);
@layers@
    return lin(m, "out", t, 3, XT_ON);
}
static xt_tensor net(xt_module *m, xt_tensor t, void *user) { (void)user; return body(m, t); }
static xt_tensor forward(xt_module *m, xt_tensor t) { return by_hand ? body(m, t) : xt_forward(m, t); }
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(forward(m, b.x), b.y);
}
static xt_optimizer *configure(xt_module *m, void *user) { (void)user; return @optimizer@; }
static xt_loader *loader(void) {
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {72}}, y, (xt_spec){XT_I64, {0}}, N);
    return xt_loader_new(d, .batch = BATCH, .shuffle = XT_ON, .drop_last = XT_ON);
}
static void tell(xt_module *m) {
    for (int i = 0; i < xt_module_tensors(m); i++) {
        xt_tensor t = xt_cast(xt_reshape(xt_module_tensor(m, i), -1), XT_F64);
        xt_tensor weighted = xt_mul(t, xt_cos(xt_arange(xt_numel(t), XT_F64)));
        printf("%s %.9g %.9g\n", xt_module_tensor_name(m, i), xt_item(xt_sum(t)), xt_item(xt_sum(weighted)));
    }
}
static xt_module *built(void) {
    xt_seed(7);
    xt_module *m = xt_module_new(net, NULL);
    bool was = by_hand;
    by_hand = false;
    xt_status s = xt_module_build(m, (xt_spec){XT_F32, {BATCH, 72}});
    if (s) fprintf(stderr, "build: %s\n", xt_status_message(s));
    by_hand = was;
    return m;
}
static void plain(void) {
    xt_loader *l = loader();
    int64_t batches = xt_loader_batches(l);
    xt_module *m = built();
    xt_optimizer *o = configure(m, NULL);
    @scaler@
    for (int64_t e = 0; e < EPOCHS; e++)
        for (xt_batch b; xt_next(l, &b);) {
            int64_t begin = b.index / K * K, window = begin + K > batches ? batches - begin : K;
            if (!by_hand) xt_autocast_begin(D);
            xt_tensor loss = training_step(m, b, NULL);
            if (!by_hand) xt_autocast_end();
            @backward@
            if (b.index + 1 == begin + window) { @step@ }
        }
    tell(m);
}
static xt_tensor compiled(const xt_tensor *in, int n, void *user) {
    (void)n;
    xt_module *m = ((void **)user)[0];
    xt_optimizer *o = ((void **)user)[1];
    xt_loss_scaler *s = ((void **)user)[2];
    (void)s;
    if (!by_hand) xt_autocast_begin(D);
    xt_tensor loss = xt_cross_entropy(forward(m, in[0]), in[1]);
    if (!by_hand) xt_autocast_end();
    int64_t window = 1;
    @backward@
    @step@
    return loss;
}
static void steps(void) {
    xt_loader *l = loader();
    xt_module *m = built();
    xt_optimizer *o = configure(m, NULL);
    @scaler@
    void *user[3] = {m, o, @s@};
    xt_step *st = xt_compile(compiled, .user = user);
    for (int64_t e = 0; e < EPOCHS; e++)
        for (xt_batch b; xt_next(l, &b);) xt_call(st, b.x, b.y);
    tell(m);
}
static int with_trainer(void) {
    xt_trainer *t = xt_trainer_new(.max_epochs = EPOCHS, .seed = 7, .accumulate_grad_batches = K,
                                   .model_summary = XT_OFF, .checkpointing = XT_OFF, .logger = XT_OFF,
                                   .precision = "@precision@"@clip@);
    xt_task task = {.module = built(), .training_step = training_step, .configure_optimizers = configure};
    int rc = xt_fit(t, &task, loader(), NULL);
    if (rc == 0) tell(xt_trainer_module(t));
    return rc;
}
int main(int argc, char **argv) {
    (void)argc;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 72; j++) x[i][j] = sinf((float)(i * 7 + j * 3) * 1.7f);
        y[i] = (int64_t)(i * i) % 3;
    }
    int rc = 0;
    xt_seed(7);
    by_hand = !strcmp(argv[1], "hand") || !strcmp(argv[1], "handstep");
    if (!strcmp(argv[1], "fit")) rc = with_trainer();
    else if (strstr(argv[1], "step")) steps();
    else plain();
    return xt_finish() || rc;
}
"""
PICTURES = ['t = xt_relu(conv(m, "cv%d", t, 4, 3, 1, 1, 2, false));', 't = xt_batch_norm(m, "bn%d", t);',
            't = xt_tanh(conv(m, "ct%d", t, 4, 2, 2, 0, 1, true));', "t = xt_max_pool2d(t, 2);",
            't = xt_silu(conv(m, "cs%d", t, 6, 3, 2, 1, 1, false));',
            't = xt_relu(conv(m, "cg%d", t, 2 * xt_dim(t, 1), 3, 1, 1, (int)xt_dim(t, 1), false));',
            'full_begin(); t = xt_relu(conv(m, "cf%d", t, 4, 1, 1, 0, 1, false)); full_end();']
ROWS = ['t = xt_relu(lin(m, "l%d", t, 8, XT_ON));', 't = lin(m, "n%d", t, 8, XT_OFF);',
        't = xt_layer_norm(m, "ln%d", t);', 't = xt_add(t, bil(m, "b%d", t, xt_tanh(t), 8));',
        "t = xt_add(t, mm(xt_softmax(mm(t, xt_transpose(t, 0, 1)), 1), t));", "t = xt_dropout(m, t, 0.25);",
        't = xt_mul(t, xt_sigmoid(lin(m, "g%d", t, 8, XT_ON)));',
        'full_begin(); t = xt_tanh(lin(m, "f%d", t, 8, XT_ON)); full_end();',
        "t = xt_reshape(attend(xt_reshape(t, b, 2, 4), xt_reshape(xt_sin(t), b, 2, 4), "
        "xt_reshape(xt_mul(t, 0.5), b, 2, 4)), b, 8);",
        't = xt_squeeze(gru(m, "gru%d", xt_stack(3, ((xt_tensor[]){t, xt_sin(t), xt_cos(t)}), 0), 8), 0);',
        "t = xt_checkpoint_block(block, m, t, NULL);",
        "{ xt_tensor in = xt_stack(3, ((xt_tensor[]){t, xt_sin(t), xt_cos(t)}), 0), out; "
        "xt_scan(cell, 1, &t, 1, &in, 1, &out, .user = m); t = xt_add(t, xt_mean_axis(out, 0)); }",
        't = xt_tanh(xt_cast(mm(xt_cast(t, D), P(m, "rec")), XT_F32));',
        't = xt_cast(mm(xt_cast(t, XT_F64), xt_cast(P(m, "rec"), XT_F64)), XT_F32);']
OPTIMIZERS = ["xt_sgd(m, .lr = 0.1, .momentum = 0.9)", "xt_sgd(m, .lr = 0.05)", "xt_adagrad(m, .lr = 0.02)",
              "xt_adamw(m, .lr = 0.01, .eps = 1e-3)"]


def draw(r):
    p = dict.fromkeys(re.findall(r"@(\w+)@", PROGRAM), "")
    k, precision = r.choice([1, 1, 2, 3]), r.choice(["bf16-mixed", "16-mixed"])
    scaled = precision == "16-mixed"
    p.update(samples=r.choice([24, 30, 33]), batch=r.choice([3, 4]), accumulate=k, precision=precision,
             dtype="XT_F16" if scaled else "XT_BF16", optimizer=r.choice(OPTIMIZERS), s="s" if scaled else "NULL")
    layers = r.sample(PICTURES, r.choice([0, 1, 2]))
    layers.append('t = xt_tanh(lin(m, "flat", xt_flatten(t, 1), 8, XT_ON));')
    # draws of a fit are counted by micro-batches, those of a loop by optimizer steps
    layers += r.sample([l for l in ROWS if k == 1 or "dropout" not in l], r.choice([2, 3, 4]))
    p["layers"] = "\n".join("    " + (l % i if "%d" in l else l) for i, l in enumerate(layers))
    p["loop"] = r.choice(["", ", .loop = XT_OFF"])
    clip, step = r.choice(["", "", "norm", "value"]), "xt_optimizer_step(o);"
    if clip:
        p["clip"] = ", .gradient_clip_val = 0.05" + ', .gradient_clip_algorithm = "value"' * (clip == "value")
        step = "xt_clip_grad_%s(o, 0.05); %s" % (clip, step)
    loss = "xt_div(loss, window)"
    if scaled:
        p["scaler"] = "xt_loss_scaler *s = xt_loss_scaler_new();"
        loss = "xt_scale_loss(s, %s)" % loss
        step = step.replace("xt_optimizer_step(o);", "xt_scaler_step(s, o); xt_scaler_update(s);")
        step = "xt_scaler_unscale(s, o); " * bool(clip) + step
    p["backward"], p["step"] = "xt_backward(%s);" % loss, step
    return k, re.sub(r"@(\w+)@", lambda m: str(p[m[1]]), PROGRAM)


def run(folder, how):
    done = subprocess.run(["timeout", "100", folder + "/program", how], cwd=folder, text=True, capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=folder + "/runs", XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off"))
    if done.returncode or not done.stdout:
        return "exit %d: %s" % (done.returncode, done.stderr[-600:]), []
    return "", [l for l in done.stdout.splitlines() if re.match(r"[\w.]+( -?[\w.+-]+){2}$", l)]


def main():
    bad = 0
    for seed in range(first, first + count):
        folder = "%s/%d" % (work, seed)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        k, text = draw(random.Random(seed))
        with open(folder + "/p.c", "w") as f:
            f.write(text)
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, "p.c", "-o", "program",
                        "-L" + build, "-lxtrain", "-lm", "-Wl,-rpath," + build], cwd=folder, check=True)
        error, hand = run(folder, "hand")
        why = ["hand: " + error] if error else []
        for how in ["auto", "fit"] + ["autostep", "handstep"] * (k == 1):
            error, told = run(folder, how)
            if error:
                why.append("%s: %s" % (how, error))
            else:
                why += ["%s: %s, by hand %s" % (how, a, b) for a, b in zip(told, hand) if a != b][:3]
                if len(told) != len(hand):
                    why.append("%s: %d tensors, by hand %d" % (how, len(told), len(hand)))
        if why:
            bad += 1
            print("seed %d (%s/p.c):\n  %s" % (seed, folder, "\n  ".join(why)), flush=True)
        else:
            shutil.rmtree(folder)
    print("%d passed, %d failed" % (count - bad, bad))
    sys.exit(bad > 0)


main()
