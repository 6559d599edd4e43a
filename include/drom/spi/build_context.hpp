// What makers of steps, endpoints and beans may use while a plan is built. Implemented by the
// engine. Load time, shard thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "drom/config/config.hpp"
#include "drom/spi/registry.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

class BuildContext {
 public:
  virtual ~BuildContext() = default;
  virtual Registry& registry() = 0;
  virtual const PropertySource& properties() const = 0;
  virtual Diagnostics& diagnostics() = 0;
  virtual Clock& clock() = 0;
  virtual Log& log() = 0;
  virtual Rng& rng() = 0;
  virtual const EvalEnv& env() const = 0;
  virtual boost::asio::io_context& io() = 0;      // the shard's
  virtual std::string_view route_id() const = 0;  // the route being built; "" for beans

  // Child steps of an EIP, in a pipeline that uses the error policy of the scope it runs in.
  virtual std::unique_ptr<Pipeline> build_pipeline(const std::vector<StepSpec>& steps) = 0;

  // The endpoint of a URI, made once per distinct URI; owned by the engine. Null: reported.
  virtual Endpoint* endpoint(const std::string& uri, const std::vector<OptionText>& parameters,
                             const Location& where) = 0;
  // The producer of a URI, opened and closed by the engine with the routes. Null: reported.
  virtual Producer* producer(const std::string& uri, const std::vector<OptionText>& parameters,
                             const Location& where) = 0;
  // A producer made while routes run (toD): opened here, cached (at most 1000), closed at the end.
  virtual async<Result<Producer*>> dynamic_producer(const std::string& uri) = 0;

  // What is built until end_unit() belongs to one transaction: that of the block around it, one of
  // its own, or none. Two data sources in one are an error at load time.
  enum class Unit : uint8_t { join, own, none };
  virtual void begin_unit(Unit) {}
  virtual void end_unit() {}
  // Whether what is built now belongs to a transaction.
  virtual bool in_unit() const { return false; }
  // A step at `where` takes part in the transaction with this data source.
  virtual void joins(const std::string& data_source, const Location& where) {
    static_cast<void>(data_source);
    static_cast<void>(where);
  }

  // An object shared by all endpoints of this engine, made on first use: the one HTTP server, the
  // table of direct channels. Destroyed with the engine, in reverse order of creation.
  template <class T>
  T& shared(const std::function<std::shared_ptr<T>()>& make) {
    std::shared_ptr<void>& slot = shared_slot(std::type_index(typeid(T)));
    if (!slot) slot = make();
    return *static_cast<T*>(slot.get());
  }

  // A route that belongs to what is being built, made after those of the files; one of them with
  // the same source takes its place.
  virtual void add_route(RouteSpec route) = 0;

  // Work at the end of the start and at the start of the stop (a server that must listen only when
  // all its routes are there). Names appear in error messages.
  virtual void on_start(std::string name, std::function<async<Result<void>>()> work) = 0;
  virtual void on_stop(std::string name, std::function<async<>()> work) = 0;

 protected:
  virtual std::shared_ptr<void>& shared_slot(std::type_index type) = 0;
};

}  // namespace drom
