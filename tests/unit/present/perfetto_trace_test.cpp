// SPDX-License-Identifier: MIT
#include "present/timeline/perfetto_trace.h"

#include "tests/trace_check/perfetto_fields.h"
#include "tests/unit/present/export_sample.h"

using namespace stallprof;
using namespace stallprof::samples;
using perfetto::Field;
using perfetto::Fields;
using perfetto::Message;

namespace {

Drawn drawPerfetto(const Sample& of, const TimelineOptions& options = {}) {
  return drawWith(writePerfettoTrace, of, options);
}

// A file of one process with one track, 7, and the events given.
class Small {
 public:
  Small() {
    put(Message().number(10, 1).number(13, 1).message(
        60, Message().number(1, 3).message(3, Message().number(1, 100).text(6, "python"))));
    track(7, Message().number(1, 7).number(5, 3).text(2, "main"));
  }
  Small& track(std::uint64_t, const Message& descriptor) {
    return put(Message().number(10, 1).message(60, descriptor));
  }
  Small& event(std::uint64_t at, std::uint64_t type, const char* name, std::uint64_t onTrack = 7) {
    Message event;
    event.number(9, type).number(11, onTrack);
    if (name != nullptr) event.text(23, name);
    return put(Message().number(8, at).number(10, 1).number(13, 2).message(11, event));
  }
  Small& put(const Message& packet) {
    bytes_ += Message().message(1, packet).bytes();
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

TEST_CASE("varints, zeros and text come back as they were written") {
  for (const std::uint64_t n : {0ull, 1ull, 127ull, 128ull, 300ull, 1ull << 32, ~0ull}) {
    const Message message = Message().number(5, n).text(11, "abc").fixed(47, n);
    Fields fields(message.bytes());
    Field field;
    REQUIRE(fields.next(field));
    CHECK((field.number == 5 && field.value == n));
    REQUIRE(fields.next(field));
    CHECK((field.number == 11 && field.bytes == "abc"));
    REQUIRE(fields.next(field));
    CHECK((field.number == 47 && field.value == n));
    CHECK_FALSE(fields.next(field));
    CHECK_FALSE(fields.broken());
  }
  CHECK(Message().number(1, 300).bytes() == "\x08\xac\x02");  // protobuf.dev, "Encoding"
}

TEST_CASE("bytes that are no message are reported, wherever they are cut") {
  const std::string whole = Message().number(5, 300).text(11, "abc").real(44, 1.5).bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Fields fields(std::string_view(whole).substr(0, length));
    std::size_t found = 0;
    for (Field field; fields.next(field);) ++found;
    CHECK(found < 3);
    CHECK(fields.broken() == (length != 0 && length != 3 && length != 8));
  }
}

TEST_CASE("the Perfetto trace of every golden recording passes the check, whole and bounded") {
  checkGoldens(writePerfettoTrace, "perfetto", [](const Drawn& drawn, const TraceCheck& found) {
    // A begin and an end a slice, two ends an arrow, a value a point, and the note on the file.
    CHECK(found.events >= 2 * drawn.written.summary.slices + drawn.written.summary.counters + 1);
  });
}

TEST_CASE("a Perfetto trace says the same slices as the Chrome trace, in fewer bytes") {
  const Sample& sample = sampleOf(everyKernel());
  const Drawn chrome = drawWith(writeChromeTrace, sample), perfetto = drawPerfetto(sample);
  CHECK(perfetto.written.summary.slices == chrome.written.summary.slices);
  CHECK(perfetto.written.summary.counters == chrome.written.summary.counters);
  CHECK(perfetto.text.size() < chrome.text.size() * 2 / 3);
}

TEST_CASE("names of the job cannot break a Perfetto trace") {
  const Drawn drawn = drawPerfetto(sampleOf(hostileText()));
  CHECK(firstProblem(check(drawn.text)) == "");  // reads every name
  CHECK(drawn.text.find("\x1b[31m") == std::string::npos);
  CHECK(drawn.text.find("\xe2\x80\xae") == std::string::npos);
  CHECK(drawn.text.find("\\x1b[31m</script>") != std::string::npos);  // it is there, harmless
}

TEST_CASE("the check takes slices that nest, and finds what Perfetto would drop") {
  const auto wrong = [](Small& small) { return firstProblem(check(small.bytes())); };
  const std::uint64_t kBegin = 1, kEnd = 2, kCounter = 4;
  CHECK(wrong(Small().event(10, kBegin, "a").event(20, kEnd, nullptr)) == "");
  // Out of order in the file: a viewer sorts by time.
  CHECK(wrong(Small()
                  .event(10, kBegin, "a")
                  .event(30, kEnd, nullptr)
                  .event(15, kBegin, "b")
                  .event(20, kEnd, nullptr)) == "");
  CHECK(wrong(Small().event(10, kEnd, nullptr)).find("end without a begin") != std::string::npos);
  CHECK(wrong(Small().event(10, kBegin, "a")).find("begin without an end") != std::string::npos);
  CHECK(wrong(Small().event(10, kBegin, nullptr).event(20, kEnd, nullptr)).find("without a name") !=
        std::string::npos);
  CHECK(
      wrong(Small().event(10, kBegin, "a", 8).event(20, kEnd, nullptr, 8)).find("no descriptor") !=
      std::string::npos);
  CHECK(wrong(Small().event(10, kCounter, nullptr)).find("counter without a value") !=
        std::string::npos);
  CHECK(wrong(Small().event(10, kBegin, "a\x1b").event(20, kEnd, nullptr)).find("control") !=
        std::string::npos);
  CHECK(wrong(Small().event(10, 0, "a")).find("without a type") != std::string::npos);
}

TEST_CASE("the check finds names by numbers that were not given, and arrows without an end") {
  const auto on7 = [] { return Message().number(9, 3).number(11, 7); };
  const auto at = [](std::uint64_t t, const Message& event) {
    return Message().number(8, t).number(10, 1).number(13, 2).message(11, event);
  };
  Small unknown;
  unknown.put(at(5, on7().number(10, 9)));
  CHECK(firstProblem(check(unknown.bytes())).find("nothing was given") != std::string::npos);
  Small half;
  half.put(at(5, on7().text(23, "a").fixed(47, 1)));
  CHECK(firstProblem(check(half.bytes())).find("has no end") != std::string::npos);
  half.put(at(6, on7().text(23, "b").fixed(48, 1)));
  CHECK(firstProblem(check(half.bytes())) == "");
  Small lost;  // of a writer that never said where it begins
  lost.put(Message().number(8, 5).number(10, 2).number(13, 2).message(11, on7().text(23, "a")));
  CHECK_FALSE(check(lost.bytes()).ok());
}

TEST_CASE("a Perfetto trace that is cut anywhere is reported, and nothing is read past its end") {
  const std::string whole = Small().event(10, 1, "a").event(20, 2, nullptr).bytes();
  REQUIRE(check(whole).ok());
  std::size_t reported = 0;
  for (std::size_t length = 1; length < whole.size(); ++length)
    reported += check(whole.substr(0, length)).ok() ? 0 : 1;
  CHECK(reported >= whole.size() - 4);  // but for a cut between packets
  for (std::size_t i = 1; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(~flipped[i]);
    (void)check(flipped);
  }
  CHECK_FALSE(check("\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").ok());
}
