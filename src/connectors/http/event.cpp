#include "connectors/http/event.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace drom::http {

async<> Event::wait() {
  boost::system::error_code ignored;  // cancelled is the way to be woken
  co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

}  // namespace drom::http
