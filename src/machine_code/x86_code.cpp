// SPDX-License-Identifier: MIT
#include "machine_code/x86_code.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace stallprof {
namespace {

constexpr std::size_t kLongestInstruction = 15;

// The encoding, before what it means.
struct Encoding {
  std::uint8_t map = 0, opcode = 0;  // 0: one byte; 1: 0F; 2: 0F 38; 3: 0F 3A; 5, 6: half floats
  std::uint8_t prefix = 0;           // 66, F2, F3 where they select the instruction
  bool operand16 = false, wide = false, vex = false, evex = false, shortAddress = false;
  std::uint8_t reg = 0, rm = 0, mod = 3, source = 0;  // `source`: VEX.vvvv
};

class Decoder {
 public:
  Decoder(std::string_view code, std::uint64_t at) : code_(code.substr(0, kLongestInstruction)) {
    instruction_.at = at;
  }

  Instruction run() {
    readPrefixes();
    readOpcode();
    if (hasModRm()) readModRm();
    const std::size_t immediate = immediateBytes();
    const std::size_t begin = next_;
    skip(immediate);
    if (cut_) return {};
    instruction_.length = static_cast<std::uint8_t>(next_);
    if (relativeMemory_)
      instruction_.memory = key(31, 31, 0, displacement_ + next_ + instruction_.at);
    findFlow(begin, immediate);
    findFloats();
    return instruction_;
  }

 private:
  using Is = Instruction::Is;

  std::uint8_t byte() {
    if (next_ >= code_.size()) cut_ = true;
    return cut_ ? 0 : static_cast<std::uint8_t>(code_[next_++]);
  }
  void skip(std::size_t bytes) {
    next_ += bytes;
    cut_ = cut_ || next_ > code_.size();
  }
  std::int64_t number(std::size_t begin, std::size_t bytes) const {
    std::int32_t four = 0;
    if (bytes == 1) return static_cast<signed char>(code_[begin]);
    std::memcpy(&four, code_.data() + begin, sizeof four);
    return four;
  }
  // Of places in memory: equal where base, index, scale and displacement are.
  static std::uint64_t key(unsigned base, unsigned index, unsigned scale, std::uint64_t offset) {
    return std::uint64_t{1} << 63 | std::uint64_t{base} << 52 | std::uint64_t{index} << 44 |
           std::uint64_t{scale} << 40 | (offset & 0xffffffff);
  }

  void readPrefixes() {
    for (std::uint8_t rex = 0; !cut_;) {
      const std::uint8_t b = byte();
      const bool repeats = b == 0xF2 || b == 0xF3;
      if (b == 0x66) e_.operand16 = true;
      if (b == 0x67) e_.shortAddress = true;
      if (repeats || (b == 0x66 && e_.prefix == 0)) e_.prefix = b;
      const bool segment =
          b == 0x26 || b == 0x2E || b == 0x36 || b == 0x3E || b == 0x64 || b == 0x65;
      if (repeats || segment || b == 0x66 || b == 0x67 || b == 0xF0) {
        rex = 0;
        continue;
      }
      if ((b & 0xF0) == 0x40) {
        rex = b;
        continue;
      }
      wideBits(rex);
      e_.opcode = b;
      return;
    }
  }
  void wideBits(std::uint8_t rex) {
    e_.wide = (rex & 8) != 0;
    regHigh_ = (rex & 4) != 0 ? 8 : 0;
    indexHigh_ = (rex & 2) != 0 ? 8 : 0;
    baseHigh_ = (rex & 1) != 0 ? 8 : 0;
  }

