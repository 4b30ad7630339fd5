#include "jobfiles/amounts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "codec/quantity.h"
#include "jobfiles/words.h"
#include "model/huge_pages.h"

namespace dove::jobfiles {

namespace {

constexpr std::int64_t kMinutesMax = 100LL * 366 * 24 * 60;  // a century
constexpr std::int64_t kBytesMax = 1LL << 60;
constexpr std::int64_t kCountMax = 1'000'000;

Error bad_time(std::string_view text) {
  return invalid(
      fmt::format("\"{}\" is not a time limit: write minutes, MM:SS, HH:MM:SS, D-HH, "
                  "D-HH:MM or D-HH:MM:SS",
                  shown(text)));
}

// "K", "k", "KB", "KiB" ... as a power of 1024; nullopt for anything else.
std::optional<int> unit_power(std::string_view unit) {
  if (unit.empty()) return 0;
  std::string_view rest = unit.substr(1);
  if (!rest.empty() && !equal_without_case(rest, "b") && !equal_without_case(rest, "ib")) {
    return std::nullopt;
  }
  std::size_t power = std::string_view("kmgtp").find(lower(unit.substr(0, 1)));
  if (power == std::string_view::npos) return std::nullopt;
  return static_cast<int>(power) + 1;
}

std::string_view leading_digits(std::string_view text) {
  std::size_t end = text.find_first_not_of("0123456789");
  return text.substr(0, end);
}

}  // namespace

Result<Span> parse_time_limit(std::string_view text) {
  if (text == "-1" || equal_without_case(text, "infinite") ||
      equal_without_case(text, "unlimited")) {
    return Span{0};
  }
  std::int64_t days = 0;
  std::string_view clock = text;
  std::size_t dash = text.find('-');
  bool with_days = dash != std::string_view::npos;
  if (with_days) {
    auto value = to_number(text.substr(0, dash), kMinutesMax / (24 * 60));
    if (!value) return bad_time(text);
    days = *value;
    clock = text.substr(dash + 1);
    if (clock.empty()) clock = "0";  // "1-" is a day
  }
  std::vector<std::string_view> pieces = split(clock, ':');
  if (pieces.size() > 3) return bad_time(text);
  std::array<std::int64_t, 3> numbers{};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto value = to_number(pieces[i], kMinutesMax);
    if (!value) return bad_time(text);
    numbers[i] = *value;
  }
  // With days: hours[:minutes[:seconds]]; without: minutes, minutes:seconds or all three.
  std::int64_t minutes = 0;
  std::int64_t secs = 0;
  if (with_days || pieces.size() == 3) {
    minutes = numbers[0] * 60 + numbers[1];
    secs = numbers[2];
  } else {
    minutes = numbers[0];
    secs = numbers[1];
  }
  if (minutes > kMinutesMax || secs > kMinutesMax) return bad_time(text);
  return seconds((days * 24 * 60 + minutes) * 60 + secs);
}

Result<std::int64_t> parse_memory(std::string_view text) {
  std::string_view digits = leading_digits(text);
  auto value = to_number(digits, kBytesMax);
  auto power = unit_power(text.substr(digits.size()));
  Error bad =
      invalid(fmt::format("\"{}\" is not an amount of memory: write a whole number and K, M, G or "
                          "T (MB without a unit), at most 1 EiB",
                          shown(text)));
  if (!value || !power) return bad;
  int shift = (*power == 0 ? 2 : *power) * 10;
  if (*value > (kBytesMax >> shift)) return bad;
  return *value << shift;
}

