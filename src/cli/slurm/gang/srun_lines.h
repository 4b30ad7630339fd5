// What one of several sruns writes, as if there were one: the numbers of tasks that it names are
// made those of the whole step. Pure.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dove::cli {

// A line of its own by which the first task of a node says on its error output that it has begun.
inline constexpr std::string_view kBegunMark = "\001dove-step-begun\n";

class SrunLines {
 public:
  struct Text {
    std::string tasks;  // what the tasks wrote
    std::string sruns;  // what srun says itself
  };
  // `label_width`: lines of tasks begin with their number, which is to be that wide; 0: they do
  // not.
  SrunLines(std::int32_t first_rank, int label_width)
      : first_rank_(first_rank), label_width_(label_width) {}

  // The next piece of its output. What may yet turn out to be another line is kept.
  Text take(std::string_view piece);
  // There is no more.
  Text finish();

  // Whether its tasks have begun: one has said so or written, or srun has said how one ended.
  bool has_begun() const { return has_mark_ || has_told_an_end_ || have_written_; }
  // Whether it has said that it has waited long enough since its first task ended (--wait).
  bool has_waited() const { return has_waited_; }
  // Whether it has said that it could not begin them.
  bool has_refused() const { return has_refused_; }

 private:
  std::string without_mark(std::string_view piece);
  void take_lines(std::string_view piece, Text& text);
  void add_line(std::string_view line, Text& text);
  std::string renumbered(std::string_view line);
  std::string labelled(std::string_view line) const;

  const std::int32_t first_rank_;
  const int label_width_;
  std::string kept_;       // of the line that has begun
  std::string kept_mark_;  // what may become the mark
  bool has_mark_ = false;
  bool is_passed_on_ = false;  // its beginning
  bool has_told_an_end_ = false;
  bool have_written_ = false;  // tasks
  bool has_refused_ = false;
  bool has_waited_ = false;
};

}  // namespace dove::cli
