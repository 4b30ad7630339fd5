#include "notices/office.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <variant>

#include "codec/json.h"
#include "codec/words.h"
#include "notices/job_mail.h"
#include "notices/target.h"
#include "notices/workers.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "wire/secret.h"

namespace dove::notices {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMailThreads = 2;
constexpr std::size_t kPostThreads = 6;
constexpr std::size_t kTestsMax = 4;
constexpr std::size_t kPieceMax = 500;
constexpr Span kOld = seconds(24 * 3600);  // what is older is not told any more
constexpr auto kWriteSoon = std::chrono::seconds(1);
constexpr auto kWriteLate = std::chrono::seconds(60);

void count(std::string_view by, std::string_view result, std::uint64_t n = 1) {
  telemetry::metrics()
      .counter("dove_notices_total", "Notices to people, by way and by what became of them.",
               {{"by", std::string(by)}, {"result", std::string(result)}})
      .add(n);
}

// Whether somebody has chosen to hear of what only time brings.
bool announces(const StampedEvent& event) {
  const auto* applied = std::get_if<ObjectApplied>(&event.event);
  if (applied == nullptr) return false;
  const auto* user = std::get_if<UserDeclaration>(&applied->object);
  return user != nullptr && std::ranges::any_of(user->notices, [](const NoticeTarget& target) {
           return std::ranges::any_of(target.about, [](NoticeAbout about) {
             return about == NoticeAbout::kJobStartsSoon || about == NoticeAbout::kJobStopsSoon;
           });
         });
}

const char* word_of(Outbox::Settled settled) {
  switch (settled) {
    case Outbox::Settled::kDelivered:
      return "delivered";
    case Outbox::Settled::kRetried:
      return "retried";
    case Outbox::Settled::kRefused:
      return "refused";
    case Outbox::Settled::kGivenUp:
      return "given_up";
    case Outbox::Settled::kUnknown:
      return "unknown";
  }
  return "";
}

void keep(const Place& place, const std::string& text) {
  const Result<void> written = place.write(text);
  if (written.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "notices_not_kept",
                 {{"why", written.error().message}});
}

}  // namespace

struct Office::Found {
  Seq seq;
  Instant at;
  std::variant<StampedEvent, Decision> record;
};

struct Office::Threads {
  std::atomic<bool> over = false;
  Workers mails{kMailThreads};
  Workers posts{kPostThreads};
  Workers disk{1};
};

Office::Office(wire::Loop& loop, const core::State& state, store::LogStore& log,
               OfficeOptions options)
    : loop_(loop),
      state_(state),
      log_(log),
      options_(std::move(options)),
      outbox_(options_.limits, static_cast<std::uint64_t>(loop.wall_us())),
      threads_(std::make_unique<Threads>()) {}

Office::~Office() { stop(); }

void Office::start(std::string url) {
  url_ = std::move(url);
  read_through_ = state_.head;
  restore();
  written_through_ = read_through_;
  std::vector<Coming> coming = coming_of(state_, options_.settings.soon);
  std::erase_if(coming, [this](const Coming& each) { return each.due < kept_at_; });
  announce(coming);
  if (read_through_ < state_.head) {
    catching_up_ = true;
    caught_up_at_ = state_.head;
    catch_up(read_through_, state_.head);
  }
  // A crash in the first second must not make the next start another first one.
  write_now();
  pump();
}

void Office::restore() {
  if (!keeps_) return;
  const Result<std::string> text = options_.place.read();
  if (!text.ok() && text.error().kind == ErrorKind::kNotFound) return;
  const Json kept = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  try {
    const Seq through(kept.at("seq").get<std::uint64_t>());
    kept_at_ = Instant{kept.at("at_us").get<std::int64_t>()};
    outbox_.restore(
        kept.at("outbox"),
        [this](const std::string& user, const std::string& id) { return find_target(user, id); },
        now(), Instant{now().us - kOld.us});
    // A log that was set back is another one: what the file says of it is of no use.
    if (through <= state_.head) read_through_ = through;
  } catch (const Json::exception&) {
    telemetry::log(telemetry::Level::kWarning, "notices_unreadable",
                   {{"why", text.ok() ? "it is damaged" : text.error().message},
                    {"effect", "notices of what happened before this start are not sent"}});
  }
}

