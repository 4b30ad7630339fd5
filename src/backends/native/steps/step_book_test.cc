#include "backends/native/steps/step_book.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/native/steps/step_file.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

core::Job job_in_attempt(AttemptNumber number) {
  core::Job job;
  job.id = JobId{7};
  job.attempts.emplace_back();
  job.attempts.back().number = number;
  return job;
}

StepRecord step(std::int32_t number, const std::string& name) {
  StepRecord record;
  record.number = number;
  record.name = name;
  record.nodes = {"n1"};
  record.started_at_us = 5;
  return record;
}

Json shown(const StepBook& book, const core::Job& job) {
  Json object;
  book.show(job, object);
  return object.at("steps");
}

TEST(StepBook, KeepsHowTheStepsOfTheLastAttemptEnded) {
  StepBook book;
  const core::Job job = job_in_attempt(1);
  EXPECT_EQ(shown(book, job), Json::array());
  book.began(job.id, 1, step(0, "first"));
  book.began(job.id, 1, step(1, "second"));
  book.exited(job.id, 1, 0, TaskExit{0, 3, 0, ""});
  book.exited(job.id, 1, 0, TaskExit{1, 2, 0, ""});
  book.exited(job.id, 1, 1, TaskExit{0, 0, 9, ""});
  book.ended(job.id, 1, 0, 8);
  const Json steps = shown(book, job);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].at("exit_code"), 3);
  EXPECT_EQ(steps[0].at("ended_at_us"), 8);
  EXPECT_EQ(steps[1].at("signal"), 9);
  EXPECT_TRUE(steps[1].at("ended_at_us").is_null());
  // The next attempt has none of these.
  book.began(job.id, 2, step(0, "again"));
  EXPECT_EQ(shown(book, job), Json::array());
  EXPECT_EQ(shown(book, job_in_attempt(2)).size(), 1u);
  book.exited(job.id, 1, 0, TaskExit{0, 7, 0, ""});
  EXPECT_EQ(shown(book, job_in_attempt(2))[0].at("exit_code"), 0);
}

TEST(StepBook, ForgetsTheOldestBeyondItsBounds) {
  StepBook book;
  const core::Job job = job_in_attempt(1);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(StepBook::kStepsMax) + 5; ++i) {
    book.began(job.id, 1, step(i, "x"));
  }
  const Json steps = shown(book, job);
  ASSERT_EQ(steps.size(), StepBook::kStepsMax);
  EXPECT_EQ(steps[0].at("number"), 5);
  for (std::size_t i = 0; i < StepBook::kJobsMax; ++i) {
    book.began(JobId{100 + i}, 1, step(0, "x"));
  }
  EXPECT_EQ(shown(book, job), Json::array());
}

TEST(StepBook, AStepWhoseEndNobodyHeardOfEndedWithItsAttempt) {
  StepBook book;
  core::Job job = job_in_attempt(1);
  book.began(job.id, 1, step(0, "first"));
  job.attempts.back().ended_at.us = 9;
  const Json steps = shown(book, job);
  EXPECT_EQ(steps[0].at("ended_at_us"), 9);
  EXPECT_EQ(steps[0].at("signal"), 15);
}

TEST(StepFile, OutlivesTheServer) {
  char folder[] = "/tmp/steps.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/steps.jsonl";
  const core::Job job = job_in_attempt(1);
  {
    StepBook book;
    const StepFile file(path, book);
    book.began(job.id, 1, step(0, "first"));
    book.began(job.id, 1, step(1, "second"));
    book.exited(job.id, 1, 0, TaskExit{0, 3, 0, ""});
    book.ended(job.id, 1, 0, 8);
  }
  std::ofstream(path, std::ios::app) << "{\"job\":7,\"attempt\":1,\"numb";  // cut by a crash
  {
    StepBook book;
    const StepFile file(path, book);
    book.ended(job.id, 1, 1, 10);  // its client came back
  }
  StepBook book;
  const StepFile file(path, book);
  const Json steps = shown(book, job);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].at("exit_code"), 3);
  EXPECT_EQ(steps[0].at("ended_at_us"), 8);
  EXPECT_EQ(steps[1].at("name"), "second");
  EXPECT_EQ(steps[1].at("ended_at_us"), 10);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::backends
