#include "rt/run_all.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace drom {

namespace asio = boost::asio;

async<> run_all(std::vector<async<>> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  using Operation = decltype(asio::co_spawn(executor, std::declval<async<>>(), asio::deferred));
  std::vector<Operation> operations;
  operations.reserve(work.size());
  for (async<>& one : work)
    operations.push_back(asio::co_spawn(executor, std::move(one), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(operations));
  const auto [order, failures] =
      co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace drom
