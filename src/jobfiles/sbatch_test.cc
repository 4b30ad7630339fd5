#include "jobfiles/sbatch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "jobfiles/jobfile.h"

namespace dove::jobfiles {
namespace {

Context ann() {
  Context context;
  context.user = "ann";
  context.home = "/home/ann";
  context.workdir = "/home/ann/work";
  context.now = Instant{1'772'620'200'000'000};
  return context;
}

std::string file_of_tests(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(std::string(DOVE_SOURCE_DIR) + "/tests/jobfiles/" + path).rdbuf();
  return text.str();
}

Result<ParsedJob> read(const std::string& directives, const Context& context = ann()) {
  return parse(Source{"job.sh", "#!/bin/sh\n" + directives + "\ntrue\n", Format::kSbatch, {}},
               context);
}

// What a refused script says.
std::string refusal(const std::string& text) {
  auto job = parse(Source{"job.sh", text, Format::kSbatch, {}}, ann());
  return job.ok() ? "accepted" : job.error().message;
}

TEST(Sbatch, AWholeScript) {
  auto job = parse(Source{"sweep.sh", file_of_tests("sweep.sh"), Format::kAuto, {"a", "b"}}, ann());
  ASSERT_TRUE(job.ok()) << job.error().message;
  const JobSpec& spec = job->submission.spec;
  EXPECT_EQ(spec.name, "sweep");
  EXPECT_EQ(spec.pool, "gpu");
  EXPECT_EQ(spec.launch, LaunchMode::kBatch);
  EXPECT_EQ(spec.array.indices.size(), 10u);
  EXPECT_EQ(spec.time_limit, seconds(5400));
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0].per_node.gpus, 1);
  EXPECT_EQ(spec.groups[0].per_node.gpu_model, "a100");
  const ExecSpec& exec = job->submission.exec;
  EXPECT_EQ(exec.script, file_of_tests("sweep.sh"));
  EXPECT_EQ(exec.script_arguments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(exec.workdir, "/home/ann/work");
  EXPECT_EQ(exec.environment.at("SLURM_ARRAY_TASK_COUNT"), "10");
  EXPECT_EQ(exec.output.stdout_path, "slurm-%A_%a.out");
  EXPECT_EQ(exec.labels.at("comment"), "two words");
  std::string warnings;
  for (const Warning& w : job->warnings) warnings += to_text(w.place) + " " + w.code + "\n";
  EXPECT_EQ(warnings,
            "sweep.sh:8:1 not_a_directive\n"
            "sweep.sh:9:1 no_effect\n"
            "sweep.sh:11:1 no_effect\n");
}

TEST(Sbatch, RefusalsNamePlaceAndRemedy) {
  EXPECT_EQ(refusal("#!/bin/sh\n#SBATCH --ndoes=2\n"),
            "job.sh:2:9: unknown option --ndoes: did you mean --nodes?");
  EXPECT_EQ(refusal("#!/bin/sh\n#SBATCH -J a --node=2\n"),
            "job.sh:2:14: --node is ambiguous, it could be --nodefile --nodelist --nodes: write "
            "the name in full");
  EXPECT_NE(refusal("#!/bin/sh\n#SBATCH --nodes=2 extra\n").find("job.sh:2:19: \"extra\""),
            std::string::npos);
  EXPECT_NE(refusal("#!/bin/sh\n#SBATCH -J \"a b\n").find("job.sh:2:12: the quote"),
            std::string::npos);
  EXPECT_NE(refusal("true\n").find("job.sh:1:1: this does not look like"), std::string::npos);
  EXPECT_NE(refusal(" \n").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("#!/bin/sh\necho\r\n").find("job.sh:2:5: the line ends like on DOS"),
            std::string::npos);
  EXPECT_NE(refusal(std::string("#!/bin/sh\na\0b", 13)).find("job.sh:2:2: the script has a zero"),
            std::string::npos);
  EXPECT_NE(refusal("#!/bin/sh\n# gr\xFC\xDF\n").find("job.sh:2:5: the text is not UTF-8"),
            std::string::npos);
  EXPECT_NE(refusal("#!/bin/sh\n#SBATCHES\n").find("job.sh:2:1"), std::string::npos);
  std::string many = "#!/bin/sh\n";
  for (int i = 0; i < 201; ++i) many += "#SBATCH -N1\n";
  EXPECT_NE(refusal(many).find("job.sh:202:9: more than 200 options"), std::string::npos);
  auto large =
      parse(Source{"job.sh", std::string(kFileBytesMax + 1, '#'), Format::kSbatch, {}}, ann());
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind, ErrorKind::kTooLarge);
}

TEST(Sbatch, ValuesMayStandApartQuotedOrEscaped) {
  auto job = read("#SBATCH --job-name 'a b' --comment=x\\ y -N2 #SBATCH --ntasks=9");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.name, "a b");
  EXPECT_EQ(job->submission.exec.labels.at("comment"), "x y");
  EXPECT_EQ(job->submission.spec.groups[0].tasks, 2);
}

