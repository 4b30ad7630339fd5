// ByteWriter and ByteReader: one description of a value serves both directions.
//
// A noun has one function template `fields(ar, value)` that names its fields in order; with a
// ByteWriter it appends them, with a ByteReader it fills them. A noun that will change opens with
// `auto layout = ar.layout(N, "Noun")`: the number N is written before its fields, and a field that
// came with layout 3 is `ar.since(3, value.field)`, which leaves the field's default when older
// bytes are read. Newer layouts than the program knows are refused. A writer may be told to write
// the layouts of a former level, and a reader to know no others (codec/layouts.h).
//
// Integers are LEB128 varints (zig-zag when signed), strings and lists are counted. The reader
// never reads past the end, bounds every count by the bytes left, and keeps its first error: ask
// failed() at the end. Both belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/rare_text.h"
#include "codec/layouts.h"
#include "model/by_id.h"
#include "model/core_set.h"
#include "model/ids.h"
#include "model/time.h"

namespace dove::codec {

// The last enumerator of an enumeration in the log: overloaded for each (codec/enum_bounds.h).
// Enumerators keep their numbers for ever; new ones are added at the end.
template <class E>
constexpr E last_of();

// While it lives, `since` counts from that layout.
class LayoutScope {
 public:
  LayoutScope(std::uint64_t& current, std::uint64_t layout) : current_(current), old_(current) {
    current_ = layout;
  }
  LayoutScope(const LayoutScope&) = delete;
  LayoutScope& operator=(const LayoutScope&) = delete;
  ~LayoutScope() { current_ = old_; }

 private:
  std::uint64_t& current_;
  std::uint64_t old_;
};

class ByteWriter {
 public:
  // Values are only read: `fields(ar, Ar::Of<T>&)`.
  template <class T>
  using Of = const T;
  static constexpr bool kReads = false;

  // Appends to `out`, which must outlive the writer.
  explicit ByteWriter(std::string& out, std::int32_t level = kNewestLevel)
      : out_(out), level_(level) {}

  using LayoutScope = codec::LayoutScope;
  LayoutScope layout(std::uint64_t newest, std::string_view noun) {
    const std::uint64_t number = layout_at(level_, noun, newest);
    varint(number);
    return LayoutScope(layout_, number);
  }
  // A layout whose number was written before, such as the version of a record.
  LayoutScope layout_given(std::uint64_t number) { return LayoutScope(layout_, number); }

  template <class... T>
  void operator()(const T&... values) {
    (one(values), ...);
  }
  template <class T>
  void since(std::uint64_t layout, const T& value) {
    if (layout_ >= layout) one(value);
  }
  std::int32_t level() const { return level_; }
  bool failed() const { return false; }

