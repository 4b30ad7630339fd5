#include "jobfiles/options.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/arguments.h"
#include "jobfiles/words.h"
#include "text/spelling.h"
#include "text/utf8.h"

namespace dove::jobfiles {

namespace {

constexpr std::size_t kOptionsMax = 10'000;

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const OptionRule& rule : option_rules()) names.push_back(rule.name);
  return names;
}

// What people write who do not know sbatch's name for it.
struct Synonym {
  std::string_view written;
  std::string_view meant;
};
constexpr Synonym kSynonyms[] = {
    {"cpus", "cpus-per-task"},
    {"cwd", "chdir"},
    {"env", "export"},
    {"gpu", "gpus"},
    {"image", "container-image"},
    {"share", "oversubscribe"},
    {"shared", "oversubscribe"},
    {"jobname", "job-name"},
    {"memory", "mem"},
    {"name", "job-name"},
    {"node", "nodes"},
    {"num-nodes", "nodes"},
    {"queue", "partition"},
    {"stderr", "error"},
    {"stdout", "output"},
    {"task", "ntasks"},
    {"tasks", "ntasks"},
    {"timelimit", "time"},
    {"use-gpu", "gres"},
    {"walltime", "time"},
    {"workdir", "chdir"},
};

std::string dashed(std::string_view name) {
  std::string result = lower(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

}  // namespace

std::optional<std::string_view> suggested_option(std::string_view name) {
  std::string word = dashed(name.substr(0, 64));
  for (const Synonym& synonym : kSynonyms) {
    if (word == synonym.written) return synonym.meant;
  }
  const std::string_view near = text::nearest(word, option_names());
  return near.empty() ? std::nullopt : std::optional(near);
}

Result<const OptionRule*> find_option(std::string_view name) {
  std::vector<const OptionRule*> candidates;
  for (const OptionRule& rule : option_rules()) {
    if (rule.name == name) return &rule;
    if (!name.empty() && !rule.newer && rule.name.starts_with(name)) candidates.push_back(&rule);
  }
  if (candidates.size() == 1) return candidates[0];
  if (candidates.size() > 1) {
    std::string list;
    for (const OptionRule* rule : candidates) list += fmt::format(" --{}", rule->name);
    return invalid(
        fmt::format("--{} is ambiguous, it could be{}: write the name in full", name, list),
        "ambiguous_option");
  }
  std::string hint = "see docs/guide/sbatch.md for the options there are";
  if (auto meant = suggested_option(name)) hint = fmt::format("did you mean --{}?", *meant);
  return invalid(fmt::format("unknown option --{}: {}", shown(name), hint), "unknown_option");
}

const OptionRule* find_letter(char letter) {
  for (const OptionRule& rule : option_rules()) {
    if (rule.letter == letter && letter != 0) return &rule;
  }
  return nullptr;
}

Result<void> apply_sbatch_option(Draft& draft, std::string_view name, const std::string& value,
                                 const Place& place) {
  auto found = find_option(name);
  if (!found.ok()) return at_place(found.error(), place);
  const OptionRule& rule = **found;
  if (rule.argument == Argument::kRequired && value.empty()) {
    return at_place(
        invalid(fmt::format("--{} needs a value: write --{}=VALUE", rule.name, rule.name)), place);
  }
  if (rule.argument == Argument::kNone && !value.empty()) {
    return at_place(
        invalid(fmt::format("--{} takes no value: leave out \"{}\"", rule.name, shown(value))),
        place);
  }
  draft.given[std::string(rule.name)] = value;
  if (rule.set == nullptr) {
    draft.warn(place, "no_effect", fmt::format("--{} has no effect: {}", rule.name, rule.text));
    return {};
  }
  Option option{std::string(rule.name), value, place};
  auto set = rule.set(draft, option);
  if (!set.ok()) {
    Error error = set.error();
    error.message = fmt::format("--{}: {}", rule.name, error.message);
    return at_place(std::move(error), place);
  }
  return {};
}

namespace {

bool takes_next_word(const OptionRule& rule) {
  return rule.argument == Argument::kRequired || rule.argument == Argument::kMayBeEmpty;
}

// A cursor over words, each with its place.
struct Words {
  const std::vector<std::string>& words;
  const std::vector<Place>& places;
  std::size_t next = 0;
};

Result<Option> read_long(Words& at) {
  const std::string& word = at.words[at.next];
  const Place& place = at.places[at.next];
  ++at.next;
  std::size_t equals = word.find('=');
  std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
  auto found = find_option(name);
  if (!found.ok()) return at_place(found.error(), place);
  const OptionRule& rule = **found;
  Option option{std::string(rule.name), "", place};
  if (equals != std::string::npos) {
    option.value = word.substr(equals + 1);
  } else if (takes_next_word(rule)) {
    if (at.next == at.words.size()) {
      return at_place(
          invalid(fmt::format("--{} needs a value: write --{}=VALUE", rule.name, rule.name)),
          place);
    }
    option.value = at.words[at.next++];
  }
  return option;
}

// "-N2", "-N 2", "-QW".
Result<void> read_letters(Words& at, std::vector<Option>& options) {
  const std::string& word = at.words[at.next];
  const Place& place = at.places[at.next];
  ++at.next;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const OptionRule* rule = find_letter(word[i]);
    if (rule == nullptr) {
      return at_place(invalid(fmt::format("unknown option -{}: see docs/guide/sbatch.md for the "
                                          "options there are",
                                          shown(std::string_view(word).substr(i, 1))),
                              "unknown_option"),
                      place);
    }
    Option option{std::string(rule->name), "", place};
    if (rule->argument == Argument::kNone) {
      options.push_back(std::move(option));
      continue;
    }
    option.value = word.substr(i + 1);
    if (option.value.empty() && takes_next_word(*rule)) {
      if (at.next == at.words.size()) {
        return at_place(invalid(fmt::format("-{} needs a value", word[i])), place);
      }
      option.value = at.words[at.next++];
    }
    options.push_back(std::move(option));
    break;
  }
  return {};
}

}  // namespace

