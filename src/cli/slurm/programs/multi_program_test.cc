#include "cli/slurm/programs/multi_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/exec_words.h"

namespace dove::cli {
namespace {

// What task `rank` of the step prints, as a shell of the node runs it.
std::string task_prints(const MultiProgram& program, int rank) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::setenv("SLURM_PROCID", std::to_string(rank).c_str(), 1);
    ::execv(program.command.front().c_str(), pointers(program.command).data());
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 256> piece{};
  for (ssize_t n = 0; (n = ::read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

std::string prints(const std::string& text, int rank, std::vector<std::string> arguments = {}) {
  const Result<MultiProgram> program = multi_program(text, "conf", 0, arguments);
  return program.ok() ? task_prints(*program, rank) : program.error().message;
}

std::string wrong(const std::string& text, std::int64_t tasks = 0) {
  const Result<MultiProgram> program = multi_program(text, "conf", tasks, {});
  return program.ok() ? "" : program.error().message;
}

TEST(MultiProgram, EachTaskRunsTheProgramOfItsLine) {
  const std::string manual =
      "####\n# srun -n8 -l --multi-prog silly.conf\n####\n"
      "4-6       echo host\n1,7       echo  task:%t\n\n  0,2-3\techo  offset:%o\n";
  const char* const wanted[] = {"offset:0", "task:1", "offset:1", "offset:2",
                                "host",     "host",   "host",     "task:7"};
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(prints(manual, rank), std::string(wanted[rank]) + "\n") << rank;
  }
  EXPECT_EQ(multi_program(manual, "conf", 8, {})->tasks, 8);
  EXPECT_EQ(prints(manual, 8), "srun: error: No executable program specified for this task\n");
}

TEST(MultiProgram, TheRestIsForTheStar) {
  EXPECT_EQ(prints("0 echo first\n* echo %t/%o", 0), "first\n");
  EXPECT_EQ(prints("0 echo first\n* echo %t/%o", 5), "5/5\n");
}

TEST(MultiProgram, ArgumentsAreAsTheyAreWritten) {
  EXPECT_EQ(prints("* printf '[%s]' a\\ b 'c  %t' \\%t %t-%o-%t $HOME `id` \"d e\" 100%% 5%", 3),
            "[a b][c  %t][%t][3-3-3][$HOME][`id`][\"d][e\"][100%%][5%]");
  EXPECT_EQ(prints("* echo \\\n  a \\\n  b\n", 0), "a b\n");
  EXPECT_EQ(prints("* echo a\n", 0, {"b %t", "%"}), "a b %t %\n") << "of the command line";
}

TEST(MultiProgram, WhatCannotBeMeantIsRefusedByItsLine) {
  EXPECT_NE(wrong("0 a\n\n2-1 b\n").find("conf:3: \"2-1\" names no tasks"), std::string::npos);
  EXPECT_NE(wrong("0-3 a\n2 b\n").find("task 2 has a program already"), std::string::npos);
  EXPECT_NE(wrong("* a\n0 b\n").find("must be the last"), std::string::npos);
  EXPECT_NE(wrong("0\n").find("conf:1: a line is"), std::string::npos);
  EXPECT_NE(wrong("0 'a\n").find("no end"), std::string::npos);
  EXPECT_NE(wrong("# none\n").find("names no programs"), std::string::npos);
  EXPECT_NE(wrong("0-1,3 a\n", 4).find("no line is for task 2 of 4"), std::string::npos);
  EXPECT_NE(wrong("0-4 a\n", 4).find("it names task 4"), std::string::npos);
  EXPECT_NE(wrong("5 a\n0-9 b\n").find("task 5 has a program already"), std::string::npos);
  EXPECT_NE(wrong("0-4,4-9 a\n").find("task 4 has a program already"), std::string::npos);
  EXPECT_EQ(wrong("0 a\n* b\n", 4), "");
}

// Linux would execute no srun with them, and few bytes of the file may make many.
TEST(MultiProgram, WordsThatAreTooManyForACommandAreRefused) {
  std::string ranks = "0";
  for (int rank = 2; rank < 4000; rank += 2) ranks += "," + std::to_string(rank);
  EXPECT_NE(wrong(ranks + " " + std::string(1000, 'a') + "\n").find("conf:1: the words of all"),
            std::string::npos);
  EXPECT_EQ(wrong(ranks + " a\n"), "");
}

TEST(MultiProgram, AFileThatIsTooLongIsTheUsersMistake) {
  const std::string file = testing::TempDir() + "dove-programs-long";
  std::ofstream(file) << "0 a\n" << std::string(65 << 10, '#');
  Invocation invocation;
  invocation.operands = {file};
  invocation.values["multi-prog"] = {""};
  const Result<Invocation> joined = join_programs(invocation);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(joined.error().message.find("more than 65536 bytes"), std::string::npos);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace dove::cli
