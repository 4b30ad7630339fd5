// Checks of one file or directory.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "codec/quantity.h"
#include "command/command.h"
#include "files/owner.h"
#include "files/text_file.h"
#include "programs/doctor/checks.h"
#include "telemetry/clock.h"
#include "wire/tls/authority.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kDay_s = 24 * 3600;
constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr std::int64_t kFsyncSlow_us = 250'000;

}  // namespace

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFault:
      return "fault";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "";
}

std::string span_text(std::int64_t seconds) {
  if (seconds >= 2 * kDay_s) return fmt::format("{} days", seconds / kDay_s);
  if (seconds >= 7200) return fmt::format("{} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} s", seconds);
}

// In a process of its own: a mount that hangs would keep this one for ever.
Check check_disk(const std::string& part, const std::string& directory, std::int64_t bytes_least) {
  Check check{part, "disk " + directory, Verdict::kGood, "", ""};
  command::Wanted wanted;
  wanted.words = {"df", "-B1", "--output=avail,pcent", directory};
  wanted.limit = std::chrono::seconds(5);
  const Result<command::End> end = command::run(wanted);
  if (!end.ok()) {
    check.verdict = end.error().code == "too_slow" ? Verdict::kFault : Verdict::kUnknown;
    check.evidence =
        end.error().code == "too_slow" ? "it has not answered within 5 s" : end.error().message;
    check.remedy = "look at the mount: findmnt -T " + directory;
    return check;
  }
  const std::size_t line = end->output.find('\n');
  const char* const begin = end->output.c_str() + (line == std::string::npos ? 0 : line + 1);
  char* after = nullptr;
  const long long free_bytes = std::strtoll(begin, &after, 10);
  if (end->code != 0 || after == begin) {
    check.verdict = Verdict::kFault;
    check.evidence = end->said.empty() ? "df says nothing about it" : end->said;
    return check;
  }
  check.evidence = fmt::format("{} free", codec::human_bytes(free_bytes));
  if (free_bytes < bytes_least) {
    check.verdict = Verdict::kFault;
    check.evidence += fmt::format(", under {}", codec::human_bytes(bytes_least));
    check.remedy = "free some space; docs/operate/recovery.md, \"A full disk\"";
  }
  return check;
}

Check check_fsync(const std::string& part, const std::string& directory) {
  Check check{part, "fsync " + directory, Verdict::kGood, "", ""};
  command::Wanted wanted;
  wanted.words = {"sync", directory};
  wanted.limit = std::chrono::seconds(5);
  Result<command::End> end = command::End{};
  std::int64_t took_us = kFsyncSlow_us + 1;
  // The fastest of three: a busy machine is slow to start a program.
  for (int i = 0; i < 3 && end.ok() && end->code == 0 && took_us > kFsyncSlow_us; ++i) {
    const std::int64_t begun_us = telemetry::monotonic_us();
    end = command::run(wanted);
    took_us = std::min(i == 0 ? INT64_MAX : took_us, telemetry::monotonic_us() - begun_us);
  }
  const bool hangs = !end.ok() && end.error().code == "too_slow";
  if (!hangs && (!end.ok() || end->code != 0)) {
    check.verdict = Verdict::kUnknown;
    check.evidence = end.ok() ? end->said : end.error().message;
    return check;
  }
  check.evidence = hangs ? "it has not ended within 5 s" : fmt::format("{} ms", took_us / 1000);
  if (hangs || took_us > kFsyncSlow_us) {
    check.verdict = hangs ? Verdict::kFault : Verdict::kWarning;
    check.remedy = part == "server"
                       ? "each submission waits for one: put the data on a local SSD; iostat -x 1"
                       : "a slow disk slows joining and tasks: put the data on a local SSD; "
                         "iostat -x 1";
  }
  return check;
}

Check check_private(const std::string& part, const std::string& path) {
  Check check{part, "file " + path, Verdict::kGood, "", ""};
  struct stat is {};
  if (::lstat(path.c_str(), &is) != 0) {
    if (errno == ENOENT) {
      check.evidence = "not there";
    } else {
      check.verdict = Verdict::kUnknown;
      check.evidence = std::strerror(errno);
      check.remedy = "run dove doctor as root, or as the user that the program runs as";
    }
    return check;
  }
  check.evidence = fmt::format("mode {:04o}", is.st_mode & 07777U);
  if ((is.st_mode & 077U) != 0) {
    check.verdict = Verdict::kFault;
    check.evidence += ": others may read or change it";
    check.remedy = "chmod 600 " + path;
    return check;
  }
  // Whose the directory is runs the program.
  const std::optional<files::Owner> runs = files::owner_beside(path);
  if (!runs || runs->user == 0 || runs->user == is.st_uid) return check;
  check.verdict = Verdict::kFault;
  check.evidence += fmt::format(
      ": user {} owns it, and user {}, whose the data are, cannot read it", is.st_uid, runs->user);
  check.remedy = fmt::format("chown --reference={} {}", path.substr(0, path.rfind('/')), path);
  return check;
}

Check check_certificate(const std::string& part, const std::string& path, std::int64_t now_s,
                        std::int64_t days_least, const std::string& remedy) {
  Check check{part, "certificate " + path, Verdict::kGood, "", ""};
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0 && errno == ENOENT) {
    check.evidence = "not there: no TLS";
    return check;
  }
  const Result<std::string> text = files::read_text(path, kFileBytesMax);
  const auto facts =
      text.ok() ? wire::read_certificate(*text) : Result<wire::CertificateFacts>(text.error());
  if (!facts.ok()) {
    check.verdict = text.ok() ? Verdict::kFault : Verdict::kUnknown;
    check.evidence = facts.error().message;
    check.remedy = remedy;
    return check;
  }
  const std::int64_t left_s = facts->not_after_s - now_s;
  if (now_s < facts->not_before_s) {
    check.verdict = Verdict::kFault;
    check.evidence = fmt::format("not valid for another {}: a clock is wrong",
                                 span_text(facts->not_before_s - now_s));
    check.remedy = "timedatectl";
  } else if (left_s <= 0) {
    check.verdict = Verdict::kFault;
    check.evidence = fmt::format("it ended {} ago", span_text(-left_s));
    check.remedy = remedy;
  } else {
    check.evidence = fmt::format("valid for {}", span_text(left_s));
    if (left_s >= days_least * kDay_s) return check;
    check.verdict = Verdict::kWarning;
    check.remedy = remedy;
  }
  return check;
}

}  // namespace dove::programs
