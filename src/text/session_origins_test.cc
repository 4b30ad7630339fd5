#include "text/session_origins.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

TEST(SessionOriginsTest, EachSessionHasANameOfItsOwn) {
  const auto names = SessionOrigins::parse("https://*.apps.example.org");
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->origin_of(42), "https://j42.apps.example.org");
  EXPECT_EQ(names->job_of("j42.apps.example.org"), 42U);
  EXPECT_EQ(names->job_of("J42.Apps.Example.ORG"), 42U);
  EXPECT_TRUE(names->secure());
}

TEST(SessionOriginsTest, AnyOtherNameIsNobodys) {
  const auto names = SessionOrigins::parse("https://*.apps.example.org");
  ASSERT_TRUE(names.has_value());
  for (const char* host :
       {"", "j", "j42", "j42.", "apps.example.org", "x.apps.example.org", "j042.apps.example.org",
        "j0x2.apps.example.org", "j42.apps.example.org.evil.org", "j42.apps.example.org:8443",
        "a.j42.apps.example.org", "j42.evil.org", "j99999999999999999999.apps.example.org",
        "j-1.apps.example.org", "gpu.example.org"}) {
    EXPECT_EQ(names->job_of(host), 0U) << host;
  }
}

TEST(SessionOriginsTest, APortOfTheNameIsPartOfIt) {
  const auto names = SessionOrigins::parse("http://*.localhost:7720");
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->origin_of(7), "http://j7.localhost:7720");
  EXPECT_EQ(names->job_of("j7.localhost:7720"), 7U);
  EXPECT_EQ(names->job_of("j7.localhost"), 0U);
  EXPECT_EQ(SessionOrigins::parse("https://*.a.org:443")->origin_of(1), "https://j1.a.org");
}

TEST(SessionOriginsTest, ElseOnePortOfARange) {
  const auto ports = SessionOrigins::parse("http://127.0.0.1:20000-20099");
  ASSERT_TRUE(ports.has_value());
  EXPECT_FALSE(ports->by_name());
  EXPECT_EQ(ports->origin_of(42), "http://127.0.0.1:20042");
  EXPECT_EQ(ports->origin_of(142), "http://127.0.0.1:20042");
  EXPECT_EQ(ports->job_of("127.0.0.1:20042"), 0U);
}

TEST(SessionOriginsTest, WhatIsNeitherIsRefused) {
  for (const char* text : {"", "apps.example.org", "ftp://*.a.org", "https://", "https://a.org",
                           "https://*.", "http://a:0-5", "http://a:5-4", "http://a:1-70000",
                           "https://*.a.org:1-2", "https://*.a b.org", "https://*.a.org/x"}) {
    EXPECT_FALSE(SessionOrigins::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace dove::text