// In a thread: a log of a day takes its time.
void Office::catch_up(Seq from, Seq to) {
  const Instant oldest{now().us - kOld.us};
  const std::weak_ptr<int> alive = alive_;
  const auto hand_over = [this, alive](std::vector<Found> found, Seq through) {
    loop_.post([this, alive, found = std::move(found), through] {
      if (alive.lock() != nullptr) take_found(found, through);
    });
  };
  const bool begun =
      threads_->disk.queue([&log = log_, &over = threads_->over, from, to, oldest, hand_over] {
        std::vector<Found> found;
        std::uint64_t skipped = 0;
        const auto add = [&](Seq seq, Instant at, const auto& record) {
          if (!is_of_interest(record)) return;
          if (at < oldest) {
            ++skipped;
          } else {
            found.push_back({seq, at, record});
          }
        };
        const Result<void> read = log.read(from, [&](const store::Batch& batch) {
          Seq seq = batch.first_seq;
          for (const StampedEvent& event : batch.events) {
            if (seq > from && seq <= to) add(seq, batch.at, event);
            ++seq.value;
          }
          for (const Decision& decision : batch.decisions) {
            if (seq > from && seq <= to) add(seq, batch.at, decision);
            ++seq.value;
          }
          if (found.size() >= kPieceMax) hand_over(std::exchange(found, {}), Seq(seq.value - 1));
          return seq <= to && !over;
        });
        if (skipped > 0) {
          count("any", "too_old", skipped);
          telemetry::log(telemetry::Level::kWarning, "notices_too_old",
                         {{"records", static_cast<std::int64_t>(skipped)},
                          {"effect", "what happened more than a day ago is not told any more"}});
        }
        if (!read.ok()) {
          telemetry::log(telemetry::Level::kWarning, "notices_not_made",
                         {{"after", static_cast<std::int64_t>(from.value)},
                          {"through", static_cast<std::int64_t>(to.value)},
                          {"why", read.error().message}});
        }
        if (!over) hand_over(std::move(found), to);
      });
  if (!begun) hand_over({}, to);
}

void Office::take_found(const std::vector<Found>& found, Seq through) {
  for (const Found& each : found) {
    std::visit([&](const auto& record) { make(notices_of(state_, each.seq, each.at, record)); },
               each.record);
  }
  read_through_ = std::max(read_through_, through);
  // What was committed since then was made when it came.
  if (through >= caught_up_at_) {
    catching_up_ = false;
    read_through_ = std::max(read_through_, state_.head);
  }
  changed();
  pump();
}

void Office::committed(const store::Batch& batch) {
  Seq seq = batch.first_seq;
  bool people_changed = false;
  const Span soon = options_.settings.soon;
  for (const StampedEvent& event : batch.events) {
    if (is_of_interest(event)) make(notices_of(state_, seq, batch.at, event));
    announce(coming_of(state_, soon, event));
    people_changed |= announces(event);
    ++seq.value;
  }
  for (const Decision& decision : batch.decisions) {
    if (is_of_interest(decision)) make(notices_of(state_, seq, batch.at, decision));
    announce(coming_of(state_, soon, decision));
    ++seq.value;
  }
  if (people_changed) announce(coming_of(state_, soon));
  if (!catching_up_) read_through_ = Seq(seq.value - 1);
  changed();
  if (is_changed_) pump();
}

void Office::make(const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) {
    for (const NoticeTarget& target : targets_for(state_, notice.user, notice.job)) {
      if (!wants(target, notice)) continue;
      Letter letter;
      letter.target_id = target_id(notice.user, target);
      letter.id = notice_id(options_.cluster_id, notice.key, letter.target_id);
      letter.notice = notice;
      letter.target = target;
      letter.lane = lane_of(target);
      letter.made = letter.next = now();
      const Outbox::Added added = outbox_.add(std::move(letter), now());
      if (added == Outbox::Added::kSuppressed) count(codec::word(target.by), "suppressed");
      is_changed_ |= added != Outbox::Added::kDouble;
    }
  }
}

void Office::announce(const std::vector<Coming>& coming) {
  if (coming.empty()) return;
  for (const Coming& each : coming) {
    const auto [at, is_new] = coming_.try_emplace({each.job, each.about}, each);
    if (!is_new) {
      coming_by_time_.erase(at->second);
      at->second = each;
    }
    coming_by_time_.insert(each);
  }
  look_at_coming();
}

