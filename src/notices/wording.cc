#include "notices/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"
#include "text/utf8.h"

namespace dove::notices {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNameMax_bytes = 120;
constexpr std::size_t kWhyMax_bytes = 1000;

// One line without control characters, of at most `bytes_max` bytes, cut between characters.
std::string line_of(std::string_view text, std::size_t bytes_max) {
  std::string out(text.substr(0, text::utf8_bytes(text)));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (out.size() <= bytes_max) return out;
  out.resize(bytes_max);
  out.resize(text::utf8_bytes(out));
  return out + "...";
}

std::string link_of(const Notice& notice, const Origin& origin) {
  if (origin.url.empty()) return "";
  if (notice.job) return fmt::format("{}/jobs/{}", origin.url, notice.job.value);
  return notice.node.empty() ? origin.url : fmt::format("{}/nodes/{}", origin.url, notice.node);
}

std::string job_words(const Notice& notice) {
  return fmt::format("job {} ({})", notice.job.value, line_of(notice.job_name, kNameMax_bytes));
}

std::string outcome_words(const Notice& notice) {
  if (notice.what == "completed") return "completed";
  std::string word = notice.what;
  std::ranges::replace(word, '_', ' ');
  return notice.exit_code == 0 ? word : fmt::format("{}, exit code {}", word, notice.exit_code);
}

// "2026-11-23 20:30 UTC", as precise as people need it.
std::string when_words(Instant at) {
  const std::string text = codec::rfc3339(at);
  return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 5));
}

// What happened, without the cluster.
std::string headline(const Notice& notice) {
  if (notice.is_test) return "this is a test of your notices";
  switch (notice.about) {
    case NoticeAbout::kJobStarted:
      return job_words(notice) + " has started";
    case NoticeAbout::kJobEnded:
    case NoticeAbout::kJobFailed:
      return fmt::format("{} ended: {}", job_words(notice), outcome_words(notice));
    case NoticeAbout::kJobStartsSoon:
      return fmt::format("{} starts at {}", job_words(notice), when_words(notice.then));
    case NoticeAbout::kJobStopsSoon:
      return notice.then.us == 0
                 ? job_words(notice) + " is being stopped"
                 : fmt::format("{} is stopped at {}", job_words(notice), when_words(notice.then));
    case NoticeAbout::kSessionIdle:
      return fmt::format("{} {} at {}", job_words(notice),
                         notice.what == "lifetime" ? "ends" : "is idle and ends",
                         when_words(notice.then));
    case NoticeAbout::kNodeSick:
      return fmt::format("node {} is sick: {}", notice.node, line_of(notice.what, kNameMax_bytes));
  }
  return "";
}

// What can be done about it.
std::string remedy_of(const Notice& notice) {
  switch (notice.about) {
    case NoticeAbout::kSessionIdle:
      return notice.what == "lifetime"
                 ? std::string("Nothing puts that off: save your work in time.")
                 : fmt::format("Use it, or `dove keep {}` keeps it; else it is stopped then.",
                               notice.job.value);
    case NoticeAbout::kJobStopsSoon:
      return notice.then.us == 0 ? "" : "Save your work in time.";
    case NoticeAbout::kNodeSick:
      return fmt::format("`dove nodes {}` shows more.", notice.node);
    case NoticeAbout::kJobFailed:
      return fmt::format("`dove logs {}` shows what it printed.", notice.job.value);
    case NoticeAbout::kJobStarted:
    case NoticeAbout::kJobEnded:
    case NoticeAbout::kJobStartsSoon:
      return "";
  }
  return "";
}

std::string date_of(Instant at) {
  const std::time_t seconds = at.us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} +0000", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
}

// A word of a host name, whatever a cluster is called.
std::string label_of(const std::string& name) {
  std::string out;
  for (const char c : name.substr(0, 40)) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += is_plain ? c : '-';
  }
  return out.empty() ? "dove" : out;
}

std::string slack_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string subject_of(const Notice& notice, const Origin& origin) {
  return line_of(fmt::format("[{}] {}", origin.cluster, headline(notice)), 400);
}

std::string text_of(const Notice& notice, const Origin& origin) {
  std::string out = fmt::format("{}\n\n", line_of(headline(notice), 400));
  if (!notice.why.empty()) out += fmt::format("Why: {}.\n", line_of(notice.why, kWhyMax_bytes));
  out += fmt::format("When: {}\n", when_words(notice.at));
  if (notice.job && notice.attempt > 1) out += fmt::format("Attempt: {}\n", notice.attempt);
  if (!notice.node.empty()) out += fmt::format("Node: {}\n", notice.node);
  out += fmt::format("Cluster: {}\n", line_of(origin.cluster, kNameMax_bytes));
  if (const std::string remedy = remedy_of(notice); !remedy.empty() && !notice.is_test) {
    out += "\n" + remedy + "\n";
  }
  if (const std::string link = link_of(notice, origin); !link.empty()) out += "\n" + link + "\n";
  return out;
}

