// SPDX-License-Identifier: MIT
#include "sampler/host/sibling_recorders.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "sampler/host/allowed_cpus.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr Nanos kSendEvery = std::chrono::seconds(1);
constexpr Nanos kForgetAfter = std::chrono::seconds(15);  // one that samples pauses for up to 10
constexpr std::size_t kMaxPeers = 256, kNamesBytes = 1024;
constexpr char kMagic[8] = {'s', 't', 'a', 'l', 'l', 'p', 'r', '1'};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void addName(std::vector<std::string>& names, const std::string& prefix, std::string value) {
  std::replace(value.begin(), value.end(), '\n', ' ');
  if (!value.empty()) names.push_back(prefix + value.substr(0, 200));
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  forEachLine(text, [&](std::string_view line) {
    if (!line.empty()) lines.emplace_back(line);
  });
  return lines;
}

socklen_t addressOf(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);  // [0] is NUL: abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

}  // namespace

// As it is sent: both ends are the same program, or the magic differs.
struct SiblingRecorders::Message {
  char magic[8];
  std::int64_t cpu;
  std::uint64_t mask[kMaxCpus / 64];
  char names[kNamesBytes];  // a line each, NUL-padded
};

std::vector<std::string> jobNames() {
  std::vector<std::string> names;
  if (const std::string job = variable("SLURM_JOB_ID"); !job.empty())
    addName(names, "slurm ", job + "." + variable("SLURM_STEP_ID"));
  if (const std::string id = variable("TORCHELASTIC_RUN_ID"); id != "none")
    addName(names, "torchrun ", id);
  if (const std::string port = variable("MASTER_PORT");
      !port.empty() && std::atoi(variable("WORLD_SIZE").c_str()) > 1)
    addName(names, "master ", variable("MASTER_ADDR") + ":" + port);
  addName(names, "pmix ", variable("PMIX_NAMESPACE"));
  addName(names, "pmi ", variable("PMI_JOBID"));
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0)
    addName(names, "session ", std::to_string(space.st_ino) + ":" + std::to_string(::getsid(0)));
  return names;
}

SiblingRecorders::SiblingRecorders(const ProcessTree& tree, const AllowedCpus& cpus,
                                   std::vector<std::string> names, std::string space)
    : tree_(&tree), cpus_(&cpus), space_(std::move(space)) {
  for (const std::string& name : names) names_ += name + "\n";
  names_.resize(std::min(names_.size(), kNamesBytes - 1));
}

void SiblingRecorders::open() {
  opened_ = true;
  const std::string prefix = "stallprof" + space_ + "/" + std::to_string(::geteuid()) + "/";
  socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  sockaddr_un address{};
  // A number behind the pid: pids repeat in namespaces that share a network.
  for (int i = 0; socket_.valid() && i < 100; ++i) {
    name_ = prefix + std::to_string(::getpid()) + "." + std::to_string(i);
    const socklen_t bytes = addressOf(name_, address);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
      return;
    if (errno != EADDRINUSE) break;
  }
  refused_ = "no socket for other recorders of this job: " + errnoText(errno);
  socket_ = Fd();
}

// Those that were there before this one; later ones send first.
void SiblingRecorders::findPeers(Nanos now) {
  const std::string prefix = name_.substr(0, name_.rfind('/') + 1);
  forEachLine(contentOf("/proc/net/unix", 8u << 20), [&](std::string_view line) {
    const std::size_t at = line.find(" @" + prefix);
    if (at == std::string_view::npos || peers_.size() >= kMaxPeers) return;
    const std::string name(line.substr(at + 2));
    if (name != name_) peers_[name] = {Nanos::zero(), now};
  });
}

