#!/bin/bash
# What is known of GPUs without one: top and doctor by a made-up library of the driver; where the CUDA plugin and CUDA's
# libraries are looked for in Python's folders; which options a CUDA client and compiler get; what a lost GPU says.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_CACHE=on XT_CACHE_DIR=$tmp/cache
unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX CUDA_ROOT
out=$tmp/out
both() { "$@" >"$out" 2>&1; }

# --- the driver's library ---
mkdir -p "$tmp/driver"
cp "$BUILD/made_up_nvml.so" "$tmp/driver/libnvidia-ml.so.1"
driver() { LD_LIBRARY_PATH=$tmp/driver NVML_GPUS=$1 "${@:2}" >"$out" 2>&1; }
driver 2 "$XTRAIN" top --json
first='"gpus": [{"name": "Made-up GPU 0", "busy_percent": 87, "memory_used": 12884901888, "memory_total": '
first+='85899345920, "celsius": 61, "watts": 412.3, "ecc_uncorrected": 0, "ecc_corrected": 0, "processes": [{"pid": '
first+='4242, "bytes": 11811160064}]}, {'
check "top --json: both GPUs" grep -qF "$first" "$out"
check "what is not told is -1" grep -qF '"watts": -1.0, "ecc_uncorrected": 2, "ecc_corrected": 5' "$out"
check "it is JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out"
driver 2 "$XTRAIN" top --once
check "top --once" \
    grep -qE '^GPU 0  Made-up GPU 0 +busy +87%  memory 12288 of 81920 MiB  61 C  412 W  ECC errors 0$' "$out"
check "lost bits are told" grep -q 'its memory lost bits' "$out"
check "of the second alone" [ "$(grep -c 'lost bits' "$out")" = 1 ]
driver off "$XTRAIN" top --json
check "a driver that is not loaded" grep -qF '"gpus": []' "$out"
driver 1 "$XTRAIN" doctor
check "doctor" grep -q '^GPU 0  Made-up GPU 0' "$out"

# --- where plugins and libraries are ---
site=$tmp/site
mkdir -p "$site/jax_plugins/xla_cuda13" "$site/nvidia/cu13/lib" "$tmp"/other/nvidia/{cudnn,nccl}/lib
cp "$BUILD/record_plugin.so" "$site/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
cp "$BUILD/made_up_nvml.so" "$site/nvidia/cu13/lib/libnvrtc.so.13"
cp "$BUILD/made_up_nvml.so" "$site/nvidia/cu13/lib/libcublas.so.13"
cp "$BUILD/made_up_nvml.so" "$tmp/other/nvidia/cudnn/lib/libcudnn.so.9"
echo "no library" >"$tmp/other/nvidia/nccl/lib/libnccl.so.2"
gpu() { # a CUDA plugin that is our CPU compiler behind a recorder
    env RECORD_GPU=1 RECORD_OF="$BUILD/pjrt_plugin_xtrain_cpu.so" RECORD_TO="$tmp/record" XT_DEVICE=CUDA \
        CUDA_VISIBLE_DEVICES=0 PYTHONPATH="$tmp/none:$site:$tmp/other" HOME="$tmp" "$@" >"$out" 2>&1
}
bench=("$XTRAIN" bench mnist --batch 4 --steps 1)
gpu XT_DEBUG=plugin "${bench[@]}"
check "a step on it" grep -qE 'ms' "$out"
check "the plugin of PYTHONPATH" grep -qF "plugin $site/jax_plugins/xla_cuda13/xla_cuda_plugin.so: platform cuda" "$out"
check "a library that another one wants is loaded" grep -qE "CUDA library $site/nvidia/cu13/lib/libnvrtc.so.13$" "$out"
check "one on the plugin's own path is left to it" \
    grep -qF "CUDA library $site/nvidia/cu13/lib/libcublas.so.13, which the plugin finds" "$out"
check "one of another folder is loaded" grep -qE "CUDA library $tmp/other/nvidia/cudnn/lib/libcudnn.so.9$" "$out"
check "one that is broken is told, and no more" \
    grep -qE "$tmp/other/nvidia/nccl/lib/libnccl.so.2 could not be loaded: .*(invalid ELF|too short)" "$out"
