#include "wire/tls/openssl.h"

#include <gtest/gtest.h>
#include <openssl/buffer.h>

#include <string>

namespace dove::wire {
namespace {

// Thousands of connections each keep two of them.
TEST(OpenSsl, ABufferThatIsEmptiedKeepsLittleRoomAndStaysInUse) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(memory.get(), -1);
  for (const std::size_t size : {100UL, 64'000UL, 10UL}) {
    const std::string said(size, 'x');
    ASSERT_EQ(BIO_write(memory.get(), said.data(), static_cast<int>(size)), static_cast<int>(size));
    EXPECT_EQ(text_of(memory.get()), said);
    empty(memory.get());
    EXPECT_EQ(text_of(memory.get()), "");
    BUF_MEM* held = nullptr;
    BIO_get_mem_ptr(memory.get(), &held);
    EXPECT_LE(held->max, 512U) << size;
    char byte = 0;
    EXPECT_EQ(BIO_read(memory.get(), &byte, 1), -1) << "no end, but nothing yet";
    EXPECT_TRUE(BIO_should_retry(memory.get()));
  }
}

}  // namespace
}  // namespace dove::wire
