// SPDX-License-Identifier: MIT
//
// Our own declarations of CUPTI's and NVTX's interfaces, against the real headers where there are
// any. What is wrong here does not compile.
#include <type_traits>

#include "agent/cupti/calls.h"
#include "agent/cupti/cupti_abi.h"
#include "agent/nvtx/nvtx_abi.h"
#include "tests/catch.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#endif
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#endif

namespace stallprof::agent {

// Ours and theirs are different types of the same numbers.
constexpr bool same(auto ours, auto theirs) {
  return static_cast<std::int64_t>(ours) == static_cast<std::int64_t>(theirs);
}

static_assert(sizeof(NvtxAttributes) == kNvtxAttributesBytes);
static_assert(offsetof(cupti::KernelRecord, name) == 104);

#ifdef CUPTI_API_VERSION
static_assert(same(cupti::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY) &&
              same(cupti::kMemset, CUPTI_ACTIVITY_KIND_MEMSET) &&
              same(cupti::kKernel, CUPTI_ACTIVITY_KIND_KERNEL) &&
              same(cupti::kDriver, CUPTI_ACTIVITY_KIND_DRIVER) &&
              same(cupti::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME) &&
              same(cupti::kDevice, CUPTI_ACTIVITY_KIND_DEVICE) &&
              same(cupti::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) &&
              same(cupti::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD) &&
              same(cupti::kMemcpy2, CUPTI_ACTIVITY_KIND_MEMCPY2) &&
              same(cupti::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) &&
              same(cupti::kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
static_assert(same(kAttributeZeroedBuffers, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) &&
              same(kAttributeHostPinned, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED) &&
              same(kAttributePerThreadBuffer, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER));
static_assert(same(kDomainDriver, CUPTI_CB_DOMAIN_DRIVER_API) &&
              same(kDomainRuntime, CUPTI_CB_DOMAIN_RUNTIME_API) &&
              same(kDomainResource, CUPTI_CB_DOMAIN_RESOURCE) &&
              same(kDomainState, CUPTI_CB_DOMAIN_STATE));
static_assert(same(kResourceContextCreated, CUPTI_CBID_RESOURCE_CONTEXT_CREATED) &&
              same(kStateFatalError, CUPTI_CBID_STATE_FATAL_ERROR) &&
              same(kStateError, CUPTI_CBID_STATE_ERROR) &&
              same(kRuntimeDeviceReset, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020));
static_assert(same(kCuptiNotInitialized, CUPTI_ERROR_NOT_INITIALIZED) &&
              same(kCuptiNoMoreRecords, CUPTI_ERROR_MAX_LIMIT_REACHED) &&
              same(kCuptiInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) &&
              same(kCuptiMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED));
static_assert(same(kThreadIdOfSystem, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) &&
              same(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
static_assert(offsetof(cupti::KernelRecord, start) == offsetof(CUpti_ActivityKernel5, start) &&
              offsetof(cupti::KernelRecord, end) == offsetof(CUpti_ActivityKernel5, end) &&
              offsetof(cupti::KernelRecord, device) == offsetof(CUpti_ActivityKernel5, deviceId) &&
              offsetof(cupti::KernelRecord, correlation) ==
                  offsetof(CUpti_ActivityKernel5, correlationId) &&
              offsetof(cupti::KernelRecord, name) == offsetof(CUpti_ActivityKernel5, name));
static_assert(offsetof(cupti::KernelRecord, grid) == offsetof(CUpti_ActivityKernel5, gridX) &&
              offsetof(cupti::KernelRecord, block) == offsetof(CUpti_ActivityKernel5, blockX));
static_assert(offsetof(cupti::MemcpyRecord, targetKind) ==
                  offsetof(CUpti_ActivityMemcpy5, dstKind) &&
              offsetof(cupti::MemcpyRecord, correlation) ==
                  offsetof(CUpti_ActivityMemcpy5, correlationId));
static_assert(offsetof(cupti::PeerCopyRecord, start) ==
                  offsetof(CUpti_ActivityMemcpyPtoP4, start) &&
              offsetof(cupti::PeerCopyRecord, correlation) ==
                  offsetof(CUpti_ActivityMemcpyPtoP4, correlationId));
static_assert(offsetof(cupti::MemsetRecord, memoryKind) ==
              offsetof(CUpti_ActivityMemset4, memoryKind));
static_assert(offsetof(cupti::CallRecord, thread) == offsetof(CUpti_ActivityAPI, threadId) &&
              offsetof(cupti::CallRecord, correlation) ==
                  offsetof(CUpti_ActivityAPI, correlationId));
static_assert(offsetof(cupti::GraphRecord, stream) == offsetof(CUpti_ActivityGraphTrace, streamId));
static_assert(offsetof(cupti::DeviceRecord, multiprocessors) ==
                  offsetof(CUpti_ActivityDevice4, numMultiprocessors) &&
              offsetof(cupti::DeviceRecord, uuid) == offsetof(CUpti_ActivityDevice4, uuid) &&
              offsetof(cupti::DeviceRecord, name) == offsetof(CUpti_ActivityDevice4, name) &&
              sizeof(cupti::DeviceRecord) + offsetof(cupti::DeviceMigPart, uuid) ==
                  offsetof(CUpti_ActivityDevice4, migUuid));
static_assert(offsetof(CallbackData, site) == offsetof(CUpti_CallbackData, callbackSite) &&
              CUPTI_API_EXIT == 1);
static_assert(sizeof(StateData) == sizeof(CUpti_StateData));
static_assert(sizeof(SubscriberParams) == sizeof(CUpti_SubscriberParams) &&
              offsetof(SubscriberParams, oldSubscriberName) ==
                  offsetof(CUpti_SubscriberParams, oldSubscriberName));
static_assert(sizeof(CuptiResult) == sizeof(CUptiResult));

template <std::size_t N>
constexpr bool has(const std::uint16_t (&calls)[N], int call) {
  for (const int c : calls)
    if (c == call) return true;
  return false;
}
static_assert(has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020) &&
              has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020) &&
              !has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020) &&
              !has(kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020));
static_assert(has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async) &&
              has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync) &&
              !has(kDriverCalls, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent));

