// Handles of schedules of the learning rate.
#pragma once

#include "base/objects.h"
#include "optim/schedule_rule.h"

struct htone_schedule;

namespace halftone::capi {

struct ScheduleSettings final : RefCounted {
  explicit ScheduleSettings(const Schedule& schedule) : rule{schedule, nullptr} {}
  explicit ScheduleSettings(const optim::ScheduleRule& value) : rule(value) {}
  optim::ScheduleRule rule;
};

template <>
struct HandleTraits<htone_schedule> : HandleTo<Ref<ScheduleSettings>, HandleType::kSchedule> {};

template <>
struct ObjectAccess<Ref<ScheduleSettings>> {
  static optim::ScheduleRule& value(const Ref<ScheduleSettings>& schedule) noexcept { return schedule->rule; }
  static void require_usable(const Ref<ScheduleSettings>&, ArgumentName) noexcept {}
};

}  // namespace halftone::capi
