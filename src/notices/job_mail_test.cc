#include "notices/job_mail.h"

#include <gtest/gtest.h>

#include "notices/target.h"

namespace dove::notices {
namespace {

class JobMail : public testing::Test {
 protected:
  JobMail() {
    UserDeclaration ada;
    ada.name = "ada";
    ada.notices = {{NoticeBy::kMail, "ada@example.org", {NoticeAbout::kSessionIdle}},
                   {NoticeBy::kWebhook, "https://hooks.example.org/x", {NoticeAbout::kJobEnded}}};
    state.users["ada"] = ada;
    spec.user = "ada";
    spec.mail_about = {NoticeAbout::kJobEnded};
  }
  void hold_job() {
    core::Job job;
    job.id = JobId{7};
    job.spec = std::make_shared<const JobSpec>(spec);
    state.jobs.emplace(job.id, job);
  }

  core::State state;
  JobSpec spec;
};

TEST_F(JobMail, GoesToTheAddressesOfItsUser) {
  const std::vector<NoticeTarget> targets = job_targets(state, spec);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0], (NoticeTarget{NoticeBy::kMail, "ada@example.org", spec.mail_about}));
  spec.mail_about.clear();
  EXPECT_TRUE(job_targets(state, spec).empty());
}

TEST_F(JobMail, OrToTheOneThatItNames) {
  spec.mail_to = "team@example.org";
  ASSERT_EQ(job_targets(state, spec).size(), 1u);
  EXPECT_EQ(job_targets(state, spec)[0].to, "team@example.org");
  // Somebody who is not declared has no addresses, and may name one.
  spec.user = "root";
  EXPECT_EQ(job_targets(state, spec).size(), 1u);
  spec.mail_to.clear();
  EXPECT_TRUE(job_targets(state, spec).empty());
}

TEST_F(JobMail, ADisabledUserIsToldNothing) {
  state.users["ada"].disabled = true;
  spec.mail_to = "team@example.org";
  EXPECT_TRUE(job_targets(state, spec).empty());
}

TEST_F(JobMail, IsFoundAgainAsLongAsTheJobIsThere) {
  spec.mail_to = "team@example.org";
  const std::string id = target_id("ada", job_targets(state, spec)[0]);
  EXPECT_FALSE(find_job_target(state, "ada", id).has_value());
  hold_job();
  ASSERT_TRUE(find_job_target(state, "ada", id).has_value());
  EXPECT_EQ(find_job_target(state, "ada", id)->to, "team@example.org");
  EXPECT_FALSE(find_job_target(state, "bob", id).has_value());
}

}  // namespace
}  // namespace dove::notices
