// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/perf_ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sampler/proc/perf_event.h"

namespace stallprof {
namespace {

std::size_t pageBytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::move(other.fd_)),
      more_(std::move(other.more_)),
      budget_(other.budget_),
      pages_(std::exchange(other.pages_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

PerfRing::~PerfRing() {
  if (pages_ == nullptr) return;
  ::munmap(pages_, bytes_);
  budget_->give(bytes_ / pageBytes());
}

std::string perfRefusal(int error, const std::string& shows) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "perf_event_open is not permitted; 'sysctl kernel.perf_event_paranoid=2' (or lower) "
             "on the host, or CAP_PERFMON beside that (in a container --cap-add=PERFMON, or a "
             "seccomp "
             "profile that allows it), " +
             shows;
    case ENOSYS:
      return "perf_event_open is blocked or not built into this kernel; a seccomp profile that "
             "allows it " +
             shows;
    case PerfRing::kNoLockedMemory:
      return "this user's locked memory is used up, as by the recorders of other ranks; a higher "
             "'ulimit -l' or kernel.perf_event_mlock_kb " +
             shows;
    case PerfRing::kOverBudget:
      return "its rings would take more than half of this user's locked memory, and the rest "
             "is the job's; a higher 'ulimit -l' " +
             shows;
    case EMFILE:
      return "too few file descriptors; a higher 'ulimit -n' " + shows;
    case ESRCH:
      return "none of its threads was there any more";
    default:
      return "perf_event_open: " + errnoText(error);
  }
}

bool PerfRing::add(const perf_event_attr& attributes, pid_t target, int cpu) {
  Fd event = openPerfEvent(attributes, target, cpu);
  if (!event.valid() || ::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, fd_.get()) != 0)
    return false;
  more_.push_back(std::move(event));
  return true;
}

bool PerfRing::open(const perf_event_attr& attributes, pid_t target, int cpu, std::size_t dataPages,
                    std::size_t minimum, RingBudget& budget) {
  fd_ = openPerfEvent(attributes, target, cpu);
  if (!fd_.valid()) return false;
  for (std::size_t pages = dataPages; pages >= minimum; pages /= 2)
    if (map(pages, budget)) return true;
  return false;
}

bool PerfRing::map(std::size_t dataPages, RingBudget& budget) {
  const std::size_t pages = 1 + dataPages;
  if (!budget.take(pages)) {
    errno = kOverBudget;
    return false;
  }
  bytes_ = pages * pageBytes();
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (mapped != MAP_FAILED) {
    pages_ = mapped;
    budget_ = &budget;
    return true;
  }
  budget.give(pages);
  // Of the event itself, not of what it may watch: that was permitted.
  if (errno == EPERM) errno = kNoLockedMemory;
  return false;
}

void PerfRing::enable(bool on) const {
  const unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
  ::ioctl(fd_.get(), request, 0);
  for (const Fd& event : more_) ::ioctl(event.get(), request, 0);
}

void PerfRing::setPeriod(Nanos period) const {
  const auto value = static_cast<std::uint64_t>(period.count());
  ::ioctl(fd_.get(), PERF_EVENT_IOC_PERIOD, &value);
  for (const Fd& event : more_) ::ioctl(event.get(), PERF_EVENT_IOC_PERIOD, &value);
}

void PerfRing::copy(const std::uint8_t* data, std::uint64_t size, std::uint64_t from,
                    std::span<std::uint8_t> into) {
  const std::uint64_t at = from % size;
  const std::size_t first = std::min<std::uint64_t>(into.size(), size - at);
  std::memcpy(into.data(), data + at, first);
  std::memcpy(into.data() + first, data, into.size() - first);
}

}  // namespace stallprof
