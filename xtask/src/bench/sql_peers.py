"""How long OpenDP with Polars takes for private COUNT and SUM by category (AVG follows from them), bounded to 4 groups of 4 rows
per user, as the sql_bench example does it.

usage: sql_peers.py FILE.parquet      prints one JSON object, in the form of that example
"""

import json
import resource
import sys
import time

import opendp.prelude as dp
import polars as pl

GROUPS, ROWS = 4, 4
BOUNDS = (0.0, 100.0)
CATEGORIES = pl.DataFrame({"category": range(1000)})
LENGTH = 10_000_000


def answer(path):
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("user_id", "category", "value"),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-8),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=LENGTH), dp.polars.Margin(by=["category"], max_length=LENGTH)],
    )
    query = (
        context.query()
        .truncate_per_group(ROWS, by=["category"])
        # Its random choice of groups fails when there is one grouping column; choosing the first costs it no more.
        .truncate_num_groups(GROUPS, by=["category"], keep="first")
        .group_by("category")
        .agg(dp.len(signed=True), pl.col("value").fill_null(0.0).fill_nan(0.0).dp.sum(BOUNDS))
        .with_keys(CATEGORIES.lazy())
    )
    return query.release().collect()


if __name__ == "__main__":
    dp.enable_features("contrib", "honest-but-curious")
    start = time.perf_counter()
    assert answer(sys.argv[1]).height == CATEGORIES.height
    seconds = time.perf_counter() - start
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    name = "OpenDP + Polars, private, 4 groups × 4 rows"
    print(json.dumps({"contender": name, "seconds": seconds, "of_plain": None, "mebibytes": mebibytes}), flush=True)
