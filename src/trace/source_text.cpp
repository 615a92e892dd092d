// SPDX-License-Identifier: MIT
#include "trace/source_text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/fd.h"
#include "base/secrets.h"

namespace stallprof {
namespace {

constexpr off_t kLargest = 4 << 20;  // bytes of a source file
constexpr std::size_t kLongest = 200;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\f\v";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Word by word, as those of a command.
std::string masked(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string text;
  for (const std::string& word : maskSecrets(words)) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string sourceLineAt(const std::string& path, const std::string& directory, std::uint32_t line,
                         Nanos started) {
  if (path.empty() || line == 0) return "";
  const std::string full = path[0] == '/' ? path : directory + "/" + path;
  const Fd file = openRegularAt(AT_FDCWD, full.c_str());
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || status.st_size > kLargest) return "";
  const Nanos changed = std::chrono::seconds(status.st_mtim.tv_sec) + Nanos(status.st_mtim.tv_nsec);
  if (changed > started) return "";
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  text.resize(readAt(file.get(), text.data(), text.size(), 0));
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  const std::string_view found =
      std::string_view(text).substr(begin, text.find('\n', begin) - begin);
  return masked(trimmed(found).substr(0, kLongest));
}

}  // namespace stallprof
