// SPDX-License-Identifier: MIT
#include "sampler/python/stack_stride.h"

#include <vector>

#include "tests/catch.h"

using stallprof::python::StackStride;

namespace {

struct Update {
  double part;  // of the budget
  std::size_t slices;
  bool governed;
  double budget = 0.01;  // of one core
};

std::vector<int> stridesAfter(StackStride& stride, const std::vector<Update>& updates) {
  std::vector<int> strides;
  for (const Update& u : updates)
    strides.push_back(
        static_cast<int>(stride.update(u.budget, u.part * u.budget, u.slices, u.governed)));
  return strides;
}

}  // namespace

TEST_CASE("stacks that cost too much are left out until they would cost little") {
  StackStride stride;
  const std::vector<Update> updates = {{0.3, 10, false}, {0.9, 10, false},  {0.5, 10, false},
                                       {0.2, 10, false}, {0.15, 10, false}, {0.15, 10, false},
                                       {0.15, 10, false}};
  CHECK(stridesAfter(stride, updates) == std::vector{1, 2, 4, 4, 2, 1, 1});
}

TEST_CASE("a governor that has slowed the samples bounds the stacks, too") {
  StackStride stride;
  const std::vector<Update> updates = {
      {0.9, 10, false}, {0.9, 10, false}, {0.3, 10, true}, {0.3, 10, true}, {0.6, 10, true}};
  CHECK(stridesAfter(stride, updates) == std::vector{2, 4, 2, 1, 1});
}

TEST_CASE("what stacks write is bounded at any pace") {
  StackStride stride;
  const std::vector<Update> updates = {{0.1, 400, true}, {0.1, 200, true}, {0.1, 100, true}};
  CHECK(stridesAfter(stride, updates) == std::vector{2, 2, 1});
  stridesAfter(stride, std::vector<Update>(20, {0.1, 400, true}));
  CHECK(stride.stride() == StackStride::kMax);
}

TEST_CASE("a job of many cores may write stacks in proportion, up to a limit") {
  StackStride stride;
  const std::vector<Update> updates = {{0.1, 1600, true, 0.16},
                                       {0.1, 2001, true, 0.25},
                                       {0.1, 1001, true, 0.25},
                                       {0.1, 999, true, 0.25},
                                       {0.1, 400, true, 0.001}};
  CHECK(stridesAfter(stride, updates) == std::vector{1, 2, 2, 1, 2});
}
