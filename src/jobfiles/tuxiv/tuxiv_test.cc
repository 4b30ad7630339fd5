#include "jobfiles/tuxiv/tuxiv.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "jobfiles/jobfile.h"
#include "jobfiles/tuxiv/environment.h"
#include "jobfiles/tuxiv/md5.h"

namespace dove::jobfiles {
namespace {

std::string file_of_tests(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(std::string(DOVE_SOURCE_DIR) + "/tests/jobfiles/" + path).rdbuf();
  return text.str();
}

Context ann(const std::string& repository) {
  Context context;
  context.user = "ann";
  context.home = "/mnt/home/ann";
  context.workdir = "/mnt/home/ann/WORKDIR/" + repository;
  return context;
}

Result<ParsedJob> read(const std::string& text) {
  return parse(Source{"tuxiv.conf", text, Format::kAuto, {}}, ann("demo"));
}

std::string warnings_of(const ParsedJob& job) {
  std::string all;
  for (const Warning& w : job.warnings) all += to_text(w.place).substr(11) + " " + w.code + "\n";
  return all;
}

TEST(Tuxiv, GeneratedFilesAreTcloudsToTheByte) {
  auto job = parse(Source{"tuxiv.conf", file_of_tests("joined/tuxiv.conf"), Format::kAuto, {}},
                   ann("fit"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  ASSERT_EQ(job->generated.size(), 4u);
  for (const GeneratedFile& file : job->generated) {
    EXPECT_EQ(file.content, file_of_tests("joined/expected/" + file.path)) << file.path;
    EXPECT_EQ(file.mode, file.path == "run.sh" ? 0755u : 0644u);
  }
}

TEST(Tuxiv, TheJobIsThatScript) {
  auto job = parse(Source{"tuxiv.conf", file_of_tests("joined/tuxiv.conf"), Format::kAuto, {}},
                   ann("fit"));
  ASSERT_TRUE(job.ok());
  const JobSpec& spec = job->submission.spec;
  EXPECT_EQ(spec.name, "fit");
  EXPECT_EQ(spec.launch, LaunchMode::kBatch);
  EXPECT_EQ(spec.groups[0].tasks, 2);
  EXPECT_EQ(spec.groups[0].nodes_min, 2);
  EXPECT_EQ(spec.groups[0].tasks_per_node, 1);
  EXPECT_EQ(spec.groups[0].per_task.cores, 3);
  const ExecSpec& exec = job->submission.exec;
  EXPECT_EQ(exec.workdir, "/mnt/home/ann/WORKDIR/fit");
  EXPECT_EQ(exec.output.stdout_path, "/mnt/home/ann/USERDIR/slurm_log/slurm-%j.out");
  std::string golden = file_of_tests("joined/expected/configurations/run.slurm");
  std::string head = golden.substr(0, golden.find("srun "));
  EXPECT_TRUE(exec.script.starts_with(head + "dove_environment='"));
  // What cannot be had is reported once, before the tasks start.
  EXPECT_NE(exec.script.find("\n/bin/bash -c \"$dove_environment\" || exit 1\n"
                             "srun /bin/bash -c \"$dove_environment\"'\npython "),
            std::string::npos);
  EXPECT_NE(exec.script.find(job->boilerplate), std::string::npos);
  EXPECT_GT(job->boilerplate.size(), 4000u);
  EXPECT_TRUE(exec.script.ends_with("--steps=20 \\\n' '/mnt/home/ann/WORKDIR/fit/run.sh'\n"));
  EXPECT_EQ(warnings_of(*job),
            "13:9 honoured\n"
            "4:5 joined\n"
            "23:5 no_effect\n"
            "24:5 no_effect\n");
}

TEST(Tuxiv, TyposRunAndAreNamed) {
  auto job = parse(Source{"tuxiv.conf", file_of_tests("typos/tuxiv.conf"), Format::kAuto, {}},
                   ann("demo"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(warnings_of(*job),
            "1:13 read_as\n"         // entrypoint as one word
            "4:3 unknown_key\n"      // channel
            "5:13 read_as\n"         // channels as one word
            "9:7 honoured\n"         // pip
            "12:3 unknown_key\n"     // nam
            "18:7 read_as\n"         // cpus-per-task: 2
            "19:3 no_effect\n"       // log
            "21:5 no_effect\n"       // a map in datasets
            "23:1 unknown_key\n"     // extra
            "14:7 read_as\n"         // node=2
            "15:7 unknown_option\n"  // use_gpu
            "16:7 unknown_option\n"  // name
            "17:7 read_as\n"         // --time
            "7:7 needs_python\n"
            "8:7 no_effect\n");  // cudatoolkit
  const JobSpec& spec = job->submission.spec;
  EXPECT_EQ(spec.groups[0].nodes_min, 2);
  EXPECT_EQ(spec.groups[0].per_task.cores, 2);
  EXPECT_EQ(spec.time_limit, seconds(600));
  EXPECT_EQ(spec.name, "demo");
  // tcloud sees none of what is only honoured here.
  EXPECT_EQ(job->generated[0].content,
            "name: demo\nchannels:\ndependencies:\n  - python=3.11\n  - cudatoolkit=11.1\n");
  EXPECT_EQ(job->generated[3].content,
            "#!/bin/bash\nsource /mnt/home/ann/.Miniconda3/etc/profile.d/conda.sh\n"
            "conda activate demo\n\n");
}

TEST(Tuxiv, DevicesSetByHandAndSeveralCommandsAreNamed) {
  auto job = parse(Source{"tuxiv.conf", file_of_tests("gpus/tuxiv.conf"), Format::kAuto, {}},
                   ann("train"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(warnings_of(*job),
            "12:11 honoured\n"
            "3:5 joined_commands\n"
            "3:5 devices_overridden\n"
            "9:9 needs_python\n");
  EXPECT_EQ(job->submission.exec.output.stdout_path, "/mnt/home/ann/USERDIR/slurm_log/train.log");
  EXPECT_EQ(job->submission.spec.groups[0].tasks, 4);
  EXPECT_EQ(job->submission.spec.groups[0].per_node.gpus, 2);
}

TEST(Tuxiv, EmptyFilesRunNothing) {
  for (const char* text : {"", "# nothing\n", "entrypoint:\njob:\nenvironment:\ndatasets:\n"}) {
    auto job = read(text);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(warnings_of(*job), "1:1 empty\n");
    EXPECT_EQ(job->submission.spec.name, "demo");
    EXPECT_EQ(job->submission.spec.groups.size(), 1u);
  }
}

TEST(Tuxiv, ErrorsNameThePlace) {
  struct Case {
    const char* text;
    const char* field;
  };
  for (const Case& c : {
           Case{"- a\n- b\n", "tuxiv.conf:1:1"},
           Case{"entrypoint:\n  - echo a: b\n", "tuxiv.conf:2:5"},
           Case{"entrypoint:\n  - [a]\n", "tuxiv.conf:2:5"},
           Case{"job: 5\n", "tuxiv.conf:1:6"},
           Case{"job:\n  general:\n    - nodes=two\n", "tuxiv.conf:3:7"},
           Case{"job:\n  general:\n    - gres=gpu:x:y:z\n", "tuxiv.conf:3:7"},
           Case{"environment:\n  name: ../../etc\n", "tuxiv.conf:2:9"},
           Case{"environment:\n  dependencies:\n    - $(reboot)\n", "tuxiv.conf:3:7"},
           Case{"job:\n\tname: x\n", "tuxiv.conf:2:6"},
           Case{"environment:\n  dependencies: [numpy=]\n", "tuxiv.conf:2:18"},
           Case{"a: [\n", "tuxiv.conf:1:4"},
           Case{"a: 1\n---\nb: 2\n", "tuxiv.conf:3:1"},
           Case{"entrypoint: [\"\xC3\x28\"]\n", "tuxiv.conf:1:15"},
       }) {
    auto job = read(c.text);
    ASSERT_FALSE(job.ok()) << c.text;
    EXPECT_EQ(job.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(job.error().field, c.field) << job.error().message;
  }
}

TEST(Tuxiv, HostileYamlIsBounded) {
  EXPECT_FALSE(read("entrypoint: " + std::string(100'000, '[')).ok());
  EXPECT_FALSE(read(std::string(5000, '-') + " x").ok());
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i) {
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  EXPECT_FALSE(read(deep).ok());
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string name = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + name;
    for (int k = 0; k < 9; ++k) laughs += "," + name;
    laughs += "]\n";
  }
  EXPECT_TRUE(read(laughs).ok());  // keys nobody asked for: warnings
  EXPECT_FALSE(parse(Source{"job.yaml", laughs, Format::kAuto, {}}, ann("demo")).ok());
  EXPECT_FALSE(read("entrypoint:\n  - " + std::string(200'000, 'x')).ok());
  EXPECT_FALSE(read("a: &a [*a]\n").ok());
  std::string many = "job:\n  general:\n";
  for (int i = 0; i < 1001; ++i) many += "    - nodes=1\n";
  auto items = read(many);
  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().field, "tuxiv.conf:1003:7");
}

TEST(Tuxiv, OptionsOfTheCommandLineWin) {
  Context context = ann("demo");
  context.options = {{"nodes", "3", {"command line", 0, 0}}, {"job-name", "other", {}}};
  auto job = parse(Source{"tuxiv.config",
                          "entrypoint: [hostname]\njob: {name: a, general: [nodes=2]}",
                          Format::kAuto,
                          {}},
                   context);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.groups[0].nodes_min, 3);
  EXPECT_EQ(job->submission.spec.name, "other");
  // Nothing of the submitter's shell goes into it: tcloud submits from a login on the cluster.
  EXPECT_EQ(job->submission.exec.environment.size(), 1u);
}

TEST(Tuxiv, AnEnvItemThatSetsNothingIsSaid) {
  auto job = parse(Source{"tuxiv.conf",
                          "entrypoint: [x]\njob:\n  env: [A=1, HOME, no-equals]\n",
                          Format::kAuto,
                          {}},
                   ann("demo"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  ASSERT_EQ(job->warnings.size(), 1u);
  EXPECT_NE(job->warnings[0].message.find("`no-equals` sets nothing"), std::string::npos);
}

TEST(Native, EscapesAreThoseOfTheLanguageThatItIsWrittenIn) {
  const auto name_of = [](const std::string& text) {
    auto job = parse(Source{"job.yaml", text, Format::kAuto, {}}, ann("demo"));
    return job.ok() ? job->submission.spec.name : job.error().message;
  };
  EXPECT_EQ(name_of("{\"name\": \"\\ud83d\\ude80\", \"command\": [\"a\"]}"), "\U0001F680");
  EXPECT_EQ(name_of("{name: \"caf\\u00e9\", command: [a]}"), "caf\u00e9");
  // What is neither is an error with its place.
  const auto odd = parse(Source{"job.yaml", "{\\u\\s: 1}", Format::kNative, {}}, ann("demo"));
  ASSERT_FALSE(odd.ok());
  EXPECT_TRUE(odd.error().field.starts_with("job.yaml:1")) << odd.error().field;
}

TEST(Native, PlacesPointIntoTheFile) {
  auto job = parse(Source{"job.yaml", "name: fit\ncommand: [python3, fit.py]\n", Format::kAuto, {}},
                   ann("demo"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->submission.spec.name, "fit");
  EXPECT_EQ(job->submission.exec.command, (std::vector<std::string>{"python3", "fit.py"}));
  auto wrong =
      parse(Source{"job.yaml", "name: fit\ncommand: [a]\npriority: [1]\n", Format::kAuto, {}},
            ann("demo"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.error().field.starts_with("job.yaml:3:")) << wrong.error().field;
}

TEST(Md5, KnownSums) {
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(
      md5_hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
      "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace dove::jobfiles