void Office::look_at_coming() {
  while (!coming_by_time_.empty() && coming_by_time_.begin()->due <= now()) {
    const Coming coming = *coming_by_time_.begin();
    coming_by_time_.erase(coming_by_time_.begin());
    coming_.erase({coming.job, coming.about});
    make(notices_of(state_, options_.settings.soon, coming));
  }
  if (is_changed_) changed();
  pump();
  if (coming_by_time_.empty()) return;
  const Span wait = coming_by_time_.begin()->due - now();
  coming_timer_ = loop_.after(std::chrono::microseconds(std::max<std::int64_t>(wait.us, 1000)),
                              [this] { look_at_coming(); });
}

// Gives to threads what may be tried now.
void Office::pump() {
  if (stopped_ || rests_) return;
  for (const bool by_mail : {true, false}) {
    std::size_t& under_way = by_mail ? mails_under_way_ : posts_under_way_;
    while (under_way < (by_mail ? kMailThreads : kPostThreads)) {
      std::optional<Letter> letter = outbox_.take(by_mail, now());
      if (!letter.has_value()) break;
      if (!find_target(letter->notice.user, letter->target_id).has_value()) {
        outbox_.drop(letter->id);
        is_changed_ = true;
        continue;
      }
      ++under_way;
      send(std::move(*letter));
    }
  }
  const Instant due = outbox_.next_due();
  // What is due and was not taken waits for something that is under way.
  if (due == kNever || due <= now()) return;
  pump_timer_ = loop_.after(std::chrono::microseconds((due - now()).us), [this] { pump(); });
}

void Office::send(Letter letter) {
  const std::weak_ptr<int> alive = alive_;
  Workers& workers = letter.target.by == NoticeBy::kMail ? threads_->mails : threads_->posts;
  const auto shared = std::make_shared<const Letter>(std::move(letter));
  const bool begun = workers.queue(
      [this, alive, shared, origin = origin(), &loop = loop_, &deliver = options_.deliver] {
        Attempted result = deliver(*shared, origin);
        loop.post([this, alive, shared, result = std::move(result)] {
          if (alive.lock() != nullptr) arrived(*shared, result);
        });
      });
  if (begun) return;
  loop_.post([this, alive, shared] {
    if (alive.lock() == nullptr) return;
    arrived(*shared, {Attempted::Ending::kRetry, true,
                      Error{ErrorKind::kUnavailable, "no_thread",
                            "this machine lets the server start no thread", ""}});
  });
}

void Office::arrived(const Letter& letter, const Attempted& result) {
  --(letter.target.by == NoticeBy::kMail ? mails_under_way_ : posts_under_way_);
  const Outbox::Settled settled = outbox_.settle(letter.id, result, now());
  count(codec::word(letter.target.by), word_of(settled));
  if (settled != Outbox::Settled::kDelivered) {
    // The URL of a webhook is a secret, its host is not.
    const bool over = settled != Outbox::Settled::kRetried;
    telemetry::log(over ? telemetry::Level::kWarning : telemetry::Level::kInfo,
                   over ? "notice_given_up" : "notice_not_delivered",
                   {{"id", letter.id},
                    {"user", letter.notice.user},
                    {"by", codec::word(letter.target.by)},
                    {"host", letter.lane},
                    {"tries", letter.tries},
                    {"code", result.error.code},
                    {"why", result.error.message}});
  }
  is_changed_ = true;
  changed();
  pump();
  rest_if_idle();
}

std::optional<NoticeTarget> Office::find_target(const std::string& user,
                                                const std::string& id) const {
  const auto found = state_.users.find(user);
  if (found != state_.users.end()) {
    if (found->second.disabled) return std::nullopt;
    for (const NoticeTarget& target : found->second.notices) {
      if (target_id(user, target) == id) return target;
    }
  }
  return find_job_target(state_, user, id);
}

// Positions alone are written now and then: what is read again makes the same notices again.
void Office::changed() {
  if (stopped_ || rests_ || !keeps_) return;
  if (is_changed_ && !write_timer_.pending()) {
    write_timer_ = loop_.after(kWriteSoon, [this] { write(); });
  }
  if (!write_timer_.pending() && !late_timer_.pending() && read_through_ != written_through_) {
    late_timer_ = loop_.after(kWriteLate, [this] { write(); });
  }
}

std::string Office::kept() const {
  const Instant announced =
      coming_by_time_.empty() ? now() : std::min(now(), coming_by_time_.begin()->due);
  return codec::dump_json(
      Json{{"seq", read_through_.value}, {"at_us", announced.us}, {"outbox", outbox_.keep()}});
}

