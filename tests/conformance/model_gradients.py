"""Gradients of other people's models, through PyTorch/XLA on the plugin, beside the same model's in f64.
usage: PJRT_DEVICE=XTRAIN python model_gradients.py [--list] [--log FILE] [--table FILE ...] [FAMILY | NAME ...]
Families: classification, segmentation, detection (the backbones of torchvision's detectors), video, timm and
transformers, each where its package is installed; weights are random, pictures and texts small.

The error of a parameter's gradient is the distance from f64's over the norm (of gradients that vanish, as of a bias
before a batch norm, over 1e-4 of the largest's scale). Ours counts beside eager PyTorch's in f32: a model passes when
the median of its errors is at most three times eager's, and no parameter's is more than 30 times the larger of eager's
own for this parameter and eager's median; below 2e-6 (bf16: 1e-2) there is no difference. Where rounding decides a relu
or a pool otherwise, one element's gradient is another, by chance in ours or in eager's: a model that does not pass at
once is measured with other inputs, up to twice, and passes if it does with one of them (a fault differs with any).
Where batch norms over few values make eager's own median larger than 1e-3 it would hide much: the model is measured
with the norms' epsilon raised to 0.1 ("steady").

Each model runs in a process of its own, forked when the packages are loaded, small models first; one that ends badly,
takes too long (--seconds) or too much memory (--memory) is a row, too. --log FILE keeps a JSON line a model, and models
that it has are not run again; --table FILE prints what it says by families. In a source tree PYTHONPATH=python and
XTRAIN_PJRT_LIBRARY=build/pjrt_plugin_xtrain_cpu.so stand for the installed wheel."""
import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time

import torch

FACTOR_MEDIAN, FACTOR_LARGEST = 3.0, 30.0
FLOORS = {False: 2e-6, True: 1e-2}  # of errors: f32, bf16
DRAWS = 3
HIDES_MUCH, STEADY_EPSILON = 1e-3, 0.1


def without_chance(module):
    """Dropout and stochastic depth draw numbers that no two devices share."""
    for m in module.modules():
        for name in ("p", "drop_prob", "dropout", "attention_dropout", "dropout_prob", "drop_rate"):
            if isinstance(getattr(m, name, None), float):
                setattr(m, name, 0.0)
    return module


def in_use(module):
    """What begins as zeros or nearly (a block's last norm, the scale of a layer) would leave next to nothing to all
    that it multiplies: it is as large as after some training."""
    by = torch.Generator().manual_seed(4)
    for name, p in module.named_parameters():
        if "bias" not in name and not p.is_meta and p.numel() and p.detach().abs().max() < 0.01:
            with torch.no_grad():
                p.copy_(torch.rand(p.shape, generator=by) * 0.4 + 0.2)
    return module


class Made:
    """A model, its inputs, and how its outputs become tensors."""

    def __init__(self, module, inputs, call=None):
        self.module, self.inputs, self.call = in_use(without_chance(module)), inputs, call or (lambda m, i: m(*i))
        first = {}  # parameters with several names, which each go to another device by themselves
        self.shared = [(n, first[id(p)]) for n, p in module.named_parameters(remove_duplicate=False)
                       if first.setdefault(id(p), n) != n]

    def to(self, dtype, device):
        self.module.to(dtype).to(device)
        for name, same in self.shared:
            owner, _, last = name.rpartition(".")
            setattr(self.module.get_submodule(owner), last, self.module.get_parameter(same))
        return self.module


def tensors_of(out):
    if torch.is_tensor(out):
        return [out] if out.is_floating_point() else []
    if isinstance(out, dict) or hasattr(out, "items"):
        out = [v for _, v in sorted(out.items())]
    return [t for v in out if v is not None for t in tensors_of(v)] if isinstance(out, (list, tuple)) else []


def picture(*shape, seed=1):
    """In f64, of numbers that f32 has: else f32 would see other pictures."""
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) - 0.5).double()


