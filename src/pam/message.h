// What passes between ask() and `dove check-password`: texts, each with a NUL behind it. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dove::pam {

inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out.append(part).push_back('\0');
  return out;
}

// Empty when it does not end as it should.
inline std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out;
  if (!text.ends_with('\0')) return out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace dove::pam
