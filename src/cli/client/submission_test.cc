#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"
#include "cli/client/endpoint.h"

namespace dove::cli {
namespace {

using nlohmann::json;

class TuxivSubmission : public CliTest {
 protected:
  // The data directory of a server on this machine with one node, which was booted with `boot_id`.
  void serve(const std::string& boot_id) {
    unsetenv("DOVE_URL");
    setenv("DOVE_DATA", folder_.c_str(), 1);
    file("url", server_.url());
    const json node{{"name", "n1"}, {"boot_id", boot_id}};
    server_.set("GET /v1/nodes", {200, json{{"nodes", {node}}}.dump()});
    server_.set("POST /v1/jobs", {201, R"({"id":5,"ids":[5],"warnings":[]})"});
  }
  std::string of_python(const std::string& version) {
    return file("tuxiv.conf",
                "entrypoint: [hostname]\nenvironment:\n  name: old\n  dependencies: "
                "[python=" +
                    version + "]\n");
  }
};

TEST_F(TuxivSubmission, DryRunLeavesOutWhatIsTheSameInEveryJob) {
  const std::string path = of_python("3.11");
  const Outcome brief = run({"dove", "submit", "--dry-run", path});
  EXPECT_LT(std::count(brief.out.begin(), brief.out.end(), '\n'), 60) << brief.out;
  EXPECT_NE(brief.out.find("-o yaml prints them"), std::string::npos) << brief.out;
  EXPECT_EQ(brief.out.find("dove_lock"), std::string::npos);
  const Outcome full = run({"dove", "submit", "--dry-run", "-o", "yaml", path});
  EXPECT_NE(full.out.find("dove_lock"), std::string::npos);
}

TEST_F(TuxivSubmission, WhatThisMachineLacksIsRefusedWhenItIsTheOnlyOne) {
  serve(*read_line_file("/proc/sys/kernel/random/boot_id"));
  const Outcome refused = run({"dove", "submit", of_python("2.1")});
  EXPECT_EQ(refused.code, kExitUsage) << refused.err;
  EXPECT_NE(refused.err.find("environment old: needs python 2.1; "), std::string::npos)
      << refused.err;
  EXPECT_EQ(server_.body_of("POST /v1/jobs"), "");
  EXPECT_EQ(run({"dove", "submit", of_python("3")}).code, kExitOk);
}

TEST_F(TuxivSubmission, WhatOtherMachinesLackIsNotKnown) {
  serve("another");
  EXPECT_EQ(run({"dove", "submit", of_python("2.1")}).code, kExitOk);
}

}  // namespace
}  // namespace dove::cli