def images(size, count=2):
    return picture(count, 3, size, size)


def classification(size):
    import torchvision.models as tv
    sizes = {"inception_v3": 299, "alexnet": 96, "squeezenet1_0": 64, "maxvit_t": 224, "swin_v2": 64}

    def make(name):
        def build():
            more = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
            side = next((s for key, s in sizes.items() if name.startswith(key)), size)
            if name.startswith("vit_"):
                side = more["image_size"] = 56 if name.endswith("14") else 64
            if name == "maxvit_t":
                return Made(tv.get_model(name, num_classes=10), [images(side, 1)])
            return Made(tv.get_model(name, num_classes=10, **more), [images(side)])
        return build
    return {n: make(n) for n in tv.list_models(module=tv) if not n.startswith("quantized")}


def segmentation(size):
    from torchvision.models import get_model, list_models, segmentation as seg
    return {n: lambda n=n: Made(get_model(n, weights=None, weights_backbone=None, num_classes=5), [images(size)])
            for n in list_models(module=seg)}


def detection(size):
    """What torchvision's detectors stand on, pyramids of features with it; the boxes after them have sizes that data
    decides."""
    from torchvision.models import detection as det, get_model, list_models

    def make(name):
        side = 300 if name == "ssd300_vgg16" else size  # the last of its features has no pixel otherwise
        return lambda: Made(get_model(name, weights=None, weights_backbone=None).backbone,
                            [images(side, 1 if name == "ssd300_vgg16" else 2)])
    return {f"{n}.backbone": make(n) for n in list_models(module=det)}


def video(size):
    from torchvision.models import get_model, list_models, video as vid

    def make(name):
        side, frames = (224, 16) if name == "s3d" or name.startswith("mvit") else (size, 8)
        return lambda: Made(get_model(name, weights=None, num_classes=10), [picture(1, 3, frames, side, side)])
    return {n: make(n) for n in list_models(module=vid)}


def timm_models(size):
    import timm
    names = ("convnext_atto", "efficientnetv2_rw_t", "regnety_002", "resnest14d", "res2net50_14w_8s", "densenet121",
             "dpn48b", "ghostnet_100", "hardcorenas_a", "hrnet_w18_small", "mobilenetv4_conv_small", "mixnet_s",
             "nfnet_l0", "repvgg_a0", "rexnet_100", "selecsls42", "skresnet18", "tresnet_m", "vovnet39a", "xception41",
             "coatnet_0_rw_224", "mixer_s32_224", "poolformer_s12", "edgenext_xx_small", "levit_128s",
             "vit_tiny_patch16_224", "deit_tiny_patch16_224", "cait_xxs24_224", "pit_ti_224", "xcit_nano_12_p16_224",
             "swin_tiny_patch4_window7_224")

    def make(name):
        def build():
            side = 224 if any(k in name for k in ("224", "swin", "levit")) else max(size, 64)
            return Made(timm.create_model(name, pretrained=False, num_classes=10), [images(side)])
        return build
    return {f"timm.{n}": make(n) for n in names if timm.is_model(n)}


