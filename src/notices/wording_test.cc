#include "notices/wording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace dove::notices {
namespace {

const Origin kOrigin{"gpu", "https://gpu.example.org"};
constexpr Instant kAt{1'700'000'000'000'000};

Notice failure(const std::string& name = "train") {
  Notice notice;
  notice.about = NoticeAbout::kJobFailed;
  notice.key = "job.7.1.ended.9";
  notice.user = "ann";
  notice.at = kAt;
  notice.job = JobId(7);
  notice.attempt = 2;
  notice.job_name = name;
  notice.what = "failed";
  notice.why = "a task failed, or could not be started";
  notice.exit_code = 3;
  return notice;
}

std::string mail(const Notice& notice, const Origin& origin = kOrigin) {
  return mail_of(notice, origin, "dove@example.org", "ann@example.org", "0123abcd", kAt);
}

// Header lines, unfolded.
std::vector<std::string> headers_of(const std::string& mail) {
  std::vector<std::string> out;
  std::istringstream lines(mail.substr(0, mail.find("\r\n\r\n")));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(' ') && !out.empty()) {
      out.back() += line;
    } else {
      out.push_back(line);
    }
  }
  return out;
}

TEST(Wording, AMailSaysWhatWhenWhyAndWhere) {
  const std::string text = mail(failure());
  for (const char* part :
       {"From: Dovetail <dove@example.org>\r\n", "To: <ann@example.org>\r\n",
        "Subject: [gpu] job 7 (train) ended: failed, exit code 3\r\n",
        "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n", "Message-ID: <0123abcd@example.org>\r\n",
        "Dove-Notice-Id: 0123abcd\r\n", "List-Id: <notices.gpu.example.org>\r\n",
        "Auto-Submitted: auto-generated\r\n", "Why: a task failed, or could not be started.\r\n",
        "When: 2023-11-14 22:13 UTC\r\n", "Attempt: 2\r\n", "https://gpu.example.org/jobs/7\r\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

TEST(Wording, NobodyWritesHeaders) {
  for (const std::string& name :
       {std::string("x\r\nBcc: all@example.org"), std::string("x\nBcc: all@example.org\n\nbody"),
        std::string("x\r\n\r\n<script>"), std::string("x\0y", 3), std::string("=?utf-8?q?=0D=0A?="),
        std::string("\xc3\xa9t\xc3\xa9\r\nBcc: a@b"), std::string(3000, 'x'),
        std::string(3000, '\n'), std::string("\xff\xfe\r\nBcc: a@b")}) {
    Origin origin = kOrigin;
    origin.cluster = name;
    Notice notice = failure(name);
    notice.why = name;
    notice.node = name;
    const std::string text = mail(notice, origin);
    const std::vector<std::string> headers = headers_of(text);
    EXPECT_EQ(headers.size(), 12u) << text;
    for (const std::string& header : headers) {
      EXPECT_FALSE(header.starts_with("Bcc")) << text;
      EXPECT_TRUE(
          std::ranges::all_of(header, [](unsigned char c) { return c >= 0x20 && c < 0x7f; }));
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 998u);
      EXPECT_TRUE(line.ends_with('\r')) << line;
    }
  }
}

TEST(Wording, NamesOfAllLanguagesArriveWhole) {
  EXPECT_EQ(header_text("plain: text"), "plain: text");
  EXPECT_EQ(header_text("\xc3\xa9t\xc3\xa9"), "=?utf-8?q?=C3=A9t=C3=A9?=");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "\xe6\xbc\xa2";  // no word cuts a character
  const std::string folded = header_text(text);
  std::istringstream words(folded);
  for (std::string word; words >> word;) {
    EXPECT_LE(word.size(), 75u);
    EXPECT_TRUE(word.starts_with("=?utf-8?q?=E6=BC=A2")) << word;
    EXPECT_TRUE(word.ends_with("=E6=BC=A2?=")) << word;
  }
}

TEST(Wording, QuotedPrintableIsLinesOfSeventySix) {
  EXPECT_EQ(quoted_printable("a=b\nc \n"), "a=3Db\r\nc=20\r\n");
  std::istringstream lines(quoted_printable(std::string(300, 'x') + "\xc3\xa9"));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 77u);
}

TEST(Wording, AWebhookIsToldInJson) {
  const nlohmann::json body = webhook_body(failure(), kOrigin, "0123abcd");
  EXPECT_EQ(body.at("id"), "0123abcd");
  EXPECT_EQ(body.at("about"), "job_failed");
  EXPECT_EQ(body.at("what"), "failed");
  EXPECT_EQ(body.at("at"), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(body.at("job"),
            (nlohmann::json{{"id", 7}, {"name", "train"}, {"attempt", 2}, {"exit_code", 3}}));
  EXPECT_EQ(body.at("url"), "https://gpu.example.org/jobs/7");
  EXPECT_FALSE(body.contains("then"));
  EXPECT_FALSE(body.contains("node"));
}

TEST(Wording, AChatGetsNoMentionsAndNoLinksOfAJob) {
  const std::string text =
      slack_body(failure("<!channel> <https://evil.example|click> & co"), kOrigin).at("text");
  EXPECT_NE(text.find("&lt;!channel&gt; &lt;https://evil.example|click&gt; &amp; co"),
            std::string::npos)
      << text;
  EXPECT_EQ(std::ranges::count(text, '<'), 1);
  EXPECT_NE(text.find("\n<https://gpu.example.org/jobs/7>"), std::string::npos);
}

TEST(Wording, EachSubjectIsALine) {
  Notice notice = failure();
  notice.then = kAt + seconds(900);
  notice.node = "n1";
  for (const auto& [about, words] :
       {std::pair{NoticeAbout::kJobStarted, "[gpu] job 7 (train) has started"},
        {NoticeAbout::kJobStartsSoon, "[gpu] job 7 (train) starts at 2023-11-14 22:28 UTC"},
        {NoticeAbout::kJobStopsSoon, "[gpu] job 7 (train) is stopped at 2023-11-14 22:28 UTC"},
        {NoticeAbout::kSessionIdle, "[gpu] job 7 (train) is idle and ends at 2023-11-14 22:28 UTC"},
        {NoticeAbout::kNodeSick, "[gpu] node n1 is sick: failed"}}) {
    notice.about = about;
    EXPECT_EQ(subject_of(notice, kOrigin), words);
  }
  notice.is_test = true;
  EXPECT_EQ(subject_of(notice, kOrigin), "[gpu] this is a test of your notices");
}

}  // namespace
}  // namespace dove::notices
