#include "proxy/http/filter.h"

#include <gtest/gtest.h>

namespace dove::proxy {
namespace {

std::string to_app(const std::string& headers, bool upgrades = false) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: j42.a.org\r\n" + headers + "\r\n";
  const Result<Head> head = read_request_head(bytes);
  EXPECT_TRUE(head.ok());
  return request_for_app(*head, {"192.0.2.7", "ada", true, upgrades});
}

std::string to_browser(const std::string& headers, bool closes = false) {
  const std::string bytes = "HTTP/1.1 200 OK\r\n" + headers + "\r\n";
  const Result<Head> head = read_response_head(bytes);
  EXPECT_TRUE(head.ok());
  return answer_for_browser(*head, false, closes);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FilterTest, OurCookiesNeverReachTheApp) {
  const std::string got = to_app(
      "Cookie: a=1; __Host-dove=s; __Host-dove-session-42=t; b=2\r\n"
      "cookie: dove-session-7=u; __HOST-DOVE=v;  dove-session-nonce-7=w; c=3\r\n");
  EXPECT_TRUE(has(got, "\r\nCookie: a=1; b=2; c=3\r\n")) << got;
  for (const char* ours : {"=s", "=t", "=u", "=v", "=w", "dove-session"}) {
    EXPECT_FALSE(has(got, ours)) << ours;
  }
  EXPECT_FALSE(has(to_app("Cookie: __Host-dove=s\r\n"), "Cookie"));
}

TEST(FilterTest, NorDoesAToken) {
  EXPECT_FALSE(has(to_app("Authorization: Bearer dovekey_x\r\n"), "dovekey_x"));
  EXPECT_FALSE(has(to_app("Proxy-Authorization: Basic x\r\n"), "Basic"));
}

TEST(FilterTest, WhoAsksIsOursToSay) {
  const std::string got = to_app(
      "X-Forwarded-For: 10.0.0.1\r\nx-forwarded-user: root\r\nForwarded: for=1\r\n"
      "X-Real-IP: 1\r\nX_Forwarded_User: eve\r\nX-Forwarded-Groups: wheel\r\nAccept: a\r\n");
  EXPECT_TRUE(has(got, "\r\nX-Forwarded-For: 192.0.2.7\r\n"));
  EXPECT_TRUE(has(got, "\r\nX-Forwarded-User: ada\r\n"));
  EXPECT_TRUE(has(got, "\r\nX-Forwarded-Proto: https\r\n"));
  EXPECT_TRUE(has(got, "\r\nHost: j42.a.org\r\n"));
  EXPECT_TRUE(has(got, "\r\nAccept: a\r\n"));
  for (const char* theirs : {"10.0.0.1", "root", "for=1", "X-Real", "eve", "wheel"}) {
    EXPECT_FALSE(has(got, theirs)) << theirs;
  }
}

TEST(FilterTest, WhatIsOfOneConnectionStaysOnIt) {
  const std::string got = to_app(
      "Connection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
      "Upgrade: h2c\r\n");
  for (const char* name : {"Connection", "X-Mine", "Keep-Alive", "TE:", "Upgrade"}) {
    EXPECT_FALSE(has(got, name)) << name;
  }
  EXPECT_TRUE(has(to_app("Upgrade: websocket\r\n", true),
                  "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"));
}

TEST(FilterTest, NobodyHidesTheEndOfAMessage) {
  EXPECT_TRUE(has(to_app("Connection: content-length, host\r\nContent-Length: 3\r\n"),
                  "\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(has(to_app("Connection: host\r\n"), "\r\nHost: j42.a.org\r\n"));
}

TEST(FilterTest, TheAppCannotSetOurCookies) {
  const std::string got = to_browser(
      "Set-Cookie: ok=1; Path=/; HttpOnly\r\n"
      "Set-Cookie: __Host-dove=x; Path=/\r\n"
      "set-cookie: dove-session-7=x\r\n"
      "Set-Cookie: __HOST-dove-session-7=x\r\n"
      "Set-Cookie: =dove-session-7=x\r\n"
      "Set-Cookie: wide=1; domain = a.org\r\n"
      "Set-Cookie: wide=2;Domain\r\n");
  EXPECT_TRUE(has(got, "\r\nSet-Cookie: ok=1; Path=/; HttpOnly\r\n"));
  EXPECT_FALSE(has(got, "dove")) << got;
  EXPECT_FALSE(has(got, "wide")) << got;
}

TEST(FilterTest, NorSayAnythingAboutTheHost) {
  const std::string got = to_browser(
      "Clear-Site-Data: \"*\"\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3\r\n"
      "Content-Type: text/html\r\nKeep-Alive: 5\r\n",
      true);
  EXPECT_EQ(got, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n");
}

TEST(FilterTest, CookiesAreFoundByName) {
  const std::string bytes =
      "GET / HTTP/1.1\r\nHost: a\r\nCookie: x=1; dove-session-4=a; dove-session-42=b; "
      "dove-session-4=c\r\n\r\n";
  const Result<Head> head = read_request_head(bytes);
  ASSERT_TRUE(head.ok());
  using Values = std::vector<std::string_view>;
  EXPECT_EQ(cookies_of(*head, session_cookie(4, false)), (Values{"a", "c"}));
  EXPECT_EQ(cookies_of(*head, session_cookie(42, false)), (Values{"b"}));
  EXPECT_EQ(cookies_of(*head, session_cookie(42, true)), Values{});
}

TEST(FilterTest, OurCookiesAreTheBrowsersAndTheOriginsAlone) {
  EXPECT_EQ(set_cookie(session_cookie(42, true), "s", 60, true),
            "__Host-dove-session-42=s; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax");
  EXPECT_TRUE(is_own_cookie(nonce_cookie(42, false)));
  EXPECT_TRUE(is_own_cookie(nonce_cookie(42, true)));
}

}  // namespace
}  // namespace dove::proxy