def transformers_models(_):
    import transformers as hf
    import transformers.utils.logging as said
    said.set_verbosity_error()
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
             "vocab_size": 97, "max_position_embeddings": 64, "pad_token_id": 0, "attn_implementation": "eager"}
    ids = torch.randint(5, 90, (2, 24), generator=torch.Generator().manual_seed(2))
    pictures = [images(64)]

    def text(kind, model="ForCausalLM", **more):
        more_call = {"use_cache": False} if model == "ForCausalLM" else {}

        def build():
            config = hf.AutoConfig.for_model(kind, **{**small, **more})
            module = getattr(hf, f"Auto{'Model' + model}").from_config(config)
            return Made(module, [ids], lambda m, i: m(i[0], **more_call).logits)
        return build

    def vision(kind, **more):
        def build():
            config = hf.AutoConfig.for_model(kind, **{**{k: v for k, v in small.items() if k not in (
                "vocab_size", "max_position_embeddings", "pad_token_id")}, "image_size": 64, "patch_size": 16, **more})
            return Made(hf.AutoModel.from_config(config), pictures, lambda m, i: m(i[0])[0])
        return build

    def pairs(kind, **more):
        def build():
            config = hf.AutoConfig.for_model(kind, **{"vocab_size": 97, "d_model": 64, "attn_implementation": "eager",
                                                      **more})
            return Made(hf.AutoModel.from_config(config), [ids, ids[:, :10].contiguous()],
                        lambda m, i: m(input_ids=i[0], decoder_input_ids=i[1], use_cache=False)[0])
        return build
    both = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
    groups = {"num_key_value_heads": 2}
    return {
        **{f"transformers.{k}": text(k, **groups) for k in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2",
                                                            "phi3", "olmo", "granite", "stablelm", "starcoder2")},
        **{f"transformers.{k}": text(k) for k in ("gpt_neox", "phi", "opt", "bloom", "falcon")},
        "transformers.gptj": text("gptj", n_embd=64, n_layer=2, n_head=4, n_positions=64, rotary_dim=8),
        "transformers.gpt2": text("gpt2", n_embd=64, n_layer=2, n_head=4, n_positions=64),
        **{f"transformers.{k}": text(k, "ForMaskedLM") for k in ("bert", "roberta", "electra", "mpnet", "camembert",
                                                                 "xlm-roberta", "roformer")},
        "transformers.distilbert": text("distilbert", "ForMaskedLM", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
        "transformers.albert": text("albert", "ForMaskedLM", embedding_size=32),
        "transformers.deberta-v2": text("deberta-v2", "ForMaskedLM"),
        **{f"transformers.{k}": vision(k) for k in ("vit", "deit", "beit", "dinov2")},
        "transformers.t5": pairs("t5", d_kv=16, d_ff=128, num_layers=2, num_heads=4),
        "transformers.bart": pairs("bart", **both), "transformers.marian": pairs("marian", pad_token_id=0, **both),
        "transformers.pegasus": pairs("pegasus", **both),
    }


FAMILIES = {"classification": classification, "segmentation": segmentation, "detection": detection,
            "video": video, "timm": timm_models, "transformers": transformers_models}


def known(size, wanted=FAMILIES):
    """{family: {name: builder}}"""
    out = {}
    for family, list_of in FAMILIES.items():
        try:
            if family not in wanted:
                continue
            out[family] = list_of(size)
        except ImportError as e:
            print(f"skip {family}: {e}", file=sys.stderr)
    return out


def work(family, name):
    """About how much a model is, to begin with the small ones; torchvision says so of its own."""
    import torchvision.models as tv
    try:
        return tv.get_model_weights(name.removesuffix(".backbone")).DEFAULT.meta["_ops"]
    except ValueError:
        return {"transformers": 0.0, "timm": 0.5 + 3.5 * ("224" in name)}.get(family, 10.0)


def drawn(i, draw):
    if not draw:
        return i
    if i.is_floating_point():
        return picture(*i.shape, seed=100 + draw)
    return torch.randint(5, 90, i.shape, generator=torch.Generator().manual_seed(100 + draw))


def gradients(made, dtype, device, draw):
    """{name: gradient in f64} of a loss that weighs each output by a fixed number."""
    module = made.to(dtype, device).train()
    module.zero_grad(set_to_none=True)
    give = [drawn(i, draw) for i in made.inputs]
    give = [i.to(dtype).to(device) if i.is_floating_point() else i.to(device) for i in give]
    loss, seed = 0.0, torch.Generator().manual_seed(3)
    for out in tensors_of(made.call(module, give)):
        weights = torch.randn(out.shape, generator=seed, dtype=torch.float64) / max(out.numel(), 1)**0.5
        loss = loss + (out * weights.to(out.dtype).to(device)).sum()
    loss.backward()
    if device != "cpu":
        import torch_xla
        torch_xla.sync()  # the step is one program; each gradient that is read would be one of its own
    return {n: p.grad.detach().cpu().double() for n, p in module.named_parameters() if p.grad is not None}


