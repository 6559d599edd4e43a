// A URI with ${...} in it, cut into literals and expressions once, filled in per message. Values
// are escaped by the place they stand in, so that data cannot become syntax. Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/build_context.hpp"

namespace drom {

// The part before the first colon; empty when there is none.
std::string_view scheme_of(std::string_view uri);

class UriTemplate {
 public:
  // `parameters` are appended as a query, placeholders resolved. nullopt: reported.
  static std::optional<UriTemplate> compile(std::string_view uri,
                                            const std::vector<OptionText>& parameters,
                                            const Location& where, BuildContext& context);

  // The scheme as written; empty when an expression decides it.
  std::string_view scheme() const { return scheme_; }
  Result<std::string> fill(const Exchange& exchange, const EvalScope& scope) const;

 private:
  enum class Place : uint8_t { start, path, query };
  // What must be escaped in a value at this place.
  static std::string_view separators(Place place);
  struct Piece {
    std::string literal;
    ExpressionPtr expression;  // null: literal
    Place place = Place::path;
  };
  std::vector<Piece> pieces_;
  std::string scheme_;
};

}  // namespace drom
