#include "agent/health/progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "agent/health/stray_files.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::agent {
namespace {

constexpr std::size_t kSteps = 8;  // of which the median is reported
constexpr std::size_t kPhase_bytes = 24;
constexpr std::size_t kEntries_max = 16'384;  // of a directory
constexpr int kRemoved_max = 20'000;          // in one look
constexpr std::int64_t kFile_bytes = 64 << 10;
constexpr int kBlames_max = 16;
constexpr int kIdleLooks = 64;  // between two that remove what was put there while no task ran
constexpr std::int64_t kStep_max = std::int64_t{1} << 53;
constexpr double kSeconds_max = 1e6;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole(std::string_view text) {
  const auto value = number<std::int64_t>(text);
  return value && *value >= 0 && *value <= kStep_max ? value : std::nullopt;
}

std::optional<std::int64_t> span_us(std::string_view text) {
  const auto value = number<double>(text);
  if (!value || !(*value >= 0 && *value <= kSeconds_max)) return std::nullopt;
  return static_cast<std::int64_t>(*value * 1e6);
}

bool is_word(std::string_view text) {
  return text.size() <= kPhase_bytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

// "3,7": as many of them as are looked at.
std::vector<Rank> read_ranks(std::string_view text) {
  std::set<Rank> ranks;
  while (!text.empty() && ranks.size() < kBlamed_max) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (const auto rank = number<Rank>(one)) ranks.insert(*rank);
  }
  return {ranks.begin(), ranks.end()};
}

void take_word(std::string_view name, std::string_view value, Said& said) {
  if (name == "seconds") said.step_us = span_us(value).value_or(0);
  if (name == "wait") said.wait_us = span_us(value).value_or(0);
  if (name == "samples") said.samples = whole(value).value_or(0);
  if (name == "phase" && is_word(value)) said.phase = value;
  if (name == "blamed") said.blamed = read_ranks(value);
  if (name != "loss") return;
  const auto loss = number<double>(value);
  if (loss && std::isfinite(*loss)) said.loss = loss;
}

// The first bytes of a plain file in `directory`; "" of any other.
std::string read_beginning(int directory, const char* name) {
  const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return "";
  struct stat facts {};
  std::string text(kProgressLine_bytes, '\0');
  ssize_t got = 0;
  if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
    got = pread(fd, text.data(), text.size(), 0);
  close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

std::optional<Said> read_progress_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end);
  Said said;
  bool has_step = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view value = word.substr(equals + 1);
    if (word.substr(0, equals) == "step") {
      const auto step = whole(value);
      if (!step) return std::nullopt;
      said.step = *step;
      has_step = true;
    } else {
      take_word(word.substr(0, equals), value, said);
    }
  }
  said.wait_us = std::min(said.wait_us, said.step_us);
  return has_step ? std::optional<Said>(std::move(said)) : std::nullopt;
}

std::string progress_prefix(const LaunchOrder& order) {
  return order.key.text() + "." + wire::sha256_hex("progress " + order.job_token).substr(0, 16);
}

std::string own_progress_directory(const std::string& attempt_directory) {
  return attempt_directory + "/progress";
}

bool read_progress(const std::string& directory, bool removes, ProgressFound& found) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* entries = fd < 0 ? nullptr : fdopendir(fd);
  if (entries == nullptr) {
    if (fd >= 0) close(fd);
    return true;
  }
  std::size_t seen = 0;
  int entries_left = kRemoved_max;
  for (const dirent* entry = readdir(entries); entry != nullptr; entry = readdir(entries)) {
    if (++seen > kEntries_max) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::size_t dot = std::min(name.rfind('.'), name.size());
    const auto attempt = found.find(std::string(name.substr(0, dot)));
    if (attempt == found.end()) {
      if (removes) remove_stray(fd, entry->d_name, entries_left);
      continue;
    }
    if (removes) bound_file(fd, entry->d_name, kFile_bytes);
    const auto rank = number<Rank>(name.substr(std::min(dot + 1, name.size())));
    if (!rank || attempt->second.size() >= kProgressRanks_max) continue;
    if (auto said = read_progress_line(read_beginning(fd, entry->d_name))) {
      attempt->second[*rank] = std::move(*said);
    }
  }
  closedir(entries);
  return seen <= kEntries_max;
}

void read_progress_of(const std::string& directory, const std::string& prefix,
                      const std::vector<Rank>& ranks, ProgressFound& found) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  std::map<Rank, Said>& of = found[prefix];
  for (const Rank rank : ranks) {
    if (of.size() >= kProgressRanks_max) break;
    const std::string name = fmt::format("{}.{}", prefix, rank);
    if (auto said = read_progress_line(read_beginning(fd, name.c_str()))) of[rank] = *said;
  }
  close(fd);
}

