#include "text/feature_expression.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace dove::text {
namespace {

constexpr std::size_t kWishesMax = 64;
constexpr std::size_t kWishBytesMax = 256;
constexpr int kDepthMax = 16;

struct Wish {
  std::set<std::string_view> features = {};  // one of them
  bool is_same_on_all = false;
};
using Wishes = std::vector<Wish>;  // all of them

std::size_t bytes_of(const Wish& wish) {
  std::size_t bytes = wish.features.size() - 1 + (wish.is_same_on_all ? 2 : 0);  // what joins them
  for (const std::string_view feature : wish.features) bytes += feature.size();
  return bytes;
}

// a&b or c = (a or c) & (b or c). None: that is too many.
std::optional<Wishes> either(const Wishes& left, const Wishes& right) {
  if (left.size() * right.size() > kWishesMax) return std::nullopt;
  Wishes all;
  for (const Wish& one : left) {
    for (const Wish& other : right) {
      if (one.is_same_on_all || other.is_same_on_all) return std::nullopt;
      Wish& wish = all.emplace_back(one);
      wish.features.insert(other.features.begin(), other.features.end());
      if (bytes_of(wish) > kWishBytesMax) return std::nullopt;
    }
  }
  return all;
}

std::string write(const Wish& wish) {
  std::string text;
  for (const std::string_view feature : wish.features) {
    if (!text.empty()) text += '|';
    text += feature;
  }
  return wish.is_same_on_all ? '[' + text + ']' : text;
}

// [a|b], and [a], which is a. None: there is more in the brackets.
std::optional<Wishes> same_on_all(Wishes inner) {
  if (inner.size() != 1 || inner[0].is_same_on_all) return std::nullopt;
  if (inner[0].features.size() > kChoicesMax) return std::nullopt;
  inner[0].is_same_on_all = inner[0].features.size() > 1;
  if (bytes_of(inner[0]) > kWishBytesMax) return std::nullopt;
  return inner;
}

// What is in the brackets of "[a|b]"; of anything else: all of it.
std::string_view without_brackets(std::string_view wish) {
  return is_same_on_all(wish) ? wish.substr(1, wish.size() - 2) : wish;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<std::vector<std::string>> read() {
    const std::optional<Wishes> wishes = sequence(0);
    if (!wishes || !rest_.empty()) return std::nullopt;
    std::vector<std::string> made;
    for (const Wish& wish : *wishes) {
      std::string text = write(wish);
      const bool is_known = std::find(made.begin(), made.end(), text) != made.end();
      if (!is_known) made.push_back(std::move(text));
    }
    return made;
  }

 private:
  // From the left, without precedence.
  std::optional<Wishes> sequence(int depth) {
    std::optional<Wishes> left = term(depth);
    while (left && !rest_.empty() && rest_[0] != ')' && rest_[0] != ']') {
      const char joint = take();
      std::optional<Wishes> right = term(depth);
      if (!right) return std::nullopt;
      if (joint == '|') {
        left = either(*left, *right);
      } else if ((joint == '&' || joint == ',') && left->size() + right->size() <= kWishesMax) {
        left->insert(left->end(), right->begin(), right->end());
      } else {
        return std::nullopt;
      }
    }
    return left;
  }

  std::optional<Wishes> term(int depth) {
    skip_spaces();
    if (rest_.empty() || depth > kDepthMax) return std::nullopt;
    if (rest_[0] != '(' && rest_[0] != '[') return feature();
    const char closing = take() == '(' ? ')' : ']';
    std::optional<Wishes> inner = sequence(depth + 1);
    if (!inner || rest_.empty() || take() != closing) return std::nullopt;
    skip_spaces();
    return closing == ']' ? same_on_all(std::move(*inner)) : inner;
  }

  std::optional<Wishes> feature() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of("&|,()[]"));
    rest_.remove_prefix(word.size());
    const std::string_view name = word.substr(0, word.find_last_not_of(' ') + 1);
    const bool is_plain = !name.empty() && name.find_first_of("*!") == std::string_view::npos;
    if (!is_plain || name.size() > kWishBytesMax) return std::nullopt;
    return Wishes{Wish{{name}}};
  }

  char take() {
    const char first = rest_[0];
    rest_.remove_prefix(1);
    return first;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<std::string>> read_feature_expression(std::string_view text) {
  return Parser(text).read();
}

std::string write_feature_expression(const std::vector<std::string>& wishes) {
  std::string text;
  for (const std::string& wish : wishes) {
    const bool is_joined =
        wishes.size() > 1 && wish.find('|') != std::string::npos && !is_same_on_all(wish);
    if (!text.empty()) text += '&';
    text += is_joined ? '(' + wish + ')' : wish;
  }
  return text;
}

bool wishes_for(std::string_view wish, std::string_view feature) {
  wish = without_brackets(wish);
  while (true) {
    const std::size_t end = wish.find('|');
    if (wish.substr(0, end) == feature) return true;
    if (end == std::string_view::npos) return false;
    wish.remove_prefix(end + 1);
  }
}

bool is_same_on_all(std::string_view wish) {
  return wish.starts_with('[') && wish.ends_with(']') && wish.find('|') != std::string_view::npos;
}

std::vector<std::string> features_of_wish(std::string_view wish) {
  std::vector<std::string> features;
  wish = without_brackets(wish);
  while (true) {
    const std::size_t end = wish.find('|');
    features.emplace_back(wish.substr(0, end));
    if (end == std::string_view::npos) return features;
    wish.remove_prefix(end + 1);
  }
}

}  // namespace dove::text
