#include "slurm/migrate/migration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "slurm/migrate/objects.h"

namespace dove::slurm {
namespace {

constexpr char kConf[] = R"(# A comment
ClusterName=lab
MaxArraySize=1001   # the index, not the count
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityWeightAge=1000
PriorityMaxAge=14-0
PriorityWeightFairshare=100000
PriorityWeightJobSize=90
PriorityFavorSmall=YES
PriorityWeightQOS=10000
PreemptType=preempt/qos
PrivateData=jobs,usage
Licenses=matlab:10,fluent@server:3
Colour=blue
NodeName=DEFAULT Features=fast
NodeName=n[0-1] CPUs=8 \
  CoreSpecCount=2 Gres=gpu:h200:4,nic:2 State=UNKNOWN
NodeName=old MemSpecLimit=1024 State=DRAIN Reason="bad fan"
NodeSet=quick Feature=fast
DownNodes=n1 Reason="gone"
PartitionName=DEFAULT MaxTime=2-00:00:00 State=UP
PartitionName=gpu Nodes=quick Default=YES DefaultTime=30 AllowAccounts=lab,vision PriorityTier=5
PartitionName=night Nodes=ALL State=DOWN OverSubscribe=EXCLUSIVE MaxTime=INFINITE
PartitionName=staff Nodes=old AllowGroups=staff
PartitionName=few Nodes=old AllowGroups=nobody_knows
)";

constexpr char kDump[] = R"(# To edit this file start with a cluster line for the new cluster
Cluster - 'bench':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'lab':Description='the: lab':Organization='uni':Fairshare=10:GrpTRES=cpu=8,mem=64G,gres/gpu:h200=4,node=2:GrpJobs=5
Parent - 'lab'
User - 'bob':DefaultAccount='lab':AdminLevel='Operator':Coordinator='lab':Fairshare=1
Account - 'vision':Description='vision':Organization='lab':Fairshare=3:GrpSubmitJobs=20
Parent - 'vision'
User - 'ada':DefaultAccount='vision':Fairshare=2:MaxJobs=2:QOS='+high'
)";

constexpr char kQos[] = R"(Name|Priority|Preempt|GrpTRES|GrpJobs|GrpSubmit|MaxWall
normal|0|||||
high|1000|normal|cpu=4|3||1-00:00:00
urgent|5000|high,normal||||
lab|1|||||
)";

class MigrationTest : public testing::Test {
 protected:
  MigrationTest() {
    MigrationInput input;
    input.conf = read_conf("/etc/slurm/slurm.conf", kConf);
    input.gres = read_conf("gres.conf", "Name=gpu Type=h200 File=/dev/nvidia[0-3]\n");
    input.associations = kDump;
    input.qos = kQos;
    input.members = [](const std::string& group) -> std::optional<std::vector<std::string>> {
      if (group != "staff") return std::nullopt;
      return std::vector<std::string>{"ann", "max"};
    };
    made_ = migrate(input);
  }

  // The object's document without its kind and name.
  std::string object(const std::string& kind, const std::string& name) const {
    const std::string head = "kind: " + kind + "\n" + (name.empty() ? "" : "name: " + name + "\n");
    const std::size_t at = made_.yaml.find(head);
    if (at == std::string::npos) return "none";
    const std::size_t begin = at + head.size();
    const std::size_t end = std::min(made_.yaml.find("---\n", begin), made_.yaml.size());
    return made_.yaml.substr(begin, end - begin);
  }

  const ReportLine* line(const std::string& option) const {
    const auto at = std::find_if(made_.report.begin(), made_.report.end(),
                                 [&](const ReportLine& one) { return one.option == option; });
    return at == made_.report.end() ? nullptr : &*at;
  }

  Migration made_;
};

