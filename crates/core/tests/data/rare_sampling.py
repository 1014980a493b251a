"""Makes rare_sampling.csv: brackets of δ for n Gaussian mechanisms on Poisson samples, by other means than the accountant's.

    pip install numpy mpmath && python rare_sampling.py > rare_sampling.csv

With μ = 1/σ, Q = N(0, 1) and P = (1−q)·Q + q·N(μ, 1), removing a unit compares P with Q, and adding one compares Q with P.
One mechanism has a closed form, evaluated with 50 digits: with g(ε) = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), δ of removing is
q·g(ln(1 + (e^ε − 1)/q)), and δ of adding is c·g(ln(q·e^ε/c)) with c = 1 − e^ε(1−q), if c > 0.

For more than one, a unit is removed. The line of outcomes is cut into fine cells, whose masses under both laws are known, and
losses are put on a grid:
- upper bound: a cell is replaced by its two ends, and each of these by the two multiples of the step around it, so that masses
  under both laws are kept ("connect the dots");
- lower bound: a cell goes to one of two neighbouring multiples of the step, at random. That is a function of the outcome and of a
  coin, which never makes two laws easier to tell apart. A multiple j of the step then stands for a loss ln(P_j/Q_j); the coins
  are thrown so that this is j·step or a little more, and it is lowered to j·step.
Losses are added by plain convolution: neither a Fourier transform nor a tilt. All terms are positive, so errors are relative.
"""

import functools
import math

import numpy as np
from mpmath import mp, mpf

mp.dps = 50
CELLS = 60_000
STEPS = 16_384
ROUNDS = 8
# What may be declared infinite, or left out, as a share of δ.
NEGLIGIBLE = 1e-6
erfc = np.vectorize(math.erfc)


def one(sigma, q, epsilon):
    mu, q, e = 1 / mpf(sigma), mpf(q), mp.exp(mpf(epsilon))
    tail = lambda x: mp.erfc(x / mp.sqrt(2)) / 2
    g = lambda odds: tail(mp.log(odds) / mu - mu / 2) - odds * tail(mp.log(odds) / mu + mu / 2)
    c = 1 - e * (1 - q)
    return float(max(q * g(1 + (e - 1) / q), c * g(q * e / c) if c > 0 else 0))


def normal_mass(a, b):
    tail = lambda x: 0.5 * erfc(x * math.sqrt(0.5))
    low, high = np.where(a >= 0, a, -b), np.where(a >= 0, b, -a)
    return np.where((a < 0) & (b > 0), 1 - tail(b) - tail(-a), np.maximum(tail(low) - tail(high), 0))


@functools.cache
def cells(sigma, q):
    """Masses under P and Q, and the losses between which each cell lies, rising."""
    mu = 1 / sigma
    cuts = np.concatenate([[-np.inf], np.linspace(-14, 37 + mu, CELLS + 1), [np.inf]])
    without = normal_mass(cuts[:-1], cuts[1:])
    sampled = (1 - q) * without + q * normal_mass(cuts[:-1] - mu, cuts[1:] - mu)
    power = mu * cuts - mu * mu / 2
    far = power + np.log(q + (1 - q) * np.exp(-np.maximum(power, 0)))
    loss = np.where(power > 30, far, np.log1p(q * np.expm1(np.minimum(power, 30))))
    return sampled, without, loss[:-1], loss[1:]


def spread(target, place, mass, share):
    np.add.at(target, place, mass * (1 - share))
    np.add.at(target, place + 1, mass * share)


def upper_law(p, q, low, high, bottom, step):
    width = np.maximum(-np.expm1(low - high), 1e-300)
    at_high = np.clip((p - q * np.exp(np.minimum(low, 600))) / width, 0, p)
    at_high = np.where(width > 1e-9 * np.abs(high), at_high, p)
    mass, loss = np.concatenate([p - at_high, at_high]), np.concatenate([low, high])
    finite = loss <= bottom + STEPS * step
    infinite = mass[~finite].sum()
    mass, loss = mass[finite], loss[finite]
    place = np.clip(np.floor((loss - bottom) / step).astype(int), 0, STEPS - 1)
    rest = np.clip(loss - bottom - place * step, 0, step)
    law = np.zeros(STEPS + 2)
    spread(law, place, mass, np.expm1(-rest) / math.expm1(-step))
    return law, infinite


