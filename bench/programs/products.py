"""Products, contractions, factorisations, transforms."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import linalg

from suite import add, bf16, c64, definite, f32, f64, gradient, i32, i8

F = "products"
for m, k, n in ((1, 768, 3072), (32, 784, 256), (256, 256, 256), (1024, 768, 768), (64, 1024, 10000), (4096, 64, 64)):
    add(F, f"product {m}x{k}x{n}", jnp.matmul, f32(m, k), f32(k, n))
    add(F, f"product {m}x{k}x{n}, bf16", jnp.matmul, bf16(m, k), bf16(k, n))
add(F, "product, f64", jnp.matmul, f64(384, 384), f64(384, 384))
add(F, "product by a transpose", lambda x, y: x @ y.T, f32(512, 768), f32(512, 768))
add(F, "gradient of weights", lambda x, g: x.T @ g, f32(1024, 768), f32(1024, 256))
add(F, "matrix-vector product", jnp.matmul, f32(1024, 1024), f32(1024))
add(F, "vector-matrix product", jnp.matmul, f32(1024), f32(1024, 1024))
add(F, "scalar product", jnp.dot, f32(1 << 20), f32(1 << 20))
add(F, "outer product", jnp.outer, f32(1024), f32(1024))
add(F, "batched product", jnp.matmul, f32(96, 128, 64), f32(96, 64, 128))
add(F, "batched product, bf16", jnp.matmul, bf16(96, 128, 64), bf16(96, 64, 128))
add(F, "batch of small products", jnp.matmul, f32(4096, 8, 8), f32(4096, 8, 8))
add(F, "batch of matrix-vector products", lambda a, x: jnp.einsum("bij,bj->bi", a, x), f32(512, 64, 64), f32(512, 64))
add(F, "dense layer", lambda x, w, b: jax.nn.relu(x @ w + b), f32(256, 784), f32(784, 512), f32(512))
add(F, "dense layer, gradient", gradient(lambda x, w, b: jax.nn.relu(x @ w + b)), f32(256, 784), f32(784, 512),
    f32(512))
add(F, "bilinear form", lambda x, w, y: jnp.einsum("bi,ij,bj->b", x, w, y), f32(512, 128), f32(128, 128), f32(512,
    128))
add(F, "contraction of three", lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), f32(64, 512), f32(512, 512),
    f32(512, 64))
add(F, "kronecker", jnp.kron, f32(32, 32), f32(32, 32))
add(F, "integer product", jnp.matmul, i32(256, 256), i32(256, 256))
add(F, "product of bytes", lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32), i8(256, 512), i8(512, 256))
add(F, "complex product of matrices", jnp.matmul, c64(192, 192), c64(192, 192))
add(F, "Gram matrix", lambda x: x.T @ x, f32(4096, 128))
add(F, "RBF kernel", lambda x, y: jnp.exp(-0.5 * (jnp.square(x).sum(1)[:,
    None] + jnp.square(y).sum(1) - 2 * x @ y.T)),
    f32(512, 64), f32(512, 64), tolerance=1e-4)

F = "linear algebra"
add(F, "Cholesky", lambda x: jnp.linalg.cholesky(definite(x)), f32(512, 512), tolerance=1e-4)
add(F, "Cholesky of a batch", lambda x: jnp.linalg.cholesky(definite(x)), f32(64, 32, 32), tolerance=1e-4)
add(F, "triangular solve", lambda x, b: linalg.solve_triangular(definite(x), b, lower=True),
    f32(256, 256), f32(256, 64), tolerance=1e-3)
add(F, "solve", lambda x, b: jnp.linalg.solve(definite(x), b), f32(256, 256), f32(256, 8), tolerance=1e-3)
add(F, "batched solves", lambda x, b: jnp.linalg.solve(definite(x), b), f32(128, 32, 32), f32(128, 32, 1),
    tolerance=1e-3)
add(F, "inverse", lambda x: jnp.linalg.inv(definite(x)), f32(128, 128), tolerance=1e-3)
add(F, "determinant", lambda x: jnp.linalg.slogdet(definite(x))[1], f32(64, 32, 32), tolerance=1e-4)
add(F, "QR", lambda x: jnp.abs(jnp.linalg.qr(x)[1]), f32(256, 64), tolerance=1e-3)
add(F, "eigenvalues, symmetric", lambda x: jnp.linalg.eigvalsh(definite(x)), f32(96, 96), tolerance=1e-3)
add(F, "singular values", lambda x: jnp.linalg.svd(x, compute_uv=False), f32(96, 64), tolerance=1e-3)
add(F, "matrix exponential", lambda x: linalg.expm(x / 64), f32(64, 64), tolerance=1e-3)
add(F, "least squares by normal equations", lambda a, b: jnp.linalg.solve(a.T @ a + jnp.eye(64), a.T @ b),
    f32(2048, 64), f32(2048), tolerance=1e-3)

F = "transforms"
add(F, "FFT", jnp.fft.fft, c64(64, 1024), tolerance=1e-4)
add(F, "real FFT", jnp.fft.rfft, f32(64, 4096), tolerance=1e-4)
add(F, "real FFT of two dims", jnp.fft.rfft2, f32(16, 128, 128), tolerance=1e-4)
add(F, "FFT of a length of 1000", jnp.fft.fft, c64(64, 1000), tolerance=1e-4)
add(F, "inverse real FFT", lambda x: jnp.fft.irfft(x, 1024), c64(64, 513), tolerance=1e-4)
add(F, "convolution by FFT", lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k, 4096), 4096),
    f32(32, 4096), f32(64), tolerance=1e-3)
add(F, "spectrogram", lambda x: jnp.abs(jnp.fft.rfft(x[:, jnp.arange(60)[:, None] * 128 + jnp.arange(512)])),
    f32(8, 8192), tolerance=1e-3)
add(F, "one-dimensional convolution", lambda x, k: jnp.convolve(x, k), f32(1 << 14), f32(65), tolerance=1e-4)
