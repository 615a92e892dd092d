// SPDX-License-Identifier: MIT
#include "launch/recorder/make_manifest.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/secrets.h"
#include "sampler/proc/cgroup.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

std::string cpuModel() {
  const auto text = readFile("/proc/cpuinfo");
  if (!text.ok()) return {};
  const std::size_t line = text.value().find("model name");
  const std::size_t colon = text.value().find(':', line);
  if (line == std::string::npos || colon == std::string::npos) return {};
  const std::size_t begin = text.value().find_first_not_of(" \t", colon + 1);
  return text.value().substr(begin, text.value().find('\n', begin) - begin);
}

std::string bootId() {
  auto text = readFile("/proc/sys/kernel/random/boot_id", 64);
  if (!text.ok()) return {};
  return text.value().substr(0, text.value().find('\n'));
}

Manifest::Host factsOfHost() {
  Manifest::Host host;
  utsname names{};
  if (::uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = names.release;
  }
  host.cpuModel = cpuModel();
  host.bootId = bootId();
  host.coresOnline = static_cast<std::int32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  host.coresUsable = usableCores("/", ::getpid());
  host.pageBytes = ::sysconf(_SC_PAGESIZE);
  host.ticksPerSecond = ::sysconf(_SC_CLK_TCK);
  host.memoryBytes = ::sysconf(_SC_PHYS_PAGES) * host.pageBytes;
  return host;
}

}  // namespace

Manifest makeManifest(const LaunchOptions& options, const std::vector<std::string>& environment) {
  Manifest manifest;
  manifest.toolVersion = STALLPROF_VERSION;
  for (std::string& word : maskSecrets(options.command))
    manifest.command.emplace_back(std::move(word));
  std::error_code error;
  manifest.directory = Untrusted(std::filesystem::current_path(error).string());
  for (const std::string& word : environment) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    if (environmentRecorded(name))
      manifest.environment.emplace_back(name, Untrusted(maskSecret(name, word.substr(equals + 1))));
  }
  manifest.startedRealtime = realtimeNow();
  manifest.startedMonotonic = now();
  manifest.hz = options.hz;
  manifest.budget = options.budget;
  manifest.maps = options.maps;
  manifest.overrides = wordsOf(options.overrides);
  manifest.frontPid = static_cast<std::uint32_t>(::getpid());
  manifest.host = factsOfHost();
  return manifest;
}

}  // namespace stallprof
