// SPDX-License-Identifier: MIT
// An ELF file, as both readers see it: the one that finds an interpreter in it, and the one that
// names functions after the run.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "machine_code/elf_symbols.h"
#include "sampler/python/runtime/elf_image.h"

namespace {

// The file that no descriptor names: a file of the kernel would cost ten times what reading it
// does.
std::span<const std::uint8_t> input;

}  // namespace

// In place of the C library's, in this program alone.
extern "C" ssize_t pread(int file, void* into, std::size_t bytes, off_t at) {
  if (file >= 0) return ::syscall(SYS_pread64, file, into, bytes, at);
  const auto begin = static_cast<std::size_t>(at);
  if (bytes == 0 || at < 0 || begin >= input.size()) return 0;
  const std::size_t some = std::min(bytes, input.size() - begin);
  std::memcpy(into, input.data() + begin, some);
  return static_cast<ssize_t>(some);
}
extern "C" int fstat(int file, struct stat* status) {
  if (file >= 0) return static_cast<int>(::syscall(SYS_fstat, file, status));
  *status = {};
  status->st_size = static_cast<off_t>(input.size());
  return 0;
}

namespace {

using namespace stallprof;

void findPython(Fd file) {
  const auto image = python::ElfImage::open(std::move(file));
  if (!image) return;
  (void)image->symbol("_PyRuntime", true);
  constexpr std::string_view kBegins[] = {"_Z", "ma"};
  (void)image->functions(kBegins, "E");
  (void)image->section(".PyRuntime");
  (void)image->soname();
  (void)image->bias(0, 4096);
}

void nameFunctions(Fd file) {
  const auto symbols = ElfSymbols::open(std::move(file));
  if (!symbols) return;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t offset = 0; offset < 8192; offset += 512) offsets.push_back(offset);
  for (const std::string& name : symbols->functionsAt(offsets, &*symbols))
    if (name.size() > 4096) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64 || std::uint64_t{data[0]} != 0x7f) return 0;
  input = {data, size};
  findPython(Fd());
  nameFunctions(Fd());
  return 0;
}
