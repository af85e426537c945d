"""Gradients of other people's models, through PyTorch/XLA on the plugin, beside the same model's in f64.
usage: PJRT_DEVICE=XTRAIN python model_gradients.py [--list] [--size N] [--bf16] [FAMILY | NAME ...]
Families: classification, segmentation, detection (torchvision's), timm and transformers, each where its package is
installed. A model passes when the relative errors of its parameters' gradients are those of eager PyTorch in f32: the
median at most three times as large, the largest at most ten times (rounding decides some relus and pools otherwise).
Each model runs in a process of its own, so one that ends badly is a row, too. In a source tree PYTHONPATH=python and
XTRAIN_PJRT_LIBRARY=build/pjrt_plugin_xtrain_cpu.so stand for the installed wheel."""
import argparse
import os
import subprocess
import sys

import torch

FACTOR_MEDIAN, FACTOR_LARGEST, FLOOR = 3.0, 10.0, 2e-6


def without_chance(module):
    """Dropout and stochastic depth draw numbers that no two devices share."""
    for m in module.modules():
        for name in ("p", "drop_prob", "dropout", "attention_dropout", "dropout_prob"):
            if isinstance(getattr(m, name, None), float):
                setattr(m, name, 0.0)
    return module


class Made:
    """A model, its inputs, and how its outputs become tensors."""

    def __init__(self, module, inputs, call=None):
        self.module, self.inputs, self.call = without_chance(module), inputs, call or (lambda m, i: m(*i))


def tensors_of(out):
    if torch.is_tensor(out):
        return [out] if out.is_floating_point() else []
    if isinstance(out, dict) or hasattr(out, "items"):
        out = [v for _, v in sorted(out.items())]
    return [t for v in out if v is not None for t in tensors_of(v)] if isinstance(out, (list, tuple)) else []


def images(size, count=2):
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 0.5


def classification(size):
    import torchvision.models as tv
    sizes = {"inception_v3": 96, "alexnet": 96, "squeezenet1_0": 64, "maxvit_t": 224, "swin_v2": 64}

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
    import torchvision.models.segmentation as seg
    from torchvision.models import get_model, list_models
    return {n: lambda n=n: Made(get_model(n, weights=None, weights_backbone=None, num_classes=5), [images(size)])
            for n in list_models(module=seg)}


def detection(size):
    """The pyramids of features that torchvision's detectors stand on; the boxes after them have sizes that data
    decides."""
    from torchvision.models.detection.backbone_utils import mobilenet_backbone, resnet_fpn_backbone
    return {**{f"{n}_fpn": lambda n=n: Made(resnet_fpn_backbone(backbone_name=n, weights=None, trainable_layers=5,
                                                               norm_layer=torch.nn.BatchNorm2d), [images(size)])
               for n in ("resnet18", "resnet50")},
            "mobilenet_v3_large_fpn": lambda: Made(
                mobilenet_backbone(backbone_name="mobilenet_v3_large", weights=None, fpn=True, trainable_layers=6,
                                   norm_layer=torch.nn.BatchNorm2d), [images(size)])}


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
    import transformers.utils.logging as told
    told.set_verbosity_error()
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
             "vocab_size": 97, "max_position_embeddings": 64, "attn_implementation": "eager"}
    ids = torch.randint(5, 90, (2, 24), generator=torch.Generator().manual_seed(2))
    picture = [images(64)]

    def text(kind, model="ForCausalLM", **more):
        def build():
            config = hf.AutoConfig.for_model(kind, **{**small, **more})
            module = getattr(hf, f"Auto{'Model' + model}").from_config(config)
            return Made(module, [ids], lambda m, i: m(i[0]).logits if model != "" else m(i[0])[0])
        return build

    def vision(kind, **more):
        def build():
            config = hf.AutoConfig.for_model(kind, **{**{k: v for k, v in small.items() if k not in (
                "vocab_size", "max_position_embeddings")}, "image_size": 64, "patch_size": 16, **more})
            return Made(hf.AutoModel.from_config(config), picture, lambda m, i: m(i[0])[0])
        return build

    def pairs(kind, **more):
        def build():
            config = hf.AutoConfig.for_model(kind, **{"vocab_size": 97, "d_model": 64, "attn_implementation": "eager",
                                                      **more})
            return Made(hf.AutoModel.from_config(config), [ids, ids[:, :10].contiguous()],
                        lambda m, i: m(input_ids=i[0], decoder_input_ids=i[1])[0])
        return build
    both = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
    groups = {"num_key_value_heads": 2}
    return {
        **{f"transformers.{k}": text(k, **groups) for k in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2",
                                                            "phi3", "olmo", "granite", "stablelm", "starcoder2")},
        **{f"transformers.{k}": text(k) for k in ("gpt_neox", "phi", "opt", "gptj", "bloom", "falcon")},
        "transformers.gpt2": text("gpt2", n_embd=64, n_layer=2, n_head=4, n_positions=64),
        **{f"transformers.{k}": text(k, "ForMaskedLM") for k in ("bert", "roberta", "electra", "mpnet", "camembert",
                                                                 "xlm-roberta", "roformer")},
        "transformers.distilbert": text("distilbert", "ForMaskedLM", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
        "transformers.albert": text("albert", "ForMaskedLM", embedding_size=32),
        "transformers.deberta-v2": text("deberta-v2", "ForMaskedLM"),
        **{f"transformers.{k}": vision(k) for k in ("vit", "deit", "beit", "dinov2")},
        "transformers.t5": pairs("t5", d_kv=16, d_ff=128, num_layers=2, num_heads=4),
        "transformers.bart": pairs("bart", **both), "transformers.marian": pairs("marian", **both),
        "transformers.pegasus": pairs("pegasus", **both),
    }


