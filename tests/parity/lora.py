"""LoRA as peft computes it: a linear layer's values and gradients, and an adapter of a whole model in peft's own folder
(lora_adapter), with the logits and gradients of llama.safetensors' case "llama2" under it. Needs transformers and peft;
llama.py has run before."""
import json
import os

import peft
import torch
import transformers
from safetensors.torch import load_file
from torch import nn

from parity import File

f = File("lora")
here = os.path.dirname(f.path)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        return self.fc(x)


def scramble(model):
    """B begins as zeros, and A would have no gradient."""
    with torch.no_grad():
        for n, p in model.named_parameters():
            if "lora_B" in n:
                p.copy_(torch.randn_like(p) * 0.3)


def put_gradients(case, model, strip):
    for n, p in model.named_parameters():
        if p.grad is not None:
            f.put(f"{case}/g/{strip(n)}", p.grad)
        assert (p.grad is not None) == ("lora_" in n), n


def own_name(n):
    return n.replace("base_model.model.", "").replace("fc.", "").replace("base_layer.", "").replace(".default", "")


for case, options in {"plain": dict(r=3, lora_alpha=5), "rslora": dict(r=2, lora_alpha=3, use_rslora=True)}.items():
    model = peft.get_peft_model(Net(), peft.LoraConfig(target_modules=["fc"], **options))
    scramble(model)
    x, r = torch.randn(4, 6, requires_grad=True), torch.randn(4, 5)
    y = model(x)
    (r * y).sum().backward()
    f.weights(case, {own_name(n): p for n, p in model.named_parameters()})
    f.put(f"{case}/x0", x)
    f.put(f"{case}/dx0", x.grad)
    f.put(f"{case}/y0", y)
    f.put(f"{case}/r0", r)
    put_gradients(case, model, own_name)

config = json.load(open(os.path.join(here, "llama.json")))["llama2"]
weights = {n[len("llama2/w/"):]: t for n, t in load_file(os.path.join(here, "llama.safetensors")).items()
           if n.startswith("llama2/w/")}
base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config)).eval()
base.load_state_dict(weights)
model = peft.get_peft_model(base, peft.LoraConfig(
    r=4, lora_alpha=6, lora_dropout=0.1, target_modules=["q_proj", "v_proj", "down_proj"],
    rank_pattern={"down_proj": 2}, alpha_pattern={"down_proj": 3}, task_type="CAUSAL_LM"))
model.base_model.model.config.name_or_path = model.peft_config["default"].base_model_name_or_path = "tiny"
scramble(model)
model.eval()
model.save_pretrained(os.path.join(here, "lora_adapter"))
os.remove(os.path.join(here, "lora_adapter", "README.md"))
tokens = torch.randint(0, config["vocab_size"], (2, 9))
labels = torch.randint(0, config["vocab_size"], (2, 9))
labels[0, :4] = -100
logits = model(tokens, use_cache=False).logits
loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
loss.backward()
f.put("adapter/x0", tokens)
f.put("adapter/labels", labels)
f.put("adapter/y0", logits)
f.put("adapter/loss", loss)
put_gradients("adapter", model, lambda n: n.replace("base_model.model.", "").replace(".default", ""))
f.save()
