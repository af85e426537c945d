"""A LoRA step of the 1.1 B shape (run.py's) beside transformers and peft on PyTorch: one text of 512 tokens, bf16
weights, r = 8 on the same layers, the blocks' activations computed again in the backward pass on both sides, in turns.
Prints seconds a step (the median of a run's but the first, of the best run) and the process's largest resident memory.

usage: lora.py XTRAIN [--folder DIR] [--steps N] [--rounds N] [--weights bf16,int8,int4] [--threads N] [--no-peer]

Needs a Python with transformers, torch and peft, and what run.py --make wrote to DIR.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TARGETS = "q_proj,v_proj"
PEER = r"""
import sys, time
import peft, torch, transformers
folder, steps, seq, threads = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
model = peft.get_peft_model(model, peft.LoraConfig(r=8, lora_alpha=16, task_type="CAUSAL_LM",
                                                   target_modules=sys.argv[5].split(",")))
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.enable_input_require_grads()
model.train()
o = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4, weight_decay=0)
for i in range(steps):
    x = torch.tensor([[(i * seq + j) * 37 % 9000 for j in range(seq)]])
    at = time.time()
    loss = model(input_ids=x, labels=x).loss
    loss.backward()
    o.step()
    o.zero_grad()
    print("STEP", time.time() - at, float(loss), flush=True)
"""


def peak_of(pid, out):
    """The largest resident memory of a process, of those that end before wait4 tells."""
    try:
        while True:
            with open(f"/proc/{pid}/status") as f:
                out[0] = max(out[0], *(int(s.split()[1]) for s in f if s.startswith("VmHWM")), 0)
            time.sleep(0.05)
    except (OSError, TypeError):
        pass


def run(command, environment):
    """Lines of the process, and the peak in GiB."""
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    peak = [0]
    watch = threading.Thread(target=peak_of, args=(p.pid, peak))
    watch.start()
    lines = list(p.stdout)
    if p.wait():
        sys.exit("".join(lines)[-2000:])
    watch.join()
    return lines, peak[0] / (1 << 20)


def ours(a, weights, environment):
    where = os.path.join(a.folder, "llama")
    with tempfile.TemporaryDirectory() as tmp:
        text, log = os.path.join(tmp, "text.txt"), os.path.join(tmp, "log")
        with open(text, "w") as f:
            f.write("".join(chr(0x4e00 + i * 37 % 9000) for i in range(max(a.steps + 2, 22) * a.seq)))
        narrow = [] if weights == "bf16" else ["--weights", weights]
        return run([a.xtrain, "fit", "llama", "--init", where, "--data", text, "--seq", str(a.seq), "--batch", "1",
                    "--steps", str(a.steps), "--precision", "bf16-true", "--checkpoint", "--lora", "r=8,alpha=16",
                    "--lora-targets", TARGETS, "--log-every", "1", "--output", log, *narrow], environment)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("xtrain")
    p.add_argument("--folder", default="/tmp/xtrain-generate")
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--seq", type=int, default=512)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--weights", default="bf16,int8,int4")
    p.add_argument("--no-peer", action="store_true")
    a = p.parse_args()
    environment = dict(os.environ, XT_SUMMARY="off", XT_THREADS=str(a.threads), OMP_NUM_THREADS=str(a.threads))
    best = {}

    def keep(name, step, peak):
        was = best.get(name, (step, peak))
        best[name] = min(was[0], step), max(was[1], peak)
    for _ in range(a.rounds):
        for weights in a.weights.split(","):
            lines, peak = ours(a, weights, environment)
            told = re.search(r"ms each \(p50 ([0-9.]+)", "".join(lines))
            if not told:
                sys.exit("".join(lines)[-2000:])
            keep(f"xtrain {weights}", float(told[1]) / 1000, peak)
        if not a.no_peer:
            lines, peak = run([sys.executable, "-c", PEER, os.path.join(a.folder, "llama"), str(a.steps), str(a.seq),
                               str(a.threads), TARGETS], environment)
            steps = [float(s.split()[1]) for s in lines if s.startswith("STEP")]
            keep("transformers bf16", statistics.median(steps[1:]), peak)
    for name, (step, peak) in best.items():
        print(f"{name:18} {step:7.2f} s a step, {peak:5.2f} GiB")


if __name__ == "__main__":
    main()
