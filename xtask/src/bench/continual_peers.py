"""The speed of jax-privacy's noise for a buffered linear Toeplitz counter, on one core.

Prints one JSON object per line, like the continual benchmark. Its noise is 32-bit floats from a non-cryptographic
generator; it keeps no sum, no error bar and no state that could be saved.
"""

import functools
import warnings

import jax
import jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz

from measure import report

STEPS = 1 << 20
SINGLE_STEPS = 1 << 10
BUFFERS = 5


def main():
    with jax.enable_x64(True):
        blt = buffered_toeplitz.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=BUFFERS)
        inverse = blt.inverse_as_streaming_matrix()
    number = jnp.float32

    @functools.partial(jax.jit, static_argnums=1)
    def run(key, steps):
        noise = jax.random.normal(key, (steps,), number)

        def step(carry, z):
            state, total = carry
            x, state = inverse.multiply_next(z, state)
            return (state, total + x), total + x

        start = (inverse.init_multiply(noise[0]), number(0))
        return jax.lax.scan(step, start, noise)[1]

    keys = iter(jax.random.split(jax.random.key(0), 100_000))
    report("jax-privacy, jitted scan", "blt, steps", None, lambda: run(next(keys), STEPS).block_until_ready(), STEPS)

    advance = jax.jit(inverse.multiply_next)
    draw = jax.jit(lambda key: jax.random.normal(key, (), number))

    def one_by_one():
        state, total = inverse.init_multiply(number(0)), 0.0
        for key in jax.random.split(next(keys), SINGLE_STEPS):
            x, state = advance(draw(key), state)
            total += float(x)

    report("jax-privacy, step by step", "blt, steps", None, one_by_one, SINGLE_STEPS)


if __name__ == "__main__":
    # It requests 64-bit floats and accepts 32.
    warnings.simplefilter("ignore")
    main()