def lower_law(p, q, low, high, bottom, step):
    some = p > 0
    p, q, low, high = p[some], q[some], low[some], high[some]
    top = bottom + STEPS * step
    loss = np.clip(np.log(p) - np.log(np.maximum(q, 1e-320)), np.clip(low, bottom, top), np.clip(high, bottom, top))
    lowered = np.zeros(STEPS + 2)
    for _ in range(ROUNDS):
        place = np.clip(np.floor((loss - bottom) / step).astype(int), 0, STEPS - 1)
        aim = loss - np.maximum(lowered[place], lowered[place + 1])
        place = np.clip(np.floor((aim - bottom) / step).astype(int), 0, STEPS - 1)
        share = np.clip((aim - bottom) / step - place, 0, 1)
        mass, other = np.zeros(STEPS + 2), np.zeros(STEPS + 2)
        spread(mass, place, p, share)
        spread(other, place, q, share)
        used = np.nonzero(mass)[0]
        short = bottom + used * step - (np.log(mass[used]) - np.log(np.maximum(other[used], 1e-320)))
        lowered[used] = np.maximum(lowered[used] + 1.05 * short, 0)
    law = np.zeros(STEPS + 2)
    for place, down in zip(used, np.ceil(np.maximum(short, 0) / step * (1 + 1e-12)).astype(int)):
        if place >= down:
            law[place - down] += mass[place]
    return law, 0.0


def power(law, infinite, n, is_upper, negligible):
    """The sum of n losses; what lies above the window, or is negligible, is infinite for an upper bound, and lowered to the
    window's end, or left out, for a lower one."""

    def without_dust(law, infinite, above):
        dust = law < negligible / len(law)
        infinite += (law[dust].sum() + above) if is_upper else 0
        law = np.where(dust, 0, law)
        law[-1] += 0 if is_upper else above
        return law, infinite

    def add(left, right):
        sums = np.convolve(np.trim_zeros(left[0], "b"), np.trim_zeros(right[0], "b"))
        above = sums[STEPS + 2 :].sum()
        return without_dust(np.pad(sums, (0, STEPS + 2))[: STEPS + 2], left[1] + right[1], above)

    factor, total = without_dust(law, infinite, 0), None
    while n:
        if n & 1:
            total = factor if total is None else add(total, factor)
        n >>= 1
        if n:
            factor = add(factor, factor)
    return total


def delta(sigma, q, n, epsilon, side):
    parts = cells(sigma, q)
    enough = one(sigma, q, epsilon) * NEGLIGIBLE
    above = np.cumsum(parts[0][::-1])[::-1]
    bottom, top = math.log1p(-q), max(1.2 * epsilon, parts[2][np.argmax(above <= enough)])
    # The window counts from n times the lowest loss: what is usual must lie in it.
    variance = n * (parts[0][1:-1] * np.minimum(parts[3][1:-1], top) ** 2).sum()
    top = max(top, (1 - n) * bottom + 1.2 * epsilon + 8 * math.sqrt(variance))
    step = (top - bottom) / STEPS
    law, infinite = power(*side(*parts, bottom, step), n, side is upper_law, enough / n)
    sums = n * bottom + np.arange(STEPS + 2) * step
    return infinite + (law * -np.expm1(np.minimum(epsilon - sums, 0))).sum()


def main():
    print("sigma,q,n,epsilon,lower,upper")
    for sigma in ("0.5", "1", "2"):
        for q in ("1e-6", "1e-4", "1e-2"):
            for n in (1, 2, 5, 20, 100):
                for epsilon in ("0.01", "0.1", "1", "3"):
                    if n == 1:
                        lower = upper = repr(one(sigma, q, epsilon))
                    else:
                        numbers = float(sigma), float(q), n, float(epsilon)
                        lower = f"{delta(*numbers, lower_law) * (1 - 1e-6):.7g}"
                        upper = f"{delta(*numbers, upper_law) * (1 + 1e-6):.7g}"
                    print(",".join([sigma, q, str(n), epsilon, lower, upper]), flush=True)


if __name__ == "__main__":
    main()
