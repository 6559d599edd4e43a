// Where a handled file goes (move, moveFailed, preMove, moveExisting). What the author of the route
// writes literally may lead anywhere; what an expression yields stays below that.
#pragma once

#include <string>

#include "connectors/file/claim.hpp"
#include "drom/expr/expression.hpp"

namespace drom::file {

class Target {
 public:
  // "done", "../done", "/archive", "done/${date:now:yyyyMMdd}/${file:name}".
  static Result<Target> parse(std::string_view option, std::string_view text);

  // The literal folder when it is beside the file ("done"), else "".
  const std::string& beside() const { return beside_; }
  // True for a plain folder: files keep their names there.
  bool plain() const { return !rest_; }
  // The literal folder when it is elsewhere ("../done", "/archive"), as a path to open; else "".
  const std::string& elsewhere() const { return elsewhere_; }

  // The spot for `file`. `outside` is the opened elsewhere(). Evaluates the expression with
  // `exchange`.
  Result<Spot> spot(const Spot& file, const DirectoryPtr& outside, const Exchange& exchange,
                    const EvalScope& scope) const;

 private:
  std::string beside_;
  std::string elsewhere_;
  ExpressionPtr rest_;
};

}  // namespace drom::file