namespace {

// "2", "1K"; used for counts of gres.
std::optional<std::int64_t> to_count(std::string_view text) {
  std::string_view digits = leading_digits(text);
  std::string_view unit = text.substr(digits.size());
  auto value = to_number(digits, kBytesMax);
  auto power = unit_power(unit);
  if (!value || !power || unit.size() > 1) return std::nullopt;
  if (*value > (kBytesMax >> (*power * 10))) return std::nullopt;
  return *value << (*power * 10);
}

bool countable_name(std::string_view name) {
  if (name.starts_with(kHugePages)) return huge_page_bytes(name) > 0;
  if (name.empty() || name.size() > 64 || name[0] < 'a' || name[0] > 'z') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.:/-") ==
         std::string_view::npos;
}

void add_countable(Request& request, std::string name, std::int64_t amount) {
  auto at = std::lower_bound(request.countables.begin(), request.countables.end(), name,
                             [](const Countable& c, const std::string& n) { return c.name < n; });
  if (at != request.countables.end() && at->name == name) {
    at->amount = std::min(at->amount + amount, kBytesMax);
  } else {
    request.countables.insert(at, Countable{std::move(name), amount});
  }
}

bool model_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name[0] != '-' &&
         name.find_first_of(" \t\r\n,:;=()") == std::string_view::npos;
}

// "1g.10gb", "mig-1g.10gb", or "a100_1g.10gb" as slurmd names what it finds.
struct SliceGres {
  std::string model;
  std::string slice;
};

bool read_slice(std::string_view text, SliceGres& out) {
  const std::size_t at = text.rfind('_');
  const auto slice = codec::parse_slice(at == std::string_view::npos ? text : text.substr(at + 1));
  if (!slice.ok()) return false;
  out.slice = *slice;
  if (at != std::string_view::npos) out.model = text.substr(0, at);
  return true;
}

Result<void> add_slices(Request& request, SliceGres gres, std::int64_t amount) {
  if (amount == 0) return {};
  if (amount > kCountMax) return invalid("more than 1000000 slices on a node");
  if (request.slices > 0 && request.slice != gres.slice) {
    return invalid("several profiles of slices in one request are not supported: ask for one");
  }
  request.slice = std::move(gres.slice);
  request.slices += static_cast<std::int32_t>(amount);
  if (!gres.model.empty()) request.gpu_model = std::move(gres.model);
  if (request.slices > kCountMax) return invalid("more than 1000000 slices on a node");
  return {};
}

// "hugepages-2mi" to "hugepages-2Mi"; others stay as they are.
std::string cased(std::string name) {
  if (name.starts_with(kHugePages) && name.ends_with('i')) {
    char& unit = name[name.size() - 2];
    if (unit >= 'a' && unit <= 'z') unit = static_cast<char>(unit - 'a' + 'A');
  }
  return name;
}

// One item of a gres list, "gres:" already taken off.
Result<void> add_gres(Request& request, std::string_view item) {
  std::vector<std::string_view> pieces = split(item, ':');
  std::int64_t amount = 1;
  if (pieces.size() > 1) {
    if (auto count = to_count(pieces.back())) {
      amount = *count;
      pieces.pop_back();
    } else if (auto bytes = codec::parse_bytes(pieces.back());
               bytes.ok() && huge_page_bytes(cased(lower(pieces[0]))) > 0) {
      amount = *bytes;
      pieces.pop_back();
    }
  }
  std::string_view type = pieces.size() > 1 ? pieces[1] : std::string_view();
  if (pieces.size() > 2 || (pieces.size() == 2 && !model_name(type))) {
    return invalid(
        fmt::format("\"{}\" is not a gres: write NAME[:TYPE][:COUNT], such as gpu:2", shown(item)));
  }
  std::string name = cased(lower(pieces[0]));
  const std::string_view sliced = name == "gpu" ? type : pieces[0];
  if (SliceGres slice; pieces.size() <= 2 && (name == "gpu" || name.find("mig-") < 12) &&
                       read_slice(sliced, slice)) {
    return add_slices(request, std::move(slice), amount);
  }
  if (name == "gpu") {
    if (amount > kCountMax) return invalid("more than 1000000 GPUs on a node");
    if (request.gpus > 0 && request.gpu_model != type) {
      return invalid("several GPU types in one request are not supported: ask for one type");
    }
    request.gpus += static_cast<std::int32_t>(amount);
    if (request.gpus > kCountMax) return invalid("more than 1000000 GPUs on a node");
    request.gpu_model = type;
    return {};
  }
  if (name == "mps") {
    if (amount < 1 || amount > 99) {
      return invalid("mps counts hundredths of one GPU: 1 to 99 (a whole one is gpu:1)");
    }
    request.share_milli = static_cast<std::int32_t>(amount) * 10;
    request.gpu_model = type;
    return {};
  }
  if (!countable_name(name)) {
    return invalid(
        fmt::format("\"{}\" is not a resource's name: write lower-case letters, digits "
                    "and _.:/-, at most 64, or hugepages-2Mi, hugepages-1Gi",
                    shown(pieces[0])));
  }
  if (pieces.size() == 2) name += ":" + std::string(type);
  if (!countable_name(name)) return invalid(fmt::format("\"{}\" is too long", shown(name)));
  if (amount > 0) add_countable(request, std::move(name), amount);
  return {};
}

}  // namespace

