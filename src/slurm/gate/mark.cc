#include "slurm/gate/mark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "text/hostlist.h"

namespace dove::slurm {
namespace {

constexpr std::string_view kBegin = "dovetail-gate";
constexpr std::string_view kNone = "-";
constexpr std::size_t kModelBytesMax = 64;
constexpr std::size_t kGpusBytesMax = 512;  // of a comment of 1024

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && number >= 0;
}

void read_word(std::string_view word, GateMark& mark) {
  const std::size_t at = word.find('=');
  const std::string_view name = word.substr(0, at);
  const std::string_view value = at == std::string_view::npos ? "" : word.substr(at + 1);
  if (name == "user_hold") mark.user_hold = true;
  if (name == "seen") mark.is_seen = true;
  if (name == "model") mark.model = value.substr(0, kModelBytesMax);
  if (name == "nodes") mark.nodes = value == kNone ? "" : std::string(value);
  if (name == "gpus") mark.gpus = value;
  if (name == "restarts" && !read_number(value, mark.restarts)) mark.restarts = -1;
  if (name != "run") return;
  const std::size_t dot = value.find('.');
  const bool ok = dot != std::string_view::npos && read_number(value.substr(0, dot), mark.job) &&
                  read_number(value.substr(dot + 1), mark.attempt);
  if (!ok) mark.job = mark.attempt = 0;
}

}  // namespace

bool is_of_gate(std::string_view comment) {
  return comment.starts_with(kBegin) &&
         (comment.size() == kBegin.size() || comment[kBegin.size()] == ' ');
}

std::string write_gpus(const std::map<std::string, std::vector<int>>& devices) {
  std::map<std::vector<int>, std::vector<std::string>> nodes_with;
  for (const auto& [node, indices] : devices) {
    if (!indices.empty()) nodes_with[indices].push_back(node);
  }
  std::string all;
  for (const auto& [indices, nodes] : nodes_with) {
    if (!all.empty()) all += '/';
    all += fmt::format("{}:{}", text::fold_sorted_hostlist(nodes), fmt::join(indices, ","));
  }
  return all.size() > kGpusBytesMax ? "" : all;
}

GateMark read_mark(std::string_view comment) {
  GateMark mark;
  if (!is_of_gate(comment)) return mark;
  comment.remove_prefix(kBegin.size());
  while (!comment.empty()) {
    const std::string_view word = comment.substr(0, comment.find(' '));
    if (!word.empty()) read_word(word, mark);
    comment.remove_prefix(std::min(word.size() + 1, comment.size()));
  }
  return mark;
}

std::string write_mark(const GateMark& mark) {
  std::string text(kBegin);
  if (mark.job != 0) {
    text += fmt::format(" run={}.{} restarts={}", mark.job, mark.attempt, mark.restarts);
    if (!mark.gpus.empty()) text += " gpus=" + mark.gpus;
    if (mark.is_seen) text += " seen";
  }
  if (mark.user_hold) text += " user_hold";
  if (!mark.model.empty()) text += " model=" + mark.model;
  if (mark.nodes) text += fmt::format(" nodes={}", mark.nodes->empty() ? kNone : *mark.nodes);
  return text;
}

}  // namespace dove::slurm