static_assert(std::is_same_v<BufferRequested, CUpti_BuffersCallbackRequestFunc>);
// Enums are passed as the integers that they are.
static_assert(sizeof(CUpti_ActivityKind) == sizeof(std::uint32_t) &&
              sizeof(CUpti_ActivityAttribute) == sizeof(std::uint32_t) &&
              sizeof(CUpti_CallbackId) == sizeof(std::uint32_t) &&
              sizeof(CUpti_CallbackDomain) == sizeof(std::uint32_t));
#endif

#ifdef NVTX_VERSION
static_assert(kNvtxAttributesBytes == sizeof(nvtxEventAttributes_t) &&
              offsetof(NvtxAttributes, category) == offsetof(nvtxEventAttributes_t, category) &&
              offsetof(NvtxAttributes, payloadType) ==
                  offsetof(nvtxEventAttributes_t, payloadType) &&
              offsetof(NvtxAttributes, payload) == offsetof(nvtxEventAttributes_t, payload) &&
              offsetof(NvtxAttributes, messageType) ==
                  offsetof(nvtxEventAttributes_t, messageType) &&
              offsetof(NvtxAttributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(same(kNvtxCallbacks, NVTX_ETID_CALLBACKS) && same(kNvtxCore, NVTX_CB_MODULE_CORE) &&
              same(kNvtxCore2, NVTX_CB_MODULE_CORE2));
static_assert(same(kMarkEx, NVTX_CBID_CORE_MarkEx) && same(kRangeEnd, NVTX_CBID_CORE_RangeEnd) &&
              same(kRangePop, NVTX_CBID_CORE_RangePop) &&
              same(kNameCategoryW, NVTX_CBID_CORE_NameCategoryW));
static_assert(same(kDomainMarkEx, NVTX_CBID_CORE2_DomainMarkEx) &&
              same(kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop) &&
              same(kDomainNameCategoryA, NVTX_CBID_CORE2_DomainNameCategoryA) &&
              same(kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA) &&
              same(kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW));
static_assert(same(kMessageAscii, NVTX_MESSAGE_TYPE_ASCII) &&
              same(kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED));
static_assert(sizeof(NvtxCallbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(sizeof(NvtxPayload) == sizeof(nvtxPayloadData_t) &&
              offsetof(NvtxPayload, size) == offsetof(nvtxPayloadData_t, size) &&
              offsetof(NvtxPayload, data) == offsetof(nvtxPayloadData_t, payload));
static_assert(sizeof(NvtxSchemaEntry) == sizeof(nvtxPayloadSchemaEntry_t) &&
              offsetof(NvtxSchemaEntry, type) == offsetof(nvtxPayloadSchemaEntry_t, type) &&
              offsetof(NvtxSchemaEntry, name) == offsetof(nvtxPayloadSchemaEntry_t, name) &&
              offsetof(NvtxSchemaEntry, offset) == offsetof(nvtxPayloadSchemaEntry_t, offset));
static_assert(sizeof(NvtxSchema) == sizeof(nvtxPayloadSchemaAttr_t) &&
              offsetof(NvtxSchema, entries) == offsetof(nvtxPayloadSchemaAttr_t, entries) &&
              offsetof(NvtxSchema, count) == offsetof(nvtxPayloadSchemaAttr_t, numEntries) &&
              offsetof(NvtxSchema, id) == offsetof(nvtxPayloadSchemaAttr_t, schemaId));
static_assert(sizeof(NvtxModuleInfo) == sizeof(nvtxExtModuleInfo_t) &&
              offsetof(NvtxModuleInfo, module) == offsetof(nvtxExtModuleInfo_t, moduleId) &&
              offsetof(NvtxModuleInfo, segment) == offsetof(nvtxExtModuleInfo_t, segments) &&
              offsetof(NvtxSegment, functions) == offsetof(nvtxExtModuleSegment_t, functionSlots));
static_assert(same(kNvtxPayloadModule, NVTX_EXT_PAYLOAD_MODULEID) &&
              same(kSchemaRegister, NVTX3EXT_CBID_nvtxPayloadSchemaRegister) &&
              same(kDomainIsEnabled, NVTX3EXT_CBID_nvtxDomainIsEnabled) &&
              same(kEntryUint32, NVTX_PAYLOAD_ENTRY_TYPE_UINT32) &&
              same(kEntryInt64, NVTX_PAYLOAD_ENTRY_TYPE_INT64) &&
              same(kEntryUint64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64) &&
              same(kEntrySize, NVTX_PAYLOAD_ENTRY_TYPE_SIZE) &&
              same(kSchemaHasId, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) &&
              same(kSchemaEntries, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES) &&
              same(kDynamicSchemas, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START));
#endif

TEST_CASE("our declarations of CUPTI were compared with its header") {
#ifndef CUPTI_API_VERSION
  testing::skipTest("no cupti.h of the toolkit or of scripts/setup");
#endif
}

TEST_CASE("our declarations of NVTX were compared with its header") {
#ifndef NVTX_VERSION
  testing::skipTest("no nvToolsExt.h of the toolkit or of scripts/setup");
#endif
}

}  // namespace stallprof::agent