  void readOpcode() {
    if (e_.opcode == 0xC4 || e_.opcode == 0xC5) return readVex();
    if (e_.opcode == 0x62) return readEvex();
    if (e_.opcode != 0x0F) return;
    e_.map = 1;
    e_.opcode = byte();
    if (e_.opcode != 0x38 && e_.opcode != 0x3A) return;
    e_.map = e_.opcode == 0x38 ? 2 : 3;
    e_.opcode = byte();
  }
  // The bits of VEX and EVEX are inverted.
  void readVex() {
    const bool three = e_.opcode == 0xC4;
    std::uint8_t b = byte(), rex = (b & 0x80) == 0 ? 4 : 0;
    e_.map = three ? b & 0x1F : 1;
    if (three) {
      rex |= ((b & 0x40) == 0 ? 2 : 0) | ((b & 0x20) == 0 ? 1 : 0);
      b = byte();
      rex |= (b & 0x80) != 0 ? 8 : 0;
    }
    wideBits(rex);
    e_.vex = true;
    readLast(b);
  }
  void readEvex() {
    const std::uint8_t first = byte(), second = byte(), third = byte();
    const bool vectorIndex = (first & 0x40) == 0;
    wideBits(((first & 0x80) == 0 ? 4 : 0) | (vectorIndex ? 2 : 0) | ((first & 0x20) == 0 ? 1 : 0) |
             ((second & 0x80) != 0 ? 8 : 0));
    if ((first & 0x10) == 0) regHigh_ += 16;
    e_.map = first & 7;
    e_.vex = e_.evex = true;
    readLast(second);
    if ((third & 8) == 0) e_.source |= 16;
  }
  void readLast(std::uint8_t b) {
    constexpr std::uint8_t kPrefixes[] = {0, 0x66, 0xF3, 0xF2};
    e_.source = (~b >> 3) & 15;
    e_.prefix = kPrefixes[b & 3];
    e_.opcode = byte();
    if (e_.map == 0 || e_.map == 4 || e_.map > 6) cut_ = true;
  }

  [[nodiscard]] bool hasModRm() const {
    const std::uint8_t o = e_.opcode;
    if (e_.vex) return e_.map != 1 || o != 0x77;
    if (e_.map > 1) return true;
    if (e_.map == 1)
      return !((o >= 0x05 && o <= 0x0B && o != 0x0A) || o == 0x0E || (o >= 0x30 && o <= 0x37) ||
               o == 0x77 || (o >= 0x80 && o <= 0x8F) || (o >= 0xA0 && o <= 0xA2) ||
               (o >= 0xA8 && o <= 0xAA) || o >= 0xC8) ||
             (o >= 0xD0);
    if (o < 0x40) return (o & 7) < 4;
    return o == 0x63 || o == 0x69 || o == 0x6B || (o >= 0x80 && o <= 0x8F) || o == 0xC0 ||
           o == 0xC1 || o == 0xC6 || o == 0xC7 || (o >= 0xD0 && o <= 0xD3) ||
           (o >= 0xD8 && o <= 0xDF) || o == 0xF6 || o == 0xF7 || o >= 0xFE;
  }

  void readModRm() {
    const std::uint8_t b = byte();
    e_.mod = b >> 6;
    low_ = (b >> 3) & 7;
    e_.reg = low_ + regHigh_;
    e_.rm = (b & 7) + baseHigh_;
    if (e_.mod == 3) {
      if (e_.evex && indexHigh_ != 0) e_.rm |= 16;
      return;
    }
    unsigned base = e_.rm, index = 30, scale = 0, bytes = e_.mod == 1 ? 1 : e_.mod == 2 ? 4 : 0;
    relativeMemory_ = e_.mod == 0 && (b & 7) == 5;
    if ((b & 7) == 4) {
      const std::uint8_t sib = byte();
      scale = sib >> 6;
      index = ((sib >> 3) & 7) + indexHigh_;
      base = (sib & 7) + baseHigh_;
      if (e_.mod == 0 && (sib & 7) == 5) {
        bytes = 4;
        base = 30;
      }
    }
    if (relativeMemory_) bytes = 4;
    const std::size_t begin = next_;
    skip(bytes);
    if (cut_) return;
    displacement_ = static_cast<std::uint64_t>(bytes > 0 ? number(begin, bytes) : 0);
    instruction_.memory = key(base, index, scale, displacement_);
    instruction_.indexed = index != 30 && index != 4;  // 4: no index
    instruction_.fixed =
        relativeMemory_ || (!instruction_.indexed && (base == 4 || base == 5 || base == 30));
  }

