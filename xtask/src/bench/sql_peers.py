"""The query of the sql benchmark, run with packages from PyPI: DataFusion and DuckDB without privacy, and OpenDP with
Polars, bounded to 4 groups of 4 rows per user.

usage: sql_peers.py FILE.parquet        measures everything, each in its own processes; one JSON object per line
       sql_peers.py FILE.parquet NAME   measures one, in this process
"""

import importlib.metadata
import json
import resource
import statistics
import subprocess
import sys
import time

QUESTION = "SELECT category, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM {} GROUP BY category"
CATEGORIES = 1000


def datafusion(path):
    from datafusion import SessionContext

    context = SessionContext()
    context.register_parquet("visits", path)
    return context.sql(QUESTION.format("visits")).to_arrow_table().num_rows


def duckdb(path):
    import duckdb

    return duckdb.connect().sql(QUESTION.format(f"read_parquet('{path}')")).to_arrow_table().num_rows


PRE_AGGREGATED = """
    SELECT category, SUM(n), SUM(s), SUM(s) / SUM(n) FROM (
        SELECT category, LEAST(c, 4) AS n, s * LEAST(c, 4) / c AS s,
               ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY place) AS chosen
        FROM (SELECT user_id, category, COUNT(*) AS c, SUM(value) AS s, random() AS place
              FROM visits GROUP BY user_id, category)
    ) WHERE chosen <= 4 GROUP BY category"""


def bounded(path):
    """A user's rows in a category are first added up and then scaled down to four: not quite the same bounding, and faster."""
    from datafusion import SessionContext

    context = SessionContext()
    context.register_parquet("visits", path)
    return context.sql(PRE_AGGREGATED).to_arrow_table().num_rows


def opendp(path):
    """Private COUNT and SUM, from which AVG follows."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious")
    length = 10_000_000
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("user_id", "category", "value"),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-8),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=length), dp.polars.Margin(by=["category"], max_length=length)],
    )
    query = (
        context.query()
        .truncate_per_group(4, by=["category"])
        # Its random choice of groups fails with a single grouping column; choosing the first is no more expensive.
        .truncate_num_groups(4, by=["category"], keep="first")
        .group_by("category")
        .agg(dp.len(signed=True), pl.col("value").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 100.0)))
        .with_keys(pl.DataFrame({"category": range(CATEGORIES)}).lazy())
    )
    return query.release().collect().height


# What, by which query, in how many processes, and how often in each after a warm-up.
PEERS = {
    "datafusion": (datafusion, "DataFusion {} from PyPI, no privacy", 3, 5),
    "duckdb": (duckdb, "DuckDB {} from PyPI, no privacy", 3, 5),
    "bounded": (bounded, "DataFusion {} from PyPI, the same bounding in SQL, no noise", 1, 0),
    "opendp": (opendp, "OpenDP {} with Polars, private, 4 groups × 4 rows", 1, 0),
}


def one(path, name):
    answer, _, _, repetitions = PEERS[name]
    seconds = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        assert answer(path) == CATEGORIES
        seconds.append(time.perf_counter() - start)
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds[1:] or seconds, "mebibytes": mebibytes}))


def everybody(path):
    seconds, mebibytes = {name: [] for name in PEERS}, {name: 0 for name in PEERS}
    for turn in range(max(peer[2] for peer in PEERS.values())):
        for name in (name for name, peer in PEERS.items() if turn < peer[2]):
            command = [sys.executable, "-B", __file__, path, name]
            result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            seconds[name] += result["seconds"]
            mebibytes[name] = max(mebibytes[name], result["mebibytes"])
    for name, (_, words, _, _) in PEERS.items():
        package = "datafusion" if name == "bounded" else name
        contender = words.format(importlib.metadata.version(package))
        print(json.dumps({"contender": contender, "seconds": statistics.median(seconds[name]), "mebibytes": mebibytes[name]}))


if __name__ == "__main__":
    everybody(sys.argv[1]) if len(sys.argv) == 2 else one(*sys.argv[1:])
