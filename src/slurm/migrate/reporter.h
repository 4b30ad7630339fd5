// Collects what became of each option. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/migrate/option_table.h"

namespace dove::slurm {

struct ReportLine {
  std::string place;   // "slurm.conf:12"
  std::string option;  // "MaxTime=1-0", with what it is about
  Verdict verdict = Verdict::kNone;
  std::string note;
  bool known = true;  // false: Slurm 22.05 has no such option
};

class Reporter {
 public:
  // By the table; `about`: what the line is about ("PartitionName=gpu"), or "".
  void option(OptionPlace where, const std::string& place, const std::string& about,
              std::string_view name, std::string_view value) {
    const OptionRule* rule = find_option(where, name);
    ReportLine line{place, text_of(about, name, value), Verdict::kNone,
                    "Slurm 22.05 has no such option: is it spelled right?", false};
    if (rule != nullptr) {
      line.verdict = rule->verdict;
      line.note = rule->note;
      line.known = true;
    }
    lines_.push_back(std::move(line));
  }
  // The last option's value has no counterpart, although the option has one.
  void instead(Verdict verdict, std::string note) {
    if (lines_.empty()) return;
    lines_.back().verdict = verdict;
    lines_.back().note = std::move(note);
  }
  void unknown(const std::string& place, const std::string& text) {
    lines_.push_back({place, text, Verdict::kNone, "not understood: it is not an option", false});
  }
  std::vector<ReportLine> take() { return std::move(lines_); }

 private:
  static std::string text_of(const std::string& about, std::string_view name,
                             std::string_view value) {
    std::string text = about.empty() ? "" : about + " ";
    text += name;
    return text + "=" + std::string(value);
  }

  std::vector<ReportLine> lines_;
};

}  // namespace dove::slurm
