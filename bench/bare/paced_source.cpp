#include "bare/paced_source.hpp"

#include "drom/spi/build_context.hpp"

namespace drom::bench {
namespace {

struct Pace {
  size_t per_second = 0;
  size_t together = 0;
  size_t count = 0;
  size_t writers = 0;
};

class PacedConsumer final : public Consumer {
 public:
  PacedConsumer(const Pace& pace, Clock& clock)
      : pace_(pace), clock_(clock), alarm_(clock.make_alarm()) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = traits.poll_max = pace_.writers;
    return traits;
  }
  async<Result<void>> open() override {
    start_ = clock_.steady();
    co_return Result<void>();
  }
  async<Result<Batch>> poll(size_t max) override {
    Batch batch;
    while (!stopped_ && batch.empty()) {
      while (batch.size() < max && next_ < pace_.count && due() <= clock_.steady())
        batch.push_back(make());
      if (!batch.empty()) break;
      const auto early = std::chrono::ceil<milliseconds>(due() - clock_.steady());
      co_await alarm_->wait(next_ < pace_.count ? early : milliseconds::max());
    }
    co_return batch;
  }
  async<Result<void>> settle(std::vector<Receipt>) override { co_return Result<void>(); }
  void stop() override {
    stopped_ = true;
    alarm_->ring();
  }
  async<> close() override { co_return; }

 private:
  SteadyTime due() const {
    return start_ + std::chrono::nanoseconds(next_ * 1'000'000'000 / pace_.per_second);
  }
  Exchange make() {
    Exchange out;
    for (size_t i = 0; i < pace_.together; ++i)
      out.message.headers.set("first" + std::to_string(i), static_cast<int64_t>(next_ + i));
    next_ += pace_.together;
    return out;
  }

  Pace pace_;
  Clock& clock_;
  std::unique_ptr<Alarm> alarm_;
  SteadyTime start_{};
  size_t next_ = 0;
  bool stopped_ = false;
};

class PacedEndpoint final : public Endpoint {
 public:
  PacedEndpoint(const Pace& pace, Clock& clock) : pace_(pace), clock_(clock) {}
  std::string uri() const override { return "paced:events"; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return std::unique_ptr<Consumer>(std::make_unique<PacedConsumer>(pace_, clock_));
  }

 private:
  Pace pace_;
  Clock& clock_;
};

ConfigSpec paced_spec() {
  ConfigSpec spec;
  spec.name = "paced";
  spec.consumes = true;
  spec.options = {{.name = "name", .required = true, .path = true}};
  for (const char* name : {"perSecond", "together", "count", "writers"})
    spec.options.push_back({.name = name, .type = OptionType::integer, .required = true});
  return spec;
}

}  // namespace

void register_paced(Registry& registry) {
  ComponentInfo info;
  info.scheme = "paced";
  info.spec = paced_spec;
  info.make = [](const Config& config, BuildContext& context) -> Result<std::unique_ptr<Endpoint>> {
    const auto number = [&config](const char* name) {
      return static_cast<size_t>(config.integer(name));
    };
    const Pace pace{number("perSecond"), number("together"), number("count"), number("writers")};
    return std::unique_ptr<Endpoint>(std::make_unique<PacedEndpoint>(pace, context.clock()));
  };
  registry.add(std::move(info));
}

}  // namespace drom::bench
