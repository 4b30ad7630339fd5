#include "store/sqlite/terms.h"

#include "store/sqlite/bed_for_test.h"
#include "store/sqlite/cut.h"

namespace dove::store {
namespace {

TEST(Terms, ANumberThatWasChangedIsFound) {
  Directory directory;
  for (int i = 0; i < 3; ++i) {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  ASSERT_TRUE(cut_log(directory.path(), {}, 1'800'000'000).ok());
  {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  for (const char* change :
       {"UPDATE epochs SET epoch = 1048579 WHERE epoch = 3", "DELETE FROM epochs WHERE epoch = 2",
        "DELETE FROM epochs WHERE epoch > 3",
        "UPDATE epochs SET epoch = epoch + 1048576 WHERE holder GLOB 'dove restore*'"}) {
    Directory copy;
    fs::create_directories(copy.path());
    fs::copy_file(directory.file(), copy.file());
    tamper(copy.file(), change);
    const auto opened = SqliteStore::open(copy.path(), OpenMode::kWrite);
    ASSERT_FALSE(opened.ok()) << change;
    EXPECT_EQ(opened.error().code, "data_damaged");
    EXPECT_NE(opened.error().message.find(copy.file()), std::string::npos);
  }
}

}  // namespace
}  // namespace dove::store
