#include "proxy/pages.h"

#include <gtest/gtest.h>

namespace dove::proxy {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SessionView view() {
  SessionView view;
  view.job = 42;
  view.app = "notebook";
  view.name = "<lab>";
  view.state = "waiting";
  view.why = "needs 1 GPU & more";
  view.promised_start = "2026-11-23T14:10:00Z";
  return view;
}

TEST(PagesTest, WhatWaitsSaysWhyAndUntilWhenAndLooksAgain) {
  const std::string page = answer_bytes(waiting_page(view()), true, "", false);
  EXPECT_TRUE(page.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_TRUE(has(page, "Job 42 is waiting: needs 1 GPU &amp; more; promised to start by 2026"));
  EXPECT_TRUE(has(page, "\r\nRefresh: 3\r\n"));
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "<lab>")) << "names are nobody's markup";
  EXPECT_TRUE(has(page, "default-src 'none'"));
}

TEST(PagesTest, ProgramsGetAProblem) {
  const std::string answer = answer_bytes(waiting_page(view()), false, "X: 1\r\n", true);
  EXPECT_TRUE(has(answer, "Content-Type: application/problem+json\r\n"));
  EXPECT_TRUE(has(answer, "\"code\":\"not_running\""));
  EXPECT_TRUE(has(answer, "\r\nX: 1\r\nConnection: close\r\n\r\n"));
}

TEST(PagesTest, TheLastLinesOfALogAreText) {
  const Error why{ErrorKind::kUnavailable, "app_ended", "it closed the connection", ""};
  const std::string page =
      answer_bytes(silent_page(view(), why, "<img src=x>\x1b[31m"), true, "", false);
  EXPECT_TRUE(has(page, "&lt;img src=x&gt; [31m"));
  EXPECT_TRUE(has(page, "it closed the connection"));
}

}  // namespace
}  // namespace dove::proxy
