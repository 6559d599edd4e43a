// The coroutine type of everything that waits. Rules (STYLE 11): one co_await per statement, its
// result in a named local; arguments are named locals; no capturing coroutine lambdas.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace drom {

template <class T = void>
using async = boost::asio::awaitable<T>;

}  // namespace drom
