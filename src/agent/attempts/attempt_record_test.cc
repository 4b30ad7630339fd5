#include "agent/attempts/attempt_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "codec/json.h"

namespace dove::agent {
namespace {

class AttemptRecordTest : public ::testing::Test {
 protected:
  AttemptRecordTest() {
    std::string pattern = ::testing::TempDir() + "record.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    attempt_ = folder_ + "/3.1";
  }
  ~AttemptRecordTest() override { std::filesystem::remove_all(folder_); }

  void append(const std::string& text) {
    std::ofstream(attempt_ + "/record", std::ios::app) << text;
  }

  std::string folder_;
  std::string attempt_;
  LaunchOrder order_;
};

protocol::Ended ended() { return {{JobId(3), 1}, {TaskExit{2, 5, 0, "two\nlines"}}, 70, 80, 9}; }

TEST_F(AttemptRecordTest, WhatWasWrittenIsRead) {
  ASSERT_TRUE(write_attempt(attempt_, order_, "{\"job\":3}", "").ok());
  AttemptOnDisk found = read_attempt(attempt_);
  EXPECT_EQ(found.order, "{\"job\":3}");
  EXPECT_FALSE(found.started);
  EXPECT_FALSE(found.ended.has_value());
  write_started(attempt_);
  write_ended(attempt_, ended(), 12'345);
  found = read_attempt(attempt_);
  EXPECT_TRUE(found.started);
  ASSERT_TRUE(found.ended.has_value());
  EXPECT_EQ(found.started_us, 12'345);
  const auto& read = std::get<protocol::Ended>(*found.ended);
  EXPECT_EQ(read.cpu_us, 70);
  ASSERT_EQ(read.exits.size(), 1u);
  EXPECT_EQ(read.exits[0].cause, "two\nlines");
}

TEST_F(AttemptRecordTest, WhatTheNodeOfferedIsKeptBesideTheOrder) {
  ASSERT_TRUE(write_attempt(attempt_, order_, "{}", "").ok());
  EXPECT_FALSE(read_attempt(attempt_).has_network);
  order_.has_network = true;
  ASSERT_TRUE(write_attempt(attempt_, order_, "{}", "").ok());
  EXPECT_EQ(read_attempt(attempt_).order, "{}");
  EXPECT_TRUE(read_attempt(attempt_).has_network);
}

TEST_F(AttemptRecordTest, AnOrderNotWrittenToItsEndIsNone) {
  std::filesystem::create_directory(attempt_);
  EXPECT_EQ(read_attempt(attempt_).order, "");
  append("{\"job\":3");
  EXPECT_EQ(read_attempt(attempt_).order, "");
}

TEST_F(AttemptRecordTest, AnEndNotWrittenToItsEndIsNone) {
  ASSERT_TRUE(write_attempt(attempt_, order_, "{}", "").ok());
  append(R"({"kind":"ended","job":3)");
  EXPECT_FALSE(read_attempt(attempt_).ended.has_value());
  append("\n{\"kind\":\"of a later version\"}\n");
  EXPECT_FALSE(read_attempt(attempt_).ended.has_value());
}

// Every bit of it, one at a time: what is read is what was written, or nothing.
TEST_F(AttemptRecordTest, ABitThatFlippedIsNotBelieved) {
  const std::string order = "{\"job\":3,\"cores\":[1,2]}";
  ASSERT_TRUE(write_attempt(attempt_, order_, order, "").ok());
  write_started(attempt_);
  write_ended(attempt_, ended(), 0);
  const std::string whole = [&] {
    std::ifstream file(attempt_ + "/record", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    std::ofstream(attempt_ + "/record", std::ios::binary) << text;
    const AttemptOnDisk found = read_attempt(attempt_);
    if (found.order != order) {
      EXPECT_NE(found.order, "") << "it may have been started";
      EXPECT_FALSE(codec::parse_json(found.order, 4096).ok()) << bit << ": " << found.order;
    }
    if (!found.ended) continue;
    const auto& read = std::get<protocol::Ended>(*found.ended);
    EXPECT_EQ(protocol::report_text(read), protocol::report_text(ended())) << bit;
  }
}

// The same of what has no digest of its own kind: none of it is read as something else.
TEST_F(AttemptRecordTest, ABitThatFlippedChangesNeitherPlaceNorNetwork) {
  const std::string order = "{\"job\":3}";
  order_.has_network = true;
  ASSERT_TRUE(write_attempt(attempt_, order_, order, "").ok());
  Placement place;
  place.node = NodeId(1);
  place.cores = {1, 2};
  write_place(attempt_, place);
  std::ifstream file(attempt_ + "/record", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  for (std::size_t bit = whole.find('\n') * 8; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    std::ofstream(attempt_ + "/record", std::ios::binary) << text;
    const AttemptOnDisk found = read_attempt(attempt_);
    EXPECT_EQ(found.place.value_or(place), place) << bit;
    EXPECT_TRUE(found.order != order || found.has_network) << bit;
  }
}

TEST_F(AttemptRecordTest, TheEndOfAnotherAttemptIsNotItsOwn) {
  ASSERT_TRUE(write_attempt(attempt_, order_, "{\"job\":3}", "").ok());
  write_ended(attempt_, protocol::Ended{{JobId(4), 1}, {TaskExit{2, 5, 0, ""}}, 70, 80, 9}, 0);
  EXPECT_FALSE(read_attempt(attempt_).ended.has_value());
}

TEST_F(AttemptRecordTest, WhatStaysOfAnAttemptHoldsNoEnvironment) {
  const std::string order =
      R"({"exec":{"command":["true"],"environment":{"TOKEN":"hunter2"}},"job":3,"job_token":"t0k"})";
  order_.has_network = true;
  ASSERT_TRUE(write_attempt(attempt_, order_, order, "").ok());
  std::ofstream(attempt_ + "/task.r0") << "env=TOKEN=hunter2";
  std::filesystem::create_directory(attempt_ + "/output");
  write_started(attempt_);
  write_ended(attempt_, ended(), 12'345);
  const Result<void> dropped = drop_environment(attempt_);
  ASSERT_TRUE(dropped.ok()) << dropped.error().message;
  const AttemptOnDisk found = read_attempt(attempt_);
  EXPECT_EQ(found.order, R"({"exec":{"command":["true"]},"job":3})");
  EXPECT_TRUE(found.has_network);
  EXPECT_TRUE(found.started);
  EXPECT_EQ(found.started_us, 12'345);
  ASSERT_TRUE(found.ended.has_value());
  EXPECT_EQ(protocol::report_text(*found.ended), protocol::report_text(ended()));
  EXPECT_FALSE(std::filesystem::exists(attempt_ + "/task.r0"));
  EXPECT_TRUE(std::filesystem::exists(attempt_ + "/output"));
}

// Nothing can be written beside the record; what is shorter fits in its place.
TEST_F(AttemptRecordTest, AFullDiskKeepsNoEnvironment) {
  const std::string order = R"({"exec":{"environment":{"TOKEN":"hunter2"}},"job":3})";
  ASSERT_TRUE(write_attempt(attempt_, order_, order, "").ok());
  std::ofstream(attempt_ + "/task.r0") << "env=TOKEN=hunter2";
  write_ended(attempt_, ended(), 12'345);
  std::filesystem::create_directory(attempt_ + "/record.new");
  const Result<void> dropped = drop_environment(attempt_);
  ASSERT_TRUE(dropped.ok()) << dropped.error().message;
  const AttemptOnDisk found = read_attempt(attempt_);
  EXPECT_EQ(found.order, R"({"exec":{},"job":3})");
  ASSERT_TRUE(found.ended.has_value());
  EXPECT_FALSE(std::filesystem::exists(attempt_ + "/task.r0"));
  std::ifstream file(attempt_ + "/record", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
}

// Nor does a record that cannot be read keep what lies beside it.
TEST_F(AttemptRecordTest, WithoutAReadableRecordTheTasksFilesGo) {
  std::filesystem::create_directories(attempt_ + "/record");
  std::ofstream(attempt_ + "/task.r0") << "env=TOKEN=hunter2";
  EXPECT_FALSE(drop_environment(attempt_).ok());
  EXPECT_FALSE(std::filesystem::exists(attempt_ + "/task.r0"));
}

TEST_F(AttemptRecordTest, OfADamagedRecordNoOrderStays) {
  std::filesystem::create_directory(attempt_);
  EXPECT_TRUE(drop_environment(attempt_).ok()) << "nothing was started";
  append("{\"exec\":{\"environment\":{\"TOKEN\":\"hun\n{\"left\":true}\n{\"sta");
  ASSERT_TRUE(drop_environment(attempt_).ok());
  EXPECT_TRUE(read_attempt(attempt_).left);
  std::ifstream file(attempt_ + "/record", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find("hun"), std::string::npos) << text;
}

TEST_F(AttemptRecordTest, AnEndWithoutAnOrderIsNotWritten) {
  write_ended(attempt_, ended(), 0);
  EXPECT_FALSE(std::filesystem::exists(attempt_ + "/record"));
}

TEST_F(AttemptRecordTest, OnlyABatchJobHasScriptAndHostfile) {
  ASSERT_TRUE(write_attempt(attempt_, order_, "{}", "").ok());
  EXPECT_FALSE(std::filesystem::exists(attempt_ + "/hostfile"));
  order_.launch = LaunchMode::kBatch;
  order_.exec.script = "#!/bin/sh\n";
  order_.nodes = {{"n1", "127.0.0.1", 0, {0, 1}, 2, {}}};
  ASSERT_TRUE(write_attempt(attempt_, order_, "{}", "").ok());
  struct stat facts {};
  ASSERT_EQ(::stat((attempt_ + "/script").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  std::string line;
  std::ifstream file(attempt_ + "/hostfile");
  std::getline(file, line);
  EXPECT_EQ(line, "n1 slots=2");
}

TEST_F(AttemptRecordTest, APlaceThatCannotBeWrittenIsNamed) {
  const Result<void> made = write_attempt(folder_ + "/missing/3.1", order_, "{}", "");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("missing/3.1"), std::string::npos);
}

}  // namespace
}  // namespace dove::agent
