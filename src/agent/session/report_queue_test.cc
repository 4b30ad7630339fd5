#include "agent/session/report_queue.h"

#include <gtest/gtest.h>

namespace dove::agent {
namespace {

using When = ReportQueue::When;

class ReportQueueTest : public ::testing::Test {
 protected:
  struct Message {
    std::uint64_t number;
    std::vector<std::uint64_t> jobs;
  };
  static protocol::Report report(std::uint64_t job) { return protocol::Prepared{{JobId(job), 1}}; }
  // Lets what is due happen, and a little more.
  void turn(std::chrono::milliseconds wait = std::chrono::milliseconds(0)) {
    bool over = false;
    const wire::Timer timer = loop_.after(wait, [&over] { over = true; });
    loop_.run_until([&over] { return over; }, std::chrono::seconds(10));
  }

  ReportQueue::Host host() {
    ReportQueue::Host host;
    host.has_news = [this] { return has_news_; };
    host.send = [this](std::uint64_t number, std::vector<protocol::Report> batch) {
      Message message{number, {}};
      for (const protocol::Report& each : batch) {
        message.jobs.push_back(protocol::key_of(each)->job.value);
      }
      sent_.push_back(std::move(message));
    };
    return host;
  }

  wire::Loop loop_;
  bool has_news_ = false;
  std::vector<Message> sent_;
  ReportQueue queue_{loop_, host()};
};

TEST_F(ReportQueueTest, ReportsOfOneTurnTravelTogetherAndInOrder) {
  queue_.open();
  for (const std::uint64_t job : {3, 1, 2}) queue_.add(report(job));
  EXPECT_TRUE(sent_.empty());
  turn();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].number, 1u);
  EXPECT_EQ(sent_[0].jobs, (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST_F(ReportQueueTest, OneMessageIsUnderWayAtATime) {
  queue_.open();
  queue_.add(report(1), When::kNow);
  queue_.add(report(2), When::kNow);
  queue_.beat();
  ASSERT_EQ(sent_.size(), 1u);
  queue_.taken();
  EXPECT_EQ(queue_.size(), 1u);
  queue_.flush();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].number, 2u);
  EXPECT_EQ(sent_[1].jobs, std::vector<std::uint64_t>{2});
}

TEST_F(ReportQueueTest, MoreThanAMessageHoldsIsSaidInTheNext) {
  queue_.open();
  const std::size_t all = ReportQueue::kReportsAtATime + 1;
  for (std::size_t i = 0; i < all; ++i) queue_.add(report(i + 1));
  turn();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].jobs.size(), ReportQueue::kReportsAtATime);
  queue_.taken();
  queue_.flush();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].jobs, std::vector<std::uint64_t>{all});
}

TEST_F(ReportQueueTest, WhatALostSessionDidNotAcknowledgeIsSaidAgainFirst) {
  queue_.add(report(1));  // before there is any session
  turn();
  EXPECT_TRUE(sent_.empty());
  queue_.open();
  queue_.flush();
  queue_.add(report(2));
  queue_.close();
  queue_.add(report(3));
  turn();
  ASSERT_EQ(sent_.size(), 1u);
  queue_.open();
  queue_.flush();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].number, 1u);  // of the new session
  EXPECT_EQ(sent_[1].jobs, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(ReportQueueTest, AControllerThatIsFullHearsTheSameAgainLater) {
  queue_.open();
  queue_.add(report(1), When::kNow);
  queue_.full();
  queue_.add(report(2));  // does not hasten it
  turn();
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_EQ(queue_.size(), 2u);
  ASSERT_TRUE(loop_.run_until([&] { return sent_.size() == 2; }, std::chrono::seconds(10)));
  EXPECT_EQ(sent_[1].jobs, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(ReportQueueTest, AStartWaitsForAnEndThatFollowsAtOnce) {
  queue_.open();
  queue_.add(report(1), When::kStarted);
  turn();
  EXPECT_TRUE(sent_.empty());
  queue_.add(report(2));
  turn();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].jobs, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(ReportQueueTest, ABeatIsSentUnlessSomethingWas) {
  queue_.open();
  queue_.beat();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].jobs.empty());
  queue_.taken();
  queue_.add(report(1), When::kNow);
  queue_.taken();
  queue_.beat();  // that was one
  EXPECT_EQ(sent_.size(), 2u);
  queue_.beat();
  EXPECT_EQ(sent_.size(), 3u);
}

TEST_F(ReportQueueTest, NewsAreSentWithoutReports) {
  queue_.open();
  queue_.flush();
  EXPECT_TRUE(sent_.empty());
  has_news_ = true;
  queue_.add(report(1), When::kNextMessage);
  EXPECT_TRUE(sent_.empty());
  queue_.flush();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].jobs, std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace dove::agent