def errors(found, exact):
    """{name: error}, relative to the gradient itself or to what is left of the largest's scale."""
    largest = max(g.norm() / g.numel()**0.5 for g in exact.values())
    least = torch.tensor(1e-300, dtype=torch.float64)
    out = {n: float((found[n] - g).norm() / torch.maximum(torch.maximum(g.norm(), 1e-4 * largest * g.numel()**0.5),
                                                          least)) for n, g in exact.items()}
    return {n: e if e == e else float("inf") for n, e in out.items()}


def compared(ours, eager, floor):
    """The row of a model: medians, and the parameter whose error is the most beside eager's."""
    median = {"ours": statistics.median(ours.values()), "eager": statistics.median(eager.values())}
    ratio = {n: e / max(eager[n], median["eager"], floor) for n, e in ours.items()}
    worst = max(ratio, key=ratio.get)
    share = median["ours"] / max(median["eager"], floor / FACTOR_MEDIAN)
    return {"ok": share <= FACTOR_MEDIAN and ratio[worst] <= FACTOR_LARGEST, "parameters": len(ours),
            "median": median["ours"], "median_eager": median["eager"], "median_ratio": share, "worst": worst,
            "worst_error": ours[worst], "worst_eager": eager[worst], "worst_ratio": ratio[worst]}