gpu "$XTRAIN" doctor --device CUDA
check "doctor finds it" grep -qF "$site/jax_plugins/xla_cuda13/xla_cuda_plugin.so" "$out"
# what the system has is no loss: CUDA's folder may be in its cache
old=$tmp/old/jax_plugins/xla_cuda12
mkdir -p "$old" "$tmp/old/nvidia/cublas/lib"
cp "$BUILD/record_plugin.so" "$old/xla_cuda_plugin.so"
cp "$BUILD/made_up_nvml.so" "$tmp/old/nvidia/cublas/lib/libcublas.so.12"
gpu PYTHONPATH="$tmp/old" "$XTRAIN" doctor --device CUDA
check "doctor: the other version" grep -qF "$old/xla_cuda_plugin.so" "$out"
if ! /sbin/ldconfig -p | grep -q libcufft.so.11; then
    check "doctor: what is missing" \
        grep -qE 'libraries that were not found: .*libcufft.so.11.*pip install .*nvidia-cufft-cu12' "$out"
fi
check "and what is there is not" [ "$(grep -cE 'not found: .*libcublas.so' "$out")" = 0 ]

# --- create options ---
option() { grep -qxF "option $1" "$tmp/record.0"; }
check "none unless asked" [ "$(grep -c '^option' "$tmp/record.0")" = 0 ]
gpu XT_GPU_ALLOCATOR=cuda_async XT_GPU_PREALLOCATE=off XT_GPU_MEMORY_FRACTION=0.25 XT_GPU_COLLECTIVE_MEMORY=2M \
    "${bench[@]}"
check "a step with options" grep -qE 'ms' "$out"
for o in "allocator='cuda_async'" preallocate=false memory_fraction=0.25 collective_memory_size=2097152; do
    check "$o" option "$o"
done
gpu XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_PYTHON_CLIENT_MEM_FRACTION=.5 XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB=3 \
    XT_GPU_MEMORY_FRACTION=0.75 "${bench[@]}"
check "JAX's variables" option preallocate=false
check "whose number is in MiB" option collective_memory_size=3145728
check "ours come first" option memory_fraction=0.75
for wrong in XT_GPU_MEMORY_FRACTION=1.5 XT_GPU_MEMORY_FRACTION=0 XT_GPU_PREALLOCATE=perhaps \
    XT_GPU_COLLECTIVE_MEMORY=much XLA_PYTHON_CLIENT_MEM_FRACTION=half \
    XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB=2.5; do
    check "$wrong is refused" [ "$(gpu "$wrong" "${bench[@]}"; echo $?)" = 1 ]
    check "$wrong: by name" grep -qF "${wrong%%=*} is '${wrong#*=}': expected" "$out"
done

# --- compile options ---
gpu "${bench[@]}" --batch 5
check "what the compiler measures is kept in the cache" grep -qaF "$tmp/cache/autotune" "$tmp/record.compile"
check "under the flag's name" grep -qaF xla_gpu_per_fusion_autotune_cache_dir "$tmp/record.compile"
check "the folder is this user's alone" [ "$(stat -c %a "$tmp/cache/autotune")" = 700 ]
check "CUDA's tools" grep -qaF "xla_gpu_cuda_data_dir" "$tmp/record.compile"
check "where they are" grep -qaF "$site/nvidia/cu13" "$tmp/record.compile"
gpu XT_CACHE=off "${bench[@]}" --batch 6
check "without a cache nothing is kept" [ "$(grep -ac autotune_cache "$tmp/record.compile")" = 0 ]

# --- what befalls a GPU ---
lost() { # lost WORDS: a step meets them
    FAULT_OF=$BUILD/pjrt_plugin_xtrain_cpu.so FAULT=LoadedExecutable_Execute FAULT_SAYS="$1" \
        XT_DEVICE=$BUILD/fault_plugin.so "$XTRAIN" bench mnist --batch 4 --steps 1 >"$out" 2>&1
}
for row in "INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered|nvidia-smi -q -d ECC" \
    "No visible GPU devices.|nvidia-smi shows" \
    "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered|XT_DEBUG=bounds" \
    "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device|CUDA_VISIBLE_DEVICES" \
    "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure|resumes from the last checkpoint" \
    "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED|XT_GPU_MEMORY_FRACTION=0.6"; do
    IFS='|' read -r words advice <<<"$row"
    check "${words:0:40}: ends the run" [ "$(lost "$words"; echo $?)" = 1 ]
    check "${words:0:40}: is told" grep -qF "$words" "$out"
    check "${words:0:40}: and what to try" grep -qF -- "$advice" "$out"
done
# A plugin's path is no model's.
XT_RUNS_DIR=$tmp/runs "$XTRAIN" fit mnist --device "$BUILD/pjrt_plugin_xtrain_cpu.so" --steps 1 --limit-val 1 \
    --no-pictures --json >"$out" 2>&1
check "fit MODEL --device PLUGIN.so" grep -q '"loss_last": ' "$out"
lost "something else"
check "of other errors nothing is guessed" [ "$(grep -c 'nvidia-smi\|checkpoint' "$out")" = 0 ]
finish
