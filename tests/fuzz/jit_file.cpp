// SPDX-License-Identifier: MIT
// What a JIT compiler writes for profilers: the first byte is the format, the rest a file, which
// appears in two parts.
#include "sampler/perf/jit/jit_file.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace stallprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int fd = ::memfd_create("jit", MFD_CLOEXEC);
  if (fd < 0) std::abort();
  JitFile file(Fd(fd), data[0] % 2 == 0 ? JitFile::Format::kPerfMap : JitFile::Format::kJitDump);
  JitFunctions functions;
  for (const std::string_view part :
       {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
    if (!writeAll(fd, part)) std::abort();
    file.readOn(functions, 100);
    if (functions.size() > size) std::abort();
  }
  const JitFunctions::Function some = functions.find(0x1000);
  if (some.begin > 0x1000 || some.name.size() > JitFunctions::kMaxName) std::abort();
  return 0;
}
