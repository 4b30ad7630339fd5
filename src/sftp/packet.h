// Packets of SFTP, version 3 (draft-ietf-secsh-filexfer-02): numbers and texts in the order of the
// network. A Reader that runs out of bytes says so at the end, and gives zeros until then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dove::sftp {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t number64() { return number(8); }
  std::string_view text() {
    const std::uint32_t size = number32();
    if (size > bytes_.size()) {
      is_good_ = false;
      return {};
    }
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  // A text that the system can take for a path.
  std::string path() {
    const std::string_view given = text();
    if (given.find('\0') != std::string_view::npos) is_good_ = false;
    return given.empty() ? "." : std::string(given);
  }
  bool is_good() const { return is_good_; }

 private:
  std::uint64_t number(std::size_t size) {
    if (size > bytes_.size()) {
      is_good_ = false;
      bytes_ = {};
      return 0;
    }
    std::uint64_t out = 0;
    for (const char c : bytes_.substr(0, size)) out = out << 8 | static_cast<unsigned char>(c);
    bytes_.remove_prefix(size);
    return out;
  }

  std::string_view bytes_;
  bool is_good_ = true;
};

// One packet after the other, each whole when end() was called.
class Writer {
 public:
  void begin(std::uint8_t type) {
    begin_ = out_.size();
    number(0, 4);
    byte(type);
  }
  void end() {
    const std::uint64_t size = out_.size() - begin_ - 4;
    for (int i = 0; i < 4; ++i) out_[begin_ + i] = static_cast<char>(size >> (8 * (3 - i)));
  }
  void byte(std::uint8_t value) { number(value, 1); }
  void number32(std::uint64_t value) { number(value, 4); }
  void number64(std::uint64_t value) { number(value, 8); }
  void text(std::string_view value) {
    number32(value.size());
    out_.append(value);
  }
  // Room for a text of at most `size` bytes, which cut_text() then makes as long as it is.
  char* room(std::size_t size) {
    number32(size);
    text_ = out_.size();
    out_.resize(text_ + size);
    return out_.data() + text_;
  }
  void cut_text(std::size_t size) {
    out_.resize(text_ + size);
    for (int i = 0; i < 4; ++i) out_[text_ - 4 + i] = static_cast<char>(size >> (8 * (3 - i)));
  }
  void drop() { out_.resize(begin_); }

  std::string& bytes() { return out_; }

 private:
  void number(std::uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) out_.push_back(static_cast<char>(value >> (8 * i)));
  }

  std::string out_;
  std::size_t begin_ = 0;
  std::size_t text_ = 0;
};

}  // namespace dove::sftp
