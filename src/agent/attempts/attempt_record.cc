#include "agent/attempts/attempt_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "agent/aside/linux_user.h"
#include "agent/devices/device_shares.h"
#include "agent/forward/task_socket.h"
#include "base/digest.h"
#include "codec/json.h"
#include "files/text_file.h"

namespace dove::agent {
namespace {

constexpr char kStartedLine[] = "{\"started\":true}";
constexpr char kLeftLine[] = "{\"left\":true}";
constexpr char kHasNetwork[] = "has_network";
constexpr char kNetworkLine[] = "{\"has_network\":true}";
constexpr char kStartedAt[] = "started_us";  // {"started_us":N}, before an end
constexpr char kShares[] = "shares";         // {"shares":"library"}
constexpr char kPlace[] = "place";           // {"place":PLACEMENT}
// Lines of their own, so that former versions read the rest: what is not the line any more that was
// written is not believed.
constexpr char kOrderDigest[] = "order_digest";  // behind the order
constexpr char kLineDigest[] = "line_digest";    // before a line with neither of the others
constexpr char kEndDigest[] = "end_digest";      // before the end
constexpr char kDamaged[] = "(damaged)";
constexpr std::size_t kEnded_bytes = std::size_t{64} << 20;
constexpr std::size_t kRecord_bytes = std::size_t{256} << 20;  // an order and an end at most

std::string record_path(const std::string& directory) { return directory + "/record"; }

Error cannot_write(const std::string& path, int reason) {
  const char* remedy = reason == ENOSPC || reason == EDQUOT ? "; free some space there" : "";
  return Error{ErrorKind::kInvalid, "cannot_write",
               fmt::format("{}: {}{}", path, std::strerror(reason), remedy), ""};
}

// Writes all of the text at the file's end, or nothing of it.
Result<void> write_text(const std::string& path, int flags, mode_t mode, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, mode);
  if (fd < 0) return cannot_write(path, errno);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int reason = written < 0 ? errno : ENOSPC;
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (!whole && ((flags & O_CREAT) != 0 ||
                 (written > 0 && ::ftruncate(fd, ::lseek(fd, 0, SEEK_CUR) - written) != 0))) {
    ::unlink(path.c_str());
  }
  ::close(fd);
  if (!whole) return cannot_write(path, reason);
  return {};
}

Result<void> make_directory(const std::string& path, mode_t mode,
                            const std::optional<LinuxUser>& owner) {
  const bool made = ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST;
  const bool given = made && (!owner || ::chown(path.c_str(), owner->uid, owner->gid) == 0);
  if (!given || ::chmod(path.c_str(), mode) != 0) return cannot_write(path, errno);
  return {};
}

std::optional<LinuxUser> user_of(const std::string& linux_user) {
  return linux_user.empty() ? std::nullopt : known_linux_user(linux_user);
}

std::string hostfile(const LaunchOrder& order) {
  std::string text;
  for (const PeerNode& node : order.nodes) {
    text += fmt::format("{} slots={}\n", node.name, std::max<std::size_t>(node.ranks.size(), 1));
  }
  return text;
}

Result<void> write_batch_files(const std::string& directory, const LaunchOrder& order) {
  TRY(write_text(directory + "/hostfile", O_CREAT | O_TRUNC, 0644, hostfile(order)));
  if (order.placement.node_rank != 0) return {};
  const std::string script = directory + "/script";
  TRY(write_text(script, O_CREAT | O_TRUNC, 0700, order.exec.script));  // nobody else's to read
  const std::optional<LinuxUser> owner =
      ::geteuid() != 0 ? std::nullopt : user_of(order.linux_user);
  if (owner && ::chown(script.c_str(), owner->uid, owner->gid) != 0) {
    return cannot_write(script, errno);
  }
  return {};
}

std::string digest_of(std::string_view line) {
  Digest digest;
  digest.add(line);
  return fmt::format("{:016x}", digest.value());
}

std::string digest_line(const char* name, std::string_view line) {
  return codec::dump_json(nlohmann::json{{name, digest_of(line)}}) + "\n";
}

std::string digested(const std::string& line) {
  return digest_line(kLineDigest, line) + line + "\n";
}

bool is_end(const protocol::Report& report) {
  return std::holds_alternative<protocol::Ended>(report) ||
         std::holds_alternative<protocol::LaunchRefused>(report);
}

Result<void> remove_task_files(const std::string& directory) {
  Result<void> removed;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    if (!entry.path().filename().string().starts_with(kTaskPrefix)) continue;
    if (::unlink(entry.path().c_str()) != 0) removed = cannot_write(entry.path(), errno);
  }
  return removed;
}

