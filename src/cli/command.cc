#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/spelling.h"

namespace dove::cli {
namespace {

Error usage(const CommandSpec& spec, const std::string& message) {
  return Error{ErrorKind::kInvalid, "usage",
               fmt::format("dove {}: {} (see `dove {} --help`)", spec.name, message, spec.name),
               ""};
}

class Parser {
 public:
  Parser(const CommandSpec& spec, const std::vector<std::string>& args)
      : spec_(spec), args_(args) {}

  Result<Invocation> run() {
    for (; at_ < args_.size(); ++at_) {
      const std::string& arg = args_[at_];
      const bool operands_only =
          rest_ || spec_.takes_all || (spec_.ends_at_operand && !invocation_.operands.empty());
      if (operands_only || arg == "-" || arg.empty() || arg[0] != '-') {
        invocation_.operands.push_back(arg);
      } else if (arg == "--") {
        rest_ = true;
        invocation_.operands_before_dashes = static_cast<int>(invocation_.operands.size());
      } else if (arg[1] == '-') {
        TRY(long_option(arg.substr(2)));
      } else {
        TRY(letters(arg.substr(1)));
      }
    }
    const int count = static_cast<int>(invocation_.operands.size());
    if (invocation_.has("help")) return invocation_;
    if (count < spec_.operands_min) {
      return usage(spec_, fmt::format("expected {}", spec_.operands));
    }
    if (spec_.operands_max >= 0 && count > spec_.operands_max) {
      return usage(spec_, fmt::format("'{}' is one argument too many",
                                      invocation_.operands[spec_.operands_max]));
    }
    return std::move(invocation_);
  }

 private:
  Result<void> long_option(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name == "help") {
      invocation_.values["help"].push_back("");
      return {};
    }
    TRY_ASSIGN(const OptionSpec* found, named(name));
    if (found->value.empty()) {
      if (equals != std::string::npos) {
        return usage(spec_, fmt::format("--{} takes no value", found->name));
      }
      return keep(*found, "");
    }
    if (equals == std::string::npos && found->value_optional) return keep(*found, "");
    if (equals != std::string::npos) return keep(*found, text.substr(equals + 1));
    return keep_next(*found, "--" + found->name);
  }

  Result<const OptionSpec*> named(const std::string& name) const {
    std::vector<std::string> known;
    std::vector<const OptionSpec*> begun;
    for (const OptionSpec& option : spec_.options) {
      if (option.name == name) return &option;
      if (!name.empty() && option.name.starts_with(name)) begun.push_back(&option);
      known.push_back(option.name);
    }
    if (begun.size() == 1) return begun[0];
    if (begun.size() > 1) {
      return usage(spec_, fmt::format("--{} is ambiguous: --{} or --{}?", name, begun[0]->name,
                                      begun[1]->name));
    }
    const std::string_view near = text::nearest(name, known);
    return usage(spec_, near.empty()
                            ? fmt::format("unknown option --{}", name)
                            : fmt::format("unknown option --{}; did you mean --{}?", name, near));
  }

  Result<void> letters(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == 'h' && letter('h') == nullptr) {
        invocation_.values["help"].push_back("");
        continue;
      }
      const OptionSpec* option = letter(text[i]);
      if (option == nullptr) {
        return usage(spec_, fmt::format("unknown option -{}", text[i]));
      }
      if (option->value.empty()) {
        TRY(keep(*option, ""));
        continue;
      }
      if (i + 1 < text.size() || option->value_optional) return keep(*option, text.substr(i + 1));
      return keep_next(*option, fmt::format("-{}", text[i]));
    }
    return {};
  }

  const OptionSpec* letter(char wanted) const {
    for (const OptionSpec& option : spec_.options) {
      if (option.letter == wanted) return &option;
    }
    return nullptr;
  }

  Result<void> keep_next(const OptionSpec& option, const std::string& shown) {
    if (at_ + 1 >= args_.size()) {
      return usage(spec_, fmt::format("{} needs a value ({})", shown, option.value));
    }
    return keep(option, args_[++at_]);
  }

  Result<void> keep(const OptionSpec& option, const std::string& value) {
    invocation_.values[option.name].push_back(value);
    return {};
  }

  const CommandSpec& spec_;
  const std::vector<std::string>& args_;
  std::size_t at_ = 0;
  bool rest_ = false;
  Invocation invocation_;
};

}  // namespace

std::string Invocation::get(const std::string& name, const std::string& otherwise) const {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second.back();
}

std::vector<std::string> Invocation::all(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::vector<std::string>{} : found->second;
}

Result<Invocation> parse(const CommandSpec& spec, const std::vector<std::string>& args) {
  return Parser(spec, args).run();
}

int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kTooLarge:
      return kExitUsage;
    case ErrorKind::kNotFound:
      return kExitNotFound;
    case ErrorKind::kConflict:
      return kExitConflict;
    case ErrorKind::kDenied:
    case ErrorKind::kUnauthenticated:
      return kExitDenied;
    case ErrorKind::kUnavailable:
      return kExitUnavailable;
    case ErrorKind::kTimeout:
      return kExitTimeout;
    case ErrorKind::kExhausted:
    case ErrorKind::kCorrupt:
    case ErrorKind::kInternal:
      return kExitFailed;
  }
  return kExitFailed;
}

std::string help_text(const CommandSpec& spec) {
  std::string out = fmt::format("Usage: dove {}{}{}{}\n\n{}.\n", spec.name,
                                spec.options.empty() ? "" : " [options]",
                                spec.operands.empty() ? "" : " ", spec.operands, spec.summary);
  if (!spec.description.empty()) out += "\n" + spec.description + "\n";
  if (spec.options.empty()) return out;
  out += "\nOptions:\n";
  for (const OptionSpec& option : spec.options) {
    std::string left = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "    ";
    left += "--" + option.name;
    if (!option.value.empty())
      left += option.value_optional ? "[=" + option.value + "]" : "=" + option.value;
    out += left.size() > 28 ? fmt::format("  {}\n{:32}{}\n", left, "", option.help)
                            : fmt::format("  {:<28}  {}\n", left, option.help);
  }
  return out;
}

}  // namespace dove::cli
