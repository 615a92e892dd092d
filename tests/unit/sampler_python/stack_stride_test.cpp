// SPDX-License-Identifier: MIT
#include "sampler/python/stack_stride.h"

#include "tests/catch.h"

using stallprof::python::StackStride;

TEST_CASE("stacks that cost too much are left out until they would cost little") {
  StackStride stride;
  CHECK(stride.update(0.003, 10, false) == 1);
  CHECK(stride.update(0.009, 10, false) == 2);
  CHECK(stride.update(0.005, 10, false) == 4);
  CHECK(stride.update(0.002, 10, false) == 4);
  CHECK(stride.update(0.0015, 10, false) == 2);
  CHECK(stride.update(0.0015, 10, false) == 1);
  CHECK(stride.update(0.0015, 10, false) == 1);
}

TEST_CASE("a governor that has slowed the samples bounds the stacks, too") {
  StackStride stride;
  CHECK(stride.update(0.009, 10, false) == 2);
  CHECK(stride.update(0.009, 10, false) == 4);
  CHECK(stride.update(0.003, 10, true) == 2);
  CHECK(stride.update(0.003, 10, true) == 1);
  CHECK(stride.update(0.006, 10, true) == 1);
}

TEST_CASE("what stacks write is bounded at any pace") {
  StackStride stride;
  CHECK(stride.update(0.001, 400, true) == 2);
  CHECK(stride.update(0.001, 200, true) == 2);
  CHECK(stride.update(0.001, 100, true) == 1);
  for (int i = 0; i < 20; ++i) (void)stride.update(0.001, 400, true);
  CHECK(stride.stride() == StackStride::kMax);
}