TEST(Sbatch, TellsTheJobWhereItWasSubmitted) {
  Context context = ann();
  context.host = "login1";
  auto job = read("#SBATCH --export=NONE", context);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.exec.environment.at("SLURM_SUBMIT_HOST"), "login1");
}

// As a slurmctld 22.05 was seen to set them.
TEST(Sbatch, TellsTheJobWhatWasAskedForIt) {
  const auto slurm = [](const std::string& options) {
    auto job = read("#SBATCH --export=NONE " + options);
    EXPECT_TRUE(job.ok()) << options;
    std::string text;
    if (!job.ok()) return text;
    for (const auto& [name, value] : job->submission.exec.environment) {
      if (name == "SLURM_EXPORT_ENV") continue;
      text += (text.empty() ? "" : " ") + name.substr(6) + "=" + value;
    }
    return text;
  };
  EXPECT_EQ(slurm("-N2"), "");
  EXPECT_EQ(slurm("-n1"), "NPROCS=1 NTASKS=1");
  EXPECT_EQ(slurm("-N2 --ntasks-per-node=2 --gpus-per-node=2 -c2"),
            "CPUS_PER_TASK=2 GPUS_PER_NODE=2 NPROCS=4 NTASKS=4 NTASKS_PER_NODE=2");
  EXPECT_EQ(slurm("-n1 --gpus=h200:1"), "GPUS=h200:1 NPROCS=1 NTASKS=1");
  EXPECT_EQ(slurm("-n2 --gpus-per-task=1 --mem-per-cpu=100"),
            "GPUS_PER_TASK=1 MEM_PER_CPU=100 NPROCS=2 NTASKS=2");
  EXPECT_EQ(slurm("-N1 --gres=gpu:2 --cpus-per-gpu=2"), "CPUS_PER_GPU=2");
  EXPECT_EQ(slurm("-m block -O"), "DISTRIBUTION=block OVERCOMMIT=1");
}

TEST(Sbatch, CommandLineWinsOverEnvironmentWinsOverFile) {
  Context context = ann();
  context.environment = {{"SBATCH_PARTITION", "env"}, {"SBATCH_TIMELIMIT", "20"},
                         {"SBATCH_REQUEUE", "0"},     {"PATH", "/bin"},
                         {"SLURM_JOB_ID", "9"},       {"DOVE_TOKEN", "secret"}};
  context.options = {{"time", "30", {"command line", 0, 0}}, {"mem-per-cpu", "1G", {}}};
  auto job = read("#SBATCH -p file -t 10 --mem=4G -J x", context);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.name, "x");
  EXPECT_EQ(job->submission.spec.pool, "env");
  EXPECT_EQ(job->submission.spec.time_limit, seconds(1800));
  EXPECT_EQ(job->submission.spec.groups[0].per_node.memory_bytes, 0);
  EXPECT_EQ(job->submission.spec.groups[0].per_task.memory_bytes, 1LL << 30);
  EXPECT_EQ(job->submission.exec.environment,
            (std::map<std::string, std::string>{{"PATH", "/bin"}, {"SLURM_MEM_PER_CPU", "1024"}}));
  EXPECT_FALSE(read("#SBATCH --mem=1 --mem-per-cpu=2").ok());
}

