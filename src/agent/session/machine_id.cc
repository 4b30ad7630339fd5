#include "agent/session/machine_id.h"

#include <cstdlib>
#include <fstream>

#include "wire/secret.h"

namespace dove::agent {
namespace {

// What makers leave unset says nothing: all digits are one.
bool is_one(const std::string& id) {
  return id.size() >= 16 && id.find_first_not_of("0-") != id.npos &&
         id.find_first_not_of("fF-") != id.npos;
}

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// /etc/machine-id is confidential, and nobody needs more than to compare.
std::string digest_of(const std::string& id) {
  return wire::sha256_hex("dovetail machine " + id).substr(0, 32);
}

}  // namespace

std::string machine_id(const std::string& root) {
  const char* given = std::getenv("DOVE_MACHINE_ID");
  if (given != nullptr && *given != '\0') return digest_of(given);
  for (const char* path : {"/sys/class/dmi/id/product_uuid", "/etc/machine-id"}) {
    const std::string id = line_of(root + path);
    if (is_one(id)) return digest_of(id);
  }
  return "";
}

}  // namespace dove::agent