  [[nodiscard]] std::size_t immediateBytes() const {
    const std::uint8_t o = e_.opcode;
    const std::size_t full = e_.operand16 && !e_.wide ? 2 : 4;
    if (e_.map == 3) return 1;
    if (e_.map > 1) return 0;
    if (e_.map == 1) {
      if (!e_.vex && o >= 0x80 && o <= 0x8F) return 4;
      const bool one = (o >= 0x70 && o <= 0x73) || o == 0xC2 || (o >= 0xC4 && o <= 0xC6) ||
                       (!e_.vex && (o == 0xA4 || o == 0xAC || o == 0xBA));
      return one ? 1 : 0;
    }
    if (o < 0x40) return (o & 7) == 4 ? 1 : (o & 7) == 5 ? full : 0;
    if (o >= 0xA0 && o <= 0xA3) return e_.shortAddress ? 4 : 8;
    if (o >= 0xB8 && o <= 0xBF) return e_.wide ? 8 : full;
    switch (o) {
      case 0x68:
      case 0x69:
      case 0x81:
      case 0xA9:
      case 0xC7:
        return full;
      case 0xE8:
      case 0xE9:
        return 4;
      case 0xC2:
      case 0xCA:
        return 2;
      case 0xC8:
        return 3;
      case 0xF6:
        return low_ < 2 ? 1 : 0;
      case 0xF7:
        return low_ < 2 ? full : 0;
      case 0x6A:
      case 0x6B:
      case 0x80:
      case 0x83:
      case 0xA8:
      case 0xC0:
      case 0xC1:
      case 0xC6:
      case 0xCD:
      case 0xEB:
      case 0xD4:
      case 0xD5:
        return 1;
      default:
        return (o >= 0x70 && o <= 0x7F) || (o >= 0xB0 && o <= 0xB7) || (o >= 0xE0 && o <= 0xE7) ? 1
                                                                                                : 0;
    }
  }

  void findFlow(std::size_t begin, std::size_t bytes) {
    const std::uint8_t o = e_.opcode;
    const auto to = [&](Is is) {
      instruction_.is = is;
      instruction_.target =
          instruction_.at + next_ + static_cast<std::uint64_t>(number(begin, bytes));
    };
    if (e_.vex) return;
    if (e_.map == 1) {
      if (o >= 0x80 && o <= 0x8F) to(Is::kBranch);
      if (o == 0x0B) instruction_.is = Is::kEnd;
      instruction_.integers = o == 0xAF;
      return readsByte(o == 0xB6 || o == 0xBE);
    }
    if (e_.map != 0) return;
    if ((o >= 0x70 && o <= 0x7F) || (o >= 0xE0 && o <= 0xE3)) return to(Is::kBranch);
    if (o == 0xE9 || o == 0xEB) return to(Is::kJump);
    const bool callsBy = o == 0xFF && (low_ == 2 || low_ == 3),
               jumpsBy = o == 0xFF && (low_ == 4 || low_ == 5);
    if (o == 0xE8 || callsBy) instruction_.is = Is::kCall;
    if (jumpsBy || o == 0xC2 || o == 0xC3 || o == 0xCA || o == 0xCB || o == 0xCC || o == 0xF4)
      instruction_.is = Is::kEnd;
    instruction_.integers = (o == 0xF6 || o == 0xF7) && (low_ == 4 || low_ == 5);
    // mov, cmp, add... between an 8-bit register or number and memory
    const bool arithmetic = o < 0x40 && ((o & 7) == 0 || (o & 7) == 2);
    readsByte(arithmetic || o == 0x8A || o == 0x80 || o == 0x84 || (o == 0xF6 && low_ < 2));
  }
  void readsByte(bool reads) {
    instruction_.byte = reads && instruction_.memory != 0 && !instruction_.fixed;
  }