void SiblingRecorders::take(const Message& message, const std::string& from, Nanos now,
                            const CpuMask& mask) {
  const std::vector<std::string> ours = linesOf(names_), theirs = linesOf(message.names);
  const bool sameJob = std::any_of(ours.begin(), ours.end(), [&](const std::string& name) {
    return std::find(theirs.begin(), theirs.end(), name) != theirs.end();
  });
  const auto known = peers_.find(from);
  if (!sameJob) {
    if (known != peers_.end()) peers_.erase(known);
    return;
  }
  if (known == peers_.end()) {
    if (peers_.size() >= kMaxPeers) return;
    nextSend_ = Nanos::zero();  // it does not wait a second to know of us
  }
  CpuMask its;
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu)
    if ((message.mask[cpu / 64] >> (cpu % 64) & 1) != 0) its.set(cpu);
  Peer& peer = peers_[from];
  const Nanos grown = Nanos(message.cpu) - peer.cpu;
  const double shared =
      its.none() ? 0 : static_cast<double>((its & mask).count()) / static_cast<double>(its.count());
  if (known != peers_.end() && peer.cpu > Nanos::zero() && grown > Nanos::zero())
    cpu_ += Nanos(static_cast<Nanos::rep>(static_cast<double>(grown.count()) * shared));
  peer = {Nanos(message.cpu), now};
}

void SiblingRecorders::receive(Nanos now, const CpuMask& mask) {
  for (std::size_t i = 0; i < 2 * kMaxPeers; ++i) {
    Message message{};
    sockaddr_un from{};
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_name = &from;
    header.msg_namelen = sizeof from;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t bytes = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0) return;
    const cmsghdr* extra = CMSG_FIRSTHDR(&header);
    ucred sender{};
    if (extra == nullptr || extra->cmsg_type != SCM_CREDENTIALS) continue;
    std::memcpy(&sender, CMSG_DATA(extra), sizeof sender);
    const std::size_t path = offsetof(sockaddr_un, sun_path);
    if (sender.uid != ::geteuid() || bytes != sizeof message || header.msg_namelen <= path + 1 ||
        std::memcmp(message.magic, kMagic, sizeof kMagic) != 0)
      continue;
    message.names[kNamesBytes - 1] = '\0';
    take(message, std::string(from.sun_path + 1, header.msg_namelen - path - 1), now, mask);
  }
}

void SiblingRecorders::send(Nanos cpu, const CpuMask& mask) {
  Message message{};
  std::memcpy(message.magic, kMagic, sizeof kMagic);
  message.cpu = cpu.count();
  for (std::size_t i = 0; i < kMaxCpus; ++i)
    if (mask[i]) message.mask[i / 64] |= std::uint64_t{1} << (i % 64);
  std::memcpy(message.names, names_.data(), names_.size());
  for (const auto& [name, peer] : peers_) {
    sockaddr_un address{};
    const socklen_t bytes = addressOf(name, address);
    // A full or closed queue: the sum is sent again in a second.
    (void)::sendto(socket_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&address), bytes);
  }
}

void SiblingRecorders::exchange(Nanos now, Nanos cpu, const CpuMask& mask) {
  if (!opened_) {
    open();
    if (socket_.valid()) findPeers(now);
  }
  if (!socket_.valid()) return;
  receive(now, mask);
  std::erase_if(peers_, [&](const auto& p) { return now - p.second.heard > kForgetAfter; });
  if (now < nextSend_ || mask.none()) return;
  nextSend_ = now + kSendEvery;
  if (!peers_.empty()) send(cpu, mask);
}

std::int64_t SiblingRecorders::count() const {
  if (!socket_.valid()) return -1;
  return std::count_if(peers_.begin(), peers_.end(),
                       [](const auto& p) { return p.second.cpu > Nanos::zero(); });
}

void SiblingRecorders::sample(Nanos now, EventOut& out) {
  exchange(now, std::max(tree_->jobCpu(), Nanos(1)), cpus_->mask());
  if (std::exchange(reported_, true)) return;
  emitSource(out, now, "siblings", socket_.valid() ? Coverage::kFull : Coverage::kAbsent, refused_);
}

}  // namespace stallprof
