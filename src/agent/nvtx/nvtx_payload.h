// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "agent/nvtx/nvtx_abi.h"
#include "agent/nvtx/nvtx_names.h"

namespace stallprof::agent {

// What libraries attach to their ranges: blobs, laid out by schemas that they register first. Read
// of them is the one number that NCCL's say: an entry named "Message size [bytes]" or so.

// Keeps where a schema of `domain` has its bytes, if it has; the schema's id, new where it has none
// of its own.
std::uint64_t keepSchema(const NvtxDomain* domain, const NvtxSchema* schema);

// The bytes that the payloads of a range say; -1: none does.
std::int64_t payloadBytes(const NvtxDomain* domain, const NvtxAttributes& attributes);

}  // namespace stallprof::agent
