// SPDX-License-Identifier: MIT
#include "sampler/proc/mounts.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "event/file_systems.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kMounts = 20000;  // a busy container host has thousands

std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t k) {
      return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7';
    };
    if (text[i] == '\\' && octal(1) && octal(2) && octal(3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

bool Mount::remote() const { return answersRemotely(fsType); }

std::vector<Mount> Mounts::parse(std::string_view text) {
  std::vector<Mount> mounts;
  forEachLine(text, [&](std::string_view line) {
    // id parent major:minor TOP POINT options [tag...] - TYPE SOURCE OPTIONS
    const auto words = splitWords(line, 64);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 3 || mounts.size() >= kMounts) return;
    const std::string_view options = words.end() - dash > 3 ? dash[3] : std::string_view();
    mounts.push_back({unescape(words[4]), unescape(dash[1]), unescape(dash[2]), unescape(words[3]),
                      unescape(options)});
  });
  return mounts;
}

// poll(2) on mountinfo reports POLLERR once after each change (proc(5)).
void Mounts::refresh(Nanos now) {
  constexpr Nanos kCheckEvery = std::chrono::seconds(1);
  if (checked_ >= Nanos::zero() && now - checked_ < kCheckEvery) return;
  const bool first = checked_ < Nanos::zero();
  checked_ = now;
  if (!fd_.valid()) fd_ = openAt(AT_FDCWD, path_.c_str(), O_RDONLY);
  pollfd changed{fd_.get(), POLLPRI, 0};
  const bool reported = ::poll(&changed, 1, 0) > 0 && (changed.revents & (POLLERR | POLLPRI)) != 0;
  if (!first && !reported && !mounts_.empty()) return;
  // Of a process that has ended, what it had stays.
  if (const std::string text = contentOf(path_, 8u << 20); !text.empty()) mounts_ = parse(text);
}

void Mounts::follow(const std::string& mountinfo) {
  if (contentOf(mountinfo, 4096).empty()) return;
  *this = Mounts(mountinfo);
}

const Mount* Mounts::find(std::string_view path, Nanos now) {
  refresh(now);
  const Mount* best = nullptr;
  for (const Mount& mount : mounts_)
    if (isBelow(path, mount.point) && (best == nullptr || mount.point.size() >= best->point.size()))
      best = &mount;
  return best;
}

}  // namespace stallprof
