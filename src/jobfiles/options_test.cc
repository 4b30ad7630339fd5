#include "jobfiles/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "codec/json.h"
#include "jobfiles/jobfile.h"

namespace dove::jobfiles {
namespace {

// One good value for each option that has an effect.
std::string sample(std::string_view name) {
  static const std::map<std::string_view, std::string> kSamples = {
      {"account", "vision"},
      {"array", "0-3"},
      {"begin", "now+1hour"},
      {"chdir", "/data"},
      {"comment", "hello"},
      {"constraint", "a100&nvlink"},
      {"container-env", "PATH"},
      {"container-image", "torch:24.10"},
      {"container-mounts", "/data:/d:ro"},
      {"container-name", "kept"},
      {"container-network", "gang"},
      {"container-publish", "18080:80,8081"},
      {"container-save", "/data/x.sqsh"},
      {"container-workdir", "/w"},
      {"cpus-per-gpu", "4"},
      {"cpus-per-task", "4"},
      {"deadline", "now+2hours"},
      {"distribution", "block:cyclic"},
      {"dependency", "afterok:7"},
      {"error", "err.txt"},
      {"exclude", "n[1-2]"},
      {"export", "NONE"},
      {"export-file", "vars"},
      {"gpus", "4"},
      {"gpus-per-node", "4"},
      {"gpus-per-task", "1"},
      {"gres", "gpu:2"},
      {"input", "in.txt"},
      {"job-name", "fit"},
      {"kill-on-invalid-dep", "no"},
      {"mail-type", "END,FAIL"},
      {"mail-user", "ada@example.org"},
      {"licenses", "matlab:2"},
      {"mem", "4G"},
      {"mem-per-cpu", "1G"},
      {"mem-per-gpu", "8G"},
      {"nodefile", "hosts"},
      {"nodelist", "n[1-2]"},
      {"nodes", "2"},
      {"ntasks", "4"},
      {"ntasks-per-gpu", "2"},
      {"ntasks-per-node", "2"},
      {"open-mode", "append"},
      {"output", "out.txt"},
      {"partition", "gpu"},
      {"priority", "7"},
      {"qos", "high"},
      {"reservation", "course"},
      {"secret", "hub=HUB_TOKEN"},
      {"signal", "USR1@120"},
      {"executor", "slurm"},
      {"preempt", "restart"},
      {"slice-min", "30"},
      {"switches", "1"},
      {"tasks-per-node", "2"},
      {"time", "10"},
      {"tres-per-task", "cpu=4,gres/gpu:a100=1"},
      {"wckey", "w"},
      {"extra", "e"},
      {"wrap", "true"},
  };
  auto found = kSamples.find(name);
  return found == kSamples.end() ? "" : found->second;
}

Context context_with_files() {
  Context context;
  context.workdir = "/home/ann/work";
  context.home = "/home/ann";
  context.now = Instant{1'772'620'200'000'000};
  context.read_file = [](const std::string& path) -> Result<std::string> {
    if (path == "hosts") return std::string("n1\nn2\n");
    return std::string("A=1\0B=2", 7);
  };
  return context;
}

// Everything of a draft that an option can change, as text.
std::string picture(const Draft& draft) {
  const Behaviour& b = draft.behaviour;
  const Sizes& s = draft.sizes;
  std::ostringstream out;
  out << codec::dump_json(codec::write_submission(draft.submission)) << b.test_only << b.parsable
      << b.wait << b.quiet << b.help << b.usage << b.version << b.verbose
      << draft.export_list.has_value() << draft.export_file.has_value() << s.any()
      << static_cast<int>(draft.affinity);
  return out.str();
}

TEST(Options, EveryOneHasAnEffectOrAWarning) {
  Context context = context_with_files();
  for (const OptionRule& rule : option_rules()) {
    // Those that restate the default are applied on top of its opposite; --wrap is the command's.
    if (rule.name == "requeue" || rule.name == "wrap" || rule.name == "container-env" ||
        rule.name == "container-writable" || rule.name.starts_with("no-container-")) {
      continue;
    }
    Draft draft;
    draft.context = &context;
    std::string before = picture(draft);
    std::string value =
        rule.set == nullptr && rule.argument != Argument::kNone ? "1" : sample(rule.name);
    Place place{"job.sh", 3, 9};
    auto applied = apply_sbatch_option(draft, rule.name, value, place);
    ASSERT_TRUE(applied.ok()) << rule.name << ": " << applied.error().message;
    bool warned = draft.warnings.size() == 1;
    EXPECT_NE(picture(draft) != before, warned) << rule.name;
    if (!warned) continue;
    EXPECT_EQ(draft.warnings[0].code, "no_effect") << rule.name;
    EXPECT_EQ(to_text(draft.warnings[0].place), "job.sh:3:9") << rule.name;
    EXPECT_NE(draft.warnings[0].message.find(rule.name), std::string::npos) << rule.name;
    EXPECT_FALSE(rule.text.empty()) << rule.name;
  }
}

TEST(Options, BadValuesNameOptionAndPlace) {
  Context context = context_with_files();
  for (const char* name : {"array", "begin", "cpus-per-task", "dependency", "gpus", "mem", "nodes",
                           "ntasks", "time", "signal", "open-mode", "nodelist", "priority"}) {
    Draft draft;
    draft.context = &context;
    auto applied = apply_sbatch_option(draft, name, "]nonsense", Place{"job.sh", 3, 9});
    ASSERT_FALSE(applied.ok()) << name;
    EXPECT_EQ(applied.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(applied.error().field, "job.sh:3:9");
    EXPECT_TRUE(applied.error().message.starts_with("job.sh:3:9: --")) << applied.error().message;
  }
}

TEST(Options, WhatATaskNeedsMayBeOneList) {
  const Context context = context_with_files();
  const auto after = [&](const std::string& value) {
    Draft draft;
    draft.context = &context;
    EXPECT_TRUE(apply_sbatch_option(draft, "tres-per-task", value, {}).ok()) << value;
    return draft.sizes;
  };
  const Sizes sizes = after("cpu=4,gres/gpu:a100=2");
  EXPECT_EQ(sizes.cpus_per_task->value, 4);
  EXPECT_EQ(sizes.gpus_per_task->value.gpus, 2);
  EXPECT_EQ(sizes.gpus_per_task->value.gpu_model, "a100");
  EXPECT_EQ(after("gres/gpu=1").gpus_per_task->value.gpus, 1);
  EXPECT_EQ(after("gres/gpu:1").gpus_per_task->value.gpus, 1);
  for (const char* wrong : {"cpu", "mem=4G", "gres/gpu", "license/x=1", "cpu=0", "cpu=1,"}) {
    Draft draft;
    draft.context = &context;
    EXPECT_FALSE(apply_sbatch_option(draft, "tres-per-task", wrong, {}).ok()) << wrong;
  }
}

// Judged by sbatch 22.05: these take "" for "not given", the others refuse it.
TEST(Options, EmptyValuesAreTakenWhereSbatchTakesThem) {
  Context context = context_with_files();
  for (const OptionRule& rule : option_rules()) {
    if (rule.argument != Argument::kMayBeEmpty || rule.set == nullptr) continue;
    Draft draft;
    draft.context = &context;
    const std::string before = picture(draft);
    Place place{"job.sh", 3, 9};
    auto applied = apply_sbatch_option(draft, rule.name, sample(rule.name), place);
    ASSERT_TRUE(applied.ok()) << rule.name;
    applied = apply_sbatch_option(draft, rule.name, "", place);
    ASSERT_TRUE(applied.ok()) << rule.name << ": " << applied.error().message;
    // The one before holds, or the reader of the file puts a default in its place.
    if (rule.name == "priority" || rule.name == "chdir" || rule.name == "job-name") continue;
    EXPECT_EQ(picture(draft), before) << rule.name;
  }
  for (const char* name : {"begin", "cpus-per-task", "mem", "nodes", "ntasks", "time", "partition",
                           "signal", "open-mode", "gres", "ntasks-per-node"}) {
    Draft draft;
    draft.context = &context;
    EXPECT_FALSE(apply_sbatch_option(draft, name, "", Place{"job.sh", 3, 9}).ok()) << name;
  }
}

// Outside of what the server takes, inside of what sbatch takes.
TEST(Options, RangesEndWithAWarning) {
  Context context = context_with_files();
  Draft draft;
  draft.context = &context;
  Place place{"job.sh", 3, 9};
  ASSERT_TRUE(apply_sbatch_option(draft, "nice", "2000000000", place).ok());
  EXPECT_EQ(draft.submission.spec.priority, -1'000'000);
  ASSERT_TRUE(apply_sbatch_option(draft, "priority", "-3", place).ok());
  EXPECT_EQ(draft.submission.spec.priority, -3);
  ASSERT_TRUE(apply_sbatch_option(draft, "time", "9999999", place).ok());
  EXPECT_EQ(draft.submission.spec.time_limit, seconds(3650LL * 24 * 3600));
  EXPECT_EQ(draft.warnings.size(), 2u);
}

TEST(Options, ErrorsOfTheServerNameWhatWasTyped) {
  ParsedJob job;
  const Error said{ErrorKind::kInvalid, "x", "groups[0].tasks: 3 are too many", "groups[0].tasks"};
  EXPECT_EQ(in_typed_words(said, job).message, said.message);  // a file in the API's own words
  job.typed = {"ntasks"};
  EXPECT_EQ(in_typed_words(said, job).message, "--ntasks: 3 are too many");
  job.typed = {"*"};
  EXPECT_EQ(in_typed_words(said, job).message, "--ntasks: 3 are too many");
}

TEST(Options, OtherToolsWordsAreSuggested) {
  auto hint = [](const char* name) {
    auto found = find_option(name);
    return found.ok() ? std::string("known") : found.error().message;
  };
  EXPECT_EQ(hint("image"), "unknown option --image: did you mean --container-image?");
  EXPECT_EQ(hint("share"), "unknown option --share: did you mean --oversubscribe?");
  EXPECT_EQ(hint("extra"), "known");
  EXPECT_EQ((*find_option("ext"))->name, "extra-node-info");  // as 22.05 abbreviates
}

TEST(Options, MountsOfAContainer) {
  Context context = context_with_files();
  Draft draft;
  draft.context = &context;
  ASSERT_TRUE(apply_sbatch_option(draft, "container-mounts", "/a,/b:/c,/d:/e:ro,/f:ro", {}).ok());
  const std::vector<Volume>& volumes = draft.submission.exec.container.volumes;
  ASSERT_EQ(volumes.size(), 4u);
  EXPECT_EQ(volumes[0].source, "/a");
  EXPECT_EQ(volumes[0].target, "");
  EXPECT_TRUE(volumes[0].writable);
  EXPECT_EQ(volumes[1].target, "/c");
  EXPECT_EQ(volumes[2].target, "/e");
  EXPECT_FALSE(volumes[2].writable);
  EXPECT_EQ(volumes[3].source, "/f");
  EXPECT_FALSE(volumes[3].writable);
  for (const char* wrong : {"", "a", "/a,", "/a:", "/a:b"}) {
    EXPECT_FALSE(apply_sbatch_option(draft, "container-mounts", wrong, {}).ok()) << wrong;
  }
}

TEST(Options, AreSortedAndUnique) {
  std::set<char> letters;
  std::string_view before;
  for (const OptionRule& rule : option_rules()) {
    EXPECT_LT(before, rule.name);
    before = rule.name;
    if (rule.letter != 0) {
      EXPECT_TRUE(letters.insert(rule.letter).second) << rule.name;
    }
  }
}

TEST(Options, AbbreviationsAreThoseOfGetopt) {
  EXPECT_EQ((*find_option("cpus-per-t"))->name, "cpus-per-task");
  EXPECT_EQ((*find_option("nodes"))->name, "nodes");
  EXPECT_EQ((*find_option("mem"))->name, "mem");
  auto ambiguous = find_option("node");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().code, "ambiguous_option");
  EXPECT_NE(ambiguous.error().message.find("--nodefile --nodelist --nodes"), std::string::npos);
  auto unknown = find_option("ndoes");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "unknown_option");
  EXPECT_NE(unknown.error().message.find("did you mean --nodes?"), std::string::npos);
}

TEST(Arguments, LongShortBundledAndWhatIsLeft) {
  auto read = read_sbatch_arguments(
      {"--nodes=2", "-n", "4", "-c2", "-QW", "--job-n", "fit", "job.sh", "-x", "--y"});
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::string names;
  for (const Option& option : read->options) names += option.name + "=" + option.value + " ";
  EXPECT_EQ(names, "nodes=2 ntasks=4 cpus-per-task=2 quiet= wait= job-name=fit ");
  EXPECT_EQ(read->rest, (std::vector<std::string>{"job.sh", "-x", "--y"}));
  EXPECT_EQ(read_sbatch_arguments({"--", "--nodes"})->rest, (std::vector<std::string>{"--nodes"}));
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"--nodes"}, {"-N"}, {"-Z"}, {"--nosuch=1"}, {"-\xff"}}) {
    EXPECT_FALSE(read_sbatch_arguments(bad).ok()) << bad[0];
  }
}

// docs/guide/sbatch.md holds the table of the code. DOVE_BLESS=1 writes it.
TEST(Options, TheGuideHoldsTheTable) {
  const std::string path = std::string(DOVE_SOURCE_DIR) + "/docs/guide/sbatch.md";
  const std::string kBegin = "<!-- table: begin -->\n";
  const std::string kEnd = "<!-- table: end -->";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::string guide = text.str();
  std::size_t begin = guide.find(kBegin);
  std::size_t end = guide.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  begin += kBegin.size();
  if (std::getenv("DOVE_BLESS") != nullptr) {
    std::ofstream(path) << guide.substr(0, begin) << option_table() << guide.substr(end);
    return;
  }
  EXPECT_EQ(guide.substr(begin, end - begin), option_table())
      << "run this test with DOVE_BLESS=1 to write the table";
}

}  // namespace
}  // namespace dove::jobfiles