TEST_F(MigrationTest, SettingsOfTheCluster) {
  EXPECT_EQ(object("Cluster", ""),
            "array_max: 1000\nfair_share_half_life: \"604800s\"\njob_visibility: members\n"
            "order: multifactor\npreemption: true\ncountables: {\"licence:fluent\": 3, "
            "\"licence:matlab\": 10}\n"
            // 8 GPUs and 16 cores; the highest QoS has 5000.
            "multifactor: {age: 1000, age_span_s: 1209600, fair_share: 100000, priority: 1, "
            "queue_priority: 2, size: -10}\n");
  EXPECT_EQ(line("PriorityWeightAge=1000")->verdict, Verdict::kCarried);
}

TEST(PriorityWeightsTest, AgeIsKeptWithinItsBoundAndThatIsSaid) {
  MigrationInput input;
  input.conf = read_conf("slurm.conf", "PriorityWeightAge=100000000\n");
  const Migration made = migrate(input);
  EXPECT_NE(made.yaml.find("age: 10080000,"), std::string::npos) << made.yaml;
  EXPECT_EQ(made.report.front().verdict, Verdict::kApproximated);
}

TEST_F(MigrationTest, PartitionsBecomePools) {
  EXPECT_EQ(object("Pool", "gpu"),
            "default: true\ntime_limit_default: \"1800s\"\ntime_limit_max: \"172800s\"\n"
            "nodes: [\"n[0-1]\", old]\nprojects: [lab, vision]\n");
  EXPECT_EQ(object("Pool", "night"), "exclusive: true\nopen: false\nnodes: [\"*\"]\n");
}

TEST_F(MigrationTest, APoolOfGroupsIsNeverOpenToEverybody) {
  EXPECT_EQ(object("Pool", "staff"),
            "time_limit_max: \"172800s\"\nnodes: [old]\nusers: [ann, max]\n");
  EXPECT_EQ(object("Pool", "few"), "open: false\ntime_limit_max: \"172800s\"\nnodes: [old]\n");
}

TEST_F(MigrationTest, NodesWithWhatAnAgentDoesNotFind) {
  EXPECT_EQ(object("Node", "n0"), "cores_reserved: 2\nfeatures: [fast]\ncountables: {nic: 2}\n");
  EXPECT_EQ(object("Node", "n1"),
            "cores_reserved: 2\ndrain_reason: gone\ndrained: true\nfeatures: [fast]\n"
            "countables: {nic: 2}\n");
  EXPECT_EQ(object("Node", "old"),
            "drain_reason: \"bad fan\"\ndrained: true\nmemory_reserved_bytes: 1073741824\n"
            "features: [fast]\n");
}

TEST_F(MigrationTest, AccountsUsersAndWhoManagesThem) {
  EXPECT_EQ(object("Project", "lab"),
            "limits: {jobs_running: 5, cores: 8, memory_bytes: 68719476736, "
            "gpus_by_model: {h200: 4}}\n");
  EXPECT_EQ(object("Project", "vision"), "limits: {jobs_waiting: 20}\n");
  EXPECT_EQ(object("Queue", "lab"), "weight: 10\n");
  EXPECT_EQ(object("Queue", "lab.own"), "parent: lab\n");
  EXPECT_EQ(object("Queue", "vision"), "parent: lab\nweight: 3\n");
  EXPECT_EQ(object("Binding", "vision.members"), "project: vision\nrole: member\nusers: [ada]\n");
  EXPECT_EQ(object("Binding", "lab.managers"), "project: lab\nrole: manager\nusers: [bob]\n");
  EXPECT_EQ(object("Binding", "slurm.administrators"), "role: admin\nusers: [root]\n");
  EXPECT_EQ(object("Binding", "slurm.operators"), "role: manager\nusers: [bob]\n");
  EXPECT_EQ(object("Limit", "ada"), "limits: {jobs_running: 2}\n");
  EXPECT_EQ(object("User", "ada"), "");
}

TEST_F(MigrationTest, QosAreQueuesInBandsByWhomTheyPreempt) {
  EXPECT_EQ(object("Queue", "normal"), "");
  EXPECT_EQ(object("Queue", "high"),
            "band: 1\npriority: 1000\nlimits: {jobs_running: 3, cores: 4}\n");
  EXPECT_EQ(object("Queue", "urgent"), "band: 2\npriority: 5000\n");
  EXPECT_EQ(object("Queue", "lab.qos"), "priority: 1\n");
}

