// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/remote_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace stallprof::python {

ProcessMemory::ProcessMemory(std::uint32_t pid) : pid_(static_cast<pid_t>(pid)) {
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  file_ = openAt(AT_FDCWD, path.c_str(), O_RDONLY);
}

std::size_t ProcessMemory::read(std::span<const RemoteSpan> spans) {
  spans = spans.first(std::min(spans.size(), kMaxSpans));
  if (!call_) return readFile(spans);
  thread_local std::array<iovec, kMaxSpans> here, there;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    here[i] = {spans[i].into, spans[i].bytes};
    there[i] = {reinterpret_cast<void*>(spans[i].address), spans[i].bytes};
  }
  const ssize_t got =
      ::process_vm_readv(pid_, here.data(), spans.size(), there.data(), spans.size(), 0);
  if (got < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
    refused_ = file_.valid() ? 0 : errno;
    call_ = !file_.valid();
    return file_.valid() ? readFile(spans) : 0;
  }
  refused_ = 0;
  auto left = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  std::size_t whole = 0;
  for (; whole < spans.size() && spans[whole].bytes <= left; ++whole) left -= spans[whole].bytes;
  return whole;
}

std::size_t ProcessMemory::readFile(std::span<const RemoteSpan> spans) {
  std::size_t whole = 0;
  for (const RemoteSpan& span : spans) {
    const auto at = static_cast<off_t>(span.address);
    if (at < 0) break;
    if (::pread(file_.get(), span.into, span.bytes, at) != static_cast<ssize_t>(span.bytes)) break;
    ++whole;
  }
  return whole;
}

bool ProcessMemory::sameImage(Address known) const {
  if (!file_.valid()) return true;
  char byte = 0;
  const ssize_t got = ::pread(file_.get(), &byte, 1, static_cast<off_t>(known));
  return got != 0;  // 0: that address space is gone. An error says only that `known` is.
}

}  // namespace stallprof::python
