// The console's files: which paths they answer, how long they are kept, what a browser is
// forbidden.
#include "webui/site.h"

#include <gtest/gtest.h>

#include <array>

namespace dove::webui {
namespace {

constexpr std::array kFiles = {
    File{"/index.html", "text/html; charset=utf-8", "\"i1\"", false, false, "<!doctype html>"},
    File{"/assets/app-1.js", "text/javascript; charset=utf-8", "\"a1\"", true, true, "packed"},
};

wire::Request get(const std::string& path, wire::Pairs headers = {}) {
  wire::Request request;
  request.method = "GET";
  request.path = path;
  request.target = path;
  request.headers = std::move(headers);
  return request;
}

const Site& site() {
  static const Site made(kFiles, {"v1", "metrics"});
  return made;
}

TEST(Site, AFileHasItsTypeItsTagAndALongLife) {
  const auto answer = site().answer(get("/assets/app-1.js", {{"Accept-Encoding", "br, gzip"}}));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "packed");
  EXPECT_EQ(answer->header("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(answer->header("Content-Encoding"), "gzip");
  EXPECT_EQ(answer->header("ETag"), "\"a1\"");
  EXPECT_EQ(answer->header("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff");
}

TEST(Site, WhatABrowserHasIsNotSentAgain) {
  const auto answer = site().answer(get("/", {{"If-None-Match", "\"i1\""}}));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 304);
  EXPECT_TRUE(answer->body.empty());
}

TEST(Site, APackedFileIsForThoseWhoCanOpenIt) {
  EXPECT_EQ(site().answer(get("/assets/app-1.js"))->status, 406);
  EXPECT_EQ(site().answer(get("/"))->status, 200);
}

TEST(Site, AnyPathOfAPersonIsThePage) {
  const wire::Pairs browser{{"Accept", "text/html,application/xhtml+xml"}};
  EXPECT_EQ(site().answer(get("/jobs/7", browser))->body, "<!doctype html>");
  EXPECT_FALSE(site().answer(get("/jobs/7", {{"Accept", "application/json"}})).has_value());
  EXPECT_FALSE(site().answer(get("/v1/jobs/7", browser)).has_value());
  EXPECT_FALSE(site().answer(get("/metrics", browser)).has_value());
  EXPECT_EQ(site().answer(get("/assets/old-0.js", browser))->status, 404);
  wire::Request post = get("/jobs", browser);
  post.method = "POST";
  EXPECT_FALSE(site().answer(post).has_value());
}

TEST(Site, ThePageAllowsNothingInlineAndNothingFromElsewhere) {
  const auto answer = site().answer(get("/"));
  const std::string policy(answer->header("Content-Security-Policy"));
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
}

TEST(Site, AProgramWithoutTheConsoleSaysHowToGetIt) {
  const Site bare({}, {"v1"});
  const auto answer = bare.answer(get("/"));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 200);
  EXPECT_NE(answer->body.find("make build"), std::string::npos);
}

}  // namespace
}  // namespace dove::webui
