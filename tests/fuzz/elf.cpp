// SPDX-License-Identifier: MIT
// An ELF file, as both readers see it: the one that finds an interpreter in it, and the one that
// names functions after the run.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "sampler/python/elf_image.h"
#include "trace/elf_symbols.h"

namespace {

using namespace stallprof;

// One file for all inputs: making one costs more than reading it.
Fd fileOf(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("elf", MFD_CLOEXEC);
  if (::pwrite(file, data, size, 0) != static_cast<ssize_t>(size) ||
      ::ftruncate(file, static_cast<off_t>(size)) != 0)
    std::abort();
  return Fd(::dup(file));
}

void findPython(Fd file) {
  const auto image = python::ElfImage::open(std::move(file));
  if (!image) return;
  (void)image->symbol("_PyRuntime", true);
  (void)image->section(".PyRuntime");
  (void)image->soname();
  (void)image->bias(0, 4096);
}

void nameFunctions(Fd file) {
  const auto symbols = ElfSymbols::open(std::move(file));
  if (!symbols) return;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t offset = 0; offset < 4096; offset += 512) offsets.push_back(offset);
  for (const std::string& name : symbols->functionsAt(offsets, &*symbols))
    if (name.size() > 4096) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64 || std::uint64_t{data[0]} != 0x7f) return 0;
  const Fd file = fileOf(data, size);
  findPython(Fd(::dup(file.get())));
  nameFunctions(Fd(::dup(file.get())));
  return 0;
}
