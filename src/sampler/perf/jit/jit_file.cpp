// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kAtOnce = 64u << 10;  // longer than any line or name that is read

// struct jitheader; struct jr_prefix, and of its records (tools/perf/util/jitdump.h).
struct DumpHeader {
  std::uint32_t magic, version, bytes, machine, padding, pid;
  std::uint64_t timestamp, flags;
};
struct DumpPrefix {
  std::uint32_t id, bytes;
  std::uint64_t timestamp;
};
struct DumpLoad {  // a name, ended by a zero, and the code follow
  std::uint32_t pid, tid;
  std::uint64_t vma, address, bytes, index;
};
struct DumpMove {
  std::uint32_t pid, tid;
  std::uint64_t vma, from, to, bytes, index;
};
static_assert(sizeof(DumpHeader) == 40 && sizeof(DumpPrefix) == 16 && sizeof(DumpLoad) == 40 &&
              sizeof(DumpMove) == 48);
constexpr std::uint32_t kDumpMagic = 0x4A695444, kDumpVersion = 1;
constexpr std::uint32_t kLoad = 0, kMove = 1;

template <class T>
std::optional<T> structAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// "1f" or "0x1f", taken off the line with the blank behind it.
std::optional<std::uint64_t> takeHex(std::string_view& line) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto used = static_cast<std::size_t>(end - line.data());
  if (error != std::errc() || used >= line.size() || line[used] != ' ') return std::nullopt;
  line.remove_prefix(used + 1);
  return value;
}

void takeLoad(std::span<const std::uint8_t> record, std::uint32_t pid, JitFunctions& functions) {
  const auto load = structAt<DumpLoad>(record, sizeof(DumpPrefix));
  if (!load || load->pid != pid) return;
  const auto text = record.subspan(sizeof(DumpPrefix) + sizeof(DumpLoad));
  const auto end = std::find(text.begin(), text.end(), std::uint8_t{0});
  if (end == text.end()) return;
  functions.add(
      load->address, load->bytes,
      {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(end - text.begin())});
}

}  // namespace

void JitFile::readOn(JitFunctions& functions, std::size_t maximum) {
  struct stat status {};
  if (bad_ || ::fstat(file_.get(), &status) != 0 || status.st_size < 0) return;
  const auto size = std::min(static_cast<std::uint64_t>(status.st_size), kMaxFileBytes);
  if (size < read_) {  // begun again
    functions.clear();
    read_ = 0;
  }
  std::vector<std::uint8_t> buffer;
  for (std::size_t done = 0; done < kMaxBytesAtOnce && read_ < size && functions.size() < maximum;
       done += kAtOnce) {
    buffer.resize(std::min<std::uint64_t>(kAtOnce, size - read_));
    const ssize_t got =
        ::pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(read_));
    if (got <= 0) return;
    const std::span<const std::uint8_t> bytes(buffer.data(), static_cast<std::size_t>(got));
    const std::uint64_t used =
        format_ == Format::kPerfMap
            ? takeLines({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, functions)
            : takeRecords(bytes, size - read_, functions);
    if (used == 0) return;
    read_ += used;
  }
}

// The last line may still be written. One that fills the buffer is none.
std::uint64_t JitFile::takeLines(std::string_view text, JitFunctions& functions) const {
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return text.size() >= kAtOnce ? text.size() : 0;
  forEachLine(text.substr(0, end), [&](std::string_view line) {
    const auto begin = takeHex(line);
    const auto bytes = begin ? takeHex(line) : std::nullopt;
    if (bytes) functions.add(*begin, *bytes, line);
  });
  return end + 1;
}

// `left`: from `bytes` on, to the end of the file.
std::uint64_t JitFile::takeRecords(std::span<const std::uint8_t> bytes, std::uint64_t left,
                                   JitFunctions& functions) {
  std::uint64_t used = 0;
  if (read_ == 0) {
    const auto header = structAt<DumpHeader>(bytes, 0);
    if (!header) return 0;
    bad_ = header->magic != kDumpMagic || header->version != kDumpVersion ||
           header->bytes < sizeof(DumpHeader) || header->bytes > kAtOnce;
    if (bad_ || header->bytes > left) return 0;
    pid_ = header->pid;
    used = header->bytes;
  }
  while (used < bytes.size()) {
    const auto prefix = structAt<DumpPrefix>(bytes, used);
    if (!prefix || prefix->bytes > left - used) return used;  // to be read again, or unfinished
    bad_ = prefix->bytes < sizeof(DumpPrefix);
    if (bad_) return used;
    const auto record = bytes.subspan(used);
    const auto whole = record.first(std::min<std::size_t>(record.size(), prefix->bytes));
    // A head that does not fit behind what was read before comes with the next reading.
    constexpr std::size_t kHead = sizeof(DumpPrefix) + sizeof(DumpLoad) + JitFunctions::kMaxName;
    if (whole.size() < std::min<std::size_t>(prefix->bytes, kHead) && used > 0) return used;
    if (prefix->id == kLoad) takeLoad(whole, pid_, functions);
    if (prefix->id == kMove)
      if (const auto move = structAt<DumpMove>(whole, sizeof(DumpPrefix));
          move && move->pid == pid_)
        functions.move(move->from, move->to, move->bytes);
    used += prefix->bytes;
  }
  return used;
}

}  // namespace stallprof
