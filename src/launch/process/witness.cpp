// SPDX-License-Identifier: MIT
#include "launch/process/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/fd.h"
#include "launch/process/inherited.h"

namespace stallprof {

Result<Witness> Witness::create() {
  void* memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ioError("mapping the signal counters", errno);
  return Witness(new (memory) Page{});
}

void* Witness::countForever(void* argument) {
  const Counting& counting = *static_cast<Counting*>(argument);
  Page& page = *counting.page;
  for (;;) {
    pollfd ready{counting.signals, POLLIN, 0};
    ::poll(&ready, 1, -1);
    signalfd_siginfo info[8];
    page.taking.store(true);
    const ssize_t bytes = ::read(counting.signals, info, sizeof info);
    for (ssize_t i = 0; i * static_cast<ssize_t>(sizeof *info) < bytes; ++i) {
      const std::uint32_t signal = info[i].ssi_signo;
      if (signal >= kSignals) continue;
      page.count[signal].fetch_add(1, std::memory_order_release);
    }
    page.taking.store(false);
    counting.control.send({ControlMessage::Kind::kWitnessed});
  }
}

bool Witness::startCounting(const Control& control) const {
  static Counting counting;  // one witness a process, as long as the process
  counting = {page_, openSignalFd(kAllSignals),
              Control(Fd(::fcntl(control.fd(), F_DUPFD_CLOEXEC, 0)))};
  if (counting.signals < 0 || counting.control.fd() < 0) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);  // it holds one small buffer
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  errno = pthread_create(&thread, &attributes, &countForever, &counting);
  pthread_attr_destroy(&attributes);
  return errno == 0;
}

WitnessCounts Witness::counts(bool alive) const {
  WitnessCounts counts;
  counts.alive = alive;
  counts.taking = page_->taking.load();  // before the counts: what was taken by then is in them
  for (std::size_t i = 1; i < kSignals; ++i)
    counts.count[i] = page_->count[i].load(std::memory_order_acquire);
  return counts;
}

}  // namespace stallprof
