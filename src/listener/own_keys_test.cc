#include "listener/own_keys.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "files/text_file.h"
#include "store/sqlite/failing_sync_for_test.h"
#include "wire/secret.h"

namespace dove::listener {
namespace {

namespace fs = std::filesystem;

class OwnKeysTest : public testing::Test {
 protected:
  OwnKeysTest() {
    std::string name = fs::temp_directory_path() / "dove-keys-XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
    data_ = name;
  }
  ~OwnKeysTest() override { fs::remove_all(data_); }

  std::string text(const std::string& name) const {
    return files::text_or_empty(data_ + "/" + name, 4096);
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(data_ + "/" + name) << text;
  }
  // "": they can be opened.
  std::string code(const core::State& state = {}) const {
    const Result<OwnKeys> keys = open_own_keys(data_, state);
    return keys.ok() ? "" : keys.error().code;
  }
  // After a rotation to that token.
  static core::State rotated(const std::string& token) {
    core::State state;
    Key key;
    key.is_administrators = true;
    key.expires_at = kNever;
    state.keys[wire::sha256_hex(token)] = key;
    return state;
  }

  std::string data_;
};

TEST_F(OwnKeysTest, TheyAreMadeOnceAndTheirDigestsAsSha256sumWritesThem) {
  const Result<OwnKeys> made = open_own_keys(data_, {});
  ASSERT_TRUE(made.ok());
  const Result<OwnKeys> again = open_own_keys(data_, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(made->secret, again->secret);
  EXPECT_EQ(made->token, again->token);
  EXPECT_EQ(made->ssh_gateway_token, again->ssh_gateway_token);
  EXPECT_EQ(text("keys.sha256"), wire::sha256_hex(text("secret")) + "  secret\n" +
                                     wire::sha256_hex(text("ssh_gateway_token")) +
                                     "  ssh_gateway_token\n" + wire::sha256_hex(text("token")) +
                                     "  token\n");
  for (const char* name : {"secret", "token", "ssh_gateway_token", "keys.sha256"}) {
    struct stat facts {};
    ASSERT_EQ(::stat((data_ + "/" + name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << name;
  }
}

// As one that crashed: the secret was not written.
TEST_F(OwnKeysTest, AFirstStartThatBrokeOffIsFollowedByAnother) {
  fs::create_directories(data_ + "/secret.new/full");
  ASSERT_EQ(code(), "data_dir");
  fs::remove_all(data_ + "/secret.new");
  EXPECT_EQ(code(), "");
}

TEST_F(OwnKeysTest, ADirectoryOfAFormerVersionGetsDigestsAtItsNextStart) {
  put("secret", "a secret of a former version\n");
  put("token", "a token of a former version\n");
  const Result<OwnKeys> keys = open_own_keys(data_, {});
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->secret, "a secret of a former version");
  put("secret", "a secret of a former wersion\n");
  EXPECT_EQ(code(), "key_damaged");
  ASSERT_EQ(damages_of_own_keys(data_).size(), 1U);
  EXPECT_EQ(damages_of_own_keys(data_)[0].field, data_ + "/secret");
  EXPECT_EQ(check_own_secret(data_).error().code, "key_damaged");
}

TEST_F(OwnKeysTest, ASecretThatIsGoneIsNotMadeAnew) {
  ASSERT_EQ(code(), "");
  fs::remove(data_ + "/secret");
  EXPECT_EQ(code(), "key_damaged");
  EXPECT_FALSE(fs::exists(data_ + "/secret"));
  fs::remove(data_ + "/keys.sha256");  // as the remedy says
  EXPECT_EQ(code(), "");
}

TEST_F(OwnKeysTest, ATokenThatIsGoneIsMadeUnlessTheLogHasIt) {
  const Result<OwnKeys> before = open_own_keys(data_, {});
  ASSERT_TRUE(before.ok());
  fs::remove(data_ + "/token");
  const Result<OwnKeys> other = open_own_keys(data_, {});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->token, before->token);
  fs::remove(data_ + "/token");
  const Result<OwnKeys> none = open_own_keys(data_, rotated("the one of another controller"));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->token, "");
  EXPECT_FALSE(fs::exists(data_ + "/token"));
}

TEST_F(OwnKeysTest, ATokenThatSomebodyPutThereIsTakenWhenTheLogHasIt) {
  ASSERT_EQ(code(), "");
  put("token", "the one of another controller\n");
  EXPECT_EQ(code(), "key_damaged");
  const std::vector<Error> damages = damages_of_own_keys(data_);
  ASSERT_EQ(damages.size(), 1U);
  EXPECT_EQ(damages[0].code, "token_replaced");
  EXPECT_EQ(damages[0].message.find("backup"), std::string::npos);
  EXPECT_TRUE(check_own_secret(data_).ok());
  EXPECT_EQ(code(rotated("the one of another controller")), "");
  EXPECT_EQ(code(), "") << "its digest is there now";
}

TEST_F(OwnKeysTest, ATokenIsReplacedSoThatEachMomentCanBeStartedFrom) {
  const Result<OwnKeys> before = open_own_keys(data_, {});
  ASSERT_TRUE(before.ok());
  const std::string former = text("token");
  const std::string another = "another token of the administrator's";
  ASSERT_TRUE(keep_token(data_, another).ok());
  EXPECT_EQ(open_own_keys(data_, {})->token, another);
  EXPECT_TRUE(damages_of_own_keys(data_).empty());
  put("token", former);
  EXPECT_EQ(code(), "key_damaged");
  // As a crash between the two writings leaves it: digests of both.
  put("keys.sha256", text("keys.sha256") + wire::sha256_hex(former) + "  token\n");
  EXPECT_EQ(code(), "");
  EXPECT_EQ(text("keys.sha256").find(wire::sha256_hex(another + "\n")), std::string::npos);
}

TEST_F(OwnKeysTest, ATokenIsReplacedThoughItsFormerDigestStays) {
  ASSERT_EQ(code(), "");
  const std::string former = wire::sha256_hex(text("token"));
  const std::string another = "another token of the administrator's";
  store::FailingSync::instance().begin("keys.sha256.new", EIO, 1);
  const Result<void> kept = keep_token(data_, another);
  EXPECT_EQ(store::FailingSync::instance().end(), 1);
  EXPECT_TRUE(kept.ok());
  EXPECT_NE(text("keys.sha256").find(former), std::string::npos);
  EXPECT_EQ(open_own_keys(data_, {})->token, another);
  EXPECT_EQ(text("keys.sha256").find(former), std::string::npos);
}

TEST_F(OwnKeysTest, ATokenThatIsNotKeptLeavesTheFormerOne) {
  ASSERT_EQ(code(), "");
  const std::string former = text("token");
  // The directory, once the digests are written: the new text has its name by then.
  store::FailingSync::instance().begin(data_, EIO, 1);
  const Result<void> kept = keep_token(data_, "another token of the administrator's");
  EXPECT_GE(store::FailingSync::instance().end(), 1);
  EXPECT_FALSE(kept.ok());
  EXPECT_EQ(text("token"), former);
  EXPECT_EQ(code(), "");
}

TEST_F(OwnKeysTest, ATokenThatIsNotKeptLeavesNoneWhereNoneWas) {
  ASSERT_EQ(code(), "");
  fs::remove(data_ + "/token");
  store::FailingSync::instance().begin(data_, EIO, 1);
  EXPECT_FALSE(keep_token(data_, "another token of the administrator's").ok());
  store::FailingSync::instance().end();
  EXPECT_FALSE(fs::exists(data_ + "/token"));
}

TEST_F(OwnKeysTest, DigestsThatMeanNothingAreNamed) {
  ASSERT_EQ(code(), "");
  const std::string whole = text("keys.sha256");
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() - 3), std::string(100, '\0'),
        whole + std::string(64, 'a') + "  another\n"}) {
    put("keys.sha256", damaged);
    const Result<OwnKeys> keys = open_own_keys(data_, {});
    ASSERT_FALSE(keys.ok());
    EXPECT_EQ(keys.error().field, data_ + "/keys.sha256");
  }
}

}  // namespace
}  // namespace dove::listener
