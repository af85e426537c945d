#!/usr/bin/env python3
"""Writes what tests/api_caller.c includes: for each public function one that draws its arguments and calls it.

What a parameter may be given follows from its type and name alone, so that no function is forgotten and none is
treated apart; what no prototype says (how much a pointer must point to) stands in the tables below, with its reason.

usage: tools/entries.py table ... | tests/api_caller.py INCLUDE_DIR >calls.inc
"""
import json
import pathlib
import re
import sys

# Not called, and why.
LEFT_OUT = {
    "xt_status_new": "its format is checked by the compiler",
    "xt_master_printf_at": "its format is checked by the compiler",
    "xt_launch_opt": "makes processes, each of which would go on with the sequence (tests/cli/launch.sh)",
    "xt_launch_program": "makes processes (tests/cli/launch.sh)",
    "xt_error": "what it gives is borrowed, unlike other statuses",
    "xt_built_with": "the headers call it; any other version ends all use of the library",
    "xt_set_sink": "what is said is this program's own business",
    "xt_on_error": "an error may not end this program",
    "xt_array_free": "the arrays that are passed here are this program's",
    "xt_text_free": "takes what malloc gave, as free does",
    "xt_remote_results_free": "takes what the library filled, as free does",
}

# Arguments that no type tells: {function: {parameter: expression}}. `more` is true of a call whose data is real.
SPECIAL = {
    "xt_from_data_at": {"data": "pick_data(dims, rank)", "rank": "pick_count(9)"},
    "xt_from_array_at": {"data": "pick_data(dims, -1)"},
    "xt_dataset_get": {"x": "pick_room()", "y": "pick_room()"},
    "xt_program_parse": {"n": "text ? strlen(text) + one_in(4) : 0"},
    "xt_trainer_args": {"argc": "4", "argv": "pick_words()"},
    "xt_fit_at": {"task_size": "pick_task_size()"},
    "xt_validate_at": {"task_size": "pick_task_size()"},
    "xt_test_at": {"task_size": "pick_task_size()"},
    "xt_predict_at": {"task_size": "pick_task_size()"},
    "xt_lr_find_at": {"task_size": "pick_task_size()"},
    "xt_batch_find_at": {"task_size": "pick_task_size()"},
    "xt_read_at": {"bytes": "pick_bytes()"},
    "xt_plot_images": {"n": "pick_count(5)", "height": "pick_count(9)", "width": "pick_count(9)"},
    "xt_array_dataset_at": {"x_spec": "small_spec()", "y_spec": "small_spec()", "count": "pick_count(9)"},
    "xt_map_dataset_at": {"x": "small_spec()", "y": "small_spec()"},
    "xt_live_objects": {"kind": "pick_text(true)"}, # these two take NULL, and have no entry that says so
    "xt_hide_source": {"prefix": "pick_text(true)"},
    "xt_scalar_ref_at": {"value": "&standing_number"},
}
# Numbers that say how long the program is to work, by their names: what is asked for may take as long as it takes.
WORK = r"max_epochs|max_steps|min_epochs|min_steps|max_iter|max_eval|steps|num_training|max_trials|length|times|" \
       r"n_power_iterations|warmup|seconds|timeout|max_time|num_sanity_val_steps|workers|first|iterations|order|" \
       r"n_trials|rounds|fast_dev_run|every"
FUNCTIONS = {
    "xt_module_fn": "net_fn", "xt_module_many_fn": "net_many_fn", "xt_pipeline_head_fn": "head_fn",
    "xt_scan_fn": "scan_fn", "xt_fn": "fn_fn", "xt_while_cond_fn": "while_cond_fn",
    "xt_while_fn": "while_fn", "xt_closure_fn": "closure_fn", "xt_schedule_fn": "schedule_fn", "xt_step_fn": "step_fn",
    "xt_ready_fn": "ready_fn", "xt_prediction_fn": "prediction_fn", "xt_custom_forward_fn": "custom_forward_fn",
    "xt_custom_backward_fn": "custom_backward_fn", "xt_map_fn": "map_fn", "xt_sample_fn": "sample_fn",
    "int (*fn)": "record_fn", "int (*drive)": "record_fn", "bool (*visit)": "visit_fn", "xt_status (*take)": "take_fn",
    "xt_loader *(*make)": "make_loader_fn", "int64_t (*items)": "items_fn", "xt_status (*decode)": "decode_fn",
    "void (*free_user)": "close_fn", "int64_t (*tokens)": "tokens_fn",
}
# Structs that a caller fills, and pointers to what a call fills.
MADE = {
    "const xt_dataset_desc *": "pick_dataset_desc()", "const xt_stream_desc *": "pick_stream_desc()",
    "const xt_sampler_desc *": "pick_sampler_desc()",
    "const xt_task *": "pick_task()", "const xt_callback_desc *": "pick_callback_desc()",
    "const xt_logger_desc *": "pick_logger_desc()", "const xt_axis *": "pick_axes()",
    "const xt_stage *": "pick_stages()", "const xt_array *": "pick_arrays()",
    "const xt_plot_series *": "pick_series()", "const xt_plot_bar *": "pick_bars()",
    "const char *const *": "pick_texts()", "const int64_t *": "pick_dims()", "const int *": "pick_ints()",
}
NUMBERS = {"int": "pick_int()", "int64_t": "pick_long()", "uint64_t": "(uint64_t)pick_long()",
           "size_t": "(size_t)pick_count(64)", "double": "pick_double()", "float": "(float)pick_double()",
           "bool": "one_in(2)", "char": "(char)pick_int()", "xt_dtype": "pick_dtype()", "xt_tensor": "pick_tensor()",
           "xt_list": "pick_list()", "xt_spec": "pick_spec()", "xt_dist": "pick_dist()", "xt_metric": "pick_metric()",
           "xt_sparse": "pick_sparse()",
           "xt_rng_state": "(xt_rng_state){{1, 2, 3, 4}}"}
