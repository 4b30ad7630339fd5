// A slurmrestd's answers for tests.
#pragma once

#include <string>
#include <vector>

namespace dove::slurm {

// GET /openapi/v3 of one that has loaded these: paths alone. Those of slurmdbd are there, too.
inline std::string specification(const std::vector<std::string>& versions) {
  std::string paths = R"("\/openapi\/v3": {"get": {}})";
  for (const std::string& one : versions) {
    paths += R"(, "\/slurm\/)" + one + R"(\/jobs\/": {"get": {}}, "\/slurm\/)" + one +
             R"(\/nodes\/": {"get": {}}, "\/slurmdb\/v0.0.44\/)" + one + R"(": {"get": {}})";
  }
  return R"({"openapi": "3.0.3", "info": {"title": "Slurm REST API"}, "paths": {)" + paths + "}}";
}

}  // namespace dove::slurm
