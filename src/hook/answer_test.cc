#include "hook/answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::hook {
namespace {

using Json = nlohmann::json;

std::string code_of(std::string_view text) {
  const Result<Person> person = read_answer(text);
  return person.ok() ? "in" : person.error().code;
}

TEST(Question, IsOneDocument) {
  const Json asked = Json::parse(question_text({"ada", "\"quoted\" \\ é", "192.0.2.7"}));
  EXPECT_EQ(asked, (Json{{"version", 1},
                         {"user", "ada"},
                         {"password", "\"quoted\" \\ é"},
                         {"address", "192.0.2.7"}}));
}

TEST(Answer, SaysWhoThatIs) {
  const Result<Person> plain = read_answer(R"({"user": "ada", "groups": ["ml", "/physics/hep"]})");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->user, "ada");
  EXPECT_EQ(plain->groups, (std::vector<std::string>{"ml", "/physics/hep"}));
  EXPECT_EQ(plain->id + plain->linux_user, "");
  const Result<Person> full =
      read_answer(R"({"user": "ada", "id": "17", "linux_user": "ada_l", "groups": null})");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->id, "17");
  EXPECT_EQ(full->linux_user, "ada_l");
  EXPECT_FALSE(full->groups.has_value()) << "they are left alone";
}

TEST(Answer, RefusesWithAReason) {
  const Result<Person> refused = read_answer(R"({"refused": "locked since Monday"})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "refused");
  EXPECT_EQ(refused.error().message, "locked since Monday");
}

TEST(Answer, AnythingElseIsNone) {
  for (const char* text : {"",
                           "ada",
                           "null",
                           "[]",
                           "\"ada\"",
                           "{}",
                           R"({"groups": []})",
                           R"({"user": ""})",
                           R"({"user": 7})",
                           R"({"user": null})",
                           R"({"user": "ada", "groups": "ml"})",
                           R"({"user": "ada", "groups": [7]})",
                           R"({"user": "ada", "group": ["ml"]})",
                           R"({"user": "ada", "refused": "no"})",
                           R"({"user": "ada", "refused": null})",
                           R"({"refused": true})",
                           R"({"user": "ada", "user": "bob"})",
                           R"({"user": "ada"} more)",
                           R"({"user": "ada", "id": {}})",
                           R"({"user": "ada", "linux_user": ["root"]})",
                           "{\"user\": \"a\\nb\"}",
                           "{\"user\": \"\xff\"}"}) {
    EXPECT_EQ(code_of(text), "hook_failed") << text;
  }
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(code_of(R"({"user": "ada", "groups": )" + deep + "}"), "hook_failed");
  const std::string spaces(kAnswerBytesMax, ' ');
  EXPECT_EQ(code_of(R"({"user": "ada"})" + spaces), "hook_failed");
  Json many{{"user", "ada"}, {"groups", std::vector<std::string>(1025, "g")}};
  EXPECT_EQ(code_of(many.dump()), "hook_failed");
}

TEST(Answer, ThatIsNoneIsNotQuoted) {
  for (const char* text : {R"({"user": "ada", "open sesame": 1})", "open sesame",
                           R"({"user": "ada", "linux_user": "open\nsesame"})"}) {
    const Result<Person> person = read_answer(text);
    ASSERT_FALSE(person.ok()) << text;
    EXPECT_EQ(person.error().message.find("open"), std::string::npos) << person.error().message;
  }
}

TEST(Quiet, KeepsTheFirstLineWithoutATraceOfThePassword) {
  EXPECT_EQ(quiet("no route to the directory\nTraceback", "open sesame"),
            "no route to the directory");
  EXPECT_EQ(quiet(std::string(5000, 'x'), "open sesame").size(), 300u);
  EXPECT_EQ(quiet("argv: open sesame", "open sesame"), "");
  EXPECT_EQ(quiet("cut off: open ses", "open sesame"), "");
  EXPECT_EQ(quiet("fine so far\nopen sesame", "open sesame"), "");
  EXPECT_EQ(quiet(R"({"password": "a\"b\\c"})", "a\"b\\c"), "");
  EXPECT_EQ(quiet(R"({"password": "\u00e9t\u00e9"})", "été"), "");
}

}  // namespace
}  // namespace dove::hook
