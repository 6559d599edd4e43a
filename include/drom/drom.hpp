// Everything a program that embeds Dromedary needs: #include <drom/drom.hpp>, link drom::drom.
#pragma once

#include "drom/app.hpp"
#include "drom/base/json.hpp"
#include "drom/dsl/routes.hpp"
#include "drom/engine/engine.hpp"
#include "drom/expr/expression.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/manual_clock.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/endpoint.hpp"
#include "drom/spi/idempotent_repository.hpp"
#include "drom/spi/processor.hpp"
#include "drom/spi/registry.hpp"
#include "drom/sql/database.hpp"
