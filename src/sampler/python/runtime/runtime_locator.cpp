// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/runtime_locator.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"
#include "sampler/python/runtime/elf_image.h"
#include "sampler/python/runtime/layout.h"

namespace stallprof::python {
namespace {

constexpr std::size_t kMapsBytes = 16u << 20, kMaxMappings = 65536, kMaxFiles = 4096;
// A program without "python" in its name that has an interpreter inside is larger than this:
// the smallest libpython of those here is 2.9 MB, its code alone 2.1.
constexpr std::uint64_t kEmbeddedBytes = 1u << 20;
constexpr std::size_t kNameSearchBytes = 64u << 20;    // of a file, for "python3.X"
constexpr std::size_t kCookieSearchBytes = 16u << 20;  // of a file's writable pages

std::optional<Mapping> parseMapping(std::string_view line) {
  auto mapped = parseMapsLine(line);
  if (!mapped || !mapped->path.starts_with('/')) return std::nullopt;
  const bool deleted = takeDeleted(mapped->path);
  return Mapping{mapped->begin,
                 mapped->end,
                 mapped->offset,
                 mapped->executable,
                 mapped->writable,
                 deleted,
                 std::string(mapped->device),
                 std::string(mapped->path),
                 mapped->inode};
}

std::string_view baseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Not any name with "python" in it: that of each extension module has "cpython".
bool namedPython(std::string_view path) {
  return baseName(path).starts_with("python") || baseName(path).starts_with("libpython");
}

// What the interpreter's own search path says: "lib/python3.X", in every build.
unsigned minorInside(const ElfImage& image) {
  const std::string bytes = image.head(kNameSearchBytes);
  constexpr std::string_view kPath = "lib/python3.";
  for (std::size_t at = bytes.find(kPath); at != std::string::npos; at = bytes.find(kPath, at + 1))
    if (const unsigned minor = minorOfName(std::string_view(bytes).substr(at + 4, 16)); minor > 0)
      return minor;
  return 0;
}

}  // namespace

std::vector<Mapping> parseMaps(std::string_view text) {
  std::vector<Mapping> maps;
  forEachLine(text, [&](std::string_view line) {
    if (maps.size() >= kMaxMappings) return;
    if (auto mapping = parseMapping(line)) maps.push_back(std::move(*mapping));
  });
  return maps;
}

unsigned minorOfName(std::string_view fileName) {
  constexpr std::string_view kName = "python3.";
  const std::size_t at = fileName.find(kName);
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = fileName.substr(at + kName.size(), 3);
  unsigned minor = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), minor);
  return error == std::errc() && end < digits.data() + 3 && minor < 100 ? minor : 0;
}

Fd RuntimeLocator::open(std::uint32_t pid, const Mapping& mapping) const {
  Fd opened;
  if (mapping.deleted) {
    char range[64];
    std::snprintf(range, sizeof range, "map_files/%llx-%llx",
                  static_cast<unsigned long long>(mapping.start),
                  static_cast<unsigned long long>(mapping.end));
    opened = openRegularAt(AT_FDCWD, processPath(root_, pid, range).c_str());
  } else {
    opened = openMapped(root_, pid, mapping.path, mapping.inode);
  }
  if (!opened.valid() && readLink(processPath(root_, pid, "exe")).starts_with(mapping.path))
    opened = openRegularAt(AT_FDCWD, processPath(root_, pid, "exe").c_str());
  return opened;
}

