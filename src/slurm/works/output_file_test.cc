#include "slurm/works/output_file.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dove::slurm {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { ::chmod(folder.c_str(), 0755); }
  ~OutputFileTest() override { std::filesystem::remove_all(folder); }
  static std::string somebody() {
    return ::geteuid() == 0 ? "nobody" : ::getpwuid(::geteuid())->pw_name;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  }
  Result<PartRead> read(const std::string& name, std::int64_t offset = 0,
                        std::int64_t most = 1000) {
    return read({"p", somebody(), folder, name, offset, most});
  }
  Result<PartRead> read(const PartWanted& wanted) {
    files.begin(wanted);
    std::optional<PartDone> done = files.next(OutputFiles::kReadLimit * 2);
    EXPECT_TRUE(done.has_value() && done->name == wanted.name);
    return std::move(done.value().part);
  }
  std::string refused(const std::string& name) {
    const Result<PartRead> part = read(name);
    return part.ok() ? "read: " + part->bytes : part.error().code;
  }

  std::string folder = [] {
    std::string name = std::filesystem::temp_directory_path() / "dove-output-XXXXXX";
    return std::string(::mkdtemp(name.data()));
  }();
  OutputFiles files;
};

TEST_F(OutputFileTest, APartFromAnywhere) {
  write("out", std::string("one\0two\n", 8));
  const Result<PartRead> whole = read("out");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->bytes, std::string("one\0two\n", 8));
  EXPECT_TRUE(whole->at_end);
  EXPECT_EQ(whole->size, 8);
  const Result<PartRead> middle = read("out", 1, 3);
  EXPECT_EQ(middle->bytes, std::string("ne\0", 3));
  EXPECT_FALSE(middle->at_end);
  EXPECT_EQ(middle->size, 8);
  const Result<PartRead> last = read("out", -4);
  EXPECT_EQ(last->bytes, "two\n");
  EXPECT_EQ(last->offset, 4);
  EXPECT_EQ(read("out", -100)->offset, 0);
  EXPECT_EQ(read("out", 100)->bytes, "");
  EXPECT_TRUE(read("out", 100)->at_end);
}

TEST_F(OutputFileTest, APartLargerThanAPipeHolds) {
  write("out", std::string(700'000, 'x'));
  const Result<PartRead> part = read("out", 0, OutputFiles::kPartBytesMax);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->bytes.size(), 700'000U);
}

TEST_F(OutputFileTest, APathFromTheRoot) {
  write("out", "text");
  EXPECT_EQ(read({"p", somebody(), "/nowhere", folder + "/out", 0, 10})->bytes, "text");
}

TEST_F(OutputFileTest, WhatTheUserMayNotReadIsNotShownThroughALinkEither) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write("secret", "of root");
  ::chmod((folder + "/secret").c_str(), 0600);
  std::filesystem::create_symlink(folder + "/secret", folder + "/link");
  std::filesystem::create_symlink("loop", folder + "/loop");
  EXPECT_EQ(refused("secret"), "output_denied");
  EXPECT_EQ(refused("link"), "output_denied");
  EXPECT_EQ(refused("loop"), "output_denied");
  EXPECT_EQ(read({"p", "root", folder, "secret", 0, 10}).error().code, "root_runs_nothing");
}

TEST_F(OutputFileTest, APipeWithoutAWriterAndADeviceAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0666), 0);
  EXPECT_EQ(refused("pipe"), "output_no_file");
  EXPECT_EQ(refused("/dev/zero"), "output_no_file");
  EXPECT_EQ(refused("."), "output_no_file");
}

TEST_F(OutputFileTest, WhatTheKernelSaysOfTheReaderAndItsMachineIsNoOutput) {
  for (const char* path : {"/proc/self/maps", "/proc/self/status", "/proc/version",
                           "/sys/kernel/mm/transparent_hugepage/enabled"}) {
    const std::string code = refused(path);
    EXPECT_TRUE(code == "output_no_file" || code == "output_denied" || code == "no_output_file")
        << path << ": " << code;
  }
}

TEST_F(OutputFileTest, WhereTheAdapterWorksIsNoWayPastAClosedFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::filesystem::create_directories(folder + "/closed/open");
  ::chmod((folder + "/closed").c_str(), 0700);
  write("closed/open/f", "of root");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder + "/closed/open");
  const std::string code = refused("/proc/self/cwd/f");
  std::filesystem::current_path(before);
  EXPECT_TRUE(code == "output_denied" || code == "no_output_file") << code;
}

TEST_F(OutputFileTest, AFileThatIsNotHereIsNamedWithThisMachine) {
  const Result<PartRead> part = read("none");
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, "no_output_file");
  EXPECT_NE(part.error().message.find(folder + "/none on "), std::string::npos);
}

