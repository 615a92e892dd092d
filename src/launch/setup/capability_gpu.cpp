// SPDX-License-Identifier: MIT
// What of a GPU a run could see here, for doctor.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/text.h"
#include "launch/setup/capability.h"
#include "launch/setup/child_environment.h"
#include "sampler/nvml/nvml_sampler.h"

namespace stallprof {
namespace {

// Where nothing keeps the driver loaded, its first user waits some seconds for each GPU.
constexpr Nanos kLimit = std::chrono::seconds(10);

SourceReport agentSource() {
  const std::string theirs = foreignInjection(currentEnvironment(), kCudaVariable);
  if (!theirs.empty()) return {"agent", Coverage::kAbsent, theirs};
  if (nvmlLibraries("/").empty()) return {"agent", Coverage::kAbsent, "no NVIDIA driver here"};
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return {"agent", Coverage::kAbsent,
            "libcuda.so.1 cannot be loaded: in a container, NVIDIA_DRIVER_CAPABILITIES must hold "
            "compute"};
  if (const auto agent = findAgent(); !agent.ok())
    return {"agent", Coverage::kAbsent, agent.error().message};
  return {"agent", Coverage::kFull,
          "kernels, copies and waits, where the job brings libcupti along (PyTorch does)"};
}

// The answer on the pipe is what sourcesFrom() reads.
void reportGpu(int pipe) {
  auto sources = nvmlSources("/", kLimit);
  sources.push_back(agentSource());
  std::string answer;
  for (const SourceReport& source : sources)
    answer += source.name + '\t' + std::to_string(static_cast<int>(source.state)) + '\t' +
              escapeTerminal(source.why) + '\n';
  (void)writeAll(pipe, answer + '\n');  // an empty line: the answer is complete
}

// Until the empty line, the end or the limit: a process that hangs in the driver keeps its pipe
// open even when it is killed.
std::string hearGpu(int pipe) {
  const Nanos until = now() + kLimit + std::chrono::seconds(1);
  std::string answer;
  while (!answer.ends_with("\n\n")) {
    const auto left = (until - now()) / std::chrono::milliseconds(1);
    pollfd ready{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) break;
    char chunk[4096];
    const ssize_t n = ::read(pipe, chunk, sizeof chunk);
    if (n <= 0) break;
    answer.append(chunk, static_cast<std::size_t>(n));
  }
  return answer;
}

}  // namespace

std::vector<SourceReport> gpuSources() {
  int answer[2];
  if (::pipe2(answer, O_CLOEXEC) != 0) return {};
  const Fd from(answer[0]);
  Fd to(answer[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    reportGpu(to.get());
    ::_exit(0);
  }
  to.reset();
  auto sources = sourcesFrom(hearGpu(from.get()));
  if (child > 0) {
    ::kill(child, SIGKILL);  // our own child, not yet reaped
    // In the driver not even that ends it: not waited for without end.
    for (int i = 0; i < 20 && ::waitpid(child, nullptr, WNOHANG) == 0; ++i) ::usleep(5000);
  }
  if (sources.empty())
    sources.push_back({"nvml", Coverage::kAbsent, "the NVIDIA driver did not answer"});
  return sources;
}

}  // namespace stallprof
