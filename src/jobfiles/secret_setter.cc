// What --secret sets: NAME=VARIABLE, or NAME:FILE. Only the option table refers to it.
#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/option_setters.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

// Options of the command line come after those of the script, and count for more.
Result<void> set_secret(Draft& draft, const Option& option) {
  const std::string_view text = trimmed(option.value);
  const std::size_t at = text.find_first_of("=:");
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) {
    return invalid(
        fmt::format("\"{}\" is no use of a secret: write NAME=VARIABLE for a variable, "
                    "or NAME:FILE for a file in $DOVE_SECRETS",
                    shown(option.value)));
  }
  SecretUse use;
  use.secret = std::string(text.substr(0, at));
  (text[at] == '=' ? use.variable : use.file) = std::string(text.substr(at + 1));
  auto& all = draft.submission.spec.secrets;
  std::erase_if(all, [&](const SecretUse& former) {
    return (!use.variable.empty() && former.variable == use.variable && former.file.empty()) ||
           (!use.file.empty() && former.file == use.file && former.variable.empty());
  });
  all.push_back(std::move(use));
  return {};
}

}  // namespace dove::jobfiles
