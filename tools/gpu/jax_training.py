#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A JAX training on a GPU that times itself: batches made by the program itself, `--milliseconds` of CPU each."""
import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy


def make(milliseconds):
    random = numpy.random.default_rng(1)
    batch = random.standard_normal((512, 1024), dtype=numpy.float32)
    end = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < end:
        batch += 0
    return batch


def loss(layers, batch):
    hidden = batch
    for layer in layers:
        hidden = jnp.tanh(hidden @ layer)
    return jnp.mean(hidden ** 2)


@jax.jit
def update(layers, batch):
    value, gradients = jax.value_and_grad(loss)(layers, batch)
    return [layer - 1e-3 * gradient for layer, gradient in zip(layers, gradients)], value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--milliseconds", type=float, default=5)
    parser.add_argument("--log", default="-")
    options = parser.parse_args()
    layers = [jax.random.normal(jax.random.PRNGKey(i), (1024, 1024)) / 32 for i in range(12)]
    layers, value = update(layers, make(0))
    value.block_until_ready()
    begin, steps, made = time.monotonic_ns(), 0, 0
    while time.monotonic_ns() - begin < options.seconds * 1e9:
        before = time.monotonic_ns()
        batch = make(options.milliseconds)
        made += time.monotonic_ns() - before
        layers, value = update(layers, batch)
        steps += 1
        if steps % 20 == 0:
            value.block_until_ready()
    value.block_until_ready()
    wall = time.monotonic_ns() - begin
    log = {"case": "jax", "steps": steps, "step_ms": wall / 1e6 / steps, "wait_ratio": made / wall,
           "device": str(jax.devices()[0])}
    print(json.dumps(log), file=open(options.log, "w") if options.log != "-" else None)


if __name__ == "__main__":
    main()
