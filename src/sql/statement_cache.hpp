// Prepared statements of one connection by their text, the least recently used first to go. Used on
// the thread of the connection.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace drom::sql {

template <class Statement>
class StatementCache {
 public:
  explicit StatementCache(size_t capacity) : capacity_(capacity) {}

  // Null when it is not there. Valid until it is erased or trimmed away.
  Statement* find(std::string_view sql) {
    const auto at = index_.find(sql);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->second;
  }
  // `sql` must be new. May exceed the capacity until trim().
  Statement& insert(std::string sql, Statement statement) {
    order_.emplace_front(std::move(sql), std::move(statement));
    index_.emplace(order_.front().first, order_.begin());
    return order_.front().second;
  }
  void erase(std::string_view sql) {
    const auto at = index_.find(sql);
    if (at == index_.end()) return;
    const auto entry = at->second;
    index_.erase(at);
    order_.erase(entry);
  }
  // Takes out what is above the capacity.
  std::vector<Statement> trim() {
    std::vector<Statement> out;
    while (order_.size() > capacity_) {
      index_.erase(order_.back().first);
      out.push_back(std::move(order_.back().second));
      order_.pop_back();
    }
    return out;
  }
  size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<const std::string, Statement>>;
  size_t capacity_;
  Order order_;
  std::unordered_map<std::string_view, typename Order::iterator> index_;  // keys live in order_
};

}  // namespace drom::sql
