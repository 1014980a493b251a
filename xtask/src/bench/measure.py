"""Measures speed: the best of several repetitions, printed like dist-test's measure.rs."""

import json
import time

# A repetition lasts at least this many seconds; the best of them counts, after one warm-up.
REPETITION = 0.25
REPETITIONS = 5
WARM_UP = 1


def million_per_second(draw, batch):
    """The best speed over the repetitions, in 10⁶ samples per second."""
    best = 0.0
    for repetition in range(WARM_UP + REPETITIONS):
        batches, start = 0, time.perf_counter()
        while time.perf_counter() - start < REPETITION:
            draw()
            batches += 1
        speed = batches * batch / (time.perf_counter() - start) / 1e6
        if repetition >= WARM_UP:
            best = max(best, speed)
    return best


def report(generator, law, scale, draw, batch):
    speed = million_per_second(draw, batch)
    row = {"generator": generator, "law": law, "scale": scale, "million_per_second": speed}
    print(json.dumps(row), flush=True)