TEST(Sbatch, ExportChoosesTheEnvironment) {
  Context context = ann();
  context.environment = {{"A", "1"}, {"B", "2"}};
  auto exported_as = [&](const std::string& list) {
    auto job = read("#SBATCH \"--export=" + list + "\"", context);
    EXPECT_TRUE(job.ok()) << list;
    return job.ok() ? job->submission.exec.environment : std::map<std::string, std::string>();
  };
  using Map = std::map<std::string, std::string>;
  const auto exported = [&](const std::string& list) {
    Map environment = exported_as(list);
    EXPECT_EQ(environment["SLURM_EXPORT_ENV"], list);
    environment.erase("SLURM_EXPORT_ENV");
    return environment;
  };
  EXPECT_EQ(exported("ALL"), (Map{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(exported("NONE"), Map());
  EXPECT_EQ(exported("A,C=3"), (Map{{"A", "1"}, {"C", "3"}}));
  EXPECT_EQ(exported("ALL,C=3"), (Map{{"A", "1"}, {"B", "2"}, {"C", "3"}}));
  EXPECT_EQ(exported("ALL,A=3"), (Map{{"A", "3"}, {"B", "2"}}));
  EXPECT_EQ(exported("A=3,ALL"), (Map{{"A", "3"}, {"B", "2"}}));
  EXPECT_EQ(exported("C='x,y'"), (Map{{"C", "x,y"}}));
  EXPECT_FALSE(read("#SBATCH --export='a b=2'", context).ok());
  context.environment = {{"BASH_FUNC_module%%", "() { :\n}"}};
  EXPECT_EQ(exported("ALL"), (Map{{"BASH_FUNC_module%%", "() { :\n}"}}));
}

struct Shape {
  const char* options;
  std::int32_t tasks, nodes_min, nodes_max, per_node;
  std::int32_t task_gpus, node_gpus, task_cores;
};

TEST(Sbatch, SizesMeanWhatSlurmMakesOfThem) {
  for (const Shape& s : {
           Shape{"", 1, 0, 0, 0, 0, 0, 1},
           Shape{"-n 8", 8, 0, 0, 0, 0, 0, 1},
           Shape{"-N 2", 2, 2, 2, 0, 0, 0, 1},
           Shape{"-N 2 -n 8 -c 3", 8, 2, 2, 0, 0, 0, 3},
           Shape{"-N 2-4 -n 8", 8, 2, 4, 0, 0, 0, 1},
           Shape{"-N 2 --ntasks-per-node=4", 8, 2, 2, 4, 0, 0, 1},
           Shape{"-n 8 --ntasks-per-node=4", 8, 2, 2, 4, 0, 0, 1},
           Shape{"-n 3 --ntasks-per-node=4", 3, 1, 0, 0, 0, 0, 1},
           Shape{"--ntasks-per-node=4", 4, 1, 1, 4, 0, 0, 1},
           Shape{"-N 4 -n 2", 2, 2, 2, 0, 0, 0, 1},
           Shape{"-N 2 --gres=gpu:4", 2, 2, 2, 0, 0, 4, 1},
           Shape{"-N 2 --gpus-per-node=4 --ntasks-per-node=4", 8, 2, 2, 4, 0, 4, 1},
           Shape{"-G 8", 1, 0, 0, 0, 8, 0, 1},
           Shape{"-N 2 -G 8", 2, 2, 2, 0, 0, 4, 1},
           Shape{"-n 4 -G 8", 4, 0, 0, 0, 2, 0, 1},
           Shape{"-n 4 --gpus-per-task=2", 4, 0, 0, 0, 2, 0, 1},
           Shape{"-G 8 --gpus-per-task=2", 4, 0, 0, 0, 2, 0, 1},
           Shape{"-G 8 --gpus-per-node=4", 2, 2, 2, 0, 0, 4, 1},
           Shape{"-G 4 --ntasks-per-gpu=1", 4, 0, 0, 0, 1, 0, 1},
           Shape{"-N 2 --gpus-per-node=2 --ntasks-per-gpu=2", 8, 2, 2, 0, 0, 2, 1},
           Shape{"-N 2 --gpus-per-node=4 --cpus-per-gpu=8", 2, 2, 2, 0, 0, 4, 32},
           Shape{"-n 2 --gpus-per-task=2 --cpus-per-gpu=8", 2, 0, 0, 0, 2, 0, 16},
           Shape{"-w n[1-3]", 3, 3, 3, 0, 0, 0, 1},
       }) {
    auto job = read(s.options[0] == 0 ? "" : std::string("#SBATCH ") + s.options);
    ASSERT_TRUE(job.ok()) << s.options << ": " << job.error().message;
    const TaskGroup& group = job->submission.spec.groups.at(0);
    EXPECT_EQ(group.tasks, s.tasks) << s.options;
    EXPECT_EQ(group.nodes_min, s.nodes_min) << s.options;
    EXPECT_EQ(group.nodes_max, s.nodes_max) << s.options;
    EXPECT_EQ(group.tasks_per_node, s.per_node) << s.options;
    EXPECT_EQ(group.per_task.gpus, s.task_gpus) << s.options;
    EXPECT_EQ(group.per_node.gpus, s.node_gpus) << s.options;
    EXPECT_EQ(group.per_task.cores, s.task_cores) << s.options;
  }
}

TEST(Sbatch, NodesThatAreFewerThanTheJobTakesAreSomeOfIts) {
  auto job = read("#SBATCH -N 3 -w n[1-2]");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.nodes_wanted.size(), 2u);
  EXPECT_EQ(job->submission.spec.groups[0].nodes_min, 3);
  EXPECT_TRUE(job->warnings.empty());
}

TEST(Sbatch, ContradictionsAreRefused) {
  for (const char* options : {"-N 3 -n 3 -G 4", "--mem-per-gpu=1G",
                              "--gres=gpu:1 --gpus-per-node=2", "-c 2 --cpus-per-gpu=2 -G 1",
                              "-G 5 --gpus-per-node=2", "-N 1000000 --ntasks-per-node=1000000",
                              "--ntasks-per-gpu=2", "-n 1000000 -c 1000000 --mem-per-cpu=1000T"}) {
    auto job = read(std::string("#SBATCH ") + options);
    ASSERT_FALSE(job.ok()) << options;
    EXPECT_TRUE(job.error().field.starts_with("job.sh:2:")) << job.error().field;
  }
}

TEST(Sbatch, AConstraintMayHaveAlternatives) {
  const auto features = [](const std::string& line) {
    return read("#SBATCH " + line)->submission.spec.features;
  };
  using Wishes = std::vector<std::string>;
  EXPECT_EQ(features("-C a100|h100"), (Wishes{"a100|h100"}));
  EXPECT_EQ(features("-N2 -C nvlink&(a100|h100)"), (Wishes{"nvlink", "a100|h100"}));
  EXPECT_EQ(features("-C [a100|h100]"), (Wishes{"[a100|h100]"}));
  EXPECT_EQ(features("-N2 -C ib&[a100|h100]"), (Wishes{"ib", "[a100|h100]"}));
  EXPECT_EQ(features("-N2 -C [a100|h100] -C ib"), (Wishes{"ib"}));
  for (const char* line :
       {"-N3 -C [a100*2&h100*1]", "-C [a100|h100]|ib", "-C a100*2", "-C a100|"}) {
    auto job = read(std::string("#SBATCH ") + line);
    ASSERT_FALSE(job.ok()) << line;
    EXPECT_EQ(job.error().code, "unsupported");
    EXPECT_TRUE(job.error().field.starts_with("job.sh:2:")) << job.error().field;
  }
}

TEST(Sbatch, RestOfTheJob) {
  Context context = ann();
  auto job = read(
      "#SBATCH -A vision -q high -d afterok:4,singleton --begin=now+1hour -H --nice=50\n"
      "#SBATCH -C a100&nvlink -x n[8-9] -L matlab:2,idl -o out/%x-%4j.txt -e err -i in\n"
      "#SBATCH --open-mode=append -D sub --signal=B:USR1@90 --no-requeue --exclusive\n"
      "#SBATCH --gres=rdma:2 --parsable --preempt=checkpoint --slice-min=30",
      context);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_TRUE(job->warnings.empty()) << to_text(job->warnings[0]);
  const JobSpec& spec = job->submission.spec;
  EXPECT_EQ(spec.project, "vision");
  EXPECT_EQ(spec.queue, "high");
  EXPECT_EQ(spec.dependencies.size(), 2u);
  EXPECT_EQ(spec.begin_at, context.now + seconds(3600));
  EXPECT_TRUE(spec.hold);
  EXPECT_EQ(spec.priority, -50);
  EXPECT_EQ(spec.features, (std::vector<std::string>{"a100", "nvlink"}));
  EXPECT_EQ(spec.nodes_excluded.size(), 2u);
  EXPECT_EQ(spec.cluster_requests,
            (std::vector<Countable>{{"licence:idl", 1}, {"licence:matlab", 2}}));
  EXPECT_FALSE(spec.requeue);
  EXPECT_TRUE(spec.exclusive);
  EXPECT_EQ(spec.groups[0].per_node.countables, (std::vector<Countable>{{"rdma", 2}}));
  const ExecSpec& exec = job->submission.exec;
  EXPECT_EQ(exec.output.stdout_path, "out/%x-%4j.txt");
  EXPECT_EQ(exec.output.stderr_path, "err");
  EXPECT_EQ(exec.output.stdin_path, "in");
  EXPECT_TRUE(exec.output.append);
  EXPECT_EQ(exec.workdir, "/home/ann/work/sub");
  EXPECT_EQ(exec.warn_signal, 10);
  EXPECT_EQ(exec.warn_before_s, 90);
  EXPECT_EQ(spec.checkpoint_signal, 10);
  EXPECT_EQ(spec.checkpoint_grace, seconds(90));
  EXPECT_EQ(spec.preempt, Preempt::kCheckpoint);
  EXPECT_EQ(spec.slice_min, seconds(1800));
  EXPECT_TRUE(job->behaviour.parsable);
}

TEST(Sbatch, Nearness) {
  auto job = read("#SBATCH -n 16 --switches=2@10:00 --spread-job");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.domain, "switch");
  EXPECT_FALSE(job->submission.spec.domain_required);
  EXPECT_EQ(job->submission.spec.spread, Spread::kSpread);
  ASSERT_EQ(job->warnings.size(), 1u);
  EXPECT_EQ(job->warnings[0].code, "read_as");
  EXPECT_TRUE(read("#SBATCH --switches=1")->warnings.empty());
  EXPECT_FALSE(read("#SBATCH --switches=none").ok());
  EXPECT_FALSE(read("#SBATCH --switches=0").ok());
}

// Each was accepted by sbatch 22.05 and refused here.
TEST(Sbatch, DistributionInsideANodeIsAffinity) {
  const auto affinity = [](const std::string& value) {
    return read("#SBATCH --distribution=" + value)->submission.spec.groups.at(0).affinity;
  };
  EXPECT_EQ(affinity("block"), Affinity::kDefault);
  EXPECT_EQ(affinity("block:block"), Affinity::kSingle);
  EXPECT_EQ(affinity("*:cyclic"), Affinity::kInterleaved);
  EXPECT_EQ(affinity("cyclic:fcyclic,NoPack"), Affinity::kInterleaved);
  EXPECT_TRUE(read("#SBATCH -m block:cyclic")->warnings.empty());
  const auto over_nodes = read("#SBATCH -m cyclic:block");
  ASSERT_EQ(over_nodes->warnings.size(), 1U);
  EXPECT_EQ(over_nodes->warnings[0].code, "read_as");
  EXPECT_NE(refusal("#!/bin/sh\n#SBATCH -m round-robin\ntrue\n").find("not a distribution"),
            std::string::npos);
}

TEST(Sbatch, WhatSlurmTakesIsTaken) {
  struct Case {
    std::string options;
    int tasks, nodes_min, nodes_max, task_gpus, node_gpus;
    std::string warning;
  };
  for (const Case& c : {
           Case{"-N1 -n2 --gpus-per-node=2 --gpus-per-task=1", 2, 1, 1, 1, 0, ""},
           Case{"-N2 -n2 --gpus-per-node=4 --gpus-per-task=1", 2, 2, 2, 0, 4,
                "--gpus-per-task=1 has no effect: the 4 GPUs of each node are shared by its tasks"},
           Case{"--gres=gpu:4 --gpus-per-node=4", 1, 0, 0, 0, 4, ""},
           Case{"--gpus-per-node=4 --gres=gpu:a100:4", 1, 0, 0, 0, 4, ""},
           Case{"-n4 --gpus=1", 4, 1, 1, 0, 1,
                "--gpus=1 for 4 tasks: they all run on one node and share its GPUs"},
           Case{"-N1 -n3 --gpus=2", 3, 1, 1, 0, 2, ""},
           Case{"-N16 -n32 --ntasks-per-node=1", 32, 16, 16, 0, 0,
                "--ntasks-per-node=1 has no effect: 32 tasks on 16 nodes are more for each"},
           Case{"--cpus-per-gpu=6", 1, 0, 0, 0, 0,
                "--cpus-per-gpu has no effect: the job asks for no GPUs; add --gpus-per-node=N"},
           Case{"--gpus=a100", 1, 0, 0, 1, 0, ""},
           Case{"-n4 --ntasks-per-gpu=2 -N1", 4, 1, 1, 0, 2, ""},
           Case{"-t 1-", 1, 0, 0, 0, 0, ""},
           Case{"--job-name= --account= --comment=", 1, 0, 0, 0, 0, ""},
           Case{"--exclusive --mem=0", 1, 0, 0, 0, 0, ""},
           Case{"-N1-4", 1, 1, 1, 0, 0,
                "-N 1-4 without --ntasks: the job has one task and takes one node"},
       }) {
    auto job = read("#SBATCH " + c.options);
    ASSERT_TRUE(job.ok()) << c.options << ": " << job.error().message;
    const TaskGroup& group = job->submission.spec.groups[0];
    EXPECT_EQ(group.tasks, c.tasks) << c.options;
    EXPECT_EQ(group.nodes_min, c.nodes_min) << c.options;
    EXPECT_EQ(group.nodes_max, c.nodes_max) << c.options;
    EXPECT_EQ(group.per_task.gpus, c.task_gpus) << c.options;
    EXPECT_EQ(group.per_node.gpus, c.node_gpus) << c.options;
    EXPECT_EQ(job->warnings.empty() ? "" : job->warnings[0].message, c.warning) << c.options;
  }
  EXPECT_EQ(read("#SBATCH --gpus-per-node=4 --gres=gpu:a100:4")
                ->submission.spec.groups[0]
                .per_node.gpu_model,
            "a100");
  EXPECT_EQ(read("#SBATCH -t 1-")->submission.spec.time_limit, seconds(86400));
  EXPECT_EQ(read("#SBATCH --job-name=")->submission.spec.name, "job.sh");
  auto both = read("#SBATCH --gres=gpu:4\n#SBATCH --gpus-per-node=2");
  ASSERT_FALSE(both.ok());
  EXPECT_TRUE(both.error().message.ends_with("(the other is at job.sh:2:9)"))
      << both.error().message;
}

TEST(Sbatch, SwitchedOffLinesAreNoMistakes) {
  EXPECT_TRUE(read("# #SBATCH --x\n##SBATCH --y\n#  ##SBATCH --z")->warnings.empty());
  EXPECT_EQ(read("# SBATCH --x")->warnings.size(), 1u);
  // sbatch obeys these after the first command, too.
  EXPECT_EQ(read("true\n#PBS -N late\n# PBS")->warnings.size(), 1u);
  auto parts = read("#SBATCH hetjob");
  ASSERT_FALSE(parts.ok());
  EXPECT_NE(parts.error().message.find("`groups:`"), std::string::npos) << parts.error().message;
}

TEST(Sbatch, OutputsThatClimbBecomeAbsolute) {
  Context context = ann();
  auto path = [&](const std::string& options) {
    auto job = read("#SBATCH " + options, context);
    return job.ok() ? job->submission.exec.output.stdout_path : job.error().message;
  };
  EXPECT_EQ(path("-o ../logs/%j.out"), "/home/ann/logs/%j.out");
  EXPECT_EQ(path("-o a/../../x"), "/home/ann/x");
  EXPECT_EQ(path("-o ../../../../../x"), "/x");
  EXPECT_EQ(path("-o /tmp/a/../x"), "/tmp/x");
  EXPECT_EQ(path("-D /data/run -o ../x"), "/data/x");
  EXPECT_EQ(path("-J a/b -o %x.txt"), "a/b.txt");
  EXPECT_EQ(path("-J ../b -o %5x-%j.txt"), "/home/ann/b-%j.txt");
  context.physical_workdir = "/mnt/big/work";  // /home/ann/work leads there
  EXPECT_EQ(path("-o ../logs/%j.out"), "/mnt/big/logs/%j.out");
  EXPECT_EQ(path("-o logs/%j.out"), "logs/%j.out");
  EXPECT_TRUE(read("#SBATCH -o x-%J")->warnings.empty());
  EXPECT_EQ(read("#SBATCH -o x%q")->warnings.size(), 1u);
}

TEST(Wrap, MakesAScript) {
  auto job = parse(Source{"wrap", "hostname; date", Format::kWrap, {}}, ann());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->submission.exec.script,
            "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nhostname; date\n");
  EXPECT_EQ(job->submission.spec.name, "wrap");
  EXPECT_FALSE(parse(Source{"wrap", " ", Format::kWrap, {}}, ann()).ok());
}

}  // namespace
}  // namespace dove::jobfiles
