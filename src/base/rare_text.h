// RareText: a text that nearly all objects of a kind leave empty. It takes the room of a pointer
// (std::string: of four), which counts where there are millions of them.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace dove {

class RareText {
 public:
  RareText() = default;
  RareText(std::string text)  // NOLINT(google-explicit-constructor): it stands for a text
      : text_(text.empty() ? nullptr : std::make_unique<std::string>(std::move(text))) {}
  RareText(const RareText& other) : RareText(other.text()) {}
  RareText(RareText&&) noexcept = default;
  RareText& operator=(const RareText& other) { return *this = RareText(other); }
  RareText& operator=(RareText&&) noexcept = default;
  ~RareText() = default;

  bool empty() const { return text_ == nullptr; }
  const std::string& text() const {
    static const std::string kNone;
    return empty() ? kNone : *text_;
  }
  void clear() { text_.reset(); }
  friend bool operator==(const RareText& a, const RareText& b) { return a.text() == b.text(); }

 private:
  std::unique_ptr<std::string> text_;  // null: empty
};

}  // namespace dove
