// Any bytes as a native job file: a job, or an error that names its place; never a crash.
//
// seeds: tests/seeds/native
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "jobfiles/jobfile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::jobfiles;
  Context context;
  context.user = "ann";
  context.home = "/home/ann";
  context.workdir = "/home/ann/work";
  context.now = dove::Instant{1'772'620'200'000'000};
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto job = parse(Source{"job.yaml", text, Format::kNative, {}}, context);
  if (!job.ok()) CHECK(job.error().field.starts_with("job.yaml"), "an error names its place");
  return 0;
}
