#include "yaml/fields.h"

#include <gtest/gtest.h>

namespace dove::yaml {
namespace {

struct Cup {
  std::string name = "unnamed";
  std::string note;
  std::int64_t size = 3;
  bool full = false;
  std::vector<std::string> words = {"tea"};
  std::vector<std::string> handles;
  std::string inside;
};

Result<Cup> cup_of(const Value& map, Blank blank = Blank::kRefused) {
  Cup cup;
  Fields in(map, "a cup", blank);
  in.must_text("name", cup.name);
  in.line("note", cup.note);
  in.integer("size", cup.size, 1, 9);
  in.flag("full", cup.full);
  in.texts("words", cup.words, 3);
  for (const ValueRef& each : in.list("handles", 2)) cup.handles.push_back(each->text);
  if (const Value* inside = in.map("inside"); inside != nullptr) cup.inside = inside->keys[0]->text;
  in.allow({"colour"});
  TRY(in.end());
  if (cup.name == "mug") return in.wrong("name", "a mug is no cup");
  return cup;
}

Result<Cup> read_cup(const std::string& text, Blank blank = Blank::kRefused) {
  TRY_ASSIGN(const ValueRef root, read("cup", text));
  return cup_of(*root, blank);
}

std::string problem(const std::string& text, Blank blank = Blank::kRefused) {
  const Result<Cup> cup = read_cup(text, blank);
  return cup.ok() ? "" : cup.error().message;
}

TEST(YamlFields, TakesWhatIsThereAndLeavesTheRest) {
  const auto all = read_cup(
      "name: x\nnote: a line\nsize: 9\nfull: true\nwords: [a, 1]\nhandles: [l, r]\n"
      "inside: {milk: 1}\ncolour: {any: [thing]}\n");
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all->note, "a line");
  EXPECT_EQ(all->size, 9);
  EXPECT_TRUE(all->full);
  EXPECT_EQ(all->words, (std::vector<std::string>{"a", "1"}));
  EXPECT_EQ(all->handles, (std::vector<std::string>{"l", "r"}));
  EXPECT_EQ(all->inside, "milk");
  const auto least = read_cup("name: x\n");
  ASSERT_TRUE(least.ok()) << least.error().message;
  EXPECT_EQ(least->size, 3);
  EXPECT_EQ(least->words, (std::vector<std::string>{"tea"}));
}

TEST(YamlFields, AMistakeIsNamedWithPlaceAndRemedy) {
  EXPECT_EQ(problem("name: x\nszie: 4\n"),
            "cup:2:1: a cup has no field `szie`; did you mean `size`?");
  EXPECT_EQ(problem("saucer: 1\n"),
            "cup:1:1: a cup has no field `saucer`; it has: name, note, size, full, words, handles, "
            "inside, colour");
  EXPECT_EQ(problem("size: 4\n"), "cup:1:1: there is no name; a cup has one");
  EXPECT_EQ(problem("- x"),
            "cup:1:1: a cup has fields: name, note, size, full, words, handles, "
            "inside, colour");
  EXPECT_EQ(problem("name: [x]\n"), "cup:1:7: name is a text");
  EXPECT_EQ(problem("name: x\nnote: \"a\\nb\"\n"), "cup:2:7: note is a line of at most 1 KiB");
  EXPECT_EQ(problem("name: x\nsize: 10\n"), "cup:2:7: size is a whole number from 1 to 9");
  EXPECT_EQ(problem("name: x\nfull: yes\n"), "cup:2:7: full is true or false");
  EXPECT_EQ(problem("name: x\nwords: [a, [b]]\n"), "cup:2:12: each of words is a text");
  EXPECT_EQ(problem("name: x\nhandles: [a, b, c]\n"),
            "cup:2:10: handles is a list of at most 2, as in [a, b]");
  EXPECT_EQ(problem("name: x\ninside: milk\n"),
            "cup:2:9: inside has names with values, as in {a: 1}");
  EXPECT_EQ(problem("name: x\ninside: {m: 1, m: 2}\n"), "cup:2:16: m is there twice: remove one");
  EXPECT_EQ(problem("name: x\nname: y\n"), "cup:2:1: name is there twice: remove one");
  EXPECT_EQ(problem("size: 4\nname: mug\n"), "cup:2:7: a mug is no cup");
}

TEST(YamlFields, ABlankListMayBeEmptyAndABlankTextIsRefused) {
  const std::string lists = "name: x\nwords:\nhandles:\ninside:\n";
  EXPECT_EQ(problem(lists), "cup:2:1: words has no value: give it one, or take it out");
  const auto empty = read_cup(lists, Blank::kEmpty);
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_EQ(empty->words, (std::vector<std::string>{"tea"}));
  EXPECT_EQ(problem("size: 1\nname:\n", Blank::kEmpty),
            "cup:2:1: name has no value: give it one, or take it out");
}

TEST(YamlFields, AReaderMayAcceptWhatItDoesNotKnow) {
  const auto root = read("cup", "name: x\nsaucer: {}\n");
  ASSERT_TRUE(root.ok());
  std::string name;
  Fields in(**root, "a cup");
  in.allow_all();
  in.text("name", name);
  EXPECT_TRUE(in.end().ok());
  EXPECT_EQ(name, "x");
}

TEST(YamlFields, AReaderHasACodeAndARemedyOfItsOwn) {
  const Error error = read_cup("name: [x]\n").error();
  EXPECT_EQ(coded(error, "bad_cup", "buy another").message, "cup:1:7: name is a text; buy another");
  EXPECT_EQ(coded(error, "bad_cup").code, "bad_cup");
  EXPECT_EQ(coded(read_cup("nmae: x\n").error(), "bad_cup", "buy another").message,
            "cup:1:1: a cup has no field `nmae`; did you mean `name`?");
}

}  // namespace
}  // namespace dove::yaml
