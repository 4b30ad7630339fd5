#include "jobfiles/script_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "jobfiles/step_options.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

struct Word {
  std::string text;
  Place place;
  bool ends_command = false;  // ; | & ( and the like, or the end of a line
  bool varies = false;        // has a variable in it
};

constexpr std::size_t kWordsMax = 200'000;

// A shell's words, roughly: quotes and backslashes are taken off, comments are left out.
class Splitter {
 public:
  Splitter(std::string name, std::string_view text) : name_(std::move(name)), text_(text) {}

  std::vector<Word> words() {
    while (at_ < text_.size() && words_.size() < kWordsMax) step();
    finish();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (quote_ == 0 && !open_ && c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return;
    }
    if (c == '\\' && quote_ != '\'' && at_ + 1 < text_.size()) {
      if (text_[at_ + 1] == '\n') {
        if (quote_ == 0) finish();
        ++at_;
        new_line();
        return;
      }
      add(text_[++at_]);
      ++at_;
      return;
    }
    if (c == '\n') {
      if (quote_ != 0) {
        add(c);
      } else {
        finish();
        end_command();
      }
      new_line();
      return;
    }
    step_in_line(c);
    ++at_;
  }

  void step_in_line(char c) {
    // What runs in a string is a command, too: "$(srun hostname)".
    const bool begins_command =
        (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '(') || c == '`';
    if (quote_ != '\'' && begins_command) {
      finish();
      end_command();
      if (c == '$') {
        ++at_;
        outer_quotes_.push_back(std::exchange(quote_, '\0'));
      }
    } else if (quote_ == 0 && c == ')' && !outer_quotes_.empty()) {
      finish();
      end_command();
      quote_ = outer_quotes_.back();
      outer_quotes_.pop_back();
    } else if (quote_ != 0) {
      if (c == quote_) {
        quote_ = 0;
      } else {
        add(c);
      }
    } else if (c == '"' || c == '\'') {
      open();
      quote_ = c;
    } else if (c == ' ' || c == '\t') {
      finish();
    } else if (std::string_view(";|&()").find(c) != std::string_view::npos) {
      finish();
      end_command();
    } else {
      add(c);
    }
  }

  void new_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }
  void open() {
    if (std::exchange(open_, true)) return;
    word_ = Word{};
    word_.place = {name_, line_, static_cast<int>(at_ - line_begin_) + 1};
  }
  void add(char c) {
    open();
    if (c == '$' && quote_ != '\'') word_.varies = true;
    word_.text += c;
  }
  void finish() {
    if (std::exchange(open_, false)) words_.push_back(std::move(word_));
  }
  void end_command() {
    Word end;
    end.ends_command = true;
    words_.push_back(std::move(end));
  }

  const std::string name_;
  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  char quote_ = 0;
  std::vector<char> outer_quotes_;  // of the strings that a $( interrupts
  bool open_ = false;
  Word word_;
  std::vector<Word> words_;
};

bool is_srun(const Word& word) { return word.text == "srun" || word.text.ends_with("/srun"); }

// Words before a command that do not make it another one.
bool is_prefix(const Word& word) {
  static constexpr std::string_view kPrefixes[] = {"!",     "{",     "do",      "elif", "else",
                                                   "exec",  "if",    "nohup",   "then", "time",
                                                   "until", "while", "command", "eval"};
  if (std::find(std::begin(kPrefixes), std::end(kPrefixes), word.text) != std::end(kPrefixes)) {
    return true;
  }
  const std::size_t equals = word.text.find('=');
  return equals != std::string::npos && equals > 0 && word.text[0] != '-';
}

void warn_of(Draft& draft, const Word& word, std::string_view given, const StepOption* option,
             std::string_view value) {
  if (option == nullptr) {
    draft.warn(word.place, "step_fails",
               fmt::format("srun {}: srun has no such option, so this line will fail", given));
    return;
  }
  const std::string_view why = step_objection(*option, value);
  if (why.empty()) return;
  if (option->use == StepUse::kRefused) {
    draft.warn(word.place, "step_fails",
               fmt::format("srun --{} is refused, so this line will fail: {}", option->name, why));
  } else {
    draft.warn(word.place, "no_effect",
               fmt::format("srun --{} has no effect: {}", option->name, why));
  }
}

// The options behind a word "srun"; gives the place of what follows them.
std::size_t check_options(Draft& draft, const std::vector<Word>& words, std::size_t at) {
  for (; at < words.size() && !words[at].ends_command; ++at) {
    const Word& word = words[at];
    if (word.varies && word.text[0] == '$') continue;  // options of a variable
    if (word.text.size() < 2 || word.text[0] != '-') break;
    if (word.text == "--") return at + 1;
    const bool is_long = word.text[1] == '-';
    const std::size_t equals = is_long ? word.text.find('=') : std::string::npos;
    const std::string given = word.text.substr(0, equals);
    const StepOption* option =
        is_long ? find_step_option(std::string_view(given).substr(2)) : find_step_letter(given[1]);
    std::string value = equals != std::string::npos ? word.text.substr(equals + 1) : "";
    if (!is_long && word.text.size() > 2) value = word.text.substr(2);
    bool varies = word.varies;
    const bool takes_next = option != nullptr && option->argument == Argument::kRequired &&
                            value.empty() && equals == std::string::npos;
    if (takes_next && at + 1 < words.size() && !words[at + 1].ends_command) {
      ++at;
      value = words[at].text;
      varies = words[at].varies;
    }
    // When the value is not known, only the option can be judged.
    const bool depends = option != nullptr && (!option->same.empty() || option->name == "gpu-bind");
    if (varies && (depends || word.varies)) continue;
    warn_of(draft, word, given, option, value);
  }
  return at;
}

}  // namespace

void warn_of_steps(Draft& draft, const std::string& name, std::string_view script) {
  const std::vector<Word> words = Splitter(name, script).words();
  bool begins = true;
  for (std::size_t at = 0; at < words.size();) {
    const Word& word = words[at++];
    if (word.ends_command) {
      begins = true;
    } else if (begins && is_srun(word)) {
      begins = false;
      at = check_options(draft, words, at);
      for (std::size_t k = at; k + 1 < words.size() && !words[k].ends_command; ++k) {
        if (words[k].text != ":" || words[k + 1].ends_command) continue;
        draft.warn(words[k].place, "step_fails",
                   "srun A : B is refused, so this line will fail: a job is no heterogeneous one; "
                   "start one step for each part in the background");
      }
    } else if (!is_prefix(word)) {
      begins = false;
    }
  }
}

}  // namespace dove::jobfiles