FAMILIES = {"classification": classification, "segmentation": segmentation, "detection": detection,
            "timm": timm_models, "transformers": transformers_models}


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


def gradients(made, dtype, device):
    """{name: gradient in f64} of a loss that weighs each output by a fixed number."""
    module = made.module.to(dtype).to(device).train()
    module.zero_grad(set_to_none=True)
    give = [i.to(dtype).to(device) if i.is_floating_point() else i.to(device) for i in made.inputs]
    loss, seed = 0.0, torch.Generator().manual_seed(3)
    for out in tensors_of(made.call(module, give)):
        weights = torch.randn(out.shape, generator=seed, dtype=torch.float64) / max(out.numel(), 1)**0.5
        loss = loss + (out * weights.to(out.dtype).to(device)).sum()
    loss.backward()
    return {n: p.grad.detach().cpu().double() for n, p in module.named_parameters() if p.grad is not None}


def errors(found, exact):
    """Relative to the gradient itself; of gradients that vanish (a bias before a batch norm) to the largest's scale."""
    largest = max(g.norm() / g.numel()**0.5 for g in exact.values())
    return {n: float((found[n] - g).norm() / torch.maximum(g.norm(), 1e-4 * largest * g.numel()**0.5))
            for n, g in exact.items()}


def one(family, name, size, bf16, most):
    import torch_xla
    import xtrain_pjrt.torch
    xtrain_pjrt.torch.register()
    device = torch_xla.device()  # autograd counts the devices at its first backward
    build = known(size, [family])[family][name]
    if most:
        with torch.device("meta"):
            millions = sum(p.numel() for p in build().module.parameters()) // 1000000
        if millions > most:
            print(f"skip {name}: {millions} million parameters")
            return 0
    torch.manual_seed(0)
    made = build()
    start = {k: v.clone() for k, v in made.module.state_dict().items()}

    def fresh(dtype, device):
        made.module.to("cpu").to(torch.float32).load_state_dict(start)
        return gradients(made, dtype, device)
    exact = fresh(torch.float64, "cpu")
    eager = errors(fresh(torch.bfloat16 if bf16 else torch.float32, "cpu"), exact)
    ours = errors(fresh(torch.bfloat16 if bf16 else torch.float32, device), exact)
    middle = [float(torch.tensor(sorted(e.values())).median()) for e in (eager, ours)]
    largest = [max(e.values()) for e in (eager, ours)]
    good = middle[1] <= FACTOR_MEDIAN * middle[0] + FLOOR and largest[1] <= FACTOR_LARGEST * largest[0] + FLOOR
    worst = max(ours, key=ours.get)
    print(f"{'ok  ' if good else 'FAIL'} {name:34s} {len(exact):4d} parameters  median {middle[1]:.1e} (eager "
          f"{middle[0]:.1e})  largest {largest[1]:.1e} (eager {largest[0]:.1e}) of {worst}", flush=True)
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=64, help="side of the pictures")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, default=0, help="leaves out models of more million parameters; 0: none")
    parser.add_argument("--seconds", type=int, default=900, help="a model's time")
    o = parser.parse_args()
    if o.one:
        sys.exit(one(*o.one, o.size, o.bf16, o.most))
    families = known(o.size)
    names = [(f, n) for f, models in families.items() for n in models
             if not o.names or f in o.names or n in o.names]
    if o.list:
        print("\n".join(n for _, n in names))
        return
    passed, failed = 0, 0
    for family, name in names:
        command = [sys.executable, os.path.abspath(__file__), "--one", family, name, "--size", str(o.size),
                   "--most", str(o.most)]
        try:
            done = subprocess.run(command + (["--bf16"] if o.bf16 else []), capture_output=True, text=True,
                                  timeout=o.seconds)
            row = [line for line in done.stdout.splitlines() if line[:4] in ("ok  ", "FAIL", "skip")]
            last = (done.stderr.strip().splitlines() or ["no word"])[-1]
            print(row[-1] if row else f"FAIL {name}: exit {done.returncode}: {last}", flush=True)
            if row and row[-1].startswith("skip"):
                continue
            good = done.returncode == 0 and bool(row)
        except subprocess.TimeoutExpired:
            print(f"FAIL {name}: not done in {o.seconds} s", flush=True)
            good = False
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