Result<Request> parse_gres(std::string_view text) {
  Request request;
  if (text.empty() || equal_without_case(text, "none")) return request;
  for (std::string_view item : split(text, ',')) {
    item = trimmed(item);
    if (item.substr(0, 5) == "gres:") item.remove_prefix(5);
    if (item.empty()) {
      return invalid(fmt::format("\"{}\" has an empty item: write gpu:2,NAME:1", shown(text)));
    }
    TRY(add_gres(request, item));
  }
  if (request.gpus > 0 && request.share_milli > 0) {
    return invalid("gpu and mps together: ask for whole GPUs or for a share of one");
  }
  if (request.slices > 0 && (request.gpus > 0 || request.share_milli > 0)) {
    return invalid("slices together with gpu or mps: ask for one of them");
  }
  return request;
}

Result<Request> parse_gpus(std::string_view text) {
  std::vector<std::string_view> pieces = split(text, ':');
  if (SliceGres slice; read_slice(pieces[0], slice)) {
    return invalid(
        fmt::format("ask for slices with --gres=gpu:{}:N: they are counted per node", slice.slice));
  }
  // A type alone is one of it.
  const char first = pieces[0].empty() ? '0' : pieces[0][0];
  if (pieces.size() == 1 && ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'))) {
    pieces.push_back("1");
  }
  auto count = to_number(pieces.back(), kCountMax);
  if (!count || pieces.size() > 2 || (pieces.size() == 2 && !model_name(pieces[0]))) {
    return invalid(
        fmt::format("\"{}\" is not a number of GPUs: write N or TYPE:N (one type)", shown(text)));
  }
  Request request;
  request.gpus = static_cast<std::int32_t>(*count);
  if (pieces.size() == 2) request.gpu_model = pieces[0];
  return request;
}

Result<NodeCount> parse_node_count(std::string_view text) {
  auto one = [](std::string_view piece) -> std::optional<std::int64_t> {
    auto count = to_count(piece);
    if (!count || *count < 1 || *count > kCountMax) return std::nullopt;
    return count;
  };
  std::vector<std::string_view> pieces = split(text, '-');
  auto low = one(pieces[0]);
  auto high = pieces.size() == 2 ? one(pieces[1]) : low;
  if (!low || !high || pieces.size() > 2 || *high < *low) {
    return invalid(fmt::format("\"{}\" is not a number of nodes: write N or MIN-MAX, at least 1",
                               shown(text)));
  }
  return NodeCount{static_cast<std::int32_t>(*low), static_cast<std::int32_t>(*high)};
}

Result<std::int32_t> parse_signal(std::string_view text) {
  // Linux's numbers, the same on x86-64 and arm64.
  constexpr std::array<std::string_view, 32> kNames = {
      "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS"};
  if (auto number = to_number(text, 64); number && *number > 0) {
    return static_cast<std::int32_t>(*number);
  }
  std::string_view name = text;
  if (name.size() > 3 && equal_without_case(name.substr(0, 3), "sig")) name.remove_prefix(3);
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (equal_without_case(name, kNames[i])) return static_cast<std::int32_t>(i);
  }
  return invalid(
      fmt::format("\"{}\" is not a signal: write 1 to 64 or a name such as USR1", shown(text)));
}

}  // namespace dove::jobfiles
