// SPDX-License-Identifier: MIT
// The table of native classes: names as the projects ship their libraries (Debian 12, the wheels of
// PyPI and the packages of conda-forge, 2026).
#include "classify/frames.h"
#include "classify/native_class.h"
#include "event/native_events.h"

namespace stallprof {
namespace {

using Names = const std::string_view[];

// What a thread runs that waits for others and keeps its CPU. libgomp of distributions and wheels
// is stripped: the names are its exports and those of builds with symbols.
constexpr Names kOpenMp = {"libgomp*", "libiomp5*", "libomp.so*", "libomp-*"};
constexpr Names kSpinSymbols = {"gomp_team_barrier_wait*",
                                "gomp_barrier_wait*",
                                "do_wait",
                                "do_spin",
                                "gomp_thread_start",
                                "__kmp_*wait*",
                                "__kmp_hyper_barrier*",
                                "__kmp_flag_*",
                                "kmp_flag_*",
                                "__kmp_yield*",
                                "__kmp_x86_pause",
                                "GOMP_barrier"};
constexpr Names kParallelSymbols = {"GOMP_*", "omp_*", "__kmpc_*", "__kmp_*", "gomp_*"};
constexpr Names kLibc = {"libc.so*", "libc-2.*", "libpthread*", "ld-linux*"};
// Of glibc by its own symbols and those of its debug files; of OpenMP's runtimes critical sections.
constexpr Names kLibcLocks = {"*pthread_mutex_*", "*pthread_rwlock_*", "pthread_spin_*",
                              "*lll_lock_*",      "*lll_trylock_*",    "*lll_unlock_*"};
constexpr Names kOpenMpLocks = {
    "GOMP_critical_*",      "GOMP_atomic_*",        "gomp_mutex_*",
    "omp_set_*lock*",       "omp_unset_*lock*",     "__kmpc_critical*",
    "__kmpc_end_critical*", "__kmp_acquire_*lock*", "__kmp_release_*lock*"};
constexpr Names kYield = {"sched_yield", "__sched_yield"};
constexpr Names kTbb = {"libtbb*"};
// Of pools of its own: an idle thread asks for work some 0.1 s before it sleeps, the caller waits.
constexpr Names kOpenBlas = {"libopenblas*", "libscipy_openblas*"};
constexpr Names kOpenBlasWaits = {"blas_thread_server", "exec_blas_async_wait"};

constexpr Names kInterpreter = {"python3*", "python", "libpython3*"};
constexpr Names kTensor = {
    "libtorch*",      "libc10*",    "libtensorflow*",      "_pywrap_tensorflow*",    "libxla*",
    "xla_extension*", "libjax*",    "libonnxruntime*",     "onnxruntime_pybind*",    "libtriton*",
    "_C.cpython*",    "libshm.so*", "*-packages/jaxlib/*", "*-packages/tensorflow/*"};
constexpr Names kLibm = {"libm.so*", "libm-2.*", "libmvec*"};
constexpr Names kMath = {"libopenblas*",
                         "libscipy_openblas*",
                         "libblas*",
                         "liblapack*",
                         "libblis*",
                         "libmkl*",
                         "libdnnl*",
                         "libonednn*",
                         "libfftw*",
                         "_multiarray_umath*",
                         "_pocketfft*",
                         "libxgboost*",
                         "lib_lightgbm*",
                         "_catboost*",
                         "libfaiss*",
                         "_umath_linalg*",
                         "*-packages/sklearn/*",
                         "*-packages/scipy/*",
                         "*-packages/numpy/*"};
// Of libraries that bundle them: libtorch_cpu has oneDNN and MKL inside.
constexpr Names kMathSymbols = {"mkl_*", "dnnl::*", "cblas_*", "sgemm*", "dgemm*", "fftw*"};
constexpr Names kDecode = {"libjpeg*",
                           "libturbojpeg*",
                           "libpng*",
                           "libwebp*",
                           "libtiff*",
                           "libopenjp2*",
                           "libheif*",
                           "libavif*",
                           "libdav1d*",
                           "_imaging*",
                           "_webp*",
                           "cv2*",
                           "libopencv_*",
                           "libavcodec*",
                           "libavformat*",
                           "libavfilter*",
                           "libswscale*",
                           "libswresample*",
                           "libdecord*",
                           "libx264*",
                           "libsndfile*",
                           "libmpg123*",
                           "libFLAC*",
                           "libvorbis*",
                           "libopus*",
                           "libsox*",
                           "image.so",
                           "libvips*",
                           "*-packages/torchvision/*",
                           "*-packages/PIL/*"};
constexpr Names kDecodeSymbols = {"jpeg_*", "jsimd_*", "png_*",       "WebP*",
                                  "VP8*",   "opj_*",   "decode_mcu*", "Imaging*"};
constexpr Names kCompression = {"libz.so*",       "libz-*",       "libzstd*",  "liblz4*",
                                "libsnappy*",     "libbrotli*",   "liblzma*",  "libbz2*",
                                "libisal*",       "libdeflate*",  "libblosc*", "zlib.cpython*",
                                "_lzma.cpython*", "_bz2.cpython*"};
constexpr Names kCompressionSymbols = {"inflate*",  "deflate*", "ZSTD_*", "HUF_*",
                                       "FSE_*",     "LZ4_*",    "BZ2_*",  "blosc_*",
                                       "snappy::*", "adler32*", "crc32*"};
constexpr Names kNetwork = {"libssl*",  "libcrypto*", "libcurl*",      "libaws*",
                            "libgrpc*", "libgnutls*", "_ssl.cpython*", "_socket.cpython*"};
constexpr Names kStorage = {
    "libarrow*",        "libparquet*", "libhdf5*",          "libsqlite3*",
    "liblmdb*",         "librocksdb*", "_sqlite3.cpython*", "*-packages/pyarrow/*",
    "*-packages/h5py/*"};
constexpr Names kRuntime = {"[vdso]",     "libc.so*",     "libc-2.*",     "libpthread*",
                            "ld-linux*",  "ld-musl*",     "libstdc++*",   "libc++*",
                            "libgcc_s*",  "libjemalloc*", "libtcmalloc*", "libmimalloc*",
                            "libunwind*", "libdl*",       "librt*",       "libffi*"};
constexpr Names kDevice = {"libcuda*",    "libcublas*",   "libcudnn*",       "libcufft*",
                           "libcurand*",  "libcusparse*", "libnccl*",        "libnv*",
                           "libcupti*",   "libamdhip*",   "libhsa-runtime*", "librccl*",
                           "librocblas*", "libMIOpen*"};
constexpr Names kKernel = {"[kernel]", "[vsyscall]"};
constexpr Names kJit = {"[jit]", "anon", "memfd:*", "[anon]", "[stack]", "[heap]"};

constexpr Names kSpinLoops = {kSpinLoop};

constexpr NativeRule kRules[] = {
    {NativeClass::kSpin, kKernel, kYield},
    {NativeClass::kKernel, kKernel, {}},
    {NativeClass::kSpin, kJit, kSpinLoops},
    {NativeClass::kJit, kJit, {}},
    {NativeClass::kSpin, kLibc, kYield},
    {NativeClass::kLock, kLibc, kLibcLocks},
    {NativeClass::kLock, kOpenMp, kOpenMpLocks},
    {NativeClass::kSpin, kOpenMp, kSpinSymbols},
    {NativeClass::kSpin, kOpenBlas, kOpenBlasWaits},
    {NativeClass::kParallel, kOpenMp, kParallelSymbols},
    // A place in it that no symbol names: work runs in the caller's library, waiting in this one.
    {NativeClass::kSpin, kOpenMp, {}},
    {NativeClass::kParallel, kTbb, {}},
    {NativeClass::kInterpreter, kInterpreter, {}},
    {NativeClass::kDevice, kDevice, {}},
    {NativeClass::kMath, {}, kMathSymbols},
    {NativeClass::kDecode, {}, kDecodeSymbols},
    {NativeClass::kCompression, {}, kCompressionSymbols},
    {NativeClass::kTensor, kTensor, {}},
    {NativeClass::kMath, kMath, {}},
    {NativeClass::kMath, kLibm, {}},
    {NativeClass::kDecode, kDecode, {}},
    {NativeClass::kCompression, kCompression, {}},
    {NativeClass::kNetwork, kNetwork, {}},
    {NativeClass::kStorage, kStorage, {}},
    {NativeClass::kRuntime, kRuntime, {}},
};

}  // namespace

std::span<const NativeRule> nativeRules() { return kRules; }

bool isOfOpenMp(std::string_view symbol) { return fitsAny(symbol, kParallelSymbols); }

bool isOfLibm(std::string_view file) { return fitsAny(baseName(file), kLibm); }

}  // namespace stallprof
