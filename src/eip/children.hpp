// What steps with children share: the pipeline of the children, and the decision whether the whole
// step may be a plain one.
#pragma once

#include <memory>

#include "drom/spi/build_context.hpp"

namespace drom {

// True when a step around `children` may be plain itself: nothing in it waits, and everything in it
// is a pure rewriting of the message. A plain step is redelivered as a whole; steps that can fail
// for reasons of their own (process, unmarshal, convertBodyTo, throwException ...) keep their own
// place in error handling, so a step around them must be a waiting one.
bool may_be_plain(const Pipeline& children, const std::vector<StepSpec>& specs);

// A step that is nothing but its children.
Step step_of(std::unique_ptr<Pipeline> children, const std::vector<StepSpec>& specs);

}  // namespace drom
