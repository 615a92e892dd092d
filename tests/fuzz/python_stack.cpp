// SPDX-License-Identifier: MIT
// Everything that is read of another process's Python: the input is its memory. Its first byte says
// what is tried: a line table of one of the formats, an ELF file, or a look at all threads of a
// runtime of one version, in memory that repeats the input from address 0 on.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sampler/python/elf_image.h"
#include "sampler/python/line_table.h"
#include "tests/unit/sampler_python/one_look.h"

namespace {

using namespace stallprof;
using namespace stallprof::python;

class InputMemory : public RemoteMemory {
 public:
  explicit InputMemory(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t read(std::span<const RemoteSpan> spans) override {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      // A little of the address space is mapped, and there is an end to all reading.
      if (spans[i].address >= 16 * bytes_.size() || (left_ -= 1) <= 0) return i;
      auto* into = static_cast<std::uint8_t*>(spans[i].into);
      for (std::size_t k = 0; k < spans[i].bytes; ++k)
        into[k] = bytes_[(spans[i].address + k) % bytes_.size()];
    }
    return spans.size();
  }

 private:
  std::span<const std::uint8_t> bytes_;
  long left_ = 20'000;
};

void lookAt(unsigned minor, std::span<const std::uint8_t> bytes) {
  InputMemory memory(bytes);
  Runtime runtime;
  runtime.minor = minor;
  testing::Kept kept;
  (void)testing::lookOnce(
      runtime, memory, [](std::uint32_t tid) { return tid % 4 == 1; }, kept);
}

void openElf(std::span<const std::uint8_t> bytes) {
  const int file = ::memfd_create("elf", MFD_CLOEXEC);
  (void)!::write(file, bytes.data(), bytes.size());
  const auto image = ElfImage::open(Fd(file));
  if (!image) return;
  (void)image->symbol("_PyRuntime", true);
  (void)image->section(".PyRuntime");
  (void)image->soname();
  (void)image->bias(0, 4096);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  const unsigned what = data[0] % 16;
  const std::span<const std::uint8_t> bytes(data + 4, size - 4);
  if (what < 3)
    (void)lineOf(static_cast<LineFormat>(what), bytes, data[1], data[2] - 1);
  else if (what == 3)
    openElf(bytes);
  else
    lookAt(8 + what % 6, bytes);
  return 0;
}