COUNT = r"(n|n_\w+|count|max|size|bytes|rank|arg_size|parts)$"


def fields(folder):
    """{struct: [(type, stars, name, length of an array or None)]} of all structs of options."""
    out = {}
    for path in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        for name, body in re.findall(r"typedef struct (?:XT_OPTIONS_ )?(xt_\w+_opts) \{(.*?)\} \1;", text, flags=re.S):
            rows = out.setdefault(name, [])
            for one in re.sub(r"\s*XT_(ZERO|(IS|SIZE)\([^)]*\))", "", body).split(";"):
                function = re.search(r"(\w+ \(\*(\w+)\))\(", one)
                if function:
                    rows.append((function.group(1), "", function.group(2), None))
                    continue
                m = re.match(r"((?:const )?\w+) (.*)", " ".join(one.split()))
                for part in m.group(2).split(",") if m else []:
                    f = re.match(r"\s*(\**)(\w+)(?:\[(\w+)\])?$", part.strip())
                    if not f:
                        sys.exit(f"api_caller.py: {name} has a member that is not understood: {' '.join(one.split())}")
                    rows.append((m.group(1), f.group(1), f.group(2), f.group(3)))
    return out


def number(kind, name):
    if re.fullmatch(WORK, name) and kind in ("int", "int64_t", "size_t", "double"):
        return "pick_work()"
    return NUMBERS.get(kind, f"({kind})pick_choice()") # an enum


def option_lines(struct, variable, structs):
    lines = [f"    {struct} {variable} = XT_OPTS({struct}, );" if struct != "xt_plan_opts"
             else f"    {struct} {variable} = {{0}};"]
    for kind, stars, name, length in structs[struct]:
        f = f"{variable}.{name}"
        if kind == "const char" and stars == "*":
            set_to = f"{f} = pick_text(true)"
        elif name == "struct_size":
            lines.append(f"    if (one_in(40)) {f} = (size_t)pick_count(64);")
            continue
        elif stars == "*" and kind == "xt_sampler":
            set_to = f"{f} = pick_handle(K_sampler, true)"
        elif stars and kind == "xt_scheduler":
            set_to = f"{f}[0] = pick_handle(K_scheduler, true), {f}[1] = pick_handle(K_scheduler, true)"
        elif stars:
            set_to = f"{f} = " + (MADE.get(f"{kind} {stars}") or ("pick_outputs()" if kind == "xt_tensor" else
                                  "pick_room()" if kind != "void" else "NULL"))
        elif kind in FUNCTIONS:
            set_to = f"{f} = one_in(8) ? NULL : {FUNCTIONS[kind]}"
        elif length:
            set_to = ", ".join(f"{f}[{i}] = {number(kind, name)}" for i in range(3))
        else:
            set_to = f"{f} = {number(kind, name)}"
        always = re.fullmatch(r"max_epochs|max_steps|length|workers", name)
        lines.append(f"    {'' if always else 'if (one_in(4)) '}{set_to};")
    return lines


def base_type(p):
    return re.sub(r"\s*\w+(?:\[\d*\])?$", "", p["text"]).strip()


def count_of(parameters, at):
    for k in (at - 1, at + 1, at - 2):
        if 0 <= k < len(parameters) and not parameters[k]["pointer"] and \
                re.match(r"(int|int64_t|size_t) \w+$", parameters[k]["text"]) and \
                re.match(COUNT if k != at - 2 else "parts$", parameters[k]["name"]):
            return k
    return None


