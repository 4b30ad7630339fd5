// Any bytes as a tuxiv.conf: a job or an error with a place, never a crash.
//
// seeds: tests/jobfiles examples/digits
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
  auto job = parse(Source{"file", text, Format::kTuxiv, {}}, context);
  if (job.ok()) {
    CHECK(!job->submission.spec.groups.empty(), "a job has a group");
  } else {
    const std::string& field = job.error().field;
    CHECK(field.starts_with("file") || field.starts_with("--"), "an error names a place or option");
  }
  return 0;
}
