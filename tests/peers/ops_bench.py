"""The rows of bench/ops_bench.c with PyTorch (eager, CPU): best and median milliseconds."""
import sys, time
import torch

torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
g = torch.Generator().manual_seed(0)
r = lambda *d: torch.rand(*d, generator=g) * 2 - 1
x, up, big, wide, odd = r(1024, 1024), r(1024, 1024), r(1048576), r(64, 50257), r(256, 1009)
flat = torch.randint(0, 1024, (1024, 1024), generator=g)
rows = torch.randint(0, 1024, (1024,), generator=g)
a, b, d = r(512, 512).double(), r(512, 512).double(), big.double()
h = r(512, 512)
spd = h @ h.T + 600 * torch.eye(512)
NODES, EDGES = 50000, 500000
places = torch.randint(0, NODES * NODES, (EDGES + 5000,), generator=g).unique()  # a CSR has each once
places = places[torch.randperm(len(places), generator=g)[:EDGES]].sort().values
where = torch.stack((places // NODES, places % NODES))
starts = torch.zeros(NODES + 1, dtype=torch.int64)
starts[1:] = torch.bincount(where[0], minlength=NODES).cumsum(0)
weights, features = r(EDGES).requires_grad_(), r(NODES, 64).requires_grad_()


def coo():
    return torch.sparse.mm(torch.sparse_coo_tensor(where, weights, (NODES, NODES), is_coalesced=True), features)


def csr():
    return torch.sparse.mm(torch.sparse_csr_tensor(starts, where[1], weights, (NODES, NODES)), features)


def and_back(fn):
    y = fn()
    return torch.autograd.grad((y * y).sum(), (weights, features))


def both(p):
    return p[0] + p[1].float()


table = [
    ("scatter_add 1024x1024 along 0", lambda: torch.scatter_add(x, 0, flat, up)),
    ("index_add 1024 rows of 1024", lambda: torch.index_add(x, 0, rows, up)),
    ("scatter_add 1024x1024 along 1", lambda: torch.scatter_add(x, 1, flat, up)),
    ("index_add 1024 columns of 1024", lambda: torch.index_add(x, 1, rows, up)),
    ("gather 1024x1024 along 0", lambda: torch.gather(x, 0, flat)),
    ("index_select 1024 rows of 1024", lambda: torch.index_select(x, 0, rows)),
    ("cumsum 1024x1024 along 1", lambda: torch.cumsum(x, 1)),
    ("cumsum 1024x1024 along 0", lambda: torch.cumsum(x, 0)),
    ("cumsum 1048576", lambda: torch.cumsum(big, 0)),
    ("cummax 1024x1024 along 1", lambda: both(torch.cummax(x, 1))),
    ("sort 1024x1024 along 1", lambda: both(torch.sort(x, dim=1, stable=True))),
    ("sort 1048576", lambda: both(torch.sort(big, dim=0, stable=True))),
    ("topk 10 of 64x50257", lambda: both(torch.topk(wide, 10, 1))),
    ("argmax 64x50257", lambda: torch.argmax(wide, 1)),
    ("fft 1024 of 1024", lambda: torch.fft.fft(x).real.contiguous()),
    ("fft 256 of 1009", lambda: torch.fft.fft(odd).real.contiguous()),
    ("rfft 1048576", lambda: torch.fft.rfft(big).real.contiguous()),
    ("matmul f64 512x512x512", lambda: a @ b),
    ("sum f64 1048576", lambda: d.sum()),
    ("cholesky 512", lambda: torch.linalg.cholesky(spd)),
    ("sparse coo 50000 500000 x 64", lambda: coo().detach()),
    ("sparse csr 50000 500000 x 64", lambda: csr().detach()),
    ("sparse coo and gradients", lambda: and_back(coo)),
    ("sparse csr and gradients", lambda: and_back(csr)),
]
for name, fn in table:
    if len(sys.argv) > 1 and sys.argv[1] not in name:
        continue
    t, began = [], time.perf_counter()
    while len(t) < 4096 and (len(t) < 6 or time.perf_counter() - began < 0.4):
        s = time.perf_counter()
        fn()
        t.append((time.perf_counter() - s) * 1e3)
    t = sorted(t[1:])
    print(f"{name:34s} {t[0]:9.3f} {t[len(t) // 2]:9.3f}", flush=True)
