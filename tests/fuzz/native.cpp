// SPDX-License-Identifier: MIT
// What native samples are made of. The input's first byte says what is tried: records of a perf
// ring and the mappings they make, the text of /proc/PID/maps, an ELF file's symbols, or names.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "classify/native_class.h"
#include "event/strings.h"
#include "sampler/native_maps.h"
#include "sampler/perf_records.h"
#include "trace/elf_symbols.h"

namespace {

using namespace stallprof;

class Nowhere : public EventOut {
 public:
  StringId intern(std::string_view text) override { return strings_.intern(text); }
  void put(const Event&) override {}

 private:
  Strings strings_;
};

void takeRecords(std::span<const std::uint8_t> bytes) {
  NativeMaps maps;
  Nowhere out;
  std::vector<PerfRecord> samples;
  while (bytes.size() >= 8) {
    const std::size_t size = std::min<std::size_t>(bytes[6] | bytes[7] << 8, bytes.size());
    if (size < 8) break;
    if (auto record = readPerfRecord(bytes.first(size))) {
      maps.take(*record, out);
      (void)maps.find(record->pid, record->address);
    }
    bytes = bytes.subspan(size);
  }
}

void takeMaps(std::string_view text) {
  NativeMaps maps;
  Nowhere out;
  maps.takeMaps(1, text, out);
  for (std::uint64_t address = 0; address < 1u << 20; address += 4096) (void)maps.find(1, address);
}

void readSymbols(std::span<const std::uint8_t> bytes) {
  const int file = ::memfd_create("elf", MFD_CLOEXEC);
  (void)!::write(file, bytes.data(), bytes.size());
  const auto symbols = ElfSymbols::open(Fd(file));
  if (!symbols) return;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t offset = 0; offset < 8192; offset += 64) offsets.push_back(offset);
  (void)symbols->functionsAt(offsets, &*symbols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 4) {
    case 0:
      takeRecords(bytes);
      break;
    case 1:
      takeMaps(text);
      break;
    case 2:
      readSymbols(bytes);
      break;
    default:
      (void)nativeClass(text, readableSymbol(text));
  }
  return 0;
}
