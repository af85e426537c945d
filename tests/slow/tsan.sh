#!/bin/bash
# The threaded parts under ThreadSanitizer: boundary and reader threads, loaders, loggers, the client, the plugin's face
# and executor, ranks that talk, ranks that xt_launch forks (they train, and their programs have collectives). OpenMP's
# runtime is not instrumented: such a build runs everything in the pool of src/cpu/thread/pool.c, oneDNN's regions too
# where they come to us (src/cpu/thread/openmp.c).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
tools/build.sh build-tsan -Db_sanitize=thread -Db_lundef=false >"$tmp/out" 2>&1
check "the build" [ $? = 0 ]
printf 'called_from_lib:libgomp.so\nrace:libdnnl.so\ncalled_from_lib:libdnnl.so\n' >"$tmp/supp"
export TSAN_OPTIONS="suppressions=$tmp/supp halt_on_error=1 ignore_noninstrumented_modules=1" XT_THREADS=2 \
    XT_PLUGIN_DIR=$root/build-tsan XT_SUMMARY=off
for t in test_lazy_steps test_lazy_threads test_device_exec test_pjrt_face test_pjrt_abuse test_pjrt_staged \
    test_pjrt_devices test_train_fit test_train_parts test_ir_build test_cpu_pool test_cpu_openmp \
    test_cpu_chwn test_coll_group test_coll_subgroup test_coll_reduce test_cpu_coll test_collective \
    test_data_parallel test_data_loader; do
    "build-tsan/$t" >"$tmp/out" 2>&1
    check "$t" [ $? = 0 ]
done
finish
