// SPDX-License-Identifier: MIT
#include "classify/native_class.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "classify/mangled_name.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

// Symbols, and what each is shown as.
void checkNames(std::initializer_list<std::pair<const char*, const char*>> symbols) {
  for (const auto& [symbol, name] : symbols) CHECK(readableSymbol(symbol) == name);
}

}  // namespace

TEST_CASE("a library says what kind of work its code is") {
  const std::pair<NativeClass, std::vector<const char*>> files[] = {
      {NativeClass::kTensor, {"/usr/lib/libtorch_cpu.so"}},
      {NativeClass::kMath,
       {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so",
        "/venv/lib/python3.11/site-packages/sklearn/tree/_tree.cpython-311-x86_64-linux-gnu.so"}},
      {NativeClass::kDecode,
       {"/usr/lib/x86_64-linux-gnu/libjpeg.so.62.3.0",
        "/usr/lib/python3/dist-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so",
        "/venv/lib/python3.11/site-packages/torchvision/_C.so"}},
      {NativeClass::kInterpreter, {"/usr/bin/python3.11", "/opt/conda/lib/libpython3.10.so.1.0"}},
      {NativeClass::kRuntime, {"/usr/lib/x86_64-linux-gnu/libc.so.6"}},
      {NativeClass::kCompression, {"/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"}},
      {NativeClass::kDevice, {"/usr/lib/x86_64-linux-gnu/libcuda.so.535.104"}},
      {NativeClass::kSpin,
       {"/venv/lib/python3.11/site-packages/scikit_learn.libs/libgomp-a34b3233.so.1.0.0"}},
      {NativeClass::kProgram, {"/home/user/numpy/train", "/home/user/bin/train", ""}},
      {NativeClass::kKernel, {"[kernel]"}},
      {NativeClass::kJit, {"//anon"}}};
  for (const auto& [is, named] : files)
    for (const char* file : named) {
      INFO(file);
      CHECK(nativeClass(file, "") == is);
    }
  CHECK(nativeClass("[jit]", "jit_conv") == NativeClass::kJit);
  CHECK(nativeClass("[jit]", "[spin loop]") == NativeClass::kSpin);
}

TEST_CASE("OpenMP's waiting is distinguished from its work, and is assumed where no symbol says") {
  const char* gomp = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0";
  CHECK(nativeClass(gomp, "gomp_team_barrier_wait_end") == NativeClass::kSpin);
  CHECK(nativeClass(gomp, "") == NativeClass::kSpin);
  CHECK(nativeClass(gomp, "GOMP_parallel") == NativeClass::kParallel);
  const char* intel = "/opt/intel/lib/libiomp5.so";
  CHECK(nativeClass(intel, "__kmp_flag_64<false, true>::wait") == NativeClass::kSpin);
  CHECK(nativeClass(intel, "__kmp_fork_call") == NativeClass::kParallel);
  CHECK(nativeClass("/lib/x86_64-linux-gnu/libc.so.6", "sched_yield") == NativeClass::kSpin);
  CHECK(nativeClass("[kernel]", "sched_yield") == NativeClass::kSpin);
  CHECK(nativeClass("[kernel]", "read") == NativeClass::kKernel);
  const char* blas = "/venv/numpy.libs/libscipy_openblas64_-32a4b2a6.so";
  CHECK(nativeClass(blas, "exec_blas_async_wait") == NativeClass::kSpin);
  CHECK(nativeClass(blas, "dgemm_kernel_SKYLAKEX") == NativeClass::kMath);
}

TEST_CASE("acquiring and releasing locks is no other work of a library") {
  for (const char* symbol : {"__pthread_mutex_lock", "__GI___pthread_mutex_unlock_usercnt",
                             "__GI___lll_lock_wait", "pthread_rwlock_rdlock"})
    CHECK(nativeClass("/lib/x86_64-linux-gnu/libc.so.6", symbol) == NativeClass::kLock);
  CHECK(nativeClass("/usr/lib/libgomp.so.1", "GOMP_critical_start") == NativeClass::kLock);
  CHECK(nativeClass("/usr/lib/libgomp.so.1", "gomp_team_barrier_wait") == NativeClass::kSpin);
  CHECK(nativeClass("/lib/x86_64-linux-gnu/libc.so.6", "pthread_create") == NativeClass::kRuntime);
  CHECK(nativeClass("/home/user/train", "my_pthread_mutex_lock") == NativeClass::kProgram);
  CHECK(isFutex(NativeClass::kKernel, "futex"));
}

TEST_CASE("a library bundled into another is known by its symbols") {
  CHECK(nativeClass("/usr/lib/libtorch_cpu.so", "dnnl::impl::cpu::x64::gemm_driver") ==
        NativeClass::kMath);
  CHECK(nativeClass("/site-packages/cv2/cv2.abi3.so", "jsimd_idct_islow_avx2") ==
        NativeClass::kDecode);
  CHECK(nativeClass("/home/user/bin/train", "inflate_fast") == NativeClass::kCompression);
}

TEST_CASE("symbols are shown as people say them") {
  checkNames({{"memcpy@@GLIBC_2.14", "memcpy"},
              {"decode_mcu", "decode_mcu"},
              {"_ZN2at6native7add_outERKNS_6TensorES3_RS1_", "at::native::add_out"},
              {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector::push_back"},
              {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"}});
  CHECK(readableSymbol(std::string(1000, 'x')).size() == 200);
}

TEST_CASE("constructors, operators, lambdas and functions of the standard library have names") {
  checkNames({{"_ZN3foo3barC2Ei", "foo::bar::bar"},
              {"_ZN3foo3barD1Ev", "foo::bar::~bar"},
              {"_ZN3foo3barixEm", "foo::bar::operator[]"},
              {"_ZplRK3fooS1_", "operator+"},
              {"_ZSt4sortIPiEvT_S1_", "std::sort"},
              {"_ZNSs6appendEPKc", "std::string::append"},
              {"_ZZ4mainENKUlvE_clEv", "main::{lambda}::operator()"},
              {"_ZZN3foo3barEiENKUlS_E0_clES_", "foo::bar::{lambda}::operator()"}});
}

TEST_CASE("what only resembles a mangled name stays as it is") {
  for (const char* raw : {"_Z", "_ZN", "_ZN3fooE", "_ZN3foo", "_ZZ", "_ZZZZZZZZZZZZZZZZZZ1aE",
                          "_ZL", "_ZN99999999999999999999foo"}) {
    const std::string name = readableSymbol(raw);
    CHECK((name == raw || name == "foo"));
  }
}
