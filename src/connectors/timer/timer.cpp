#include "connectors/timer/timer.hpp"

#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {
namespace {

struct TimerOptions {
  std::string name;
  milliseconds period{1000};
  milliseconds delay{1000};
  std::optional<WallTime> time;  // the first tick; instead of delay
  int64_t repeat_count = 0;      // 0: without end
  bool fixed_rate = false;
  bool include_metadata = false;
};

class TimerConsumer final : public Consumer {
 public:
  TimerConsumer(TimerOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock), alarm_(clock.make_alarm()) {}

  async<Result<void>> open() override {
    stopped_ = false;
    if (!due_) due_ = clock_.steady() + first_delay();
    co_return Result<void>();
  }

  async<Result<Batch>> poll(size_t) override {
    while (!stopped_) {
      const milliseconds left = time_left();
      if (left <= milliseconds(0)) break;
      co_await alarm_->wait(left);
    }
    Batch batch;
    if (stopped_) co_return batch;
    advance();
    batch.push_back(tick());
    co_return batch;
  }

  // A failed tick is the error handler's matter; the next one comes in its time.
  async<Result<void>> settle(std::vector<Receipt>) override { co_return Result<void>(); }
  void stop() override {
    stopped_ = true;
    alarm_->ring();
  }
  async<> close() override { co_return; }

 private:
  milliseconds first_delay() const {
    if (!options_.time) return options_.delay;
    return std::max(milliseconds(0),
                    std::chrono::ceil<milliseconds>(*options_.time - clock_.wall()));
  }
  bool exhausted() const {
    return (options_.repeat_count > 0 && counter_ >= options_.repeat_count) ||
           (options_.period == milliseconds(0) && counter_ > 0);
  }
  milliseconds time_left() const {
    if (exhausted()) return milliseconds::max();
    return std::chrono::ceil<milliseconds>(*due_ - clock_.steady());
  }
  void advance() {
    const SteadyTime now = clock_.steady();
    if (!options_.fixed_rate || options_.period == milliseconds(0)) {
      due_ = now + options_.period;
      return;
    }
    const auto missed = (now - *due_) / nanoseconds(options_.period);
    due_ = *due_ + (missed + 1) * nanoseconds(options_.period);
  }
  Exchange tick() {
    ++counter_;
    Exchange exchange;
    if (!options_.include_metadata) return exchange;
    const WallTime now = clock_.wall();
    exchange.created = now;
    exchange.properties.set("CamelTimerName", options_.name);
    exchange.properties.set("CamelTimerCounter", counter_);
    exchange.properties.set("CamelTimerPeriod", int64_t{options_.period.count()});
    if (options_.time) exchange.properties.set("CamelTimerTime", *options_.time);
    exchange.properties.set("CamelTimerFiredTime", now);
    exchange.message.headers.append("CamelTimerFiredTime", now);
    exchange.message.headers.append(
        "CamelMessageTimestamp",
        int64_t{std::chrono::floor<milliseconds>(now.time_since_epoch()).count()});
    return exchange;
  }

  TimerOptions options_;
  Clock& clock_;
  std::unique_ptr<Alarm> alarm_;
  std::optional<SteadyTime> due_;
  int64_t counter_ = 0;
  bool stopped_ = false;
};

class TimerEndpoint final : public Endpoint {
 public:
  TimerEndpoint(TimerOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  std::string uri() const override { return "timer:" + options_.name; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return std::unique_ptr<Consumer>(std::make_unique<TimerConsumer>(options_, clock_));
  }

 private:
  TimerOptions options_;
  Clock& clock_;
};

ConfigSpec timer_spec() {
  ConfigSpec spec;
  spec.name = "timer";
  spec.title = "Timer";
  spec.doc =
      "Starts a route at regular intervals, with an empty body. A tick that falls into the time "
      "when "
      "the route still works on the one before is not lost and not piled up: all that were missed "
      "become one.";
  spec.syntax = "timer:timerName";
  spec.consumes = true;
  spec.options = {
      {.name = "timerName",
       .doc = "Name of the timer, for logs and metadata.",
       .example = "every-minute",
       .required = true,
       .path = true},
      {.name = "period",
       .type = OptionType::duration,
       .doc = "Time between two ticks; 0 means a single tick.",
       .fallback = "1000",
       .example = "30s",
       .minimum = 0},
      {.name = "delay",
       .type = OptionType::duration,
       .doc = "Time from the start to the first tick; not used together with time.",
       .fallback = "1000",
       .example = "0",
       .minimum = 0},
      {.name = "repeatCount",
       .type = OptionType::integer,
       .doc = "How many ticks in all; 0 means no end.",
       .fallback = "0",
       .example = "1",
       .minimum = 0},
      {.name = "fixedRate",
       .type = OptionType::boolean,
       .doc =
           "Whether the period is kept from tick to tick on a fixed grid, instead of being counted "
           "from the last tick.",
       .fallback = "false"},
      {.name = "time",
       .doc =
           "When the first tick is due, in ISO 8601 form; UTC unless an offset is given. A time in "
           "the past means at once.",
       .example = "2026-12-01T08:00:00+01:00"},
      {.name = "daemon",
       .type = OptionType::boolean,
       .doc = "Accepted for Camel's sake; timers here have no thread of their own.",
       .fallback = "true"},
      {.name = "includeMetadata",
       .type = OptionType::boolean,
       .doc = "Whether each tick carries the properties CamelTimerName, CamelTimerCounter, "
              "CamelTimerPeriod, CamelTimerTime and CamelTimerFiredTime, and the headers "
              "CamelTimerFiredTime and CamelMessageTimestamp.",
       .fallback = "false"},
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: timer:hello\n"
      "      parameters: {period: 5s, repeatCount: 3}\n"
      "      steps:\n"
      "        - log: \"hello from ${routeId}\"\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_timer(const Config& config, BuildContext& context) {
  TimerOptions options;
  options.name = config.text("timerName");
  options.period = config.duration("period");
  options.delay = config.duration("delay");
  options.repeat_count = config.integer("repeatCount");
  options.fixed_rate = config.flag("fixedRate");
  options.include_metadata = config.flag("includeMetadata");
  if (config.given("time")) {
    const Result<WallTime> time = parse_iso8601(config.text("time"));
    if (!time) return Error(ErrorKind::config, "time: " + time.error().what, time.error().hint);
    options.time = *time;
  }
  return std::unique_ptr<Endpoint>(
      std::make_unique<TimerEndpoint>(std::move(options), context.clock()));
}

}  // namespace

void register_timer(Registry& registry) {
  ComponentInfo info;
  info.scheme = "timer";
  info.spec = timer_spec;
  info.make = make_timer;
  registry.add(std::move(info));
}

}  // namespace drom
