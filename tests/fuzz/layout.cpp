// SPDX-License-Identifier: MIT
// How a runtime describes its own layout: the input is the begin of _PyRuntime. A layout that is
// believed asks for bounded reads alone, and every field that is used lies in what is read.
#include "sampler/python/runtime/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using stallprof::python::Layout;

void require(bool holds) {
  if (!holds) std::abort();
}

void within(std::uint32_t read, std::initializer_list<std::uint32_t> fields) {
  for (const std::uint32_t field : fields) require(field + 8 <= read);
}

void hold(const Layout& l) {
  require(l.threadBytes <= 2048 && l.frameBytes <= 256 && l.codeBytes <= 1024);
  within(l.threadBytes,
         {l.threadNext, l.threadInterpreter, l.frame, l.threadPthread, l.threadNative, l.chunk});
  within(l.frameBytes, {l.back, l.code, l.instruction});
  require(l.owner < l.frameBytes);
  within(l.codeBytes, {l.fileName, l.name, l.qualifiedName, l.lineTable});
  require(l.firstLine + 4 <= l.codeBytes);
  require(l.gilHolder + 8 <= l.gilBytes && l.gilLocked + 4 <= l.gilBytes);
  require(l.minor() == 13 || l.minor() == 14);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto layout = stallprof::python::layoutFromDebugOffsets({data, size})) hold(*layout);
  return 0;
}
