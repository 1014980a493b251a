"""The speed of OpenDP's one-time releases, on one core.

Prints one JSON object per line, like the once benchmark. Speeds are per item released, so fewer items
can be measured than there.
"""

import opendp.prelude as dp

from measure import report

CELLS = 20_000


def laplace_histogram():
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    laplace = dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), 1.0)
    histogram = list(range(CELLS))
    report("opendp", "laplace histogram, cells", None, lambda: laplace(histogram), CELLS)


if __name__ == "__main__":
    dp.enable_features("contrib")
    laplace_histogram()
