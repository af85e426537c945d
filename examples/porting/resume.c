/* A plain loop that goes on bit for bit after a restart: weights, the optimizer's states, random draws and the place in
 * the data are what it consists of.
 *
 *     ./resume 0 FILE    an unbroken run, which saves in its middle; its last weights go into FILE
 *     ./resume 1 FILE    goes on from there, to the same bits; begins where nothing was saved */
#include <stdlib.h>

#include "check.h"

enum { SAMPLES = 40, BATCH = 8, EPOCHS = 4, SAVE_AT = 7, WIDE = 6 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_dropout(m, xt_tanh(xt_linear(m, "in", x, 16)), 0.3), 1);
}

typedef struct place { /* beside the weights */
    xt_rng_state rng;
    int64_t epoch, batch;
} place;

static bool save(xt_module *m, xt_optimizer *opt, const xt_batch *b) {
    place p = {xt_rng_state_save(), b->epoch, b->index + 1};
    if (xt_save(m, "net.safetensors") || xt_optimizer_save(opt, "opt.safetensors")) return false;
    FILE *f = fopen("place.bin", "wb");
    return f && fwrite(&p, sizeof p, 1, f) == 1 && fclose(f) == 0;
}

static bool load(xt_module *m, xt_optimizer *opt, xt_loader *l) {
    place p;
    FILE *f = fopen("place.bin", "rb"); /* written last: without it nothing was saved, and the run begins */
    bool whole = f && fread(&p, sizeof p, 1, f) == 1;
    if (f) fclose(f);
    if (!whole) return false;
    /* an error here, which nobody frees (xt_status_free), ends the program with the next step */
    if (xt_load(m, "net.safetensors") || xt_optimizer_load(opt, "opt.safetensors")) return false;
    xt_rng_state_load(p.rng);
    xt_loader_set_epoch(l, p.epoch, p.batch);
    return true;
}

static bool train(xt_module *m, xt_optimizer *opt, xt_scheduler *cosine, xt_loader *l) {
    while (xt_loader_epoch(l) < EPOCHS)
        for (xt_batch b; xt_next(l, &b);) {
            xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
            xt_backward(loss);
            xt_optimizer_step(opt);
            xt_schedule_step(cosine);
            int64_t step = xt_optimizer_steps(opt);
            xt_master_printf("step %lld loss %t\n", (long long)step, loss);
            if (step == SAVE_AT && !save(m, opt, &b)) return false;
        }
    return xt_wait();
}

int main(int argc, char **argv) {
    static float x[SAMPLES][WIDE], y[SAMPLES][1];
    if (argc < 3) return fprintf(stderr, "usage: resume 0|1 FILE\n"), 2;
    for (int i = 0; i < SAMPLES; i++) {
        for (int j = 0; j < WIDE; j++) x[i][j] = sinf((float)(i * 7 + j * 3));
        y[i][0] = x[i][0] * x[i][1];
    }
    xt_seed(5);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adamw(m, .lr = 1e-2);
    xt_scheduler *cosine = xt_cosine_schedule(adam, .t_max = 40);
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {WIDE}}, y, (xt_spec){XT_F32, {1}}, SAMPLES),
                                 .batch = BATCH, .shuffle = XT_ON);
    bool resumes = atoi(argv[1]) != 0 && load(m, adam, l);
    bool trained = train(m, adam, cosine, l) && !xt_save(m, argv[2]);
    check_programs(resumes ? "resumed" : "unbroken", programs(), 1);
    return xt_finish() || !trained || faults;
}
