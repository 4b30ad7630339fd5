// What random damage does to the files of a controller that say whom it trusts and who it is: its
// start is refused with a message that names the file, or it has the very keys that it had.
// DOVE_DAMAGES says how many (make test-corruption: 2000), DOVE_SEED which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/apart_for_test.h"
#include "base/check.h"
#include "files/damager_for_test.h"
#include "listener/own_keys.h"
#include "openid/signer.h"
#include "programs/service/authorities.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

// As a start reads them.
struct Trust {
  std::map<std::string, std::string> said;  // by the file that says it
  std::set<std::string> followers;
};

Result<Trust> open_trust(const std::string& data) {
  Trust trust;
  TRY_ASSIGN(const listener::OwnKeys keys, listener::open_own_keys(data, {}));
  trust.said["secret"] = keys.secret;
  trust.said["token"] = keys.token;
  trust.said["ssh_gateway_token"] = keys.ssh_gateway_token;
  TRY_ASSIGN(const openid::Signer signer, openid::Signer::open(data + "/identity.pem"));
  trust.said["identity.pem"] = signer.public_keys().dump();
  TRY_ASSIGN(const Authorities all, open_authorities(data, "dove"));
  trust.said["ca.pem"] = all.shown.digest();
  trust.said["ca.key"] = all.shown.derive("test");
  trust.said["ca.next.pem"] = all.next ? all.next->digest() : "";
  trust.said["ca.next.key"] = all.next ? all.next->derive("test") : "";
  if (all.next) trust.followers = followers(data, all.next->digest());
  // A key whose private half is another one would sign what its public half does not verify.
  TRY(wire::belong_together(all.shown.credentials()));
  return trust;
}

class TrustDamage : public testing::Test {
 protected:
  TrustDamage() {
    std::string pattern = (fs::temp_directory_path() / "dove-trust-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
    root_ = pattern;
    telemetry::set_level(telemetry::Level::kError);
    for (const char* name : {"data", "another"}) {
      const std::string data = root_ / name;
      fs::create_directories(data);
      CHECK(open_trust(data).ok(), "an empty directory gets its keys");
      const auto next = begin_rotation(data, "dove", std::time(nullptr));
      CHECK(next.ok(), "a rotation begins");
      for (const char* node : {"n1", "n2", "n3"}) add_follower(data, next->digest(), node);
    }
    // Whoever replaces that one has replaced it.
    fs::remove(root_ / "another/identity.pem");
  }
  ~TrustDamage() override { fs::remove_all(root_); }

  std::string data() const { return root_ / "data"; }
  std::string copy() const {
    fs::remove_all(root_ / "copy");
    fs::copy(root_ / "data", root_ / "copy");
    return root_ / "copy";
  }
  // "": it is refused, or as it was.
  static std::string verdict(const std::string& data, const Trust& whole) {
    std::set<std::string> gone;
    for (const auto& [name, value] : whole.said) {
      if (!fs::exists(data + "/" + name)) gone.insert(name);
    }
    if (gone.contains("ca.next.pem") || gone.contains("ca.next.key")) {
      gone.insert({"ca.next.pem", "ca.next.key"});  // there is none to follow
    }
    const Result<Trust> opened = open_trust(data);
    if (!opened.ok()) {
      const std::string& says = opened.error().message;
      return says.find(data) == says.npos ? "refused without a place: " + says : "";
    }
    for (const auto& [name, value] : whole.said) {
      const bool is_remade = gone.contains(name) && name != "secret";
      if (!is_remade && opened->said.at(name) != value) return name + " is another one";
    }
    for (const std::string& node : opened->followers) {
      if (!whole.followers.contains(node)) return node + " has followed";
    }
    return "";
  }

  fs::path root_;
};

TEST_F(TrustDamage, IsFoundAndNeverTaken) {
  const std::uint64_t seed = files::damage_seed();
  const std::uint64_t count = files::damage_number("DOVE_DAMAGES", 60);
  SCOPED_TRACE("DOVE_SEED=" + std::to_string(seed));
  const Result<Trust> whole = open_trust(data());
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  ASSERT_EQ(whole->followers.size(), 3U);
  files::Damager damager(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string at = copy();
    const std::string how = damager.damage(at, root_ / "another");
    EXPECT_EQ(apart([&] { return verdict(at, *whole); }), "") << "damage " << i << ", " << how;
  }
  fmt::print("{} damages to a controller's keys, seed {}: none taken\n", count, seed);
}

TEST_F(TrustDamage, EachFileThatIsEmptiedOrHasAnotherBitKeepsItFromStarting) {
  const std::vector<std::string> names = {"secret",       "token",       "ssh_gateway_token",
                                          "identity.pem", "ca.pem",      "ca.key",
                                          "ca.next.pem",  "ca.next.key", "keys.sha256"};
  for (const std::string& name : names) {
    const std::string at = copy();
    std::string text = files::damage_text(at + "/" + name);
    files::put_damage(at + "/" + name, "");
    const Result<Trust> emptied = open_trust(at);
    ASSERT_FALSE(emptied.ok()) << name;
    EXPECT_NE(emptied.error().message.find(at + "/" + name), std::string::npos)
        << emptied.error().message;
    EXPECT_NE(emptied.error().message.find("estore"), std::string::npos) << "the remedy";
    // One letter of what it is about, and another one that may be there.
    const std::size_t middle = text.size() / 2;
    text[middle] = text[middle] == '5' ? '7' : '5';
    files::put_damage(at + "/" + name, text);
    const Result<Trust> changed = open_trust(at);
    ASSERT_FALSE(changed.ok()) << name;
    EXPECT_NE(changed.error().message.find(at), std::string::npos) << changed.error().message;
  }
}

}  // namespace
}  // namespace dove::programs
