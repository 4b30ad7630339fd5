#include "cli/slurm/gang/srun_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace dove::cli {
namespace {

constexpr std::string_view kSays = "srun: ";
constexpr std::string_view kError = "srun: error: ";
// What the node's daemon of a step says, by the tasks' own stream.
constexpr std::string_view kDaemon = "slurmstepd: ";
// After kError, where it could not have tasks started.
constexpr std::array<std::string_view, 4> kRefusals{"Unable to create step",
                                                    "Unable to confirm allocation",
                                                    "Task launch for", "Application launch failed"};
// "First task exited 60s ago". With -v it also says when that time begins: "First task exited.
// Terminating job in 60s".
constexpr std::string_view kFirstEnded = "First task exited ";
constexpr std::string_view kAgo = "s ago";
constexpr std::size_t kLineBytesMax = 1 << 20;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether it may become a line of srun's own.
bool may_be_sruns(std::string_view begun) {
  const std::size_t common = std::min(begun.size(), kSays.size());
  return begun.substr(0, common) == kSays.substr(0, common);
}

bool says_has_waited(std::string_view line) {
  const std::size_t at = line.find(kFirstEnded);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + kFirstEnded.size());
  const std::size_t end = std::min(line.find_first_not_of("0123456789"), line.size());
  return end > 0 && line.substr(end).starts_with(kAgo);
}

}  // namespace

SrunLines::Text SrunLines::take(std::string_view piece) {
  Text text;
  if (has_mark_ || label_width_ > 0) {
    take_lines(piece, text);
  } else {
    take_lines(without_mark(piece), text);
  }
  return text;
}

// Tasks of the node that are quicker may have begun a line before it.
std::string SrunLines::without_mark(std::string_view piece) {
  std::string all = std::exchange(kept_mark_, "");
  all += piece;
  const std::size_t mark = all.find(kBegunMark);
  if (mark != std::string::npos) {
    has_mark_ = true;
    return all.erase(mark, kBegunMark.size());
  }
  const std::size_t begin = all.rfind(kBegunMark.front());
  if (begin != std::string::npos && kBegunMark.starts_with(std::string_view(all).substr(begin))) {
    kept_mark_ = all.substr(begin);
    all.resize(begin);
  }
  return all;
}

void SrunLines::take_lines(std::string_view piece, Text& text) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const bool is_whole = end != std::string_view::npos;
    std::string_view part = piece.substr(0, is_whole ? end + 1 : end);
    piece.remove_prefix(part.size());
    if (is_passed_on_) {
      // Slurm's srun writes a line of its own at once, behind whatever tasks have begun.
      const std::size_t sruns = part.find(kError);
      if (sruns == std::string_view::npos) {
        text.tasks += part;
        is_passed_on_ = !is_whole;
        continue;
      }
      text.tasks += part.substr(0, sruns);
      part.remove_prefix(sruns);
      is_passed_on_ = false;
    }
    kept_ += part;
    if (is_whole) {
      add_line(kept_, text);
      kept_.clear();
    }
  }
  // A line without an end, such as a progress bar, is not held back.
  const bool waits = kept_.size() < kLineBytesMax && (label_width_ > 0 || may_be_sruns(kept_));
  if (kept_.empty() || waits) return;
  add_line(kept_, text);
  kept_.clear();
  is_passed_on_ = true;
}

SrunLines::Text SrunLines::finish() {
  Text text;
  take_lines(std::exchange(kept_mark_, ""), text);
  if (!kept_.empty()) add_line(kept_, text);
  kept_.clear();
  return text;
}

void SrunLines::add_line(std::string_view line, Text& text) {
  // With labels it is behind its task's number.
  if (label_width_ > 0 && !has_mark_ && line.ends_with(kBegunMark)) {
    has_mark_ = true;
    return;
  }
  if (!line.starts_with(kSays)) {
    // With labels srun ends each line itself.
    const std::size_t sruns = label_width_ > 0 ? line.npos : line.find(kError);
    const std::string_view tasks = line.substr(0, sruns);
    if (!tasks.starts_with(kDaemon)) have_written_ = true;
    text.tasks += label_width_ > 0 ? labelled(tasks) : std::string(tasks);
    line.remove_prefix(tasks.size());
  }
  if (line.empty()) return;
  const std::string_view said = line.starts_with(kError) ? line.substr(kError.size()) : "";
  has_refused_ = has_refused_ || std::any_of(kRefusals.begin(), kRefusals.end(),
                                             [&](auto begin) { return said.starts_with(begin); });
  has_waited_ = has_waited_ || says_has_waited(line);
  text.sruns += renumbered(line);
}

// "srun: error: n1: tasks 0-1: Exited with exit code 1".
std::string SrunLines::renumbered(std::string_view line) {
  std::size_t at = line.find(" task");
  if (at == std::string_view::npos) return std::string(line);
  at += std::string_view(" task").size();
  if (at < line.size() && line[at] == 's') ++at;
  if (at >= line.size() || line[at] != ' ') return std::string(line);
  ++at;
  const std::size_t end = line.find(':', at);
  const std::string_view list = line.substr(at, end == std::string_view::npos ? 0 : end - at);
  const bool is_list = !list.empty() && list.find_first_not_of("0123456789,-") == list.npos;
  if (!is_list) return std::string(line);
  if (line.starts_with(kError)) has_told_an_end_ = true;
  std::string out(line.substr(0, at));
  for (std::size_t i = 0; i < list.size();) {
    if (!is_digit(list[i])) {
      out += list[i++];
      continue;
    }
    std::int64_t rank = 0;
    const auto read = std::from_chars(list.data() + i, list.data() + list.size(), rank);
    i = static_cast<std::size_t>(read.ptr - list.data());
    out += std::to_string(rank + first_rank_);
  }
  return out + std::string(line.substr(end));
}

// " 3: text".
std::string SrunLines::labelled(std::string_view line) const {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::int64_t rank = 0;
  const auto read = std::from_chars(line.data() + begin, line.data() + line.size(), rank);
  const auto end = static_cast<std::size_t>(read.ptr - line.data());
  if (read.ec != std::errc() || line.substr(end, 2) != ": ") return std::string(line);
  return fmt::format("{:>{}}{}", rank + first_rank_, label_width_, line.substr(end));
}

}  // namespace dove::cli
