#include "jobfiles/option_setters.h"

#include <fmt/core.h>

#include <algorithm>

#include "codec/words.h"
#include "jobfiles/words.h"
#include "model/resource_names.h"
#include "text/feature_expression.h"

namespace dove::jobfiles {

namespace {

constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kNameMax = 256;
constexpr Span kTimeMax = seconds(INT64_C(3650) * 24 * 3600);
constexpr std::int64_t kPriorityMax = 1'000'000;
constexpr std::int64_t kSwitchesMax = 1'000'000;

JobSpec& spec(Draft& draft) { return draft.submission.spec; }
ExecSpec& exec(Draft& draft) { return draft.submission.exec; }

// Text for people or a name of something: bounded, without control characters.
Result<void> put_text(std::string& field, const std::string& value, std::size_t bytes_max) {
  if (value.size() > bytes_max) {
    return invalid(fmt::format("longer than {} bytes: shorten it", bytes_max));
  }
  for (unsigned char c : value) {
    if (c < 0x20 || c == 0x7f) return invalid("has control characters: write printable text");
  }
  field = value;
  return {};
}

Result<void> put_label(Draft& draft, const char* name, const std::string& value,
                       std::size_t bytes_max) {
  exec(draft).labels.erase(name);
  return value.empty() ? Result<void>() : put_text(exec(draft).labels[name], value, bytes_max);
}

Result<void> put_path(std::string& field, const std::string& value) {
  return put_text(field, value, kTextMax);
}

// sbatch's range is larger than ours.
void put_priority(Draft& draft, const Option& option, std::int64_t priority) {
  const std::int64_t within = std::clamp(priority, -kPriorityMax, kPriorityMax);
  if (within != priority) {
    draft.warn(option.place, "read_as",
               fmt::format("--{}={} is read as a priority of {}, the end of the range", option.name,
                           shown(option.value), within));
  }
  spec(draft).priority = static_cast<std::int32_t>(within);
}

Result<std::int64_t> signed_number(std::string_view text, std::int64_t max) {
  bool negative = text.starts_with('-');
  std::string_view digits = negative || text.starts_with('+') ? text.substr(1) : text;
  auto number = to_number(digits, max);
  if (!number) {
    return invalid(fmt::format("\"{}\" is not a whole number up to {}", shown(text), max));
  }
  return negative ? -*number : *number;
}

}  // namespace

Result<void> set_pool(Draft& draft, const Option& option) {
  TRY(put_text(spec(draft).pool, option.value, kNameMax));
  if (std::size_t comma = option.value.find(','); comma != std::string::npos) {
    spec(draft).pool = option.value.substr(0, comma);
    draft.warn(option.place, "no_effect",
               fmt::format("of several partitions only the first has an effect: \"{}\" is taken",
                           shown(spec(draft).pool)));
  }
  return {};
}

Result<void> set_queue(Draft& draft, const Option& option) {
  if (option.value.empty()) {
    spec(draft).queue = JobSpec().queue;
    return {};
  }
  return put_text(spec(draft).queue, option.value, kNameMax);
}

Result<void> set_project(Draft& draft, const Option& option) {
  return put_text(spec(draft).project, option.value, kNameMax);
}

Result<void> set_constraint(Draft& draft, const Option& option) {
  spec(draft).features.clear();
  if (option.value.empty()) return {};
  std::optional<std::vector<std::string>> made = text::read_feature_expression(option.value);
  if (!made) {
    return invalid(fmt::format("\"{}\" is not supported: write features joined by & (all of them) "
                               "and | (one of them), such as nvlink&(a100|h100), or [a100|h100] "
                               "(the same one on all nodes); for numbers of nodes with a feature "
                               "submit one job for each",
                               shown(option.value)),
                   "unsupported");
  }
  spec(draft).features = std::move(*made);
  return {};
}

Result<void> set_nodes_wanted(Draft& draft, const Option& option) {
  spec(draft).nodes_wanted.clear();
  if (option.value.empty()) return {};
  // sbatch: a value with a slash is the path of a file with the names.
  if (option.value.find('/') != std::string::npos) return set_node_file(draft, option);
  TRY_ASSIGN(spec(draft).nodes_wanted, parse_hostlist(option.value));
  return {};
}

Result<void> set_node_file(Draft& draft, const Option& option) {
  if (!draft.context->read_file) {
    return invalid("files cannot be read here: write the names with --nodelist");
  }
  TRY_ASSIGN(std::string text, draft.context->read_file(option.value));
  if (text.size() > kFileBytesMax) return invalid("the file is larger than 4 MiB");
  TRY_ASSIGN(spec(draft).nodes_wanted, parse_hostlist(text));
  return {};
}

Result<void> set_nodes_excluded(Draft& draft, const Option& option) {
  spec(draft).nodes_excluded.clear();
  if (option.value.empty()) return {};
  TRY_ASSIGN(spec(draft).nodes_excluded, parse_hostlist(option.value));
  return {};
}

Result<void> set_exclusive(Draft& draft, const Option& option) {
  if (!option.value.empty() && option.value != "user" && option.value != "mcs") {
    return invalid(fmt::format("\"{}\" is not a kind of exclusive use: write --exclusive",
                               shown(option.value)));
  }
  if (!option.value.empty()) {
    draft.warn(option.place, "read_as",
               fmt::format("--exclusive={} is read as --exclusive: whole nodes for this job alone",
                           option.value));
  }
  spec(draft).exclusive = true;
  return {};
}

Result<void> set_switches(Draft& draft, const Option& option) {
  const std::string_view value = option.value;
  const std::string_view count = value.substr(0, value.find('@'));
  if (!to_number(count, kSwitchesMax).value_or(0)) {
    return invalid(
        fmt::format("\"{}\" is not a number of switches: write --switches=1", shown(option.value)));
  }
  spec(draft).domain = "switch";
  if (value == "1") return {};
  draft.warn(
      option.place, "read_as",
      fmt::format("--switches={} is read as: on one unit of level `switch` of the topology if "
                  "possible, else on the fewest; the job does not wait for it",
                  shown(option.value)));
  return {};
}

Result<void> set_spread(Draft& draft, const Option&) {
  spec(draft).spread = Spread::kSpread;
  return {};
}

Result<void> set_licenses(Draft& draft, const Option& option) {
  // A licence is a cluster-wide countable; a list of them has the form of a gres list.
  std::vector<Countable> licences;
  spec(draft).cluster_requests.clear();
  if (option.value.empty()) return {};
  for (std::string_view item : split(option.value, ',')) {
    std::vector<std::string_view> pieces = split(trimmed(item), ':');
    auto amount = pieces.size() == 2 ? to_number(pieces[1]) : std::optional<std::int64_t>(1);
    std::string name = lower(pieces[0].substr(0, pieces[0].find('@')));
    bool good =
        !name.empty() && name.size() <= 48 &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") == std::string::npos;
    if (!good || !amount || pieces.size() > 2) {
      return invalid(fmt::format("\"{}\" is not a licence: write NAME[:COUNT], joined by commas",
                                 shown(item)));
    }
    if (*amount > 0) licences.push_back(Countable{licence_name(name), *amount});
  }
  std::sort(licences.begin(), licences.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < licences.size(); ++i) {
    if (licences[i].name == licences[i - 1].name) {
      return invalid(fmt::format("{} is named twice: add the counts up", licences[i].name));
    }
  }
  spec(draft).cluster_requests = std::move(licences);
  return {};
}

Result<void> set_time(Draft& draft, const Option& option) {
  TRY_ASSIGN(Span limit, parse_time_limit(option.value));
  if (limit.us > kTimeMax.us) {
    draft.warn(option.place, "read_as",
               fmt::format("--time={} is read as ten years, the longest limit", option.value));
    limit = kTimeMax;
  }
  spec(draft).time_limit = limit;
  return {};
}

Result<void> set_begin(Draft& draft, const Option& option) {
  TRY_ASSIGN(spec(draft).begin_at,
             parse_begin(option.value, draft.context->now, draft.context->utc_offset_s));
  return {};
}

Result<void> set_deadline(Draft& draft, const Option& option) {
  TRY_ASSIGN(spec(draft).deadline,
             parse_begin(option.value, draft.context->now, draft.context->utc_offset_s));
  return {};
}

Result<void> set_executor(Draft& draft, const Option& option) {
  return put_text(spec(draft).executor, option.value, kNameMax);
}

Result<void> set_reservation(Draft& draft, const Option& option) {
  return put_text(spec(draft).reservation, option.value, kNameMax);
}

Result<void> set_dependency(Draft& draft, const Option& option) {
  TRY_ASSIGN(Dependencies dependencies,
             parse_dependency(option.value, draft.context->find_element));
  spec(draft).dependencies = std::move(dependencies.list);
  spec(draft).any_dependency = dependencies.any;
  return {};
}

Result<void> set_array(Draft& draft, const Option& option) {
  spec(draft).array = {};
  if (option.value.empty()) return {};
  TRY_ASSIGN(spec(draft).array, parse_array(option.value));
  return {};
}

Result<void> set_hold(Draft& draft, const Option&) {
  spec(draft).hold = true;
  return {};
}

Result<void> set_nice(Draft& draft, const Option& option) {
  TRY_ASSIGN(std::int64_t nice,
             signed_number(option.value.empty() ? "100" : option.value, 2'147'483'645));
  put_priority(draft, option, -nice);
  return {};
}

Result<void> set_priority(Draft& draft, const Option& option) {
  if (option.value.empty()) return {};
  if (equal_without_case(option.value, "top")) {
    draft.warn(option.place, "no_effect",
               "--priority=TOP has no effect: give a number (higher goes first)");
    return {};
  }
  TRY_ASSIGN(const std::int64_t number, signed_number(option.value, 2'147'483'647));
  put_priority(draft, option, number);
  return {};
}

Result<void> set_requeue(Draft& draft, const Option&) {
  spec(draft).requeue = true;
  return {};
}

Result<void> set_no_requeue(Draft& draft, const Option&) {
  spec(draft).requeue = false;
  return {};
}

Result<void> set_kill_on_invalid_dependency(Draft& draft, const Option& option) {
  if (option.value == "yes") return {};  // what happens anyway
  if (option.value != "no") return invalid("write yes or no");
  draft.warn(option.place, "no_effect",
             "--kill-on-invalid-dep=no has no effect: a job whose dependency can never be met ends "
             "as dependency_never_met");
  return {};
}

Result<void> set_job_name(Draft& draft, const Option& option) {
  return put_text(spec(draft).name, option.value, kNameMax);
}

// An option without a value takes back one that was given before.
void put_or_clear(std::optional<Option>& slot, const Option& option) {
  if (option.value.empty()) {
    slot.reset();
  } else {
    slot = option;
  }
}

Result<void> set_output(Draft& draft, const Option& option) {
  TRY(put_path(exec(draft).output.stdout_path, option.value));
  put_or_clear(draft.output, option);
  return {};
}

Result<void> set_error_path(Draft& draft, const Option& option) {
  TRY(put_path(exec(draft).output.stderr_path, option.value));
  put_or_clear(draft.error, option);
  return {};
}

Result<void> set_input(Draft& draft, const Option& option) {
  TRY(put_path(exec(draft).output.stdin_path, option.value));
  put_or_clear(draft.input, option);
  if (option.value == "none") exec(draft).output.stdin_path.clear();
  return {};
}

Result<void> set_open_mode(Draft& draft, const Option& option) {
  bool append = option.value == "append" || option.value == "a";
  if (!append && option.value != "truncate" && option.value != "t") {
    return invalid("write append or truncate");
  }
  exec(draft).output.append = append;
  return {};
}

Result<void> set_chdir(Draft& draft, const Option& option) {
  std::string path;
  if (option.value.empty()) return {};
  TRY(put_path(path, option.value));
  if (path[0] != '/') path = draft.context->workdir + "/" + path;
  exec(draft).workdir = std::move(path);
  return {};
}

Result<void> set_export(Draft& draft, const Option& option) {
  put_or_clear(draft.export_list, option);
  return {};
}

Result<void> set_export_file(Draft& draft, const Option& option) {
  draft.export_file = option;
  return {};
}

Result<void> set_signal(Draft& draft, const Option& option) {
  std::string_view rest = option.value;
  if (std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    for (char letter : rest.substr(0, colon)) {
      if (letter == 'R' || letter == 'r') {
        draft.warn(option.place, "no_effect",
                   "the R of --signal has no effect: a reservation is never overlapped");
      } else if (letter != 'B' && letter != 'b') {
        return invalid("write [B:]SIGNAL[@SECONDS]");
      }
    }
    rest.remove_prefix(colon + 1);
  }
  std::int64_t before_s = 60;
  if (std::size_t at = rest.find('@'); at != std::string_view::npos) {
    auto number = to_number(rest.substr(at + 1), 65535);
    if (!number) return invalid("the seconds behind '@' go from 0 to 65535");
    before_s = *number;
    rest = rest.substr(0, at);
  }
  TRY_ASSIGN(exec(draft).warn_signal, parse_signal(rest));
  exec(draft).warn_before_s = static_cast<std::int32_t>(before_s);
  spec(draft).checkpoint_signal = exec(draft).warn_signal;
  spec(draft).checkpoint_grace = seconds(before_s);
  return {};
}

Result<void> set_slice_min(Draft& draft, const Option& option) {
  TRY_ASSIGN(spec(draft).slice_min, parse_time_limit(option.value));
  return {};
}

Result<void> set_preempt(Draft& draft, const Option& option) {
  const auto modes = codec::preempt_modes();
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (option.value != modes[i]) continue;
    spec(draft).preempt = static_cast<Preempt>(i);
    return {};
  }
  return invalid("write checkpoint, restart or never");
}

Result<void> set_comment(Draft& draft, const Option& option) {
  return put_label(draft, "comment", option.value, kTextMax);
}

Result<void> set_extra(Draft& draft, const Option& option) {
  return put_label(draft, "extra", option.value, kTextMax);
}

Result<void> set_wckey(Draft& draft, const Option& option) {
  return put_label(draft, "wckey", option.value, kNameMax);
}

Result<void> set_test_only(Draft& draft, const Option&) {
  draft.behaviour.test_only = true;
  return {};
}

Result<void> set_parsable(Draft& draft, const Option&) {
  draft.behaviour.parsable = true;
  return {};
}

Result<void> set_wait(Draft& draft, const Option&) {
  draft.behaviour.wait = true;
  return {};
}

Result<void> set_quiet(Draft& draft, const Option&) {
  draft.behaviour.quiet = true;
  return {};
}

Result<void> set_verbose(Draft& draft, const Option&) {
  ++draft.behaviour.verbose;
  return {};
}

Result<void> set_help(Draft& draft, const Option&) {
  draft.behaviour.help = true;
  return {};
}

Result<void> set_usage(Draft& draft, const Option&) {
  draft.behaviour.usage = true;
  return {};
}

Result<void> set_version(Draft& draft, const Option&) {
  draft.behaviour.version = true;
  return {};
}

Result<void> set_wrap(Draft& draft, const Option& option) {
  if (draft.level != Level::kCommandLine) {
    draft.warn(option.place, "no_effect",
               "--wrap has no effect inside a script: it belongs on the command line");
  }
  return {};
}

}  // namespace dove::jobfiles
