// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "analysis/analysis.h"
#include "base/result.h"

namespace stallprof {

struct Picture;

// What a presentation may need beside the analysis itself.
struct PresentOptions {
  int width = 100;             // columns of a text report
  bool colour = false;         // never carries meaning alone
  std::string recording;       // path as the user gave it, for the next commands; may be empty
  Maybe<double> pricePerHour;  // repeated in the next commands
  const Picture* picture = nullptr;  // what html draws of single steps; null leaves that out
};

// One way to say an analysis. Writes the whole of it to `out` and never fails: errors are the
// stream's. The analysis and options must outlive the exporter.
class Exporter {
 public:
  virtual ~Exporter() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  // the word after --format
  virtual void write(std::ostream& out) const = 0;
};

// "text", "json", "md" or "html". kUsage for another word.
[[nodiscard]] Result<std::unique_ptr<Exporter>> makeExporter(std::string_view format,
                                                             const Analysis& analysis,
                                                             const PresentOptions& options);

}  // namespace stallprof