Result<std::vector<Option>> read_options(const std::vector<std::string>& words,
                                         const std::vector<Place>& places, std::size_t& used) {
  std::vector<Option> options;
  Words at{words, places};
  while (at.next < words.size()) {
    const std::string& word = words[at.next];
    if (word.size() < 2 || word[0] != '-') break;
    if (word == "--") {
      ++at.next;
      break;
    }
    if (options.size() >= kOptionsMax) {
      return at_place(invalid(fmt::format("more than {} options", kOptionsMax)), places[at.next]);
    }
    if (word[1] == '-') {
      TRY_ASSIGN(Option option, read_long(at));
      options.push_back(std::move(option));
    } else {
      TRY(read_letters(at, options));
    }
  }
  used = at.next;
  return options;
}

Result<Arguments> read_sbatch_arguments(const std::vector<std::string>& arguments) {
  std::vector<Place> places(arguments.size(), Place{"command line", 0, 0});
  for (const std::string& argument : arguments) {
    if (!text::is_utf8(argument)) {
      return at_place(invalid(fmt::format("an argument is not UTF-8: use plain text"), "not_utf8"),
                      places[0]);
    }
  }
  std::size_t used = 0;
  Arguments result;
  TRY_ASSIGN(result.options, read_options(arguments, places, used));
  result.rest.assign(arguments.begin() + static_cast<std::ptrdiff_t>(used), arguments.end());
  return result;
}

Result<void> apply_environment(Draft& draft) {
  for (const OptionRule& rule : option_rules()) {
    if (rule.variable.empty()) continue;
    auto found = draft.context->environment.find(std::string(rule.variable));
    if (found == draft.context->environment.end()) continue;
    std::string value = found->second;
    if (rule.argument == Argument::kNone) {
      // As sbatch reads them: a flag is on when empty, "yes" or a number other than 0.
      auto number = to_number(value);
      if (!value.empty() && value != "yes" && (!number || *number == 0)) continue;
      value.clear();
    } else if (value.empty()) {
      continue;
    }
    Place place{"environment " + std::string(rule.variable), 0, 0};
    TRY(apply_sbatch_option(draft, rule.name, value, place));
  }
  return {};
}

std::string option_table() {
  std::string table = "| option | here | what it does, or why it does nothing |\n|---|---|---|\n";
  for (const OptionRule& rule : option_rules()) {
    std::string name = fmt::format("`--{}`", rule.name);
    if (rule.letter != 0) name = fmt::format("`-{}`, ", rule.letter) + name;
    table += fmt::format("| {} | {} | {} |\n", name, rule.set ? "honoured" : "warning", rule.text);
  }
  return table;
}

}  // namespace dove::jobfiles
