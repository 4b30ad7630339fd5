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

using Wish = std::set<std::string_view>;  // one of them
using Wishes = std::vector<Wish>;         // all of them

std::size_t bytes_of(const Wish& wish) {
  std::size_t bytes = wish.size() - 1;  // the bars
  for (const std::string_view feature : wish) bytes += feature.size();
  return bytes;
}

// a&b or c = (a or c) & (b or c). None: that is too many.
std::optional<Wishes> either(const Wishes& left, const Wishes& right) {
  if (left.size() * right.size() > kWishesMax) return std::nullopt;
  Wishes all;
  for (const Wish& one : left) {
    for (const Wish& other : right) {
      Wish& wish = all.emplace_back(one);
      wish.insert(other.begin(), other.end());
      if (bytes_of(wish) > kWishBytesMax) return std::nullopt;
    }
  }
  return all;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<FeatureExpression> read() {
    const std::optional<Wishes> wishes = sequence(0);
    if (!wishes || !rest_.empty()) return std::nullopt;
    FeatureExpression made;
    made.is_same_on_all = is_same_on_all_;
    for (const Wish& wish : *wishes) {
      std::string text;
      for (const std::string_view feature : wish) {
        if (!text.empty()) text += '|';
        text += feature;
      }
      const bool is_known =
          std::find(made.wishes.begin(), made.wishes.end(), text) != made.wishes.end();
      if (!is_known) made.wishes.push_back(std::move(text));
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
    is_same_on_all_ = is_same_on_all_ || closing == ']';
    std::optional<Wishes> inner = sequence(depth + 1);
    if (!inner || rest_.empty() || take() != closing) return std::nullopt;
    skip_spaces();
    return inner;
  }

  std::optional<Wishes> feature() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of("&|,()[]"));
    rest_.remove_prefix(word.size());
    const std::string_view name = word.substr(0, word.find_last_not_of(' ') + 1);
    const bool is_plain = !name.empty() && name.find_first_of("*!") == std::string_view::npos;
    if (!is_plain || name.size() > kWishBytesMax) return std::nullopt;
    return Wishes{Wish{name}};
  }

  char take() {
    const char first = rest_[0];
    rest_.remove_prefix(1);
    return first;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
  bool is_same_on_all_ = false;
};

}  // namespace

std::optional<FeatureExpression> read_feature_expression(std::string_view text) {
  return Parser(text).read();
}

std::string write_feature_expression(const std::vector<std::string>& wishes) {
  std::string text;
  for (const std::string& wish : wishes) {
    const bool is_joined = wishes.size() > 1 && wish.find('|') != std::string::npos;
    if (!text.empty()) text += '&';
    text += is_joined ? '(' + wish + ')' : wish;
  }
  return text;
}

bool wishes_for(std::string_view wish, std::string_view feature) {
  while (true) {
    const std::size_t end = wish.find('|');
    if (wish.substr(0, end) == feature) return true;
    if (end == std::string_view::npos) return false;
    wish.remove_prefix(end + 1);
  }
}

}  // namespace dove::text
