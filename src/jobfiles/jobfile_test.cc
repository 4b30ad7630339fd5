// Jobs that are no text: what a command means, and what options make of it.
#include "jobfiles/jobfile.h"

#include <gtest/gtest.h>

namespace dove::jobfiles {
namespace {

Context ann() {
  Context context;
  context.user = "ann";
  context.home = "/home/ann";
  context.workdir = "/home/ann/demo";
  return context;
}

Result<ParsedJob> typed(const std::vector<std::string>& command, std::vector<Option> options = {}) {
  Context context = ann();
  context.options = std::move(options);
  return complete(command_job(command), kTyped, context);
}

TEST(CommandJob, ItIsWhatAFileWouldSay) {
  const auto job = typed({"/usr/bin/python3", "fit \"it\".py", "\xF0\x9F\x9A\x80"});
  ASSERT_TRUE(job.ok()) << job.error().message;
  const auto file = parse(Source{"job.yaml",
                                 "name: python3\nsource_name: command line\n"
                                 "command: [/usr/bin/python3, 'fit \"it\".py', \xF0\x9F\x9A\x80]\n",
                                 Format::kNative,
                                 {}},
                          ann());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(job->submission.spec, file->submission.spec);
  EXPECT_EQ(codec::encode_exec(job->submission.exec), codec::encode_exec(file->submission.exec));
}

TEST(CommandJob, AProgramWithoutABaseNameLeavesTheNameOfJobs) {
  EXPECT_EQ(command_job({"/opt/"}).spec.name, JobSpec().name);
}

TEST(CommandJob, OptionsSizeIt) {
  const auto job =
      typed({"true"}, {{"nodes", "2", {kTyped, 0, 0}}, {"ntasks-per-node", "2", {kTyped, 0, 0}}});
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.groups[0].tasks, 4);
}

TEST(CommandJob, WordsThatAreNotUtf8AreRefused) {
  const auto job = typed({"echo", "\xFF"});
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().field, "command[1]");
}

TEST(CommandJob, ErrorsNameOptionsWhereEverythingWasTyped) {
  const Error error{ErrorKind::kInvalid, "bad_value", "time_limit: too long", "time_limit"};
  const auto typed_job = typed({"true"});
  ASSERT_TRUE(typed_job.ok()) << typed_job.error().message;
  EXPECT_EQ(in_typed_words(error, *typed_job).field, "--time");
  const auto of_an_app = complete(command_job({"true"}), "app board", ann());
  ASSERT_TRUE(of_an_app.ok()) << of_an_app.error().message;
  EXPECT_EQ(in_typed_words(error, *of_an_app).field, "time_limit");
}

}  // namespace
}  // namespace dove::jobfiles
