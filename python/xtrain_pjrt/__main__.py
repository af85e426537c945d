"""`python -m xtrain_pjrt`: does the plugin work here, with what, and how fast is it beside XLA's CPU?"""
import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import time

from . import library_path


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    with open("/proc/cpuinfo") as f:
        lines = f.read().splitlines()
    model = next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), platform.machine())
    flags = set(next((x.split(":", 1)[1].split() for x in lines if x.startswith("flags")), []))
    known = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16")
    return model, [f for f in known if f in flags]


def run_child(source, **env):
    """What a program prints last in a process of its own: a plugin that ends badly ends that process only."""
    done = subprocess.run([sys.executable, "-c", source], env={**os.environ, **env}, capture_output=True, text=True)
    last = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["no word"]
    return done.returncode == 0, last[-1]


JAX_CHECK = """
import jax, jax.numpy as jnp, xtrain_pjrt.__main__
xtrain_pjrt.__main__.offer_to_jax()
d = jax.devices("xtrain")
y = jax.jit(lambda x: jnp.sin(x) @ x)(jax.device_put(jnp.ones((64, 64)), d[0]))
assert abs(float(y[0, 0]) - 64 * 0.8414709848) < 1e-3, float(y[0, 0])
print(f"{len(d)} device(s), a product is right")
"""
TORCH_CHECK = """
import torch, torch_xla, xtrain_pjrt.torch
xtrain_pjrt.torch.register()
x = torch.ones(64, 64, device=torch_xla.device(), requires_grad=True)
(x.sin() @ x).sum().backward()
assert abs(float(x.grad[0, 0].cpu()) - 64 * (0.8414709848 + 0.5403023059)) < 1e-2, float(x.grad[0, 0])
print("a gradient is right")
"""


def offer_to_jax():
    """An installed wheel has an entry point; a source tree is registered here."""
    from . import jax
    if jax.PLATFORM not in {e.name for e in importlib.metadata.entry_points(group="jax_plugins")}:
        jax.initialize()


def programs():
    """Three steps of training: dense layers, convolutions, attention."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    rng = np.random.default_rng(0)

    def normal(*dims):
        return (rng.normal(size=dims) / np.sqrt(dims[-2] if len(dims) > 1 else 1)).astype(np.float32)

    def step(loss):
        def of(weights, *data):
            value, grads = jax.value_and_grad(loss)(weights, *data)
            return value, [w - 0.01 * g for w, g in zip(weights, grads)]
        return of

    def dense(w, x, y):
        return jnp.mean((jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]) @ w[2] - y)**2)

    def images(w, x, y):
        for k in w[:-1]:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, k, (2, 2), "SAME",
                                                         dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return jnp.mean((x.mean((1, 2)) @ w[-1] - y)**2)

    def attention(w, x, y):
        q, k, v = (jnp.reshape(x @ m, (*x.shape[:2], 8, -1)) for m in w[:3])
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape)
        return jnp.mean((x + jax.nn.gelu((x + mixed) @ w[3]) @ w[4] - y)**2)
    return {
        "dense 512": (step(dense), [normal(512, 512) for _ in range(3)], normal(256, 512), normal(256, 512)),
        "convolutions 32": (step(images), [normal(3, 3, 3, 32) / 3, normal(3, 3, 32, 64) / 3, normal(64, 10)],
                            normal(16, 32, 32, 3), normal(16, 10)),
        "attention 256": (step(attention), [normal(256, 256) for _ in range(3)] + [normal(256, 1024),
                                                                                   normal(1024, 256)],
                          normal(4, 128, 256), normal(4, 128, 256)),
    }


def time_one(program, seconds):
    """Seconds of the fastest call on each platform, in turns, and whether the losses agree."""
    import jax
    step, *arguments = program
    calls, losses, best = {}, {}, {}
    for name in ("xtrain", "cpu"):
        placed = jax.device_put(arguments, jax.devices(name)[0])
        calls[name] = lambda f=jax.jit(step), a=placed: jax.block_until_ready(f(*a))
        losses[name], best[name] = float(calls[name]()[0]), float("inf")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    return best, abs(losses["xtrain"] - losses["cpu"]) <= 1e-4 * abs(losses["cpu"])


def bars(rows):
    """One bar a platform, drawn to the longest."""
    width = max(20, min(60, shutil.get_terminal_size().columns - 40))
    mark = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    for name, best, same in rows:
        longest = max(best.values())
        for label, seconds in (("xtrain", best["xtrain"]), ("XLA CPU", best["cpu"])):
            filled = max(1, round(width * seconds / longest))
            shown = name if label == "xtrain" else ""
            print(f"  {shown:16s} {label:8s} {mark * filled:{width}s} {seconds * 1e3:8.2f} ms")
        if not same:
            print(f"  {'':16s} the losses differ: please report this program")


def main():
    parser = argparse.ArgumentParser(prog="python -m xtrain_pjrt", description=__doc__)
    parser.add_argument("--seconds", type=float, default=2, help="time for each program (2)")
    parser.add_argument("--json", action="store_true", help="one line for machines")
    o = parser.parse_args()
    model, features = processor()
    told = {"xtrain_pjrt": version_of("xtrain-pjrt") or "a source tree", "plugin": library_path(), "cpu": model,
            "features": features, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
            "jax": version_of("jax"), "torch_xla": version_of("torch_xla"), "works": {}, "programs": []}
    for name, package, source, env in (("JAX", "jax", JAX_CHECK, {"JAX_PLATFORMS": "xtrain,cpu"}),
                                       ("PyTorch/XLA", "torch_xla", TORCH_CHECK, {"PJRT_DEVICE": "XTRAIN"})):
        if told[package]:
            told["works"][name] = run_child(source, **env)
    if not o.json:
        print(f"xtrain_pjrt {told['xtrain_pjrt']} on Python {told['python']}: {told['plugin']}")
        print(f"{model}, {told['cores']} core(s): {' '.join(features) or 'no vector instructions that are used'}")
        for name, package in (("JAX", "jax"), ("PyTorch/XLA", "torch_xla")):
            good, words = told["works"].get(name, (None, "not installed"))
            print(f"  {name:12s} {told[package] or '':10s} {'works: ' if good else 'FAILS: ' if good is False else ''}"
                  f"{words}")
    if told["works"].get("JAX", (False,))[0]:
        os.environ["JAX_PLATFORMS"] = "xtrain,cpu"
        offer_to_jax()
        rows = [(name, *time_one(p, o.seconds)) for name, p in programs().items()]
        told["programs"] = [{"name": n, "xtrain_s": b["xtrain"], "xla_cpu_s": b["cpu"], "same": s} for n, b, s in rows]
        if not o.json:
            print("A training step, fastest of many in turns:")
            bars(rows)
    if o.json:
        print(json.dumps(told))
    bad = not told["works"] or any(not good for good, _ in told["works"].values())
    if not told["works"] and not o.json:
        print('Neither JAX nor PyTorch/XLA is installed: pip install "xtrain-pjrt[jax]" or "xtrain-pjrt[torch]"')
    sys.exit(bad or any(not p["same"] for p in told["programs"]))


if __name__ == "__main__":
    main()
