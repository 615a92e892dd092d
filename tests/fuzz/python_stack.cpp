// SPDX-License-Identifier: MIT
// One sample of all threads of a Python: the input is the memory of its process, its runtime at
// address 0. The first byte is the version; from 3.13 on the memory holds it itself.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/input_memory.h"
#include "tests/unit/sampler_python/one_sample.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof::python;
  if (size < 8) return 0;
  testing::InputMemory memory({data + 4, size - 4});
  Runtime runtime;
  runtime.minor = 8 + data[0] % 6;
  testing::Kept kept;
  (void)testing::sampleOnce(
      runtime, memory, [](std::uint32_t tid) { return tid % 4 == 1; }, kept, 1);
  return 0;
}
