#include "listener/session_cookie.h"

#include <gtest/gtest.h>

namespace dove::listener {
namespace {

wire::Request request_of(std::string method, wire::Pairs headers) {
  wire::Request request;
  request.method = std::move(method);
  request.headers = std::move(headers);
  return request;
}

TEST(SessionCookie, IsFoundAmongOthers) {
  const auto in = [](std::string text) {
    const wire::Request request = request_of("GET", {{"Cookie", std::move(text)}});
    return std::string(session_of(request).value_or("none"));
  };
  EXPECT_EQ(in("__Host-dove=abc"), "abc");
  EXPECT_EQ(in("a=b; __Host-dove=abc; c=d"), "abc");
  EXPECT_EQ(in("a=b;__Host-dove=abc"), "abc");
  EXPECT_EQ(in("__Host-dove2=abc; x__Host-dove=abc"), "none");
  EXPECT_EQ(in("__Host-dove"), "none");
  EXPECT_EQ(in(""), "none");
}

TEST(SessionCookie, ChangesComeFromOurOwnPage) {
  const auto allowed = [](std::string method, wire::Pairs headers) {
    headers.emplace_back("Host", "dove.example.org:7788");
    return check_origin(request_of(std::move(method), std::move(headers))).ok();
  };
  EXPECT_TRUE(allowed("GET", {}));
  EXPECT_TRUE(allowed("GET", {{"Origin", "https://evil.example.org"}}));
  EXPECT_TRUE(allowed("POST", {{"Origin", "https://dove.example.org:7788"}}));
  EXPECT_FALSE(allowed("POST", {}));
  EXPECT_FALSE(allowed("POST", {{"Origin", "null"}}));
  EXPECT_FALSE(allowed("DELETE", {{"Origin", "https://evil.example.org"}}));
  EXPECT_FALSE(allowed("POST", {{"Origin", "https://dove.example.org"}}));  // another port
  EXPECT_FALSE(allowed("GET", {{"Upgrade", "websocket"}}));
  EXPECT_FALSE(allowed("GET", {{"Upgrade", "websocket"}, {"Origin", "http://localhost:7788"}}));
  EXPECT_TRUE(
      allowed("GET", {{"Upgrade", "websocket"}, {"Origin", "https://dove.example.org:7788"}}));
}

TEST(SessionCookie, IsOfThisHostAndOutOfReachOfScripts) {
  const std::string text = set_session("abc", 60);
  EXPECT_EQ(text, "__Host-dove=abc; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Strict");
  EXPECT_NE(end_session().find("Max-Age=0"), std::string::npos);
}

}  // namespace
}  // namespace dove::listener
