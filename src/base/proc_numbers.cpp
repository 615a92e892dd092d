// SPDX-License-Identifier: MIT
#include "base/proc_numbers.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "base/fd.h"

namespace stallprof {

bool procHasOurNumbers() {
  char self[24] = "";
  return ::readlink("/proc/self", self, sizeof self - 1) <= 0 || std::atol(self) == ::getpid();
}

std::string statusOf(pid_t pid, std::string_view key) {
  const auto status = readFile("/proc/" + std::to_string(pid) + "/status");
  const std::string text = status.ok() ? status.value() : "";
  const std::size_t at = text.find("\n" + std::string(key) + ":\t");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 3;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Its map is of all numbers to themselves.
bool inFirstUserNamespace() {
  const auto map = readFile("/proc/self/uid_map");
  std::istringstream words(map.ok() ? map.value() : "");
  std::uint64_t inside = 1, outside = 1, count = 0;
  words >> inside >> outside >> count;
  return inside == 0 && outside == 0 && count == 4294967295u;
}

}  // namespace stallprof
