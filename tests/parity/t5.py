"""Logits and gradients of transformers' T5 with random weights: t5.safetensors, their config.json in t5.json, and texts
that it says greedily there. Needs transformers."""
import json
import os

import torch
import transformers

from parity import File

SMALL = dict(vocab_size=23, d_model=8, d_kv=3, d_ff=12, num_layers=2, num_heads=2, decoder_start_token_id=0,
             relative_attention_num_buckets=8, relative_attention_max_distance=12, dropout_rate=0.0)
CASES = {
    "tied": dict(),
    "gated": dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1),
    "tied_gated": dict(feed_forward_proj="gated-silu", num_layers=1, num_decoder_layers=2),
}
SOURCE, TARGET, MADE = 15, 14, 20

f = File("t5")
configs = {}


def weights(m, seed):
    """Such that attention looks at something, and texts are not one token again and again."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for n, p in m.named_parameters():
            wide = 0.35 if p.dim() > 1 else 0.2
            p.copy_(torch.randn_like(p) * wide + (p.dim() == 1))


def said(m, x):
    text = x[:, :SOURCE]
    made = m.generate(text.clamp(min=0), attention_mask=(text >= 0).long(), max_new_tokens=MADE, min_new_tokens=MADE,
                      do_sample=False, num_beams=1, eos_token_id=None, use_cache=False)
    assert made.shape == (3, MADE + 1), made.shape
    return made[:, 1:].to(torch.int64)


for name, options in CASES.items():
    c = transformers.T5Config(**dict(SMALL, **options))
    c._attn_implementation = "eager"
    m = transformers.T5ForConditionalGeneration(c).eval()
    if name == "gated":
        m.lm_head.weight = torch.nn.Parameter(torch.empty_like(m.lm_head.weight))
    x = torch.randint(2, 23, (3, SOURCE + TARGET))
    x[1, 9:SOURCE] = -1
    x[2, 1:SOURCE] = -1
    x[:, SOURCE] = 0
    seed = 0
    while True:
        weights(m, seed)
        made = said(m, x)
        if len(set(made.flatten().tolist())) > 4:
            break
        seed += 1
    print(name, "of seed", seed)
    keep = {n: p for n, p in m.named_parameters()}
    keep.pop("encoder.embed_tokens.weight", None)
    keep.pop("decoder.embed_tokens.weight", None)
    m.state_dict = lambda *a, **k: keep
    m.named_parameters = lambda *a, **k: keep.items()
    m.named_buffers = lambda: []

    def run(x):
        text = x[:, :SOURCE]
        return m(input_ids=text.clamp(min=0), attention_mask=(text >= 0).long(), decoder_input_ids=x[:, SOURCE:]).logits
    f.run(name, run, x, module=m)
    f.put(name + "/made", made)
    configs[name] = dict(json.loads(c.to_json_string()), architectures=[type(m).__name__])
f.save()
with open(os.path.splitext(f.path)[0] + ".json", "w") as out:
    json.dump(configs, out, indent=1, sort_keys=True)
    out.write("\n")
