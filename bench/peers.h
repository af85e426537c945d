/* The frameworks that the benchmarks run beside xtrain: their names in options and in figures (JSON), and their own. */
#ifndef XT_BENCH_PEERS_H
#define XT_BENCH_PEERS_H

enum { EAGER, COMPILE, XLA, JAX, PEERS };
static const char *const peer_names[PEERS] = {"eager", "compile", "xla", "jax"};
static const char *const full_names[PEERS] = {"PyTorch", "torch.compile", "PyTorch/XLA", "JAX"};

#endif
