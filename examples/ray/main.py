"""Entry point: runs a training function of a shared library on N Ray workers of one host.
usage: python3 main.py [N [MODULE [SYMBOL]]]"""
import os
import sys
import uuid

os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # ranks say nearly the same; each is wanted

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from run_on_device import run_on_device

HERE = os.path.dirname(os.path.abspath(__file__))


# A worker process serves one rank and ends: a device belongs to one process and one run.
@ray.remote(num_cpus=1, max_calls=1, max_retries=0)
def rank_task(module, symbol, rank, size, word):
    return run_on_device(module, symbol, rank, size, word)


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    module = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "train_module.so"))
    symbol = sys.argv[3] if len(sys.argv) > 3 else "train"
    # Without a cluster (RAY_ADDRESS) Ray starts one here. The workers import run_on_device, so they need this folder.
    here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": size, "include_dashboard": False}
    ray.init(runtime_env={"env_vars": {"PYTHONPATH": HERE}}, **here)
    # Ranks meet in shared memory: all on one host, and all at once, or they would wait for each other.
    group = placement_group([{"CPU": 1}] * size, strategy="STRICT_PACK")
    ray.get(group.ready(), timeout=120)
    where = PlacementGroupSchedulingStrategy(placement_group=group)
    word = f"ray-{uuid.uuid4().hex}"
    tasks = [rank_task.options(scheduling_strategy=where).remote(module, symbol, r, size, word) for r in range(size)]
    try:
        while tasks:  # the first failure ends the run instead of leaving the others to wait
            done, tasks = ray.wait(tasks)
            ray.get(done)
    except ray.exceptions.RayError as error:
        print(error.cause if isinstance(error, ray.exceptions.RayTaskError) else error, file=sys.stderr)
        for task in tasks:
            ray.cancel(task, force=True)
        return 1
    print(f"{size} ranks done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