void Office::write() {
  std::set<std::string> declared;
  for (const auto& [name, user] : state_.users) {
    for (const NoticeTarget& target : user.notices) declared.insert(target_id(name, target));
  }
  outbox_.forget_targets_but(declared);
  is_changed_ = false;
  written_through_ = read_through_;
  late_timer_.cancel();
  threads_->disk.queue([place = options_.place, text = kept()] { keep(place, text); });
}

void Office::rest(std::chrono::microseconds at_most, std::function<void()> done) {
  rests_ = true;
  rested_ = std::move(done);
  write_timer_.cancel();
  late_timer_.cancel();
  rest_timer_ = loop_.after(at_most, [this] { keep_last(); });
  rest_if_idle();
}

void Office::rest_if_idle() {
  if (rests_ && mails_under_way_ + posts_under_way_ == 0) keep_last();
}

// What comes back after it may come twice, with one id: the next controller takes it as waiting.
void Office::keep_last() {
  if (!rested_) return;
  rest_timer_.cancel();
  const auto done = std::exchange(rested_, nullptr);
  const bool begun = keeps_ && threads_->disk.queue([place = options_.place, text = kept(), done] {
    keep(place, text);
    done();
  });
  if (!begun) done();
}

void Office::stop() {
  if (std::exchange(stopped_, true)) return;
  const auto rested = std::exchange(rested_, nullptr);
  rest_timer_.cancel();
  pump_timer_.cancel();
  coming_timer_.cancel();
  write_timer_.cancel();
  late_timer_.cancel();
  options_.stop();
  threads_->over = true;
  alive_.reset();
  threads_->mails.stop();
  threads_->posts.stop();
  threads_->disk.stop();
  // What was under way is kept as waiting: it may come twice, with one id.
  if (!rests_ || rested) write_now();
  if (rested) rested();
}

void Office::write_now() const {
  if (keeps_) keep(options_.place, kept());
}

void Office::test(const std::string& user, std::size_t index,
                  std::function<void(Result<Attempted>)> done) {
  const auto found = state_.users.find(user);
  if (found == state_.users.end() || index >= found->second.notices.size()) {
    return done(Error{ErrorKind::kNotFound, "no_such_target",
                      "there is no such target; `dove notices` numbers them", "number"});
  }
  if (tests_under_way_ >= kTestsMax) {
    return done(Error{ErrorKind::kUnavailable, "notices_busy",
                      "other tests are under way; try again in a minute", ""});
  }
  if (!outbox_.count_one(user, now())) {
    return done(
        Error{ErrorKind::kExhausted, "notices_limited",
              fmt::format("{} notices in an hour are enough for one person; try again later",
                          options_.limits.per_hour),
              ""});
  }
  auto letter = std::make_shared<Letter>();
  letter->target = found->second.notices[index];
  letter->target_id = target_id(user, letter->target);
  letter->lane = lane_of(letter->target);
  letter->notice.about = letter->target.about.front();
  letter->notice.is_test = true;
  letter->notice.user = user;
  letter->notice.at = now();
  letter->notice.key = "test." + wire::random_token(12);
  letter->id = notice_id(options_.cluster_id, letter->notice.key, letter->target_id);
  const std::weak_ptr<int> alive = alive_;
  const bool by_mail = letter->target.by == NoticeBy::kMail;
  auto answer = std::make_shared<std::function<void(Result<Attempted>)>>(std::move(done));
  const bool begun = (by_mail ? threads_->mails : threads_->posts)
                         .queue([this, alive, letter, answer, origin = origin(), &loop = loop_,
                                 &deliver = options_.deliver]() mutable {
                           Attempted result = deliver(*letter, origin);
                           // What the answer holds is the loop's: it must not end in this thread.
                           loop.post([this, alive, letter, answer = std::move(answer),
                                      result = std::move(result)] {
                             if (alive.lock() == nullptr) return;
                             --tests_under_way_;
                             outbox_.note(letter->target_id, result, now());
                             count(codec::word(letter->target.by), "test");
                             is_changed_ = true;
                             changed();
                             (*answer)(result);
                           });
                         });
  if (!begun) {
    return (*answer)(
        Error{ErrorKind::kUnavailable, "notices_busy",
              "the server could not start a thread on its machine; try again in a minute", ""});
  }
  ++tests_under_way_;
}

}  // namespace dove::notices
