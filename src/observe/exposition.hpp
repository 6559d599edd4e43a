// Writes the Prometheus text format, version 0.0.4. Any thread, one owner.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drom {

class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Starts a family; its samples follow. A name that ends in _total is a counter, any other a
  // gauge.
  void family(std::string_view name, std::string_view help);
  void sample(const Labels& labels, double value);

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string name_;
};

}  // namespace drom
