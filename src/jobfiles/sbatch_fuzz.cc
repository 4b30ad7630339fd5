// Any bytes as an sbatch script and as words of its command line: never a crash.
//
// seeds: tests/jobfiles examples/sweep examples/mpi
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "jobfiles/jobfile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::jobfiles;
  Context context;
  context.user = "ann";
  context.home = "/home/ann";
  context.workdir = "/home/ann/work";
  context.now = dove::Instant{1'772'620'200'000'000};
  std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words(1);
  for (char c : text.substr(0, text.find('\n'))) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (auto arguments = read_sbatch_arguments(words); arguments.ok()) {
    context.options = arguments->options;
  }
  for (const std::string& script : {text, "#!/bin/sh\n#SBATCH " + text}) {
    auto job = parse(Source{"file", script, Format::kSbatch, {}}, context);
    if (job.ok()) {
      CHECK(job->submission.spec.groups.size() == 1, "a script makes one group");
      CHECK(job->submission.spec.groups[0].tasks > 0, "a job has tasks");
    } else {
      CHECK(!job.error().field.empty(), "an error names its place");
    }
  }
  return 0;
}