// A process in the place of the adapter, which stops for ever once it has made the one that reads.
class OrphanTest : public OutputFileTest {
 protected:
  OrphanTest() {
    EXPECT_EQ(::pipe(said.data()), 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~OrphanTest() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    ::close(said[0]);
    ::close(said[1]);
  }
  [[noreturn]] void adapt() {
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
    to_tell = said[1];
    ::pthread_atfork(
        nullptr, [] { ::pause(); },
        [] {
          const pid_t own = ::getpid();
          if (::write(to_tell, &own, sizeof own) != sizeof own) ::_exit(1);
        });
    ::_exit(read("out", 0, OutputFiles::kPartBytesMax).ok() ? 1 : 2);
  }
  static std::string status_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  static inline int to_tell = -1;
  std::array<int, 2> said{};
};

TEST_F(OrphanTest, WhoReadsEndsWithTheAdapterAndHasNothingOfIt) {
  write("out", std::string(OutputFiles::kPartBytesMax, 'x'));
  const pid_t adapter = ::fork();
  if (adapter == 0) adapt();
  pid_t reader = 0;
  ASSERT_EQ(::read(said[0], &reader, sizeof reader), static_cast<ssize_t>(sizeof reader));
  const std::string uid = std::to_string(::getpwnam(somebody().c_str())->pw_uid);
  // The pipe is full.
  EXPECT_TRUE(until([&] {
    const std::string status = status_of(reader);
    return status.find("Uid:\t" + uid + "\t" + uid) != std::string::npos &&
           status.find("State:\tS") != std::string::npos;
  }));
  EXPECT_NE(status_of(reader).find("SigBlk:\t0000000000000000"), std::string::npos);
  std::vector<std::string> open;
  for (const auto& one :
       std::filesystem::directory_iterator("/proc/" + std::to_string(reader) + "/fd")) {
    open.push_back(std::filesystem::read_symlink(one.path()));
  }
  EXPECT_LE(open.size(), 2U) << testing::PrintToString(open);
  ::kill(adapter, SIGKILL);
  ASSERT_EQ(::waitpid(adapter, nullptr, 0), adapter);
  const bool has_ended = until([&] { return ::waitpid(reader, nullptr, WNOHANG) == reader; });
  EXPECT_TRUE(has_ended) << "it waits for nobody";
  if (has_ended) return;
  ::kill(reader, SIGKILL);
  ::waitpid(reader, nullptr, 0);
}

// The processes that read hang while they are made.
class HangingTest : public OutputFileTest {
 protected:
  HangingTest() {
    write("out", "one");
    static const int once = ::pthread_atfork(nullptr, nullptr, [] {
      if (hangs) ::pause();
    });
    EXPECT_EQ(once, 0);
  }
  void begin(OutputFiles& all, const std::string& name, bool hanging) {
    hangs = hanging;
    all.begin({name, somebody(), folder, "out", 0, 10});
    hangs = false;
  }
  static inline bool hangs = false;
};

TEST_F(HangingTest, AFileSystemThatDoesNotAnswerHoldsUpNoOtherPart) {
  OutputFiles all(std::chrono::seconds(2));
  begin(all, "hangs", true);
  begin(all, "answers", false);
  const auto first = all.next(std::chrono::seconds(20));
  ASSERT_TRUE(first.has_value() && first->part.ok());
  EXPECT_EQ(first->name, "answers");
  EXPECT_EQ(first->part->bytes, "one");
  EXPECT_FALSE(all.next(std::chrono::milliseconds(0)).has_value());
  const auto second = all.next(std::chrono::seconds(20));
  ASSERT_TRUE(second.has_value() && !second->part.ok());
  EXPECT_EQ(second->name, "hangs");
  EXPECT_EQ(second->part.error().code, "output_unreachable");
  EXPECT_FALSE(all.is_reading());
}

TEST_F(HangingTest, AUserWithSeveralSuchFilesIsRefusedAtOnce) {
  OutputFiles all(std::chrono::seconds(60), std::chrono::seconds(0));
  for (std::size_t i = 0; i < OutputFiles::kSlowMax; ++i) begin(all, "hangs", true);
  begin(all, "one more", false);
  const auto refused = all.next(std::chrono::milliseconds(0));
  ASSERT_TRUE(refused.has_value() && !refused->part.ok());
  EXPECT_EQ(refused->name, "one more");
  EXPECT_EQ(refused->part.error().code, "output_unreachable");
  EXPECT_TRUE(all.is_reading());
}

TEST_F(OutputFileTest, WhatTheControllerWants) {
  EXPECT_FALSE(read_part_wanted(R"({"read": null})")->has_value());
  const auto wanted = read_part_wanted(
      R"({"read": {"part": "a", "user": "u", "workdir": "", "path": "x", "offset": -5, "most": 7}})");
  ASSERT_TRUE(wanted.ok() && wanted->has_value());
  EXPECT_EQ((*wanted)->offset, -5);
  EXPECT_EQ((*wanted)->most, 7);
  EXPECT_FALSE(read_part_wanted(R"({"read": {"part": "a", "user": "u", "most": 7}})").ok());
  EXPECT_FALSE(read_part_wanted(R"({"read": {"path": "a", "most": 99999999}})").ok());
}

}  // namespace
}  // namespace dove::slurm