def argument(f, at, structs):
    """The lines that give the parameter its value."""
    p, kind = f["parameters"][at], base_type(f["parameters"][at])
    declared = re.sub(r"\[\d*\]$", "", p["text"])
    if declared != p["text"]:
        declared, kind = re.sub(r"(\w+)$", r"*\1", declared), kind + " *"
    null = "true" if p["null"] or f["frees"] else "false"
    list_null = "true" if p["null"] or count_of(f["parameters"], at) is not None else "false"
    special = SPECIAL.get(f["name"], {}).get(p["name"])
    if special:
        value = special
    elif p["name"] == "src":
        value = "one_in(32) ? NULL : XT_HERE"
    elif p["kind"] and p["list"]:
        value = f"pick_handles(K_{p['kind']})"
    elif p["kind"]:
        value = f"pick_handle(K_{p['kind']}, {null})"
    elif p["function"] or kind == "xt_fn":
        key = next((k for k in FUNCTIONS if declared.startswith(k)), None)
        if not key:
            sys.exit(f"api_caller.py: no function stands in FUNCTIONS for {f['name']}'s {declared}")
        value = f"pick_function((void *){FUNCTIONS[key]}, {null})"
    elif declared.startswith("const char *") and "*const" not in declared:
        value = f"pick_text({null})"
    elif kind in structs:
        return option_lines(kind, p["name"], structs)
    elif kind in MADE:
        value = f"pick_pointer({MADE[kind]}, {list_null})"
    elif kind == "const xt_tensor *":
        value = "pick_tensors()"
    elif kind == "xt_tensor *":
        value = "pick_outputs()"
    elif p["name"] == "user":
        value = "NULL"
    elif p["pointer"]:
        value = f"pick_pointer(pick_room(), {list_null})"
    elif re.match(COUNT, p["name"]) and any(q["pointer"] and count_of(f["parameters"], i) == at
                                           for i, q in enumerate(f["parameters"])):
        value = f"({kind})pick_count(64)"
    else:
        value = number(kind, p["name"])
    return [f"    {declared} = {value};"]


def after(f):
    """What is done with a result, and with what a call filled."""
    lines, result = [], f["returns"]
    handle = re.match(r"xt_(\w+) \*$", result)
    if result == "xt_tensor":
        lines.append("    got_tensor(result);")
    elif result == "xt_status":
        lines.append("    got_status(result);")
    elif handle and any(k == handle.group(1) for k in KINDS):
        lines.append(f"    got_handle(K_{handle.group(1)}, result);")
    elif result == "xt_dist":
        lines.append("    got_dist(result);")
    elif result == "xt_metric":
        lines.append("    got_metric(result);")
    elif result == "const char *":
        lines.append("    got_text(result);")
    for p in f["parameters"]:
        kind = base_type(p)
        out = re.match(r"xt_(\w+) \*\*$", kind)
        if kind == "xt_tensor *":
            lines.append(f"    got_tensors({p['name']});")
        elif out and out.group(1) in KINDS and f["name"] != "xt_random_split":
            lines.append(f"    if ({p['name']}) got_handle(K_{out.group(1)}, *{p['name']}), *{p['name']} = NULL;")
        elif out and f["name"] == "xt_random_split":
            lines.append("    for (int i = 0; out && i < 3; i++) got_handle(K_dataset, out[i]), out[i] = NULL;")
        elif kind == "char **" and p["name"] in ("out", "out_text"):
            lines.append(f"    if ({p['name']} && *{p['name']}) xt_text_free(*{p['name']}), *{p['name']} = NULL;")
        elif kind == "xt_batch *":
            lines.append(f"    if ({p['name']}) got_tensor({p['name']}->x), got_tensor({p['name']}->y);")
        elif kind == "xt_array *" and p["name"] == "out":
            lines.append("    got_arrays(out);")
        elif p["name"] == "out_fd":
            lines.append("    if (out_fd && *out_fd > 2) close(*out_fd), *out_fd = 0;")
    return lines


def order(f):
    """The parameters, those first that others are made from."""
    at = list(range(len(f["parameters"])))
    return sorted(at, key=lambda i: (f["name"] == "xt_from_data_at" and f["parameters"][i]["name"] == "data") or
                  (f["name"] == "xt_from_array_at" and f["parameters"][i]["name"] == "data"))


KINDS = []


def main():
    functions, structs = json.load(sys.stdin), fields(sys.argv[1])
    KINDS.extend(sorted({p["kind"] for f in functions for p in f["parameters"] if p["kind"]}))
    names = {f["name"] for f in functions}
    for name in [*LEFT_OUT, *SPECIAL]:
        if name not in names:
            sys.exit(f"api_caller.py: {name} is in no header")
    functions = [f for f in functions if f["name"] not in LEFT_OUT]
    for f in functions:
        print(f"static void call_{f['name']}(void) {{")
        for at in order(f):
            print("\n".join(argument(f, at, structs)))
        call = f"({f['name']})({', '.join(p['name'] for p in f['parameters'])})"
        result = "" if f["returns"] == "void" else f"{f['returns']} result = "
        print(f"    begins();\n    {result}{call};")
        print("\n".join(after(f)))
        if f["frees"]:
            print(f"    was_freed(K_{f['parameters'][0]['kind']}, {f['parameters'][0]['name']});")
        if f["returns"] not in ("void", "xt_status"):
            print("    (void)result;")
        print("}")
    print("static const function functions[] = {")
    for f in functions:
        makes = re.match(r"xt_(\w+) \*$", f["returns"])
        held = bool(makes and makes.group(1) in KINDS) or any(p["kind"] for p in f["parameters"])
        print(f'    {{"{f["name"]}", call_{f["name"]}, {"true" if held else "false"}}},')
    print("};")


main()
