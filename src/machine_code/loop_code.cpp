// SPDX-License-Identifier: MIT
#include "machine_code/loop_code.h"

#include <algorithm>
#include <array>

#include "machine_code/code_patterns.h"

namespace stallprof {
namespace {

constexpr std::size_t kRegisters = 32;
constexpr std::size_t kMaxWalk = 4096;  // instructions until a place is met again
constexpr unsigned kMaxSums = 64;       // judged of one loop
constexpr unsigned kMaxLevels = 4;      // of loops around a place

// What a vector register holds, as walks along a loop's body know it.
struct Held {
  bool product = false;
  bool sum = false;  // of what lay at `from` and a product, or another number of memory
  std::uint64_t from = 0, orFrom = 0;  // loaded from there; 0: elsewhere
  int since = 0;                       // in that round the first product was added; 0: none was
};

// Follows products along the body of an innermost loop: what is still in a sum in the round after
// is carried from one turn to the next. The body may begin between a product and its sum: the first
// round only finds products.
class Sums {
 public:
  explicit Sums(const std::vector<Instruction>& body) {
    for (round_ = 1; round_ <= 3; ++round_)
      for (const Instruction& i : body) follow(i);
  }
  [[nodiscard]] LoopCode found() const {
    if (updates_) return LoopCode::kUpdates;
    return products_ ? LoopCode::kProducts : LoopCode::kUnknown;
  }

 private:
  using Is = Instruction::Is;
  static std::size_t at(std::int8_t reg) { return static_cast<std::size_t>(reg) % kRegisters; }
  static int earlier(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

  [[nodiscard]] Held held(std::int8_t reg, const Instruction& i) const {
    if (reg != Instruction::kNone) return held_[at(reg)];
    return {false, false, i.memoryStream()};
  }

  // A number and a product.
  Held sumOf(const Held& to) {
    products_ = products_ || (to.since != 0 && to.since < round_);
    return {false, to.from != 0, to.from, 0, earlier(to.since, round_)};
  }
  Held sumOf(const Held& left, const Held& right) {
    if (left.product != right.product) return sumOf(left.product ? right : left);
    const bool memory = left.from != 0 && right.from != 0 && left.from != right.from;
    Held sum;
    if (memory && !left.product) sum = {false, true, left.from, right.from};
    sum.product = left.product;
    sum.since = earlier(left.since, right.since);
    return sum;
  }

  void follow(const Instruction& i) {
    if (i.store) {
      const Held& what = held_[at(i.first)];
      const std::uint64_t to = i.memoryStream();
      const bool inPlace = what.from == to || what.orFrom == to;
      if (i.is == Is::kMove && what.sum && inPlace) (what.since != 0 ? updates_ : products_) = true;
    } else if (i.first != Instruction::kNone) {
      held_[at(i.first)] = resultOf(i);
    }
  }

  Held resultOf(const Instruction& i) {
    using Form = Instruction::Form;
    const Held second = held(i.second, i), third = held(i.third, i);
    Held result;
    switch (i.is) {
      case Is::kMove:
        return third;
      case Is::kMultiply:
        result.product = true;
        return result;
      case Is::kFused:
        return sumOf(i.form == Form::k231   ? held_[at(i.first)]
                     : i.form == Form::k213 ? third
                                            : second);
      case Is::kAdd:
        return sumOf(second, third);
      case Is::kOther:  // mixes the parts of registers
        if (i.second == Instruction::kNone) return result;
        result.product = second.product || third.product;
        result.since = earlier(second.since, third.since);
        return result;
      default:
        return result;
    }
  }

  std::array<Held, kRegisters> held_{};
  int round_ = 0;
  bool products_ = false, updates_ = false;
};

bool any(const std::vector<Instruction>& body, Instruction::Is is) {
  return std::any_of(body.begin(), body.end(), [&](const Instruction& i) { return i.is == is; });
}

}  // namespace

const Instruction* LoopCodes::decoded(std::uint64_t offset) {
  if (offset < begin_ || offset - begin_ >= code_.size()) return nullptr;
  const auto [found, fresh] = instructions_.try_emplace(offset);
  if (fresh) found->second = instructionAt(code_.substr(offset - begin_), offset);
  return found->second.length > 0 ? &found->second : nullptr;
}

bool LoopCodes::take(std::uint64_t steps) {
  const bool enough = steps <= steps_;
  steps_ = enough ? steps_ - steps : 0;
  return enough;
}

LoopCodes::Body LoopCodes::loopAround(std::uint64_t offset, Edges& left) {
  Body body;
  Edges taken;
  std::map<std::uint64_t, unsigned> met;
  std::uint64_t next = offset;
  for (std::size_t steps = 0; steps < kMaxWalk; ++steps) {
    const Instruction* i = take(1) ? decoded(next) : nullptr;
    if (i == nullptr || i->is == Instruction::Is::kEnd) return {};
    const unsigned times = ++met[next];
    if (times == 1) body.push_back(*i);
    next += i->length;
    if (i->is == Instruction::Is::kJump) next = i->target;
    if (i->is == Instruction::Is::kBranch) {
      if (times > 2) return {};
      const bool first = i->target <= i->at && !left.contains(i->at);
      if (first == (times == 1)) next = i->target;
      if (first && times == 1)
        taken.insert(i->at);
      else
        taken.erase(i->at);
    }
    if (next != offset) continue;
    left.insert(taken.begin(), taken.end());
    return body;
  }
  return {};
}

bool LoopCodes::draws(const Body& body) const {
  std::uint64_t first = body.front().at, last = first;
  for (const Instruction& i : body) {
    first = std::min(first, i.at);
    last = std::max(last, i.at + i.length);
  }
  return drawsRandomNumbers(code_.substr(first - begin_, last - first));
}

// Nothing where it calls, which may be anything, or converts or draws what it sums.
LoopCode LoopCodes::sumsIn(const Body& body) {
  // Three rounds, and every 16 bytes for each of the generators' constants.
  if (body.empty() || !take(4 * body.size() + kReach / 16) || any(body, Instruction::Is::kCall) ||
      any(body, Instruction::Is::kConvert) || draws(body))
    return LoopCode::kUnknown;
  return Sums(body).found();
}

LoopCode LoopCodes::codeOf(const Body& body) {
  LoopCode sums = LoopCode::kUnknown;
  unsigned additions = 0;
  bool bytes = false, numbers = false;
  for (const Instruction& i : body) {
    bytes = bytes || i.byte;
    numbers = numbers || i.floats() || i.integers;
    if ((i.is != Instruction::Is::kAdd && i.is != Instruction::Is::kFused) ||
        ++additions > kMaxSums)
      continue;
    const auto [known, fresh] = sums_.try_emplace(i.at, LoopCode::kUnknown);
    Edges left;
    if (fresh) known->second = sumsIn(loopAround(i.at, left));
    if (known->second != LoopCode::kUnknown && sums != LoopCode::kUpdates) sums = known->second;
  }
  if (bytes && numbers) return LoopCode::kUnknown;
  return bytes ? LoopCode::kBytes : sums;
}

LoopCode LoopCodes::at(std::uint64_t offset) {
  Edges left;
  for (unsigned level = 0; level < kMaxLevels; ++level) {
    const Body body = loopAround(offset, left);
    if (body.empty()) break;
    if (const LoopCode code = codeOf(body); code != LoopCode::kUnknown) return code;
  }
  return LoopCode::kUnknown;
}

}  // namespace stallprof
