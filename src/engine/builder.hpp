// Turns specs into running parts: the engine's BuildContext. Owns endpoints, producers, beans'
// hooks and shared objects; compiles steps and error policies. Load time, except
// dynamic_producer().
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <set>

#include "drom/spi/build_context.hpp"
#include "engine/route_loop.hpp"

namespace drom {

struct BuilderServices {
  boost::asio::io_context& io;
  Clock& clock;
  Log& log;
  Rng& rng;
  const EvalEnv& env;
  const PropertySource& properties;
  Diagnostics& diagnostics;
  Registry& registry;
  StopSource& stop;
  Counters& counters;
};

// One compiled route. Exactly one of the consumers is set.
struct BuiltRoute {
  std::unique_ptr<RouteRunner> runner;
  std::unique_ptr<Consumer> consumer;
  std::unique_ptr<InlineConsumer> inline_consumer;
  std::string uri;
  std::string source;
  bool auto_startup = true;
};

class Builder final : public BuildContext {
 public:
  Builder(BuilderServices services, std::vector<std::string> stub_schemes);
  ~Builder() override;

  struct Hook {
    std::string name;
    std::function<async<Result<void>>()> work;
  };
  struct StopHook {
    std::string name;
    std::function<async<>()> work;
  };
  struct ProducerEntry {
    std::unique_ptr<Producer> producer;
    std::string uri;
    bool open = false;
  };

  // Errors go to the diagnostics; all of them in one go.
  std::vector<BuiltRoute> build(const ContextSpec& spec);

  std::vector<Hook>& bean_starts() { return bean_starts_; }
  std::vector<Hook>& starts() { return starts_; }
  std::vector<StopHook>& stops() { return stops_; }
  std::map<std::string, ProducerEntry>& producers() { return producers_; }
  async<Result<void>> open_producer(ProducerEntry& entry);

  Registry& registry() override { return s_.registry; }
  const PropertySource& properties() const override { return s_.properties; }
  Diagnostics& diagnostics() override { return *diagnostics_; }
  Clock& clock() override { return s_.clock; }
  Log& log() override { return s_.log; }
  Rng& rng() override { return s_.rng; }
  const EvalEnv& env() const override { return s_.env; }
  boost::asio::io_context& io() override { return s_.io; }
  std::string_view route_id() const override { return route_id_; }
  std::unique_ptr<Pipeline> build_pipeline(const std::vector<StepSpec>& steps) override;
  Endpoint* endpoint(const std::string& uri, const std::vector<OptionText>& parameters,
                     const Location& where) override;
  Producer* producer(const std::string& uri, const std::vector<OptionText>& parameters,
                     const Location& where) override;
  async<Result<Producer*>> dynamic_producer(const std::string& uri) override;
  void begin_unit(Unit unit) override;
  void end_unit() override { units_.pop_back(); }
  bool in_unit() const override { return !units_.empty() && units_.back() != nullptr; }
  void joins(const std::string& data_source, const Location& where) override;
  void add_route(RouteSpec route) override { added_routes_.push_back(std::move(route)); }
  void on_start(std::string name, std::function<async<Result<void>>()> work) override;
  void on_stop(std::string name, std::function<async<>()> work) override;

 protected:
  std::shared_ptr<void>& shared_slot(std::type_index type) override;

 private:
  struct EndpointEntry {
    std::unique_ptr<Endpoint> endpoint;  // null: wrong, and reported
    Location where;
  };

  Producer* find_producer(const std::string& uri, const std::vector<OptionText>& parameters,
                          const Location& where);
  void build_bean(const BeanSpec& spec);
  BuiltRoute build_route(const RouteSpec& spec, const ContextSpec& context);
  std::string name_route(const RouteSpec& spec, const ContextSpec& context);
  std::unique_ptr<RoutePolicy> build_policy(const RouteSpec& spec, const ContextSpec& context,
                                            RouteCounters& counters);
  bool build_error_handler(const StepSpec& spec, RoutePolicy& policy);
  void build_clause(const StepSpec& spec, RoutePolicy& policy);
  Step build_step(const StepSpec& spec);
  void build_children_for_errors(const StepSpec& spec);
  std::string name_step(const StepSpec& spec);
  bool stubbed(const std::string& scheme) const;
  std::unique_ptr<Endpoint> make_endpoint(const std::string& uri,
                                          const std::vector<OptionText>& parameters,
                                          const Location& where);
  void verify_endpoints();

  BuilderServices s_;
  std::vector<std::string> stub_schemes_;
  Diagnostics* diagnostics_;  // the engine's, or a local one while routes run (toD)
  std::deque<std::pair<std::type_index, std::shared_ptr<void>>> shared_;  // addresses stay valid
  std::map<std::string, EndpointEntry> endpoints_;
  std::map<std::string, ProducerEntry> producers_;
  size_t dynamic_producers_ = 0;
  std::vector<Hook> bean_starts_, starts_;
  std::vector<StopHook> stops_;
  // The data source of each transaction being built, "" when none has joined yet, null outside.
  std::vector<std::shared_ptr<std::string>> units_;
  std::vector<RouteSpec> added_routes_;
  bool building_beans_ = false;
  std::string route_id_;
  std::set<std::string, std::less<>> route_ids_, step_ids_;
  std::map<std::string, int> step_numbers_;
};

}  // namespace drom
