#include "connectors/stub/stub.hpp"

#include <deque>
#include <map>

#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"
#include "rt/wait_list.hpp"

namespace drom {
namespace {

struct Channel {
  std::deque<Exchange> items;
  size_t consumers = 0;
  WaitList waiting;
};

struct Channels {
  std::map<std::string, Channel, std::less<>> by_name;
};

constexpr size_t kPollMax = 64;

class StubConsumer final : public Consumer {
 public:
  StubConsumer(Channel& channel, Clock& clock) : channel_(channel), clock_(clock) {
    ++channel_.consumers;
  }
  StubConsumer(const StubConsumer&) = delete;
  StubConsumer& operator=(const StubConsumer&) = delete;
  ~StubConsumer() override { --channel_.consumers; }

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.poll_max = kPollMax;
    traits.internal = true;
    return traits;
  }
  async<Result<void>> open() override {
    stopped_ = false;
    co_return Result<void>();
  }
  async<Result<Batch>> poll(size_t max) override {
    while (channel_.items.empty() && !stopped_)
      co_await channel_.waiting.wait(clock_, milliseconds::max());
    Batch batch;
    while (!channel_.items.empty() && batch.size() < max) {
      batch.push_back(std::move(channel_.items.front()));
      channel_.items.pop_front();
    }
    co_return batch;
  }
  async<Result<void>> settle(std::vector<Receipt>) override { co_return Result<void>(); }
  void stop() override {
    stopped_ = true;
    channel_.waiting.ring_all();
  }
  async<> close() override { co_return; }

 private:
  Channel& channel_;
  Clock& clock_;
  bool stopped_ = false;
};

class StubProducer final : public Producer {
 public:
  StubProducer(Channel& channel, std::string uri, size_t size)
      : channel_(channel), uri_(std::move(uri)), size_(size) {}

  bool defers_in_transaction() const override { return true; }
  async<> run(Batch& batch, Scope&) override {
    if (channel_.consumers == 0) co_return;
    for (Exchange& exchange : batch) {
      if (channel_.items.size() >= size_) {
        exchange.fail(Error(ErrorKind::transient, "the queue of '" + uri_ + "' is full"));
        continue;
      }
      Exchange copy = exchange.copy();
      copy.unit = nullptr;
      copy.depth = 0;
      copy.pattern = ExchangePattern::in_only;
      channel_.items.push_back(std::move(copy));
      channel_.waiting.ring_one();
    }
  }

 private:
  Channel& channel_;
  std::string uri_;
  size_t size_;
};

class StubEndpoint final : public Endpoint {
 public:
  StubEndpoint(Channel& channel, std::string name, size_t size, Clock& clock)
      : channel_(channel), name_(std::move(name)), size_(size), clock_(clock) {}
  std::string uri() const override { return "stub:" + name_; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return std::unique_ptr<Consumer>(std::make_unique<StubConsumer>(channel_, clock_));
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return std::unique_ptr<Producer>(std::make_unique<StubProducer>(channel_, uri(), size_));
  }

 private:
  Channel& channel_;
  std::string name_;
  size_t size_;
  Clock& clock_;
};

ConfigSpec stub_spec() {
  ConfigSpec spec;
  spec.name = "stub";
  spec.title = "Stub";
  spec.doc =
      "Stands in for an endpoint that is not there: takes any parameters, connects to nothing. "
      "What "
      "is sent goes to the route that starts with the same stub, through a bounded queue in "
      "memory, "
      "or nowhere when there is none; it never waits for a reply. `drom validate --stub kafka` and "
      "`drom run --stub kafka` put a stub in the place of every kafka: endpoint.";
  spec.syntax = "stub:name";
  spec.consumes = spec.produces = true;
  spec.free_parameters = true;
  spec.options = {
      {.name = "name",
       .doc = "What is stubbed; usually the URI of the real endpoint.",
       .example = "kafka:orders",
       .required = true,
       .path = true},
      {.name = "stubSize",
       .type = OptionType::integer,
       .doc = "How many messages wait for the route that starts with this stub; more are refused.",
       .fallback = "1000",
       .minimum = 1},
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: timer:tick\n"
      "      steps:\n"
      "        - to: stub:kafka:orders?brokers=nowhere:9092\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_stub(const Config& config, BuildContext& context) {
  Channels& channels = context.shared<Channels>(std::make_shared<Channels>);
  const std::string& name = config.text("name");
  return std::unique_ptr<Endpoint>(std::make_unique<StubEndpoint>(
      channels.by_name[name], name, static_cast<size_t>(config.integer("stubSize")),
      context.clock()));
}

}  // namespace

void register_stub(Registry& registry) {
  ComponentInfo info;
  info.scheme = "stub";
  info.spec = stub_spec;
  info.make = make_stub;
  registry.add(std::move(info));
}

}  // namespace drom
