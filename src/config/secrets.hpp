// Which names and texts hold secrets, and their masks, so that no message for people shows one.
// Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace drom {

// password, token, api-key, Authorization ... in any case and with any separators.
bool is_secret_name(std::string_view name);

// Replaces the values of secret names (`password=x`, `password: x`) and the password of
// `user:password@` by as many `*`, so that columns stay right. Placeholders ({{db.password}}) stay
// readable.
std::string mask_secrets(std::string_view text);

}  // namespace drom