  void varint(std::uint64_t value) {
    char buffer[10];
    int size = 0;
    while (value >= 0x80) {
      buffer[size++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[size++] = static_cast<char>(value);
    out_.append(buffer, static_cast<std::size_t>(size));
  }

 private:
  template <class T>
  void one(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      varint(value ? 1 : 0);
    } else if constexpr (std::is_enum_v<T>) {
      varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_unsigned_v<T>) {
      varint(value);
    } else if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      varint((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
    } else {
      whole(value);
    }
  }
  void whole(const std::string& value) {
    varint(value.size());
    out_.append(value);
  }
  void whole(const RareText& value) { whole(value.text()); }
  void whole(Instant value) { one(value.us); }
  void whole(Span value) { one(value.us); }
  template <class Tag, class Rep>
  void whole(Id<Tag, Rep> value) {
    one(value.value);
  }
  template <class T>
  void whole(const std::vector<T>& values) {
    varint(values.size());
    for (const T& value : values) one(value);
  }
  template <class Of, class T>
  void whole(const ById<Of, T>& values) {
    whole(values.values());
  }
  void whole(const CoreSet& cores) { whole(cores.ids()); }
  template <class T>
  void whole(const std::set<T>& values) {
    varint(values.size());
    for (const T& value : values) one(value);
  }
  template <class K, class V>
  void whole(const std::map<K, V>& values) {
    varint(values.size());
    for (const auto& [key, value] : values) {
      one(key);
      one(value);
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void whole(const T& value) {
    fields(*this, value);
  }

  std::string& out_;
  std::int32_t level_;
  std::uint64_t layout_ = 0;
};

class ByteReader {
 public:
  template <class T>
  using Of = T;
  static constexpr bool kReads = true;

  // Reads from `bytes`, which must outlive the reader, what programs of `level` know.
  explicit ByteReader(std::string_view bytes, std::int32_t level = kProgramLevel)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), begin_(bytes.data()), level_(level) {}

  using LayoutScope = codec::LayoutScope;
  // Reads the layout number of `noun`; fails when it is 0 or newer than the level's.
  LayoutScope layout(std::uint64_t newest, std::string_view noun) {
    const std::uint64_t found = varint();
    check_layout(found, newest, noun);
    return LayoutScope(layout_, found);
  }
  void check_layout(std::uint64_t found, std::uint64_t newest, std::string_view noun) {
    const std::uint64_t known = newest_read(level_, noun, newest);
    if (found == 0 || found > known) fail_layout(found, known, noun);
  }
  LayoutScope layout_given(std::uint64_t number) { return LayoutScope(layout_, number); }

  template <class... T>
  void operator()(T&... values) {
    (one(values), ...);
  }
  template <class T>
  void since(std::uint64_t layout, T& value) {
    if (layout_ >= layout) one(value);
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) {
        fail("it ends in the middle of a number");
        return 0;
      }
      const auto byte = static_cast<unsigned char>(*at_++);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number does not fit into 64 bits");
    return 0;
  }

  std::int32_t level() const { return level_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  bool failed() const { return failed_; }
  // True when the bytes are of a newer program rather than damaged.
  bool newer() const { return newer_; }
  // In words, with the position. REQUIRES: failed().
  const std::string& error() const { return error_; }
  // Keeps the first error and ends the input. For fields() that find a value impossible.
  void fail(std::string_view what);
  // Fails because bytes of `noun` have a layout that is 0 or larger than `newest`.
  void fail_layout(std::uint64_t found, std::uint64_t newest, std::string_view noun);
  // Fails because a record's kind is not known here; a larger number is a newer program's.
  void fail_kind(std::uint64_t number);

 private:
  template <class T>
  void one(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::uint64_t raw = varint();
      if (raw > 1) fail("a truth value is neither 0 nor 1");
      value = raw == 1;
    } else if constexpr (std::is_enum_v<T>) {
      const std::uint64_t raw = varint();
      if (raw > static_cast<std::uint64_t>(last_of<T>())) fail("an enumerator is unknown");
      if (!failed_) value = static_cast<T>(raw);
    } else if constexpr (std::is_integral_v<T>) {
      integer(value);
    } else {
      whole(value);
    }
  }
  template <class T>
  void integer(T& value) {
    const std::uint64_t raw = varint();
    if constexpr (std::is_unsigned_v<T>) {
      if (!std::in_range<T>(raw)) fail("a number is too large for its field");
      value = static_cast<T>(raw);
    } else {
      const auto wide =
          static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));  // undoes the zig-zag
      if (!std::in_range<T>(wide)) fail("a number is too large for its field");
      value = static_cast<T>(wide);
    }
  }
  std::uint64_t count() {
    const std::uint64_t found = varint();
    if (found > left()) {
      fail("a count is larger than the bytes left");
      return 0;
    }
    return found;
  }
  void whole(std::string& value) {
    const std::uint64_t size = count();
    value.assign(at_, size);
    at_ += size;
  }
  void whole(RareText& value) {
    std::string text;
    whole(text);
    value = std::move(text);
  }
  void whole(Instant& value) { one(value.us); }
  void whole(Span& value) { one(value.us); }
  template <class Tag, class Rep>
  void whole(Id<Tag, Rep>& value) {
    one(value.value);
  }
  template <class T>
  void whole(std::vector<T>& values) {
    const std::uint64_t size = count();
    values.clear();
    values.reserve(size < 1024 ? size : 1024);  // more only as elements really come
    for (std::uint64_t i = 0; i < size && !failed_; ++i) one(values.emplace_back());
  }
  template <class Of, class T>
  void whole(ById<Of, T>& values) {
    whole(values.values());
  }
  void whole(CoreSet& cores) {
    const std::uint64_t size = count();
    cores.clear();
    for (std::uint64_t i = 0; i < size && !failed_; ++i) {
      std::int32_t id = 0;
      one(id);
      if (id < 0 || id >= CoreSet::kEnd) return fail("a core's id is out of range");
      cores.insert(id);
    }
  }
  template <class T>
  void whole(std::set<T>& values) {
    const std::uint64_t size = count();
    values.clear();
    for (std::uint64_t i = 0; i < size && !failed_; ++i) {
      T value{};
      one(value);
      if (!values.empty() && !(*values.rbegin() < value)) fail("a set is out of order");
      values.insert(values.end(), std::move(value));
    }
  }
  template <class K, class V>
  void whole(std::map<K, V>& values) {
    const std::uint64_t size = count();
    values.clear();
    for (std::uint64_t i = 0; i < size && !failed_; ++i) {
      K key{};
      one(key);
      if (!values.empty() && !(values.rbegin()->first < key)) fail("a map is out of order");
      if (failed_) return;
      one(values.emplace_hint(values.end(), std::move(key), V{})->second);
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void whole(T& value) {
    fields(*this, value);
  }

  const char* at_;
  const char* end_;
  const char* begin_;
  std::int32_t level_;
  std::uint64_t layout_ = 0;
  bool failed_ = false;
  bool newer_ = false;
  std::string error_;
};

}  // namespace dove::codec