std::string without_environment(const std::string& record) {
  const std::size_t end = record.find('\n');
  Result<nlohmann::json> order = codec::parse_json(record.substr(0, end), kRecord_bytes);
  // What cannot be read as an order is of no use to anybody.
  std::string text = kDamaged;
  if (order.ok() && order->is_object()) {
    order->erase("job_token");
    if (const auto exec = order->find("exec"); exec != order->end() && exec->is_object()) {
      exec->erase("environment");
    }
    text = codec::dump_json(*order);
  }
  text += "\n" + digest_line(kOrderDigest, text);
  const std::string former = fmt::format("\"{}\":", kOrderDigest);
  for (std::size_t at = end; at < record.size() - 1;) {
    const std::size_t next = std::min(record.find('\n', at + 1), record.size() - 1);
    const std::string_view line = std::string_view(record).substr(at + 1, next - at);
    if (line.find(former) == line.npos) text += line;
    at = next;
  }
  return text;
}

// Where it lies. After a crash on the way its order is damaged, and less is left of the former
// text.
Result<void> overwrite(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return cannot_write(path, errno);
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  const bool whole = written == static_cast<ssize_t>(text.size());
  const bool done = whole && ::ftruncate(fd, written) == 0;
  const int reason = written < 0 || whole ? errno : ENOSPC;
  ::close(fd);
  if (!done) return cannot_write(path, reason);
  return {};
}

// Takes a record line by line.
class RecordReader {
 public:
  explicit RecordReader(AttemptOnDisk& found) : found_(found) {}

  void take(const std::string& line) {
    const std::string digest = std::exchange(line_digest_, "");
    if (std::exchange(is_first_, false)) {
      found_.order = line;
    } else if (!digest.empty() && digest != digest_of(line)) {
      // What it said is not known: then the order alone does not say how its tasks run.
      found_.order = kDamaged;
    } else if (line == kStartedLine) {
      found_.started = true;
    } else if (line == kLeftLine) {
      found_.left = true;
    } else if (line == kNetworkLine) {
      found_.has_network = true;
    } else if (Result<nlohmann::json> body = codec::parse_json(line, kEnded_bytes); body.ok()) {
      try {
        take_json(line, *body);
      } catch (const nlohmann::json::exception&) {
        found_.ended.reset();  // not what was written: what the tasks left says more
      }
    }
  }

 private:
  void take_json(const std::string& line, const nlohmann::json& body) {
    if (body.contains(kShares)) {
      found_.shares = body.at(kShares).get<std::string>();
    } else if (body.contains(kPlace)) {
      Result<Placement> place = codec::read_placement(body.at(kPlace));
      if (place.ok()) found_.place = std::move(place).value();
    } else if (body.contains(kOrderDigest)) {
      // Such an order is none that can be read, and what it started is ended.
      const bool same = body.at(kOrderDigest).get<std::string>() == digest_of(found_.order);
      if (!same) found_.order = kDamaged;
      found_.has_network = found_.has_network || body.value(kHasNetwork, false);
    } else if (body.contains(kLineDigest)) {
      line_digest_ = body.at(kLineDigest).get<std::string>();
    } else if (body.contains(kEndDigest)) {
      end_digest_ = body.at(kEndDigest).get<std::string>();
    } else if (body.contains(kStartedAt)) {
      found_.started_us = body.at(kStartedAt).get<std::int64_t>();
    } else {
      Result<protocol::Report> end = protocol::read_report(body);
      found_.ended.reset();
      const bool same = end_digest_.empty() || end_digest_ == digest_of(line);
      if (same && end.ok() && is_end(*end)) found_.ended = std::move(end).value();
    }
  }

  AttemptOnDisk& found_;
  bool is_first_ = true;
  std::string line_digest_;  // of the next line; "": a former version wrote none
  std::string end_digest_;
};

}  // namespace

