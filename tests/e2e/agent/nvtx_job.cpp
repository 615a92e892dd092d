// SPDX-License-Identifier: MIT
//
// A program with NVTX's own headers in it: ranges of each form, as a training has them.
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

int main() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("Loader");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "decode");
  for (int i = 0; i < 5; ++i) {
    nvtxRangePushA("step");
    nvtxRangePushA("transform");
    nvtxDomainRangePushEx(domain, &attributes);
    usleep(1000);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    const nvtxRangeId_t id = nvtxRangeStartA("forward");
    nvtxRangeEnd(id);
    nvtxRangePop();
  }
  nvtxMarkA("done");
  return 0;
}
