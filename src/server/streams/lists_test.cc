// Lists of the API: pages that go on where the one before ended, filters, and flags that are words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <optional>

#include "server/api_fixture.h"
#include "server/job_select.h"

namespace dove::server {
namespace {

class Lists : public WithApi {
 protected:
  void declare(const std::string& kind, const std::vector<std::string>& names) {
    Json objects = Json::array();
    for (const std::string& name : names) objects.push_back({{"kind", kind}, {"name", name}});
    ASSERT_EQ(live.call("POST", "/v1/objects", Json{{"objects", objects}}).status, 200);
  }
  // The names on each page of a list, page by page.
  std::vector<std::vector<std::string>> pages(const std::string& target, const char* member) {
    std::vector<std::vector<std::string>> found;
    std::string after;
    for (int i = 0; i < 20; ++i) {
      const Answer answer = live.call("GET", target + after);
      EXPECT_EQ(answer.status, 200) << answer.response.body;
      auto& page = found.emplace_back();
      for (const Json& item : answer.body.at(member))
        page.push_back(item.at("name").get<std::string>());
      const Json next = answer.body.at("next");
      if (next.is_null()) break;
      after = "&after=" +
              wire::percent_encode(next.is_string() ? next.get<std::string>() : next.dump());
    }
    return found;
  }
  using Pages = std::vector<std::vector<std::string>>;
};

TEST_F(Lists, ObjectsHavePages) {
  declare("Queue", {"a", "b", "c/d"});
  declare("Project", {"a"});
  EXPECT_EQ(pages("/v1/objects?kind=queue&limit=2", "objects"),
            (Pages{{"a", "b"}, {"c/d", "default"}}));
  EXPECT_EQ(pages("/v1/objects?limit=3", "objects"),
            (Pages{{"dove", "default", "a"}, {"b", "c/d", "default"}, {"a"}}));
  EXPECT_EQ(pages("/v1/queues?limit=3", "queues"), (Pages{{"a", "b", "c/d"}, {"default"}}));
  EXPECT_EQ(pages("/v1/queues?name=b,default", "queues"), (Pages{{"b", "default"}}));
  EXPECT_EQ(pages("/v1/pools?limit=1", "pools"), (Pages{{"default"}}));
  EXPECT_EQ(live.call("GET", "/v1/objects?kind=").code(), "no_such_kind");
  EXPECT_EQ(live.call("GET", "/v1/objects?limit=0").code(), "bad_parameter");
}

TEST_F(Lists, ALongPageIsWhole) {
  Json body = small_job_body("many");
  std::vector<int> indices(450);
  std::iota(indices.begin(), indices.end(), 0);
  body["array"] = Json{{"indices", indices}};
  const Answer submitted = live.call("POST", "/v1/jobs", body);
  ASSERT_EQ(submitted.status, 201) << submitted.response.body;
  for (const std::string more : {"", "&full=1", "&name=many&state=waiting"}) {
    const Json page = live.call("GET", "/v1/jobs?limit=10000" + more).body;
    ASSERT_EQ(page.at("jobs").size(), 450u) << more;
    for (std::size_t i = 0; i < 450; ++i) EXPECT_EQ(page.at("jobs").at(i).at("id"), i + 1);
    EXPECT_TRUE(page.at("next").is_null());
    EXPECT_TRUE(page.at("log_head").is_number());
  }
  const Json newest = live.call("GET", "/v1/jobs?order=newest&limit=430").body;
  EXPECT_EQ(newest.at("jobs").at(0).at("id"), 450);
  EXPECT_EQ(newest.at("next"), 21);
  const Json oldest = live.call("GET", "/v1/jobs?order=newest&limit=430&after=21").body;
  EXPECT_EQ(oldest.at("jobs").size(), 20u);
  EXPECT_TRUE(oldest.at("next").is_null());
}

TEST_F(Lists, ALongListHoldsUpNobody) {
  Json body = small_job_body("many");
  std::vector<int> indices(450);
  std::iota(indices.begin(), indices.end(), 0);
  body["array"] = Json{{"indices", indices}};
  ASSERT_EQ(live.call("POST", "/v1/jobs", body).status, 201);
  wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
  std::string order;
  const auto ask = [&](wire::AsyncClient& client, const std::string& target, char name) {
    wire::Request request;
    request.method = "GET";
    request.target = target;
    request.headers.emplace_back("Authorization", "Bearer " + live.admin_token);
    client.call(std::move(request), [&order, name](const Result<wire::Response>& answer) {
      EXPECT_TRUE(answer.ok() && answer->status == 200);
      order += name;
    });
  };
  ask(other, "/healthz", '.');  // it is connected
  ASSERT_TRUE(live.until([&] { return order == "."; }));
  ask(*live.client, "/v1/jobs?limit=10000&full=1", 'l');
  ask(other, "/healthz", 'h');
  ASSERT_TRUE(live.until([&] { return order.size() == 3; }));
  EXPECT_EQ(order, ".hl");
}

TEST_F(Lists, APageGoesOnWhereTheEntryBeforeItIsGone) {
  declare("Queue", {"a", "b", "c"});
  ASSERT_EQ(live.call("GET", "/v1/queues?limit=2").body.at("next"), "b");
  ASSERT_EQ(live.call("DELETE", "/v1/objects/queue/b").status, 204);
  const Json rest = live.call("GET", "/v1/queues?limit=2&after=b").body;
  EXPECT_EQ(rest.at("queues").at(0).at("name"), "c");
}

TEST_F(Lists, NodesHavePagesAndFilters) {
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (const char* name : {"n1", "n2", "x1"}) {
    agents.push_back(std::make_unique<FakeAgent>(live, name));
    agents.back()->connect();
  }
  const Json pool{{"nodes", {"n[1-2]"}}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/pool/gpu", pool).status, 200);
  const Json fast{{"features", {"fast", "ib"}}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/node/n2", fast).status, 200);
  live.call("POST", "/v1/nodes/x1/drain", Json::object());
  EXPECT_EQ(pages("/v1/nodes?limit=2", "nodes"), (Pages{{"n1", "n2"}, {"x1"}}));
  EXPECT_EQ(pages("/v1/nodes?pool=gpu&limit=1", "nodes"), (Pages{{"n1"}, {"n2"}}));
  EXPECT_EQ(pages("/v1/nodes?feature=fast,ib", "nodes"), (Pages{{"n2"}}));
  EXPECT_EQ(pages("/v1/nodes?state=drained,lost", "nodes"), (Pages{{"x1"}}));
  EXPECT_EQ(pages("/v1/nodes?name=x1,n1", "nodes"), (Pages{{"n1", "x1"}}));
  EXPECT_EQ(live.call("GET", "/v1/nodes?pool=none").code(), "no_such_pool");
  const Answer wrong = live.call("GET", "/v1/nodes?state=drained,gone");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body.at("field"), "state");
  EXPECT_NE(wrong.body.at("detail").get<std::string>().find("ready, drained"), std::string::npos);
}

TEST_F(Lists, JobsAreFilteredByLabelAndTime) {
  Json labelled = small_job_body("first");
  labelled["label"] = "trainer";
  live.submit(labelled);
  live.submit(small_job_body("second"));
  EXPECT_EQ(pages("/v1/jobs?label=trainer", "jobs"), (Pages{{"first"}}));
  const Json second = live.call("GET", "/v1/jobs/2").body;
  const std::string at = second.at("submitted_at_us").dump();
  EXPECT_EQ(pages("/v1/jobs?submitted_from=" + at + "&name=second", "jobs"), (Pages{{"second"}}));
  EXPECT_TRUE(pages("/v1/jobs?name=second&submitted_before=" + at, "jobs").front().empty());
  EXPECT_EQ(live.call("GET", "/v1/jobs?submitted_from=soon").code(), "bad_parameter");
}

TEST_F(Lists, JobsAreFilteredByTheirLabels) {
  const auto submit = [&](const char* name, const Json& labels) {
    Json body = small_job_body(name);
    body["labels"] = labels;
    live.submit(body);
  };
  submit("first", {{"team", "vision"}, {"stage", "train"}});
  submit("second", {{"team", "speech"}, {"stage", "train"}});
  submit("third", {{"team", "vision"}, {"why", "a=\"b\""}});
  live.submit(small_job_body("fourth"));
  submit("fifth", {{"note", "\"team\":\"vision\""}});
  submit("sixth", {{"=a=b", "c=\"d\""}});
  EXPECT_EQ(pages("/v1/jobs?labels=team%3Dvision", "jobs"), (Pages{{"first", "third"}}));
  EXPECT_EQ(pages("/v1/jobs?labels=team=vision&limit=1", "jobs"), (Pages{{"first"}, {"third"}}));
  EXPECT_EQ(pages("/v1/jobs?labels=team=vision&order=newest&limit=1", "jobs"),
            (Pages{{"third"}, {"first"}}));
  EXPECT_EQ(pages("/v1/jobs?labels=stage=train&labels=team=vision", "jobs"), (Pages{{"first"}}));
  EXPECT_EQ(pages("/v1/jobs?labels=team=vision&labels=team=speech", "jobs"), (Pages{{}}));
  EXPECT_EQ(pages("/v1/jobs?labels=why=a=%22b%22", "jobs"), (Pages{{"third"}}));
  EXPECT_EQ(pages("/v1/jobs?labels==a=b=c=%22d%22", "jobs"), (Pages{{"sixth"}}));
  EXPECT_EQ(pages("/v1/jobs?labels==a=b=c=%22e%22", "jobs"), (Pages{{}}));
  EXPECT_EQ(pages("/v1/jobs?labels=team=", "jobs"), (Pages{{}}));
  for (const char* wrong : {"vision", "", "=vision", "team=vision&labels=x"}) {
    const Answer answer = live.call("GET", std::string("/v1/jobs?labels=") + wrong);
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(answer.code(), "bad_parameter");
    EXPECT_EQ(answer.body.at("field"), "labels");
  }
  EXPECT_EQ(live.call("GET", "/v1/jobs?since=0&labels=x").code(), "bad_parameter");
}

TEST_F(Lists, ObjectsAreFilteredByTheirLabels) {
  const auto declare = [&](const std::string& path, const Json& labels) {
    const Answer answer = live.call("PUT", "/v1/objects/" + path, Json{{"labels", labels}});
    EXPECT_EQ(answer.status, 200) << answer.response.body;
  };
  declare("queue/a", {{"team", "vision"}, {"tier", "1"}});
  declare("queue/b", {{"team", "speech"}});
  declare("queue/c", {{"team", "vision"}});
  declare("pool/a", {{"team", "vision"}});
  declare("domain/corp", {{"why", "a=\"b\""}});
  declare("domain/lab", {{"a=b", "c"}});
  declare("cluster/cluster", {{"site", "north"}});
  EXPECT_EQ(pages("/v1/objects?kind=queue&labels=team%3Dvision", "objects"), (Pages{{"a", "c"}}));
  EXPECT_EQ(pages("/v1/objects?kind=queue&labels=team=vision&limit=1", "objects"),
            (Pages{{"a"}, {"c"}}));
  EXPECT_EQ(pages("/v1/objects?labels=team=vision&labels=tier=1", "objects"), (Pages{{"a"}}));
  EXPECT_EQ(pages("/v1/objects?labels=team=vision&name=a", "objects"), (Pages{{"a", "a"}}));
  EXPECT_EQ(pages("/v1/objects?labels=why=a=%22b%22", "objects"), (Pages{{"corp"}}));
  EXPECT_EQ(pages("/v1/objects?labels=a=b=c", "objects"), (Pages{{"lab"}}));
  EXPECT_EQ(pages("/v1/objects?labels=site=north", "objects"), (Pages{{"dove"}}));
  EXPECT_EQ(pages("/v1/queues?labels=team=speech", "queues"), (Pages{{"b"}}));
  EXPECT_EQ(pages("/v1/pools?labels=team=speech", "pools"), (Pages{{}}));
  for (const char* list : {"objects", "queues", "pools", "nodes"}) {
    const Answer answer = live.call("GET", fmt::format("/v1/{}?labels=vision", list));
    EXPECT_EQ(answer.status, 400) << list;
    EXPECT_EQ(answer.body.at("field"), "labels");
  }
  // Applied again without labels they stay; null takes them away.
  ASSERT_EQ(live.call("PUT", "/v1/objects/queue/a", Json{{"priority", 3}}).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/objects/queue/a").body.at("labels").at("tier"), "1");
  ASSERT_EQ(live.call("PUT", "/v1/objects/queue/a", Json{{"labels", nullptr}}).status, 200);
  EXPECT_FALSE(live.call("GET", "/v1/objects/queue/a").body.contains("labels"));
  const Answer wrong = live.call("PUT", "/v1/objects/queue/a", Json{{"labels", {{"team", 7}}}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body.at("field"), "labels.team");
}

TEST_F(Lists, NodesAreFilteredByTheLabelsThatWereDeclaredOfThem) {
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (const char* name : {"n1", "n2", "n3"}) {
    agents.push_back(std::make_unique<FakeAgent>(live, name));
    agents.back()->connect();
  }
  const auto declare = [&](const char* name, const Json& labels) {
    const Json node{{"labels", labels}};
    ASSERT_EQ(live.call("PUT", std::string("/v1/objects/node/") + name, node).status, 200);
  };
  declare("n1", {{"owner", "vision"}, {"room", "2"}});
  declare("n3", {{"owner", "vision"}});
  EXPECT_EQ(pages("/v1/nodes?labels=owner=vision&limit=1", "nodes"), (Pages{{"n1"}, {"n3"}}));
  EXPECT_EQ(pages("/v1/nodes?labels=owner=vision&labels=room=2", "nodes"), (Pages{{"n1"}}));
  EXPECT_EQ(pages("/v1/nodes?labels=owner=speech", "nodes"), (Pages{{}}));
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("labels").at("room"), "2");
  // Draining a node is another change of what is declared of it.
  ASSERT_EQ(live.call("POST", "/v1/nodes/n1/drain", Json::object()).status, 200);
  EXPECT_EQ(pages("/v1/nodes?labels=room=2&state=drained", "nodes"), (Pages{{"n1"}}));
}

TEST_F(Lists, APageReadsOneThousandProgramsAtMost) {
  Json body = small_job_body("many");
  body["labels"] = {{"team", "vision"}};
  std::vector<int> indices(1100);
  std::iota(indices.begin(), indices.end(), 0);
  body["array"] = Json{{"indices", indices}};
  const Answer submitted = live.call("POST", "/v1/jobs", body);
  ASSERT_EQ(submitted.status, 201) << submitted.response.body;
  const Json none = live.call("GET", "/v1/jobs?labels=team=speech").body;
  EXPECT_TRUE(none.at("jobs").empty());
  EXPECT_EQ(none.at("next"), 1000);
  EXPECT_EQ(pages("/v1/jobs?labels=team=speech", "jobs"), (Pages{{}, {}}));
  const Json all = live.call("GET", "/v1/jobs?limit=10000&labels=team=vision").body;
  EXPECT_EQ(all.at("jobs").size(), 1000U);
  EXPECT_EQ(all.at("next"), 1000);
}

TEST_F(Lists, LabelsOfOthersJobsFindNothing) {
  Json body = small_job_body("first");
  body["labels"] = {{"team", "vision"}};
  live.submit(body);
  const std::string ann = live.call("POST", "/v1/users/ann/token?create=1").body.at("token");
  const Answer seen = live.call("GET", "/v1/jobs", nullptr, {}, &ann);
  ASSERT_EQ(seen.body.at("jobs").size(), 1U);
  const Answer found = live.call("GET", "/v1/jobs?labels=team=vision", nullptr, {}, &ann);
  EXPECT_TRUE(found.body.at("jobs").empty()) << "they do not see its labels either";
}

TEST_F(Lists, JobsAreFilteredByWhenTheyEnded) {
  live.submit(small_job_body("first"));
  live.submit(small_job_body("second"));
  live.submit(small_job_body("third"));
  for (const char* id : {"1", "2"}) live.call("POST", std::string("/v1/jobs/") + id + "/cancel");
  const auto ended = [&](const char* id) {
    return live.call("GET", std::string("/v1/jobs/") + id).body.at("ended_at_us").dump();
  };
  EXPECT_EQ(pages("/v1/jobs?ended_from=0&limit=1", "jobs"), (Pages{{"first"}, {"second"}}));
  EXPECT_EQ(pages("/v1/jobs?ended_from=" + ended("2"), "jobs"), (Pages{{"second"}}));
  EXPECT_EQ(pages("/v1/jobs?ended_before=" + ended("2"), "jobs"), (Pages{{"first"}}));
  EXPECT_EQ(pages("/v1/jobs?ended_from=0&state=waiting", "jobs"), (Pages{{}}));
  for (const char* name : {"ended_from", "ended_before"}) {
    const Answer wrong = live.call("GET", fmt::format("/v1/jobs?{}=soon", name));
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.body.at("field"), name);
  }
}

TEST_F(Lists, JobsAreListedFromTheNewestAndFoundByText) {
  for (const char* name : {"train-llm", "eval", "Train-vision"}) {
    Json body = small_job_body();
    body["name"] = name;
    live.submit(body);
  }
  EXPECT_EQ(pages("/v1/jobs?order=newest&limit=2", "jobs"),
            (Pages{{"Train-vision", "eval"}, {"train-llm"}}));
  EXPECT_EQ(pages("/v1/jobs?text=train&limit=1", "jobs"), (Pages{{"train-llm"}, {"Train-vision"}}));
  EXPECT_EQ(live.call("GET", "/v1/jobs?order=best").code(), "bad_parameter");
}

// -- lists that are answered once they have changed

class WatchedLists : public Lists {
 protected:
  // The answer to `target`, held when `meanwhile` runs.
  Json once_changed(const std::string& target, const std::function<void()>& meanwhile) {
    const std::string since = live.call("GET", target).body.at("log_head").dump();
    const char joint = target.find('?') == std::string::npos ? '?' : '&';
    wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
    wire::Request request;
    request.method = "GET";
    request.target = target + joint + "since=" + since + "&wait_s=15";
    request.headers = {{"Authorization", "Bearer " + live.admin_token}};
    std::optional<Json> answer;
    other.call(std::move(request), [&answer](const Result<wire::Response>& response) {
      answer = response.ok() ? Json::parse(response->body, nullptr, false) : Json();
    });
    live.call("GET", "/healthz");  // which the server hears after that
    EXPECT_FALSE(answer.has_value());
    meanwhile();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(live.until([&] { return answer.has_value(); }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    return answer.value_or(Json());
  }
};

TEST_F(WatchedLists, AListOfJobsIsAnsweredWhenOneComesOrChanges) {
  const Json first = once_changed("/v1/jobs", [&] { live.submit(small_job_body("first")); });
  EXPECT_EQ(first.at("jobs").at(0).at("name"), "first");
  live.call("POST", "/v1/jobs/1/hold", Json::object());
  const Json held = once_changed("/v1/jobs?state=held",
                                 [&] { live.call("POST", "/v1/jobs/1/release", Json::object()); });
  EXPECT_TRUE(held.at("jobs").empty()) << "it left the list";
}

TEST_F(WatchedLists, AJobThatEndsComesOntoTheListOfThoseThatEnded) {
  live.submit(small_job_body("first"));
  const Json ended = once_changed("/v1/jobs?ended_from=1",
                                  [&] { live.call("POST", "/v1/jobs/1/cancel", Json::object()); });
  EXPECT_EQ(ended.at("jobs").at(0).at("name"), "first");
}

TEST_F(WatchedLists, WhatIsNotOnTheListWakesNobody) {
  live.submit(small_job_body("first"));
  const Json before = live.call("GET", "/v1/jobs?name=first").body;
  live.submit(small_job_body("second"));
  const auto began = std::chrono::steady_clock::now();
  const Answer after =
      live.call("GET", "/v1/jobs?name=first&wait_s=1&since=" + before.at("log_head").dump());
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900));
  EXPECT_EQ(after.body.at("jobs"), before.at("jobs")) << "after its time it is answered as it is";
}

TEST_F(WatchedLists, NodesAndObjects) {
  const Json queues = once_changed("/v1/queues", [&] { declare("Queue", {"a"}); });
  EXPECT_EQ(queues.at("queues").at(0).at("name"), "a");
  const Json objects = once_changed("/v1/objects?kind=queue", [&] { declare("Queue", {"b"}); });
  EXPECT_EQ(objects.at("objects").size(), 3U);
  std::optional<FakeAgent> agent;
  const Json nodes = once_changed("/v1/nodes", [&] {
    agent.emplace(live, "n1");
    agent->connect();
  });
  EXPECT_EQ(nodes.at("nodes").at(0).at("name"), "n1");
}

TEST_F(WatchedLists, ALogThatIsNotTheClientsIsAnsweredAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(live.call("GET", "/v1/jobs?since=99999999").status, 200);
  EXPECT_EQ(live.call("GET", "/v1/jobs?since=0").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_EQ(live.call("GET", "/v1/jobs?since=soon").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/jobs?wait_s=5").code(), "bad_parameter");
}

TEST_F(Lists, AFlagIsOneOfFourWords) {
  const Answer wrong = live.call("POST", "/v1/users/ada/token?create=-1");
  EXPECT_EQ(wrong.code(), "bad_parameter");
  EXPECT_EQ(wrong.body.at("field"), "create");
  EXPECT_EQ(live.call("GET", "/v1/jobs?full=").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/jobs?full=true").status, 200);
  EXPECT_EQ(live.call("PUT", "/v1/objects/cluster/0").code(), "no_body");
}

TEST(JobSelect, TheJobOfARecordIsFoundWithoutLookingAtAll) {
  core::State state;
  const auto add = [&](std::uint64_t id, std::uint64_t seq) {
    core::Job job;
    job.id = JobId(id);
    job.submitted_seq = Seq(seq);
    state.jobs[JobId(id)] = job;
    state.next_job = id + 1;
  };
  EXPECT_EQ(job_submitted_at(state, Seq(5)), JobId());
  add(2, 5);  // 1 was forgotten
  add(7, 9);  // an array
  add(8, 9);
  add(900, 4000);
  EXPECT_EQ(job_submitted_at(state, Seq(5)), JobId(2));
  EXPECT_EQ(job_submitted_at(state, Seq(9)), JobId(7));
  EXPECT_EQ(job_submitted_at(state, Seq(4000)), JobId(900));
  for (const std::uint64_t none : {1, 6, 3999, 4001}) {
    EXPECT_EQ(job_submitted_at(state, Seq(none)), JobId());
  }
}

}  // namespace
}  // namespace dove::server
