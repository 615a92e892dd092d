// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The calls that are recorded: those that give the device work, wait for it, or take memory. CUDA
// frameworks make several times as many others (queries of the current device and the like), which
// cost as much each and say nothing. Numbers: cupti_runtime_cbid.h, cupti_driver_cbid.h; they are
// never reused, and a library that is older than one refuses it.
namespace stallprof::agent {

inline constexpr std::uint16_t kRuntimeCalls[] = {
    20,  22,  25,  26,  27,                  // cudaMalloc Free MallocHost FreeHost HostAlloc
    31,  32,  39,  41,  44,  49,  51,        // cudaMemcpy 2D ToSymbol Async 2DAsync, Memset Async
    131, 137, 165,                           // Stream Event DeviceSynchronize
    152, 160, 161, 206,                      // HostRegister MemcpyPeer PeerAsync MallocManaged
    211, 214, 215, 216, 223, 225, 228, 233,  // LaunchKernel; per-thread-stream forms of the above
    235, 239, 269, 270, 311, 312,            // LaunchCooperativeKernel GraphLaunch
    373, 374, 375, 376, 430, 431, 482, 483,  // MallocAsync FreeAsync LaunchKernelExC MemcpyBatch
    505, 506, 509, 510,                      // __cudaLaunchKernel MemcpyBatchAsync (CUDA 13)
};

inline constexpr std::uint16_t kDriverCalls[] = {
    17,  121, 126, 440, 800,                 // cuCtxSynchronize cuEventSynchronize cuStreamSync...
    243, 245, 294, 371, 598, 599, 600, 601,  // cuMemAlloc_v2 Free_v2 AllocHost Managed Async
    276, 277, 278, 279, 280, 281,            // cuMemcpyHtoD DtoH DtoD, Async
    305, 306, 318, 319, 408, 418,            // cuMemcpy Async Peer PeerAsync
    216, 220, 249, 251,                      // cuMemsetD8Async D32Async D8 D32
    307, 442, 477, 478, 514, 515, 652, 653,  // cuLaunchKernel Cooperative cuGraphLaunch KernelEx
    776, 777, 796, 797,                      // cuMemcpyBatchAsync
};

// Calls that say the program uses its device, and of which copies and synchronizations leave a
// record: cudaMemcpy, cudaMemcpyAsync, cudaStreamSynchronize, cudaDeviceSynchronize. A callback for
// each of the program's launches would cost too much.
inline constexpr std::uint16_t kHeardCalls[] = {31, 41, 131, 165};

}  // namespace stallprof::agent
