"""Logits and gradients of transformers' BERT and ViT with random weights: encoders.safetensors, and their config.json
in encoders.json. Needs transformers."""
import json
import os
import re

import torch
import transformers

from parity import File

SMALL = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
             attn_implementation="eager")
TEXT = dict(vocab_size=19, max_position_embeddings=16, layer_norm_eps=1e-12, **SMALL)
IMAGE = dict(image_size=6, patch_size=3, num_channels=3, **SMALL)
BERT, VIT = transformers.BertConfig, transformers.ViTConfig
CASES = {
    "masked": (BERT, transformers.BertForMaskedLM, TEXT),
    "masked_new": (BERT, transformers.BertForMaskedLM, dict(TEXT, hidden_act="gelu_new", type_vocab_size=3)),
    "texts": (BERT, transformers.BertForSequenceClassification, dict(TEXT, num_labels=5)),
    "images": (VIT, transformers.ViTForImageClassification, dict(IMAGE, num_labels=4)),
    "images_relu": (VIT, transformers.ViTForImageClassification,
                    dict(IMAGE, num_labels=3, qkv_bias=False, hidden_act="relu")),
}


def of_text(m):
    """x [B,2,T]: tokens and their segments, -1 where there is no token"""
    return lambda x: m(input_ids=x[:, 0], attention_mask=(x[:, 1] >= 0).long(),
                       token_type_ids=x[:, 1].clamp(min=0)).logits


def name_in_file(name):
    """newer versions of the library have other names in memory"""
    rules = {r"vit\.layers\.(\d+)": r"vit.encoder.layer.\1", r"attention\.q_proj": "attention.attention.query",
             r"attention\.k_proj": "attention.attention.key", r"attention\.v_proj": "attention.attention.value",
             r"attention\.o_proj": "attention.output.dense", r"mlp\.fc1": "intermediate.dense",
             r"mlp\.fc2": "output.dense"}
    for old, new in rules.items():
        name = re.sub(old, new, name)
    return name


f = File("encoders")
configs = {}
for name, (config, model, options) in CASES.items():
    c = config(**options)
    m = model(c).eval()
    with torch.no_grad():
        for p in m.parameters():  # larger than their own, so that attention looks at something
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() > 1 else 0.2) + (p.dim() == 1))
    keep = {name_in_file(n): p for n, p in m.named_parameters()}
    m.state_dict = lambda *a, **k: keep
    m.named_parameters = lambda *a, **k: keep.items()
    m.named_buffers = lambda: []  # positions, which files do not have
    if "image_size" in options:
        f.run(name, lambda x: m(x).logits, torch.randn(2, 3, 6, 6), module=m)
    else:
        tokens = torch.randint(0, 19, (3, 11))
        segments = (torch.arange(11) > 4).long().repeat(3, 1)
        segments[1, 7:] = -1
        segments[2, 3:] = -1
        f.run(name, of_text(m), torch.stack([tokens, segments], 1), module=m)
    configs[name] = dict(json.loads(c.to_json_string()), architectures=[model.__name__])
f.save()
with open(os.path.splitext(f.path)[0] + ".json", "w") as out:
    json.dump(configs, out, indent=1, sort_keys=True)
    out.write("\n")