def one(family, name, o):
    import torch_xla
    import xtrain_pjrt.torch
    xtrain_pjrt.torch.register()
    device = torch_xla.device()  # autograd counts the devices at its first backward
    torch.manual_seed(0)
    made = known(o.size, [family])[family][name]()
    millions = sum(p.numel() for p in made.module.parameters()) / 1e6
    if o.most and millions > o.most:
        return {"skip": f"{millions:.0f} million parameters"}
    start = made.module.state_dict()
    for key, value in list(start.items()):
        start[key] = value.clone()
    dtype, floor = torch.bfloat16 if o.bf16 else torch.float32, FLOORS[o.bf16]

    def fresh(dtype, device, draw=0):
        made.to(torch.float32, "cpu").load_state_dict(start)
        return gradients(made, dtype, device, draw)
    exact = fresh(torch.float64, "cpu")
    eager = errors(fresh(dtype, "cpu"), exact)
    norms = [m for m in made.module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    steady = bool(norms) and not o.bf16 and statistics.median(eager.values()) > HIDES_MUCH
    if steady:
        for m in norms:
            m.eps = STEADY_EPSILON
        exact = fresh(torch.float64, "cpu")
        eager = errors(fresh(dtype, "cpu"), exact)
    began = time.monotonic()
    ours = errors(fresh(dtype, device), exact)
    took = time.monotonic() - began
    row, draws = compared(ours, eager, floor), 1
    while not row["ok"] and draws < DRAWS:
        if o.errors:
            for n in exact:
                print(f"{ours[n]:10.2e} {eager[n]:10.2e} {float(exact[n].norm()):10.2e} {n}", file=sys.stderr)
        exact = fresh(torch.float64, "cpu", draws)
        eager = errors(fresh(dtype, "cpu", draws), exact)
        ours = errors(fresh(dtype, device, draws), exact)
        row = compared(ours, eager, floor)
        draws += 1
    return {**row, "draws": draws, "steady": steady, "millions": round(millions, 2), "seconds": round(took, 1)}


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (OSError, IndexError):
        return 0.0


def alone(family, name, o):
    """one() in a child: its row, or how it ended."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as told:
        pid = os.fork()
        if pid == 0:
            if not o.errors:
                os.dup2(told.fileno(), 2)
            try:
                json.dump(one(family, name, o), said)
                said.flush()
            except BaseException as e:  # of whatever kind: it is the model's row
                print(f"{type(e).__name__}: {e}", file=sys.stderr)
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        until, why = time.monotonic() + o.seconds, None
        while True:
            ended, state = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > until:
                why = f"not done in {o.seconds} s"
            elif resident(pid) > o.memory:
                why = f"more than {o.memory} GiB"
            if why:
                os.kill(pid, signal.SIGKILL)
                _, state = os.waitpid(pid, 0)
                break
            time.sleep(0.1)
        said.seek(0)
        told.seek(0)
        if state == 0:
            return json.loads(said.read())
        lines = [line for line in told.read().splitlines() if line.strip()]
        return {"ok": False, "why": why or f"status {state}: {(lines or ['no word'])[-1]}"}


def told(row):
    name, mark = row["name"], "ok  " if row.get("ok") else "FAIL"
    if "skip" in row:
        return f"skip {name}: {row['skip']}"
    if "why" in row:
        return f"FAIL {name}: {row['why']}"
    return (f"{mark} {name:34s} {row['parameters']:4d} parameters  median {row['median']:.1e} (eager "
            f"{row['median_eager']:.1e})  worst {row['worst_ratio']:.2g} x eager's: {row['worst_error']:.1e} of "
            f"{row['worst']}")


def table(files):
    rows = {}
    for file in files:
        with open(file) as f:
            rows.update({row["name"]: row for row in map(json.loads, f)})
    print("| family | models | passed | median of the medians' ratios | largest | worst parameter beside eager's |")
    print("|---|---|---|---|---|---|")
    for family in FAMILIES:
        mine = [r for r in rows.values() if r["family"] == family and "skip" not in r]
        full = [r for r in mine if "why" not in r]
        if not full:
            continue
        ratios = [r["median_ratio"] for r in full]
        worst = max(full, key=lambda r: r["worst_ratio"])
        print(f"| {family} | {len(mine)} | {sum(r['ok'] for r in mine)} | {statistics.median(ratios):.2f} | "
              f"{max(ratios):.2f} | {worst['worst_ratio']:.1f} ({worst['name']}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=64, help="side of the pictures")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--most", type=int, default=0, help="leaves out models of more million parameters; 0: none")
    parser.add_argument("--seconds", type=int, default=900, help="a model's time")
    parser.add_argument("--memory", type=float, default=12, help="a model's memory in GiB")
    parser.add_argument("--log", help="rows as JSON lines; models in it are not run again")
    parser.add_argument("--again", action="store_true", help="those of --log that did not pass are")
    parser.add_argument("--errors", action="store_true", help="all errors of a model that does not pass")
    parser.add_argument("--table", nargs="+", help="the logs to print by families")
    o = parser.parse_args()
    if o.table:
        table(o.table)
        return
    names = [(work(f, n), f, n) for f, models in known(o.size).items() for n in models
             if not o.names or f in o.names or n in o.names]
    names.sort(key=lambda row: row[0])
    if o.list:
        print("\n".join(n for _, _, n in names))
        return
    done = {}
    if o.log and os.path.exists(o.log):
        with open(o.log) as f:
            done = {row["name"]: row for row in map(json.loads, f)}
    import torch_xla  # noqa: F401  loaded once, for all children
    for _, family, name in names:
        if name in done and ("skip" in done[name] or done[name]["ok"] or not o.again):
            continue
        done[name] = {"family": family, "name": name, **alone(family, name, o)}
        print(told(done[name]), flush=True)
        if o.log:
            with open(o.log, "a") as f:
                f.write(json.dumps(done[name]) + "\n")
    rows = [done[n] for _, _, n in names if n in done and "skip" not in done[n]]
    failed = [r["name"] for r in rows if not r["ok"]]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
