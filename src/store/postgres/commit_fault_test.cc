// Connections that break at any byte of an append: a batch is in the log whole or not at all, one
// that was acknowledged is there, and none is there twice.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "store/log_store_conformance.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/server_for_test.h"

namespace dove::store {
namespace {

enum class Way { kToServer, kToClient };

// Between a client and the server: carries everything, but closes both ends once `bytes` have gone
// that way since cut_after().
class CuttingLink {
 public:
  explicit CuttingLink(const std::string& server_folder) : server_folder_(server_folder) {
    std::string pattern = (std::filesystem::temp_directory_path() / "dove-cut-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un at = address(folder_);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~CuttingLink() {
    stops_ = true;
    thread_.join();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }

  const std::string& folder() const { return folder_; }
  void cut_after(Way way, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<int>(way == Way::kToServer ? Way::kToClient : Way::kToServer)] = kNever;
    left_[static_cast<int>(way)] = bytes;
  }
  bool has_cut() const { return cuts_ > 0; }
  std::int64_t carried(Way way) const { return carried_[static_cast<int>(way)]; }
  void restart() {
    const std::lock_guard lock(mutex_);
    left_[0] = left_[1] = kNever;
    carried_[0] = carried_[1] = 0;
    cuts_ = 0;
  }

 private:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;
  struct Pair {
    int ends[2];  // the client's, the server's
  };

  static sockaddr_un address(const std::string& folder) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    (folder + "/.s.PGSQL.5432").copy(out.sun_path, sizeof out.sun_path - 1);
    return out;
  }

  void accept() {
    const int client = ::accept(listener_, nullptr, nullptr);
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un at = address(server_folder_);
    EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    pairs_.push_back({{client, server}});
  }
  // False once the pair is over. `from` is 0 for what goes to the server.
  bool carry(const Pair& pair, int from) {
    char buffer[65536];
    const ssize_t size = ::read(pair.ends[from], buffer, sizeof buffer);
    if (size <= 0) return false;
    // What was carried is counted before whoever it was for can go on.
    const std::lock_guard lock(mutex_);
    const std::int64_t allowed = std::min<std::int64_t>(size, left_[from].load());
    (void)!::send(pair.ends[1 - from], buffer, static_cast<std::size_t>(allowed), MSG_NOSIGNAL);
    carried_[from] += allowed;
    left_[from] -= allowed;
    if (allowed == size) return true;
    left_[0] = left_[1] = kNever;
    ++cuts_;
    return false;
  }
  void run() {
    while (!stops_) {
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        for (const int end : pair.ends) fds.push_back({end, POLLIN, 0});
      }
      ::poll(fds.data(), fds.size(), 50);
      std::size_t at = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end() && at < fds.size();) {
        bool lives = true;
        for (int from = 0; from < 2; ++from, ++at) {
          if (lives && fds[at].revents != 0) lives = carry(*pair, from);
        }
        if (!lives) {
          for (const int end : pair->ends) ::close(end);
        }
        pair = lives ? std::next(pair) : pairs_.erase(pair);
      }
      if (fds[0].revents != 0) accept();
    }
    for (const Pair& pair : pairs_) {
      for (const int end : pair.ends) ::close(end);
    }
  }

  const std::string server_folder_;
  std::string folder_;
  int listener_ = -1;
  std::list<Pair> pairs_;
  std::mutex mutex_;
  std::atomic<bool> stops_ = false;
  std::atomic<std::int64_t> left_[2] = {kNever, kNever};
  std::atomic<std::int64_t> carried_[2] = {0, 0};
  std::atomic<int> cuts_ = 0;
  std::thread thread_;
};

class CommitFaultTest : public testing::Test {
 protected:
  CommitFaultTest() : link_(PostgresServer::instance().folder()) {
    const std::string direct = PostgresServer::instance().new_database();
    const std::string name =
        direct.substr(direct.find("/t") + 1, direct.find('?') - direct.find("/t") - 1);
    url_ = PostgresServer::instance().url(name, link_.folder());
    auto reader = PostgresStore::open({direct, "reader"});
    EXPECT_TRUE(reader.ok());
    reader_ = std::move(reader).value();
  }

  // One append of three records whose connection is cut there. True: there was something to cut.
  bool append_cut_after(Way way, std::int64_t bytes) {
    auto opened = PostgresStore::open({url_, "writer"});
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    PostgresStore& store = **opened;
    Result<Epoch> epoch = store.begin_epoch("writer");
    for (int i = 0; i < 50 && !epoch.ok(); ++i) epoch = store.begin_epoch("writer");
    EXPECT_TRUE(epoch.ok()) << (epoch.ok() ? "" : epoch.error().message);
    if (!epoch.ok()) return false;
    link_.restart();
    link_.cut_after(way, bytes);
    const std::uint64_t before = store.head().batch.value;
    const auto done =
        store.append(*epoch, store.head().seq, batch_after(store.head(), *epoch, 2, 1));
    const bool was_cut = link_.has_cut();
    sent_ = link_.carried(Way::kToServer);
    link_.restart();
    EXPECT_EQ(done.ok() ? "" : done.error().code, was_cut ? "commit_unknown" : "");
    opened->reset();
    // The server may still be at it, or not have noticed yet; a new term waits for it.
    Result<Epoch> next = reader_->begin_epoch("reader");
    for (int i = 0; i < 50 && !next.ok(); ++i) next = reader_->begin_epoch("reader");
    EXPECT_TRUE(next.ok()) << (next.ok() ? "" : next.error().message);
    reader_->release();
    const std::uint64_t after = reader_->head().batch.value;
    EXPECT_GE(after, before + (done.ok() ? 1 : 0)) << "what was acknowledged is there";
    EXPECT_LE(after, before + 1);
    if (!done.ok()) ++(after == before ? lost_ : kept_);
    return was_cut;
  }

  CuttingLink link_;
  std::string url_;
  std::unique_ptr<PostgresStore> reader_;
  int lost_ = 0;  // appends whose answer did not come, by what was found
  int kept_ = 0;
  std::int64_t sent_ = 0;  // by the last append
};

TEST_F(CommitFaultTest, ABatchIsThereWholeOrNotAtAll) {
  EXPECT_FALSE(append_cut_after(Way::kToServer, std::int64_t{1} << 40));
  const std::int64_t sent = sent_;
  for (std::int64_t at = 0; append_cut_after(Way::kToServer, at);) {
    ASSERT_LE(at, sent + 100);
    at += at > sent - 100 ? 5 : 97;
  }
  EXPECT_GT(lost_, 0) << "not committed";
  for (std::int64_t at = 0; at < 400 && append_cut_after(Way::kToClient, at); at += 9) {
  }
  EXPECT_GT(kept_, 0) << "committed, and the answer was lost";
  EXPECT_TRUE(reader_->verify().ok());
}

}  // namespace
}  // namespace dove::store
