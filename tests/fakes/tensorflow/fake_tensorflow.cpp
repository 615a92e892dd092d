// SPDX-License-Identifier: MIT
// Functions of TensorFlow's names that call each other and wait as its own do.
#include "tests/fakes/tensorflow/fake_tensorflow.h"

#include <sched.h>

#include <vector>

// Keeps a call from being the last thing of its function: then it would leave no return address.
#define STAYS asm volatile("" ::: "memory")

namespace {

[[gnu::noinline]] void standAt(FakeGetNext* shared, FakeGetNext::Place place) {
  while (shared->blockFor == place) {
    shared->weight = place;
    ::sched_yield();
  }
  shared->weight = FakeGetNext::kNowhere;
}

// The graph's next operations, with much room on the stack that they do not write to: what the
// get-next left there stays.
[[gnu::noinline]] void compute(FakeGetNext* shared) {
  volatile char room[8192];
  asm volatile("" : : "r"(room));
  standAt(shared, FakeGetNext::kComputing);
  STAYS;
}

}  // namespace

namespace tensorflow {
class Tensor;
class OpKernelContext {
 public:
  FakeGetNext* shared;
};

namespace data {

class IteratorResource {
 public:
  int GetNext(OpKernelContext* context, std::vector<Tensor>* out, bool* end);
};
class IteratorGetNextOp {
 public:
  int DoCompute(OpKernelContext* context);
};
class BackgroundWorker {
 public:
  void WorkerLoop();
  FakeGetNext* shared;
};

[[gnu::noinline]] int IteratorResource::GetNext(OpKernelContext* context, std::vector<Tensor>*,
                                                bool*) {
  volatile char frame[512] = {};
  while (::sem_wait(&context->shared->element) != 0) STAYS;
  standAt(context->shared, FakeGetNext::kFetching);
  STAYS;
  return frame[0];
}

[[gnu::noinline]] int IteratorGetNextOp::DoCompute(OpKernelContext* context) {
  volatile char frame[1024] = {};
  bool end = false;
  const int got = IteratorResource().GetNext(context, nullptr, &end);
  STAYS;
  return got + frame[0];
}

[[gnu::noinline]] void closure(OpKernelContext* context) {
  IteratorGetNextOp().DoCompute(context);
  compute(context->shared);
  STAYS;
}

[[gnu::noinline]] void BackgroundWorker::WorkerLoop() {
  OpKernelContext context{shared};
  for (;;) {
    while (::sem_wait(&shared->work) != 0) STAYS;
    closure(&context);
    ::sem_post(&shared->done);
    STAYS;
  }
}

}  // namespace data
}  // namespace tensorflow

extern "C" void fakeWorker(FakeGetNext* shared) {
  tensorflow::data::BackgroundWorker worker{shared};
  worker.WorkerLoop();
  STAYS;
}
