#include "wire/tls/seal.h"

#include <gtest/gtest.h>

#include "wire/tls/authority.h"

namespace dove::wire {
namespace {

TEST(Seal, OnlyTheKeyOfTheCertificateOpensIt) {
  const Authority ours = Authority::make("backup", 1'800'000'000);
  const Authority other = Authority::make("other", 1'800'000'000);
  const std::string text("a secret\0with a zero\n", 21);
  const auto sealed = seal(text, ours.credentials().chain_pem);
  ASSERT_TRUE(sealed.ok()) << sealed.error().message;
  EXPECT_EQ(sealed->find("secret"), std::string::npos);
  const auto opened = unseal(*sealed, ours.credentials().key_pem);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(*opened, text);
  EXPECT_EQ(unseal(*sealed, other.credentials().key_pem).error().code, "cannot_unseal");
}

TEST(Seal, WhatWasChangedDoesNotOpen) {
  const Authority ours = Authority::make("backup", 1'800'000'000);
  std::string sealed = *seal(std::string(4000, 'x'), ours.credentials().chain_pem);
  char& one = sealed[sealed.size() / 2];
  one = one == 'A' ? 'B' : 'A';
  EXPECT_EQ(unseal(sealed, ours.credentials().key_pem).error().code, "cannot_unseal");
  EXPECT_FALSE(unseal("no CMS at all", ours.credentials().key_pem).ok());
  EXPECT_EQ(seal("x", "no certificate").error().code, "bad_certificate");
}

}  // namespace
}  // namespace dove::wire