bool AttemptProgress::take(const std::map<Rank, Said>& said) {
  bool is_news = false;
  for (const auto& [rank, now] : said) {
    const auto [at, is_first] = ranks_.try_emplace(rank);
    Ranked& ranked = at->second;
    if (!is_first && ranked.last == now) continue;
    is_news = true;
    has_new_blame_ |= now.blamed != ranked.last.blamed && !now.blamed.empty();
    if (now.step_us > 0 && (is_first || ranked.last.step != now.step)) {
      ranked.busy_us.push_back(now.step_us - now.wait_us);
      if (ranked.busy_us.size() > kSteps) ranked.busy_us.pop_front();
    }
    ranked.last = now;
  }
  return is_news;
}

std::int64_t AttemptProgress::median_us(const Ranked& ranked) {
  if (ranked.busy_us.empty()) return 0;
  std::vector<std::int64_t> times(ranked.busy_us.begin(), ranked.busy_us.end());
  std::sort(times.begin(), times.end());
  return times[(times.size() - 1) / 2];
}

protocol::Progress AttemptProgress::report(AttemptKey key) const {
  protocol::Progress said{key, {}};
  for (const auto& [rank, ranked] : ranks_) {
    said.ranks.push_back({rank, ranked.last.step, ranked.last.step_us, median_us(ranked),
                          ranked.last.samples, ranked.last.loss, ranked.last.phase,
                          ranked.last.blamed});
  }
  return said;
}

ProgressWatch::ProgressWatch(wire::Loop& loop, std::string directory,
                             std::chrono::milliseconds every,
                             std::function<std::vector<Attempt>()> attempts,
                             std::function<void(protocol::Progress)> tell)
    : loop_(loop),
      directory_(std::move(directory)),
      every_(every),
      attempts_(std::move(attempts)),
      tell_(std::move(tell)) {}

void ProgressWatch::start(bool shared) {
  const mode_t mode = shared ? 01733 : 0700;
  const bool made = mkdir(directory_.c_str(), mode) == 0 || errno == EEXIST;
  if (!made || chmod(directory_.c_str(), mode) != 0) {
    telemetry::log(telemetry::Level::kError, "no_progress",
                   {{"directory", directory_}, {"why", std::strerror(errno)}});
    return;
  }
  look();
}

void ProgressWatch::repeat() {
  for (auto& [key, watched] : watched_) {
    watched.is_news |= watched.told_us > 0;
    watched.told_us = 0;
  }
}

void ProgressWatch::last_words(AttemptKey key) {
  const auto at = watched_.find(key);
  if (at == watched_.end()) return;
  Watched& watched = at->second;
  const Attempt& attempt = watched.attempt;
  ProgressFound found;
  read_progress_of(attempt.own_directory.empty() ? directory_ : attempt.own_directory,
                   attempt.prefix, attempt.ranks, found);
  watched.is_news |= watched.progress.take(found[attempt.prefix]);
  if (!watched.progress.has_new_blame()) return;
  watched.is_news = false;
  watched.told_us = loop_.monotonic_us();
  tell_(watched.progress.report(key));
}

void ProgressWatch::look() {
  // Some looks between two tellings: the median is of several steps.
  timer_ = loop_.after(std::max(every_ / 8, std::chrono::milliseconds(50)), [this] { look(); });
  const std::vector<Attempt> all = attempts_();
  const bool was_idle = std::exchange(is_idle_, all.empty());
  if (was_idle && is_idle_ && ++idle_looks_ % kIdleLooks != 0) return;
  ProgressFound found;
  for (const Attempt& attempt : all) found[attempt.prefix];
  const bool saw_all = read_progress(directory_, /*removes=*/true, found);
  for (const Attempt& attempt : all) {
    if (!saw_all) read_progress_of(directory_, attempt.prefix, attempt.ranks, found);
    if (!attempt.own_directory.empty())
      read_progress(attempt.own_directory, /*removes=*/false, found);
  }
  const std::int64_t now_us = loop_.monotonic_us();
  std::map<AttemptKey, Watched> still;
  for (const Attempt& attempt : all) {
    const auto before = watched_.find(attempt.key);
    Watched watched = before == watched_.end() ? Watched{} : std::move(before->second);
    watched.attempt = attempt;
    watched.is_news |= watched.progress.take(found[attempt.prefix]);
    const bool blames = watched.progress.has_new_blame() && ++watched.blames <= kBlames_max;
    const bool due = watched.told_us == 0 || blames ||
                     now_us - watched.told_us >= std::chrono::microseconds(every_).count();
    if (watched.is_news && due) {
      watched.is_news = false;
      watched.told_us = now_us;
      tell_(watched.progress.report(attempt.key));
    }
    still.emplace(attempt.key, std::move(watched));
  }
  watched_ = std::move(still);
}

}  // namespace dove::agent
