#include "ssh/keys/public_key.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace dove::ssh {
namespace {

std::string text_of(std::string_view value) {
  std::string out;
  for (int i = 3; i >= 0; --i) out.push_back(static_cast<char>(value.size() >> (8 * i) & 0xFF));
  return out + std::string(value);
}

std::string base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out.push_back(i + j > bytes.size() ? '=' : kLetters[three >> (18 - 6 * j) & 63]);
    }
  }
  return out;
}

std::string ed25519(std::size_t bytes = 32) {
  return "ssh-ed25519 " + base64(text_of("ssh-ed25519") + text_of(std::string(bytes, 'k')));
}

std::string rsa(std::size_t bits) {
  std::string modulus(bits / 8, '\xFF');
  modulus.insert(0, 1, '\0');
  return "ssh-rsa " + base64(text_of("ssh-rsa") + text_of("\x01\x01") + text_of(modulus));
}

std::string code_of(const std::string& line) {
  const Result<PublicKey> key = read_public_key(line);
  return key.ok() ? "" : key.error().code;
}

TEST(PublicKey, IsTakenApart) {
  const Result<PublicKey> key = read_public_key(ed25519() + " ada at home \n");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->kind, "ssh-ed25519");
  EXPECT_EQ(key->comment, "ada at home");
  EXPECT_EQ(key->line(), ed25519() + " ada at home");
  EXPECT_EQ(key->warning, "");
  EXPECT_EQ(read_public_key(ed25519())->line(), ed25519());
}

TEST(PublicKey, WeakKindsAreRefusedWithARemedy) {
  for (const std::string& line :
       {rsa(1024), rsa(2040), std::string("ssh-dss AAAA x"), std::string("ssh-new AAAA")}) {
    const Result<PublicKey> key = read_public_key(line);
    ASSERT_FALSE(key.ok()) << line;
    EXPECT_EQ(key.error().code, "weak_ssh_key");
    EXPECT_NE(key.error().message.find("ssh-keygen -t ed25519"), std::string::npos);
    EXPECT_EQ(key.error().field, "key");
  }
  EXPECT_EQ(read_public_key(rsa(2048))->bits, 2048);
  EXPECT_NE(read_public_key(rsa(2048))->warning, "");
  EXPECT_EQ(read_public_key(rsa(3072))->warning, "");
}

TEST(PublicKey, WhatIsNoKeyIsRefused) {
  EXPECT_EQ(code_of(""), "bad_ssh_key");
  EXPECT_EQ(code_of("hello"), "bad_ssh_key");
  EXPECT_EQ(code_of("ssh-ed25519"), "bad_ssh_key");
  EXPECT_EQ(code_of("ssh-ed25519 AAA"), "bad_ssh_key");
  EXPECT_EQ(code_of("ssh-ed25519 !!!!"), "bad_ssh_key");
  EXPECT_EQ(code_of(ed25519(31)), "bad_ssh_key");
  EXPECT_EQ(code_of(ed25519() + "\n" + ed25519()), "bad_ssh_key");
  EXPECT_EQ(code_of("ssh-rsa " + ed25519().substr(12)), "bad_ssh_key");
  EXPECT_EQ(code_of("ssh-ed25519-cert-v01@openssh.com AAAA"), "bad_ssh_key");
  EXPECT_EQ(code_of(std::string(5000, 'x')), "bad_ssh_key");
  EXPECT_EQ(code_of("-----BEGIN OPENSSH PRIVATE KEY-----"), "private_ssh_key");
  EXPECT_EQ(code_of("command=\"id\",no-pty " + ed25519() + " x"), "ssh_key_options");
  EXPECT_EQ(code_of("restrict " + ed25519()), "ssh_key_options");
}

TEST(PublicKey, EveryCutOfAKeyIsRefused) {
  const std::string whole = ed25519();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(code_of(whole.substr(0, size)), "") << size;
  }
}

TEST(Base64, IsReadStrictly) {
  EXPECT_EQ(decode_base64("aGk=").value(), "hi");
  EXPECT_EQ(decode_base64("").value(), "");
  for (const char* bad : {"aGk", "aGl=", "aG=k", "aGk=aGk=", "a===", "====", "aG k"}) {
    EXPECT_FALSE(decode_base64(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dove::ssh
