#include "notices/target.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "notices/settings.h"

namespace dove::notices {
namespace {

const std::vector<NoticeAbout> kEnds = {NoticeAbout::kJobEnded};

Settings with_mail() {
  Settings settings;
  settings.smtp.emplace().url = "smtp://mail.example.org";
  settings.from = "dove@example.org";
  return settings;
}

std::string code_of(const Settings& settings, NoticeTarget target) {
  const auto checked = check_targets(settings, {std::move(target)});
  return checked.ok() ? "" : checked.error().code;
}

TEST(Targets, MailAddressesAreOneOfAPlainKind) {
  for (const char* text : {"ada@example.org", "a.b+c@x", "o'neil@example.org", "x_y@a-b.example"}) {
    EXPECT_TRUE(is_mail_address(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("ada"), std::string("@example.org"), std::string("ada@"),
        std::string("ada@example.org\r\nBcc: x@y"), std::string("ada@exam ple.org"),
        std::string("a@b@c"), std::string("\"a b\"@example.org"), std::string("ada@[127.0.0.1]"),
        std::string("Ada <ada@example.org>"), std::string("ada@example..org"),
        std::string(".a@b.org"), std::string("a@-b"), std::string("-a@b.org"),
        std::string(65, 'a') + "@b.org", std::string("a@b.org,c@d.org"),
        std::string("a\0@b.org", 8), std::string("\xc3\xa9@example.org")}) {
    EXPECT_FALSE(is_mail_address(text)) << text;
  }
}

TEST(Targets, WithoutARelayMailIsRefused) {
  EXPECT_EQ(code_of(Settings{}, {NoticeBy::kMail, "ada@example.org", kEnds}), "no_mail");
  Settings settings = with_mail();
  EXPECT_EQ(code_of(settings, {NoticeBy::kMail, "ada@example.org", kEnds}), "");
  EXPECT_EQ(code_of(settings, {NoticeBy::kMail, "ada", kEnds}), "bad_address");
  EXPECT_EQ(code_of(settings, {NoticeBy::kMail, "ada@example.org", {}}), "nothing_chosen");
  settings.mail_domains = {"example.org"};
  EXPECT_EQ(code_of(settings, {NoticeBy::kMail, "ada@Example.org", kEnds}), "");
  EXPECT_EQ(code_of(settings, {NoticeBy::kMail, "ada@example.com", kEnds}), "domain_refused");
}

TEST(Targets, UrlsAreThoseOfHttps) {
  Settings settings;
  for (const auto& [url, code] : std::initializer_list<std::pair<const char*, const char*>>{
           {"https://hooks.example.org/x/y", ""},
           {"https://hooks.example.org:8443/x?y=z", ""},
           {"http://hooks.example.org/x", "https_only"},
           {"ftp://hooks.example.org/x", "bad_url"},
           {"file:///etc/passwd", "bad_url"},
           {"hooks.example.org/x", "bad_url"},
           {"https://", "bad_url"},
           {"https://ada:pw@hooks.example.org/x", "bad_url"},
           {"https://hooks.example.org/x#y", "bad_url"},
           {"https://hooks.example.org/x y", "bad_url"},
           {"https://hooks.example.org/x\r\nHost: y", "bad_url"},
           {"https://127.0.0.1/x", "address_refused"},
           {"https://2130706433/x", "address_refused"},
           {"https://0x7f.1/x", "address_refused"},
           {"https://[::1]/x", "address_refused"},
           {"https://[::ffff:10.0.0.1]/x", "address_refused"},
           {"https://169.254.169.254/latest/meta-data", "address_refused"},
           {"https://8.8.8.8/x", ""}}) {
    EXPECT_EQ(code_of(settings, {NoticeBy::kWebhook, url, kEnds}), code) << url;
    EXPECT_EQ(code_of(settings, {NoticeBy::kSlack, url, kEnds}), code) << url;
  }
  settings.http_webhooks = true;
  EXPECT_EQ(code_of(settings, {NoticeBy::kWebhook, "http://hooks.example.org/x", kEnds}), "");
  ASSERT_TRUE(settings.webhook_networks.allow("127.0.0.0/8").ok());
  EXPECT_EQ(code_of(settings, {NoticeBy::kWebhook, "http://127.0.0.1:9/x", kEnds}), "");
  settings.webhooks = false;
  EXPECT_EQ(code_of(settings, {NoticeBy::kWebhook, "https://hooks.example.org/x", kEnds}),
            "no_webhooks");
}

TEST(Targets, TheSameOneIsThereOnce) {
  const NoticeTarget one{NoticeBy::kWebhook, "https://hooks.example.org/x", kEnds};
  EXPECT_EQ(check_targets(Settings{}, {one, one}).error().code, "same_target");
  std::vector<NoticeTarget> many;
  for (int i = 0; i < 17; ++i) {
    many.push_back({NoticeBy::kWebhook, "https://h.example/" + std::to_string(i), kEnds});
  }
  EXPECT_EQ(check_targets(Settings{}, many).error().code, "too_many_targets");
}

TEST(Targets, UrlsAreShownByTheirHostAndComeBack) {
  const NoticeTarget one{NoticeBy::kWebhook, "https://Hooks.example.org:8443/services/SECRET",
                         kEnds};
  const NoticeTarget other{NoticeBy::kWebhook, "https://hooks.example.org:8443/services/OTHER",
                           kEnds};
  EXPECT_TRUE(shown(one).starts_with("https://hooks.example.org:8443/***")) << shown(one);
  EXPECT_EQ(shown(one).find("SECRET"), std::string::npos);
  EXPECT_NE(shown(one), shown(other));
  NoticeTarget back = other;
  back.to = shown(one);
  EXPECT_EQ(unshown(back, {other, one})->to, one.to);
  EXPECT_EQ(unshown(back, {other}).error().code, "unknown_target");
  EXPECT_EQ(unshown(one, {})->to, one.to);
  EXPECT_EQ(lane_of(one), "https://hooks.example.org:8443") << "one port holds up no other";
  EXPECT_NE(target_id("ann", one), target_id("bob", one));
  EXPECT_NE(notice_id("c", "job.1", "t"), notice_id("c", "job.2", "t"));
  EXPECT_EQ(notice_id("c", "job.1", "t").size(), 32u);
}

class SettingsFile : public testing::Test {
 protected:
  SettingsFile() : folder_(std::filesystem::temp_directory_path() / "dove-notices-XXXXXX") {
    CHECK(mkdtemp(folder_.data()) != nullptr, "a temporary directory can be made");
  }
  ~SettingsFile() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string problem(const std::string& text) const {
    const auto read = read_settings(file("notices.yaml", text));
    return read.ok() ? "" : read.error().message.substr(folder_.size() + 1);
  }

 private:
  std::string folder_;
};

TEST_F(SettingsFile, SaysAll) {
  const std::string secret = file("secret", "open sesame\n");
  const auto read =
      read_settings(file("notices.yaml",
                         "smtp:\n  url: smtp://mail.example.org:587\n  from: dove@example.org\n"
                         "  user: dove\n  password_file: " +
                             secret +
                             "\nmail_domains: [example.org]\nwebhook_networks: [10.20.0.0/16]\n"
                             "http_webhooks: true\nper_hour: 5\nsoon_s: 600\n"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->smtp->password, "open sesame");
  EXPECT_FALSE(read->smtp->plain);
  EXPECT_EQ(read->from, "dove@example.org");
  EXPECT_TRUE(read->webhook_networks.permits("10.20.1.1"));
  EXPECT_TRUE(read->http_webhooks);
  EXPECT_EQ(read->per_hour, 5);
  EXPECT_EQ(read->soon.us, seconds(600).us);
}

TEST_F(SettingsFile, NamesLineAndRemedy) {
  const std::string smtp = "smtp:\n  url: smtp://m.example.org\n  from: d@example.org\n";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"smpt: {}", "1:1: the file has no field `smpt`; did you mean `smtp`?"},
           {smtp + "  form: x\n", "4:3: smtp has no field `form`; did you mean `from`?"},
           {"smtp:\n  url: http://m\n  from: d@example.org\n", "smtp needs a `url:`"},
           {"smtp:\n  url: smtp://u:p@m\n  from: d@example.org\n", "smtp needs a `url:`"},
           {"smtp:\n  url: smtp://m\n", "smtp needs a `from:`"},
           {smtp + "  user: x\n", "`user:` and `password_file:` belong together"},
           {smtp + "  user: x\n  starttls: false\n", "a password is not sent without TLS"},
           {"webhook_networks: [corp]", "1:20: corp is no network"},
           {"per_hour: many", "1:11: per_hour is a whole number from 1 to 10000"},
           {"http_webhooks: yes", "1:16: http_webhooks is true or false"},
           {"smtp: [", "notices.yaml:1:"},
           {"- x", "1:1: the file has fields:"}}) {
    EXPECT_NE(problem(text).find(message), std::string::npos) << problem(text);
  }
  EXPECT_EQ(read_settings("/nowhere/notices.yaml").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace dove::notices
