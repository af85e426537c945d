"""JAX with nothing but the plugin's path, without the Python package: as "cpu" it has JAX's own CPU's rules (linear
algebra, donation), under another name what needs them is refused in words, and two processes of jax.distributed add
up and end. usage: python jax_bare.py /path/pjrt_plugin_xtrain_cpu.so"""
import os
import socket
import subprocess
import sys

CASES = """
import sys, jax, jax.numpy as jnp, numpy as np
x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32))
s = x @ x.T + jnp.eye(5)
near = lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4)

def eigh():
    w, v = jnp.linalg.eigh(s)
    near(v * w @ v.T, s)

def svd():
    u, d, vt = jnp.linalg.svd(x)
    near(u * d @ vt, x)

def qr():
    q, r = jnp.linalg.qr(x)
    near(q @ r, x)

def lu():
    p, l, u = jax.scipy.linalg.lu(x)
    near(p @ l @ u, x)

def eig():
    w, v = jnp.linalg.eig(x)
    near(x @ v, v * w)

def cholesky():
    c = jnp.linalg.cholesky(s)
    near(c @ c.T, s)

def donation():
    y = x + 0
    jax.jit(lambda a: a + 1, donate_argnums=0)(y).block_until_ready()
    assert y.is_deleted()

def callback():
    kept = jax.ShapeDtypeStruct(x.shape, x.dtype)
    near(jax.jit(lambda a: jax.pure_callback(lambda b: np.asarray(b) * 2, kept, a))(x), 2 * x)

for name in sys.argv[1:]:
    try:
        globals()[name]()
        print("ran", name)
    except Exception as e:
        print("refused", name, type(e).__name__, str(e).replace(chr(10), " "))
"""
TWO = """
import sys, jax, numpy as np
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, int(sys.argv[2]))
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("x",))
mine = np.full((1,), 1.0 + int(sys.argv[2]), np.float32)
y = jax.make_array_from_process_local_data(NamedSharding(mesh, P("x")), mine)
print("sum", float(jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))(y)))
"""
failed = 0


def check(name, good, found=""):
    global failed
    print("ok  " if good else "FAIL", name, "" if good else found, flush=True)
    failed += not good


def environment(platform, plugin):
    return {**os.environ, "JAX_PLATFORMS": platform, "PJRT_NAMES_AND_LIBRARY_PATHS": f"{platform}:{plugin}",
            "TF_CPP_MIN_LOG_LEVEL": "2"}


def cases(platform, plugin, refused):
    names = ["eigh", "svd", "qr", "lu", "eig", "cholesky", "donation", "callback"]
    done = subprocess.run([sys.executable, "-c", CASES, *names], env=environment(platform, plugin), capture_output=True,
                          text=True)
    rows = {line.split()[1]: line for line in done.stdout.splitlines()}
    for name in names:
        row = rows.get(name, f"exit {done.returncode}: {done.stderr[-300:]}")
        if name in refused:
            check(f"{platform}: {name} is refused in words", row.startswith("refused") and refused[name] in row, row)
        else:
            check(f"{platform}: {name}", row == f"ran {name}", row)


def main():
    plugin = os.path.abspath(sys.argv[1])
    cases("cpu", plugin, {"callback": "xtrain_pjrt"})
    rule = "not found for platform xtrain_cpu"
    cases("xtrain_cpu", plugin, {"eigh": rule, "svd": rule, "eig": rule, "donation": "", "callback": "xtrain_cpu"})
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    ranks = [subprocess.Popen([sys.executable, "-c", TWO, port, str(i)], env=environment("cpu", plugin), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(2)]
    for i, rank in enumerate(ranks):
        out, err = rank.communicate(timeout=300)
        told = [line for line in err.splitlines() if "is experimental" not in line]
        check(f"process {i} of 2 adds up and ends", rank.returncode == 0 and out == "sum 3.0\n" and not told,
              f"exit {rank.returncode}: {out} {err[-300:]}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
