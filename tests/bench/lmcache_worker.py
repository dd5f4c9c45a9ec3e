"""One measured process inside LMCache, for lmcache_l2.py and lmcache_connector.py. Reads a JSON request, prints a JSON answer.

    {"do": "l2", "document": ..., "flow": "store" | "load" | "warm", "bytes": N, "keys": N, "rounds": N}
        rounds of random bytes through an L2 adapter; loads are verified. {"ms": [...]}
    {"do": "connector", "plugin": ..., "plugins": ..., "flow": "put" | "get", "keys": N, "shape": [...]}
        one batched put or get through an in-process connector; gets are verified. {"seconds": S, "grown_bytes": N}
"""

import json
import pathlib
import random
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("interop", "e2e")]


def memory_figure(name):
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(name)


def random_bytes(seed, size):
    return random.Random(seed).randbytes(size)


def l2_rounds(request):
    """Times submit to completion of each round, as `lmcache bench l2` does. The first round is not counted."""
    import multi_process as mp

    adapter = mp.L2(request["document"])
    size, count = request["bytes"], request["keys"]
    objects = [mp.memory(size) for _ in range(count)]
    times = []
    for number in range(request["rounds"] + 1):
        keys = [mp.key(number * count + index + 1) for index in range(count)]
        if request["flow"] == "store":
            for index, obj in enumerate(objects):
                obj.byte_array.cast("B")[:] = random_bytes(number * count + index, size)
        for _ in range(2 if request["flow"] == "warm" else 1):
            begun = time.perf_counter()
            if request["flow"] == "store":
                task = adapter.adapter.submit_store_task(keys, objects)
                good = [adapter.stored(task).is_successful()]
            else:
                for obj in objects:
                    obj.raw_data.zero_()
                begun = time.perf_counter()
                task = adapter.adapter.submit_load_task(keys, objects)
                good = adapter._bits(task, adapter.adapter.get_load_event_fd(), adapter.adapter.query_load_result, count)
            elapsed = time.perf_counter() - begun
            assert all(good), f"{request['flow']} failed in round {number}"
        if request["flow"] != "store":
            for index, obj in enumerate(objects):
                assert obj.byte_array == random_bytes(number * count + index, size), "other bytes came back"
        times.append(elapsed * 1000)
    adapter.close()
    return {"ms": times[1:]}


def connector_flow(request):
    """One batched call; the pool of memory was touched before, so that growth is the connector's own."""
    from in_process import Engine

    count = request["keys"]
    lm = Engine(request["plugins"], shape=tuple(request["shape"]), cpu_gb=request["cpu_gb"])
    connector = lm.connector(request["plugin"])
    keys = [lm.key(number + 1) for number in range(count)]
    objects = [lm.chunk(number) for number in range(count)]
    if request["flow"] == "get":
        for obj in objects:
            obj.ref_count_down()
    before = memory_figure("VmRSS")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
        reset.write("5")  # VmHWM starts anew
    begun = time.perf_counter()
    if request["flow"] == "put":
        for obj in objects:
            obj.ref_count_up()
        lm.run(connector.batched_put(keys, objects), within=300)
    else:
        objects = lm.run(connector.batched_get(keys), within=300)
    seconds = time.perf_counter() - begun
    grown = memory_figure("VmHWM") - before
    if request["flow"] == "get":
        for number, obj in enumerate(objects):
            assert obj is not None and obj.byte_array == lm.body(number), "other bytes came back"
    else:
        assert lm.run(connector.batched_async_contains("bench", keys)) == count, "the put failed"
    for obj in objects:
        obj.ref_count_down()
    lm.close()
    return {"seconds": seconds, "grown_bytes": grown, "total_bytes": count * lm.chunk_bytes}


def main():
    request = json.load(sys.stdin)
    answer = {"l2": l2_rounds, "connector": connector_flow}[request["do"]](request)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
