"""torch.sparse.mm of COO and CSR matrices, with gradients to the elements and to the dense matrix."""
import torch

from parity import File

f = File("sparse")
D = torch.float64
row, column = torch.tensor([0, 4, 1, 1, 3, 0, 4]), torch.tensor([2, 0, 3, 2, 1, 0, 3])
crow, by_row = torch.tensor([0, 2, 4, 4, 5, 7]), torch.tensor([0, 2, 2, 3, 1, 0, 3])
repeated = torch.tensor([2, 3, 2, 2, 3, 1, 0])


def coo(r, c, v, x, size=(5, 4)):
    return torch.sparse.mm(torch.sparse_coo_tensor(torch.stack([r, c]), v, size), x)


f.run("coo", coo, row, column, torch.randn(7, dtype=D), torch.randn(4, 3, dtype=D))
f.run("coo_f32", coo, row, column, torch.randn(7), torch.randn(4, 3))
f.run("coo_repeated", coo, row, repeated, torch.randn(7, dtype=D), torch.randn(4, 3, dtype=D))
f.run("coo_vector", lambda r, c, v, x: coo(r, c, v, x[:, None])[:, 0], row, column, torch.randn(7, dtype=D),
      torch.randn(4, dtype=D))
f.run("transposed", lambda r, c, v, x: coo(c, r, v, x, (4, 5)), row, column, torch.randn(7, dtype=D),
      torch.randn(5, 3, dtype=D))
f.run("csr", lambda p, c, v, x: torch.sparse_csr_tensor(p, c, v, (5, 4)).to_dense() @ x, crow, by_row,
      torch.randn(7, dtype=D), torch.randn(4, 3, dtype=D))
f.run("dense", lambda r, c, v: torch.sparse_coo_tensor(torch.stack([r, c]), v, (5, 4)).to_dense(), row, repeated,
      torch.randn(7, dtype=D))
f.save()
