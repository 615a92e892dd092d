// SPDX-License-Identifier: MIT
#pragma once

#include "recording/storage.h"
#include "recording/writer.h"

namespace stallprof {

// Writer::create on another file system; `storage` must outlive the writer. For tests.
[[nodiscard]] Result<std::unique_ptr<Writer>> createWriter(const std::string& directory,
                                                           const Manifest& manifest,
                                                           const Writer::Options& options,
                                                           Storage& storage);

}  // namespace stallprof
