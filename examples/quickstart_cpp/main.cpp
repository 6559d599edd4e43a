// examples/quickstart/orders.yaml in C++: the same routes, the same promises.
//   quickstart_cpp -D port=8080 -D data=./data
#include <drom/drom.hpp>

using namespace drom;

namespace {

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS orders    (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, item "
    "TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS shipments (order_id INTEGER NOT NULL, item TEXT NOT NULL);";

// C++ code as a step: it sees the exchange and may fail it.
void check_order(Exchange& exchange) {
  const Object* order = exchange.message.body.as_object();
  const auto missing = [&](const char* field) {
    const Value* value = order ? order->find(field) : nullptr;
    return !value || value->is_null();
  };
  if (missing("customer") || missing("item"))
    exchange.fail(Error(ErrorKind::data, "an order needs a customer and an item"));
}

void define(Routes& routes) {
  routes.bean("shop", "drom.sqlite", {{"file", "{{data:./data}}/shop.db"}, {"init", kTables}});
  routes.bean("inbox", "drom.sqlIdempotentRepository", {{"dataSource", "shop"}});

  routes
      .from("platform-http:/orders", {{"httpMethodRestrict", "POST"},
                                      {"consumes", "application/json"},
                                      {"produces", "application/json"}})
      .route_id("accept")
      .unmarshal_json()
      .process(check_order)
      .transacted([](Steps& steps) {
        steps
            .to("sql:INSERT INTO orders (customer, item) VALUES (:#customer, :#item) RETURNING id",
                {{"outputType", "SelectOne"}, {"outputHeader", "orderId"}})
            .to("outbox:orders", {{"type", "order.created"}, {"key", "${header.orderId}"}});
      })
      .set_header("CamelHttpResponseCode", constant(201))
      .set_body(simple(R"({"id": ${header.orderId}})"))
      .remove_header("orderId");

  routes.from("outbox:orders").route_id("relay").to("direct:shipping");

  routes.from("direct:shipping").route_id("shipping").unmarshal_json().transacted([](Steps& steps) {
    steps.idempotent_consumer(simple("${header[outbox.eventId]}"), "inbox", [](Steps& once) {
      once.to(
          "sql:INSERT INTO shipments (order_id, item) VALUES (:#${header[outbox.key]}, :#item)");
    });
  });

  routes
      .from("platform-http:/orders/{id}",
            {{"httpMethodRestrict", "GET"}, {"produces", "application/json"}})
      .route_id("show")
      .to("sql:SELECT id, customer, item FROM orders WHERE id = :#id",
          {{"outputType", "SelectOne"}})
      .filter([](const Exchange& exchange) { return exchange.message.body.is_null(); },
              [](Steps& steps) {
                steps.set_header("CamelHttpResponseCode", constant(404))
                    .set_body(constant(R"({"error": "no such order"})"));
              });

  routes
      .from("platform-http:/stats",
            {{"httpMethodRestrict", "GET"}, {"produces", "application/json"}})
      .route_id("stats")
      .to("sql:SELECT (SELECT count(*) FROM orders) AS orders,"
          " (SELECT count(*) FROM outbox_orders WHERE status <> 'sent') AS outbox_unsent,"
          " (SELECT count(*) FROM shipments) AS shipments,"
          " (SELECT count(*) FROM drom_inbox) AS inbox",
          {{"outputType", "SelectOne"}});
}

}  // namespace

int main(int argc, char** argv) {
  App app(argc, argv, {{"drom.http.port", "{{port:8080}}"}});
  define(app.routes());
  return app.run();
}
