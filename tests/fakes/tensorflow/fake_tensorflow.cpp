// SPDX-License-Identifier: MIT
// Functions of TensorFlow's names that call each other and wait as its own do.
#include "tests/fakes/tensorflow/fake_tensorflow.h"

#include <vector>

// Keeps a call from being the last thing of its function: then it would leave no return address.
#define STAYS asm volatile("" ::: "memory")

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

[[gnu::noinline]] void BackgroundWorker::WorkerLoop() {
  OpKernelContext context{shared};
  for (;;) {
    while (::sem_wait(&shared->work) != 0) STAYS;
    IteratorGetNextOp().DoCompute(&context);
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
