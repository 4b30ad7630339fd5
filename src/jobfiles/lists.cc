// Dependencies, arrays and lists of hosts.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "jobfiles/amounts.h"
#include "jobfiles/words.h"
#include "text/hostlist.h"

namespace dove::jobfiles {

namespace {

constexpr std::size_t kDependenciesMax = 10'000;
constexpr std::size_t kHostBytesMax = 253;

struct Kind {
  std::string_view name;
  DependencyKind kind;
};
constexpr Kind kKinds[] = {
    {"after", DependencyKind::kAfter},         {"afterany", DependencyKind::kAfterAny},
    {"afterok", DependencyKind::kAfterOk},     {"afternotok", DependencyKind::kAfterNotOk},
    {"aftercorr", DependencyKind::kAfterCorr},
};

Error bad_dependency(std::string_view item) {
  return invalid(
      fmt::format("\"{}\" is not a dependency: write KIND:JOB[:JOB] with after, "
                  "afterany, afterok, afternotok or aftercorr, after:JOB+MINUTES, or "
                  "singleton",
                  shown(item)));
}

// "123", "123_4", for kAfter also "123+5".
Result<Dependency> one_dependency(DependencyKind kind, std::string_view text,
                                  const FindElement& find_element) {
  Dependency dependency;
  dependency.kind = kind;
  std::string_view id = text;
  if (std::size_t plus = id.find('+'); plus != std::string_view::npos) {
    auto minutes = to_number(id.substr(plus + 1), 1'000'000);
    if (kind != DependencyKind::kAfter || !minutes) return bad_dependency(text);
    dependency.delay = seconds(*minutes * 60);
    id = id.substr(0, plus);
  }
  std::size_t underscore = id.find('_');
  auto number = to_number(id.substr(0, underscore), INT64_C(999'999'999'999'999'999));
  if (!number || *number == 0) return bad_dependency(text);
  dependency.job = JobId(static_cast<std::uint64_t>(*number));
  if (underscore != std::string_view::npos) {
    if (id.substr(underscore + 1) == "*") return dependency;
    auto index = to_number(id.substr(underscore + 1), kArrayIndexMax);
    if (!index) return bad_dependency(text);
    if (!find_element) {
      return invalid(
          fmt::format("\"{}\" names an element of an array, which cannot be looked up "
                      "here: write the element's own job id",
                      shown(text)));
    }
    TRY_ASSIGN(dependency.job, find_element(dependency.job, static_cast<std::int32_t>(*index)));
  }
  return dependency;
}

}  // namespace

Result<Dependencies> parse_dependency(std::string_view text, const FindElement& find_element) {
  Dependencies result;
  if (text.empty()) return result;
  result.any = text.find('?') != std::string_view::npos;
  if (result.any && text.find(',') != std::string_view::npos) {
    return invalid("',' (all) and '?' (any) cannot be mixed in a dependency: use one of them");
  }
  for (std::string_view item : split(text, result.any ? '?' : ',')) {
    item = trimmed(item);
    if (item == "singleton") {
      result.list.push_back(Dependency{DependencyKind::kSingleton, JobId(), Span{}});
      continue;
    }
    std::vector<std::string_view> pieces = split(item, ':');
    if (pieces[0] == "afterburstbuffer" || pieces[0] == "expand") {
      return invalid(fmt::format("the dependency \"{}\" is not supported: use afterany:JOB to wait "
                                 "for the end of a job",
                                 pieces[0]),
                     "unsupported");
    }
    const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const Kind& k) { return k.name == pieces[0]; });
    if (kind == std::end(kKinds) || pieces.size() < 2) return bad_dependency(item);
    if (result.list.size() + pieces.size() > kDependenciesMax) {
      return invalid(fmt::format("more than {} dependencies", kDependenciesMax));
    }
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      TRY_ASSIGN(Dependency dependency, one_dependency(kind->kind, pieces[i], find_element));
      result.list.push_back(dependency);
    }
  }
  return result;
}

Result<ArraySpec> parse_array(std::string_view text) {
  Error bad =
      invalid(fmt::format("\"{}\" is not a set of array indices: write 0-9, 1,3,5-7 or "
                          "0-15:4, then %N for at most N at once; indices up to {}, at "
                          "most {} of them",
                          shown(text), kArrayIndexMax, kArrayElementsMax));
  ArraySpec array;
  std::string_view set = text;
  if (std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    auto limit = to_number(text.substr(percent + 1), kArrayIndexMax);
    if (!limit || *limit == 0) return bad;
    array.running_max = static_cast<std::int32_t>(*limit);
    set = text.substr(0, percent);
  }
  if (set.size() > 1 && set.front() == '[' && set.back() == ']') {
    set = set.substr(1, set.size() - 2);
  }
  std::vector<std::int32_t>& indices = array.indices;
  for (std::string_view item : split(set, ',')) {
    std::size_t colon = item.find(':');
    std::string_view range = item.substr(0, colon);
    std::size_t dash = range.find('-');
    auto first = to_number(range.substr(0, dash), kArrayIndexMax);
    auto last =
        dash == std::string_view::npos ? first : to_number(range.substr(dash + 1), kArrayIndexMax);
    auto step = colon == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                : to_number(item.substr(colon + 1), kArrayIndexMax);
    if (!first || !last || !step || *step == 0 || *last < *first) return bad;
    if (colon != std::string_view::npos && dash == std::string_view::npos) return bad;
    for (std::int64_t i = *first; i <= *last; i += *step) {
      if (indices.size() >= kArrayElementsMax) return bad;
      indices.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return array;
}

namespace {

bool host_name(std::string_view name) {
  return !name.empty() && name.size() <= kHostBytesMax && name[0] != '-' && name[0] != '.' &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
             std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> parse_hostlist(std::string_view text) {
  Error bad =
      invalid(fmt::format("\"{}\" is not a list of nodes: write node1,node2 or "
                          "node[1-4,07-09], at most {} of them",
                          shown(text), kHostsMax));
  std::string list(text);
  std::replace(list.begin(), list.end(), '\n', ',');
  const auto words = text::split_hostlist(list);
  if (!words) return bad;
  std::vector<std::string> names;
  std::set<std::string> seen;
  std::size_t total = 0;
  for (const std::string_view word : *words) {
    if (trimmed(word).empty()) continue;
    auto expanded = text::expand_host(trimmed(word), kHostsMax - total);
    if (!expanded) return bad;
    total += expanded->size();
    for (std::string& name : *expanded) {
      if (!host_name(name)) return bad;
      if (seen.insert(name).second) names.push_back(std::move(name));
    }
  }
  if (names.empty()) return bad;
  return names;
}

}  // namespace dove::jobfiles
