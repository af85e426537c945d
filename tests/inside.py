#!/usr/bin/env python3
"""Writes what tests/cli/inside.c includes: for each function that the public headers let a program hand over (a field
of a struct, a type of its own, a parameter) one that says where it is, and then does what its like do. What a struct's
fields are set to is written too (FILL_xt_task), so that a field cannot be forgotten.

usage: inside.py INCLUDE_DIR >inside.inc
"""
import pathlib
import re
import sys

# Not called there, and why.
PROGRAMS = {
    "xt_rank_fn": "a program: it ends with xt_finish",
    "xt_remote_fn": "is called in a rank of its own (tests/cli/remote.sh)",
    "xt_remote_run.drive": "a program",
    "xt_record.fn": "a program",
    "xt_model_desc.task": "the command's (tests/cli/run.sh)",
    "xt_model_desc.train": "the command's",
    "xt_model_desc.val": "the command's",
    "xt_model_desc.test": "the command's",
}
# What they do beyond nothing and 0. Of xt_metric.finish and the like the type stands for the field.
BODIES = {
    "xt_sink_fn": "(void)!write(2, text, n);",
    "xt_error_fn": 'fprintf(stderr, "%s\\n", xt_status_message(error));',
    "xt_module_fn": 'return xt_linear(m, "fc", x, 3);',
    "xt_module_many_fn": 'out[0] = xt_linear(m, "fc", in[0], 3);',
    "xt_pipeline_head_fn": "(void)m, (void)y; return xt_mean(xt_square(x));",
    "xt_scan_fn": "(void)x; y[0] = carry[0];",
    "xt_while_cond_fn": "return xt_lt(xt_sum(state[0]), xt_scalar(9, XT_F32));",
    "xt_while_fn": "state[0] = xt_add(state[0], xt_ones(XT_F32, 2));",
    "xt_closure_fn": "xt_tensor loss = loss_of(the.module, xt_ones(XT_F32, 2, 4)); xt_backward(loss); return loss;",
    "xt_schedule_fn": "return 1;",
    "xt_step_fn": "(void)n; return xt_square(in[0]);",
    "xt_fn": "out[0] = xt_sum(xt_square(in[0]));",
    "xt_custom_forward_fn": "out[0] = xt_exp(in[0]); saved[0] = out[0];",
    "xt_custom_backward_fn": "d_in[0] = xt_mul(saved[0], d_out[0]);",
    "xt_metric_finish": "return sums[0];",
    "xt_stream_desc.open": "*out_state = the.dataset;",
    "xt_stream_desc.next": "*end = false;",
    "xt_sampler_desc.order": "for (int64_t k = 0; k < e->count; k++) out[k] = k;",
    "xt_sampler_desc.length": "return 3;",
    "xt_loader_opts.tokens": "return 3;",
    "xt_throughput_opts.items": "return b->size;",
    "xt_batch_find.make": "return small_loader(batch);",
    "xt_task.training_step": "return step_of(net, b);",
    "xt_task.validation_step": "logged(net, b);",
    "xt_task.test_step": "logged(net, b);",
    "xt_task.predict_step": "return xt_forward(net, b.x);",
    "xt_task.configure_optimizers": "the.module = net; return the.optimizer = xt_sgd(net, .lr = 0.1);",
    "xt_task.configure_several": "(void)max; the.module = net; out[0] = the.optimizer = xt_sgd(net, .lr = 0.1); "
                                 "return 1;",
    "xt_task.on_after_batch_transfer": "return b;",
    "xt_data_module.train": "return the.loader = small_loader(2);",
    "xt_data_module.val": "return small_loader(2);",
    "xt_data_module.test": "return small_loader(2);",
    "xt_data_module.predict": "return small_loader(2);",
}
SAVES = 'return (size_t)snprintf(buf, n, "{\\"a\\":1}");'


def body(name, returns):
    if name.endswith(".save_state"):
        return SAVES
    if name in BODIES or returns == "void":
        text = BODIES.get(name, "")
        return text if returns == "void" or "return" in text else text + " return 0;"
    if returns in ("xt_tensor", "xt_batch", "xt_task"):
        sys.exit(f"inside.py: what {name} does stands in BODIES")
    return "return 0;"


FUNCTION = r"([\w ]+?[\w*] ?\*?)\(\*(\w+)\)\(((?:[^()]|\([^()]*\))*)\)"


def read(folder):
    """[(name, what it returns, its parameters)] and {struct: fields}"""
    found, structs = [], {}
    for path in sorted(pathlib.Path(folder).glob("xtrain/*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        text = re.sub(r"^[ \t]*#.*$", "", text.replace("\\\n", " "), flags=re.M)
        for returns, name, parameters in re.findall(r"typedef " + FUNCTION + ";", text):
            found.append((name, returns, parameters))
        for inside, struct in re.findall(r"typedef struct [^{;]*\{([^}]*)\}\s*(xt_\w+);", text):
            for returns, field, parameters in re.findall(FUNCTION, inside):
                found.append((f"{struct}.{field}", returns, parameters))
                structs.setdefault(struct, []).append(field)
        prototype = r"XT_API [^;{]*?\b(xt_\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
        for function, parameters in re.findall(prototype, text):
            name = re.sub(r"_(at|opt)$", "", function)
            found += [(f"{name}.{p}", returns, inside) for returns, p, inside in re.findall(FUNCTION, parameters)]
    return [(n, " ".join(r.split()), " ".join(p.split())) for n, r, p in found], structs


def main():
    found, structs = read(sys.argv[1])
    names = [name for name, _, _ in found]
    for name in [*PROGRAMS, *BODIES]:
        if name not in names:
            sys.exit(f"inside.py: {name} is in no header")
    shown = [name for name in names if name not in PROGRAMS]
    print("static const char *const names[] = {" + ", ".join(f'"{n}"' for n in shown) + "};")
    for name, returns, parameters in found:
        if name in PROGRAMS:
            continue
        at, unused = shown.index(name), re.findall(r"(\w+)(?:\[\])?(?:,|$)", parameters)
        void = "".join(f"(void){p}; " for p in unused if p != "void")
        print(f"static {returns} does_{name.replace('.', '_')}({parameters}) {{ {void}inside({at}); "
              f"{body(name, returns)} }}")
    for struct, fields in structs.items():
        fields = [f for f in fields if f"{struct}.{f}" not in PROGRAMS]
        print(f"#define FILL_{struct} " + ", ".join(f".{f} = does_{struct}_{f}" for f in fields))


main()