Result<void> write_attempt(const std::string& directory, const LaunchOrder& order,
                           const std::string& order_text, const std::string& linux_user) {
  // The task's user passes through to what is its own.
  TRY(make_directory(directory, 0711, std::nullopt));
  if (order.exec.workdir.empty()) {
    TRY(make_directory(directory + "/work", 0700, user_of(linux_user)));
  }
  // A container's user is another.
  const bool makes_sockets = !order.exec.workdir.empty() && order.exec.container.image.empty();
  if (makes_sockets) {
    TRY(make_directory(sockets_directory(directory, order.exec), 0700, user_of(linux_user)));
  }
  const bool shares =
      std::any_of(order.placement.devices.begin(), order.placement.devices.end(),
                  [](const DeviceGrant& grant) { return grant.share_milli < kWholeDevice_milli; });
  if (shares && order.exec.container.image.empty()) {
    TRY(make_directory(shares_directory(directory), 0700, user_of(linux_user)));
  }
  if (order.launch == LaunchMode::kBatch) TRY(write_batch_files(directory, order));
  std::string text = order_text + "\n";
  nlohmann::json digest{{kOrderDigest, digest_of(order_text)}};
  if (order.has_network) {
    // Twice, and not on neighbouring lines, which a damaged end of a line would join.
    text += std::string(kNetworkLine) + "\n\n";
    digest[kHasNetwork] = true;
  }
  text += codec::dump_json(digest) + "\n";
  return write_text(record_path(directory), O_CREAT | O_TRUNC, 0600, text);
}

Result<void> make_tmp(const std::string& directory, const std::string& linux_user) {
  return make_directory(directory + "/tmp", 0700, user_of(linux_user));
}

void write_started(const std::string& directory) {
  // A failure does no harm: the controller says Start again.
  (void)write_text(record_path(directory), 0, 0, std::string(kStartedLine) + "\n");
}

void write_left(const std::string& directory) {
  // After a failure its end may be taken for its own, if the next agent has to find it out.
  (void)write_text(record_path(directory), 0, 0, digested(kLeftLine));
}

void write_shares(const std::string& directory, const std::string& keeper) {
  // A failure does no harm: nobody is told.
  (void)write_text(record_path(directory), 0, 0,
                   digested(codec::dump_json(nlohmann::json{{kShares, keeper}})));
}

void write_place(const std::string& directory, const Placement& placement) {
  // After a failure a restarted agent pins what it starts then to the cores that it had before.
  (void)write_text(
      record_path(directory), 0, 0,
      digested(codec::dump_json(nlohmann::json{{kPlace, codec::placement_json(placement)}})));
}

void write_ended(const std::string& directory, const protocol::Report& report,
                 std::int64_t started_us) {
  // A failure does no harm: what the tasks left says as much.
  std::string text;
  if (started_us != 0) text = digested(codec::dump_json(nlohmann::json{{kStartedAt, started_us}}));
  const std::string end = protocol::report_text(report);
  (void)write_text(record_path(directory), 0, 0, text + digest_line(kEndDigest, end) + end + "\n");
}

std::int64_t age_us(const AttemptOnDisk& found) {
  if (!found.written) return 0;
  const auto age = std::filesystem::file_time_type::clock::now() - *found.written;
  return std::chrono::duration_cast<std::chrono::microseconds>(age).count();
}

AttemptOnDisk read_attempt(const std::string& directory) {
  AttemptOnDisk found;
  std::error_code missing;
  const auto written = std::filesystem::last_write_time(record_path(directory), missing);
  if (!missing) found.written = written;
  std::ifstream file(record_path(directory));
  std::stringstream text;
  text << file.rdbuf();
  RecordReader reader(found);
  for (std::string line; std::getline(text, line) && !text.eof();) reader.take(line);
  // The record of another attempt, put here by a disk or a person.
  const auto key = read_key(std::filesystem::path(directory).filename().string());
  if (key && found.ended && *protocol::key_of(*found.ended) != *key) found.ended.reset();
  return found;
}

bool has_task_files(const std::string& directory) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    if (entry.path().filename().string().starts_with(kTaskPrefix)) return true;
  }
  return false;
}

Result<void> drop_environment(const std::string& directory) {
  const std::string path = record_path(directory);
  const Result<std::string> found = files::read_text(path, kRecord_bytes);
  const Result<void> removed = remove_task_files(directory);
  if (!found.ok() && found.error().kind == ErrorKind::kNotFound) return removed;
  TRY_ASSIGN(const std::string record, found);
  const std::string text = without_environment(record);
  // A full disk has no room for another file.
  if (!files::write_atomically(path, text, 0600).ok()) TRY(overwrite(path, text));
  return removed;
}

std::optional<AttemptKey> read_key(const std::string& text) {
  AttemptKey key;
  const char* const end = text.data() + text.size();
  const auto job = std::from_chars(text.data(), end, key.job.value);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, key.attempt);
  if (attempt.ec != std::errc() || attempt.ptr != end) return std::nullopt;
  return key;
}

}  // namespace dove::agent
