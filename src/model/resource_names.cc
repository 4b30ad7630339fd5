#include "model/resource_names.h"

#include <algorithm>

namespace dove {
namespace {

// ASCII alone: a locale must not change what counts.
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Takes digits off the front; whether there were some.
bool take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  // Four digits at most: no profile is larger, and no number can overflow.
  return end > 0 && end <= 4;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string model_key(std::string_view model) { return lower(model); }

std::string countable_name(std::string_view text) {
  std::string name = lower(text);
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != 0 && std::string_view("_.:/-").find(c) != std::string_view::npos);
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_good(c); }, '-');
  return name;
}

std::string licence_name(std::string_view slurms) { return "licence:" + countable_name(slurms); }

std::optional<std::string> slice_name(std::string_view text) {
  const std::string name = lower(text);
  std::string_view rest = name;
  // Names as Kubernetes ("nvidia.com/mig-1g.5gb") and Slurm write them.
  take_word(rest, "nvidia.com/");
  take_word(rest, "mig-");
  const std::string_view bare = rest;
  const bool well = take_digits(rest) && take_word(rest, "g.") && take_digits(rest) &&
                    take_word(rest, "gb") && (rest.empty() || rest == "+me");
  if (!well) return std::nullopt;
  return std::string(bare);
}

}  // namespace dove
