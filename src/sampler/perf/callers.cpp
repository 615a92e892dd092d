// SPDX-License-Identifier: MIT
#include "sampler/perf/callers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "base/fd.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof {
namespace {

// As the Itanium C++ ABI spells names of std:: and of GCC's extensions of it; and of a lambda
// within a function.
constexpr std::string_view kTemplates[] = {
    "_ZSt",  "_ZNSt",  "_ZNKSt", "_ZNRSt", "_ZNKRSt", "_ZNOSt", "_ZZNSt",        "_ZZSt",
    "_ZNSa", "_ZNKSa", "_ZNSs",  "_ZNKSs", "_ZNSi",   "_ZNSo",  "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"};
constexpr std::string_view kLambda = "EUl";

}  // namespace

// call rel32 (E8); call r/m64 (FF /2) by its length: registers, memory without and with a
// displacement of 1 or 4 bytes, with and without a SIB byte.
bool endsInCall(std::span<const std::uint8_t, kCallBytes> code) {
  const auto back = [&](std::size_t bytes) { return code[kCallBytes - bytes]; };
  const auto form = [](std::uint8_t modrm, std::uint8_t mode) { return (modrm & 0xF8) == mode; };
  if (back(5) == 0xE8) return true;
  if (back(2) == 0xFF && (form(back(1), 0xD0) || form(back(1), 0x10))) return true;
  if (back(3) == 0xFF && (form(back(2), 0x50) || back(2) == 0x14)) return true;
  if (back(4) == 0xFF && back(3) == 0x54) return true;
  if (back(6) == 0xFF && (form(back(5), 0x90) || back(5) == 0x15)) return true;
  return back(7) == 0xFF && back(6) == 0x94;
}

bool Callers::isReturn(std::uint32_t pid, std::uint64_t address, const NativeMaps::Place& place) {
  const auto key = std::tuple(place.file, place.build, place.offset);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::array<std::uint8_t, kCallBytes> code{};
  python::ProcessMemory memory(pid);
  if (!memory.readBytes(address - kCallBytes, code.data(), code.size())) return false;
  if (known_.size() >= kMaxPlaces) known_.clear();
  return known_[key] = endsInCall(code);
}

void Callers::take(const PerfRecord& record) {
  using Kind = PerfRecord::Kind;
  if ((record.kind == Kind::kExit && record.pid == record.tid) || record.kind == Kind::kExec ||
      (record.kind == Kind::kFork && record.pid != record.parentPid))
    programs_.erase(record.pid);
}

bool Callers::Program::ofTemplate(std::uint64_t offset) const {
  if (templates == nullptr) return false;
  const auto next = std::upper_bound(
      templates->begin(), templates->end(), offset,
      [](std::uint64_t at, const python::ElfImage::Extent& e) { return at < e.address; });
  return next != templates->begin() && offset - std::prev(next)->address < std::prev(next)->bytes;
}

const Callers::Program& Callers::programOf(std::uint32_t pid, EventOut& out) {
  if (const auto known = programs_.find(pid); known != programs_.end()) return known->second;
  if (programs_.size() >= kMaxProcesses) programs_.clear();
  Program& program = programs_[pid];
  const std::string exe = processPath(root_, pid, "exe");
  const std::string link = readLink(exe);
  std::string_view path = link;
  takeDeleted(path);
  program.file = out.intern(path);
  if (!program.file.none()) program.templates = templatesOf(exe);
  return program;
}

// Most programs of a job are tools without any, started again and again.
const Callers::Templates* Callers::templatesOf(const std::string& exe) {
  struct stat status {};
  if (::stat(exe.c_str(), &status) != 0) return nullptr;
  const FileKey key(status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  if (const auto known = templates_.find(key); known != templates_.end()) return &known->second;
  if (templates_.size() >= kMaxFiles || without_.contains(key)) return nullptr;
  const auto image = python::ElfImage::open(openRegularAt(AT_FDCWD, exe.c_str()));
  if (!image) return nullptr;
  Templates found = image->functions(kTemplates, kLambda);
  if (!found.empty()) return &(templates_[key] = std::move(found));
  if (without_.size() >= kMaxProcesses) without_.clear();
  without_.insert(key);
  return nullptr;
}

NativeMaps::Place Callers::callerOf(const PerfRecord& record, const NativeMaps::Place& user,
                                    const NativeMaps& maps, EventOut& out) {
  const Program& program = programOf(record.pid, out);
  const bool own = user.file == program.file;
  if (own && !program.ofTemplate(user.offset)) {
    NativeMaps::Place itself = record.kernel ? user : NativeMaps::Place{};
    itself.offset -= itself.offset > 0;
    return itself;
  }
  for (const std::uint64_t word : record.stack) {
    if (word < kCallBytes) continue;
    auto place = maps.find(record.pid, word);
    // Words of the linker are left over from when it bound a function.
    if (!place || place->madeAtRunTime || place->linker || place->file.none()) continue;
    const bool inside = place->file == program.file;
    if (own ? !inside : place->file == user.file) continue;
    if (!isReturn(record.pid, word, *place)) continue;
    --place->offset;
    if (inside && program.ofTemplate(place->offset)) continue;
    return *place;
  }
  return {};
}

}  // namespace stallprof
