// SPDX-License-Identifier: MIT
#include "launch/recorder/recorder_process.h"

#include <poll.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/proc_numbers.h"
#include "base/secrets.h"
#include "base/text.h"
#include "launch/setup/recording_place.h"
#include "sampler/proc/cgroup.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

using Kind = ControlMessage::Kind;

// Creating the recording takes 1 ms on a local disk. A file system that does not answer for this
// long would not take the recording either.
constexpr Nanos kPrepareLimit = std::chrono::seconds(10);

Error noRecorder(const std::string& why) { return {Error::Kind::kUnsupported, why}; }

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
  host.coresUsable =
      procHasOurNumbers() ? usableCores("/", ::getpid()) : static_cast<double>(host.coresOnline);
  host.pageBytes = ::sysconf(_SC_PAGESIZE);
  host.ticksPerSecond = ::sysconf(_SC_CLK_TCK);
  host.memoryBytes = ::sysconf(_SC_PHYS_PAGES) * host.pageBytes;
  return host;
}

// What is known before the command starts, secrets masked. The recorder's pid is the caller's to
// fill in.
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

// A working directory that was removed has no path: then the recording is refused, not the command.
std::string absolutePath(const std::string& recording) {
  std::error_code error;
  const auto directory = std::filesystem::absolute(recording, error);
  return error ? recording : directory.string();
}

}  // namespace

RecorderPlan makePlan(const LaunchOptions& options, const std::vector<std::string>& environment,
                      const std::string& recording) {
  RecorderPlan plan;
  plan.options = options;
  plan.directory = absolutePath(recording);
  plan.manifest = makeManifest(options, environment);
  return plan;
}

Result<RecorderProcess> RecorderProcess::startAt(const RecorderPlan& plan) {
  auto witness = Witness::create();
  auto sockets = Control::makePair();
  if (!witness.ok() || !sockets.ok())
    return noRecorder("cannot start the recorder: " +
                      (witness.ok() ? sockets.error() : witness.error()).message);
  auto [ours, theirs] = std::move(sockets).value();
  const pid_t pid = ::fork();
  if (pid < 0) return noRecorder("cannot start the recorder: " + errnoText(errno));
  if (pid == 0) runRecorder(plan, std::move(theirs), witness.value());
  theirs = Control();

  const auto answer = ours.await(Kind::kReady, Kind::kRefused, now() + kPrepareLimit);
  if (answer && answer->kind == Kind::kReady)
    return RecorderProcess(std::move(ours), witness.value(), pid, *answer);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, answer || ours.closed() ? 0 : WNOHANG);  // it may hang on a dead disk
  if (!answer) return noRecorder("the recorder did not get ready");
  if (answer->flag) return noRecorder(answer->text);
  return Error{answer->number != 0 ? Error::Kind::kUsage : Error::Kind::kIo, answer->text};
}

// Ranks that start together may choose one name: whoever comes second takes the next.
Result<RecorderProcess> RecorderProcess::start(RecorderPlan& plan,
                                               const std::vector<std::string>& environment,
                                               std::string& recording) {
  constexpr int kTries = 10'000;  // of as many ranks one gets its name at each
  for (int tries = 1;; ++tries) {
    auto recorder = startAt(plan);
    const bool taken = !recorder.ok() && recorder.error().kind == Error::Kind::kUsage;
    if (!taken || !plan.options.output.empty() || tries == kTries) return recorder;
    auto next = chooseRecording(plan.options, environment);
    if (!next.ok()) return next.error();
    recording = std::move(next).value();
    plan.directory = absolutePath(recording);
  }
}

void RecorderProcess::arm(pid_t command, Nanos limit) {
  control_.send({Kind::kCommand, command});
  (void)control_.await(Kind::kArmed, Kind::kArmed, now() + limit);
}

std::optional<ControlMessage> RecorderProcess::end(int code, bool signalled, Nanos at,
                                                   Nanos limit) {
  control_.send({Kind::kEnded, code, signalled, at.count()});
  return control_.await(Kind::kClosed, Kind::kClosed, now() + limit);
}

void RecorderProcess::discard(Nanos limit) {
  control_.send({Kind::kDiscard});
  const Nanos until = now() + limit;
  (void)control_.await(Kind::kClosed, Kind::kClosed, until);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0 && now() < until) ::poll(nullptr, 0, 1);
}

}  // namespace stallprof