  // Whether ModRM.reg is a vector register that is written, or stored.
  [[nodiscard]] bool ofVectors() const {
    const std::uint8_t o = e_.opcode;
    if (e_.map == 0) return false;
    if (e_.map == 2) return e_.prefix == 0 || e_.prefix == 0x66 ? o < 0xF0 : e_.evex;
    if (e_.map != 1) return e_.map != 3 || (o < 0xF0 && !(o >= 0x14 && o <= 0x17));
    if (o == 0x2C || o == 0x2D || o == 0x2E || o == 0x2F || o == 0x50 || o == 0xC5 || o == 0xD7 ||
        o == 0x77)
      return false;
    return (o >= 0x10 && o <= 0x17) || (o >= 0x28 && o <= 0x2A) || (o >= 0x51 && o <= 0x7F) ||
           (o >= 0xC2 && o <= 0xC6 && o != 0xC3) || o >= 0xD0;
  }

  void findFloats() {
    if (!ofVectors()) {
      if (e_.map == 1 && (e_.opcode == 0x2E || e_.opcode == 0x2F)) instruction_.is = Is::kFloat;
      return;
    }
    const bool memory = e_.mod != 3;
    instruction_.first = static_cast<std::int8_t>(e_.reg);
    instruction_.second = static_cast<std::int8_t>(e_.vex ? e_.source : e_.reg);
    instruction_.third = memory ? Instruction::kNone : static_cast<std::int8_t>(e_.rm);
    if (e_.map == 1) instruction_.is = kindOfFirstMap();
    // xor of a register with itself: zero.
    if (e_.map == 1 && (e_.opcode == 0x57 || e_.opcode == 0xEF) &&
        instruction_.second == instruction_.third)
      instruction_.second = instruction_.third = Instruction::kNone;
    if (e_.map == 2) kindOfSecondMap();
    // A scalar move between registers keeps the rest of one: it has a second source like others.
    if (instruction_.is != Is::kMove || instruction_.store || memory) return;
    if (instruction_.third != Instruction::kNone && stores_)
      std::swap(instruction_.first, instruction_.third);
  }

  Is kindOfFirstMap() {
    const std::uint8_t o = e_.opcode;
    stores_ = o == 0x11 || o == 0x13 || o == 0x17 || o == 0x29 || o == 0x2B || o == 0x7F ||
              o == 0xD6 || o == 0xE7 || (o == 0x7E && e_.prefix != 0xF3);
    instruction_.store = stores_ && e_.mod != 3;
    if (o == 0x7E && stores_ && e_.mod == 3) instruction_.third = Instruction::kNone;
    if (stores_ || o == 0x10 || o == 0x12 || o == 0x16 || o == 0x28 || o == 0x6E || o == 0x6F ||
        o == 0x7E)
      return Is::kMove;
    if (o == 0x58 || o == 0x5C) return Is::kAdd;
    if (o == 0x59) return Is::kMultiply;
    if ((o >= 0x51 && o <= 0x53) || o == 0x5A || (o >= 0x5D && o <= 0x5F) || o == 0xC2)
      return Is::kFloat;
    const bool converts =
        o == 0x2A || (o == 0x5B && e_.prefix == 0) || (o == 0xE6 && e_.prefix == 0xF3);
    return converts ? Is::kConvert : Is::kOther;
  }

  void kindOfSecondMap() {
    const unsigned o = e_.opcode, low = o & 15;
    if (!e_.vex || e_.prefix != 0x66) return;
    if (o >= 0x96 && o <= 0xBF && low >= 6) {
      constexpr Instruction::Form kForms[] = {Instruction::Form::k132, Instruction::Form::k213,
                                              Instruction::Form::k231};
      instruction_.is = Is::kFused;
      instruction_.form = kForms[(o >> 4) - 9];
    }
    if ((o >= 0x18 && o <= 0x1A) || (o >= 0x58 && o <= 0x5A)) instruction_.is = Is::kMove;
  }

  const std::string_view code_;
  Instruction instruction_;
  Encoding e_;
  std::size_t next_ = 0;
  std::uint64_t displacement_ = 0;
  std::uint8_t regHigh_ = 0, indexHigh_ = 0, baseHigh_ = 0, low_ = 0;
  bool cut_ = false, relativeMemory_ = false, stores_ = false;
};

}  // namespace

Instruction instructionAt(std::string_view code, std::uint64_t at) {
  return Decoder(code, at).run();
}

}  // namespace stallprof
