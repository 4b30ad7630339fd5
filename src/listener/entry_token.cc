#include "listener/entry_token.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "wire/secret.h"

namespace dove::listener {
namespace {

constexpr std::string_view kBegin = "entry.";

// The next part of "a.b.c", which is cut off it.
std::string_view part_of(std::string_view& text) {
  const std::size_t end = text.find('.');
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string hex_of(std::string_view text) {
  std::string out;
  for (const char c : text) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<std::string> text_of_hex(std::string_view hex) {
  std::string out;
  if (hex.size() % 2 != 0) return std::nullopt;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&hex[at], &hex[at] + 2, value, 16);
    if (error != std::errc() || end != &hex[at] + 2) return std::nullopt;
    out += static_cast<char>(value);
  }
  return out;
}

}  // namespace

bool is_entry_token(std::string_view token) { return token.starts_with(kBegin); }

std::string write_entry_token(const Entry& entry, std::string_view seal_key) {
  const std::string said = fmt::format("{}{}.{}.{}.{}.{}", kBegin, entry.job.value, entry.ends.us,
                                       entry.is_root ? 1 : 0, entry.key, hex_of(entry.user));
  return said + "." + wire::hmac_sha256_hex(seal_key, said);
}

std::optional<Entry> read_entry_token(std::string_view token, std::string_view seal_key) {
  const std::size_t at = token.rfind('.');
  if (!is_entry_token(token) || at == std::string_view::npos) return std::nullopt;
  const std::string wanted = wire::hmac_sha256_hex(seal_key, token.substr(0, at));
  if (!wire::equal_constant_time(token.substr(at + 1), wanted)) return std::nullopt;
  std::string_view rest = token.substr(kBegin.size(), at - kBegin.size());
  Entry entry;
  const bool is_job = read_number(part_of(rest), entry.job.value);
  const bool is_end = read_number(part_of(rest), entry.ends.us);
  entry.is_root = part_of(rest) == "1";
  entry.key = part_of(rest);
  const auto user = text_of_hex(part_of(rest));
  if (!is_job || !is_end || !user) return std::nullopt;
  entry.user = *user;
  return entry;
}

}  // namespace dove::listener