TEST_F(MigrationTest, EachOptionHasAVerdictAndAPlace) {
  const ReportLine* array = line("MaxArraySize=1001");
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(array->place, "slurm.conf:3");
  EXPECT_EQ(array->verdict, Verdict::kCarried);
  const ReportLine* tier = line("PartitionName=gpu PriorityTier=5");
  ASSERT_NE(tier, nullptr);
  EXPECT_EQ(tier->verdict, Verdict::kNone);
  const ReportLine* spec = line("NodeName=n[0-1] CoreSpecCount=2");
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->place, "slurm.conf:17") << "the line where it begins";
  const ReportLine* unknown = line("Colour=blue");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->place, "slurm.conf:15");
  EXPECT_FALSE(unknown->known);
  const ReportLine* limits = line("Account - lab GrpTRES=cpu=8,mem=64G,gres/gpu:h200=4,node=2");
  ASSERT_NE(limits, nullptr);
  EXPECT_EQ(limits->note, "without node=2, which has no limit here");
  EXPECT_EQ(line("Account - lab Description=the: lab")->verdict, Verdict::kNone);
  EXPECT_NE(report_text(made_.report).find("slurm.conf:15: Colour=blue: unknown: "),
            std::string::npos);
}

TEST(OptionTable, EachOptionOnce) {
  for (int place = 0; place <= static_cast<int>(OptionPlace::kQos); ++place) {
    const auto& rules = options_of(static_cast<OptionPlace>(place));
    EXPECT_FALSE(rules.empty());
    for (const OptionRule& rule : rules) {
      EXPECT_EQ(find_option(static_cast<OptionPlace>(place), rule.name), &rule)
          << rule.name << " is there twice";
      EXPECT_FALSE(rule.note.empty());
    }
  }
}

TEST(SlurmTime, AllItsForms) {
  EXPECT_EQ(slurm_time_s("60"), 3600);
  EXPECT_EQ(slurm_time_s("10:30"), 630);
  EXPECT_EQ(slurm_time_s("1:00:00"), 3600);
  EXPECT_EQ(slurm_time_s("2-0"), 172'800);
  EXPECT_EQ(slurm_time_s("1-12:30"), 131'400);
  EXPECT_EQ(slurm_time_s("1-00:00:10"), 86'410);
  EXPECT_EQ(slurm_time_s("infinite"), 0);
  for (const char* bad : {"", "x", "1:2:3:4", "1-2-3", "-5", "1:", "99999999999"}) {
    EXPECT_EQ(slurm_time_s(bad), -1) << bad;
  }
}

TEST(ConfFile, IncludesAreReadInPlaceAndNotForEver) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path == "/etc/slurm/slurm.conf") return std::string("A=1\nInclude more.conf\nC=3\n");
    if (path == "/etc/slurm/more.conf") return std::string("B = 2\n");
    if (path == "round") return std::string("include round\n");
    return Error{ErrorKind::kNotFound, "no_file", path, path};
  };
  const auto lines = load_conf("/etc/slurm/slurm.conf", read);
  ASSERT_TRUE(lines.ok());
  ASSERT_EQ(lines->size(), 3u);
  EXPECT_EQ((*lines)[1].place(), "more.conf:1");
  EXPECT_EQ((*lines)[1].pairs[0].value, "2");
  EXPECT_FALSE(load_conf("round", read).ok());
  EXPECT_FALSE(load_conf("missing", read).ok());
}

TEST(Tres, WhatIsMalformedIsNamed) {
  Amounts amounts;
  EXPECT_EQ(read_tres("cpu=x,mem=1Q,=3,gres/gpu=2,license/matlab=1,energy=5,cpu=-1", amounts),
            (std::vector<std::string>{"cpu=x", "mem=1Q", "=3", "energy=5", "cpu=-1"}));
  EXPECT_EQ(amounts.gpus, 2);
  EXPECT_EQ(amounts.cores, -1);
  EXPECT_EQ(amounts.countables.at("licence:matlab"), 1);
}

}  // namespace
}  // namespace dove::slurm
