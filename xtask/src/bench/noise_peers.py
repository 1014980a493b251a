"""Samples per second that NumPy and OpenDP draw on one core.

Prints one JSON object per line, like the noise benchmark. NumPy's float noise is fast and not private (its
low-order bits reveal the data); OpenDP's integer noise is exact, like ours.
"""

import numpy
import opendp.prelude as dp

from measure import report

# The same scales as for ours.
SCALES = [1.0, 10.0, 1000.0, 1e6]
NUMPY_BATCH = 4_000_000
OPENDP_BATCH = 10_000


def numpy_rows():
    random = numpy.random.default_rng(1)
    for scale in SCALES:
        report("numpy", "laplace", scale, lambda: random.laplace(0.0, scale, NUMPY_BATCH), NUMPY_BATCH)
    # The scale is one multiplication, which NumPy's `normal` adds to this.
    for scale in SCALES:
        report("numpy", "gaussian", scale, lambda: random.normal(0.0, scale, NUMPY_BATCH), NUMPY_BATCH)
    report("numpy", "standard normal", None, lambda: random.standard_normal(NUMPY_BATCH), NUMPY_BATCH)
    report(
        "numpy",
        "uniform words",
        None,
        lambda: random.integers(-(2**63), 2**63 - 1, NUMPY_BATCH, dtype=numpy.int64, endpoint=True),
        NUMPY_BATCH,
    )


def opendp_rows():
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    zeros = [0] * OPENDP_BATCH
    for scale in SCALES:
        laplace = dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), scale)
        report("opendp", "laplace", scale, lambda: laplace(zeros), OPENDP_BATCH)
    for scale in SCALES:
        gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=dp.f64), scale)
        report("opendp", "gaussian", scale, lambda: gaussian(zeros), OPENDP_BATCH)


if __name__ == "__main__":
    numpy_rows()
    opendp_rows()
