// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_calls.h"

#include <algorithm>
#include <iterator>

namespace stallprof {
namespace {

// From cupti_runtime_cbid.h and cupti_driver_cbid.h of CUDA 13.0, which only ever grow; calls for a
// stream of the thread's own and later versions of a call go by one name.
struct Call {
  std::uint32_t cbid;
  DeviceCallKind kind;
  std::string_view name;
};

constexpr Call kRuntime[] = {
    {13, DeviceCallKind::kLaunch, "cudaLaunch"},
    {20, DeviceCallKind::kAllocate, "cudaMalloc"},
    {22, DeviceCallKind::kAllocate, "cudaFree"},
    {25, DeviceCallKind::kAllocate, "cudaMallocHost"},
    {26, DeviceCallKind::kAllocate, "cudaFreeHost"},
    {27, DeviceCallKind::kAllocate, "cudaHostAlloc"},
    {31, DeviceCallKind::kCopy, "cudaMemcpy"},
    {32, DeviceCallKind::kCopy, "cudaMemcpy2D"},
    {39, DeviceCallKind::kCopy, "cudaMemcpyToSymbol"},
    {41, DeviceCallKind::kCopy, "cudaMemcpyAsync"},
    {44, DeviceCallKind::kCopy, "cudaMemcpy2DAsync"},
    {49, DeviceCallKind::kCopy, "cudaMemset"},
    {50, DeviceCallKind::kCopy, "cudaMemset2D"},
    {51, DeviceCallKind::kCopy, "cudaMemsetAsync"},
    {52, DeviceCallKind::kCopy, "cudaMemset2DAsync"},
    {126, DeviceCallKind::kSync, "cudaThreadSynchronize"},
    {131, DeviceCallKind::kSync, "cudaStreamSynchronize"},
    {132, DeviceCallKind::kOther, "cudaStreamQuery"},
    {135, DeviceCallKind::kOther, "cudaEventRecord"},
    {137, DeviceCallKind::kSync, "cudaEventSynchronize"},
    {138, DeviceCallKind::kOther, "cudaEventQuery"},
    {142, DeviceCallKind::kCopy, "cudaMemset3D"},
    {143, DeviceCallKind::kCopy, "cudaMemset3DAsync"},
    {144, DeviceCallKind::kCopy, "cudaMemcpy3D"},
    {145, DeviceCallKind::kCopy, "cudaMemcpy3DAsync"},
    {147, DeviceCallKind::kOther, "cudaStreamWaitEvent"},
    {152, DeviceCallKind::kAllocate, "cudaHostRegister"},
    {153, DeviceCallKind::kAllocate, "cudaHostUnregister"},
    {160, DeviceCallKind::kCopy, "cudaMemcpyPeer"},
    {161, DeviceCallKind::kCopy, "cudaMemcpyPeerAsync"},
    {162, DeviceCallKind::kCopy, "cudaMemcpy3DPeer"},
    {163, DeviceCallKind::kCopy, "cudaMemcpy3DPeerAsync"},
    {164, DeviceCallKind::kOther, "cudaDeviceReset"},
    {165, DeviceCallKind::kSync, "cudaDeviceSynchronize"},
    {206, DeviceCallKind::kAllocate, "cudaMallocManaged"},
    {211, DeviceCallKind::kLaunch, "cudaLaunchKernel"},
    {213, DeviceCallKind::kLaunch, "cudaLaunch"},
    {214, DeviceCallKind::kLaunch, "cudaLaunchKernel"},
    {215, DeviceCallKind::kCopy, "cudaMemcpy"},
    {216, DeviceCallKind::kCopy, "cudaMemcpy2D"},
    {223, DeviceCallKind::kCopy, "cudaMemcpyToSymbol"},
    {225, DeviceCallKind::kCopy, "cudaMemcpyAsync"},
    {228, DeviceCallKind::kCopy, "cudaMemcpy2DAsync"},
    {233, DeviceCallKind::kCopy, "cudaMemset"},
    {234, DeviceCallKind::kCopy, "cudaMemset2D"},
    {235, DeviceCallKind::kCopy, "cudaMemsetAsync"},
    {236, DeviceCallKind::kCopy, "cudaMemset2DAsync"},
    {239, DeviceCallKind::kSync, "cudaStreamSynchronize"},
    {240, DeviceCallKind::kOther, "cudaStreamQuery"},
    {242, DeviceCallKind::kOther, "cudaEventRecord"},
    {243, DeviceCallKind::kCopy, "cudaMemset3D"},
    {244, DeviceCallKind::kCopy, "cudaMemset3DAsync"},
    {245, DeviceCallKind::kCopy, "cudaMemcpy3D"},
    {246, DeviceCallKind::kCopy, "cudaMemcpy3DAsync"},
    {247, DeviceCallKind::kOther, "cudaStreamWaitEvent"},
    {249, DeviceCallKind::kCopy, "cudaMemcpy3DPeer"},
    {250, DeviceCallKind::kCopy, "cudaMemcpy3DPeerAsync"},
    {252, DeviceCallKind::kCopy, "cudaMemPrefetchAsync"},
    {253, DeviceCallKind::kCopy, "cudaMemPrefetchAsync"},
    {269, DeviceCallKind::kLaunch, "cudaLaunchCooperativeKernel"},
    {270, DeviceCallKind::kLaunch, "cudaLaunchCooperativeKernel"},
    {272, DeviceCallKind::kLaunch, "cudaLaunchCooperativeKernelMultiDevice"},
    {284, DeviceCallKind::kLaunch, "cudaLaunchHostFunc"},
    {285, DeviceCallKind::kLaunch, "cudaLaunchHostFunc"},
    {311, DeviceCallKind::kLaunch, "cudaGraphLaunch"},
    {312, DeviceCallKind::kLaunch, "cudaGraphLaunch"},
    {373, DeviceCallKind::kAllocate, "cudaMallocAsync"},
    {374, DeviceCallKind::kAllocate, "cudaMallocAsync"},
    {375, DeviceCallKind::kAllocate, "cudaFreeAsync"},
    {376, DeviceCallKind::kAllocate, "cudaFreeAsync"},
    {391, DeviceCallKind::kAllocate, "cudaMallocFromPoolAsync"},
    {392, DeviceCallKind::kAllocate, "cudaMallocFromPoolAsync"},
    {430, DeviceCallKind::kLaunch, "cudaLaunchKernelExC"},
    {431, DeviceCallKind::kLaunch, "cudaLaunchKernelExC"},
    {449, DeviceCallKind::kCopy, "cudaMemPrefetchAsync"},
    {450, DeviceCallKind::kCopy, "cudaMemPrefetchAsync"},
    {482, DeviceCallKind::kCopy, "cudaMemcpyBatchAsync"},
    {483, DeviceCallKind::kCopy, "cudaMemcpyBatchAsync"},
    {484, DeviceCallKind::kCopy, "cudaMemcpy3DBatchAsync"},
    {485, DeviceCallKind::kCopy, "cudaMemcpy3DBatchAsync"},
    {487, DeviceCallKind::kCopy, "cudaMemPrefetchBatchAsync"},
    {488, DeviceCallKind::kCopy, "cudaMemPrefetchBatchAsync"},
    {505, DeviceCallKind::kLaunch, "cudaLaunchKernel"},
    {506, DeviceCallKind::kLaunch, "cudaLaunchKernel"},
    {509, DeviceCallKind::kCopy, "cudaMemcpyBatchAsync"},
    {510, DeviceCallKind::kCopy, "cudaMemcpyBatchAsync"},
    {511, DeviceCallKind::kCopy, "cudaMemcpy3DBatchAsync"},
    {512, DeviceCallKind::kCopy, "cudaMemcpy3DBatchAsync"},
};

// Records of the driver's calls there are only of those that the agent asks for
// (agent/cupti/calls.h).
constexpr Call kDriver[] = {
    {17, DeviceCallKind::kSync, "cuCtxSynchronize"},
    {121, DeviceCallKind::kSync, "cuEventSynchronize"},
    {126, DeviceCallKind::kSync, "cuStreamSynchronize"},
    {216, DeviceCallKind::kCopy, "cuMemsetD8Async"},
    {220, DeviceCallKind::kCopy, "cuMemsetD32Async"},
    {243, DeviceCallKind::kAllocate, "cuMemAlloc"},
    {245, DeviceCallKind::kAllocate, "cuMemFree"},
    {249, DeviceCallKind::kCopy, "cuMemsetD8"},
    {251, DeviceCallKind::kCopy, "cuMemsetD32"},
    {276, DeviceCallKind::kCopy, "cuMemcpyHtoD"},
    {277, DeviceCallKind::kCopy, "cuMemcpyHtoDAsync"},
    {278, DeviceCallKind::kCopy, "cuMemcpyDtoH"},
    {279, DeviceCallKind::kCopy, "cuMemcpyDtoHAsync"},
    {280, DeviceCallKind::kCopy, "cuMemcpyDtoD"},
    {281, DeviceCallKind::kCopy, "cuMemcpyDtoDAsync"},
    {294, DeviceCallKind::kAllocate, "cuMemAllocHost"},
    {305, DeviceCallKind::kCopy, "cuMemcpy"},
    {306, DeviceCallKind::kCopy, "cuMemcpyAsync"},
    {307, DeviceCallKind::kLaunch, "cuLaunchKernel"},
    {318, DeviceCallKind::kCopy, "cuMemcpyPeer"},
    {319, DeviceCallKind::kCopy, "cuMemcpyPeerAsync"},
    {371, DeviceCallKind::kAllocate, "cuMemAllocManaged"},
    {408, DeviceCallKind::kCopy, "cuMemcpy"},
    {418, DeviceCallKind::kCopy, "cuMemcpyAsync"},
    {440, DeviceCallKind::kSync, "cuStreamSynchronize"},
    {442, DeviceCallKind::kLaunch, "cuLaunchKernel"},
    {477, DeviceCallKind::kLaunch, "cuLaunchCooperativeKernel"},
    {478, DeviceCallKind::kLaunch, "cuLaunchCooperativeKernel"},
    {514, DeviceCallKind::kLaunch, "cuGraphLaunch"},
    {515, DeviceCallKind::kLaunch, "cuGraphLaunch"},
    {598, DeviceCallKind::kAllocate, "cuMemAllocAsync"},
    {599, DeviceCallKind::kAllocate, "cuMemAllocAsync"},
    {600, DeviceCallKind::kAllocate, "cuMemFreeAsync"},
    {601, DeviceCallKind::kAllocate, "cuMemFreeAsync"},
    {652, DeviceCallKind::kLaunch, "cuLaunchKernelEx"},
    {653, DeviceCallKind::kLaunch, "cuLaunchKernelEx"},
    {776, DeviceCallKind::kCopy, "cuMemcpyBatchAsync"},
    {777, DeviceCallKind::kCopy, "cuMemcpyBatchAsync"},
    {796, DeviceCallKind::kCopy, "cuMemcpyBatchAsync"},
    {797, DeviceCallKind::kCopy, "cuMemcpyBatchAsync"},
    {800, DeviceCallKind::kSync, "cuCtxSynchronize"},
};

template <std::size_t N>
ActivityCall find(const Call (&calls)[N], std::uint32_t cbid) {
  const Call* call =
      std::lower_bound(std::begin(calls), std::end(calls), cbid,
                       [](const Call& c, std::uint32_t wanted) { return c.cbid < wanted; });
  if (call == std::end(calls) || call->cbid != cbid) return {DeviceCallKind::kOther, {}};
  return {call->kind, call->name};
}

}  // namespace

ActivityCall runtimeCall(std::uint32_t cbid) { return find(kRuntime, cbid); }
ActivityCall driverCall(std::uint32_t cbid) { return find(kDriver, cbid); }

}  // namespace stallprof