std::string header_text(std::string_view text) {
  const std::string line = line_of(text, 1000);
  const bool is_ascii = std::ranges::all_of(line, [](unsigned char c) { return c < 0x80; });
  if (is_ascii && line.size() <= 400 && line.find("=?") == std::string::npos) return line;
  // Words of at most 75 characters, none of which cuts a character.
  constexpr std::string_view kBegin = "=?utf-8?q?";
  std::string out;
  std::string word;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t size = 1;
    while (i + size < line.size() && (static_cast<unsigned char>(line[i + size]) & 0xc0) == 0x80) {
      ++size;
    }
    std::string encoded;
    for (const char c : line.substr(i, size)) {
      const bool is_plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      encoded +=
          is_plain ? std::string(1, c) : fmt::format("={:02X}", static_cast<unsigned char>(c));
    }
    if (kBegin.size() + word.size() + encoded.size() + 2 > 75) {
      out += std::string(kBegin) + word + "?=\r\n ";
      word.clear();
    }
    word += encoded;
    i += size;
  }
  return out + std::string(kBegin) + word + "?=";
}

std::string quoted_printable(std::string_view text) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      out += "\r\n";
      column = 0;
      continue;
    }
    const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
    const bool is_plain = (c > ' ' && c < 0x7f && c != '=') || (c == ' ' && !ends_line);
    const std::string piece =
        is_plain ? std::string(1, c) : fmt::format("={:02X}", static_cast<unsigned char>(c));
    if (column + piece.size() > 75) {
      out += "=\r\n";
      column = 0;
    }
    out += piece;
    column += piece.size();
  }
  return out;
}

std::string mail_of(const Notice& notice, const Origin& origin, const std::string& from,
                    const std::string& to, const std::string& id, Instant now) {
  const std::string host = from.substr(from.find('@') + 1);
  std::string out;
  const auto header = [&](std::string_view name, std::string_view value) {
    out += fmt::format("{}: {}\r\n", name, value);
  };
  header("From", fmt::format("Dovetail <{}>", from));
  header("To", fmt::format("<{}>", to));
  header("Subject", header_text(subject_of(notice, origin)));
  header("Date", date_of(now));
  header("Message-ID", fmt::format("<{}@{}>", id, host));
  header("Dove-Notice-Id", id);
  header("List-Id", fmt::format("<notices.{}.{}>", label_of(origin.cluster), host));
  header("Auto-Submitted", "auto-generated");
  header("X-Auto-Response-Suppress", "All");
  header("MIME-Version", "1.0");
  header("Content-Type", "text/plain; charset=utf-8");
  header("Content-Transfer-Encoding", "quoted-printable");
  const std::string text =
      text_of(notice, origin) + "\nYou chose this notice: `dove notices` shows and changes it.\n";
  return out + "\r\n" + quoted_printable(text);
}

Json webhook_body(const Notice& notice, const Origin& origin, const std::string& id) {
  Json out{{"id", id},
           {"about", codec::word(notice.about)},
           {"cluster", origin.cluster},
           {"test", notice.is_test},
           {"text", headline(notice)},
           {"what", notice.what},
           {"why", line_of(notice.why, kWhyMax_bytes)},
           {"user", notice.user}};
  codec::put_instant(out, "at", notice.at);
  if (notice.then.us != 0) codec::put_instant(out, "then", notice.then);
  if (notice.job) {
    out["job"] = Json{{"id", notice.job.value},
                      {"name", notice.job_name},
                      {"attempt", notice.attempt},
                      {"exit_code", notice.exit_code}};
  }
  if (!notice.node.empty()) out["node"] = notice.node;
  if (const std::string link = link_of(notice, origin); !link.empty()) out["url"] = link;
  return out;
}

Json slack_body(const Notice& notice, const Origin& origin) {
  std::string text = slack_text(subject_of(notice, origin));
  if (!notice.why.empty()) text += "\n" + slack_text(line_of(notice.why, kWhyMax_bytes));
  if (const std::string link = link_of(notice, origin); !link.empty()) text += "\n<" + link + ">";
  return Json::object({{"text", text}});
}

}  // namespace dove::notices
