#include "cli/command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cli/cli.h"
#include "cli/commands/manual.h"

namespace dove::cli {
namespace {

CommandSpec sample() {
  CommandSpec spec;
  spec.name = "sample";
  spec.summary = "Try the parser";
  spec.operands = "THING...";
  spec.operands_min = 1;
  spec.operands_max = 2;
  spec.options = {{"nodes", 'N', "COUNT", "how many"},
                  {"node-list", 'w', "NAMES", "which"},
                  {"quiet", 'q', "", "say less"},
                  {"nice", 0, "VALUE", "lower", false, true}};
  return spec;
}

TEST(Parse, TakesEveryWayToGiveAValue) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--nodes=3", "a"},
                                               {"--nodes", "3", "a"},
                                               {"-N3", "a"},
                                               {"-N", "3", "a"},
                                               {"-qN3", "a"},
                                               {"a", "--nodes=3"}}) {
    const auto given = parse(sample(), args);
    ASSERT_TRUE(given.ok()) << given.error().message;
    EXPECT_EQ(given->get("nodes"), "3");
    EXPECT_EQ(given->operands, std::vector<std::string>{"a"});
  }
}

TEST(Parse, ShortenedNamesMustBeClear) {
  EXPECT_TRUE(parse(sample(), {"--qui", "a"})->has("quiet"));
  const auto ambiguous = parse(sample(), {"--nod=3", "a"});
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_NE(ambiguous.error().message.find("ambiguous"), std::string::npos);
}

TEST(Parse, OptionalValuesComeBehindTheEqualsSignOnly) {
  const auto bare = parse(sample(), {"--nice", "a"});
  EXPECT_EQ(bare->get("nice", "none"), "");
  EXPECT_EQ(bare->operands.size(), 1u);
  EXPECT_EQ(parse(sample(), {"--nice=5", "a"})->get("nice"), "5");
}

TEST(Parse, ErrorsNameTheArgumentAndTheNearestOption) {
  const auto unknown = parse(sample(), {"--nodess=3", "a"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("did you mean --nodes?"), std::string::npos);
  EXPECT_FALSE(parse(sample(), {}).ok());
  EXPECT_FALSE(parse(sample(), {"a", "b", "c"}).ok());
  EXPECT_FALSE(parse(sample(), {"a", "--nodes"}).ok());
  EXPECT_FALSE(parse(sample(), {"a", "--quiet=yes"}).ok());
}

TEST(Parse, DashesEndOptions) {
  const auto given = parse(sample(), {"--", "--nodes=3"});
  EXPECT_EQ(given->operands, std::vector<std::string>{"--nodes=3"});
  EXPECT_EQ(given->operands_before_dashes, 0);
  CommandSpec program = sample();
  program.ends_at_operand = true;
  EXPECT_EQ(parse(program, {"-q", "ls", "-l"})->operands.size(), 2u);
}

TEST(ExitCodes, EachKindOfErrorHasItsCode) {
  EXPECT_EQ(exit_code(Error{ErrorKind::kInvalid, "", "", ""}), kExitUsage);
  EXPECT_EQ(exit_code(Error{ErrorKind::kNotFound, "", "", ""}), kExitNotFound);
  EXPECT_EQ(exit_code(Error{ErrorKind::kConflict, "", "", ""}), kExitConflict);
  EXPECT_EQ(exit_code(Error{ErrorKind::kDenied, "", "", ""}), kExitDenied);
  EXPECT_EQ(exit_code(Error{ErrorKind::kUnauthenticated, "", "", ""}), kExitDenied);
  EXPECT_EQ(exit_code(Error{ErrorKind::kUnavailable, "", "", ""}), kExitUnavailable);
  EXPECT_EQ(exit_code(Error{ErrorKind::kTimeout, "", "", ""}), kExitTimeout);
  EXPECT_EQ(exit_code(Error{ErrorKind::kInternal, "", "", ""}), kExitFailed);
}

TEST(TableOfCommands, NamesAndOptionsAreUnique) {
  std::set<std::string> names;
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.spec.name).second) << command.spec.name;
    EXPECT_FALSE(command.spec.summary.empty()) << command.spec.name;
    EXPECT_FALSE(command.spec.group.empty()) << command.spec.name;
    std::set<std::string> options;
    std::set<char> letters;
    for (const OptionSpec& option : command.spec.options) {
      EXPECT_TRUE(options.insert(option.name).second) << command.spec.name << " --" << option.name;
      if (option.letter != 0) {
        EXPECT_TRUE(letters.insert(option.letter).second)
            << command.spec.name << " -" << option.letter;
      }
    }
  }
}

TEST(Manual, EveryCommandIsInHelpManAndCompletion) {
  const std::vector<Command> commands = all_commands();
  const std::string overview = overview_text(commands);
  const std::string man = man_page(commands);
  const std::string bash = bash_completion(commands, face_names());
  const std::string zsh = zsh_completion(commands, face_names());
  const std::string fish = fish_completion(commands, face_names());
  EXPECT_NE(fish.find("complete -c dove -n __fish_use_subcommand -f -a submit "),
            std::string::npos);
  EXPECT_NE(fish.find("complete -c sbatch -l ntasks -s n -r "), std::string::npos);
  for (const Command& command : commands) {
    const std::string& name = command.spec.name;
    EXPECT_NE(overview.find("  " + name + " "), std::string::npos) << name;
    EXPECT_NE(bash.find("\"" + name + "\") options="), std::string::npos) << name;
    EXPECT_NE(zsh.find(name.substr(0, name.find(' '))), std::string::npos) << name;
    EXPECT_NE(help_text(command.spec).find("Usage: dove " + name), std::string::npos) << name;
    EXPECT_NE(man.find(".SS "), std::string::npos);
  }
  EXPECT_EQ(man.rfind(".TH DOVE 1", 0), 0u);
}

TEST(Manual, TheGuideIsWhatTheTableSays) {
  std::ifstream file(std::string(DOVE_SOURCE_DIR) + "/docs/guide/cli.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Command& command : all_commands()) {
    EXPECT_NE(text.str().find(markdown_section(command.spec)), std::string::npos)
        << command.spec.name << ": run `dove man --markdown > docs/guide/cli.md`";
  }
}

}  // namespace
}  // namespace dove::cli