RuntimeLocator::File RuntimeLocator::examine(Fd opened, const Mapping& mapping, bool likely) {
  File file;
  const auto image = ElfImage::open(std::move(opened));
  if (!image) return file;
  file.runtime = image->symbol("_PyRuntime", likely);
  if (!file.runtime && likely) file.runtime = image->section(".PyRuntime");
  const auto bias = image->bias(0, mapping.offset);
  if (!bias) file.runtime.reset();
  // bias(start) is start + bias(0): kept as the address that offset has in the file.
  file.firstOffset = mapping.offset;
  file.firstAddress = 0 - bias.value_or(0);
  if (!file.runtime) return file;
  file.codeType = image->symbol("PyCode_Type", likely).value_or(0);
  file.version = image->symbol("Py_Version", likely).value_or(0);
  file.minor = minorOfName(image->soname());
  if (file.minor == 0) file.minor = minorOfName(baseName(mapping.path));
  if (file.minor == 0 && file.version == 0) file.minor = minorInside(*image);
  return file;
}

const RuntimeLocator::File* RuntimeLocator::fileOf(std::uint32_t pid, const Mapping& mapping,
                                                   bool likely) {
  Fd opened = open(pid, mapping);
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0) return nullptr;
  if (files_.size() > kMaxFiles) files_.clear();
  const auto [found, fresh] = files_.try_emplace(
      FileKey{mapping.device, mapping.inode, status.st_ctim.tv_sec, status.st_ctim.tv_nsec});
  if (fresh) found->second = examine(std::move(opened), mapping, likely);
  return &found->second;
}

// 3.13 and later, when neither symbol nor section is left: the cookie its runtime begins with.
std::optional<Address> RuntimeLocator::cookieIn(const std::vector<Mapping>& maps,
                                                const std::string& path,
                                                RemoteMemory& memory) const {
  constexpr std::size_t kBlock = 64 << 10, kHead = 24;  // bytes by which it is known
  std::vector<std::uint8_t> block(kBlock);
  std::size_t searched = 0;
  for (const Mapping& map : maps) {
    if (!map.writable || map.path != path) continue;
    for (Address at = map.start; at < map.end && searched < kCookieSearchBytes;
         at += kBlock - kHead + 8) {
      const std::size_t bytes = std::min<std::uint64_t>(kBlock, map.end - at);
      searched += bytes;
      if (!memory.readBytes(at, block.data(), bytes)) break;
      for (std::size_t i = 0; i + kHead <= bytes; i += 8)
        if (hasDebugOffsets(std::span(block).subspan(i, bytes - i))) return at + i;
    }
  }
  return std::nullopt;
}

std::vector<Runtime> RuntimeLocator::find(std::uint32_t pid, RemoteMemory& memory, int& error) {
  errno = 0;
  const std::string text = contentOf(processPath(root_, pid, "maps"), kMapsBytes);
  error = text.empty() ? errno : 0;
  const std::vector<Mapping> maps = parseMaps(text);
  const std::string exe = readLink(processPath(root_, pid, "exe"));
  std::vector<Runtime> found;
  std::set<std::string_view> seen;
  const auto consider = [&](const Mapping& map, bool likely) {
    if (!seen.insert(map.path).second) return;
    const File* file = fileOf(pid, map, likely);
    // The mapping may be of another offset than the one the file was examined through.
    if (file != nullptr && file->runtime && map.offset == file->firstOffset) {
      const Address bias = map.start - file->firstAddress;
      found.push_back({*file->runtime + bias, file->codeType == 0 ? 0 : file->codeType + bias,
                       file->version == 0 ? 0 : file->version + bias, file->minor, map.path});
    } else if (likely && (file == nullptr || !file->runtime)) {
      if (const auto cookie = cookieIn(maps, map.path, memory))
        found.push_back({*cookie, 0, 0, 0, map.path});
    }
  };
  for (const Mapping& map : maps)
    if (map.path == exe || namedPython(map.path)) consider(map, true);
  if (!found.empty()) return found;
  for (const Mapping& map : maps)
    if (map.executable && map.end - map.start >= kEmbeddedBytes) {
      // Its first mapping, not the executable one, is what the file is examined through.
      const auto first = std::find_if(maps.begin(), maps.end(),
                                      [&](const Mapping& m) { return m.path == map.path; });
      consider(*first, false);
    }
  return found;
}

}  // namespace stallprof::python
